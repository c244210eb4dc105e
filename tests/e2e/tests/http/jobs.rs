//! The calls on jobs: each row of the table, on both stores.

use serde_json::{Value, json};
use tenure_e2e::{
    Server, assert_fields, column, field_names, on_both_stores, on_both_stores_with_config,
    on_both_stores_with_files, path, rows, sorted_words,
};

/// Every member of a job.
pub(crate) const JOB: &str = "id lifecycle lifecycle_version type queue user_id state phase outcome seq attempt \
     retry_count max_attempts priority progress progress_message payload result error checkpoint worker lease \
     cancel_requested correlation_id trace_id idempotency_key retry_of run_at created_at updated_at claimed_at \
     started_at completed_at entered duration_ms run_ms";

/// Every member of an event.
pub(crate) const EVENT: &str =
    "id job_id seq type trigger from to attempt ts actor cause correlation_id trace_id payload version";

/// A lifecycle with a manual review.
pub(crate) const REVIEW: &str = include_str!("fixtures/review.toml");

/// The files of a server with that lifecycle.
pub(crate) const REVIEW_FILES: &[(&str, &str)] =
    &[("tenure.toml", include_str!("fixtures/with_review.toml")), ("review.toml", REVIEW)];

const NOBODY: &str = "01990c3a-7d2e-7000-8000-000000000000";

/// Whether it is a time as the protocol writes them: RFC 3339, UTC, milliseconds.
fn is_time(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() == 24 && text.ends_with('Z') && text.as_bytes()[19] == b'.')
}

#[test]
fn a_new_job_is_returned_whole_with_its_location() {
    on_both_stores(async |server| {
        let reply = server.post("/api/jobs", &json!({ "type": "index" })).await;
        let place = reply.header("location").expect("a new job has a place").to_owned();
        assert_eq!(reply.header("idempotent-replayed"), None);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let job = reply.expect(202);
        assert_eq!(field_names(&job), sorted_words(JOB));
        assert_eq!(place, path(&job, ""));
        assert_eq!(server.read(&place).await, job);
        let plain = json!({
            "lifecycle": "distributed", "lifecycle_version": 1, "type": "index", "queue": "default", "user_id": null,
            "state": "queued", "phase": "ready", "outcome": null, "seq": 1, "attempt": 1, "retry_count": 0,
            "max_attempts": 5, "priority": 0, "progress_message": null, "payload": {}, "result": null, "error": null,
            "checkpoint": null, "worker": null, "lease": null, "cancel_requested": null, "idempotency_key": null,
            "retry_of": null, "claimed_at": null, "started_at": null, "completed_at": null, "duration_ms": null,
            "run_ms": null,
        });
        for (member, value) in plain.as_object().unwrap() {
            assert_eq!(&job[member], value, "{member}");
        }
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
        for (member, value) in asked.as_object().unwrap() {
            assert_eq!(&job[member], value, "{member}");
        }
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
        let ask = async |body: &Value| {
            server.request("POST", "/api/jobs").idempotent("key 1").json(body).send().await
        };
        let first = ask(&body).await.expect(202);
        assert_eq!(first["idempotency_key"], "key 1");
        let again = ask(&body).await;
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.header("location"), Some(path(&first, "").as_str()));
        let again = again.expect(200);
        assert_fields(&again, json!({ "id": first["id"], "replayed": true }));
        let other = ask(&json!({ "type": "a", "user_id": "u1", "payload": { "n": 2 } })).await;
        let problem = other.problem(422, "idempotency_mismatch");
        assert!(problem["errors"].is_array());
        // The key belongs to the user and the type.
        ask(&json!({ "type": "a", "user_id": "u2", "payload": { "n": 1 } })).await.expect(202);
        ask(&json!({ "type": "b", "user_id": "u1", "payload": { "n": 1 } })).await.expect(202);
        assert_eq!(server.get("/api/jobs").await.body["jobs"].as_array().unwrap().len(), 3);
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
        let problem =
            server.post("/api/jobs", &json!({ "type": "other" })).await.problem(422, "unknown_type");
        assert_eq!(problem["errors"][0]["pointer"], "#/type");
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
        let items =
            json!({ "jobs": [{ "type": "a" }, { "tipe": "b" }, 7, { "type": "c", "user_id": "u1" }] });
        let answer = server.post("/api/jobs/batch", &items).await.expect(200);
        assert_eq!(field_names(&answer), ["results"]);
        let results = rows(&answer["results"]);
        assert_eq!(results.len(), 4);
        assert_eq!((&results[0]["ok"]["type"], &results[3]["ok"]["user_id"]), (&json!("a"), &json!("u1")));
        assert_eq!(field_names(&results[0]["ok"]), sorted_words(JOB));
        for bad in [&results[1], &results[2]] {
            assert_eq!(field_names(bad), ["error"]);
            assert_eq!((&bad["error"]["code"], &bad["error"]["status"]), (&json!("malformed"), &json!(400)));
            assert_eq!(bad["error"]["type"], "/problems/malformed");
        }
        let listed = server.read("/api/jobs").await;
        assert_eq!(column(&listed["jobs"], "type"), ["c", "a"]);
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
        let many = json!({ "jobs": vec![json!({ "type": "a" }); 10_000] });
        let answer = server.post("/api/jobs/batch", &many).await.expect(200);
        let results = rows(&answer["results"]);
        assert_eq!(results.iter().filter(|result| result["ok"]["state"] == "queued").count(), 10_000);
    });
}

