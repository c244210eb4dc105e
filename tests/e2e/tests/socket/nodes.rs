//! Two nodes on one PostgreSQL: the engine on one, front end and cancel on the other.

use serde_json::json;
use tenure_e2e::socket::{Language, SocketClient, engine, engine_count, front_end, lease_of, lease_with};
use tenure_e2e::{Server, Store, eventually, http_client};
use tokio::net::{TcpListener, TcpStream};

use crate::engines::{TYPES, becomes};

#[tokio::test]
async fn events_of_one_node_reach_clients_of_the_other() {
    let here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let mut front = front_end(&there, &json!({})).await;
    let mut engine = engine(&here, "e1", &["scene"], 1).await;
    let (job, dispatch) = engine.running(&there, "scene").await;
    let progress = lease_with(&dispatch, json!({ "progress": 40 }));
    engine.report("job_progress", progress).await;
    assert_eq!(front.event("JOB_PROGRESS").await, json!({ "jobId": job["id"], "progress": 40 }));
    engine.report("job_complete", lease_of(&dispatch)).await;
    for name in ["JOB_QUEUED", "JOB_DISPATCHED", "JOB_RUNNING", "JOB_COMPLETED"] {
        assert_eq!(front.event(name).await["jobId"], job["id"]);
    }
    here.setup().verify();
}

#[tokio::test]
async fn a_cancel_on_one_node_is_pushed_by_the_other() {
    let here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let mut engine = engine(&here, "e1", &["index"], 1).await;
    for mode in ["soft", "hard"] {
        let (job, dispatch) = engine.dispatched(&there, "index").await;
        there.call(&job, "cancel", &json!({ "mode": mode })).await.expect(200);
        assert_eq!(engine.event("job_cancel").await, lease_with(&dispatch, json!({ "mode": mode })));
        if mode == "soft" {
            engine.report("job_cancelled", lease_of(&dispatch)).await;
        }
        becomes(&there, &job, "cancelled").await;
    }
    here.setup().verify();
}

#[tokio::test]
async fn an_engine_continues_on_another_node_when_its_node_stops() {
    let mut here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let mut before = engine(&here, "e1", &["scene"], 1).await;
    let (job, dispatch) = before.running(&there, "scene").await;
    assert!(here.terminate().await.success());
    let mut after = engine(&there, "e1", &["scene"], 1).await;
    // The job that it holds counts towards its capacity.
    there.create(json!({ "type": "scene" })).await;
    after.report("heartbeat", json!({})).await;
    assert!(after.unread_events().is_empty());
    after.report("job_complete", lease_of(&dispatch)).await;
    assert_eq!(becomes(&there, &job, "completed").await["worker"], "e1");
    after.event("job_dispatch").await;
}

#[tokio::test]
async fn a_second_connection_on_another_node_replaces_the_first() {
    let here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let mut first = engine(&here, "e1", &["scene"], 1).await;
    let other = engine(&here, "e2", &["other"], 1).await;
    let (job, dispatch) = first.running(&here, "scene").await;
    let mut second = engine(&there, "e1", &["scene"], 1).await;
    assert!(first.disconnected().await.contains("server"));
    assert_eq!(becomes(&there, &job, "failed").await["error"]["code"], "WORKER_DISCONNECTED");
    let late = second.ask("job_complete", lease_of(&dispatch)).await;
    assert_eq!(late["error"]["code"], "lease_conflict");
    let (next, dispatch) = second.running(&here, "scene").await;
    assert_eq!(dispatch["jobId"], next["id"]);
    // The first connection returns and replaces the second, alternating between the nodes.
    let mut third = engine(&here, "e1", &["scene"], 1).await;
    assert!(second.disconnected().await.contains("server"));
    assert_eq!(becomes(&here, &next, "failed").await["error"]["code"], "WORKER_DISCONNECTED");
    let (last, dispatch) = third.running(&there, "scene").await;
    third.report("job_complete", lease_of(&dispatch)).await;
    becomes(&there, &last, "completed").await;
    let counts = async || (engine_count(&here).await, engine_count(&there).await);
    eventually("each name has one connection", async || counts().await == (2, 0)).await;
    drop(other);
    here.setup().verify();
}

