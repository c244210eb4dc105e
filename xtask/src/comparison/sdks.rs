//! `cargo xtask bench sdks`: no-op jobs through one worker process of the SDKs for Python and TypeScript, next to Celery and `BullMQ` on a
//! Redis with `appendfsync always`. In every round, each system handles the same number of jobs that wait when its worker starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tenure_launcher::ServerProcess;

use super::{measured, median, system};
use crate::{cargo, install, node, python, step};

const USAGE: &str = "usage: cargo xtask bench sdks [--jobs N] [--rounds N] [--binary FILE]";
/// The versions that `tools/move` is tested with, too.
const CELERY: &[&str] = &["celery[redis]==5.7.0", "httpx==0.28.1"];
/// What the SDK for Python must reach at least, whatever Celery does.
const PYTHON_RATE_MIN: f64 = 1000.0;

/// The measured workers, and what each is compared with.
const WORKERS: [MeasuredWorker; 4] = [
    MeasuredWorker { name: "tenure python", is_tenure: true, is_python: true },
    MeasuredWorker { name: "celery", is_tenure: false, is_python: true },
    MeasuredWorker { name: "tenure typescript", is_tenure: true, is_python: false },
    MeasuredWorker { name: "bullmq", is_tenure: false, is_python: false },
];

#[derive(Debug)]
struct MeasuredWorker {
    name: &'static str,
    is_tenure: bool,
    is_python: bool,
}

#[derive(Debug)]
struct SdkBenchOptions {
    jobs: usize,
    rounds: usize,
    /// Tenure; without one, it is built with optimization.
    binary: Option<PathBuf>,
}

impl SdkBenchOptions {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { jobs: 20_000, rounds: 3, binary: None };
        for pair in arguments.chunks(2) {
            match pair {
                [flag, value] if flag == "--jobs" => options.jobs = value.parse().context(USAGE)?,
                [flag, value] if flag == "--rounds" => options.rounds = value.parse().context(USAGE)?,
                [flag, value] if flag == "--binary" => options.binary = Some(value.into()),
                _ => bail!(USAGE),
            }
        }
        if options.jobs == 0 || options.rounds == 0 {
            bail!(USAGE);
        }
        Ok(options)
    }
}

/// What the workers need.
struct Programs {
    tenure: PathBuf,
    python: PathBuf,
    /// The built SDK for TypeScript.
    sdk: PathBuf,
    plan: String,
}

/// Measures all workers in turn, and prints the medians and the ratios.
pub fn run(arguments: &[String]) -> Result<()> {
    let options = SdkBenchOptions::parse(arguments)?;
    let programs = prepare(&options)?;
    let folder = cargo::target().join("peers");
    let mut rates = [const { Vec::new() }; WORKERS.len()];
    for round in 1..=options.rounds {
        for (worker, rates) in WORKERS.iter().zip(&mut rates) {
            let rate = rate(worker, &programs, &folder.join("data")).with_context(|| worker.name)?;
            eprintln!("round {round} {}: {rate:.0}", worker.name);
            rates.push(rate);
        }
    }
    let medians = rates.map(median);
    print!("{}", report(&medians));
    Ok(())
}

/// Installs and builds everything.
fn prepare(options: &SdkBenchOptions) -> Result<Programs> {
    install::redis()?;
    system::modules()?;
    let tenure = if let Some(binary) = &options.binary {
        binary.canonicalize().with_context(|| format!("there is no {}", binary.display()))?
    } else {
        system::build(&mut cargo::command("build --release -p tenure --features full"))?;
        system::release("tenure")
    };
    let python = python::with("bench-python", CELERY)?;
    node::install()?;
    let mut prepare = Command::new(cargo::root().join("clients/typescript/prepare"));
    step::command("bench-typescript", prepare.env("CARGO_TARGET_DIR", cargo::target()))?;
    let sdk = cargo::target().join("sdk-typescript/dist/index.js");
    let plan = json!({ "jobs": options.jobs, "slots": 128 }).to_string();
    Ok(Programs { tenure, python, sdk, plan })
}

/// The rate of a worker, on a new and empty server.
fn rate(worker: &MeasuredWorker, programs: &Programs, data: &Path) -> Result<f64> {
    drop(fs::remove_dir_all(data));
    fs::create_dir_all(data)?;
    let mut serve = Command::new(&programs.tenure);
    serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).env("TENURE_LOG_FILTER", "warn");
    let tenure = worker.is_tenure.then(|| ServerProcess::start(serve)).transpose()?;
    let redis = (!worker.is_tenure).then(|| system::redis(data)).transpose()?;
    let address = redis.as_ref().map(|(_, url)| url.replace("tcp://", "redis://"));
    let url = address.as_deref().or(tenure.as_ref().map(ServerProcess::url)).unwrap_or_default();
    let peers = cargo::root().join("xtask/peers");
    let words: Vec<PathBuf> = match worker {
        MeasuredWorker { is_python: true, is_tenure, .. } => {
            let system = if *is_tenure { "tenure" } else { "celery" };
            vec![programs.python.clone(), peers.join("drain.py"), system.into()]
        }
        MeasuredWorker { is_tenure: true, .. } => {
            vec!["node".into(), peers.join("sdk_typescript.mjs"), "drain".into()]
        }
        MeasuredWorker { .. } => vec!["node".into(), peers.join("bullmq.mjs"), "drain".into()],
    };
    let mut command = Command::new("timeout");
    command.arg(super::CASE_SECONDS_MAX).args(words).env("PEER_URL", url).env("PEER_PLAN", &programs.plan);
    command.env("PEER_MODULES", system::modules()?).env("PEER_SDK", &programs.sdk);
    command.env("PYTHONPATH", cargo::root().join("clients/python/src"));
    measured(&mut command)?.first().copied().context("the program printed no rate")
}

/// The medians, each SDK divided by the system next to it, and whether the targets are met.
fn report(medians: &[f64; WORKERS.len()]) -> String {
    let row = |(worker, rate): (&MeasuredWorker, &f64)| format!("| {} | {rate:.0} |", worker.name);
    let rows: Vec<String> = WORKERS.iter().zip(medians).map(row).collect();
    let [python, celery, typescript, bullmq] = medians;
    let met = |is_met: bool| if is_met { "met" } else { "MISSED" };
    let (to_celery, to_bullmq) = (python / celery, typescript / bullmq);
    let (equals_celery, equals_bullmq) = (met(to_celery >= 1.0), met(to_bullmq >= 1.0));
    let is_fast = met(*python >= PYTHON_RATE_MIN);
    format!(
        "| one worker process | no-op jobs per second |\n|---|---|\n{}\n\n\
         - tenure python to celery: {to_celery:.2} (at least 1: {equals_celery}); at least {PYTHON_RATE_MIN} per second: {is_fast}\n\
         - tenure typescript to bullmq: {to_bullmq:.2} (at least 1: {equals_bullmq})\n",
        rows.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_which_targets_are_missed() {
        let text = report(&[900.0, 300.0, 500.0, 1000.0]);
        assert!(text.contains("| celery | 300 |"), "{text}");
        assert!(
            text.contains("to celery: 3.00 (at least 1: met); at least 1000 per second: MISSED"),
            "{text}"
        );
        assert!(text.contains("to bullmq: 0.50 (at least 1: MISSED)"), "{text}");
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let parse =
            |text: &str| SdkBenchOptions::parse(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(parse("--jobs 500 --rounds 1").unwrap().jobs, 500);
        for wrong in ["--jobs", "--jobs x", "--jobs 0", "celery"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
