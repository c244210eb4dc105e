//! Doors: what `/api/jobs` does, below a lifecycle's own mount and in its own words, on both stores.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_e2e::{
    Server, Setup, Store, assert_fields, field_names, on_both_stores_with_files, rows, sorted_words,
};

use crate::jobs::{JOB, REVIEW};

/// A type for each lifecycle; nothing runs out while a test is slow.
const CONFIG: &str = include_str!("fixtures/lifecycle_api.toml");

/// A door with names for parts of nearly everything.
const API: &str = include_str!("fixtures/lifecycle_api_mount.toml");

/// Mount, and the name of the id there.
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

/// What a new job of a door's own type is, in its words.
fn new_job(mount: &str) -> Value {
    match mount {
        "/engine/jobs" => json!({ "jobType": "scene", "userId": "u1", "payload": { "n": 1 } }),
        "/so1/api/jobs" => json!({ "action": "workflow", "user_id": "u1", "input": { "n": 1 } }),
        "/jobs" => json!({ "job_type": "export", "user_id": "u1", "parameters": { "n": 1 } }),
        "/image/jobs" => json!({ "type": "picture", "userId": "u1", "request": { "prompt": "a tree" } }),
        _ => json!({ "type": "draft", "user_id": "u1", "text": "a draft", "words": 300 }),
    }
}

/// Claims the one job that waits, and starts it. Claims are canonical everywhere.
async fn take(server: &Server) -> (String, Value) {
    let job = server.claim_one().await;
    (job["id"].as_str().unwrap().to_owned(), job["lease"]["fence"].clone())
}