#[test]
fn each_filter_of_the_list_selects_its_jobs() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let done = server.create_finished(json!({ "type": "a", "user_id": "u1" })).await;
        let again = server.call(&done, "retry", &json!({})).await.expect(202);
        server.call(&again, "cancel", &json!({})).await.expect(200);
        server.create(json!({ "type": "held", "correlation_id": "c-9" })).await;
        let held = server.claim(json!({ "worker": "w2", "max": 1 })).await.remove(0);
        let night = server.create(json!({ "type": "b", "queue": "night" })).await;
        let review = server.create(json!({ "type": "review" })).await;
        let listed = async |query: &str| {
            let page = server.read(&format!("/api/jobs?{query}")).await;
            column(&page["jobs"], "id")
        };
        let id = |job: &Value| job["id"].clone();
        let all = [id(&review), id(&night), id(&held), id(&again), id(&done)];
        assert_eq!(listed("").await, all);
        assert_eq!(listed("state=queued").await, [id(&review), id(&night)]);
        assert_eq!(listed("phase=held").await, [id(&held)]);
        assert_eq!(listed("phase=final").await, [id(&again), id(&done)]);
        assert_eq!(listed("outcome=cancelled").await, [id(&again)]);
        assert_eq!(listed("outcome=succeeded").await, [id(&done)]);
        assert_eq!(listed("lifecycle=review").await, [id(&review)]);
        assert_eq!(listed("type=a").await, [id(&again), id(&done)]);
        assert_eq!(listed("queue=night").await, [id(&night)]);
        assert_eq!(listed("user_id=u1").await, [id(&again), id(&done)]);
        assert_eq!(listed("worker=w2").await, [id(&held)]);
        assert_eq!(listed("correlation_id=c-9").await, [id(&held)]);
        assert_eq!(listed(&format!("retry_of={}", done["id"].as_str().unwrap())).await, [id(&again)]);
        let since = held["created_at"].as_str().unwrap();
        let after = listed(&format!("created_after={since}")).await;
        let before = listed(&format!("created_before={since}")).await;
        assert!(after.contains(&id(&review)) && before.contains(&id(&done)), "{after:?} {before:?}");
        assert!(!after.contains(&id(&done)) || done["created_at"] == held["created_at"]);
        assert_eq!(listed("type=a&outcome=succeeded&user_id=u1").await, [id(&done)]);
        assert_eq!(listed("type=nothing").await, Vec::<Value>::new());
        for bad in [
            "limit=501",
            "limit=0",
            "limit=x",
            "cursor=x",
            "phase=x",
            "outcome=x",
            "colour=red",
            "state=a&state=b",
        ] {
            let problem = server.get(&format!("/api/jobs?{bad}")).await.problem(400, "malformed");
            assert!(problem["errors"][0]["pointer"].is_string(), "{bad}");
        }
    });
}

#[test]
fn pages_of_the_list_have_no_gaps_and_no_duplicates() {
    on_both_stores(async |server| {
        let many = json!({ "jobs": vec![json!({ "type": "a" }); 45] });
        let made = server.post("/api/jobs/batch", &many).await.expect(200);
        let mut made: Vec<Value> =
            column(&made["results"], "ok").iter().map(|job| job["id"].clone()).collect();
        let first = server.read("/api/jobs").await;
        assert_eq!(rows(&first["jobs"]).len(), 20);
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.read(&format!("/api/jobs?limit=7{cursor}")).await;
            seen.extend(column(&page["jobs"], "id"));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
            // What comes meanwhile is newer than every page to come.
            server.create(json!({ "type": "b" })).await;
        }
        made.reverse();
        made.sort_by_key(|id| std::cmp::Reverse(id.to_string()));
        assert_eq!(seen, made);
    });
}

