//! Nodes, as they tell of themselves.

use tenure_core::command::{Asked, Command};
use tenure_core::id::Name;
use tenure_core::limits;
use tenure_core::node::NodeSeen;
use tenure_core::time::Timestamp;
use tenure_core::working_set::Reads;
use tenure_store::Store;

use crate::beds::Bed;
use crate::fixture::*;

fn node(id: &str, tally: &str) -> NodeSeen {
    NodeSeen {
        id: id.into(),
        address: format!("{id}:7070").into(),
        version: "1.0.0".into(),
        started_at: Timestamp(7),
        seen_at: Timestamp(0),
        stopped: false,
        tally: tally.to_owned(),
    }
}

fn says(node: NodeSeen) -> Asked {
    by("server", Command::SeenNode(Box::new(node)))
}

pub(crate) async fn nodes_are_told_of_last_heard_first<S: Store>(bed: Bed<S>) {
    assert_eq!(bed.store.nodes().await.unwrap(), []);
    one(&bed.store, says(node("n1", "{}"))).await.unwrap();
    let first = bed.other.nodes().await.unwrap();
    assert!(first[0].seen_at > Timestamp(0), "the store's time counts");
    assert_eq!(first, [NodeSeen { seen_at: first[0].seen_at, ..node("n1", "{}") }]);
    let at = first[0].seen_at;
    until("the clock has moved on", async || (bed.store.now().await.unwrap().at > at).then_some(())).await;
    one(&bed.other, says(node("n2", "[1]"))).await.unwrap();
    let ids = |nodes: &[NodeSeen]| nodes.iter().map(|it| it.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&bed.store.nodes().await.unwrap()), ["n2", "n1"]);
    let at = bed.store.nodes().await.unwrap()[0].seen_at;
    until("the clock has moved on", async || (bed.store.now().await.unwrap().at > at).then_some(())).await;
    // The last word counts, also within a batch.
    let stopped = NodeSeen { stopped: true, ..node("n1", "[3]") };
    submit(&bed.store, vec![says(node("n1", "[2]")), says(stopped.clone()), says(node("n1", "[4]"))]).await;
    let nodes = bed.other.nodes().await.unwrap();
    assert_eq!(ids(&nodes), ["n1", "n2"]);
    assert_eq!(nodes[0], NodeSeen { seen_at: nodes[0].seen_at, ..stopped });
    one(&bed.store, says(node("n1", "[5]"))).await.unwrap();
    assert_eq!(bed.other.nodes().await.unwrap(), nodes, "one that has stopped says no more");
    assert_lawful(&bed.store).await;
}

pub(crate) async fn nodes_that_are_not_heard_are_forgotten<S: Store>(bed: Bed<S>) {
    let hour = limits::NODE_UNHEARD_MS_MAX as i64;
    for (id, ago) in [("n1", hour), ("n2", hour - 60_000)] {
        let written = bed.store.transact(Reads::default(), move |set, now| {
            let seen_at = Timestamp(now.at.0 - ago);
            set.changes.nodes.insert(id.into(), NodeSeen { seen_at, ..node(id, "") });
        });
        written.await.unwrap();
    }
    assert_eq!(bed.other.nodes().await.unwrap().len(), 2);
    one(&bed.other, says(node("n3", ""))).await.unwrap();
    let left: Vec<Name> = bed.store.nodes().await.unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(left, ["n3", "n2"].map(Name::from));
}
