//! Reports through which nodes share their counters: one row per node in the store, written every two seconds if
//! something changed and at least every ten seconds as a heartbeat. A node that crashes loses the counts of its last two
//! seconds; a node that stops writes a last report. Rows of ended processes count for an hour, so a restart keeps what was
//! shown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::command::{ClaimFilter, Command, CommandEnvelope};
use tenure_core::node::NodeRecord;
use tokio::time::Instant;

use crate::Stats;
use crate::counters::Counted;
use crate::prelude::*;
use crate::snapshot::{NodeLife, NodeNow};

/// A node writes a report at least this often.
const REPORT_INTERVAL_MAX: Duration = Duration::from_secs(10);
/// A node without a report for this long is gone.
const GONE_AFTER: Millis = Millis::seconds(15);
/// Claim filters in a report; any further ones are left out.
const AWAITED_MAX: usize = 200;

/// Identity of this node, and the last report that it wrote.
pub struct ThisNode {
    /// New with each start.
    pub id: Name,
    pub address: Name,
    pub started_at: Timestamp,
    last_report: Mutex<Option<LastReport>>,
}

struct LastReport {
    at: Instant,
    version: u64,
    awaited: Vec<Awaited>,
}

/// Content of a node's row.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct NodeReport {
    counted: Counted,
    awaited: Vec<Awaited>,
}

/// Waiting claims with the same filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Awaited {
    types: Option<Vec<TypeName>>,
    queues: Option<Vec<QueueName>>,
    #[serde(default = "one")]
    claims: usize,
}

/// Reports of older versions have no number of claims.
fn one() -> usize {
    1
}

impl Awaited {
    fn admits(&self, queue: &QueueName, job_type: &TypeName) -> bool {
        let (types, queues) = (self.types.as_ref(), self.queues.as_ref());
        types.is_none_or(|types| types.contains(job_type))
            && queues.is_none_or(|queues| queues.contains(queue))
    }

    pub(super) fn on_this_node(runtime: &Runtime) -> Vec<Self> {
        let awaited = |(ClaimFilter { types, queues }, claims)| Self { types, queues, claims };
        runtime.awaited().into_iter().map(awaited).collect()
    }

    /// How many claims wait for a type in a queue.
    pub(super) fn count(all: &[Self], queue: &QueueName, job_type: &TypeName) -> usize {
        all.iter().filter(|awaited| awaited.admits(queue, job_type)).map(|awaited| awaited.claims).sum()
    }

    fn same_set(all: &[Self], others: &[Self]) -> bool {
        all.len() == others.len() && all.iter().all(|one| others.contains(one))
    }
}

impl ThisNode {
    pub fn new(id: Name, address: Name, started_at: Timestamp) -> Self {
        Self { id, address, started_at, last_report: Mutex::new(None) }
    }

    fn record(&self, report: &NodeReport, stopped: bool) -> NodeRecord {
        NodeRecord {
            id: self.id.clone(),
            address: self.address.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            started_at: self.started_at,
            seen_at: self.started_at,
            stopped,
            tally: serde_json::to_string(report).expect("a report is text and numbers"),
        }
    }
}

fn heartbeat(node: NodeRecord) -> CommandEnvelope {
    CommandEnvelope { by: "server".into(), key: None, command: Command::NodeHeartbeat(Box::new(node)) }
}

impl Stats {
    /// The next report of this node, if one is due.
    pub fn take_report(&self) -> Option<CommandEnvelope> {
        let mut last = self.this_node.last_report.lock().expect("no panic while a report is made");
        let mut awaited = Awaited::on_this_node(&self.runtime);
        awaited.truncate(AWAITED_MAX);
        let version = self.counters.version();
        let is_due = |last: &LastReport| {
            last.at.elapsed() >= REPORT_INTERVAL_MAX
                || last.version != version
                || !Awaited::same_set(&last.awaited, &awaited)
        };
        if !last.as_ref().is_none_or(is_due) {
            return None;
        }
        *last = Some(LastReport { at: Instant::now(), version, awaited: awaited.clone() });
        let report = NodeReport { counted: self.counters.by_minute(), awaited };
        Some(heartbeat(self.this_node.record(&report, false)))
    }

    /// The report with which this node says that it stops.
    pub fn last_report(&self) -> CommandEnvelope {
        let report = NodeReport { counted: self.counters.by_minute(), awaited: Vec::new() };
        heartbeat(self.this_node.record(&report, true))
    }

    pub(super) fn this_node_now(&self, now: Timestamp) -> NodeNow {
        let shown = node_now(&self.this_node.record(&NodeReport::default(), false), now);
        NodeNow { own: true, seen_at: now, life: NodeLife::Live, ..shown }
    }
}

/// The reports of all other nodes.
#[derive(Default)]
pub(super) struct Others {
    pub(super) nodes: Vec<NodeNow>,
    pub(super) counted: Counted,
    /// Filters of claims that wait on live nodes.
    pub(super) awaited: Vec<Awaited>,
}

/// Parsed reports by node. A report that has not changed is not parsed again.
#[derive(Default)]
pub(super) struct NodeReports(HashMap<Name, (Timestamp, Arc<NodeReport>)>);

impl NodeReports {
    /// Parses new reports. A report that cannot be parsed, such as one of another version, counts as empty.
    pub(super) fn read(&mut self, this_node: &Name, seen: &[NodeRecord], now: Timestamp) -> Others {
        let mut others = Others::default();
        let mut reports = HashMap::new();
        for node in seen.iter().filter(|node| node.id != *this_node) {
            let known = self.0.get(&node.id).filter(|(at, _)| *at == node.seen_at);
            let parsed = || Arc::new(serde_json::from_str(&node.tally).unwrap_or_default());
            let report = known.map_or_else(parsed, |(_, report)| Arc::clone(report));
            let now = node_now(node, now);
            others.counted.merge(&report.counted);
            if now.life == NodeLife::Live {
                others.awaited.extend(report.awaited.iter().cloned());
            }
            others.nodes.push(now);
            reports.insert(node.id.clone(), (node.seen_at, report));
        }
        self.0 = reports;
        others
    }
}

fn node_now(node: &NodeRecord, now: Timestamp) -> NodeNow {
    NodeNow {
        id: node.id.clone(),
        address: node.address.to_string(),
        version: node.version.to_string(),
        started_at: node.started_at,
        seen_at: node.seen_at,
        own: false,
        life: match node.stopped {
            true => NodeLife::Stopped,
            false if now > node.seen_at && now - node.seen_at > GONE_AFTER => NodeLife::Gone,
            false => NodeLife::Live,
        },
    }
}