/// The members of a job at a door: the canonical ones, with these taken out and those put in.
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
        let place = reply.header("location").unwrap().to_owned();
        let job = reply.expect(202);
        let id = job["jobId"].as_str().unwrap().to_owned();
        assert_eq!(place, format!("/engine/jobs/{id}"));
        assert_members(
            &job,
            "id user_id type state worker retry_count created_at started_at completed_at duration_ms",
            "jobId userId jobType status engineId retryCount submittedAt queuedAt dispatchedAt startedAt completedAt \
             failedAt duration",
        );
        assert_eq!((&job["status"], &job["jobType"]), (&json!("queued"), &json!("scene")));
        assert_eq!(job["queuedAt"], job["entered"]["queued"]);
        assert_eq!((&job["dispatchedAt"], &job["error"]), (&Value::Null, &Value::Null));
        assert_eq!(server.read(&place).await, job);

        let (_, fence) = take(&server).await;
        let report = json!({ "engineId": "w1", "fence": fence });
        let heard = server.post(&format!("{place}/heartbeat"), &report).await.expect(200);
        assert_eq!(heard["lease"]["fence"], fence);
        let progress = json!({ "engineId": "w1", "fence": fence, "progress": 40 });
        let running = server.post(&format!("{place}/progress"), &progress).await.expect(200);
        assert_fields(&running, json!({ "status": "running", "progress": 40 }));
        // The old name of the state finds it, and its own does.
        for state in ["started", "running"] {
            let found = server.read(&format!("/engine/jobs?status={state}&engineId=w1")).await;
            assert_eq!(found["jobs"][0]["jobId"], id, "{state}");
        }
        let failing =
            json!({ "engineId": "w1", "fence": fence, "error": "BAD_ASSET: corrupted_texture.png" });
        let failed = server.post(&format!("{place}/fail"), &failing).await.expect(200);
        assert_eq!(failed["error"], "BAD_ASSET: corrupted_texture.png");
        assert_eq!(failed["failedAt"], failed["entered"]["failed"]);
        assert!(failed["duration"].is_number() && failed["dispatchedAt"].is_string(), "{failed}");
        let canonical = server.read(&format!("/api/jobs/{id}")).await;
        assert_eq!((&canonical["id"], &canonical["error"]["code"]), (&json!(id), &json!("BAD_ASSET")));
        let events = server.read(&format!("{place}/events")).await;
        assert_eq!(events["events"][0]["type"], "JOB_QUEUED");
        let first = server.read(&format!("{place}/replay?seq=1")).await;
        assert_fields(&first, json!({ "jobId": id, "status": "queued" }));
        let why = server.read(&format!("{place}/explain")).await;
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
        let place = format!("/so1/api/jobs/{id}");
        let stream = server.stream(&format!("{place}/stream"), None).await;
        let lines = json!({ "worker": "w1", "fence": fence, "lines": [{ "text": "one" }] });
        server.post(&format!("{place}/logs"), &lines).await.expect(200);
        let done = json!({ "worker": "w1", "fence": fence, "output": { "run": 7 } });
        let job = server.post(&format!("{place}/succeed"), &done).await.expect(200);
        assert_fields(&job, json!({ "state": "success", "output": { "run": 7 } }));
        let heard = stream.rest().await;
        assert_eq!(heard.iter().map(|it| it.event.as_str()).collect::<Vec<_>>(), ["log", "status"]);
        assert_eq!(heard[1].data["state"], "success");
        assert_eq!(heard[1].data["output"], json!({ "run": 7 }));
        let lines = server.read(&format!("{place}/logs?after=0")).await;
        assert_eq!(lines["lines"][0]["text"], "one");
        let over =
            server.request("GET", &format!("{place}/stream")).header("last-event-id", "final").send().await;
        assert_eq!(over.status, 204);

        let reply = server.post(&format!("{place}/retry"), &json!({})).await;
        let again = reply.header("location").unwrap().to_owned();
        let retried = reply.expect(202);
        assert_eq!(again, format!("/so1/api/jobs/{}", retried["id"].as_str().unwrap()));
        assert_fields(&retried, json!({ "retry_of": id, "input": { "ref": "main" } }));
        let cancelled = server.post(&format!("{again}/cancel"), &json!({ "reason": "no" })).await.expect(200);
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
        let reply = server.request("POST", "/jobs/").idempotent("once").json(&asked).send().await;
        assert!(reply.header("location").is_some_and(|place| place.starts_with("/jobs/")));
        let job = reply.expect(202);
        assert_members(&job, "type state payload", "job_type status parameters error_message");
        let again = server.request("POST", "/jobs").idempotent("once").json(&asked).send().await;
        assert_eq!(again.expect_replay()["id"], job["id"]);
        let other = json!({ "job_type": "export", "parameters": { "n": 2 } });
        let other = server.request("POST", "/jobs/").idempotent("once").json(&other).send().await;
        other.problem(422, "idempotency_mismatch");

        let (id, fence) = take(&server).await;
        let report =
            json!({ "worker": "w1", "fence": fence, "result": [1], "error_message": "HALF: one of two" });
        let job = server.post(&format!("/jobs/{id}/partial/"), &report).await.expect(200);
        assert_fields(&job, json!({ "status": "partial", "error_message": "HALF: one of two" }));
        assert_eq!(job["error"]["code"], "HALF");
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
        let done =
            json!({ "worker": "w1", "fence": fence, "result": { "url": "https://a.example/1.png", "n": 1 } });
        let job = server.post(&format!("/image/jobs/{id}/succeed"), &done).await.expect(200);
        assert_eq!(job["resultUrl"], "https://a.example/1.png");
        assert_eq!(job["result"]["n"], 1);

        let asked = json!({ "type": "picture", "userId": "u2", "request": { "prompt": 5 } });
        let refused = server.post("/image/jobs", &asked).await.problem(422, "validation_failed");
        assert_eq!(refused["errors"][0]["pointer"], "#/request/prompt");
        assert!(refused["detail"].as_str().unwrap().contains("#/request/prompt"), "{refused}");
        let heavy = json!({ "type": "picture", "request": { "prompt": "x".repeat(1 << 20) } });
        let heavy = server.post("/image/jobs", &heavy).await.problem(413, "too_large");
        assert!(heavy["detail"].as_str().unwrap().starts_with("request is larger than"), "{heavy}");
        let blocked =
            server.post("/image/jobs", &json!({ "type": "picture", "request": { "prompt": "b" } })).await;
        let id = blocked.expect(202)["jobId"].as_str().unwrap().to_owned();
        let rejected = server.post(&format!("/image/jobs/{id}/reject"), &json!({ "reason": "nsfw" })).await;
        assert_eq!(rejected.expect(200)["status"], "rejected");
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
        let place = format!("/reviews/{id}");
        assert_eq!(server.read(&place).await["token"], fence);
        let both = json!({ "worker": "w1", "fence": fence, "url": "u", "result": { "url": "v" } });
        let both = server.post(&format!("{place}/succeed"), &both).await.problem(400, "malformed");
        assert_eq!(both["errors"][0]["pointer"], "#/url");
        let done = json!({ "worker": "w1", "fence": fence, "url": "u" });
        let job = server.post(&format!("{place}/succeed"), &done).await.expect(200);
        assert_fields(&job, json!({ "result": { "url": "u" }, "url": "u" }));
        assert!(job["status"] == "in_review" && job["submittedAt"].is_string());
        let signal =
            server.post(&format!("{place}/signals/approve"), &json!({ "payload": { "by": "ann" } })).await;
        assert_eq!(signal.expect(200)["status"], "published");
        let none = server.post(&format!("{place}/signals/approve"), &json!({})).await;
        assert_eq!(none.problem(409, "invalid_transition")["current_state"], "published");
        let by_alias = server.read("/reviews?status=done&process=review").await;
        assert_eq!(by_alias["jobs"][0]["reviewId"], id.as_str());
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
        assert!(
            detail.starts_with("#/type: unknown field `type`, expected one of `action`, `input`"),
            "{detail}"
        );
        let (pointer, detail) = refused("/so1/api/jobs", json!({ "input": {} })).await;
        assert_eq!((pointer.as_str(), detail.as_str()), ("#/action", "#/action: missing field `action`"));
        for (sent, body) in [
            ("payload", json!({ "action": "workflow", "payload": {} })),
            ("nothing", json!({ "action": "workflow", "nothing": 1 })),
            ("createdAt", json!({ "action": "workflow", "createdAt": "now" })),
            ("created_at", json!({ "action": "workflow", "created_at": "now" })),
        ] {
            assert_eq!(refused("/so1/api/jobs", body).await.0, format!("#/{sent}"));
        }
        for sent in ["queuedAt", "state", "status", "user_id"] {
            let mut body = new_job("/engine/jobs");
            body[sent] = json!("x");
            assert_eq!(refused("/engine/jobs", body).await.0, format!("#/{sent}"));
        }
        assert_eq!(refused("/engine/jobs", json!({ "jobType": 5 })).await.0, "#/jobType");
        assert_eq!(
            refused("/reviews", json!({ "type": "draft", "payload": {}, "text": "a" })).await.0,
            "#/text"
        );
        for (path, pointer) in [
            ("/engine/jobs?state=queued", "?state"),
            ("/engine/jobs?status=", "?status"),
            ("/engine/jobs?lifecycle=so1", "?lifecycle"),
            ("/reviews?process=so1", "?process"),
            ("/reviews?lifecycle=review", "?lifecycle"),
            ("/engine/jobs?limit=1000", "?limit"),
        ] {
            let problem = server.get(path).await.problem(400, "malformed");
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{path}");
        }
        // What cannot be read at all is told as it was sent.
        let twice = server.request("POST", "/so1/api/jobs").header("content-type", "application/json");
        let twice = twice.bytes(r#"{"input":{"type":1,"type":2}}"#).send().await.problem(400, "malformed");
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
        let results = server.post("/so1/api/jobs/batch", &jobs).await.expect(200)["results"].take();
        assert_eq!(
            (&results[0]["ok"]["action"], &results[0]["ok"]["input"]["n"]),
            (&json!("workflow"), &json!(1))
        );
        assert_eq!(results[1]["error"]["errors"][0]["pointer"], "#/type");
        assert_eq!(results[1]["error"]["instance"], "/so1/api/jobs/batch");
        assert_eq!(results[2]["error"]["code"], "unknown_type");
        assert_eq!(results[2]["error"]["errors"][0]["pointer"], "#/action");
        assert_eq!(results[3]["ok"]["lifecycle"], "so1", "the catch-all follows the door");
        assert_eq!(results[4]["error"]["code"], "malformed");

        // An action touches jobs of the door's own lifecycle alone.
        server.create(json!({ "type": "index" })).await;
        let act = json!({ "action": "cancel", "filter": { "state": "pending", "lifecycle": null } });
        let done = server.post("/so1/api/jobs/actions", &act).await.expect(200);
        assert_eq!(done["matched"], 2);
        assert!(rows(&done["results"]).iter().all(|it| it["ok"]["action"].is_string()), "{done}");
        let all = json!({ "action": "cancel", "filter": {} });
        assert_eq!(server.post("/jobs/actions", &all).await.expect(200)["matched"], 0);
        let other = json!({ "action": "cancel", "filter": { "lifecycle": "distributed" } });
        let other = server.post("/so1/api/jobs/actions", &other).await.problem(400, "malformed");
        assert_eq!(other["errors"][0]["pointer"], "#/filter/lifecycle");
        let unknown = json!({ "action": "cancel", "filter": { "status": "x", "state": "y" } });
        let unknown = server.post("/engine/jobs/actions", &unknown).await.problem(400, "malformed");
        assert_eq!(unknown["errors"][0]["pointer"], "#/filter/state");
    });
}

