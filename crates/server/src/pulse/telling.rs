//! Nodes tell each other what they counted, through the store: a row for each, written every other second if something
//! has changed, and every ten seconds to say that the node lives. What a node counted in its last two seconds is lost if
//! it dies; one that stops says so and loses nothing. The row of a process that ended counts until its hour is over, so
//! a restart keeps what was shown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::command::{Asked, ClaimFilter, Command};
use tenure_core::id::{Actor, Name};
use tenure_core::node::NodeSeen;
use tenure_core::time::{Millis, Timestamp};
use tokio::time::Instant;

use super::Pulse;
use super::snapshot::{NodeLife, NodeNow};
use super::tally::Counted;
use crate::app::App;

/// A node says at least this often that it lives.
const TELL_AT_LEAST: Duration = Duration::from_secs(10);
/// A node that was not heard for so long is gone.
const GONE: Millis = Millis::seconds(15);
/// Kinds of claims that are told; of more, none in particular.
const AWAITED_MAX: usize = 200;

/// This node.
pub(crate) struct Own {
    /// New with each start.
    pub(crate) id: Name,
    /// Where it listens.
    pub(crate) address: Name,
    /// When it started.
    pub(crate) started_at: Timestamp,
    told: Mutex<Option<Told>>,
}

/// What the store was told last, and when.
struct Told {
    at: Instant,
    version: u64,
    awaited: Vec<Awaited>,
}

/// What a node says.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Word {
    counted: Counted,
    awaited: Vec<Awaited>,
}

/// What claims wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Awaited {
    types: Option<Vec<Name>>,
    queues: Option<Vec<Name>>,
}

impl Awaited {
    fn admits(&self, queue: &Name, job_type: &Name) -> bool {
        let (types, queues) = (self.types.as_ref(), self.queues.as_ref());
        types.is_none_or(|types| types.contains(job_type))
            && queues.is_none_or(|queues| queues.contains(queue))
    }

    /// The claims that wait on this node.
    pub(super) fn here(app: &App) -> Vec<Self> {
        let told = |ClaimFilter { types, queues }| Self { types, queues };
        app.runtime().awaited().into_iter().map(told).collect()
    }

    pub(super) fn any(all: &[Self], queue: &Name, job_type: &Name) -> bool {
        all.iter().any(|awaited| awaited.admits(queue, job_type))
    }

    /// Whether they wait for the same, in whatever order.
    fn are_alike(all: &[Self], others: &[Self]) -> bool {
        all.len() == others.len() && all.iter().all(|one| others.contains(one))
    }
}

impl Own {
    pub(crate) fn new(id: Name, address: Name, started_at: Timestamp) -> Self {
        Self { id, address, started_at, told: Mutex::new(None) }
    }

    fn seen(&self, word: &Word, stopped: bool) -> NodeSeen {
        NodeSeen {
            id: self.id.clone(),
            address: self.address.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            started_at: self.started_at,
            seen_at: self.started_at,
            stopped,
            tally: serde_json::to_string(word).expect("a word is text and numbers"),
        }
    }
}

fn says(node: NodeSeen) -> Asked {
    Asked { by: Actor::from("server"), key: None, command: Command::SeenNode(Box::new(node)) }
}

impl Pulse {
    /// What the store has not been told yet, as a command.
    pub(crate) fn news(&self, app: &App) -> Option<Asked> {
        let mut told = self.own.told.lock().expect("nobody panics while noting what was told");
        let mut awaited = Awaited::here(app);
        awaited.truncate(AWAITED_MAX);
        let version = self.tally.version();
        let is_old = |told: &Told| {
            told.at.elapsed() >= TELL_AT_LEAST
                || told.version != version
                || !Awaited::are_alike(&told.awaited, &awaited)
        };
        if !told.as_ref().is_none_or(is_old) {
            return None;
        }
        *told = Some(Told { at: Instant::now(), version, awaited: awaited.clone() });
        let word = Word { counted: self.tally.counted(), awaited };
        Some(says(self.own.seen(&word, false)))
    }

    /// The last word of this node: it stops.
    pub(crate) fn farewell(&self) -> Asked {
        let word = Word { counted: self.tally.counted(), awaited: Vec::new() };
        says(self.own.seen(&word, true))
    }

    /// This node, as it shows itself.
    pub(super) fn own_node(&self, now: Timestamp) -> NodeNow {
        NodeNow { own: true, ..shown(&self.own.seen(&Word::default(), false), now).at(now) }
    }
}

/// What the other nodes say.
#[derive(Default)]
pub(super) struct Others {
    pub(super) nodes: Vec<NodeNow>,
    /// What all of them counted together.
    pub(super) counted: Counted,
    /// What claims wait for on those that live.
    pub(super) awaited: Vec<Awaited>,
}

/// Words that were read before: that of a process which has ended is read once.
#[derive(Default)]
pub(super) struct Words(HashMap<Name, (Timestamp, Arc<Word>)>);

impl Words {
    /// Reads what is new. What cannot be read, as another version may write it, says nothing.
    pub(super) fn read(&mut self, own: &Name, seen: &[NodeSeen], now: Timestamp) -> Others {
        let mut others = Others::default();
        let mut words = HashMap::new();
        for node in seen.iter().filter(|node| node.id != *own) {
            let known = self.0.get(&node.id).filter(|(at, _)| *at == node.seen_at);
            let word = known.map_or_else(
                || Arc::new(serde_json::from_str(&node.tally).unwrap_or_default()),
                |(_, word)| Arc::clone(word),
            );
            let node_now = shown(node, now);
            others.counted.merge(&word.counted);
            if node_now.life == NodeLife::Live {
                others.awaited.extend(word.awaited.iter().cloned());
            }
            others.nodes.push(node_now);
            words.insert(node.id.clone(), (node.seen_at, word));
        }
        self.0 = words;
        others
    }
}

fn shown(node: &NodeSeen, now: Timestamp) -> NodeNow {
    NodeNow {
        id: node.id.clone(),
        address: node.address.to_string(),
        version: node.version.to_string(),
        started_at: node.started_at,
        seen_at: node.seen_at,
        own: false,
        life: match node.stopped {
            true => NodeLife::Stopped,
            false if now > node.seen_at && now - node.seen_at > GONE => NodeLife::Gone,
            false => NodeLife::Live,
        },
    }
}

impl NodeNow {
    fn at(self, now: Timestamp) -> Self {
        Self { seen_at: now, life: NodeLife::Live, ..self }
    }
}
