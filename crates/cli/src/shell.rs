//! Shell completions and manual pages, generated from the command line.

use std::path::Path;

use anyhow::{Context as _, Result};
use clap_complete::Shell;

use crate::args;
use crate::output::{self, Exit};

pub(crate) fn completions(shell: Shell) -> Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "tenure", &mut text);
    output::data(&String::from_utf8(text)?)?;
    Ok(Exit::Done)
}

pub(crate) fn man(dir: Option<&Path>) -> Result<Exit> {
    let Some(dir) = dir else {
        let mut text = Vec::new();
        clap_mangen::Man::new(args::command()).render(&mut text)?;
        output::data(&String::from_utf8(text)?)?;
        return Ok(Exit::Done);
    };
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    clap_mangen::generate_to(args::command(), dir)
        .with_context(|| format!("cannot write the manual pages to {}", dir.display()))?;
    output::message(&format!("manual pages written to {}", dir.display()));
    Ok(Exit::Done)
}
