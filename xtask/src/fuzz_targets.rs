//! `cargo xtask fuzz-targets`: runs the targets of `tests/fuzz` under libFuzzer, which keeps the inputs that reach new code.
//!
//! The program is built with coverage counters, by options that the stable compiler has, in its own target folder. The
//! inputs that were kept stay there, so that the next run continues with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::step;

const PACKAGE: &str = "tenure-fuzz";
const SEEDS: &str = "tests/fuzz/corpus";
const SECONDS: u64 = 60;
/// An input that takes longer is a failure.
const INPUT_SECONDS_MAX: u32 = 25;
const INPUT_BYTES_MAX: u32 = 16 << 10;
/// Counters for each block, a table of their places, and the operands of comparisons; one unit, so that counters are not
/// duplicated.
const RUSTFLAGS: &str = "--cfg fuzzing --cfg fuzzing_libfuzzer -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

struct Options {
    targets: Vec<String>,
    seconds: u64,
}

/// Runs each target, or those that are named, for some time.
pub fn run(arguments: &[String]) -> Result<()> {
    let Options { targets, seconds } = parse(arguments, &all_targets()?)?;
    let program = build()?;
    for target in &targets {
        run_target(&program, target, seconds)?;
    }
    Ok(())
}

/// The targets: those that have seed inputs.
fn all_targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in fs::read_dir(cargo::root().join(SEEDS))? {
        names.push(folder?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn parse(arguments: &[String], all: &[String]) -> Result<Options> {
    let mut options = Options { targets: Vec::new(), seconds: SECONDS };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--seconds" {
            let value = rest.next().context("--seconds needs a number")?;
            options.seconds = value.parse().with_context(|| format!("{value} is not a number"))?;
        } else if all.contains(argument) {
            options.targets.push(argument.clone());
        } else {
            bail!("there is no target {argument:?}: choose from {}", all.join(", "));
        }
    }
    if options.targets.is_empty() {
        options.targets = all.to_vec();
    }
    Ok(options)
}

/// Builds the program with coverage counters.
fn build() -> Result<PathBuf> {
    // With a target, the options do not apply to build scripts and macros, which could not be linked with them.
    let host = host()?;
    let folder = folder();
    let mut command = cargo::command("build --quiet -p");
    command.args([PACKAGE, "--target", &host, "--target-dir"]).arg(&folder);
    command.env("RUSTFLAGS", RUSTFLAGS).env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    step::command("fuzz-targets-build", &mut command)?;
    Ok(folder.join(host).join("debug").join(PACKAGE))
}

fn folder() -> PathBuf {
    cargo::target().join("fuzz")
}

/// The platform of the compiler.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

fn run_target(program: &Path, target: &str, seconds: u64) -> Result<()> {
    let (kept, found) = (folder().join("kept").join(target), folder().join("found").join(target));
    fs::create_dir_all(&kept)?;
    fs::create_dir_all(&found)?;
    let arguments = [
        kept.display().to_string(),
        format!("{SEEDS}/{target}"),
        format!("-max_total_time={seconds}"),
        format!("-timeout={INPUT_SECONDS_MAX}"),
        format!("-max_len={INPUT_BYTES_MAX}"),
        format!("-artifact_prefix={}/", found.display()),
    ];
    let mut command = Command::new(program);
    command.arg(target).current_dir(cargo::root()).env("BOLERO_LIBFUZZER_ARGS", arguments.join(" "));
    let output = step::command(&format!("fuzz-target-{target}"), &mut command).with_context(|| {
        let again = format!("cargo run -p {PACKAGE} -- {target} --input FILE");
        format!("target {target}: the input is in {}; check it again with `{again}`", found.display())
    })?;
    println!("{}", summary(target, &output.output));
    Ok(())
}

/// The last lines of libFuzzer in one.
fn summary(target: &str, output: &str) -> String {
    let after = |line: &str, word: &str| {
        let rest = line.split_once(word)?.1;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let inputs = output.lines().rev().find_map(|line| after(line, "Done ")).unwrap_or_default();
    let seconds = output.lines().rev().find_map(|line| after(line, " runs in ")).unwrap_or_default();
    let places = output.lines().rev().find_map(|line| after(line, "cov: ")).unwrap_or_default();
    format!("{target:<10} {inputs} inputs in {seconds} s, {places} places of the code reached")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_are_those_with_seed_inputs() {
        let all = all_targets().unwrap();
        assert!(all.contains(&"json".to_owned()), "{all:?}");
        let arguments = ["json", "--seconds", "5"].map(str::to_owned);
        let options = parse(&arguments, &all).unwrap();
        assert_eq!((options.targets, options.seconds), (vec!["json".to_owned()], 5));
        assert_eq!(parse(&[], &all).unwrap().targets, all);
        assert!(parse(&["nothing".to_owned()], &all).is_err());
    }

    #[test]
    fn the_summary_has_what_libfuzzer_reports_last() {
        let output =
            "#2\tINITED cov: 24 ft: 24\n#8\tDONE   cov: 28 ft: 28\nDone 18607612 runs in 16 second(s)\n";
        let expected = "json       18607612 inputs in 16 s, 28 places of the code reached";
        assert_eq!(summary("json", output), expected);
    }
}
