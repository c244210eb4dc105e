//! Resources, sequences, shares and batches, over HTTP.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_e2e::*;

use crate::roles::create_keys;

const CONFIG: &str = r#"
[resources.api]
key = "payload.customer"
running = 2
waiting = 6

[resources.tokens]
rate = { count = 5, per = "1s", burst = 5 }

[types.call]
lifecycle = "distributed"
uses = ["api"]

[types.metered]
lifecycle = "distributed"
uses = ["tokens"]

[types.ordered]
lifecycle = "distributed"
sequence = { key = "payload.account", on_failure = "halt" }

[types.soon]
lifecycle = "distributed"
batch = { size = 3, wait = "300ms" }

[types.grouped]
lifecycle = "distributed"
batch = { size = 3, wait = "1h" }

[types."*"]
lifecycle = "distributed"

[queues.fair]
share = { key = "user_id", weights = { big = 3 } }
"#;

fn call(customer: &str) -> Value {
    json!({ "type": "call", "payload": { "customer": customer } })
}

async fn claimed(server: &Server, max: u32) -> Vec<Value> {
    server.claim(json!({ "worker": "w1", "max": max, "start": true })).await
}

#[test]
fn a_resource_limits_leases_and_creations_and_says_so() {
    on_both_stores_with_config(CONFIG, async |server| {
        let mut jobs = Vec::new();
        for _ in 0..6 {
            jobs.push(server.create(call("acme")).await);
        }
        assert_eq!(jobs[0]["flow"], json!({ "resources": { "api": "acme" } }));
        let full = server.post("/api/jobs", &call("acme")).await;
        assert_eq!(full.header("retry-after"), Some("1"));
        let problem = full.problem(429, "queue_full");
        assert_eq!(problem["resource"], "api");
        assert_eq!((&problem["key"], &problem["limit"]), (&json!("acme"), &json!(6)));
        let other = server.create(call("beta")).await;
        let got = claimed(&server, 9).await;
        let ids: Vec<&Value> = got.iter().map(|job| &job["id"]).collect();
        assert_eq!(
            ids,
            [&jobs[0]["id"], &jobs[1]["id"], &other["id"]],
            "what fits behind a blocked job is claimed"
        );
        let why = server.get(&path(&jobs[2], "explain")).await.expect(200);
        let wait = &why["waits_for"][0];
        assert_eq!(
            (&wait["kind"], &wait["resource"], &wait["key"]),
            (&json!("running"), &json!("api"), &json!("acme"))
        );
        assert_eq!((&wait["running"], &wait["limit"]), (&json!(2), &json!(2)));
        assert_eq!(wait["holders"].as_array().map(Vec::len), Some(2));
        assert!(why["summary"].as_str().is_some_and(|text| text.contains("2 of 2 units")), "{why}");
        server.report(&got[0], "succeed", json!({})).await.expect(200);
        assert_eq!(claimed(&server, 9).await.len(), 1);
        let shown = server.get("/api/resources/api?key=acme").await.expect(200);
        assert_eq!(shown["limits"], json!({ "running": 2, "rate": null, "waiting": 6 }));
        let bucket = json!({ "key": "acme", "running": 2, "tokens": null, "waiting": 5, "paused": false, "paused_until": null });
        assert_eq!(shown["buckets"], json!([bucket]));
        let metrics = server.metrics().await;
        assert_eq!(metrics.sum("tenure_resource_running", &["resource=\"api\""]), Some(3.0));
        assert_eq!(metrics.sum("tenure_resource_limit", &["resource=\"api\""]), Some(2.0));
        assert_eq!(metrics.sum("tenure_resource_buckets", &["resource=\"api\""]), Some(2.0));
    });
}

