//! `cargo xtask torture`: runs the load of the torture tests for minutes. See `USAGE`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure_e2e::Store;
use tenure_e2e::torture::{self, Fault, Plan, Until, Victim};

const USAGE: &str = "\
cargo xtask torture FAULT [--minutes N | --faults N] [--store sqlite|postgres] [--without-root] [--without-sync]
    [--hold SECONDS] [--only database|server|worker]

FAULT is kill, power, failover, freeze, disk, network, overload or soak. power, disk and overload use devices, file
systems and control groups; --without-root simulates them, and runs failover without Patroni. With --without-sync the
embedded store syncs nothing, and the standby of a failover without Patroni is not synchronous, so that power and
failover must fail. --hold is the duration of each freeze, and --only what is frozen. TENURE_TEST_SEED=N repeats the
choices of a run.";

fn parse(arguments: &[String]) -> Option<Plan> {
    let (name, options) = arguments.split_first()?;
    let until = Until::Elapsed(Duration::from_mins(1));
    let mut plan = Plan::new(Fault::parse(name)?, Store::Sqlite, until);
    plan.as_root = true;
    let mut words = options.iter().map(String::as_str);
    while let Some(option) = words.next() {
        match option {
            "--minutes" => plan.until = Until::Elapsed(Duration::from_mins(words.next()?.parse().ok()?)),
            "--faults" => plan.until = Until::Faults(words.next()?.parse().ok()?),
            "--store" => match words.next()? {
                "sqlite" => plan.store = Store::Sqlite,
                "postgres" => plan.store = Store::Postgres,
                _ => return None,
            },
            "--hold" => plan.hold = Some(Duration::from_secs(words.next()?.parse().ok()?)),
            "--only" => plan.only = Some(Victim::parse(words.next()?)?),
            "--without-root" => plan.as_root = false,
            "--without-sync" => plan.without_sync = true,
            _ => return None,
        }
    }
    if plan.fault == Fault::Failover {
        plan.store = Store::Postgres;
    }
    let has_database = plan.fault == Fault::Freeze && plan.store == Store::Postgres;
    let freezes = plan.fault == Fault::Freeze && (plan.only != Some(Victim::Database) || has_database);
    if (plan.hold.is_some() || plan.only.is_some()) && !freezes {
        return None;
    }
    let is_embedded = matches!(plan.fault, Fault::Power | Fault::Disk | Fault::Overload);
    let is_timed = plan.fault != Fault::Overload || matches!(plan.until, Until::Elapsed(_));
    ((!is_embedded || plan.store == Store::Sqlite) && is_timed).then_some(plan)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(plan) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let since = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads start");
    let survived = runtime.block_on(torture::run(plan));
    println!(
        "{:?} on {:?}: {} faults in {} s, {} operations acknowledged, {} jobs: 0 lost, 0 duplicated; {} KiB resident",
        plan.fault,
        plan.store,
        survived.faults,
        since.elapsed().as_secs(),
        survived.acknowledged,
        survived.jobs,
        survived.resident_kib,
    );
    survived.measured.iter().for_each(|sentence| println!("{sentence}"));
    survived.missed.iter().for_each(|sentence| println!("target MISSED: {sentence}"));
    if survived.missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