#[test]
fn an_unknown_job_is_not_found_and_an_invalid_id_is_malformed() {
    on_both_stores(async |server| {
        for call in ["", "/events", "/replay", "/explain", "/stream", "/logs"] {
            server.get(&format!("/api/jobs/{NOBODY}{call}")).await.problem(404, "not_found");
            server.get(&format!("/api/jobs/nobody{call}")).await.problem(400, "malformed");
        }
        let hold = json!({ "worker": "w", "fence": 1 });
        let bodies = [
            ("cancel", json!({})),
            ("retry", json!({})),
            ("dead-letter", json!({ "reason_code": "timeout", "detail": "" })),
            ("signals/go", json!({})),
            ("logs", json!({ "lines": [{ "text": "x" }] })),
            ("start", hold.clone()),
            ("heartbeat", hold.clone()),
            ("progress", json!({ "worker": "w", "fence": 1, "progress": 1 })),
            ("succeed", hold.clone()),
            ("partial", hold.clone()),
            ("fail", json!({ "worker": "w", "fence": 1, "error": {} })),
            ("reject", json!({ "worker": "w", "fence": 1, "reason": "" })),
            ("release", hold.clone()),
            ("cancel-confirm", hold.clone()),
        ];
        for (call, body) in bodies {
            server.post(&format!("/api/jobs/{NOBODY}/{call}"), &body).await.problem(404, "not_found");
            server.post(&format!("/api/jobs/nobody/{call}"), &body).await.problem(400, "malformed");
        }
    });
}

#[test]
fn events_are_numbered_and_include_telemetry_on_request() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a", "correlation_id": "c-1" })).await;
        let taken = server.claim_one().await;
        server.report(&taken, "heartbeat", json!({})).await.expect(200);
        server.report(&taken, "progress", json!({ "progress": 40, "message": "far" })).await.expect(200);
        server.report(&taken, "succeed", json!({ "result": { "n": 1 } })).await.expect(200);
        let page = server.read(&path(&job, "events")).await;
        assert_eq!(field_names(&page), ["events", "next_cursor"]);
        let events = rows(&page["events"]);
        assert_eq!(column(&page["events"], "seq"), [1, 2, 3, 4]);
        assert_eq!(
            column(&page["events"], "type"),
            ["job_queued", "job_claimed", "job_started", "job_succeeded"]
        );
        assert_eq!(column(&page["events"], "trigger"), ["create", "claim", "start", "succeed"]);
        assert_eq!(column(&page["events"], "to"), ["queued", "assigned", "running", "succeeded"]);
        assert_eq!(events[0]["from"], Value::Null);
        assert_fields(&events[3], json!({ "from": "running", "actor": "worker:w1" }));
        for event in events {
            assert_eq!(field_names(event), sorted_words(EVENT));
            let same =
                [("job_id", &job["id"]), ("correlation_id", &json!("c-1")), ("trace_id", &job["trace_id"])];
            assert!(same.iter().all(|(member, value)| event[member] == **value), "{event}");
            assert_fields(&event, json!({ "attempt": 1, "version": 1 }));
            assert!(is_time(&event["ts"]) && event["payload"].is_object(), "{event}");
        }
        let page = server.read(&path(&job, "events?telemetry=true")).await;
        let rows = rows(&page["events"]);
        assert!(rows.iter().all(|row| field_names(row) == sorted_words(EVENT)));
        let kinds = column(&page["events"], "type");
        assert!(
            kinds.contains(&json!("job_heartbeat")) && kinds.contains(&json!("job_progress")),
            "{kinds:?}"
        );
        let times: Vec<&str> = rows.iter().map(|row| row["ts"].as_str().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
        let ids: std::collections::BTreeSet<String> = rows.iter().map(|row| row["id"].to_string()).collect();
        assert_eq!(ids.len(), rows.len(), "each line has an id of its own");
        server.get(&path(&job, "events?telemetry=perhaps")).await.problem(400, "malformed");
    });
}