#[test]
fn a_waiting_claim_is_woken_when_a_permit_is_free() {
    on_both_stores_with_config(CONFIG, async |server| {
        for _ in 0..3 {
            server.create(call("acme")).await;
        }
        let held = claimed(&server, 9).await;
        assert_eq!(held.len(), 2);
        let waiting = server.claim(json!({ "worker": "w2", "wait": "1m", "start": true }));
        let freeing = async {
            server.report(&held[0], "succeed", json!({})).await.expect(200);
            Instant::now()
        };
        let (got, freed) = tokio::join!(async { (waiting.await, Instant::now()) }, freeing);
        assert_eq!(got.0.len(), 1);
        assert!(
            got.1.saturating_duration_since(freed) < Duration::from_secs(30),
            "long before the end of the wait"
        );
    });
}

#[test]
fn operators_change_a_resource_without_a_restart() {
    on_both_stores_with_config(CONFIG, async |server| {
        for _ in 0..6 {
            server.create(call("acme")).await;
        }
        assert_eq!(claimed(&server, 9).await.len(), 2);
        let put = async |body: Value| server.request("PUT", "/api/resources/api").json(&body).send().await;
        let set = put(json!({ "running": 3 })).await.expect(200);
        assert_eq!((&set["limits"]["running"], &set["origin"]), (&json!(3), &json!("override")));
        assert_eq!(claimed(&server, 9).await.len(), 1);
        put(json!({ "running": null })).await.expect(200);
        server.post("/api/resources/api/pause", &json!({ "key": "acme", "for": "1h" })).await.expect(200);
        assert!(claimed(&server, 9).await.is_empty());
        let paused = server.get("/api/resources/api").await.expect(200);
        assert_eq!((&paused["paused"], &paused["buckets"][0]["paused"]), (&json!(false), &json!(true)));
        server.post("/api/resources/api/resume", &json!({})).await.expect(200);
        assert_eq!(claimed(&server, 9).await.len(), 3);
        let reset = server.request("DELETE", "/api/resources/api").send().await.expect(200);
        assert_eq!((&reset["limits"]["running"], &reset["origin"]), (&json!(2), &json!("file")));
        let audit = server.rows("/api/audit?limit=100").await;
        let actions: Vec<&str> = audit.iter().filter_map(|line| line["action"].as_str()).collect();
        for action in ["set-resource", "pause-resource", "resume-resource", "reset-resource"] {
            assert!(actions.contains(&action), "{actions:?}");
        }
        for body in
            [json!({}), json!({ "running": "x" }), json!({ "other": 1 }), json!({ "rate": { "count": 1 } })]
        {
            put(body).await.problem(400, "malformed");
        }
        for body in [json!({ "running": 0 }), json!({ "rate": { "count": 2, "per": "1s", "burst": 1 } })] {
            put(body).await.problem(422, "validation_failed");
        }
        server
            .request("PUT", "/api/resources/none")
            .json(&json!({ "running": 1 }))
            .send()
            .await
            .problem(404, "not_found");
        server.get("/api/resources/none").await.problem(404, "not_found");
    });
}

#[test]
fn a_repeated_pause_or_resume_with_its_key_changes_nothing() {
    on_both_stores_with_config(CONFIG, async |server| {
        let pause = async |body: Value| server.post_keyed("p", "/api/resources/api/pause", &body).await;
        let until =
            async || server.read("/api/resources/api?key=acme").await["buckets"][0]["paused_until"].clone();
        server.create(call("acme")).await;
        let body = json!({ "key": "acme", "for": "1h" });
        pause(body.clone()).await.expect(200);
        let first = until().await;
        assert!(first.is_string(), "{first}");
        pause(body).await.expect(200);
        assert_eq!(until().await, first);
        pause(json!({ "key": "acme", "for": "2h" })).await.problem(422, "idempotency_mismatch");
        assert_eq!(until().await, first);
        let resume = async || server.post_keyed("r", "/api/resources/api/resume", &json!({})).await;
        resume().await.expect(200);
        let again = json!({ "key": "acme", "for": "3h" });
        server.post("/api/resources/api/pause", &again).await.expect(200);
        resume().await.expect(200);
        assert!(until().await.is_string(), "the repeat did not resume it again");
    });
}

