//! Creating jobs.

use serde_json::{Value, json};
use tenure_e2e::*;

use super::{JOB, is_time};

#[test]
fn a_new_job_is_returned_whole_with_its_location() {
    on_both_stores(async |server| {
        let reply = server.post("/api/jobs", &json!({ "type": "index" })).await;
        let location = reply.header("location").expect("a new job has a place").to_owned();
        assert_eq!(reply.header("idempotent-replayed"), None);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let job = reply.expect(202);
        assert_field_names(&job, JOB);
        assert_eq!(location, path(&job, ""));
        assert_eq!(server.read(&location).await, job);
        let plain = json!({
            "lifecycle": "distributed", "lifecycle_version": 1, "type": "index", "queue": "default", "user_id": null,
            "state": "queued", "phase": "ready", "outcome": null, "seq": 1, "attempt": 1, "retry_count": 0,
            "max_attempts": 5, "priority": 0, "progress_message": null, "payload": {}, "result": null, "error": null,
            "checkpoint": null, "worker": null, "lease": null, "cancel_requested": null, "idempotency_key": null,
            "retry_of": null, "claimed_at": null, "started_at": null, "completed_at": null, "duration_ms": null,
            "run_ms": null,
        });
        assert_fields(&job, plain);
        for time in ["run_at", "created_at", "updated_at"] {
            assert!(is_time(&job[time]), "{time}: {job}");
        }
        assert_eq!(field_names(&job["entered"]), ["queued"]);
        assert!(is_time(&job["entered"]["queued"]));
        assert_eq!(job["trace_id"].as_str().map(str::len), Some(32));
        assert!(job["correlation_id"].as_str().is_some_and(|id| !id.is_empty()));
    });
}

#[test]
fn a_job_has_the_fields_of_its_creation() {
    on_both_stores(async |server| {
        let asked = json!({
            "type": "index", "payload": { "of": [1, 2.5, "ü"] }, "lifecycle": "distributed", "user_id": "u1",
            "queue": "night", "priority": -7, "run_at": "2126-01-02T03:04:05.678Z", "max_attempts": 2,
            "correlation_id": "c-1",
        });
        let job = server.create(asked.clone()).await;
        assert_fields(&job, asked);
        let later = server.create(json!({ "type": "index", "delay": "1h" })).await;
        assert!(later["run_at"].as_str() > later["created_at"].as_str());
        let both = json!({ "type": "index", "delay": "1h", "run_at": "2126-01-02T03:04:05.678Z" });
        server.post("/api/jobs", &both).await.problem(400, "malformed");
    });
}

#[test]
fn a_creation_is_idempotent_with_a_key() {
    on_both_stores(async |server| {
        let body = json!({ "type": "a", "user_id": "u1", "payload": { "n": 1 } });
        let ask = async |body: &Value| server.post_keyed("key 1", "/api/jobs", body).await;
        let first = ask(&body).await.expect(202);
        assert_eq!(first["idempotency_key"], "key 1");
        let again = ask(&body).await;
        assert_eq!(again.header("location"), Some(path(&first, "").as_str()));
        assert_fields(&again.expect_replay(), json!({ "id": first["id"], "replayed": true }));
        let other = ask(&json!({ "type": "a", "user_id": "u1", "payload": { "n": 2 } })).await;
        let problem = other.problem(422, "idempotency_mismatch");
        assert!(problem["errors"].is_array());
        // A key is scoped to the user and the type.
        ask(&json!({ "type": "a", "user_id": "u2", "payload": { "n": 1 } })).await.expect(202);
        ask(&json!({ "type": "b", "user_id": "u1", "payload": { "n": 1 } })).await.expect(202);
        assert_eq!(server.rows("/api/jobs").await.len(), 3);
        for bad in ["", "ü", &"k".repeat(256)] {
            let ask = server.request("POST", "/api/jobs").header("idempotency-key", bad).json(&body);
            ask.send().await.problem(400, "malformed");
        }
    });
}