#[test]
fn a_lifecycle_api_has_only_jobs_and_types_of_its_lifecycle() {
    with_lifecycle_apis(async |server| {
        let mut made = Vec::new();
        for (mount, id) in MOUNTS {
            let job = server.post(mount, &new_job(mount)).await.expect(202);
            made.push(job[id].as_str().unwrap().to_owned());
        }
        for (nth, (mount, id)) in MOUNTS.iter().enumerate() {
            let jobs = server.read(mount).await["jobs"].take();
            assert_eq!(rows(&jobs).len(), 1, "{mount}");
            assert_eq!(jobs[0][*id], made[nth].as_str(), "{mount}");
            let other = &made[(nth + 1) % made.len()];
            for call in ["", "/events", "/explain", "/stream", "/logs"] {
                server.get(&format!("{mount}/{other}{call}")).await.problem(404, "not_found");
            }
            for call in ["cancel", "retry", "succeed", "signals/x"] {
                let body = json!({ "worker": "w1", "fence": 1 });
                server.post(&format!("{mount}/{other}/{call}"), &body).await.problem(404, "not_found");
            }
            server
                .get(&format!("{mount}/01990c3a-7d2e-7000-8000-000000000000"))
                .await
                .problem(404, "not_found");
            server.get(&format!("{mount}/x")).await.problem(400, "malformed");
        }
        let foreign = server.post("/engine/jobs", &json!({ "jobType": "index" })).await;
        let foreign = foreign.problem(422, "unknown_type");
        assert_eq!(foreign["errors"][0]["pointer"], "#/jobType");
        assert!(
            foreign["detail"].as_str().unwrap().contains("which knows scene and every type"),
            "{foreign}"
        );
        let named = server.post("/engine/jobs", &json!({ "jobType": "x", "lifecycle": "so1" })).await;
        assert_eq!(named.problem(422, "validation_failed")["errors"][0]["pointer"], "#/lifecycle");
        // One key, two lifecycles: not one job.
        let at_api = server.request("POST", "/api/jobs").idempotent("k").json(&json!({ "type": "y" }));
        at_api.send().await.expect(202);
        let here = server.request("POST", "/so1/api/jobs").idempotent("k").json(&json!({ "action": "y" }));
        here.send().await.problem(422, "idempotency_mismatch");
        let free =
            server.post("/engine/jobs", &json!({ "jobType": "x", "lifecycle": "engine" })).await.expect(202);
        assert_eq!(free["lifecycle"], "engine");
    });
}

