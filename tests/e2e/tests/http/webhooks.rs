//! Webhooks: order, signatures, retries, what disables one, and two nodes.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::{Value, json};
use tenure_e2e::*;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

const QUICK: &str = "[webhooks]\nretry = [\"10ms\", \"10ms\", \"10ms\"]\n";
const WEBHOOK: &str =
    "id url filter created_at created_by position failures disabled_at last_status last_error";

/// One delivery.
#[derive(Clone, Debug)]
struct Got {
    path: String,
    head: String,
    body: String,
}

impl Got {
    fn header(&self, name: &str) -> String {
        let mut lines = self.head.lines().rev().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.unwrap_or_else(|| panic!("no {name} in {}", self.head)).1.to_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A receiver of webhooks with scripted answers, and 204 after them.
#[derive(Clone)]
struct Receiver {
    url: String,
    got: Arc<Mutex<Vec<Got>>>,
    answers: Arc<Mutex<VecDeque<String>>>,
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let receiver = Self { url, got: Arc::default(), answers: Arc::default() };
        let each = receiver.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let receiver = each.clone();
                tokio::spawn(async move { receiver.serve(socket).await });
            }
        });
        receiver
    }

    async fn serve(&self, socket: TcpStream) -> Option<()> {
        let mut socket = BufReader::new(socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            socket.read_line(&mut head).await.ok().filter(|count| *count > 0)?;
        }
        let lines = head.lines().map(str::to_lowercase);
        let mut lengths = lines.filter_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; lengths.next().unwrap_or(0)];
        socket.read_exact(&mut body).await.ok()?;
        let body = String::from_utf8(body).unwrap();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        self.got.lock().unwrap().push(Got { path: path.clone(), head, body });
        if path == "/silent" {
            std::future::pending::<()>().await;
        }
        if path == "/endless" {
            socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
            while socket.write_all(&[b'x'; 4096]).await.is_ok() {}
            return None;
        }
        let answer = self.answers.lock().unwrap().pop_front();
        let answer = answer.unwrap_or_else(|| "204 No Content\r\n".to_owned());
        socket.write_all(format!("HTTP/1.1 {answer}connection: close\r\n\r\n").as_bytes()).await.ok()
    }

    fn then(&self, answers: &[&str]) {
        self.answers.lock().unwrap().extend(answers.iter().map(|answer| format!("{answer}\r\n")));
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    /// The ids of the deliveries, in order.
    fn ids(&self) -> Vec<String> {
        self.got().iter().map(|got| got.header("webhook-id")).collect()
    }
}

/// The id of the last event of a job.
fn last_event(job: &Value) -> String {
    format!("{}.{}", id(job), job["seq"])
}

async fn webhook(server: &Server, url: &str, filter: Value) -> Value {
    server.post("/api/webhooks", &json!({ "id": "h", "url": url, "filter": filter })).await.expect(201)
}

fn is_signed(got: &Got, secret: &str) -> bool {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let content = format!("{}.{}.{}", got.header("webhook-id"), got.header("webhook-timestamp"), got.body);
    let signature = got.header("webhook-signature");
    let signature = STANDARD.decode(signature.strip_prefix("v1,").unwrap()).unwrap();
    hmac::verify(&key, content.as_bytes(), &signature).is_ok()
}

