//! `tenure-fuzz`: runs targets on their seed inputs and on random changes of them. Built with coverage counters, it runs one
//! target under libFuzzer.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tenure_fuzz::runner::Extent;
use tenure_fuzz::{TARGETS, Target};

const USAGE: &str = "\
usage: tenure-fuzz [TARGET …] [--seed S] [--inputs N] [--seconds N] [--input FILE]

  --seed S       the seed of the random changes (default 1)
  --inputs N     changed inputs of each target (default: those of `cargo xtask test`)
  --seconds N    runs each target for this time instead
  --input FILE   checks only this input, such as one that libFuzzer found";

#[derive(Default)]
struct Options {
    targets: Vec<&'static Target>,
    seed: u64,
    extent: Option<Extent>,
    input: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match parse(&arguments) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error:#}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options { seed: 1, ..Options::default() };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--seed" => options.seed = value()?.parse()?,
            "--inputs" => options.extent = Some(Extent::Inputs(value()?.parse()?)),
            "--seconds" => options.extent = Some(Extent::Time(Duration::from_secs(value()?.parse()?))),
            "--input" => options.input = Some(value()?.clone()),
            name => match TARGETS.iter().find(|target| target.name == name) {
                Some(target) => options.targets.push(target),
                None => bail!("there is no target {name}"),
            },
        }
    }
    if options.targets.is_empty() {
        options.targets = TARGETS.iter().collect();
    }
    Ok(options)
}

/// The arguments of libFuzzer are in `BOLERO_LIBFUZZER_ARGS`.
#[cfg(fuzzing_libfuzzer)]
fn run(options: &Options) -> Result<()> {
    fn fuzz(check: fn(&[u8])) {
        bolero::check!().for_each(|input: &[u8]| check(input));
    }
    let [target] = options.targets[..] else { bail!("libFuzzer runs one target") };
    fuzz(target.check);
    Ok(())
}

#[cfg(not(fuzzing_libfuzzer))]
fn run(options: &Options) -> Result<()> {
    use tenure_fuzz::runner;

    for target in &options.targets {
        if let Some(file) = &options.input {
            let input = std::fs::read(file).with_context(|| format!("cannot read {file}"))?;
            runner::check(target, &input, &format!("of {file}"))?;
            continue;
        }
        let extent = options.extent.unwrap_or(Extent::Inputs(target.short_run));
        println!("{}", runner::run(target, options.seed, extent)?);
    }
    Ok(())
}