#[test]
fn a_replay_shows_the_job_after_each_transition() {
    on_both_stores(async |server| {
        let mut was = vec![server.create(json!({ "type": "a", "max_attempts": 2 })).await];
        let job = was[0].clone();
        let look = async |was: &mut Vec<Value>| was.push(server.job(&job).await);
        let held = server.claim(json!({ "worker": "w1", "max": 1 })).await.remove(0);
        look(&mut was).await;
        server.report(&held, "start", json!({})).await.expect(200);
        look(&mut was).await;
        let error = json!({ "error": { "code": "E", "message": "no" }, "retry_after": "0s" });
        server.report(&held, "fail", error).await.expect(200);
        look(&mut was).await;
        let taken = server.claim(json!({ "worker": "w2", "max": 1, "wait": "10s" })).await.remove(0);
        look(&mut was).await;
        server.report(&taken, "start", json!({})).await.expect(200);
        look(&mut was).await;
        server.report(&taken, "succeed", json!({ "result": [1] })).await.expect(200);
        look(&mut was).await;
        assert_eq!(was.last().unwrap()["seq"], 7);
        for before in &was {
            let seq = &before["seq"];
            let folded = server.read(&path(&job, &format!("replay?seq={seq}"))).await;
            assert_eq!(without_expiry(&folded), without_expiry(before), "after {seq}");
        }
        assert_eq!(server.read(&path(&job, "replay")).await, *was.last().unwrap());
        for bad in ["seq=0", "seq=8", "seq=x"] {
            server.get(&path(&job, &format!("replay?{bad}"))).await.problem(400, "malformed");
        }
    });
}

/// Verbs prolong a lease without a transition, so its end is not history's to tell.
fn without_expiry(job: &Value) -> Value {
    let mut job = job.clone();
    if let Some(lease) = job["lease"].as_object_mut() {
        lease.remove("expires_at");
    }
    job
}

/// What a job waits for, in a word each.
async fn waits(server: &Server, job: &Value) -> (Value, Vec<String>) {
    let explained = server.read(&path(job, "explain")).await;
    assert_eq!(explained["job_id"], job["id"]);
    assert!(explained["summary"].as_str().is_some_and(|text| !text.is_empty()));
    for next in rows(&explained["next"]) {
        assert!(next["trigger"].is_string() && !rows(&next["who"]).is_empty(), "{next}");
    }
    let what = column(&explained["waiting_for"], "what");
    let what = what.iter().map(|what| what.as_str().unwrap().to_owned()).collect();
    (explained, what)
}

#[test]
fn explain_says_what_a_job_waits_for_in_each_phase() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let later = server.create(json!({ "type": "later", "run_at": "2126-01-01T00:00:00Z" })).await;
        let (explained, what) = waits(&server, &later).await;
        assert_eq!(what, ["run_at"]);
        assert_eq!(explained["waiting_for"][0]["until"], "2126-01-01T00:00:00.000Z");

        server.post("/api/queues/night/pause", &json!({})).await.expect(200);
        let paused = server.create(json!({ "type": "a", "queue": "night" })).await;
        assert!(waits(&server, &paused).await.1.contains(&"paused_queue".to_owned()));

        let job = server.create(json!({ "type": "a" })).await;
        let (explained, what) = waits(&server, &job).await;
        assert_eq!(what, ["worker"]);
        let next = column(&explained["next"], "trigger");
        assert!(next.contains(&json!("claim")) && next.contains(&json!("cancel")), "{next:?}");

        let held = server.claim(json!({ "worker": "w1", "max": 1 })).await.remove(0);
        let (explained, what) = waits(&server, &job).await;
        assert_eq!((what, &explained["phase"]), (vec!["worker".to_owned()], &json!("held")));
        assert_eq!(explained["clocks"][0]["trigger"], "lease_expired");
        assert!(is_time(&explained["clocks"][0]["at"]));

        server.report(&held, "start", json!({})).await.expect(200);
        server.call(&job, "cancel", &json!({})).await.expect(200);
        let (explained, what) = waits(&server, &job).await;
        assert_eq!(
            (what, &explained["phase"]),
            (vec!["worker".to_owned(), "cancel".to_owned()], &json!("active"))
        );
        assert!(column(&explained["clocks"], "trigger").contains(&json!("cancel")));

        server.succeed(&held).await;

        let failed = server.create(json!({ "type": "a" })).await;
        let taken = server.claim_one().await;
        server.report(&taken, "fail", json!({ "error": {}, "retry_after": "1h" })).await.expect(200);
        assert_eq!(waits(&server, &failed).await.1, ["backoff"]);

        let draft = server.create(json!({ "type": "review" })).await;
        let taken = server.claim_one().await;
        server.succeed(&taken).await;
        let (explained, _) = waits(&server, &draft).await;
        assert_eq!(explained["phase"], "waiting");
        let next = column(&explained["next"], "trigger");
        assert!(next.contains(&json!("signal:approve")) && next.contains(&json!("timeout")), "{next:?}");
        assert_eq!(explained["clocks"][0]["trigger"], "timeout");

        server.call(&draft, "signals/approve", &json!({})).await.expect(200);
        let (explained, what) = waits(&server, &draft).await;
        assert_eq!((what, &explained["phase"]), (vec!["nothing".to_owned()], &json!("final")));
        assert_fields(&explained, json!({ "clocks": [], "next": [] }));
    });
}

