//! Refused handshakes, invalid messages, and limits.

use serde_json::{Value, json};
use tenure_e2e::socket::{Language, SocketClient, engine, front_end, lease_of, lease_with};
use tenure_e2e::{Server, Store, eventually, in_time, on_both_stores_with_config};

use crate::engines::TYPES;

async fn refused(server: &Server, namespace: &str, auth: &Value) -> String {
    let mut client = SocketClient::new(Language::JavaScript);
    client.connect(server, namespace, auth);
    client.refused().await
}

#[tokio::test]
async fn an_invalid_handshake_is_refused() {
    let server = Server::with(TYPES, Store::Sqlite).await;
    for (auth, why) in [
        (json!({}), "missing field `engineId`"),
        (json!({ "engineId": "e1" }), "missing field `jobTypes`"),
        (json!({ "engineId": "e1", "jobTypes": [] }), "#/jobTypes"),
        (json!({ "engineId": "", "jobTypes": ["scene"] }), "#/engineId"),
        (json!({ "engineId": "a\u{7}", "jobTypes": ["scene"] }), "#/engineId"),
        (json!({ "engineId": 5, "jobTypes": ["scene"] }), "#/engineId"),
        (json!({ "engineId": "e1", "jobTypes": "scene" }), "#/jobTypes"),
        (json!({ "engineId": "e1", "jobTypes": ["scene"], "capacity": 0 }), "#/capacity"),
        (json!({ "engineId": "e1", "jobTypes": ["scene"], "capacity": 1001 }), "#/capacity"),
        (json!({ "engineId": "e1", "jobTypes": ["scene"], "extra": 1 }), "unknown field `extra`"),
    ] {
        let reason = refused(&server, "/engine", &auth).await;
        assert!(reason.starts_with("malformed: ") && reason.contains(why), "{auth}: {reason}");
    }
    assert!(refused(&server, "/jobs", &json!({ "user": 1 })).await.starts_with("malformed: "));
    assert_eq!(refused(&server, "/nowhere", &json!({})).await, "Invalid namespace");
    let mut python = SocketClient::new(Language::Python);
    python.connect(&server, "/engine", &json!({ "engineId": "e1" }));
    assert!(python.refused().await.starts_with("malformed: "));
}

#[test]
fn keys_and_roles_work_like_over_http() {
    on_both_stores_with_config(TYPES, async |mut server: Server| {
        server.use_admin_key().await;
        let producer = server.create_key("producer", Some("u1")).await;
        let viewer = server.create_key("viewer", None).await;
        let mine = server.create_key("worker", None).await;
        let auth = |token: &str| json!({ "token": token, "engineId": "e1", "jobTypes": ["index"] });
        let unknown = json!({ "engineId": "e1", "jobTypes": ["index"] });
        assert!(refused(&server, "/engine", &unknown).await.starts_with("unauthenticated: "));
        assert!(refused(&server, "/engine", &auth("nonsense")).await.starts_with("unauthenticated: "));
        assert!(refused(&server, "/jobs", &json!({})).await.starts_with("unauthenticated: "));
        for other in [&producer, &viewer] {
            assert!(refused(&server, "/engine", &auth(other)).await.starts_with("forbidden: "));
        }
        let mut engine = SocketClient::connected_to(&server, "/engine", &auth(&mine)).await;
        let (job, dispatch) = engine.dispatched(&server, "index").await;
        engine.report("job_ack", lease_of(&dispatch)).await;
        // A revoked key ends its connection.
        let mut front = front_end(&server, &json!({ "token": viewer })).await;
        for key in [&mine, &viewer] {
            server.revoke(key).await;
        }
        engine.disconnected().await;
        front.disconnected().await;
        assert_eq!(server.job(&job).await["state"], "running");
    });
}

