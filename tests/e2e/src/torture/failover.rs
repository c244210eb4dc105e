//! Failover: Patroni with etcd and two PostgreSQL in synchronous mode, whose leader is killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tenure_launcher::Process;
use tokio_postgres::NoTls;
use xtask::scratch::{self, ServerUser};

use super::load::Load;
use super::resume::Resumptions;
use crate::{Server, eventually, http_client};

const PROBE_MAX: Duration = Duration::from_secs(1);

/// A running cluster. It is killed when dropped.
pub(super) struct Cluster {
    members: [Member; 2],
    _etcd: Process,
    _folder: TempDir,
    /// How long after the new primary accepted a write a job was created, for each failover.
    pub(super) resumed: Resumptions,
    /// How long there was no primary.
    outages: Vec<Duration>,
}

struct Member {
    agent: Process,
    settings: PathBuf,
    data: PathBuf,
    port: u16,
    control_port: u16,
}

impl Cluster {
    pub(super) async fn start() -> Self {
        let user = ServerUser::find().expect("a user for PostgreSQL exists");
        let folder = tempfile::tempdir().unwrap();
        user.owns(folder.path()).unwrap();
        let etcd_port = scratch::free_port().unwrap();
        let etcd = start_etcd(folder.path(), etcd_port);
        let members = ["a", "b"].map(|name| Member::start(folder.path(), name, etcd_port));
        let (resumed, outages) = (Resumptions::default(), Vec::new());
        let cluster = Self { members, _etcd: etcd, _folder: folder, resumed, outages };
        cluster.wait_until_redundant().await;
        let leader = usize::from(!cluster.members[0].is("primary").await);
        for statement in ["create database tenure", "create table probe (n int)"] {
            cluster.members[leader].execute(statement).await.expect("the primary accepts writes");
        }
        cluster
    }

    /// Both members, of which a client chooses the primary.
    pub(super) fn url(&self) -> String {
        let [a, b] = &self.members;
        format!("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/tenure", a.port, b.port)
    }

    /// Kills the leader's server and agent, waits until jobs are created again, and starts the member again.
    pub(super) async fn fail_over(&mut self, nodes: &mut [Server], load: &Load) {
        let victim = usize::from(!self.members[0].is("primary").await);
        let since = Instant::now();
        self.members[victim].kill();
        let successor = &self.members[1 - victim];
        let accepts = async || successor.execute("insert into probe values (1)").await.is_some();
        eventually("the standby becomes the primary", accepts).await;
        self.outages.push(since.elapsed());
        self.resumed.measure(load, nodes).await;
        self.members[victim].restart();
        self.wait_until_redundant().await;
    }

    pub(super) fn measured(&self) -> Vec<String> {
        let outage = format!("no primary for {:.1} s at most", longest(&self.outages));
        std::iter::once(outage).chain(self.resumed.measured("the new primary's first write")).collect()
    }

    /// Waits until there are a primary and a synchronous standby.
    async fn wait_until_redundant(&self) {
        for role in ["primary", "sync"] {
            let has_role = async || {
                let [a, b] = &self.members;
                a.is(role).await || b.is(role).await
            };
            eventually(&format!("one is the {role}"), has_role).await;
        }
    }
}

impl Member {
    fn start(folder: &Path, name: &str, etcd_port: u16) -> Self {
        let port = scratch::free_port().unwrap();
        let control_port = scratch::free_port().unwrap();
        let (data, settings) = (folder.join(name), folder.join(format!("{name}.yml")));
        let programs = scratch::programs().expect("PostgreSQL is installed");
        let text = include_str!("patroni.yml")
            .replace("NAME", name)
            .replace("CONTROL_PORT", &control_port.to_string())
            .replace("ETCD_PORT", &etcd_port.to_string())
            .replace("PORT", &port.to_string())
            .replace("FOLDER", &folder.display().to_string())
            .replace("PROGRAMS", &programs.display().to_string());
        fs::write(&settings, text).unwrap();
        Self { agent: start_agent(&settings), settings, data, port, control_port }
    }

    /// Whether the agent says that the member has this role.
    async fn is(&self, role: &str) -> bool {
        let url = format!("http://127.0.0.1:{}/{role}", self.control_port);
        let answer = http_client().timeout(PROBE_MAX).build().unwrap().get(url).send().await;
        answer.is_ok_and(|answer| answer.status() == 200)
    }

    /// Runs a statement; `None` if it fails.
    async fn execute(&self, statement: &str) -> Option<()> {
        execute(self.port, statement).await
    }

    /// Kills the agent and the server.
    fn kill(&mut self) {
        self.agent.kill().expect("the agent can be killed");
        let state = fs::read_to_string(self.data.join("postmaster.pid")).expect("the server runs");
        let process = state.lines().next().and_then(|line| line.parse().ok()).and_then(Pid::from_raw);
        kill_process(process.expect("a process id"), Signal::KILL).expect("the server runs");
    }

    fn restart(&mut self) {
        self.agent = start_agent(&self.settings);
    }
}

/// The longest of these, in seconds.
pub(super) fn longest(spans: &[Duration]) -> f64 {
    spans.iter().max().map_or(0.0, Duration::as_secs_f64)
}

/// Runs a statement on the server at a port; `None` if it fails.
pub(super) async fn execute(port: u16, statement: &str) -> Option<()> {
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?connect_timeout=1");
    let run = async {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.ok()?;
        tokio::spawn(connection);
        client.batch_execute(statement).await.ok()
    };
    tokio::time::timeout(PROBE_MAX, run).await.ok()?
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for member in &mut self.members {
            drop(member.agent.kill());
            if member.data.join("postmaster.pid").exists() {
                member.kill();
            }
        }
    }
}

fn start_etcd(folder: &Path, port: u16) -> Process {
    let urls = [port, scratch::free_port().unwrap()].map(|port| format!("http://127.0.0.1:{port}"));
    let mut etcd = Command::new("etcd");
    etcd.arg("--data-dir").arg(folder.join("etcd"));
    for (name, url) in [("client", &urls[0]), ("peer", &urls[1])] {
        etcd.args([&format!("--listen-{name}-urls"), url.as_str()]);
    }
    etcd.args(["--advertise-client-urls", &urls[0], "--initial-advertise-peer-urls", &urls[1]]);
    etcd.args(["--initial-cluster", &format!("default={}", urls[1])]);
    Process::start(etcd).expect("etcd is installed")
}

/// PostgreSQL does not run as root, and its agent starts it.
fn start_agent(settings: &Path) -> Process {
    let user = ServerUser::find().expect("a user for PostgreSQL exists");
    let mut agent = user.runs(Command::new("patroni"));
    agent.arg(settings).current_dir("/");
    Process::start(agent).expect("patroni is installed")
}