#[test]
fn a_webhook_is_created_listed_and_deleted_and_its_secret_shown_once() {
    on_both_stores(async |server| {
        let created = server.post("/api/webhooks", &json!({ "id": "h", "url": "https://1.1.1.1/x" })).await;
        assert_eq!(created.header("location"), Some("/api/webhooks/h"));
        let mut created = created.expect(201);
        let secret = created.as_object_mut().unwrap().remove("secret").unwrap();
        assert!(secret.as_str().is_some_and(|secret| secret.starts_with("whsec_")));
        assert_field_names(&created, WEBHOOK);
        let again = server.post("/api/webhooks", &json!({ "id": "h", "url": "https://1.1.1.1/x" })).await;
        assert_eq!(again.expect_replay().get("secret"), None);
        let other = json!({ "id": "h", "url": "https://1.1.1.1/y" });
        server.post("/api/webhooks", &other).await.problem(422, "validation_failed");
        let page = server.get("/api/webhooks").await;
        assert!(!page.text.contains(secret.as_str().unwrap()));
        assert_eq!(column(&page.expect(200)["webhooks"], "id"), ["h"]);
        server.delete("/api/webhooks/h").await.expect(200);
        server.get("/api/webhooks/h").await.problem(404, "not_found");
        server.delete("/api/webhooks/h").await.problem(404, "not_found");
        server.post("/api/webhooks/h/enable", &json!({})).await.problem(404, "not_found");
        let keyed = async |url: &str| {
            let body = json!({ "url": url });
            server.post_keyed("k", "/api/webhooks", &body).await
        };
        let first = keyed("https://1.1.1.1/").await.expect(201);
        assert_eq!(keyed("https://1.1.1.1/").await.expect(200)["id"], first["id"]);
        keyed("https://1.1.1.2/").await.problem(422, "idempotency_mismatch");
        for bad in
            ["http://1.1.1.1/", "https://10.0.0.1/", "https://169.254.169.254/", "https://a:b@1.1.1.1/"]
        {
            let refused = server.post("/api/webhooks", &json!({ "url": bad })).await;
            refused.problem_at(422, "validation_failed", "#/url");
        }
        // A server with keys refuses webhooks to its own machine.
        let key = server.create_key("admin", None).await;
        let closed = server.post_as(&key, "/api/webhooks", &json!({ "url": "http://127.0.0.1:9/" })).await;
        closed.problem(422, "validation_failed");
    });
}

#[test]
fn matching_events_are_delivered_in_order_and_signed() {
    on_both_stores(async |server| {
        let receiver = Receiver::start().await;
        server.create_finished(json!({ "type": "before" })).await;
        let (url, filter) = (format!("{}/hook", receiver.url), json!({ "type": "a", "user_id": "u1" }));
        let created = webhook(&server, &url, filter).await;
        for user in ["u1", "u2"] {
            server.create_finished(json!({ "type": "a", "user_id": user })).await;
            server.create_finished(json!({ "type": "b", "user_id": user })).await;
        }
        let last = server.create_finished(json!({ "type": "a", "user_id": "u1" })).await;
        let journal = server.journal().await;
        let end = last_event(&last);
        eventually("the last event comes", async || receiver.ids().last() == Some(&end)).await;
        let ids = server.column("/api/jobs?type=a&user_id=u1", "id").await;
        let expected: Vec<_> = journal.iter().filter(|event| ids.contains(&event["job_id"])).collect();
        assert_eq!(receiver.ids(), expected.iter().map(|event| id(event)).collect::<Vec<_>>());
        for (got, event) in receiver.got().iter().zip(expected) {
            let body = got.json();
            assert_eq!(field_names(&body), ["data", "timestamp", "type"]);
            assert_fields(&body, json!({ "type": event["type"], "timestamp": event["ts"] }));
            let mut data = body["data"].clone();
            let job = data.as_object_mut().unwrap().remove("job").unwrap();
            assert_eq!((&data, &job["type"], &job["user_id"]), (event, &json!("a"), &json!("u1")));
            assert!(is_signed(got, created["secret"].as_str().unwrap()));
            assert_eq!((got.path.as_str(), got.header("content-type")), ("/hook", "application/json".into()));
        }
        eventually("it is delivered", async || {
            let told = server.read("/api/webhooks/h").await;
            told["last_status"] == 204 && told["failures"] == 0
        })
        .await;
    });
}

