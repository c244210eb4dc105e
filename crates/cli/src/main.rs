//! The `tenure` binary: parses the command line, runs the command, returns its exit code. Each command has a module.

mod account;
mod args;
mod backup;
mod bench;
mod client;
mod config;
mod dead;
mod dev;
mod doctor;
mod events;
mod explain;
mod id;
mod intake;
mod job;
mod key;
mod lifecycle;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(not(feature = "mcp"))]
#[path = "mcp/missing.rs"]
mod mcp;
mod output;
mod payload;
mod queue;
mod resource;
mod run;
mod schedule;
mod serve;
mod shell;
mod show;
mod test_server;
mod top;
mod verify;
mod webhook;
mod work;
mod worker;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use args::{Args, Command, ConfigCommand, ServerArgs};
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

fn run(args: Args) -> Result<Exit> {
    let Args { output: format, server: host, command } = args;
    match command {
        Command::Lifecycle(command) => lifecycle::run(command, format, &host),
        Command::Dev(dev) => dev::run(&dev, host.key()?.as_deref()),
        Command::Serve(serve) => serve::run(serve),
        Command::TestServer { config, listen } => test_server::run(config, listen),
        Command::Verify { data, database_url, database_schema } => {
            verify::run(verify::location(data, database_url), &database_schema, format)
        }
        Command::Backup { to, data } => backup::back_up(&data, &to, format),
        Command::Intake(command) => intake::run(&command),
        Command::Restore { file, data } => backup::restore(&file, &data, format),
        Command::Config { config, check: None } => config::run(config, format),
        Command::Config { config, check: Some(ConfigCommand::Check) } => config::check(config, format),
        Command::Doctor(args) => doctor::run(args, format),
        Command::Bench(bench) => bench::run(&bench, format, &host),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { dir } => shell::man(dir.as_deref()),
        Command::Run(new) => call(&host, async |server| run::run(&new, server, format).await),
        Command::Work(work) => call(&host, async |server| work::run(work, server).await),
        Command::Explain(job) => call(&host, async |server| explain::run(&job, server, format).await),
        Command::Mcp(args) => mcp::run(&args, &host),
        Command::Top(args) => call(&host, async |server| top::run(&args, server).await),
        Command::Job(command) => call(&host, async |server| job::run(command, server, format).await),
        Command::Events(events) => call(&host, async |server| events::run(&events, server, format).await),
        Command::Dead(command) => call(&host, async |server| dead::run(command, server, format).await),
        Command::Queue(command) => call(&host, async |server| queue::run(command, server, format).await),
        Command::Resource(command) => {
            call(&host, async |server| resource::run(command, server, format).await)
        }
        Command::Worker(command) => call(&host, async |server| worker::run(command, server, format).await),
        Command::Account(command) => call(&host, async |server| account::run(command, server, format).await),
        Command::Schedule(command) => {
            call(&host, async |server| schedule::run(command, server, format).await)
        }
        Command::Webhook(command) => call(&host, async |server| webhook::run(command, server, format).await),
        Command::Key(command) => call(&host, async |server| key::run(command, server, format).await),
    }
}

/// Runs a command that calls the server.
fn call(server: &ServerArgs, command: impl AsyncFnOnce(&Server) -> Result<Exit>) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let exit = runtime.block_on(async { command(&Server::new(server)?).await });
    runtime.shutdown_timeout(Duration::from_millis(100));
    exit
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
