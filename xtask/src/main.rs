//! `cargo xtask …`: what to type, and nothing else. Each command lives in its own module.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use xtask::scratch::Scratch;
use xtask::{all, cargo, deny, fuzz, install, readme, step, tidy};

const USAGE: &str = "\
cargo xtask COMMAND

  test                     every check, in order; stops at the first that fails
  install                  PostgreSQL, PgBouncer, rustfmt, clippy, schemathesis, Node, Chromium, where missing
  fmt | clippy | doc       one step of `test`
  tidy                     the rules that neither rustfmt nor clippy knows
  deny                     licences, sources, bans and advisories of the dependencies
  readme                   runs the commands of README.md
  systems                  runs the systems of examples/
  fuzz                     schemathesis against a running server and its /openapi.json
  db [-- COMMAND…]         runs COMMAND with a scratch PostgreSQL; without one, keeps it until Ctrl-C
  sim [--seeds N …]        the simulator, optimized
  bench [ARGS…]            the bench, optimized, with a scratch PostgreSQL";

/// Which program `cargo xtask bench` runs: the one line to change when the bench moves.
const BENCH: &[&str] = &["-p", "tenure-runtime", "--example", cargo::BENCH_EXAMPLE];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().unwrap_or_default();
    match run(&command, &arguments.collect::<Vec<_>>()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask {command}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str, arguments: &[String]) -> Result<ExitCode> {
    match command {
        "test" => all::run()?,
        "install" => step::alone("install", install::run)?,
        "fmt" => step::alone("fmt", all::fmt)?,
        "tidy" => step::alone("tidy", tidy::run)?,
        "clippy" => step::alone("clippy", all::clippy)?,
        "doc" => step::alone("doc", all::doc)?,
        "deny" => step::alone("deny", deny::run)?,
        "readme" => step::alone("readme", readme::run)?,
        "systems" => step::alone("systems", all::systems)?,
        "fuzz" => step::alone("fuzz", fuzz::run)?,
        "db" => return db(arguments),
        "sim" => return sim(arguments),
        "bench" => return bench(arguments),
        "help" | "--help" | "-h" => println!("{USAGE}"),
        "" => bail!("a command is needed\n\n{USAGE}"),
        other => bail!("there is no command {other:?}\n\n{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn sim(arguments: &[String]) -> Result<ExitCode> {
    // `exec` returns only when it could not start the program.
    let error = cargo::command(&["run", "--quiet", "--release", "-p", cargo::SIM_PACKAGE, "--"])
        .args(arguments)
        .exec();
    Err(error).context("cargo cannot be started")
}

fn bench(arguments: &[String]) -> Result<ExitCode> {
    let scratch = Scratch::start()?;
    let mut run = cargo::command(&["run", "--quiet", "--release"]);
    run.args(BENCH).arg("--").args(arguments);
    passed_on(run.env("TENURE_BENCH_POSTGRES", scratch.url()).envs(scratch.env()))
}

fn db(arguments: &[String]) -> Result<ExitCode> {
    let arguments = arguments.strip_prefix(&["--".to_string()]).unwrap_or(arguments);
    let scratch = Scratch::start()?;
    if let Some((program, rest)) = arguments.split_first() {
        return passed_on(Command::new(program).args(rest).envs(scratch.env()));
    }
    for (name, value) in scratch.env() {
        println!("export {name}='{value}'");
    }
    println!("# Runs until Ctrl-C.");
    loop {
        std::thread::park();
    }
}

/// Runs a command in the open and takes over its exit code; a signal counts as a failure.
fn passed_on(command: &mut Command) -> Result<ExitCode> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("{program} cannot be started"))?;
    Ok(ExitCode::from(status.code().map_or(1, |code| code as u8)))
}
