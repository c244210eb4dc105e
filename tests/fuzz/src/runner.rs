//! Runs a target on its seed inputs and on random changes of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::mutator::Mutator;
use crate::{Target, corpus};

/// How long a run lasts.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// Changed inputs.
    Inputs(u32),
    Time(Duration),
}

/// Checks the seed inputs and changes of them: a summary, or the first input that fails.
pub fn run(target: &Target, seed: u64, extent: Extent) -> Result<String> {
    let seeds = corpus::read(target.name)?;
    for (name, input) in &seeds {
        check(target, input, &format!("of {name}"))?;
    }
    let (start, count) = (Instant::now(), seeds.len());
    let mut mutator = Mutator::new(seeds.into_iter().map(|(_, input)| input).collect(), seed);
    let mut tried = 0;
    loop {
        let is_over = match extent {
            Extent::Inputs(inputs) => tried >= inputs,
            Extent::Time(time) => start.elapsed() >= time,
        };
        if is_over {
            break;
        }
        tried += 1;
        check(target, &mutator.next_input(), &format!("number {tried} from seed {seed}"))?;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(format!(
        "{:<10} {count} seed inputs, {tried} changed ones from seed {seed}, {seconds:.1} s",
        target.name
    ))
}

/// Checks an input; one that fails is shown, and stored for `--input`.
pub fn check(target: &Target, input: &[u8], which: &str) -> Result<()> {
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.check)(input))) else { return Ok(()) };
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let path = std::env::temp_dir().join(format!("tenure-fuzz-{}", target.name));
    std::fs::write(&path, input)?;
    let shown = input.escape_ascii();
    bail!("target {}, input {which}, in {}:\n{message}\n\n{shown}", target.name, path.display())
}
