//! `cargo xtask …`: parses the command and calls its module.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use xtask::scratch::Scratch;
use xtask::step::{self, Report};
use xtask::{all, cargo, comparison, deny, dist, fuzz, fuzz_targets, install, readme, tidy, torture};

const USAGE: &str = "\
cargo xtask COMMAND

  test                     runs every check in order and stops at the first failure
  install                  installs what is missing of PostgreSQL, PgBouncer, Redis, rustfmt, clippy, schemathesis, Node, Chromium
  fmt | clippy | doc       runs one step of `test`
  tidy                     checks the rules that rustfmt and clippy do not know
  deny                     checks licences, sources, bans and advisories of the dependencies
  readme                   runs the commands of README.md
  systems                  runs the systems of examples/
  sdks                     checks the SDKs in clients/
  move                     checks the scripts in tools/move
  conformance [SDK…] [SCENARIO…]
                           runs scenarios of conformance/ against the SDKs; without names, all against all
  packaging                checks packaging/ and observability/
  clean-root               follows docs/production.md in a clean Debian root; needs root
  fuzz                     runs schemathesis against a server and its /openapi.json
  fuzz-targets [TARGET…] [--seconds N]
                           runs the targets of tests/fuzz under libFuzzer, 60 s each
  dist [--binary FILE]     writes tarball, Debian package, bill of materials and checksums to target/dist; builds the
                           release binary unless one is given
  db [-- COMMAND…]         runs COMMAND with a scratch PostgreSQL; without one, keeps it until Ctrl-C
  sim [--seeds N …]        runs the simulator, optimized
  bench [ARGS…]            runs `tenure bench`, optimized, with a scratch PostgreSQL; without ARGS, on both stores
  bench flow [JOBS]        measures flow control: limits, tokens, shares, and what a resource costs; takes minutes
  bench peers [SYSTEM…]    compares Tenure with other job systems, which it installs; takes half an hour
  bench sdks [--jobs N] [--rounds N] [--binary FILE]
                           compares workers in Python and TypeScript with Celery and BullMQ; takes some minutes
  torture FAULT [ARGS…]    lets processes, disks, power, network or database fail under load, or overloads a server, and
                           checks that nothing was lost: kill, power, failover, freeze, disk, network, overload, soak";

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
    let step: fn() -> Result<Report> = match command {
        "install" => install::run,
        "fmt" => all::fmt,
        "tidy" => tidy::run,
        "clippy" => all::clippy,
        "doc" => all::doc,
        "deny" => deny::run,
        "readme" => readme::run,
        "systems" => all::systems,
        "sdks" => all::sdks,
        "move" => all::moves,
        "packaging" => all::packaging,
        "clean-root" => all::clean_root,
        "fuzz" => fuzz::run,
        "test" => return all::run().map(|()| ExitCode::SUCCESS),
        "fuzz-targets" => return fuzz_targets::run(arguments).map(|()| ExitCode::SUCCESS),
        "dist" => return dist::run(arguments).map(|()| ExitCode::SUCCESS),
        "conformance" => return conformance(arguments),
        "db" => return db(arguments),
        "sim" => return sim(arguments),
        "torture" => return torture(arguments),
        "bench" => match arguments {
            [first, rest @ ..] if first == "peers" => {
                return comparison::run(rest).map(|()| ExitCode::SUCCESS);
            }
            [first, rest @ ..] if first == "flow" => {
                return bench(&[&["--flow".to_owned()][..], rest].concat());
            }
            [first, rest @ ..] if first == "sdks" => {
                return comparison::sdks::run(rest).map(|()| ExitCode::SUCCESS);
            }
            _ => return bench(arguments),
        },
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            return Ok(ExitCode::SUCCESS);
        }
        "" => bail!("a command is missing\n\n{USAGE}"),
        other => bail!("unknown command {other:?}\n\n{USAGE}"),
    };
    step::run(command, step).map(|_| ExitCode::SUCCESS)
}

fn conformance(arguments: &[String]) -> Result<ExitCode> {
    let report = step::run("conformance", || all::conformance(arguments))?;
    print!("{}", report.output);
    Ok(ExitCode::SUCCESS)
}

fn sim(arguments: &[String]) -> Result<ExitCode> {
    // `exec` returns only if the program cannot be started.
    let mut run = cargo::command(&format!("run --quiet --release -p {} --", cargo::SIM_PACKAGE));
    Err(run.args(arguments).exec()).context("cannot start cargo")
}

fn bench(arguments: &[String]) -> Result<ExitCode> {
    let scratch = Scratch::start()?;
    let mut run = cargo::command("run --quiet --release -p tenure -- bench");
    run.args(arguments);
    if arguments.is_empty() {
        run.args(["--stores", "sqlite,postgres"]);
    }
    // The target folder is on a disk; the system's temporary folder may not be.
    run.env("TMPDIR", cargo::target()).env("TENURE_BENCH_POSTGRES", scratch.url());
    exit_code_of(run.envs(scratch.env()))
}

fn torture(arguments: &[String]) -> Result<ExitCode> {
    let (mut run, _scratch) = torture::prepare(arguments)?;
    exit_code_of(&mut run)
}

fn db(arguments: &[String]) -> Result<ExitCode> {
    let arguments = arguments.strip_prefix(&["--".to_string()]).unwrap_or(arguments);
    let scratch = Scratch::start()?;
    if let Some((program, rest)) = arguments.split_first() {
        return exit_code_of(Command::new(program).args(rest).envs(scratch.env()));
    }
    for (name, value) in scratch.env() {
        println!("export {name}='{value}'");
    }
    println!("# Runs until Ctrl-C.");
    loop {
        std::thread::park();
    }
}

/// Runs a command with its output shown and returns its exit code; a signal counts as 1.
fn exit_code_of(command: &mut Command) -> Result<ExitCode> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    Ok(ExitCode::from(status.code().map_or(1, |code| code as u8)))
}
