//! The compared systems: how each is installed, started and called.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tenure_launcher::{Process, ServerProcess};

use crate::scratch::Scratch;
use crate::{cargo, install, node};

const NPM_PACKAGES: &[&str] = &["bullmq@6.7.0", "ioredis@6.0.0", "pg-boss@10.4.2", "graphile-worker@0.17.3"];
const START_MAX: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct System {
    pub(super) name: &'static str,
    kind: Kind,
    /// What is durable when a call returns.
    pub(super) durability: &'static str,
    /// What is known about a job after its end.
    pub(super) history: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tenure { postgres: bool },
    BullMq,
    Beanstalkd,
    PgBoss,
    GraphileWorker,
    Awa,
}

const WAL: &str = "yes (WAL fsync per commit)";

const fn system(name: &'static str, kind: Kind, durability: &'static str, history: &'static str) -> System {
    System { name, kind, durability, history }
}

pub(super) static SYSTEMS: [System; 7] = [
    system("tenure embedded", Kind::Tenure { postgres: false }, WAL, "every transition"),
    system("tenure postgres", Kind::Tenure { postgres: true }, WAL, "every transition"),
    system("bullmq", Kind::BullMq, "yes (Redis appendfsync always)", "last state"),
    system("beanstalkd", Kind::Beanstalkd, "yes (binlog, -f0)", "none"),
    system("pg-boss", Kind::PgBoss, WAL, "last state"),
    system("graphile-worker", Kind::GraphileWorker, WAL, "none"),
    system("awa", Kind::Awa, WAL, "last state"),
];

impl System {
    pub(super) fn is_on_postgres(&self) -> bool {
        !matches!(self.kind, Kind::Tenure { postgres: false } | Kind::BullMq | Kind::Beanstalkd)
    }

    /// Tenure is compared with the systems on the same kind of storage.
    pub(super) fn is_compared_with(&self, other: &Self) -> bool {
        let is_tenure = |system: &Self| matches!(system.kind, Kind::Tenure { .. });
        is_tenure(self) && !is_tenure(other) && self.is_on_postgres() == other.is_on_postgres()
    }
}

/// Installs the servers and clients of all systems and builds the programs, below `folder`.
pub(super) fn install(folder: &Path) -> Result<()> {
    if [Path::new("/usr/bin/redis-server"), Path::new("/usr/bin/beanstalkd")].iter().any(|it| !it.exists()) {
        install::packages(&["redis-server", "beanstalkd"])?;
    }
    modules()?;
    build(&mut cargo::command("build --release -p tenure -p tenure-client --bin tenure --example peer"))?;
    let manifest = cargo::root().join("xtask/peers/awa/Cargo.toml");
    let mut awa = cargo::command("build --release --manifest-path");
    build(awa.arg(manifest).arg("--target-dir").arg(folder.join("awa")))
}

/// Where node finds the clients.
pub(super) fn modules() -> Result<PathBuf> {
    node::with("peers", NPM_PACKAGES)
}

pub(super) fn build(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    if !status.success() {
        bail!("cargo build: {status}");
    }
    Ok(())
}

/// A started system. Its server is stopped when this is dropped.
pub(super) struct Running {
    system: &'static System,
    url: String,
    tenure: Option<ServerProcess>,
    other: Option<Process>,
}

impl Running {
    pub(super) fn start(system: &'static System, data: &Path, scratch: &Scratch) -> Result<Self> {
        let mut running = Self { system, url: String::new(), tenure: None, other: None };
        if system.is_on_postgres() {
            running.url = new_database(scratch)?;
        }
        match system.kind {
            Kind::Tenure { postgres } => {
                let mut command = Command::new(release("tenure"));
                command.args(["serve", "--listen", "127.0.0.1:0"]);
                if postgres {
                    command.arg("--database-url").arg(&running.url);
                } else {
                    command.arg("--data").arg(data);
                }
                command.env("TENURE_LOG_FILTER", "warn");
                running.tenure = Some(ServerProcess::start(command)?);
            }
            Kind::BullMq => running.connect(redis(data)?),
            Kind::Beanstalkd => {
                let mut command = Command::new("beanstalkd");
                command.args(["-f0", "-l", "127.0.0.1", "-b"]).arg(data).arg("-p");
                running.connect(listening(command)?);
            }
            Kind::PgBoss | Kind::GraphileWorker | Kind::Awa => {}
        }
        Ok(running)
    }

    fn connect(&mut self, (process, url): (Process, String)) {
        (self.other, self.url) = (Some(process), url);
    }

    /// What the program connects to.
    pub(super) fn url(&self) -> &str {
        self.tenure.as_ref().map_or(&self.url, ServerProcess::url)
    }

    /// The program that measures a case, with its arguments.
    pub(super) fn program(&self) -> Vec<PathBuf> {
        let script = |name: &str| vec!["node".into(), cargo::root().join("xtask/peers").join(name)];
        match self.system.kind {
            Kind::Tenure { .. } => vec![release("examples/peer")],
            Kind::BullMq => script("bullmq.mjs"),
            Kind::Beanstalkd => script("beanstalkd.mjs"),
            Kind::PgBoss => script("pg_boss.mjs"),
            Kind::GraphileWorker => script("graphile_worker.mjs"),
            Kind::Awa => vec![cargo::target().join("peers/awa/release/peer-awa")],
        }
    }

    /// Holds a snapshot of the database until the result is dropped, as a backup or a report does.
    pub(super) fn pin_snapshot(&self) -> Result<Process> {
        const STATEMENTS: [&str; 3] = [
            "begin isolation level repeatable read",
            "select count(*) from pg_class",
            "select pg_sleep(3600)",
        ];
        let mut command = psql(&self.url);
        command.args(STATEMENTS.iter().flat_map(|statement| ["--command", statement]));
        Ok(Process::start(command)?)
    }
}

/// A Redis whose answers follow the fsync of its log, and its URL.
pub(super) fn redis(data: &Path) -> Result<(Process, String)> {
    let mut command = Command::new("redis-server");
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--dir"]);
    command.arg(data).arg("--port");
    listening(command)
}

/// Starts a server on a free port, which is its last argument, and waits until it accepts connections.
fn listening(mut command: Command) -> Result<(Process, String)> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    command.arg(address.port().to_string());
    let name = command.get_program().to_string_lossy().into_owned();
    let process = Process::start(command)?;
    let start = Instant::now();
    while TcpStream::connect(address).is_err() {
        if start.elapsed() > START_MAX {
            bail!("{name} does not listen");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok((process, format!("tcp://{address}")))
}

fn psql(url: &str) -> Command {
    let mut command = Command::new("psql");
    command.args(["--no-psqlrc", "--quiet", "--dbname", url]);
    command
}

pub(super) fn release(name: &str) -> PathBuf {
    cargo::target().join("release").join(name)
}

/// A new database on the scratch server.
fn new_database(scratch: &Scratch) -> Result<String> {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let name = format!("peer_{}", NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let url = scratch.url();
    let sql = format!("create database {name}");
    let status = psql(&url).args(["--command", &sql]).status()?;
    if !status.success() {
        bail!("{sql}: {status}");
    }
    let (server, _) = url.rsplit_once('/').context("the URL has a database")?;
    Ok(format!("{server}/{name}"))
}