#[test]
fn rights_and_methods_are_the_same_as_under_api() {
    with_lifecycle_apis(async |mut server| {
        let job = server.post("/engine/jobs", &new_job("/engine/jobs")).await.expect(202);
        let place = format!("/engine/jobs/{}", job["jobId"].as_str().unwrap());
        let key = async |server: &Server, body: Value| {
            let made = server.post("/api/keys", &body).await.expect(201);
            made["key"].as_str().unwrap().to_owned()
        };
        let admin = key(&server, json!({ "role": "admin" })).await;
        server.get(&place).await.problem(401, "unauthenticated");
        server.get("/engine/jobs").await.problem(401, "unauthenticated");
        server.post("/engine/jobs", &json!({ "nonsense": 1 })).await.problem(401, "unauthenticated");
        server.get("/engine/jobs/a/b/c").await.problem(404, "not_found");
        server.get("/engine/job").await.problem(404, "not_found");
        server.get("/engine/jobsx").await.problem(404, "not_found");
        server.use_key(Some(&admin));
        let mine = key(&server, json!({ "role": "producer", "user_id": "u1" })).await;
        let other = key(&server, json!({ "role": "producer", "user_id": "u2" })).await;
        let viewer = key(&server, json!({ "role": "viewer" })).await;
        let own = server.request("GET", &place).key(&mine).send().await.expect(200);
        assert_eq!(own["userId"], "u1");
        server.request("GET", &place).key(&other).send().await.problem(403, "forbidden");
        let listed = server.request("GET", "/engine/jobs").key(&other).send().await.expect(200);
        assert_eq!(listed["jobs"], json!([]));
        let asked = server.request("POST", "/engine/jobs").key(&viewer).json(&json!({ "jobType": "scene" }));
        asked.send().await.problem(403, "forbidden");
        let made = server.request("POST", "/engine/jobs").key(&other).json(&json!({ "jobType": "scene" }));
        assert_eq!(made.send().await.expect(202)["userId"], "u2");

        let wrong = server.request("PATCH", &place).send().await;
        assert!(wrong.header("allow").is_some_and(|allow| allow.contains("GET")));
        let detail = wrong.problem(405, "method_not_allowed")["detail"].take();
        assert_eq!(detail, format!("{place} does not support PATCH"));
        let nowhere = server.get(&format!("{place}/nowhere")).await.problem(404, "not_found");
        assert_eq!(nowhere["detail"], format!("there is nothing at {place}/nowhere"));
        let head = server.request("HEAD", &place).send().await;
        let whole = server.get(&place).await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        assert_eq!(head.header("content-length"), Some(whole.text.len().to_string().as_str()));
        let large = json!({ "jobType": "scene", "payload": "x".repeat(17 << 20) });
        let large = server.request("POST", "/engine/jobs").json(&large).try_send().await;
        // The server may hang up before everything was sent.
        if let Ok(large) = large {
            large.problem(413, "too_large");
        }
    });
}

