//! `cargo xtask test`: every check, the fastest first.
//!
//! Tests, examples and the simulator share one profile and one set of features, because they are always built for the
//! whole workspace and run straight from the target folder; so nothing is compiled twice.

use std::fs;
use std::num::NonZero;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow, bail};

use crate::cargo::{self, Program};
use crate::scratch::Scratch;
use crate::step::{self, Report};
use crate::tally::{self, Tally};
use crate::{deny, fuzz, install, readme, scripts, systems, tidy};

const SIM_SEEDS: &str = "200";
/// A machine that is slow for a moment must not hide the result of all other checks. Each test that failed once is reported.
const RETRIES: u32 = 1;
/// Building the optimized simulator takes longer than these seeds do without optimization.
const SIM_OPTIMIZED: bool = false;
/// An example must end within this time.
const EXAMPLE_SECONDS_MAX: &str = "120";
/// Examples that need a server: only built here.
const BUILT_ONLY: &[&str] = &["conformance", "peer", "worker"];

/// Runs every step up to the first failure, then prints the test runners' summaries and their sum.
pub fn run() -> Result<()> {
    let start = Instant::now();
    install::components()?;
    thread::scope(|scope| {
        // Installing waits for the network most of the time; these steps need nothing of it.
        let install = scope.spawn(|| step::run("install", install::run));
        step::run("fmt", fmt)?;
        step::run("tidy", tidy::run)?;
        step::run("clippy", clippy)?;
        install.join().map_err(|_| anyhow!("the installation panicked"))?
    })?;
    let scratch = Scratch::start()?;
    let mut tested = step::run("tests", || tests(&scratch))?;
    tested.append(step::run("doctests", doc_tests)?);
    step::run("doc", doc)?;
    step::run("examples", || examples(&scratch))?;
    drop(scratch);
    step::run("sim", sim)?;
    step::run("readme", readme::run)?;
    step::run("systems", systems)?;
    step::run("sdks", sdks)?;
    step::run("move", moves)?;
    tested.append(step::run("conformance", || conformance(&[]))?);
    step::run("packaging", packaging)?;
    step::run("fuzz", fuzz::run)?;
    step::run("deny", deny::run)?;
    let sum = Tally::of(&tested.output);
    println!("all   {:<9} {:>4}", "", step::seconds(start.elapsed()));
    for line in tally::summary_lines(&tested.output).filter(|line| line.starts_with("Summary")) {
        println!("{line}");
    }
    println!("{sum}");
    if sum.passed == 0 || sum.failed > 0 {
        bail!("the test runners succeeded, but their summaries say: {sum}");
    }
    Ok(())
}

/// Checks the formatting.
pub fn fmt() -> Result<Report> {
    step::command("fmt", &mut cargo::command("fmt --all --check"))
}

/// Runs clippy over everything, tests and examples included; a warning is a failure.
pub fn clippy() -> Result<Report> {
    let arguments = "clippy --workspace --all-targets --all-features --quiet -- -D warnings";
    step::command("clippy", &mut cargo::command(arguments))
}

/// Builds the documentation of this workspace's crates; a broken link is a failure.
pub fn doc() -> Result<Report> {
    let mut command = cargo::command("doc --workspace --all-features --no-deps --quiet");
    step::command("doc", command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn tests(scratch: &Scratch) -> Result<Report> {
    // Tests mostly wait: two for each core keep the cores busy.
    let threads = 2 * thread::available_parallelism().map_or(1, NonZero::get);
    let mut command = if cargo::has("nextest") {
        let nextest = "nextest run --workspace --all-features --no-fail-fast";
        cargo::command(&format!("{nextest} --retries {RETRIES} --test-threads {threads}"))
    } else {
        cargo::command("test --workspace --all-features --no-fail-fast --lib --bins --tests --examples")
    };
    let mut report = step::command("tests", command.env("CARGO_TERM_COLOR", "never").envs(scratch.env()))?;
    report.remarks.extend(tally::flaky(&report.output));
    Ok(report)
}

fn doc_tests() -> Result<Report> {
    step::command("doctests", &mut cargo::command("test --workspace --all-features --doc"))
}

fn examples(scratch: &Scratch) -> Result<Report> {
    let mut report = Report::default();
    let wanted = example_names()?;
    let built = build("examples", false)?;
    for name in wanted.iter().filter(|name| !BUILT_ONLY.contains(&name.as_str())) {
        let mut command = Command::new("timeout");
        command.arg(EXAMPLE_SECONDS_MAX).arg(cargo::path_of(&built, name, true)?);
        command.current_dir(cargo::root()).envs(scratch.env());
        report.append(step::command(&format!("example-{name}"), &mut command)?);
    }
    if wanted.is_empty() {
        report.remarks.push("crates/*/examples has no examples".into());
    }
    Ok(report)
}

/// The examples in the tree, so that none is missed that cargo does not build.
fn example_names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for package in fs::read_dir(cargo::root().join("crates"))? {
        let Ok(examples) = fs::read_dir(package?.path().join("examples")) else { continue };
        for example in examples {
            let path = example?.path();
            if path.extension().is_some_and(|extension| extension == "rs") || path.join("main.rs").is_file() {
                names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
            }
        }
    }
    names.sort();
    Ok(names)
}

fn sim() -> Result<Report> {
    let built = build("sim", SIM_OPTIMIZED)?;
    let mut program = Command::new(cargo::path_of(&built, cargo::SIM_PACKAGE, false)?);
    step::command("sim", program.args(["--seeds", SIM_SEEDS]).current_dir(cargo::root()))
}

/// Runs the systems of `examples/`, each by its `run` script.
pub fn systems() -> Result<Report> {
    systems::run(&build("systems", false)?)
}

/// Checks the SDKs in Python and TypeScript.
pub fn sdks() -> Result<Report> {
    scripts::sdks(&tenure()?, &Scratch::start()?)
}

/// Moves jobs of other systems with the scripts in `tools/move`.
pub fn moves() -> Result<Report> {
    scripts::moves(&tenure()?, &Scratch::start()?)
}

/// Runs the conformance suite of the SDKs, or the parts of it that the arguments name.
pub fn conformance(arguments: &[String]) -> Result<Report> {
    scripts::conformance(&tenure()?, arguments)
}

/// Checks the files for running Tenure in production.
pub fn packaging() -> Result<Report> {
    scripts::packaging(&tenure()?)
}

/// Follows `docs/production.md` in a clean Debian root.
pub fn clean_root() -> Result<Report> {
    scripts::clean_root(&tenure()?)
}

/// The `tenure` program that the tests use.
pub fn tenure() -> Result<PathBuf> {
    Ok(cargo::path_of(&build("readme", false)?, "tenure", false)?.to_path_buf())
}

/// Builds every program of the workspace. Examples are always included: they need the features of the tests, and without
/// those cargo would build the dependencies again.
fn build(step: &str, optimized: bool) -> Result<Vec<Program>> {
    let mut command = cargo::command("build --workspace --all-features --bins --examples --quiet");
    command.arg("--message-format=json-render-diagnostics");
    if optimized {
        command.arg("--release");
    }
    Ok(cargo::programs(&step::command(&format!("{step}-build"), &mut command)?.output))
}
