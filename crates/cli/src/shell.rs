//! Shell completions and manual pages, generated from the command line.

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;

use crate::args::{Args, CompletionsArgs, ManArgs};
use crate::output::{self, Exit};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "tenure", &mut text);
    output::data(&String::from_utf8(text)?)?;
    Ok(Exit::Done)
}

pub(crate) fn man(args: &ManArgs) -> Result<Exit> {
    let Some(dir) = &args.dir else {
        let mut text = Vec::new();
        clap_mangen::Man::new(Args::command()).render(&mut text)?;
        output::data(&String::from_utf8(text)?)?;
        return Ok(Exit::Done);
    };
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    clap_mangen::generate_to(Args::command(), dir)
        .with_context(|| format!("cannot write the manual pages to {}", dir.display()))?;
    output::message(&format!("manual pages written to {}", dir.display()));
    Ok(Exit::Done)
}
