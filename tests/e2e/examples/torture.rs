//! `cargo xtask torture`: runs the load of the torture tests for minutes. See `USAGE`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure_e2e::Store;
use tenure_e2e::torture::{self, Fault, Until};

const USAGE: &str = "\
cargo xtask torture FAULT [--minutes N | --faults N] [--store sqlite|postgres]

FAULT is kill, freeze, network or soak. TENURE_TEST_SEED=N repeats the choices of a run.";

struct Arguments {
    fault: Fault,
    until: Until,
    store: Store,
}

fn parse(arguments: &[String]) -> Option<Arguments> {
    let (name, options) = arguments.split_first()?;
    let fault = Fault::parse(name)?;
    let mut parsed = Arguments { fault, until: Until::Elapsed(Duration::from_mins(1)), store: Store::Sqlite };
    for option in options.chunks(2) {
        match [option.first()?.as_str(), option.get(1)?.as_str()] {
            ["--minutes", n] => parsed.until = Until::Elapsed(Duration::from_mins(n.parse().ok()?)),
            ["--faults", n] => parsed.until = Until::Faults(n.parse().ok()?),
            ["--store", "sqlite"] => parsed.store = Store::Sqlite,
            ["--store", "postgres"] => parsed.store = Store::Postgres,
            _ => return None,
        }
    }
    Some(parsed)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(Arguments { fault, until, store }) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let since = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads start");
    let survived = runtime.block_on(torture::run(fault, store, until));
    println!(
        "{fault:?} on {store:?}: {} faults in {} s, {} operations acknowledged, {} jobs: 0 lost, 0 duplicated; {} KiB resident",
        survived.faults,
        since.elapsed().as_secs(),
        survived.acknowledged,
        survived.jobs,
        survived.resident_kib,
    );
    ExitCode::SUCCESS
}