#[test]
fn an_asset_is_downloaded_under_the_path_of_its_lifecycle_api() {
    with_lifecycle_apis(async |server| {
        for (mount, id) in MOUNTS {
            let job = server.post(mount, &new_job(mount)).await.expect(202);
            let id = job[id].as_str().unwrap();
            let assets = format!("{mount}/{id}/assets");
            let upload = format!("{assets}?asset_type=picture&name=a.png");
            let reply = server.request("POST", &upload).idempotent("k").bytes("0123").send().await;
            let place = reply.header("location").unwrap().to_owned();
            let asset = reply.expect(201);
            assert_eq!(place, format!("{assets}/{}", asset["id"].as_str().unwrap()));
            assert_eq!(asset["url"], format!("{place}/content"));
            // What it contains is never read as an answer of ours.
            let url = asset["url"].as_str().unwrap();
            let got = server.get(url).await;
            assert_eq!(
                (got.status, got.text.as_str(), got.header("content-length")),
                (200, "0123", Some("4"))
            );
            let part = server.request("GET", url).header("range", "bytes=1-2").send().await;
            assert_eq!((part.status, part.text.as_str()), (206, "12"));
            let again = server.request("POST", &upload).idempotent("k").bytes("0123").send().await;
            assert_eq!(again.expect(200), asset);
            let elsewhere = json!({ "asset_type": "video", "url": "https://example.org/api/jobs/v" });
            let elsewhere = server.post(&assets, &elsewhere).await.expect(201);
            assert_eq!(elsewhere["url"], "https://example.org/api/jobs/v");
            assert_eq!(server.read(&place).await, asset);
            let page = server.read(&assets).await;
            assert_eq!(page, json!({ "assets": [elsewhere, asset], "next_cursor": null }));
            // The same asset, as it is told elsewhere: only the way to it is the door's.
            let mut canonical = server.read(&place.replace(mount, "/api/jobs")).await;
            assert_eq!(canonical["url"], url.replace(mount, "/api/jobs"));
            canonical["url"] = url.into();
            assert_eq!(canonical, asset);
        }
    });
}

#[test]
fn an_engine_uploads_with_its_field_names() {
    with_lifecycle_apis(async |server| {
        server.post("/engine/jobs", &new_job("/engine/jobs")).await.expect(202);
        let (id, fence) = take(&server).await;
        let as_engine = format!("asset_type=t&engineId=w1&fence={fence}");
        let assets = format!("/engine/jobs/{id}/assets");
        let contents = r#"{ "url": "/api/jobs/x", "assets": [] }"#;
        let upload = server.request("POST", &format!("{assets}?{as_engine}")).bytes(contents).send().await;
        let asset = upload.expect(201);
        assert_eq!(server.get(asset["url"].as_str().unwrap()).await.text, contents, "as it came");
        let canonical = format!("{assets}?asset_type=t&worker=w1&fence={fence}");
        server.request("POST", &canonical).bytes("x").send().await.problem(400, "malformed");
    });
}

