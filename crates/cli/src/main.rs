//! The `tenure` binary: parse, dispatch, exit code. What a command does is in the file of its noun.

mod account;
mod args;
mod bench;
mod client;
mod config;
mod dead;
mod dev;
mod events;
mod explain;
mod id;
mod job;
mod key;
mod lifecycle;
mod output;
mod payload;
mod queue;
mod run;
mod schedule;
mod serve;
mod shell;
mod show;
mod top;
mod verify;
mod webhook;
mod work;
mod worker;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use args::{Args, Command, Form};
use client::Server;
use output::Exit;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    match run(args) {
        Ok(exit) => exit.into(),
        // Whoever read our output has seen enough.
        Err(error) if is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            let trouble = client::trouble(&error);
            output::words(&format!("tenure: {}", trouble.sentence));
            if let Some(help) = trouble.help {
                output::words(&format!("help: {help}"));
            }
            trouble.exit.into()
        }
    }
}

/// What needs no server; the rest asks one.
fn run(args: Args) -> anyhow::Result<Exit> {
    let form = args.output;
    match args.command {
        Command::Lifecycle(command) => lifecycle::run(command, form),
        Command::Dev(dev) => dev::run(&dev, args.server.key.as_deref()),
        Command::Serve(serve) => serve::run(serve),
        Command::Verify(verify) => verify::run(&verify, form),
        Command::Config(config) => config::run(config, form),
        Command::Bench(bench) => bench::run(&bench, form, &args.server),
        Command::Completions(completions) => shell::completions(&completions),
        Command::Man(man) => shell::man(&man),
        command => {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
            let exit = runtime.block_on(async { ask(command, &Server::new(&args.server)?, form).await });
            runtime.shutdown_timeout(Duration::from_millis(100));
            exit
        }
    }
}

async fn ask(command: Command, server: &Server, form: Form) -> anyhow::Result<Exit> {
    match command {
        Command::Run(new) => run::run(&new, server, form).await,
        Command::Work(work) => work::run(work, server).await,
        Command::Explain(one) => explain::run(&one, server, form).await,
        Command::Top(args) => top::run(&args, server).await,
        Command::Job(command) => job::run(command, server, form).await,
        Command::Events(events) => events::run(&events, server, form).await,
        Command::Dead(command) => dead::run(command, server, form).await,
        Command::Queue(command) => queue::run(command, server, form).await,
        Command::Worker(command) => worker::run(command, server, form).await,
        Command::Account(command) => account::run(command, server, form).await,
        Command::Schedule(command) => schedule::run(command, server, form).await,
        Command::Webhook(command) => webhook::run(command, server, form).await,
        Command::Key(command) => key::run(command, server, form).await,
        Command::Dev(_)
        | Command::Lifecycle(_)
        | Command::Serve(_)
        | Command::Verify(_)
        | Command::Config(_)
        | Command::Bench(_)
        | Command::Completions(_)
        | Command::Man(_) => unreachable!("what needs no server was run before"),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
