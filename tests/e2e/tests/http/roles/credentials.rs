//! A lease belongs to the key that claimed the job. The name of a worker proves nothing.

use serde_json::{Value, json};
use tenure_core::command::{Claim, ClaimFilter};
use tenure_core::decide::CommandOutput;
use tenure_core::json::Json;
use tenure_e2e::*;
use tenure_runtime::{Definitions, NewJob, Options, Runtime};

use super::create_keys;

/// Reads of one job.
const READS: [&str; 7] = ["", "events", "replay", "explain", "logs", "assets", "stream"];

/// Claims and starts a job as worker `w`.
async fn claim(server: &Server, key: &str) -> Value {
    let claim = json!({ "worker": "w", "max": 1, "start": true });
    server.post_as(key, "/api/claims", &claim).await.expect(200)["jobs"][0].clone()
}

/// Uses the name `w` without claiming a job.
async fn take_name(server: &Server, key: &str) {
    let claim = json!({ "worker": "w", "max": 1, "types": ["none"] });
    server.post_as(key, "/api/claims", &claim).await.expect(200);
}

/// A report of worker `w` about a job that it or another claimed.
async fn report(server: &Server, key: &str, job: &Value, verb: &str, more: &Value) -> Reply {
    let body = merged(json!({ "worker": "w", "fence": job["lease"]["fence"] }), more);
    server.post_as(key, &path(job, verb), &body).await
}

/// Checks that a key reads nothing of a job, and that none of its reports as worker `w` is accepted.
async fn assert_no_access(server: &Server, key: &str, job: &Value, cause: &str) {
    for read in READS {
        server.get_as(key, &path(job, read)).await.problem(403, "forbidden");
    }
    for list in ["/api/jobs", "/api/jobs?worker=w", "/api/events"] {
        let list = server.get_as(key, list).await.expect(200);
        assert!(!list.to_string().contains(id(job)), "{list}");
    }
    let reports = json!({
        "start": {}, "heartbeat": {}, "progress": { "progress": 50 }, "succeed": {}, "partial": {},
        "fail": { "error": { "code": "X" } }, "reject": { "reason": "no" }, "release": {}, "cancel-confirm": {},
        "logs": { "lines": [{ "text": "forged" }] }, "assets": { "asset_type": "a", "url": "https://example.org/" },
    });
    for (verb, more) in reports.as_object().unwrap() {
        let refused = report(server, key, job, verb, more).await.problem(409, "lease_conflict");
        assert_eq!(refused["cause"], cause, "{verb}");
    }
    let one = json!({ "job": job["id"], "fence": job["lease"]["fence"], "verb": "succeed" });
    let batch = json!({ "worker": "w", "reports": [one] });
    let results = server.post_as(key, "/api/reports", &batch).await.expect(200);
    assert_eq!(results["results"][0]["error"]["code"], "lease_conflict");
}

#[test]
fn the_idle_name_of_a_worker_gives_no_access_to_its_finished_jobs() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = create_keys(&mut server).await;
        let other = server.create_key("worker", None).await;
        server.create(json!({ "type": "a", "payload": { "secret": 1 } })).await;
        let job = claim(&server, &worker).await;
        report(&server, &worker, &job, "succeed", &json!({ "result": { "secret": 2 } })).await.expect(200);
        take_name(&server, &other).await;
        assert_no_access(&server, &other, &job, "lost").await;
        server.get_as(&worker, &path(&job, "")).await.expect(200);
        let body = &json!({ "result": { "secret": 2 } });
        report(&server, &worker, &job, "succeed", body).await.expect_replay();
    });
}

