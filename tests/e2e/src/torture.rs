//! Faults under load: processes that are killed or frozen, a network that loses answers, disks that fail, and overload.
//!
//! One load records every acknowledgement and repeats every request, under the same idempotency key, until it has an answer.
//! One check reads everything back: no acknowledged job is lost, and no request had two effects. `cargo xtask torture` runs it
//! for minutes, the end-to-end tests in a short form.

mod disk;
mod failover;
mod load;
mod overload;
mod power;
mod proxy;
mod resume;
mod standby;
mod workers;

use std::fs;
use std::time::{Duration, Instant};

use xtask::scratch::Scratch;

use crate::server::freeze;
use crate::{SeededRandom, Server, Setup, Store};
use disk::FaultyDisk;
use failover::Cluster;
use load::Load;
use power::PowerDisk;
use proxy::Proxy;
use resume::Resumptions;
use standby::StandbyPair;
use workers::WorkerProcesses;

const CONFIG: &str = r#"
[types.plain]
lifecycle = "distributed"
lease = "5m"
heartbeat = "1m"

[types.chore]
lifecycle = "distributed"
lease = "2s"
heartbeat = "500ms"
max_attempts = 100
backoff = { base = "10ms", factor = 1.0, max = "10ms", jitter = "none" }
"#;
/// Operations that are acknowledged between two faults, at most.
const OPERATIONS_BETWEEN_MAX: usize = 200;
const FREEZE_MILLIS_MAX: usize = 3000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9` of a server, which is started again at the same address, or of a worker.
    Kill,
    /// A disk loses what was not flushed.
    Power,
    /// The leader of a PostgreSQL cluster is killed, and the standby is promoted.
    Failover,
    /// SIGSTOP of a server, a worker or the database for up to three seconds, or for [`Plan::hold`].
    Freeze,
    /// The disk is full for a time, or a sync fails.
    Disk,
    /// Connections are delayed and reset, and requests are forwarded without returning their answers.
    Network,
    /// Ten times as many creations as the server can finish.
    Overload,
    /// None: only the load.
    Soak,
}

impl Fault {
    pub const ALL: [(&'static str, Self); 8] = [
        ("kill", Self::Kill),
        ("power", Self::Power),
        ("failover", Self::Failover),
        ("freeze", Self::Freeze),
        ("disk", Self::Disk),
        ("network", Self::Network),
        ("overload", Self::Overload),
        ("soak", Self::Soak),
    ];

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, fault)| *fault)
    }
}

/// What is frozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    Database,
    Server,
    Worker,
}

impl Victim {
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "database" => Self::Database,
            "server" => Self::Server,
            "worker" => Self::Worker,
            _ => return None,
        })
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    Faults(usize),
    Elapsed(Duration),
}

/// What a run is.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub fault: Fault,
    pub store: Store,
    pub until: Until,
    /// Uses file systems, devices and control groups, for which root is needed, and for a failover Patroni.
    pub as_root: bool,
    /// The embedded store syncs nothing, or the standby is not synchronous, so that a power cut or a failover must lose jobs
    /// and the run must fail.
    pub without_sync: bool,
    /// The duration of each freeze; otherwise it is random.
    pub hold: Option<Duration>,
    /// What is frozen; otherwise one of all, at random.
    pub only: Option<Victim>,
}

impl Plan {
    pub fn new(fault: Fault, store: Store, until: Until) -> Self {
        Self { fault, store, until, as_root: false, without_sync: false, hold: None, only: None }
    }
}

/// The result of a run in which nothing was lost.
#[derive(Debug)]
pub struct Survived {
    pub faults: usize,
    pub acknowledged: usize,
    pub jobs: usize,
    /// Resident memory of the first server at the end, in KiB.
    pub resident_kib: u64,
    /// Measurements, as sentences.
    pub measured: Vec<String>,
    /// Targets that were missed, as sentences.
    pub missed: Vec<String>,
}

/// Runs the load on one server, or on two nodes of one PostgreSQL, while faults happen; panics if a law is broken.
pub async fn run(plan: Plan) -> Survived {
    if plan.fault == Fault::Overload {
        let Until::Elapsed(span) = plan.until else { panic!("an overload lasts for a time") };
        return overload::run(span, plan.as_root).await;
    }
    let mut random = SeededRandom::new();
    let mut rig = Rig::start(plan, &mut random).await;
    let load = Load::start(rig.urls(), rig.workers.len() > 0);
    let (since, mut faults) = (Instant::now(), 0);
    let is_over = |faults| match plan.until {
        Until::Faults(max) => faults >= max,
        Until::Elapsed(max) => since.elapsed() > max,
    };
    while !is_over(faults) {
        load.more(1 + random.below(OPERATIONS_BETWEEN_MAX)).await;
        rig.fail(&load, &mut random).await;
        faults += 1;
    }
    if let Equipment::Proxies(proxies) = &rig.equipment {
        proxies.iter().for_each(Proxy::heal);
    }
    let acknowledged = load.end().await;
    let operations = acknowledged.operations();
    let jobs = acknowledged.check(&rig.nodes[0]).await;
    rig.nodes[0].setup().verify();
    let resident_kib = memory_kib(rig.nodes[0].id(), "VmRSS:");
    let (measured, missed) = match &rig.equipment {
        Equipment::Cluster(cluster) => (cluster.measured(), cluster.resumed.missed()),
        Equipment::Pair(pair) => (pair.measured(), pair.resumed.missed()),
        _ => (rig.thawed.measured("the end of a freeze").into_iter().collect(), rig.thawed.missed()),
    };
    Survived { faults, acknowledged: operations, jobs, resident_kib, measured, missed }
}

/// Servers, worker processes, and what else faults act on.
struct Rig {
    plan: Plan,
    /// How long after a freeze of the database or a server a job was created.
    thawed: Resumptions,
    nodes: Vec<Server>,
    workers: WorkerProcesses,
    equipment: Equipment,
}

enum Equipment {
    None,
    Proxies(Vec<Proxy>),
    Disk(FaultyDisk),
    Power(PowerDisk),
    Cluster(Cluster),
    Pair(StandbyPair),
    /// The database of this run alone: other tests use the common one at the same time.
    Database(Scratch),
}

impl Rig {
    async fn start(plan: Plan, random: &mut SeededRandom) -> Self {
        let (mut equipment, setup) = Equipment::below_the_servers(plan).await;
        let mut nodes = vec![setup.start().await];
        if plan.store == Store::Postgres {
            nodes.push(nodes[0].second_node().await);
        }
        if plan.fault == Fault::Network {
            let mut proxies = Vec::new();
            for node in &nodes {
                proxies.push(Proxy::start(node.address(), random.below(usize::MAX)).await);
            }
            equipment = Equipment::Proxies(proxies);
        }
        let has_workers = matches!(plan.fault, Fault::Kill | Fault::Freeze);
        let urls = nodes.iter().filter(|_| has_workers).map(|node| node.url().to_owned());
        let workers = WorkerProcesses::start(urls.collect());
        Self { plan, thawed: Resumptions::default(), nodes, workers, equipment }
    }

    /// Where requests are sent.
    fn urls(&self) -> Vec<String> {
        match &self.equipment {
            Equipment::Proxies(proxies) => proxies.iter().map(Proxy::url).collect(),
            _ => self.nodes.iter().map(|node| node.url().to_owned()).collect(),
        }
    }

    /// Lets one fault happen.
    async fn fail(&mut self, load: &Load, random: &mut SeededRandom) {
        match &mut self.equipment {
            Equipment::Disk(disk) => {
                let server = self.nodes.remove(0);
                self.nodes.push(disk.fail(server, load, random).await);
            }
            Equipment::Power(disk) => {
                let server = self.nodes.remove(0);
                self.nodes.push(disk.cut(server).await);
            }
            Equipment::Cluster(cluster) => cluster.fail_over(&mut self.nodes, load).await,
            Equipment::Pair(pair) => pair.fail_over(&mut self.nodes, load).await,
            _ if self.plan.fault == Fault::Kill => self.kill(random).await,
            _ if self.plan.fault == Fault::Freeze => self.freeze(load, random).await,
            // The proxies choose the fate of each connection.
            _ => {}
        }
    }

    /// Kills a worker or a server, and starts it again.
    async fn kill(&mut self, random: &mut SeededRandom) {
        let workers = self.workers.len();
        let victim = random.below(workers + self.nodes.len());
        if victim < workers {
            self.workers.kill(victim);
        } else {
            let mut server = self.nodes.remove(victim - workers);
            server.kill();
            self.nodes.push(server.restart_at_same_address().await);
        }
    }

    /// Stops a worker, a server or the database for a time.
    async fn freeze(&mut self, load: &Load, random: &mut SeededRandom) {
        let servers = self.nodes.iter().map(|node| (Victim::Server, vec![node.id()]));
        let workers = self.workers.ids().map(|id| (Victim::Worker, vec![id]));
        let mut victims: Vec<(Victim, Vec<u32>)> = servers.chain(workers).collect();
        if let Equipment::Database(database) = &self.equipment {
            victims.push((Victim::Database, database.processes().expect("the database runs")));
        }
        victims.retain(|(kind, _)| self.plan.only.is_none_or(|only| only == *kind));
        assert!(!victims.is_empty(), "there is no {:?} to freeze", self.plan.only);
        let chosen = Duration::from_millis(random.below(FREEZE_MILLIS_MAX) as u64);
        let (kind, processes) = &victims[random.below(victims.len())];
        freeze(processes, self.plan.hold.unwrap_or(chosen)).await;
        if *kind != Victim::Worker {
            self.thawed.measure(load, &mut self.nodes).await;
        }
    }
}

impl Equipment {
    /// What servers are started on.
    async fn below_the_servers(plan: Plan) -> (Self, Setup) {
        let Plan { fault, store, as_root, without_sync, .. } = plan;
        match (fault, store) {
            (Fault::Disk, _) => {
                let setup = Setup::new(store).await.config(CONFIG);
                let (disk, setup) = FaultyDisk::below(setup, as_root);
                (Self::Disk(disk), setup)
            }
            (Fault::Power, _) => {
                let setup = Setup::new(store).await.config(CONFIG);
                let (disk, setup) = PowerDisk::below(setup, as_root, without_sync).await;
                (Self::Power(disk), setup)
            }
            (Fault::Failover, _) if !as_root => {
                let pair = StandbyPair::start(without_sync).await;
                let setup = Setup::on_database(&pair.url()).config(CONFIG);
                (Self::Pair(pair), setup)
            }
            (Fault::Failover, _) => {
                let cluster = Cluster::start().await;
                let setup = Setup::on_database(&cluster.url()).config(CONFIG);
                (Self::Cluster(cluster), setup)
            }
            (Fault::Freeze, Store::Postgres) => {
                let database = Scratch::start().expect("PostgreSQL is installed");
                let setup = Setup::on_database(&database.url()).config(CONFIG);
                (Self::Database(database), setup)
            }
            _ => (Self::None, Setup::new(store).await.config(CONFIG)),
        }
    }
}

/// A line of the status of a process, such as `VmRSS:`, in KiB.
fn memory_kib(process: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