#[test]
fn a_soft_cancel_asks_the_worker_and_a_hard_cancel_ends_the_job() {
    on_both_stores(async |server| {
        // Ready: at once.
        let job = server.create(json!({ "type": "a" })).await;
        let over = server.request("POST", &path(&job, "cancel")).send().await.expect(200);
        assert_fields(&over, json!({ "state": "cancelled", "outcome": "cancelled" }));
        let problem = server.call(&job, "cancel", &json!({})).await.problem(409, "invalid_transition");
        assert_fields(&problem, json!({ "current_state": "cancelled", "trigger": "cancel", "allowed": [] }));

        // Active, soft: recorded, told with the heartbeat, confirmed by the worker.
        let job = server.create(json!({ "type": "a" })).await;
        let taken = server.claim_one().await;
        let asked = server.call(&job, "cancel", &json!({ "reason": "enough" })).await.expect(200);
        assert_eq!(asked["state"], "running");
        let request = &asked["cancel_requested"];
        assert_eq!(field_names(request), sorted_words("mode reason by at hard_at"));
        assert_fields(&request, json!({ "mode": "soft", "reason": "enough" }));
        assert!(request["hard_at"].as_str() > request["at"].as_str());
        let beat = server.report(&taken, "heartbeat", json!({})).await.expect(200);
        assert_eq!(field_names(&beat), ["cancel", "lease"]);
        assert_eq!(beat["cancel"], "soft");
        let over =
            server.report(&taken, "cancel-confirm", json!({ "checkpoint": { "at": 3 } })).await.expect(200);
        assert_fields(&over, json!({ "state": "cancelled", "checkpoint": { "at": 3 } }));

        // Active, soft, but the worker finishes first: the finish stands.
        let job = server.create(json!({ "type": "a" })).await;
        let taken = server.claim_one().await;
        server.call(&job, "cancel", &json!({ "mode": "soft" })).await.expect(200);
        let over = server.succeed(&taken).await;
        assert_eq!(over["state"], "succeeded");

        // Active, hard: now, and the lease is revoked.
        let job = server.create(json!({ "type": "a" })).await;
        let taken = server.claim_one().await;
        let over = server.call(&job, "cancel", &json!({ "mode": "hard" })).await.expect(200);
        assert_fields(&over, json!({ "state": "cancelled", "lease": null }));
        let late = server.report(&taken, "succeed", json!({})).await.problem(409, "lease_conflict");
        assert_eq!((&late["cause"], &late["job_id"]), (&json!("revoked"), &job["id"]));
        assert_eq!(late["fence"], taken["lease"]["fence"]);
        server.call(&job, "cancel", &json!({ "mode": "gentle" })).await.problem(400, "malformed");
    });
}

#[test]
fn a_soft_cancel_becomes_hard_after_its_grace_period() {
    let config = "[types.a]\nlifecycle = \"distributed\"\ncancel_grace = \"100ms\"\n";
    on_both_stores_with_config(config, async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let taken = server.claim_one().await;
        server.call(&job, "cancel", &json!({})).await.expect(200);
        tenure_e2e::eventually("it is cancelled", async || server.job(&job).await["state"] == "cancelled")
            .await;
        let over = server.job(&job).await;
        assert_eq!(over["error"]["code"], "CANCEL_GRACE_EXPIRED");
        server.report(&taken, "succeed", json!({})).await.problem(409, "lease_conflict");
    });
}

