//! Records of nodes.

use tenure_core::node::NodeRecord;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

fn node(id: &str, tally: &str) -> NodeRecord {
    NodeRecord {
        id: id.into(),
        address: format!("{id}:7070").into(),
        version: "1.0.0".into(),
        started_at: Timestamp(7),
        seen_at: Timestamp(0),
        stopped: false,
        tally: tally.to_owned(),
    }
}

fn node_heartbeat(node: NodeRecord) -> CommandEnvelope {
    by("server", Command::NodeHeartbeat(Box::new(node)))
}

pub(crate) async fn nodes_are_listed_last_seen_first(stores: TestStores) {
    assert_eq!(stores.store.nodes().await.unwrap(), []);
    one(&stores.store, node_heartbeat(node("n1", "{}"))).await.unwrap();
    let first = stores.other.nodes().await.unwrap();
    assert!(first[0].seen_at > Timestamp(0), "the time of the store is used");
    assert_eq!(first, [NodeRecord { seen_at: first[0].seen_at, ..node("n1", "{}") }]);
    clock_after(&stores.store, first[0].seen_at).await;
    one(&stores.other, node_heartbeat(node("n2", "[1]"))).await.unwrap();
    let ids = |nodes: &[NodeRecord]| nodes.iter().map(|it| it.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&stores.store.nodes().await.unwrap()), ["n2", "n1"]);
    let at = stores.store.nodes().await.unwrap()[0].seen_at;
    clock_after(&stores.store, at).await;
    // The last record counts, also within a batch.
    let stopped = NodeRecord { stopped: true, ..node("n1", "[3]") };
    submit(
        &stores.store,
        vec![
            node_heartbeat(node("n1", "[2]")),
            node_heartbeat(stopped.clone()),
            node_heartbeat(node("n1", "[4]")),
        ],
    )
    .await;
    let nodes = stores.other.nodes().await.unwrap();
    assert_eq!(ids(&nodes), ["n1", "n2"]);
    assert_eq!(nodes[0], NodeRecord { seen_at: nodes[0].seen_at, ..stopped });
    one(&stores.store, node_heartbeat(node("n1", "[5]"))).await.unwrap();
    assert_eq!(stores.other.nodes().await.unwrap(), nodes, "a stopped node sends nothing");
    assert_lawful(&stores.store).await;
}

pub(crate) async fn nodes_that_are_not_seen_are_pruned(stores: TestStores) {
    let hour = limits::NODE_UNSEEN_MS_MAX as i64;
    for (id, ago) in [("n1", hour), ("n2", hour - 60_000)] {
        let written = stores.store.transact(Reads::default(), move |set, now| {
            let seen_at = Timestamp(now.at.0 - ago);
            set.changes.upserted.nodes.insert(id.into(), NodeRecord { seen_at, ..node(id, "") });
        });
        written.await.unwrap();
    }
    assert_eq!(stores.other.nodes().await.unwrap().len(), 2);
    one(&stores.other, node_heartbeat(node("n3", ""))).await.unwrap();
    let left: Vec<Name> = stores.store.nodes().await.unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(left, ["n3", "n2"]);
}
