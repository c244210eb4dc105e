//! Reading jobs: lists, events, replay, explain and logs.

use serde_json::{Value, json};
use tenure_e2e::*;

use super::{EVENT, REVIEW_FILES, UNKNOWN_ID, is_time};

#[test]
fn each_filter_of_the_list_selects_its_jobs() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let done = server.create_finished(json!({ "type": "a", "user_id": "u1" })).await;
        let again = server.call(&done, "retry", &json!({})).await.expect(202);
        server.call_ok(&again, "cancel", &json!({})).await;
        server.create(json!({ "type": "held", "correlation_id": "c-9" })).await;
        let held = server.claim(json!({ "worker": "w2", "max": 1 })).await.remove(0);
        let night = server.create(json!({ "type": "b", "queue": "night" })).await;
        let review = server.create(json!({ "type": "review" })).await;
        let listed = async |query: &str| server.column(&format!("/api/jobs?{query}"), "id").await;
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
        assert_eq!(listed(&format!("retry_of={}", tenure_e2e::id(&done))).await, [id(&again)]);
        let since = held["created_at"].as_str().unwrap();
        let after = listed(&format!("created_after={since}")).await;
        let before = listed(&format!("created_before={since}")).await;
        assert!(after.contains(&id(&review)) && before.contains(&id(&done)), "{after:?} {before:?}");
        assert!(!after.contains(&id(&done)) || done["created_at"] == held["created_at"]);
        assert_eq!(listed("type=a&outcome=succeeded&user_id=u1").await, [id(&done)]);
        assert_eq!(listed("type=nothing").await, Vec::<Value>::new());
        let bad = "limit=501 limit=0 limit=x cursor=x phase=x outcome=x colour=red state=a&state=b";
        for bad in bad.split(' ') {
            let problem = server.get(&format!("/api/jobs?{bad}")).await.problem(400, "malformed");
            assert!(problem["errors"][0]["pointer"].is_string(), "{bad}");
        }
    });
}

#[test]
fn pages_of_the_list_have_no_gaps_and_no_duplicates() {
    on_both_stores(async |server| {
        let mut created = column(&json!(server.create_many(45, json!({ "type": "a" })).await), "id");
        assert_eq!(server.rows("/api/jobs").await.len(), 20);
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.read(&format!("/api/jobs?limit=7{cursor}")).await;
            seen.extend(column(&page["jobs"], "id"));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
            // New jobs are newer than every later page.
            server.create(json!({ "type": "b" })).await;
        }
        created.reverse();
        created.sort_by_key(|id| std::cmp::Reverse(id.to_string()));
        assert_eq!(seen, created);
    });
}

#[test]
fn an_unknown_job_is_not_found_and_an_invalid_id_is_malformed() {
    on_both_stores(async |server| {
        for call in ["", "/events", "/replay", "/explain", "/stream", "/logs"] {
            server.get(&format!("/api/jobs/{UNKNOWN_ID}{call}")).await.problem(404, "not_found");
            server.get(&format!("/api/jobs/not-an-id{call}")).await.problem(400, "malformed");
        }
        for line in include_str!("calls.txt").lines() {
            let (call, body) = line.split_once(' ').unwrap();
            server.post_text(&format!("/api/jobs/{UNKNOWN_ID}/{call}"), body).await.problem(404, "not_found");
            server.post_text(&format!("/api/jobs/not-an-id/{call}"), body).await.problem(400, "malformed");
        }
    });
}