#[test]
fn a_retry_creates_a_copy_of_the_finished_job() {
    on_both_stores(async |server| {
        let asked =
            json!({ "type": "a", "user_id": "u1", "payload": { "n": 1 }, "priority": 3, "queue": "q" });
        let waiting = server.create(asked).await;
        let problem = server.call(&waiting, "retry", &json!({})).await.problem(409, "invalid_transition");
        assert_eq!(problem["current_state"], "queued");
        let over = server.call(&waiting, "cancel", &json!({})).await.expect(200);
        let ask = async || server.request("POST", &path(&over, "retry")).idempotent("again").send().await;
        let reply = ask().await;
        let place = reply.header("location").unwrap().to_owned();
        let again = reply.expect(202);
        assert_eq!(place, path(&again, ""));
        assert_ne!(again["id"], over["id"]);
        assert_eq!(again["retry_of"], over["id"]);
        for member in ["type", "user_id", "payload", "priority", "queue", "lifecycle"] {
            assert_eq!(again[member], over[member], "{member}");
        }
        assert_fields(&again, json!({ "state": "queued", "attempt": 1 }));
        let repeat = ask().await;
        assert_eq!(repeat.expect_replay()["id"], again["id"]);
        assert_eq!(server.job(&over).await, over, "a finished job stays as it is");
    });
}

#[test]
fn an_operator_dead_letters_a_job() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a", "correlation_id": "c" })).await;
        let body = json!({ "reason_code": "policy_violation", "detail": "not ours" });
        let over = server.call(&job, "dead-letter", &body).await.expect(200);
        assert_fields(&over, json!({ "state": "dead_lettered", "outcome": "dead" }));
        let letters = server.read("/api/dead-letters").await;
        assert_eq!(letters["dead_letters"][0]["reason_code"], "policy_violation");
        assert_eq!(letters["dead_letters"][0]["job_id"], job["id"]);
        server.call(&job, "dead-letter", &body).await.problem(409, "invalid_transition");
        let bad = json!({ "reason_code": "boredom", "detail": "" });
        server.call(&job, "dead-letter", &bad).await.problem(400, "malformed");
    });
}

#[test]
fn only_a_declared_signal_changes_the_job() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let job = server.create(json!({ "type": "review" })).await;
        let early = server.call(&job, "signals/approve", &json!({})).await;
        let problem = early.problem(409, "invalid_transition");
        assert_fields(&problem, json!({ "current_state": "queued", "trigger": "signal:approve" }));
        let mut allowed = problem["allowed"].as_array().unwrap().clone();
        allowed.sort_by_key(Value::to_string);
        assert_eq!(allowed, ["claim", "timeout"], "the clock's triggers too");
        let taken = server.claim_one().await;
        let parked = server.report(&taken, "succeed", json!({ "result": "draft" })).await.expect(200);
        assert_fields(&parked, json!({ "state": "in_review", "phase": "waiting" }));
        let unknown = server.call(&job, "signals/burn", &json!({})).await;
        unknown.problem(409, "invalid_transition");
        let ask =
            async || server.request("POST", &path(&job, "signals/decline")).idempotent("k").send().await;
        let over = ask().await.expect(200);
        assert_fields(&over, json!({ "state": "rejected", "outcome": "rejected" }));
        let repeat = ask().await;
        let repeat = repeat.expect_replay();
        assert_fields(&repeat, json!({ "seq": over["seq"], "replayed": true }));
        let audit = server.read("/api/audit").await;
        let line = rows(&audit["audit"]).iter().find(|line| line["action"] == "DECLINED").cloned();
        assert_eq!(line.expect("the rule's audit line")["job_id"], job["id"]);
    });
}