#[tokio::test]
async fn without_a_rule_the_second_connection_keeps_the_job() {
    let here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let mut first = engine(&here, "e1", &["index"], 1).await;
    let (job, dispatch) = first.running(&here, "index").await;
    let mut second = engine(&there, "e1", &["index"], 1).await;
    assert!(first.disconnected().await.contains("server"));
    let next = here.create(json!({ "type": "index" })).await;
    second.report("heartbeat", json!({})).await;
    assert!(second.unread_events().is_empty(), "it counts against its room");
    second.report("job_complete", lease_of(&dispatch)).await;
    assert_eq!(becomes(&here, &job, "succeeded").await["worker"], "e1");
    assert_eq!(second.event("job_dispatch").await["jobId"], next["id"]);
    here.setup().verify();
}

#[tokio::test]
async fn of_simultaneous_connections_on_both_nodes_one_stays() {
    let here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let mut peers: Vec<SocketClient> = (0..6).map(|_| SocketClient::new(Language::JavaScript)).collect();
    for (at, peer) in peers.iter_mut().enumerate() {
        let node = if at % 2 == 0 { &here } else { &there };
        peer.connect(node, "/engine", &json!({ "engineId": "e1", "jobTypes": ["index"] }));
    }
    for peer in &mut peers {
        peer.connected().await;
    }
    let sum = async || engine_count(&here).await + engine_count(&there).await;
    eventually("one is left", async || sum().await == 1).await;
    let job = here.create(json!({ "type": "index" })).await;
    becomes(&there, &job, "assigned").await;
    assert_eq!(sum().await, 1);
}

#[tokio::test]
async fn a_crashed_node_does_not_block_its_engines() {
    let mut here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let mut before = engine(&here, "e1", &["index"], 2).await;
    let (job, dispatch) = before.running(&there, "index").await;
    here.kill();
    let mut after = engine(&there, "e1", &["index"], 2).await;
    let next = there.create(json!({ "type": "index" })).await;
    assert_eq!(after.event("job_dispatch").await["jobId"], next["id"]);
    after.report("job_complete", lease_of(&dispatch)).await;
    becomes(&there, &job, "succeeded").await;
    there.setup().verify();
}

/// Starts a load balancer that passes each new connection to the next of these nodes; its address.
async fn balancer(nodes: [&Server; 2]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let nodes = nodes.map(|node| node.address().to_owned());
    tokio::spawn(async move {
        for node in nodes.iter().cycle() {
            let Ok((mut client, _)) = listener.accept().await else { return };
            let node = node.clone();
            tokio::spawn(async move {
                let mut server = TcpStream::connect(node).await?;
                tokio::io::copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    address
}

#[tokio::test]
async fn behind_a_load_balancer_web_sockets_work_and_polling_needs_sticky_sessions() {
    let here = Server::with(TYPES, Store::Postgres).await;
    let there = here.second_node().await;
    let balancer = balancer([&here, &there]).await;
    let connected = async |namespace: &str, auth| {
        let mut client = SocketClient::new(Language::JavaScript);
        client.connect_to(&balancer, namespace, &auth, &["websocket"]);
        client.connected().await;
        client
    };
    let one = connected("/engine", json!({ "engineId": "e1", "jobTypes": ["scene"] })).await;
    let other = connected("/engine", json!({ "engineId": "e2", "jobTypes": ["scene"] })).await;
    let mut front = connected("/jobs", json!({})).await;
    assert_eq!((engine_count(&here).await, engine_count(&there).await), (1, 1), "each node has one engine");
    let jobs = [here.create(json!({ "type": "scene" })).await, here.create(json!({ "type": "scene" })).await];
    for mut engine in [one, other] {
        let dispatch = engine.event("job_dispatch").await;
        engine.report("job_ack", lease_of(&dispatch)).await;
        engine.report("job_complete", lease_of(&dispatch)).await;
    }
    for job in &jobs {
        becomes(&there, job, "completed").await;
    }
    front.event("JOB_COMPLETED").await;
    front.event("JOB_COMPLETED").await;
    // With polling, each request is another connection; only one node knows the session.
    let client = http_client().pool_max_idle_per_host(0).build().unwrap();
    let path = "/socket.io/?EIO=4&transport=polling";
    let opened = client.get(format!("{balancer}{path}")).send().await.unwrap().text().await.unwrap();
    let (_, rest) = opened.split_once("\"sid\":\"").unwrap();
    let session = format!("{path}&sid={}", rest.split('"').next().unwrap());
    let handshake = async |address: &str| {
        let sent = client.post(format!("{address}{session}")).body("40/jobs,{}").send().await;
        sent.unwrap().status().as_u16()
    };
    assert_eq!(handshake(&balancer).await, 400, "the other node got it");
    let mut directly = [handshake(here.url()).await, handshake(there.url()).await];
    directly.sort_unstable();
    assert_eq!(directly, [200, 400]);
}