#[test]
fn an_invalid_job_is_not_stored() {
    let config = r#"
[types.picture]
lifecycle = "pattern"
guard = '!payload.prompt.contains("forbidden")'
[types.picture.schema]
type = "object"
required = ["prompt"]
properties = { prompt = { type = "string" }, size = { type = "integer", minimum = 1 } }
"#;
    on_both_stores_with_config(config, async |server| {
        let other = json!({ "type": "other" });
        server.post("/api/jobs", &other).await.problem_at(422, "unknown_type", "#/type");
        let flawed = json!({ "type": "picture", "payload": { "prompt": 1, "size": 0 } });
        let problem = server.post("/api/jobs", &flawed).await.problem(422, "validation_failed");
        let mut pointers = column(&problem["errors"], "pointer");
        pointers.sort_by_key(Value::to_string);
        assert_eq!(pointers, ["#/payload/prompt", "#/payload/size"]);
        let guarded = json!({ "type": "picture", "payload": { "prompt": "forbidden" } });
        server.post("/api/jobs", &guarded).await.problem(422, "guard_rejected");
        let elsewhere = json!({ "type": "picture", "lifecycle": "nothing", "payload": { "prompt": "x" } });
        let refused = server.post("/api/jobs", &elsewhere).await;
        assert!((400..500).contains(&refused.status), "{}", refused.text);
        assert_eq!(server.read("/api/jobs").await, json!({ "jobs": [], "next_cursor": null }));
        assert_eq!(server.journal().await, Vec::<Value>::new());
    });
}

#[test]
fn an_invalid_item_of_a_batch_does_not_affect_the_others() {
    on_both_stores(async |server| {
        let items = json!([{ "type": "a" }, { "tipe": "b" }, 7, { "type": "c", "user_id": "u1" }]);
        let answer = server.post_ok("/api/jobs/batch", &json!({ "jobs": items })).await;
        assert_eq!(field_names(&answer), ["results"]);
        let results = &answer["results"];
        assert_eq!(rows(results).len(), 4);
        assert_fields(results, json!({ "/0/ok/type": "a", "/3/ok/user_id": "u1" }));
        assert_field_names(&results[0]["ok"], JOB);
        for bad in [&results[1], &results[2]] {
            assert_eq!(field_names(bad), ["error"]);
            let expected = json!({ "code": "malformed", "status": 400, "type": "/problems/malformed" });
            assert_fields(&bad["error"], expected);
        }
        assert_eq!(server.column("/api/jobs", "type").await, ["c", "a"]);
        let again = async || {
            let items = json!({ "jobs": [{ "type": "k" }, { "type": "k" }] });
            let request = server.request("POST", "/api/jobs/batch").idempotent("batch");
            column(&request.json(&items).send().await.expect(200)["results"], "ok")
        };
        let (first, second) = (again().await, again().await);
        assert_ne!(first[0]["id"], first[1]["id"]);
        assert_eq!([&first[0]["id"], &first[1]["id"]], [&second[0]["id"], &second[1]["id"]]);
        assert_eq!(second[0]["replayed"], true);
        let many = json!({ "jobs": vec![json!({ "type": "a" }); 10_001] });
        server.post("/api/jobs/batch", &many).await.problem(400, "malformed");
    });
}

#[test]
fn ten_thousand_jobs_fit_in_one_batch() {
    on_both_stores(async |server| {
        let created = server.create_many(10_000, json!({ "type": "a" })).await;
        assert_eq!(created.iter().filter(|job| job["state"] == "queued").count(), 10_000);
    });
}

