//! What is made from the command line itself: completions and the manual.

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;

use crate::args::{Args, Completions, Man};
use crate::output::{self, Exit};

pub(crate) fn completions(args: &Completions) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "tenure", &mut text);
    output::data(&String::from_utf8(text).context("completions are text")?)?;
    Ok(Exit::Done)
}

pub(crate) fn man(args: &Man) -> Result<Exit> {
    let Some(dir) = &args.dir else {
        let mut text = Vec::new();
        clap_mangen::Man::new(Args::command()).render(&mut text)?;
        output::data(&String::from_utf8(text).context("the manual is text")?)?;
        return Ok(Exit::Done);
    };
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    clap_mangen::generate_to(Args::command(), dir)
        .with_context(|| format!("the manual cannot be written to {}", dir.display()))?;
    output::words(&format!("the manual is in {}", dir.display()));
    Ok(Exit::Done)
}