#[test]
fn the_name_of_a_waiting_claim_gives_no_access_to_its_job() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = create_keys(&mut server).await;
        let other = server.create_key("worker", None).await;
        let waiting = json!({ "worker": "w", "max": 1, "start": true, "wait": "30s" });
        let waiting = tokio::spawn(server.request("POST", "/api/claims").key(&worker).json(&waiting).send());
        let is_seen = async || server.column("/api/workers", "name").await.contains(&json!("w"));
        eventually("the claim has arrived", is_seen).await;
        take_name(&server, &other).await;
        server.create(json!({ "type": "a", "payload": { "secret": 1 } })).await;
        let job = waiting.await.unwrap().expect(200)["jobs"][0].clone();
        assert_no_access(&server, &other, &job, "wrong_worker").await;
        report(&server, &worker, &job, "heartbeat", &json!({})).await.expect(200);
        report(&server, &worker, &job, "succeed", &json!({})).await.expect(200);
    });
}

#[tokio::test]
async fn a_worker_name_gives_no_access_on_another_node() {
    let mut one = Server::postgres().await;
    let [_, worker, ..] = create_keys(&mut one).await;
    let other = one.create_key("worker", None).await;
    let two = one.second_node().await;
    one.create(json!({ "type": "a", "payload": { "secret": 1 } })).await;
    let job = claim(&one, &worker).await;
    take_name(&two, &other).await;
    for node in [&two, &one] {
        assert_no_access(node, &other, &job, "wrong_worker").await;
    }
    report(&two, &worker, &job, "succeed", &json!({})).await.expect(200);
    for node in [&one, &two] {
        assert_no_access(node, &other, &job, "lost").await;
        node.get_as(&worker, &path(&job, "")).await.expect(200);
    }
    one.setup().verify();
}

#[test]
fn two_keys_may_use_the_same_worker_name() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = create_keys(&mut server).await;
        let other = server.create_key("worker", None).await;
        server.create(json!({ "type": "a" })).await;
        server.create(json!({ "type": "a" })).await;
        let (one, two) = (claim(&server, &worker).await, claim(&server, &other).await);
        for (key, own, foreign) in [(&worker, &one, &two), (&other, &two, &one)] {
            report(&server, key, foreign, "succeed", &json!({})).await.problem(409, "lease_conflict");
            server.get_as(key, &path(foreign, "")).await.problem(403, "forbidden");
            report(&server, key, own, "succeed", &json!({})).await.expect(200);
        }
    });
}

#[test]
fn the_request_id_of_another_key_returns_none_of_its_jobs() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = create_keys(&mut server).await;
        let other = server.create_key("worker", None).await;
        let job = server.create(json!({ "type": "a", "payload": { "secret": 1 } })).await;
        let claim = json!({ "worker": "w", "max": 1, "request_id": "r", "start": true });
        let claimed = server.post_as(&worker, "/api/claims", &claim).await.expect(200);
        assert_eq!(claimed["jobs"][0]["id"], job["id"]);
        assert_eq!(server.post_as(&other, "/api/claims", &claim).await.expect(200)["jobs"], json!([]));
        let again = server.post_as(&worker, "/api/claims", &claim).await.expect(200);
        assert_eq!(again["jobs"][0]["id"], job["id"]);
        // Nor does the idempotency key of a report.
        let start = json!({ "worker": "w", "fence": 1, "progress": 10 });
        let keyed = |key: &str| {
            server.request("POST", &path(&job, "progress")).key(key).idempotent("k").json(&start).send()
        };
        keyed(&worker).await.expect(200);
        keyed(&other).await.problem(409, "lease_conflict");
    });
}

#[test]
fn an_operator_does_not_act_as_a_worker() {
    on_both_stores(async |mut server| {
        let [_, worker, operator, _, admin] = create_keys(&mut server).await;
        let job = server.create(json!({ "type": "a" })).await;
        let claimed = claim(&server, &worker).await;
        for key in [&operator, &admin] {
            let refused = report(&server, key, &claimed, "succeed", &json!({})).await;
            assert_eq!(refused.problem(409, "lease_conflict")["cause"], "wrong_worker");
        }
        let reason = json!({ "reason_code": "policy_violation", "detail": "stop" });
        server.post_as(&operator, &path(&job, "dead-letter"), &reason).await.expect(200);
        let last = server.events(&job).await.pop().unwrap();
        assert!(last["actor"].as_str().unwrap().starts_with("operator:"), "{last}");
    });
}

