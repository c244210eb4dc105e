//! Lifecycle APIs: the calls of `/api/jobs` under the path and with the field names of a lifecycle.

mod assets;
mod scope;

use serde_json::{Value, json};
use tenure_e2e::*;

use crate::jobs::{JOB, REVIEW};

/// A type for each lifecycle, with long timeouts.
const CONFIG: &str = include_str!("fixtures/lifecycle_api.toml");

/// A lifecycle API that renames nested fields.
const API: &str = include_str!("fixtures/lifecycle_api_mount.toml");

/// The path of each lifecycle API, and the name of its id.
const MOUNTS: [(&str, &str); 5] = [
    ("/engine/jobs", "jobId"),
    ("/so1/api/jobs", "id"),
    ("/jobs", "id"),
    ("/image/jobs", "jobId"),
    ("/reviews", "reviewId"),
];

fn with_lifecycle_apis(test: impl AsyncFn(Server)) {
    let review = format!("{REVIEW}{API}");
    on_both_stores_with_files(&[("tenure.toml", CONFIG), ("review.toml", &review)], test);
}

/// A new job with the field names of a lifecycle API.
fn new_job(mount: &str) -> Value {
    match mount {
        "/engine/jobs" => json!({ "jobType": "scene", "userId": "u1", "payload": { "n": 1 } }),
        "/so1/api/jobs" => json!({ "action": "workflow", "user_id": "u1", "input": { "n": 1 } }),
        "/jobs" => json!({ "job_type": "export", "user_id": "u1", "parameters": { "n": 1 } }),
        "/image/jobs" => json!({ "type": "picture", "userId": "u1", "request": { "prompt": "a tree" } }),
        _ => json!({ "type": "draft", "user_id": "u1", "text": "a draft", "words": 300 }),
    }
}

/// Claims and starts the one ready job; its id and fence.
async fn take(server: &Server) -> (String, Value) {
    let job = server.claim_one().await;
    (id(&job).to_owned(), job["lease"]["fence"].clone())
}

/// Checks that a job has the fields of `/api/jobs` without some and with others.
#[track_caller]
fn assert_members(job: &Value, without: &str, with: &str) {
    let (without, with) = (sorted_words(without), sorted_words(with));
    let kept = sorted_words(JOB).into_iter().filter(|name| !without.contains(name));
    let mut all: Vec<&str> = kept.chain(with).collect();
    all.sort_unstable();
    assert_eq!(field_names(job), all);
}

#[test]
fn the_engine_api_uses_its_field_names() {
    with_lifecycle_apis(async |server| {
        let reply = server.post("/engine/jobs", &new_job("/engine/jobs")).await;
        let location = reply.header("location").unwrap().to_owned();
        let job = reply.expect(202);
        let id = job["jobId"].as_str().unwrap().to_owned();
        assert_eq!(location, format!("/engine/jobs/{id}"));
        assert_members(
            &job,
            "id user_id type state worker retry_count created_at started_at completed_at duration_ms",
            "jobId userId jobType status engineId retryCount submittedAt queuedAt dispatchedAt startedAt completedAt \
             failedAt duration",
        );
        assert_eq!((&job["status"], &job["jobType"]), (&json!("queued"), &json!("scene")));
        assert_eq!(job["queuedAt"], job["entered"]["queued"]);
        assert_eq!((&job["dispatchedAt"], &job["error"]), (&Value::Null, &Value::Null));
        assert_eq!(server.read(&location).await, job);

        let (_, fence) = take(&server).await;
        let report = json!({ "engineId": "w1", "fence": fence });
        assert_eq!(server.post_ok(&format!("{location}/heartbeat"), &report).await["lease"]["fence"], fence);
        let progress = json!({ "engineId": "w1", "fence": fence, "progress": 40 });
        let running = server.post_ok(&format!("{location}/progress"), &progress).await;
        assert_fields(&running, json!({ "status": "running", "progress": 40 }));
        // Both names of the state find it.
        for state in ["started", "running"] {
            let found = server.read(&format!("/engine/jobs?status={state}&engineId=w1")).await;
            assert_eq!(found["jobs"][0]["jobId"], id, "{state}");
        }
        let error = "BAD_ASSET: corrupted_texture.png";
        let failing = json!({ "engineId": "w1", "fence": fence, "error": error });
        let failed = server.post_ok(&format!("{location}/fail"), &failing).await;
        assert_eq!(failed["error"], error);
        assert_eq!(failed["failedAt"], failed["entered"]["failed"]);
        assert!(failed["duration"].is_number() && failed["dispatchedAt"].is_string(), "{failed}");
        let canonical = server.read(&format!("/api/jobs/{id}")).await;
        assert_fields(&canonical, json!({ "id": id, "/error/code": "BAD_ASSET" }));
        assert_eq!(server.rows(&format!("{location}/events")).await[0]["type"], "JOB_QUEUED");
        let first = server.read(&format!("{location}/replay?seq=1")).await;
        assert_fields(&first, json!({ "jobId": id, "status": "queued" }));
        let why = server.read(&format!("{location}/explain")).await;
        assert_fields(&why, json!({ "status": "failed", "jobType": "scene" }));
    });
}

