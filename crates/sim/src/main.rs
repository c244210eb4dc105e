//! `tenure-sim`: many seeds, or one. Green is one line; a failing seed is told as a story, and the exit code is 1.

use std::process::ExitCode;

use tenure_sim::{Bug, kept_seeds, run_and_tell, run_many};

const USAGE: &str = "\
usage: tenure-sim [--seeds N] [--from S] [--seed S] [--bug NAME] [--verbose]

  --seeds N    so many seeds, and those that are kept (default 200)
  --from S     the first of them (default 1)
  --seed S     this one only
  --bug NAME   with a planted bug: no-fence-check, event-outside-commit, stale-sweep, double-refund, forgotten-attempt
  --verbose    tell everything that happened in a single seed";

struct Wanted {
    seeds: Vec<u64>,
    bug: Option<Bug>,
    verbose: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = match parse(&arguments) {
        Ok(wanted) => wanted,
        Err(flaw) => {
            eprintln!("{flaw}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let Wanted { seeds, bug, verbose } = wanted;
    let (tally, failed) = match seeds[..] {
        [seed] if verbose => {
            let run = run_and_tell(seed, bug);
            print!("{}", run.story.as_deref().unwrap_or_default());
            (run.tally, run.failure)
        }
        _ => {
            let (tally, failed) = run_many(seeds, bug);
            (tally, failed.and_then(|failed| failed.failure))
        }
    };
    if let Some(story) = &failed {
        println!("{story}");
    }
    println!("{tally}");
    if failed.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn parse(arguments: &[String]) -> Result<Wanted, String> {
    let (mut count, mut from, mut one, mut bug, mut verbose) = (200, 1, None, None, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{argument} wants a value"));
        let number = |text: &String| text.parse::<u64>().map_err(|_| format!("{text} is not a number"));
        match argument.as_str() {
            "--seeds" => count = number(value()?)?,
            "--from" => from = number(value()?)?,
            "--seed" => one = Some(number(value()?)?),
            "--bug" => {
                let name = value()?;
                bug = Some(Bug::parse(name).ok_or_else(|| format!("there is no bug {name}"))?);
            }
            "--verbose" => verbose = true,
            other => return Err(format!("there is no option {other}")),
        }
    }
    let seeds = match one {
        Some(seed) => vec![seed],
        None => kept_seeds().chain(from..from + count).collect(),
    };
    Ok(Wanted { seeds, bug, verbose })
}