#[test]
fn more_webhooks_than_a_node_sends_at_once_take_turns() {
    const WEBHOOKS: usize = 260;
    on_both_stores(async |server| {
        let receiver = Receiver::start().await;
        for n in 0..WEBHOOKS {
            let url = format!("{}/{n}", receiver.url);
            let body = json!({ "id": format!("h{n}"), "url": url, "filter": { "event": "job_queued" } });
            server.post("/api/webhooks", &body).await.expect(201);
        }
        server.create(json!({ "type": "a" })).await;
        eventually("each gets the event", async || {
            let paths: BTreeSet<String> = receiver.got().into_iter().map(|got| got.path).collect();
            paths.len() == WEBHOOKS
        })
        .await;
    });
}

#[test]
fn deliveries_contain_payloads_unchanged() {
    const BIG: &str = "12345678901234567890123";
    let config = "[types.book]\nlifecycle = \"distributed\"\ncompensate_with = \"unbook\"\n[types.unbook]\nlifecycle = \"distributed\"\n";
    on_both_stores_with_config(config, async |server| {
        let receiver = Receiver::start().await;
        webhook(&server, &receiver.url, json!({})).await;
        let report = async |verb: &str, told: String| {
            let claimed = server.claim_one().await;
            let body = format!("{{\"worker\":\"w1\",\"fence\":1,{told}}}");
            server.post_text(&path(&claimed, verb), body).await.expect(200);
            id(&claimed).to_owned()
        };
        server.create(json!({ "type": "book" })).await;
        let good = report("succeed", format!("\"result\":{{\"n\":{BIG},\"exact\":0.10}}")).await;
        server.create(json!({ "type": "book" })).await;
        let error = |class: &str| {
            format!(r#""error":{{"code":"X","message":"m","class":"{class}","details":{{"n":{BIG}}}}}"#)
        };
        let bad = report("fail", error("permanent")).await;
        // The compensation job stays open; the job itself ends dead.
        server.create(json!({ "type": "book", "priority": 9, "max_attempts": 1 })).await;
        report("fail", error("transient")).await;
        // The payload of the compensation is in `jobs?type=unbook`.
        let paths = "jobs/GOOD jobs/GOOD/events jobs/GOOD/events?telemetry=true jobs/GOOD/stream events?job_id=GOOD \
                     jobs/BAD jobs/BAD/stream events?job_id=BAD dead-letters jobs?type=unbook";
        for path in paths.replace("GOOD", &good).replace("BAD", &bad).split_whitespace() {
            let text = server.get(&format!("/api/{path}")).await.text;
            assert!(text.contains(&format!("\"n\":{BIG}")), "{path}: {text}");
        }
        eventually("the webhook is delivered", async || {
            let told = receiver.got().into_iter().map(|got| got.body);
            told.filter(|body| body.contains(&format!("\"n\":{BIG}"))).count() >= 2
        })
        .await;
    });
}

#[test]
fn a_failed_delivery_is_retried_before_later_events() {
    on_both_stores_with_config(QUICK, async |server| {
        let receiver = Receiver::start().await;
        webhook(&server, &receiver.url, json!({ "event": "job_succeeded" })).await;
        let redirect = "302 Found\r\nlocation: /elsewhere";
        receiver.then(&["500 Oh", redirect, "429 Slow\r\nretry-after: 0", "200 OK"]);
        let first = server.create_finished(json!({ "type": "a" })).await;
        let second = server.create_finished(json!({ "type": "a" })).await;
        eventually("both come", async || receiver.got().len() >= 5).await;
        let mut expected = vec![last_event(&first); 4];
        expected.push(last_event(&second));
        assert_eq!(receiver.ids(), expected);
        assert!(receiver.got().iter().all(|got| got.path == "/"), "no redirect is followed");
    });
}

#[test]
fn a_failing_webhook_is_disabled_and_continues_when_enabled() {
    on_both_stores_with_config(QUICK, async |server| {
        let receiver = Receiver::start().await;
        webhook(&server, &receiver.url, json!({ "event": "job_succeeded" })).await;
        let disabled = async || {
            let told = server.read("/api/webhooks/h").await;
            told["disabled_at"].is_string()
        };
        receiver.then(&["500 A", "500 B", "500 C", "500 D"]);
        let first = server.create_finished(json!({ "type": "a" })).await;
        eventually("it is disabled", disabled).await;
        let told = server.read("/api/webhooks/h").await;
        assert_fields(&told, json!({ "failures": 4, "last_status": 500 }));
        assert!(told["last_error"].as_str().unwrap().contains("disabled"), "{told}");
        assert_eq!(receiver.got().len(), 4);
        let enabled = server.post_ok("/api/webhooks/h/enable", &json!({})).await;
        assert_fields(&enabled, json!({ "disabled_at": null, "failures": 0 }));
        eventually("it comes", async || receiver.got().len() == 5).await;
        assert_eq!(receiver.ids()[4], last_event(&first));
        receiver.then(&["410 Gone"]);
        server.create_finished(json!({ "type": "a" })).await;
        eventually("it is disabled", disabled).await;
        assert_eq!(receiver.got().len(), 6, "gone is gone");
        let audit = server.read("/api/audit").await;
        let count = column(&audit["audit"], "action").iter().filter(|it| *it == "webhook_disable").count();
        assert_eq!(count, 2);
    });
}

#[test]
fn a_disabled_webhook_waits_and_a_replay_sends_again() {
    on_both_stores_with_config(QUICK, async |server| {
        let receiver = Receiver::start().await;
        webhook(&server, &receiver.url, json!({ "event": "job_succeeded" })).await;
        let first = server.create_finished(json!({ "type": "a" })).await;
        eventually("it comes", async || receiver.got().len() == 1).await;
        let has_sent = async || server.read("/api/webhooks/h").await["last_status"] == 204;
        eventually("it is stored", has_sent).await;

        let disabled = server.post_ok("/api/webhooks/h/disable", &json!({})).await;
        assert!(disabled["disabled_at"].is_string(), "{disabled}");
        assert_eq!(server.post_ok("/api/webhooks/h/disable", &json!({})).await, disabled);
        let second = server.create_finished(json!({ "type": "a" })).await;
        // A replay of a disabled webhook waits, too. Its position is before the first event.
        let replay = async |body: Value| server.post("/api/webhooks/h/replay", &body).await;
        let replayed = replay(json!({ "since": "1h" })).await.expect(200);
        assert_fields(&replayed, json!({ "position": 0, "disabled_at": disabled["disabled_at"] }));
        for body in [json!({}), json!({ "since": "1h", "after": 1 }), json!({ "since": "soon" })] {
            replay(body).await.problem(400, "malformed");
        }
        replay(json!({ "after": 0 })).await.problem_at(422, "validation_failed", "#/after");
        // The node that has the lease may send one more event before it notices.
        assert!(receiver.got().len() <= 2, "{:?}", receiver.ids());
        server.post_ok("/api/webhooks/h/enable", &json!({})).await;
        let all = [last_event(&first), last_event(&second)];
        eventually("all are sent", async || receiver.got().len() >= 3 && receiver.ids().ends_with(&all))
            .await;
        let sent = receiver.ids();
        assert!(sent.len() <= 4 && sent[0] == all[0], "{sent:?}");

        // One that is active sends them again at once.
        let has_passed = async || server.read("/api/webhooks/h").await["position"].as_u64() > Some(5);
        eventually("the position is stored", has_passed).await;
        replay(json!({ "since": "1h" })).await.expect(200);
        let has_repeated = async || receiver.got().len() >= sent.len() + 2 && receiver.ids().ends_with(&all);
        eventually("all are sent again", has_repeated).await;
        server.post("/api/webhooks/gone/replay", &json!({ "after": 0 })).await.problem(404, "not_found");
        server.post("/api/webhooks/gone/disable", &json!({})).await.problem(404, "not_found");
        let did = ["webhook_create", "webhook_disable", "webhook_replay", "webhook_enable", "webhook_replay"];
        assert_eq!(server.column("/api/audit", "action").await, did);
    });
}

#[test]
fn a_repeated_change_of_a_webhook_with_its_key_changes_nothing() {
    on_both_stores_with_config(QUICK, async |server| {
        let receiver = Receiver::start().await;
        webhook(&server, &receiver.url, json!({ "event": "job_succeeded" })).await;
        server.create_finished(json!({ "type": "a" })).await;
        let position = async || server.read("/api/webhooks/h").await["position"].as_u64();
        eventually("all are sent", async || position().await > Some(2)).await;
        let keyed = async |key: &str, call: &str, body: Value| {
            server.post_keyed(key, &format!("/api/webhooks/h/{call}"), &body).await
        };
        let replay = async |after: u64| keyed("k", "replay", json!({ "after": after })).await;
        keyed("d", "disable", json!({})).await.expect(200);
        replay(1).await.expect(200);
        keyed("e", "enable", json!({})).await.expect(200);
        eventually("they are sent again", async || position().await > Some(2)).await;
        let disabled = server.post_ok("/api/webhooks/h/disable", &json!({})).await;
        let stopped = position().await;
        assert_eq!(replay(1).await.expect(200)["position"].as_u64(), stopped);
        assert_eq!(keyed("e", "enable", json!({})).await.expect(200)["disabled_at"], disabled["disabled_at"]);
        assert_eq!(position().await, stopped);
        replay(0).await.problem(422, "idempotency_mismatch");
    });
}

#[test]
fn a_slow_receiver_does_not_delay_others() {
    on_both_stores(async |server| {
        let receiver = Receiver::start().await;
        for name in ["silent", "other"] {
            let body = json!({ "id": name, "url": format!("{}/{name}", receiver.url) });
            server.post("/api/webhooks", &body).await.expect(201);
        }
        let unknown = json!({ "id": "unreachable", "url": "http://127.0.0.1:1/" });
        server.post("/api/webhooks", &unknown).await.expect(201);
        let seq = server.create_finished(json!({ "type": "a" })).await["seq"].as_u64().unwrap() as usize;
        eventually("the other gets all", async || {
            let got = receiver.got();
            got.iter().filter(|got| got.path == "/other").count() == seq
        })
        .await;
        assert_eq!(receiver.got().iter().filter(|got| got.path == "/silent").count(), 1);
        eventually("the error is shown", async || {
            let shown = server.read("/api/webhooks/unreachable").await;
            shown["failures"] == 1 && shown["last_error"].is_string() && shown["last_status"].is_null()
        })
        .await;
    });
}

#[test]
fn a_reply_without_an_end_is_not_read_to_its_end() {
    on_both_stores_with_config(QUICK, async |server| {
        let receiver = Receiver::start().await;
        let url = format!("{}/endless", receiver.url);
        webhook(&server, &url, json!({ "event": "job_succeeded" })).await;
        server.create_finished(json!({ "type": "a" })).await;
        let last = server.create_finished(json!({ "type": "a" })).await;
        eventually("both come", async || receiver.ids().last() == Some(&last_event(&last))).await;
        assert_eq!(receiver.got().len(), 2, "each was delivered at the first attempt");
        let shown = async || server.read("/api/webhooks/h").await;
        eventually("both are accepted", async || shown().await["last_status"] == 200).await;
        assert_fields(&shown().await, json!({ "failures": 0, "disabled_at": null }));
    });
}

#[tokio::test]
async fn another_node_continues_after_the_sending_node_is_killed() {
    let mut one = Server::postgres().await;
    let receiver = Receiver::start().await;
    webhook(&one, &receiver.url, json!({ "event": "job_succeeded" })).await;
    let first = one.create_finished(json!({ "type": "a" })).await;
    eventually("the first comes", async || receiver.got().len() == 1).await;
    let two = one.second_node().await;
    one.kill();
    let second = two.create_finished(json!({ "type": "a" })).await;
    let third = two.create_finished(json!({ "type": "a" })).await;
    // The lease of the killed node must expire first.
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    let come = async {
        while receiver.ids().last() != Some(&last_event(&third)) {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), come).await.expect("the other node continues");
    let mut ids = receiver.ids();
    ids.dedup();
    // In order; what was on its way may come twice.
    assert_eq!(ids, [first, second, third].each_ref().map(last_event));
}