#[test]
fn a_log_is_appended_by_its_worker_and_read_from_a_line_number() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let taken = server.claim_one().await;
        let lines = json!({ "lines": [
            { "stream": "stderr", "level": "warn", "text": "one" }, { "stream": "stdout", "level": "info", "text": "" },
        ] });
        server.report(&taken, "logs", lines).await.expect(200);
        // Whoever owns or operates it needs neither worker nor fence.
        server.call(&job, "logs", &json!({ "lines": [{ "text": "three ü\nfour" }] })).await.expect(200);
        let page = server.read(&path(&job, "logs")).await;
        assert_eq!(field_names(&page), ["lines", "next_cursor"]);
        assert_eq!(column(&page["lines"], "n"), [1, 2, 3]);
        assert_eq!(field_names(&page["lines"][0]), sorted_words("n ts stream level text"));
        assert_fields(&page["lines"][0], json!({ "stream": "stderr", "level": "warn" }));
        assert_eq!(column(&page["lines"], "text"), ["one", "", "three ü\nfour"]);
        let rest = server.read(&path(&job, "logs?after=2")).await;
        assert_eq!(column(&rest["lines"], "n"), [3]);
        let page = server.read(&path(&job, "logs?limit=2")).await;
        let next = page["next_cursor"].as_str().expect("there is more").to_owned();
        let rest = server.read(&path(&job, &format!("logs?after={next}"))).await;
        assert_eq!(column(&rest["lines"], "n"), [3]);
        let wrong = json!({ "worker": "w1", "fence": 99, "lines": [{ "text": "x" }] });
        server.call(&job, "logs", &wrong).await.problem(409, "lease_conflict");
        server.succeed(&taken).await;
        let kept = server.read(&path(&job, "logs")).await;
        assert_eq!(column(&kept["lines"], "n"), [1, 2, 3], "kept past the end");
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
        let taken = server.claim_one().await;
        let handed = taken["traceparent"].as_str().expect("a worker is handed a traceparent");
        assert_eq!(handed.split('-').nth(1), Some(trace), "{handed}");
        assert_eq!(taken["correlation_id"], "order-7");
        server.succeed(&taken).await;
        let page = server.read(&path(&job, "events")).await;
        assert!(column(&page["events"], "trace_id").iter().all(|id| id == trace));
        assert!(column(&page["events"], "correlation_id").iter().all(|id| id == "order-7"));
        // A traceparent that is none is as good as none.
        let create = server.request("POST", "/api/jobs").header("traceparent", "00-zz-b7ad-01").json(&body);
        let other = create.send().await.expect(202);
        assert_eq!(other["trace_id"].as_str().map(str::len), Some(32));
        assert_ne!(other["trace_id"], trace);
        let again = server.call(&job, "retry", &json!({})).await.expect(202);
        assert_eq!(again["correlation_id"], "order-7");
    });
}

#[test]
fn every_post_is_idempotent_with_a_key() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let twice = async |path: &str, body: Value| {
            let ask = async || server.request("POST", path).idempotent("once").json(&body).send().await;
            let (first, second) = (ask().await, ask().await);
            assert!(first.status < 300 && second.status < 300, "{path}: {} {}", first.text, second.text);
            (first.body, second)
        };
        let journal = async || server.journal().await.len();
        let job = server.create(json!({ "type": "a" })).await;
        twice(&path(&job, "logs"), json!({ "lines": [{ "text": "x" }] })).await;
        let log = server.read(&path(&job, "logs")).await;
        assert_eq!(rows(&log["lines"]).len(), 1);
        let (_, again) = twice("/api/claims", json!({ "worker": "w1", "max": 1 })).await;
        assert_eq!(again.body["jobs"][0]["id"], job["id"]);
        for (call, body) in [
            ("start", json!({ "worker": "w1", "fence": 1 })),
            ("release", json!({ "worker": "w1", "fence": 1 })),
            ("cancel", json!({ "reason": "x" })),
        ] {
            let before = journal().await;
            let (_, again) = twice(&path(&job, call), body).await;
            assert_eq!(again.header("idempotent-replayed"), Some("true"), "{call}");
            assert_eq!(again.body["replayed"], true, "{call}");
            assert_eq!(journal().await, before + 1, "{call}");
        }
        let other = json!({ "reason": "y" });
        let ask = server.request("POST", &path(&job, "cancel")).idempotent("once").json(&other);
        ask.send().await.problem(422, "idempotency_mismatch");
        let dead = server.create(json!({ "type": "a" })).await;
        let body = json!({ "reason_code": "timeout", "detail": "" });
        let (_, again) = twice(&path(&dead, "dead-letter"), body).await;
        assert_eq!(again.body["replayed"], true);
        let dismiss = format!("/api/dead-letters/{}/dismiss", dead["id"].as_str().unwrap());
        twice(&dismiss, json!({ "reason": "x" })).await;
        twice("/api/queues/q/pause", json!({})).await;
        twice("/api/jobs/actions", json!({ "action": "retry", "filter": { "outcome": "dead" } })).await;
        assert_eq!(rows(&server.read("/api/jobs?phase=ready").await["jobs"]).len(), 1);
        let reports =
            json!({ "worker": "w1", "reports": [{ "job": job["id"], "fence": 1, "verb": "heartbeat" }] });
        twice("/api/reports", reports).await;
    });
}

