//! Faults under load: servers that are killed or frozen, and a network that loses answers.
//!
//! One load records every acknowledgement and repeats every request, under the same idempotency key, until it has an answer.
//! One check reads everything back: no acknowledged job is lost, and no request had two effects. `cargo xtask torture` runs it
//! for minutes, the end-to-end tests in a short form.

mod load;
mod proxy;

use std::time::{Duration, Instant};

use crate::{SeededRandom, Server, Setup, Store};
use load::Load;
use proxy::Proxy;

const CONFIG: &str = "[types.plain]\nlifecycle = \"distributed\"\nlease = \"5m\"\nheartbeat = \"1m\"\n";
/// Operations that are acknowledged between two faults, at most.
const OPERATIONS_BETWEEN_MAX: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9` of a server, which is started again at the same address.
    Kill,
    /// SIGSTOP of a server for up to three seconds.
    Freeze,
    /// Connections are delayed and reset, and requests are forwarded without returning their answers.
    Network,
    /// None: only the load.
    Soak,
}

impl Fault {
    pub const ALL: [(&'static str, Self); 4] =
        [("kill", Self::Kill), ("freeze", Self::Freeze), ("network", Self::Network), ("soak", Self::Soak)];

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, fault)| *fault)
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    Faults(usize),
    Elapsed(Duration),
}

/// The result of a run in which nothing was lost.
#[derive(Debug)]
pub struct Survived {
    pub faults: usize,
    pub acknowledged: usize,
    pub jobs: usize,
    /// Resident memory of the first server at the end, in KiB.
    pub resident_kib: u64,
}

/// Runs the load on one server, or on two nodes of one PostgreSQL, while faults happen; panics if a law is broken.
pub async fn run(fault: Fault, store: Store, until: Until) -> Survived {
    let mut random = SeededRandom::new();
    let first = Setup::new(store).await.config(CONFIG).start().await;
    let mut nodes = vec![first];
    if store == Store::Postgres {
        nodes.push(nodes[0].second_node().await);
    }
    let mut proxies = Vec::new();
    if fault == Fault::Network {
        for node in &nodes {
            proxies.push(Proxy::start(node.address(), random.below(usize::MAX)).await);
        }
    }
    let urls = match fault {
        Fault::Network => proxies.iter().map(Proxy::url).collect(),
        _ => nodes.iter().map(|node| node.url().to_owned()).collect(),
    };
    let load = Load::start(urls);
    let (since, mut faults) = (Instant::now(), 0);
    let is_over = |faults| match until {
        Until::Faults(max) => faults >= max,
        Until::Elapsed(max) => since.elapsed() > max,
    };
    while !is_over(faults) {
        load.more(1 + random.below(OPERATIONS_BETWEEN_MAX)).await;
        nodes = happen(fault, nodes, &mut random).await;
        faults += 1;
    }
    for proxy in &proxies {
        proxy.heal();
    }
    let acknowledged = load.end().await;
    let operations = acknowledged.operations();
    let jobs = acknowledged.check(&nodes[0]).await;
    nodes[0].setup().verify();
    Survived { faults, acknowledged: operations, jobs, resident_kib: resident_kib(nodes[0].id()) }
}

/// Lets one fault happen, and returns the nodes.
async fn happen(fault: Fault, mut nodes: Vec<Server>, random: &mut SeededRandom) -> Vec<Server> {
    let victim = random.below(nodes.len());
    match fault {
        Fault::Kill => {
            let mut server = nodes.remove(victim);
            server.kill();
            nodes.push(server.restart_at_same_address().await);
        }
        Fault::Freeze => {
            nodes[victim].freeze(Duration::from_millis(random.below(3000) as u64)).await;
        }
        // The proxies choose the fate of each connection.
        Fault::Network | Fault::Soak => {}
    }
    nodes
}

fn resident_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