#[test]
fn so1_streams_its_log_and_one_final_status() {
    with_lifecycle_apis(async |server| {
        let asked = json!({ "action": "workflow", "input": { "ref": "main" } });
        let job = server.post("/so1/api/jobs", &asked).await.expect(202);
        assert_members(
            &job,
            "type payload result created_at started_at completed_at",
            "action input output createdAt startedAt completedAt",
        );
        assert_fields(&job, json!({ "state": "pending", "input": { "ref": "main" } }));
        let (id, fence) = take(&server).await;
        let location = format!("/so1/api/jobs/{id}");
        let stream = server.stream(&format!("{location}/stream"), None).await;
        let lines = json!({ "worker": "w1", "fence": fence, "lines": [{ "text": "one" }] });
        server.post_ok(&format!("{location}/logs"), &lines).await;
        let done = json!({ "worker": "w1", "fence": fence, "output": { "run": 7 } });
        let job = server.post_ok(&format!("{location}/succeed"), &done).await;
        assert_fields(&job, json!({ "state": "success", "output": { "run": 7 } }));
        let received = stream.rest().await;
        assert_eq!(received.iter().map(|it| it.event.as_str()).collect::<Vec<_>>(), ["log", "status"]);
        assert_fields(&received[1].data, json!({ "state": "success", "output": { "run": 7 } }));
        assert_eq!(server.rows(&format!("{location}/logs?after=0")).await[0]["text"], "one");
        let again = server.request("GET", &format!("{location}/stream")).header("last-event-id", "final");
        assert_eq!(again.send().await.status, 204);

        let reply = server.post(&format!("{location}/retry"), &json!({})).await;
        let again = reply.header("location").unwrap().to_owned();
        let retried = reply.expect(202);
        assert_eq!(again, path(&retried, "").replace("/api/jobs", "/so1/api/jobs"));
        assert_fields(&retried, json!({ "retry_of": id, "input": { "ref": "main" } }));
        let cancelled = server.post_ok(&format!("{again}/cancel"), &json!({ "reason": "no" })).await;
        assert_eq!(cancelled["state"], "cancelled");
        assert!(cancelled["completedAt"].is_string());
        let late = server.post(&format!("{again}/cancel"), &json!({})).await;
        assert!(late.status == 200 || late.status == 409, "as at /api: {}", late.text);
    });
}

#[test]
fn pattern_ignores_a_trailing_slash_and_shows_partial_success() {
    with_lifecycle_apis(async |server| {
        let asked = json!({ "job_type": "export", "parameters": { "n": 1 } });
        let reply = server.post_keyed("once", "/jobs/", &asked).await;
        assert!(reply.header("location").is_some_and(|location| location.starts_with("/jobs/")));
        let job = reply.expect(202);
        assert_members(&job, "type state payload", "job_type status parameters error_message");
        assert_eq!(server.post_keyed("once", "/jobs", &asked).await.expect_replay()["id"], job["id"]);
        let other = json!({ "job_type": "export", "parameters": { "n": 2 } });
        server.post_keyed("once", "/jobs/", &other).await.problem(422, "idempotency_mismatch");

        let (id, fence) = take(&server).await;
        let error = "HALF: one of two";
        let report = json!({ "worker": "w1", "fence": fence, "result": [1], "error_message": error });
        let job = server.post_ok(&format!("/jobs/{id}/partial/"), &report).await;
        assert_fields(&job, json!({ "status": "partial", "error_message": error, "/error/code": "HALF" }));
        assert_eq!(server.read(&format!("/jobs/{id}/")).await["result"], json!([1]));
        let late = server.post(&format!("/jobs/{id}/succeed"), &report).await.problem(409, "lease_conflict");
        assert_eq!(late["job_id"], id.as_str());
    });
}

