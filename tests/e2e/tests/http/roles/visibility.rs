//! Which jobs a producer and a worker see.

use serde_json::json;
use tenure_e2e::*;

use super::{UNKNOWN_ID, create_keys};
use crate::jobs::REVIEW_FILES;

#[test]
fn a_producer_sees_only_its_own_jobs() {
    on_both_stores_with_files(REVIEW_FILES, async |mut server| {
        let [producer, ..] = create_keys(&mut server).await;
        let own = server.post_as(&producer, "/api/jobs", &json!({ "type": "a" })).await.expect(202);
        assert_eq!(own["user_id"], "u1", "its user is the key's");
        let foreign = server.create(json!({ "type": "a", "user_id": "u2" })).await;
        let unowned = server.create(json!({ "type": "a" })).await;
        let missing = json!({ "id": UNKNOWN_ID });
        for call in ["", "events", "replay", "explain", "logs", "stream"] {
            server.get_as(&producer, &path(&missing, call)).await.problem(404, "not_found");
            for other in [&foreign, &unowned] {
                server.get_as(&producer, &path(other, call)).await.problem(403, "forbidden");
            }
            if call != "stream" {
                server.get_as(&producer, &path(&own, call)).await.expect(200);
            }
        }
        let line = json!({ "lines": [{ "text": "x" }] });
        for call in ["cancel", "retry", "signals/approve", "logs"] {
            let body = if call == "logs" { &line } else { &json!({}) };
            server.post_as(&producer, &path(&missing, call), body).await.problem(404, "not_found");
            for other in [&foreign, &unowned] {
                server.post_as(&producer, &path(other, call), body).await.problem(403, "forbidden");
            }
        }
        assert_eq!(server.job(&foreign).await["state"], "queued");
        let other = json!({ "type": "a", "user_id": "u2" });
        server.post_as(&producer, "/api/jobs", &other).await.problem(403, "forbidden");
        let batch = json!({ "jobs": [{ "type": "b" }, { "type": "b", "user_id": "u2" }] });
        let results = server.post_as(&producer, "/api/jobs/batch", &batch).await.expect(200);
        assert_eq!(results["results"][0]["ok"]["user_id"], "u1");
        assert_eq!(results["results"][1]["error"]["code"], "forbidden");

        let jobs = server.get_as(&producer, "/api/jobs").await.expect(200);
        assert!(column(&jobs["jobs"], "user_id").iter().all(|user| user == "u1"), "others are left out");
        assert_eq!(rows(&jobs["jobs"]).len(), 2);
        let feed = server.get_as(&producer, "/api/events").await.expect(200);
        assert_eq!(rows(&feed["events"]).len(), 2, "in feeds too");
        for job in [&own, &foreign] {
            server.call_ok(job, "dead-letter", &json!({ "reason_code": "timeout", "detail": "" })).await;
        }
        let letters = server.get_as(&producer, "/api/dead-letters").await.expect(200);
        assert_eq!(column(&letters["dead_letters"], "job_id"), [own["id"].clone()]);
        server.get_as(&producer, "/api/accounts/u1/credits").await.expect(200);
        server.get_as(&producer, "/api/accounts/u2/credits").await.problem(403, "forbidden");
    });
}

#[test]
fn a_worker_sees_only_the_jobs_it_holds() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = create_keys(&mut server).await;
        let other = server.create_key("worker", None).await;
        let job = server.create(json!({ "type": "a" })).await;
        server.get_as(&worker, &path(&job, "")).await.problem(403, "forbidden");
        let claim = json!({ "worker": "w", "max": 1, "start": true });
        let claimed = server.post_as(&worker, "/api/claims", &claim).await.expect(200);
        assert_eq!(claimed["jobs"][0]["id"], job["id"]);
        for call in ["", "events", "replay", "explain", "logs"] {
            server.get_as(&worker, &path(&job, call)).await.expect(200);
            server.get_as(&other, &path(&job, call)).await.problem(403, "forbidden");
            server.get_as(&other, &path(&json!({ "id": UNKNOWN_ID }), call)).await.problem(404, "not_found");
        }
        server.create(json!({ "type": "b" })).await;
        let seen = server.get_as(&worker, "/api/jobs").await.expect(200);
        assert_eq!(column(&seen["jobs"], "id"), [job["id"].clone()], "others are left out");
        assert_eq!(server.get_as(&other, "/api/jobs").await.expect(200)["jobs"], json!([]));
    });
}

#[test]
fn using_a_workers_name_does_not_give_access_to_its_jobs() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = create_keys(&mut server).await;
        let other = server.create_key("worker", None).await;
        let job = server.create(json!({ "type": "a" })).await;
        server.post_as(&worker, "/api/claims", &json!({ "worker": "w", "max": 1 })).await.expect(200);
        server.post_as(&other, "/api/claims", &json!({ "worker": "w", "max": 1, "types": ["none"] })).await;
        server.get_as(&other, &path(&job, "")).await.problem(403, "forbidden");
        server.get_as(&worker, &path(&job, "")).await.expect(200);
    });
}

#[test]
fn a_worker_reads_only_events_of_jobs_it_holds() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = create_keys(&mut server).await;
        let job = server.create(json!({ "type": "a" })).await;
        server.post_as(&worker, "/api/claims", &json!({ "worker": "w", "max": 1 })).await.expect(200);
        server.create(json!({ "type": "b" })).await;
        let feed = server.get_as(&worker, "/api/events").await.expect(200);
        assert!(column(&feed["events"], "job_id").iter().all(|id| *id == job["id"]), "{feed}");
    });
}

#[tokio::test]
async fn the_jobs_of_a_worker_are_known_on_every_node() {
    let mut one = Server::postgres().await;
    let [_, worker, ..] = create_keys(&mut one).await;
    let two = one.second_node().await;
    let job = one.create(json!({ "type": "a" })).await;
    one.post_as(&worker, "/api/claims", &json!({ "worker": "w", "max": 1 })).await.expect(200);
    two.get_as(&worker, &path(&job, "")).await.expect(200);
}

#[test]
fn events_name_the_caller() {
    on_both_stores(async |mut server| {
        let [producer, worker, operator, ..] = create_keys(&mut server).await;
        let job = server.post_as(&producer, "/api/jobs", &json!({ "type": "a" })).await.expect(202);
        let claim = json!({ "worker": "w", "max": 1, "start": true });
        server.post_as(&worker, "/api/claims", &claim).await.expect(200);
        let hard = json!({ "mode": "hard", "reason": "enough" });
        server.post_as(&operator, &path(&job, "cancel"), &hard).await.expect(200);
        let actors = server.column(&path(&job, "events"), "actor").await;
        assert_eq!(actors[..2], ["user:u1", "worker:w"]);
        assert!(actors[3].as_str().is_some_and(|actor| actor.starts_with("operator:")), "{actors:?}");
        let audit = server.read("/api/audit").await;
        let line = find(&audit["audit"], "action", "cancel");
        assert_fields(line, json!({ "actor": actors[3], "reason": "enough" }));
    });
}