#[test]
fn no_job_is_dispatched_to_an_engine_whose_key_is_revoked() {
    on_both_stores_with_config(TYPES, async |mut server: Server| {
        server.use_admin_key().await;
        let [revoked, valid] =
            [server.create_key("worker", None).await, server.create_key("worker", None).await];
        let auth =
            |token: &str, name: &str| json!({ "token": token, "engineId": name, "jobTypes": ["index"] });
        let mut first = SocketClient::connected_to(&server, "/engine", &auth(&revoked, "e1")).await;
        server.revoke(&revoked).await;
        let job = server.create(json!({ "type": "index" })).await;
        first.disconnected().await;
        let mut second = SocketClient::connected_to(&server, "/engine", &auth(&valid, "e2")).await;
        let dispatch = second.event("job_dispatch").await;
        assert_eq!(dispatch["jobId"], job["id"], "the job is not lost");
        assert!(first.unread_events().is_empty());
    });
}

#[test]
fn an_engine_outside_of_the_scopes_of_its_key_is_refused() {
    on_both_stores_with_config(TYPES, async |mut server: Server| {
        server.use_admin_key().await;
        let key = async |new: Value| {
            let created = server.post("/api/keys", &new).await.expect(201);
            created["key"].as_str().unwrap().to_owned()
        };
        let scopes = json!({ "types": ["index"], "queues": ["q"], "worker": "gpu-*" });
        let worker = key(json!({ "role": "worker", "scopes": scopes })).await;
        let auth =
            |name: &str, job_type: &str| json!({ "token": worker, "engineId": name, "jobTypes": [job_type] });
        assert!(refused(&server, "/engine", &auth("cpu-1", "index")).await.starts_with("forbidden: "));
        assert!(refused(&server, "/engine", &auth("gpu-1", "scene")).await.starts_with("forbidden: "));
        let viewer =
            key(json!({ "role": "viewer", "scopes": { "types": ["index"], "queues": ["q"] } })).await;
        let mut front = front_end(&server, &json!({ "token": viewer })).await;
        let mut engine = SocketClient::connected_to(&server, "/engine", &auth("gpu-1", "index")).await;
        server.create(json!({ "type": "index" })).await;
        server.create(json!({ "type": "scene", "queue": "q" })).await;
        let job = server.create(json!({ "type": "index", "queue": "q" })).await;
        assert_eq!(engine.event("job_dispatch").await["jobId"], job["id"], "only jobs of its queue");
        let (_, first) = front.next_event().await;
        assert_eq!(first["id"], job["id"], "others are left out");
    });
}

/// The answer to a GET on a new connection, with headers that each end with `\r\n`.
async fn raw_get(server: &Server, path: &str, host: &str, headers: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n");
    server.raw(request.as_bytes()).await
}