#[test]
fn events_record_the_credential_of_the_caller() {
    on_both_stores(async |mut server| {
        let [producer, worker, operator, ..] = create_keys(&mut server).await;
        let job = server.post_as(&producer, "/api/jobs", &json!({ "type": "a" })).await.expect(202);
        claim(&server, &worker).await;
        server.post_as(&operator, &path(&job, "cancel"), &json!({ "mode": "hard" })).await.expect(200);
        let credential = |key: &str| json!(format!("key:{}", key.split('_').nth(1).unwrap()));
        let recorded: Vec<Value> =
            server.events(&job).await.iter().map(|event| event["payload"]["credential"].clone()).collect();
        let [producer, worker, operator] = [&producer, &worker, &operator].map(|key| credential(key));
        assert_eq!(recorded, [producer, worker.clone(), worker, operator]);
    });
}

#[test]
fn the_log_of_a_job_ends_for_a_worker_that_lost_it() {
    on_both_stores(async |mut server| {
        let [_, worker, _, _, admin] = create_keys(&mut server).await;
        let other = server.create_key("worker", None).await;
        server.create(json!({ "type": "a" })).await;
        let job = claim(&server, &worker).await;
        let line = |text: &str| json!({ "lines": [{ "text": text }] });
        report(&server, &worker, &job, "logs", &line("mine")).await.expect(200);
        server.use_key(Some(&worker));
        let mut log = server.stream(&path(&job, "stream"), None).await;
        server.use_key(Some(&admin));
        assert!(log.next().await.unwrap().data.to_string().contains("mine"));
        report(&server, &worker, &job, "release", &json!({})).await.expect(200);
        let job = claim(&server, &other).await;
        report(&server, &other, &job, "logs", &line("secret")).await.expect(200);
        assert_eq!(log.next().await, None);
    });
}

/// A job with a lease of worker `w`, as an earlier version stored it: bound to no credential.
async fn unbound_lease(server: &Server) -> Value {
    let setup = server.setup();
    let store = match setup.database_url() {
        Some(url) => tenure_store::Store::connect(url).await.unwrap(),
        None => tenure_store::Store::open(setup.database_file().parent().unwrap()).await.unwrap(),
    };
    let runtime = Runtime::start(store, Definitions::default(), Options::default()).await.unwrap();
    let new = NewJob::new("old", Json::parse(r#"{"secret":1}"#).unwrap());
    runtime.create(new).await.unwrap().unwrap();
    let filter = ClaimFilter { types: Some(vec!["old".into()]), queues: None };
    let claim = Claim { worker: "w".into(), filter, max: 1, request_id: None, start: true };
    let claimed = runtime.claim(claim, std::time::Duration::ZERO).await.unwrap().unwrap();
    let CommandOutput::Claimed { jobs, .. } = claimed else { panic!("a claim returns jobs") };
    runtime.stop().await;
    json!({ "id": jobs[0].id().to_string(), "lease": { "fence": jobs[0].fence.0 } })
}

#[test]
fn a_lease_of_an_earlier_version_is_judged_by_the_workers_name() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = create_keys(&mut server).await;
        let other = server.create_key("worker", None).await;
        take_name(&server, &worker).await;
        server.terminate().await;
        let job = unbound_lease(&server).await;
        let server = server.restart().await;
        server.get_as(&worker, &path(&job, "")).await.expect(200);
        server.get_as(&other, &path(&job, "")).await.problem(403, "forbidden");
        let refused = report(&server, &other, &job, "succeed", &json!({})).await;
        refused.problem(403, "forbidden");
        report(&server, &worker, &job, "heartbeat", &json!({})).await.expect(200);
        report(&server, &worker, &job, "succeed", &json!({})).await.expect(200);
        report(&server, &worker, &job, "succeed", &json!({})).await.expect_replay();
        server.get_as(&worker, &path(&job, "")).await.expect(200);
    });
}