#[test]
fn a_compensation_is_recorded_after_the_job_has_finished() {
    let config = r#"
[types.book]
lifecycle = "distributed"
compensate_with = "unbook"
[types.unbook]
lifecycle = "distributed"
"#;
    on_both_stores_with_config(config, async |server| {
        let job = server.create(json!({ "type": "book" })).await;
        let taken = server.claim_one().await;
        let gone = json!({ "error": { "class": "permanent", "code": "E", "message": "m" } });
        server.report(&taken, "fail", gone).await.expect(200);
        let undo = server.claim_one().await;
        assert_eq!((&undo["type"], &undo["payload"]["error"]["code"]), (&json!("unbook"), &json!("E")));
        assert_eq!(undo["payload"]["job"]["id"], job["id"]);
        server.succeed(&undo).await;
        let events = server.read(&path(&job, "events")).await;
        let last = rows(&events["events"]).last().unwrap().clone();
        assert_fields(&last, json!({ "type": "job_compensated", "seq": null }));
        assert_eq!(field_names(&last), sorted_words(EVENT));
        assert_eq!(server.job(&job).await["seq"], 4);
        let feed = server.journal().await;
        assert!(feed.contains(&last), "the feed has it too");
    });
}

#[test]
fn a_job_that_is_not_claimed_in_time_fails_with_a_reason() {
    let config = "[types.scene]\nlifecycle = \"engine\"\ntimeouts = { queued = \"300ms\" }\n";
    on_both_stores_with_config(config, async |server| {
        let job = server.create(json!({ "type": "scene" })).await;
        tenure_e2e::eventually("its time is over", async || server.job(&job).await["phase"] == "final").await;
        let over = server.job(&job).await;
        assert_fields(&over, json!({ "state": "failed", "outcome": "failed" }));
        assert_fields(&over["error"], json!({ "code": "QUEUE_TIMEOUT", "category": "queue" }));
        let text = over["error"]["text"].as_str().unwrap();
        assert!(text.starts_with("QUEUE_TIMEOUT: "), "{text}");
        let status = server.stream(&path(&job, "stream"), None).await.rest().await;
        assert_eq!(status[0].data["state"], "failed");
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
        let again = ask("u1", "a cat").await;
        assert_eq!(again.expect_replay()["id"], first["id"]);
        ask("u1", "a dog").await.expect(202);
        ask("u2", "a cat").await.expect(202);
    });
}

#[test]
fn head_answers_like_get_without_a_body() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let head = server.request("HEAD", &path(&job, "")).send().await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        assert_eq!(head.header("content-type"), Some("application/json"));
        let missing = server.request("HEAD", &format!("/api/jobs/{NOBODY}")).send().await;
        assert_eq!((missing.status, missing.text.as_str()), (404, ""));
    });
}

#[test]
fn a_payload_is_stored_unchanged() {
    on_both_stores(async |server| {
        let payload =
            r#"{"big":12345678901234567890123,"exact":0.1000,"text":"\u00e9\n","order":{"z":1,"a":2}}"#;
        let body = format!("{{\"type\":\"a\",\"payload\":{payload}}}");
        let request = server.request("POST", "/api/jobs").header("content-type", "application/json");
        let reply = request.bytes(body).send().await;
        let id = reply.clone().expect(202);
        let shown = server.get(&path(&id, "")).await;
        for (what, text) in [("created", &reply.text), ("shown", &shown.text)] {
            assert!(text.contains("12345678901234567890123"), "{what}: {text}");
            assert!(text.contains(r#""order":{"z":1,"a":2}"#), "{what}: {text}");
        }
        let taken = server.post("/api/claims", &json!({ "worker": "w", "max": 1 })).await;
        assert!(taken.text.contains("12345678901234567890123"), "{}", taken.text);
        for payload in ["null", "7", "\"text\"", "[]", "true"] {
            let body = format!("{{\"type\":\"a\",\"payload\":{payload}}}");
            let request = server.request("POST", "/api/jobs").header("content-type", "application/json");
            let job = request.bytes(body).send().await.expect(202);
            assert_eq!(job["payload"].to_string(), payload);
        }
    });
}

#[test]
fn a_lifecycle_without_a_cancel_refuses_it() {
    on_both_stores_with_config("[types.export]\nlifecycle = \"pattern\"\n", async |server| {
        let job = server.create(json!({ "type": "export" })).await;
        let problem = server.call(&job, "cancel", &json!({})).await.problem(409, "invalid_transition");
        assert_eq!((&problem["current_state"], &problem["trigger"]), (&json!("queued"), &json!("cancel")));
        assert_eq!(problem["allowed"], json!(["claim"]));
        server.claim_one().await;
        let hard = json!({ "mode": "hard" });
        server.call(&job, "cancel", &hard).await.problem(409, "invalid_transition");
        assert_eq!(server.job(&job).await["seq"], 2);
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
            let problem = server.post("/api/jobs", &body).await.problem(422, "validation_failed");
            assert_eq!(problem["errors"][0]["pointer"], "#/lifecycle");
        }
    });
}