#[test]
fn image_shows_the_result_and_its_url() {
    with_lifecycle_apis(async |server| {
        let job = server.post("/image/jobs", &new_job("/image/jobs")).await.expect(202);
        assert_members(
            &job,
            "id user_id state payload retry_count created_at started_at completed_at idempotency_key",
            "jobId userId status request retryCount createdAt startedAt completedAt idempotencyKey resultUrl",
        );
        let (id, fence) = take(&server).await;
        let url = "https://a.example/1.png";
        let done = json!({ "worker": "w1", "fence": fence, "result": { "url": url, "n": 1 } });
        let job = server.post_ok(&format!("/image/jobs/{id}/succeed"), &done).await;
        assert_fields(&job, json!({ "resultUrl": url, "/result/n": 1 }));

        let asked = json!({ "type": "picture", "userId": "u2", "request": { "prompt": 5 } });
        let refused = server.post("/image/jobs", &asked).await;
        let refused = refused.problem_at(422, "validation_failed", "#/request/prompt");
        assert!(refused["detail"].as_str().unwrap().contains("#/request/prompt"), "{refused}");
        let heavy = json!({ "type": "picture", "request": { "prompt": "x".repeat(1 << 20) } });
        let heavy = server.post("/image/jobs", &heavy).await.problem(413, "too_large");
        assert!(heavy["detail"].as_str().unwrap().starts_with("request is larger than"), "{heavy}");
        let asked = json!({ "type": "picture", "request": { "prompt": "b" } });
        let blocked = server.post("/image/jobs", &asked).await.expect(202);
        let reject = format!("/image/jobs/{}/reject", blocked["jobId"].as_str().unwrap());
        assert_eq!(server.post_ok(&reject, &json!({ "reason": "nsfw" })).await["status"], "rejected");
    });
}

#[test]
fn nested_field_names_are_renamed_both_ways() {
    with_lifecycle_apis(async |server| {
        let job = server.post("/reviews", &new_job("/reviews")).await.expect(202);
        assert_members(
            &job,
            "id state lifecycle run_at",
            "reviewId status process text words url errorCode page token why submittedAt notBefore",
        );
        assert_eq!(job["payload"], json!({ "text": "a draft", "size": { "words": 300 } }));
        assert_eq!((&job["text"], &job["words"]), (&json!("a draft"), &json!(300)));
        let (id, fence) = take(&server).await;
        let location = format!("/reviews/{id}");
        assert_eq!(server.read(&location).await["token"], fence);
        let both = json!({ "worker": "w1", "fence": fence, "url": "u", "result": { "url": "v" } });
        server.post(&format!("{location}/succeed"), &both).await.problem_at(400, "malformed", "#/url");
        let done = json!({ "worker": "w1", "fence": fence, "url": "u" });
        let job = server.post_ok(&format!("{location}/succeed"), &done).await;
        assert_fields(&job, json!({ "result": { "url": "u" }, "url": "u" }));
        assert!(job["status"] == "in_review" && job["submittedAt"].is_string());
        let approve = format!("{location}/signals/approve");
        let approved = server.post_ok(&approve, &json!({ "payload": { "by": "ann" } })).await;
        assert_eq!(approved["status"], "published");
        let none = server.post(&approve, &json!({})).await.problem(409, "invalid_transition");
        assert_eq!(none["current_state"], "published");
        assert_eq!(server.rows("/reviews?status=done&process=review").await[0]["reviewId"], id.as_str());
        let wrong = json!({ "type": "draft", "notBefore": "2030-01-01T00:00:00Z", "delay": "1s" });
        let wrong = server.post("/reviews", &wrong).await.problem(400, "malformed");
        assert_eq!(wrong["detail"], "#/delay: notBefore and delay exclude each other");
    });
}

