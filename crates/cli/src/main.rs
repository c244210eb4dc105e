//! The `tenure` binary: parses the command line, runs the command, returns its exit code. Each command has a module.

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

use args::{Args, Command, OutputFormat};
use client::Server;
use output::Exit;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Args::from_command_line()) {
        Ok(exit) => exit.into(),
        // The reader of our output, such as `head`, has closed it.
        Err(error) if is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            let error = client::cli_error(&error);
            error.print();
            error.exit.into()
        }
    }
}

/// Runs commands that need no server; passes the others on.
fn run(args: Args) -> anyhow::Result<Exit> {
    let format = args.output;
    match args.command {
        Command::Lifecycle(command) => lifecycle::run(command, format),
        Command::Dev(dev) => dev::run(&dev, args.server.key.as_deref()),
        Command::Serve(serve) => serve::run(serve),
        Command::Verify { data, database_url } => verify::run(&data, database_url.as_deref(), format),
        Command::Config { config } => config::run(config, format),
        Command::Bench(bench) => bench::run(&bench, format, &args.server),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { dir } => shell::man(dir.as_deref()),
        command => {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
            let exit = runtime.block_on(async { call(command, &Server::new(&args.server)?, format).await });
            runtime.shutdown_timeout(Duration::from_millis(100));
            exit
        }
    }
}

/// Runs commands that call a server.
async fn call(command: Command, server: &Server, format: OutputFormat) -> anyhow::Result<Exit> {
    match command {
        Command::Run(new) => run::run(&new, server, format).await,
        Command::Work(work) => work::run(work, server).await,
        Command::Explain(job) => explain::run(&job, server, format).await,
        Command::Top(args) => top::run(&args, server).await,
        Command::Job(command) => job::run(command, server, format).await,
        Command::Events(events) => events::run(&events, server, format).await,
        Command::Dead(command) => dead::run(command, server, format).await,
        Command::Queue(command) => queue::run(command, server, format).await,
        Command::Worker(command) => worker::run(command, server, format).await,
        Command::Account(command) => account::run(command, server, format).await,
        Command::Schedule(command) => schedule::run(command, server, format).await,
        Command::Webhook(command) => webhook::run(command, server, format).await,
        Command::Key(command) => key::run(command, server, format).await,
        Command::Dev(_)
        | Command::Lifecycle(_)
        | Command::Serve(_)
        | Command::Verify { .. }
        | Command::Config { .. }
        | Command::Bench(_)
        | Command::Completions { .. }
        | Command::Man { .. } => unreachable!("commands without a server are run before"),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