#[test]
fn numbers_are_passed_on_unchanged() {
    with_lifecycle_apis(async |server| {
        let numbers = r#"{"big":123456789012345678901234567890,"exact":0.10000,"huge":1e400,"id":1.0}"#;
        for (mount, names, parts) in [
            ("/so1/api/jobs", ("action", "input"), "workflow"),
            ("/jobs", ("job_type", "parameters"), "export"),
        ] {
            let body = format!(r#"{{"{}":"{parts}","{}":{numbers}}}"#, names.0, names.1);
            let sent = server.request("POST", mount).header("content-type", "application/json").bytes(body);
            let reply = sent.send().await;
            assert_eq!(reply.status, 202, "{}", reply.text);
            assert!(reply.text.contains(&format!("\"{}\":{numbers}", names.1)), "{}", reply.text);
            assert!(server.get(mount).await.text.contains(numbers), "{mount}");
        }
    });
}

#[test]
fn a_lifecycle_api_honours_minimal_answers() {
    with_lifecycle_apis(async |server| {
        for (mount, id) in MOUNTS {
            let ask = |path: &str, body: &Value| {
                server.request("POST", path).header("prefer", "return=minimal").json(body)
            };
            let reply = ask(mount, &new_job(mount)).send().await;
            assert_eq!(reply.header("preference-applied"), Some("return=minimal"), "{mount}");
            let place = reply.header("location").unwrap().to_owned();
            let job = reply.expect(202);
            assert_eq!(job, json!({ (id): job[id] }), "{mount}");
            assert_eq!(place, format!("{mount}/{}", job[id].as_str().unwrap()));
            if mount == "/so1/api/jobs" {
                let reply = ask(&format!("{place}/cancel"), &json!({})).send().await;
                assert_eq!((reply.status, reply.text.as_str()), (204, ""), "{mount}");
                assert_eq!(server.read(&place).await["state"], json!("cancelled"), "{mount}");
            }
        }
    });
}

#[test]
fn mounted_lifecycle_apis_are_described() {
    with_lifecycle_apis(async |server| {
        let told = server.read("/openapi.json").await;
        let canonical: Value =
            serde_json::from_str(include_str!("../../../../crates/server/src/openapi.json")).unwrap();
        let below = |whole: &Value, mount: &str| -> BTreeSet<String> {
            let paths = whole["paths"].as_object().unwrap().iter();
            let paths = paths.filter_map(|(path, item)| {
                let rest =
                    path.strip_prefix(mount).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
                Some(item.as_object().unwrap().keys().map(move |method| format!("{method} {rest}")))
            });
            paths.flatten().collect()
        };
        let all = below(&canonical, "/api/jobs");
        for (mount, id) in MOUNTS {
            assert_eq!(below(&told, mount), all, "{mount}");
            let job = server.post(mount, &new_job(mount)).await.expect(202);
            let schema =
                told["paths"][mount]["post"]["responses"]["202"]["content"]["application/json"].clone();
            let place = schema["schema"]["anyOf"][0]["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
            let schema = told.pointer(place).unwrap();
            let mut required: Vec<&str> =
                rows(&schema["required"]).iter().map(|it| it.as_str().unwrap()).collect();
            required.sort_unstable();
            assert_eq!(required, field_names(&job), "{mount}");
            assert_eq!(required, field_names(&schema["properties"]), "{mount}");
            let asked = told["paths"][mount]["post"]["requestBody"]["content"]["application/json"].clone();
            let place = asked["schema"]["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
            let fields = told.pointer(place).unwrap()["properties"].as_object().unwrap();
            for name in new_job(mount).as_object().unwrap().keys() {
                assert!(fields.contains_key(name), "{mount}: {name}");
            }
            let asset = &told["paths"][format!("{mount}/{{id}}/assets/{{asset}}")]["get"]["responses"]["200"];
            let url = asset["content"]["application/json"]["example"]["url"].as_str().unwrap();
            assert!(url.starts_with(&format!("{mount}/")), "{url}");
            let path = format!("{mount}/{}", job[id].as_str().unwrap());
            server.request("OPTIONS", &path).send().await.problem(405, "method_not_allowed");
        }
        let filters = rows(&told["paths"]["/engine/jobs"]["get"]["parameters"]);
        assert!(filters.iter().any(|filter| filter["name"] == "engineId"), "{filters:?}");
    });
}

#[tokio::test]
async fn a_duplicate_mount_is_refused_at_start() {
    for mount in ["/jobs", "/so1/api/jobs/batch"] {
        let door = format!("{REVIEW}\n[api]\nmount = \"{mount}\"\n");
        let setup = Setup::new(Store::Sqlite).await.config("lifecycles = [\"review.toml\"]\n");
        let told = setup.file("review.toml", door).command("127.0.0.1:0").output().unwrap();
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(!told.status.success(), "{said}");
        assert!(said.contains(&format!("the door of lifecycle review cannot be at {mount}")), "{said}");
        assert!(said.contains("review.toml"), "{said}");
    }
}