#[tokio::test]
async fn an_open_server_refuses_pages_of_other_origins() {
    let server = Server::with(TYPES, Store::Sqlite).await;
    let ask = async |host: &str, origin: &str| {
        let answer = raw_get(&server, "/socket.io/?EIO=4&transport=polling", host, origin).await;
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(ask(server.address(), "").await, "200");
    assert_eq!(ask(server.address(), &format!("Origin: http://{}\r\n", server.address())).await, "200");
    assert_eq!(ask(server.address(), "Origin: http://evil.example\r\n").await, "403");
    assert_eq!(ask("evil.example", "").await, "421");
    // The same over WebSocket.
    let upgrade = format!(
        "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: {}\r\nOrigin: http://evil.example\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.address()
    );
    assert!(server.raw(upgrade.as_bytes()).await.starts_with("HTTP/1.1 403"));
}

#[test]
fn an_invalid_message_is_answered_and_changes_nothing() {
    on_both_stores_with_config(TYPES, async |server| {
        let mut engine = engine(&server, "e1", &["scene"], 1).await;
        let (job, dispatch) = engine.dispatched(&server, "scene").await;
        let (id, unknown) = (&dispatch["jobId"], "00000000-0000-7000-8000-000000000000");
        let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
        let bad = [
            (json!(["job_ack"]), "malformed"),
            (json!(["job_ack", null]), "malformed"),
            (json!(["job_ack", "text"]), "malformed"),
            (json!(["job_ack", []]), "malformed"),
            (json!(["job_ack", {}]), "malformed"),
            (json!(["job_ack", { "jobId": id }]), "malformed"),
            (json!(["job_ack", { "jobId": "7", "fence": 1 }]), "malformed"),
            (json!(["job_ack", { "jobId": id, "fence": -1 }]), "malformed"),
            (json!(["job_ack", { "jobId": id, "fence": 1, "more": 1 }]), "malformed"),
            (json!(["job_ack", lease_of(&dispatch), 2]), "malformed"),
            (json!(["job_ack", lease_with(&dispatch, json!({ "result": 1 }))]), "malformed"),
            (json!(["job_progress", lease_of(&dispatch)]), "malformed"),
            (json!(["job_progress", lease_with(&dispatch, json!({ "progress": "40" }))]), "malformed"),
            (json!(["job_progress", lease_with(&dispatch, json!({ "progress": -1 }))]), "malformed"),
            (json!(["job_failed", lease_of(&dispatch)]), "malformed"),
            (json!(["job_failed", lease_with(&dispatch, json!({ "error": 5 }))]), "malformed"),
            (json!(["job_failed", lease_with(&dispatch, json!({ "error": { "colour": 1 } }))]), "malformed"),
            (json!(["job_complete", lease_with(&dispatch, json!({ "result": deep }))]), "malformed"),
            (json!(["job_complete", lease_with(&dispatch, json!({ "result": "a\u{0}" }))]), "malformed"),
            (json!(["job_complete", { "binary": [1, 2, 3] }]), "malformed"),
            (json!(["heartbeat", { "x": 1 }]), "malformed"),
            (json!(["job_explode", {}]), "not_found"),
            (json!(["job_ack", { "jobId": unknown, "fence": 1 }]), "not_found"),
            (json!(["job_ack", { "jobId": id, "fence": 2 }]), "lease_conflict"),
            (json!(["job_complete", lease_of(&dispatch)]), "invalid_transition"),
            (json!(["job_cancelled", lease_of(&dispatch)]), "invalid_transition"),
            (json!(["job_release", lease_of(&dispatch)]), "invalid_transition"),
        ];
        let events: Vec<Value> = bad.iter().map(|(event, _)| event.clone()).collect();
        let first = engine.emit(&events);
        for (index, (event, code)) in bad.iter().enumerate() {
            let answer = engine.answer(first + index).await;
            assert_eq!(answer["error"]["code"], *code, "{event}: {answer}");
            assert_eq!(answer["error"]["type"], format!("/problems/{code}"));
        }
        assert_eq!(server.job(&job).await["state"], "dispatched");
        engine.report("job_ack", lease_of(&dispatch)).await;
        // A front end must not send events.
        let mut front = front_end(&server, &json!({})).await;
        assert_eq!(front.ask("job_ack", lease_of(&dispatch)).await["error"]["code"], "not_found");
    });
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_the_connection() {
    let server = Server::with(TYPES, Store::Sqlite).await;
    let mut engine = engine(&server, "e1", &["scene"], 1).await;
    let result_of =
        |dispatch: &Value, bytes: usize| lease_with(dispatch, json!({ "result": "x".repeat(bytes) }));
    let (_, dispatch) = engine.running(&server, "scene").await;
    engine.report("job_complete", result_of(&dispatch, (1 << 20) - 2)).await;
    let (_, dispatch) = engine.running(&server, "scene").await;
    // A message slightly over the limit is answered; a much larger one is not read.
    let answer = engine.ask("job_complete", result_of(&dispatch, 1 << 20)).await;
    assert_eq!(answer["error"]["code"], "too_large");
    engine.emit(&[json!(["job_complete", result_of(&dispatch, 3 << 20)])]);
    engine.disconnected().await;
    server.read("/readyz").await;
}

/// Polls until the server sends this.
async fn poll_for(server: &Server, session: &str, wanted: &str) -> String {
    let polls = async {
        loop {
            let received = server.get(session).await.text;
            if received.contains(wanted) {
                return received;
            }
        }
    };
    in_time(wanted, polls).await
}

/// Connects an engine without a client library; the path of its session.
async fn raw_engine(server: &Server, name: &str) -> String {
    const PATH: &str = "/socket.io/?EIO=4&transport=polling";
    let opened = server.get(PATH).await.text;
    let (_, rest) = opened.split_once("\"sid\":\"").unwrap();
    let session = format!("{PATH}&sid={}", rest.split('"').next().unwrap());
    let handshake = format!(r#"40/engine,{{"engineId":"{name}","jobTypes":["none"]}}"#);
    assert_eq!(server.request("POST", &session).bytes(handshake).send().await.status, 200);
    poll_for(server, &session, "40/engine,").await;
    session
}

#[tokio::test]
async fn binary_messages_are_refused_and_packets_that_are_no_messages_do_no_harm() {
    let server = Server::with(TYPES, Store::Sqlite).await;
    let session = raw_engine(&server, "binary").await;
    let binary = "451-/engine,7[\"job_ack\",{\"_placeholder\":true,\"num\":0}]\u{1e}bAQID";
    assert_eq!(server.request("POST", &session).bytes(binary).send().await.status, 200);
    let answer = poll_for(&server, &session, "43/engine,7[").await;
    assert!(answer.contains("malformed"), "{answer}");
    // The last one lacks its attachment.
    let nonsense = "4 z 42 42/engine 42/engine, 42/engine,[ 42/engine,[] 42/engine,[1] 42/engine,{} 43/engine,99[1] \
                    45999999999999999999-/engine,[] \u{0} \u{1e} b!!! 451-/engine,[\"job_ack\"]";
    let packets = nonsense.split(' ').map(str::as_bytes).chain([&b"\xff\xfe"[..], b""]);
    for (number, packet) in packets.enumerate() {
        let session = raw_engine(&server, &format!("raw{number}")).await;
        let status = server.request("POST", &session).bytes(packet).send().await.status;
        assert!(status < 500, "{packet:?}: {status}");
        server.read("/readyz").await;
    }
    let mut engine = engine(&server, "e1", &["scene"], 1).await;
    engine.report("heartbeat", json!({})).await;
}

#[tokio::test]
async fn a_client_that_sends_too_much_is_refused() {
    let server = Server::with(TYPES, Store::Sqlite).await;
    let mut engine = engine(&server, "e1", &["scene"], 1).await;
    let many = vec![json!(["heartbeat", {}]); 3500];
    let mut refused = 0;
    // On a slow machine the rate may not be exceeded.
    while refused == 0 {
        let first = engine.emit(&many);
        for number in first..first + many.len() {
            let answer = engine.answer(number).await;
            match answer["error"]["code"].as_str() {
                None => assert_eq!(answer, json!({ "ok": true })),
                Some("rate_limited" | "overloaded") => refused += 1,
                Some(_) => panic!("{answer}"),
            }
        }
    }
    let first_worker = async || server.read("/api/workers").await["workers"][0]["name"].clone();
    eventually("the engine is answered again", async || first_worker().await == "e1").await;
    engine.report("heartbeat", json!({})).await;
}

#[tokio::test]
async fn a_connection_without_a_handshake_is_dropped() {
    let server = Server::with(TYPES, Store::Sqlite).await;
    let ask = async |more: &str| {
        let path = format!("/socket.io/?EIO=4&transport=polling{more}");
        raw_get(&server, &path, server.address(), "").await
    };
    let opened = ask("").await;
    let (_, rest) = opened.split_once("\"sid\":\"").unwrap();
    let session = format!("&sid={}", rest.split('"').next().unwrap());
    eventually("the session is gone", async || ask(&session).await.starts_with("HTTP/1.1 400")).await;
}

/// An open WebSocket counts as a connection.
#[tokio::test]
async fn engines_count_towards_the_connection_limit() {
    let config = format!("[limits]\nconnections = 3\n{TYPES}");
    let server = Server::with(&config, Store::Sqlite).await;
    let answers =
        async || raw_get(&server, "/healthz", server.address(), "").await.starts_with("HTTP/1.1 200");
    let mut engines = Vec::new();
    for name in ["e1", "e2", "e3"] {
        assert!(answers().await);
        let mut engine = SocketClient::new(Language::JavaScript);
        let auth = json!({ "engineId": name, "jobTypes": ["scene"] });
        engine.connect_by(&server, "/engine", &auth, &["websocket"]);
        engine.connected().await;
        engines.push(engine);
    }
    assert!(!answers().await);
    engines.pop();
    eventually("there is a place again", answers).await;
}
