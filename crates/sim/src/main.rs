//! `tenure-sim`: runs seeds. Prints a summary, and the report of the first failing seed; then the exit code is 1.

use std::process::ExitCode;

use tenure_sim::{Bug, kept_seeds, run_many, run_traced};

const USAGE: &str = "\
usage: tenure-sim [--seeds N] [--from S] [--seed S] [--bug NAME] [--verbose]

  --seeds N    runs N seeds and the seeds of seeds/found.txt (default 200)
  --from S     the first seed (default 1)
  --seed S     runs only this seed
  --bug NAME   plants a bug: no-fence-check, event-outside-commit, stale-sweep, double-refund, forgotten-attempt,
               repeated-firing, skipped-delivery, forgotten-object, extra-permit, forgotten-tokens,
               forgotten-unique-key, forgotten-halt, ignored-weights, impatient-group
  --verbose    prints the whole trace of a single seed";

struct Options {
    seeds: Vec<u64>,
    bug: Option<Bug>,
    verbose: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let options = match parse(&arguments) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let Options { seeds, bug, verbose } = options;
    let (tally, failed) = match seeds[..] {
        [seed] if verbose => {
            let run = run_traced(seed, bug);
            print!("{}", run.trace.as_deref().unwrap_or_default());
            (run.tally, run.failure)
        }
        _ => {
            let (tally, failed) = run_many(seeds, bug);
            (tally, failed.and_then(|failed| failed.failure))
        }
    };
    if let Some(report) = &failed {
        println!("{report}");
    }
    println!("{tally}");
    if failed.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let (mut count, mut from, mut one, mut bug, mut verbose) = (200, 1, None, None, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{argument} needs a value"));
        let number = |text: &String| text.parse::<u64>().map_err(|_| format!("{text} is not a number"));
        match argument.as_str() {
            "--seeds" => count = number(value()?)?,
            "--from" => from = number(value()?)?,
            "--seed" => one = Some(number(value()?)?),
            "--bug" => {
                let name = value()?;
                bug = Some(Bug::parse(name).ok_or_else(|| format!("unknown bug {name}"))?);
            }
            "--verbose" => verbose = true,
            other => return Err(format!("unknown option {other}")),
        }
    }
    let seeds = match one {
        Some(seed) => vec![seed],
        None => kept_seeds().chain(from..from + count).collect(),
    };
    Ok(Options { seeds, bug, verbose })
}
