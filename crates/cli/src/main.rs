//! The `tenure` binary: parse, dispatch, exit code. What a command does is in the file of its noun.

mod args;
mod lifecycle;
mod output;
mod serve;
mod verify;

use std::io;
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command, Form};
use output::Exit;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(args.command, args.output) {
        Ok(exit) => exit.into(),
        // Whoever read our output has seen enough.
        Err(error) if is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            output::words(&format!("tenure: {error:#}"));
            Exit::Failed.into()
        }
    }
}

fn run(command: Command, form: Form) -> anyhow::Result<Exit> {
    match command {
        Command::Lifecycle(command) => lifecycle::run(command, form),
        Command::Serve(serve) => serve::run(serve),
        Command::Verify(verify) => verify::run(&verify, form),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