#[test]
fn tokens_arrive_at_their_time_and_workers_pause_buckets() {
    on_both_stores_with_config(CONFIG, async |server| {
        for _ in 0..7 {
            server.create(json!({ "type": "metered" })).await;
        }
        let first = claimed(&server, 9).await;
        assert_eq!(first.len(), 5, "the burst");
        let next = server.claim(json!({ "worker": "w1", "wait": "1m", "start": true })).await;
        assert_eq!(next.len(), 1, "a waiting claim gets its token");
        let fail = |resource: &str| json!({ "error": { "code": "BUSY" }, "pause": { "resource": resource, "for": "1h" } });
        server.report(&first[0], "fail", fail("api")).await.problem(422, "validation_failed");
        server.report(&first[0], "fail", fail("tokens")).await.expect(200);
        let shown = server.get("/api/resources/tokens").await.expect(200);
        assert_eq!(shown["buckets"][0]["paused"], true);
        let incomplete = json!({ "error": { "code": "BUSY" }, "pause": { "resource": "tokens" } });
        server.report(&first[1], "fail", incomplete).await.problem(400, "malformed");
    });
}

#[test]
fn a_sequence_runs_in_order_and_halts_until_it_is_resumed() {
    on_both_stores_with_config(CONFIG, async |server| {
        let of = |account: &str| json!({ "type": "ordered", "payload": { "account": account } });
        let (a1, a2, b1) =
            (server.create(of("a/1")).await, server.create(of("a/1")).await, server.create(of("b")).await);
        let got = claimed(&server, 9).await;
        assert_eq!((&got[0]["id"], &got[1]["id"], got.len()), (&a1["id"], &b1["id"], 2));
        let error = json!({ "error": { "code": "BROKEN", "class": "permanent" } });
        server.report(&got[0], "fail", error).await.expect(200);
        assert!(claimed(&server, 9).await.is_empty());
        let halted = server.rows("/api/sequences?halted=true").await;
        assert_eq!((halted.len(), &halted[0]["halted_by"], &halted[0]["key"]), (1, &a1["id"], &json!("a/1")));
        assert_eq!(server.metrics().await.sum("tenure_sequences_halted", &[]), Some(1.0));
        let why = server.get(&path(&a2, "explain")).await.expect(200);
        assert_eq!(why["waits_for"][0]["kind"], "halt");
        for _ in 0..2 {
            let resume = "/api/sequences/ordered/a%2F1/resume";
            server.post_keyed("once", resume, &json!({})).await.expect(200);
        }
        server
            .post("/api/sequences/ordered/a%2F1/resume", &json!({}))
            .await
            .problem(409, "invalid_transition");
        assert_eq!(claimed(&server, 9).await[0]["id"], a2["id"]);
    });
}

#[test]
fn an_explanation_names_no_jobs_of_other_users() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        let [producer, worker, _, viewer, _] = create_keys(&mut server).await;
        let other = server.create_key("producer", Some("u2")).await;
        for (body, verb) in [
            (call("acme"), None),
            (json!({ "type": "ordered", "payload": { "account": "a" } }), None),
            (json!({ "type": "ordered", "payload": { "account": "b" } }), Some("fail")),
        ] {
            server.use_key(Some(&other));
            let theirs = [server.create(body.clone()).await, server.create(body.clone()).await];
            server.use_key(Some(&worker));
            let held = claimed(&server, 9).await;
            assert_eq!(held[0]["id"], theirs[0]["id"]);
            if let Some(verb) = verb {
                let error = json!({ "error": { "code": "BROKEN", "class": "permanent" } });
                server.report(&held[0], verb, error).await.expect(200);
            }
            server.use_key(Some(&producer));
            let own = server.create(body).await;
            let why = server.get(&path(&own, "explain")).await.expect(200);
            assert_eq!(why["waits_for"][0]["holders"], json!([]), "{why}");
            let page = server.get(&format!("/ui/jobs/{}", id(&own))).await;
            server.use_key(Some(&viewer));
            let whole = server.get(&path(&own, "explain")).await.expect(200);
            assert!(whole.to_string().contains(id(&theirs[0])), "{whole}");
            for theirs in &theirs {
                assert!(!why.to_string().contains(id(theirs)), "{why}");
                assert!(!page.text.contains(id(theirs)), "{}", page.text);
            }
        }
    });
}