#[test]
fn trace_and_correlation_ids_reach_the_worker_and_every_event() {
    on_both_stores(async |server| {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let parent = format!("00-{trace}-b7ad6b7169203331-01");
        let body = json!({ "type": "a", "correlation_id": "order-7" });
        let create = server.request("POST", "/api/jobs").header("traceparent", &parent).json(&body);
        let job = create.send().await.expect(202);
        assert_fields(&job, json!({ "trace_id": trace, "correlation_id": "order-7" }));
        let claimed = server.claim_one().await;
        let handed = claimed["traceparent"].as_str().expect("a worker is handed a traceparent");
        assert_eq!(handed.split('-').nth(1), Some(trace), "{handed}");
        assert_eq!(claimed["correlation_id"], "order-7");
        server.succeed(&claimed).await;
        let page = server.read(&path(&job, "events")).await;
        assert!(column(&page["events"], "trace_id").iter().all(|id| id == trace));
        assert!(column(&page["events"], "correlation_id").iter().all(|id| id == "order-7"));
        // An invalid traceparent is ignored.
        let create = server.request("POST", "/api/jobs").header("traceparent", "00-zz-b7ad-01").json(&body);
        let other = create.send().await.expect(202);
        assert_eq!(other["trace_id"].as_str().map(str::len), Some(32));
        assert_ne!(other["trace_id"], trace);
        let again = server.call(&job, "retry", &json!({})).await.expect(202);
        assert_eq!(again["correlation_id"], "order-7");
    });
}

#[test]
fn a_derived_key_finds_the_job_of_the_same_minute() {
    let config = "[types.picture]\nlifecycle = \"image\"\n";
    on_both_stores_with_config(config, async |server| {
        let ask = async |user: &str, prompt: &str| {
            let body = json!({ "type": "picture", "user_id": user, "payload": { "prompt": prompt } });
            server.post("/api/jobs", &body).await
        };
        let first = ask("u1", "a cat").await.expect(202);
        assert!(first["idempotency_key"].as_str().is_some_and(|key| !key.is_empty()));
        assert_eq!(ask("u1", "a cat").await.expect_replay()["id"], first["id"]);
        ask("u1", "a dog").await.expect(202);
        ask("u2", "a cat").await.expect(202);
    });
}

#[test]
fn a_payload_is_stored_unchanged() {
    on_both_stores(async |server| {
        let create = async |payload: &str| {
            server.post_text("/api/jobs", format!("{{\"type\":\"a\",\"payload\":{payload}}}")).await
        };
        let order = r#""order":{"z":1,"a":2}"#;
        let payload =
            format!(r#"{{"big":12345678901234567890123,"exact":0.1000,"text":"\u00e9\n",{order}}}"#);
        let reply = create(&payload).await;
        let shown = server.get(&path(&reply.clone().expect(202), "")).await;
        for (what, text) in [("created", &reply.text), ("shown", &shown.text)] {
            assert!(text.contains("12345678901234567890123"), "{what}: {text}");
            assert!(text.contains(order), "{what}: {text}");
        }
        let claimed = server.post("/api/claims", &json!({ "worker": "w", "max": 1 })).await;
        assert!(claimed.text.contains("12345678901234567890123"), "{}", claimed.text);
        for payload in ["null", "7", "\"text\"", "[]", "true"] {
            assert_eq!(create(payload).await.expect(202)["payload"].to_string(), payload);
        }
    });
}

#[test]
fn a_run_at_in_the_past_means_now() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a", "run_at": "2020-01-01T00:00:00Z" })).await;
        assert_eq!(server.claim_one().await["id"], job["id"]);
    });
}

#[test]
fn only_jobs_of_the_catch_all_type_choose_their_lifecycle() {
    let config = "[types.scene]\nlifecycle = \"engine\"\n[types.\"*\"]\nlifecycle = \"distributed\"\n";
    on_both_stores_with_config(config, async |server| {
        let job = server.create(json!({ "type": "x", "lifecycle": "pattern" })).await;
        assert_fields(&job, json!({ "lifecycle": "pattern", "max_attempts": 1 }));
        for (kind, lifecycle) in [("x", "nothing"), ("scene", "pattern")] {
            let body = json!({ "type": kind, "lifecycle": lifecycle });
            server.post("/api/jobs", &body).await.problem_at(422, "validation_failed", "#/lifecycle");
        }
    });
}