#[test]
fn events_are_numbered_and_include_telemetry_on_request() {
    on_both_stores(async |server| {
        let claimed = server.create_claimed(json!({ "type": "a", "correlation_id": "c-1" })).await;
        server.report_ok(&claimed, "heartbeat", json!({})).await;
        server.report_ok(&claimed, "progress", json!({ "progress": 40, "message": "far" })).await;
        server.report_ok(&claimed, "succeed", json!({ "result": { "n": 1 } })).await;
        let page = server.read(&path(&claimed, "events")).await;
        assert_eq!(field_names(&page), ["events", "next_cursor"]);
        let events = rows(&page["events"]);
        assert_eq!(column(&page["events"], "seq"), [1, 2, 3, 4]);
        let kinds = ["job_queued", "job_claimed", "job_started", "job_succeeded"];
        assert_eq!(column(&page["events"], "type"), kinds);
        assert_eq!(column(&page["events"], "trigger"), ["create", "claim", "start", "succeed"]);
        assert_eq!(column(&page["events"], "to"), ["queued", "assigned", "running", "succeeded"]);
        assert_eq!(events[0]["from"], Value::Null);
        assert_fields(&events[3], json!({ "from": "running", "actor": "worker:w1" }));
        for event in events {
            assert_field_names(event, EVENT);
            assert_fields(event, json!({ "job_id": claimed["id"], "trace_id": claimed["trace_id"] }));
            assert_fields(event, json!({ "correlation_id": "c-1", "attempt": 1, "version": 1 }));
            assert!(is_time(&event["ts"]) && event["payload"].is_object(), "{event}");
        }
        let page = server.read(&path(&claimed, "events?telemetry=true")).await;
        let rows = rows(&page["events"]);
        assert!(rows.iter().all(|row| field_names(row) == sorted_words(EVENT)));
        let kinds = column(&page["events"], "type");
        assert!(
            ["job_heartbeat", "job_progress"].iter().all(|kind| kinds.contains(&json!(kind))),
            "{kinds:?}"
        );
        let times: Vec<&str> = rows.iter().map(|row| row["ts"].as_str().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
        let ids: std::collections::BTreeSet<String> = rows.iter().map(|row| row["id"].to_string()).collect();
        assert_eq!(ids.len(), rows.len(), "ids are unique");
        server.get(&path(&claimed, "events?telemetry=perhaps")).await.problem(400, "malformed");
    });
}

#[test]
fn a_replay_shows_the_job_after_each_transition() {
    on_both_stores(async |server| {
        let mut was = vec![server.create(json!({ "type": "a", "max_attempts": 2 })).await];
        let job = was[0].clone();
        let held = server.hold_one().await;
        was.push(server.job(&job).await);
        server.report_ok(&held, "start", json!({})).await;
        was.push(server.job(&job).await);
        let error = json!({ "error": { "code": "E", "message": "no" }, "retry_after": "0s" });
        server.report_ok(&held, "fail", error).await;
        was.push(server.job(&job).await);
        let claimed = server.claim(json!({ "worker": "w2", "max": 1, "wait": "10s" })).await.remove(0);
        was.push(server.job(&job).await);
        server.report_ok(&claimed, "start", json!({})).await;
        was.push(server.job(&job).await);
        server.report_ok(&claimed, "succeed", json!({ "result": [1] })).await;
        was.push(server.job(&job).await);
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

/// Reports renew a lease without a transition, so its expiry is not in the history.
fn without_expiry(job: &Value) -> Value {
    let mut job = job.clone();
    if let Some(lease) = job["lease"].as_object_mut() {
        lease.remove("expires_at");
    }
    job
}

/// The explanation of a job, and what it waits for.
async fn waits(server: &Server, job: &Value) -> (Value, Vec<Value>) {
    let explained = server.read(&path(job, "explain")).await;
    assert_eq!(explained["job_id"], job["id"]);
    assert!(explained["summary"].as_str().is_some_and(|text| !text.is_empty()));
    for next in rows(&explained["next"]) {
        assert!(next["trigger"].is_string() && !rows(&next["who"]).is_empty(), "{next}");
    }
    let what = column(&explained["waiting_for"], "what");
    (explained, what)
}

#[test]
fn explain_says_what_a_job_waits_for_in_each_phase() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let later = server.create(json!({ "type": "later", "run_at": "2126-01-01T00:00:00Z" })).await;
        let (explained, what) = waits(&server, &later).await;
        assert_eq!(what, ["run_at"]);
        assert_eq!(explained["waiting_for"][0]["until"], "2126-01-01T00:00:00.000Z");

        server.post_ok("/api/queues/night/pause", &json!({})).await;
        let paused = server.create(json!({ "type": "a", "queue": "night" })).await;
        assert!(waits(&server, &paused).await.1.contains(&json!("paused_queue")));

        let job = server.create(json!({ "type": "a" })).await;
        let (explained, what) = waits(&server, &job).await;
        assert_eq!(what, ["worker"]);
        let next = column(&explained["next"], "trigger");
        assert!(next.contains(&json!("claim")) && next.contains(&json!("cancel")), "{next:?}");

        let held = server.hold_one().await;
        let (explained, what) = waits(&server, &job).await;
        assert_eq!((what, &explained["phase"]), (vec![json!("worker")], &json!("held")));
        assert_eq!(explained["clocks"][0]["trigger"], "lease_expired");
        assert!(is_time(&explained["clocks"][0]["at"]));

        server.report_ok(&held, "start", json!({})).await;
        server.call_ok(&job, "cancel", &json!({})).await;
        let (explained, what) = waits(&server, &job).await;
        assert_eq!(what, ["worker", "cancel"]);
        assert_eq!(explained["phase"], "active");
        assert!(column(&explained["clocks"], "trigger").contains(&json!("cancel")));

        server.succeed(&held).await;

        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        server.report_ok(&claimed, "fail", json!({ "error": {}, "retry_after": "1h" })).await;
        assert_eq!(waits(&server, &claimed).await.1, ["backoff"]);

        let claimed = server.create_claimed(json!({ "type": "review" })).await;
        server.succeed(&claimed).await;
        let (explained, what) = waits(&server, &claimed).await;
        assert_eq!((what, &explained["phase"]), (vec![json!("signal")], &json!("waiting")));
        let next = column(&explained["next"], "trigger");
        assert!(next.contains(&json!("signal:approve")) && next.contains(&json!("timeout")), "{next:?}");
        assert_eq!(explained["clocks"][0]["trigger"], "timeout");

        server.call_ok(&claimed, "signals/approve", &json!({})).await;
        let (explained, what) = waits(&server, &claimed).await;
        assert_eq!((what, &explained["phase"]), (vec![json!("nothing")], &json!("final")));
        assert_fields(&explained, json!({ "clocks": [], "next": [] }));
    });
}

#[test]
fn a_log_is_appended_by_its_worker_and_read_from_a_line_number() {
    on_both_stores(async |server| {
        let claimed = server.create_claimed(json!({ "type": "a" })).await;
        let lines = json!({ "lines": [
            { "stream": "stderr", "level": "warn", "text": "one" }, { "stream": "stdout", "level": "info", "text": "" },
        ] });
        server.report_ok(&claimed, "logs", lines).await;
        // Owners and operators need neither worker nor fence.
        server.call_ok(&claimed, "logs", &json!({ "lines": [{ "text": "three ü\nfour" }] })).await;
        let page = server.read(&path(&claimed, "logs")).await;
        assert_eq!(field_names(&page), ["lines", "next_cursor"]);
        assert_eq!(column(&page["lines"], "n"), [1, 2, 3]);
        assert_field_names(&page["lines"][0], "n ts stream level text");
        assert_fields(&page["lines"][0], json!({ "stream": "stderr", "level": "warn" }));
        assert_eq!(column(&page["lines"], "text"), ["one", "", "three ü\nfour"]);
        assert_eq!(server.column(&path(&claimed, "logs?after=2"), "n").await, [3]);
        let page = server.read(&path(&claimed, "logs?limit=2")).await;
        let next = page["next_cursor"].as_str().expect("there is more").to_owned();
        assert_eq!(server.column(&path(&claimed, &format!("logs?after={next}")), "n").await, [3]);
        let wrong = json!({ "worker": "w1", "fence": 99, "lines": [{ "text": "x" }] });
        server.call(&claimed, "logs", &wrong).await.problem(409, "lease_conflict");
        server.succeed(&claimed).await;
        let kept = server.read(&path(&claimed, "logs")).await;
        assert_eq!(column(&kept["lines"], "n"), [1, 2, 3], "kept past the end");
    });
}

#[test]
fn head_answers_like_get_without_a_body() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let head = server.request("HEAD", &path(&job, "")).send().await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        assert_eq!(head.header("content-type"), Some("application/json"));
        let missing = server.request("HEAD", &format!("/api/jobs/{UNKNOWN_ID}")).send().await;
        assert_eq!((missing.status, missing.text.as_str()), (404, ""));
    });
}