#[test]
fn groups_and_shares_are_claimed_as_declared() {
    on_both_stores_with_config(CONFIG, async |server| {
        server.create(json!({ "type": "grouped" })).await;
        server.create(json!({ "type": "grouped" })).await;
        assert!(claimed(&server, 9).await.is_empty());
        server.create(json!({ "type": "grouped" })).await;
        let group = claimed(&server, 9).await;
        assert_eq!(group.len(), 3);
        assert!(group[0]["group"].is_string() && group.iter().all(|job| job["group"] == group[0]["group"]));
        server.create(json!({ "type": "soon" })).await;
        server.create(json!({ "type": "soon" })).await;
        let partial = server.claim(json!({ "worker": "w1", "max": 9, "wait": "1m" })).await;
        assert_eq!(partial.len(), 2, "what there is after the wait");
        for user in ["big", "big", "big", "big", "big", "small", "small"] {
            server.create(json!({ "type": "x", "queue": "fair", "user_id": user })).await;
        }
        let mut users = Vec::new();
        for _ in 0..4 {
            users.push(claimed(&server, 1).await[0]["user_id"].clone());
        }
        assert_eq!(users.iter().filter(|user| **user == "big").count(), 3, "{users:?}");
    });
}

#[test]
fn only_operators_change_resources() {
    on_both_stores_with_config(CONFIG, async |mut server| {
        let [producer, worker, operator, viewer, _] = create_keys(&mut server).await;
        for (key, reads, changes) in
            [(producer, 403, 403), (worker, 403, 403), (viewer, 200, 403), (operator, 200, 200)]
        {
            server.use_key(Some(&key));
            assert_eq!(server.get("/api/resources").await.status, reads);
            assert_eq!(server.get("/api/sequences").await.status, reads);
            assert_eq!(server.post("/api/resources/api/pause", &json!({})).await.status, changes);
        }
    });
}

#[tokio::test]
async fn limits_hold_over_three_nodes() {
    let setup = Setup::new(Store::Postgres).await.config(CONFIG);
    let nodes = [setup.clone().start().await, setup.clone().start().await, setup.clone().start().await];
    for n in 0..40 {
        nodes[n % 3]
            .create(json!({ "type": "call", "payload": { "customer": format!("c{}", n % 8) } }))
            .await;
    }
    let work = async |node: &Server, name: usize| loop {
        let got =
            node.claim(json!({ "worker": format!("w{name}"), "max": 2, "wait": "2s", "start": true })).await;
        if got.is_empty() {
            return;
        }
        for job in got {
            node.report(&job, "succeed", json!({})).await.expect(200);
        }
    };
    let workers = (0..12).map(|name| work(&nodes[name % 3], name));
    futures_util::future::join_all(workers).await;
    let jobs = nodes[1].rows("/api/jobs?type=call&outcome=succeeded&limit=500").await;
    assert_eq!(jobs.len(), 40);
    let mut held: std::collections::BTreeMap<String, i32> = std::collections::BTreeMap::new();
    let customers: std::collections::BTreeMap<&str, &str> = jobs
        .iter()
        .map(|job| (job["id"].as_str().unwrap(), job["payload"]["customer"].as_str().unwrap()))
        .collect();
    for event in nodes[2].rows("/api/events?limit=500").await {
        let Some(customer) = event["job_id"].as_str().and_then(|id| customers.get(id)) else { continue };
        let count = held.entry((*customer).to_owned()).or_default();
        match event["trigger"].as_str() {
            Some("claim") => *count += 1,
            Some("succeed") => *count -= 1,
            _ => {}
        }
        assert!(*count <= 2, "{customer} has {count} leases at once");
    }
    drop(nodes);
    setup.verify();
}