#[test]
fn refusals_use_the_field_names_of_the_lifecycle_api() {
    with_lifecycle_apis(async |server| {
        let refused = async |mount: &str, body: Value| {
            let problem = server.post(mount, &body).await.problem(400, "malformed");
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&problem["errors"][0]["pointer"]), text(&problem["detail"]))
        };
        let (pointer, detail) = refused("/so1/api/jobs", json!({ "type": "workflow" })).await;
        assert_eq!(pointer, "#/type");
        let unknown = "#/type: unknown field `type`, expected one of `action`, `input`";
        assert!(detail.starts_with(unknown), "{detail}");
        let (pointer, detail) = refused("/so1/api/jobs", json!({ "input": {} })).await;
        assert_eq!((pointer.as_str(), detail.as_str()), ("#/action", "#/action: missing field `action`"));
        for sent in ["payload", "nothing", "createdAt", "created_at"] {
            let body = json!({ "action": "workflow", (sent): "now" });
            assert_eq!(refused("/so1/api/jobs", body).await.0, format!("#/{sent}"));
        }
        for sent in ["queuedAt", "state", "status", "user_id"] {
            let mut body = new_job("/engine/jobs");
            body[sent] = json!("x");
            assert_eq!(refused("/engine/jobs", body).await.0, format!("#/{sent}"));
        }
        assert_eq!(refused("/engine/jobs", json!({ "jobType": 5 })).await.0, "#/jobType");
        let both = json!({ "type": "draft", "payload": {}, "text": "a" });
        assert_eq!(refused("/reviews", both).await.0, "#/text");
        for (path, pointer) in [
            ("/engine/jobs?state=queued", "?state"),
            ("/engine/jobs?status=", "?status"),
            ("/engine/jobs?lifecycle=so1", "?lifecycle"),
            ("/reviews?process=so1", "?process"),
            ("/reviews?lifecycle=review", "?lifecycle"),
            ("/engine/jobs?limit=1000", "?limit"),
        ] {
            server.get(path).await.problem_at(400, "malformed", pointer);
        }
        // A body that cannot be parsed is reported unchanged.
        let twice = server.post_text("/so1/api/jobs", r#"{"input":{"type":1,"type":2}}"#).await;
        let twice = twice.problem(400, "malformed");
        assert!(twice["detail"].as_str().unwrap().contains("`type`"), "{twice}");
        let plain = server.request("POST", "/so1/api/jobs").header("content-type", "text/plain");
        plain.bytes("{}").send().await.problem(415, "unsupported_media_type");
    });
}

#[test]
fn an_invalid_item_of_a_batch_does_not_affect_the_others() {
    with_lifecycle_apis(async |server| {
        let jobs = json!({ "jobs": [
            { "action": "workflow", "input": { "n": 1 } },
            { "type": "workflow" },
            { "action": "scene" },
            { "action": "made-up" },
            5,
        ]});
        let results = server.post_ok("/so1/api/jobs/batch", &jobs).await["results"].take();
        assert_fields(&results, json!({ "/0/ok/action": "workflow", "/0/ok/input/n": 1 }));
        assert_fields(&results, json!({ "/1/error/errors/0/pointer": "#/type" }));
        assert_fields(&results, json!({ "/1/error/instance": "/so1/api/jobs/batch" }));
        assert_fields(&results, json!({ "/2/error/code": "unknown_type" }));
        assert_fields(&results, json!({ "/2/error/errors/0/pointer": "#/action" }));
        assert_eq!(results[3]["ok"]["lifecycle"], "so1", "the catch-all type has the lifecycle of the API");
        assert_eq!(results[4]["error"]["code"], "malformed");

        // A bulk action applies only to jobs of the lifecycle.
        server.create(json!({ "type": "index" })).await;
        let act = json!({ "action": "cancel", "filter": { "state": "pending", "lifecycle": null } });
        let done = server.post_ok("/so1/api/jobs/actions", &act).await;
        assert_eq!(done["matched"], 2);
        assert!(rows(&done["results"]).iter().all(|it| it["ok"]["action"].is_string()), "{done}");
        let mut all = json!({ "action": "cancel", "filter": {} });
        server.post("/jobs/actions", &all).await.problem_at(400, "malformed", "#/filter");
        all["all"] = json!(true);
        assert_eq!(server.post_ok("/jobs/actions", &all).await["matched"], 0);
        let other = json!({ "action": "cancel", "filter": { "lifecycle": "distributed" } });
        server.post("/so1/api/jobs/actions", &other).await.problem_at(400, "malformed", "#/filter/lifecycle");
        let unknown = json!({ "action": "cancel", "filter": { "status": "x", "state": "y" } });
        server.post("/engine/jobs/actions", &unknown).await.problem_at(400, "malformed", "#/filter/state");
    });
}

#[test]
fn numbers_are_passed_on_unchanged() {
    with_lifecycle_apis(async |server| {
        let numbers = r#"{"big":123456789012345678901234567890,"exact":0.10000,"huge":1e300,"id":1.0}"#;
        for (mount, names, parts) in [
            ("/so1/api/jobs", ("action", "input"), "workflow"),
            ("/jobs", ("job_type", "parameters"), "export"),
        ] {
            let body = format!(r#"{{"{}":"{parts}","{}":{numbers}}}"#, names.0, names.1);
            let reply = server.post_text(mount, body).await;
            assert_eq!(reply.status, 202, "{}", reply.text);
            assert!(reply.text.contains(&format!("\"{}\":{numbers}", names.1)), "{}", reply.text);
            assert!(server.get(mount).await.text.contains(numbers), "{mount}");
        }
    });
}
