//! Reading jobs: lists, events, replay, explain and logs.

use serde_json::{Value, json};
use tenure_e2e::{
    Server, assert_fields, column, field_names, on_both_stores, on_both_stores_with_files, path, rows,
    sorted_words,
};

use super::{EVENT, REVIEW_FILES, UNKNOWN_ID, is_time};

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
        let created = server.post("/api/jobs/batch", &many).await.expect(200);
        let mut created: Vec<Value> =
            column(&created["results"], "ok").iter().map(|job| job["id"].clone()).collect();
        let first = server.read("/api/jobs").await;
        assert_eq!(rows(&first["jobs"]).len(), 20);
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
            server.post(&format!("/api/jobs/{UNKNOWN_ID}/{call}"), &body).await.problem(404, "not_found");
            server.post(&format!("/api/jobs/not-an-id/{call}"), &body).await.problem(400, "malformed");
        }
    });
}

#[test]
fn events_are_numbered_and_include_telemetry_on_request() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a", "correlation_id": "c-1" })).await;
        let claimed = server.claim_one().await;
        server.report(&claimed, "heartbeat", json!({})).await.expect(200);
        server.report(&claimed, "progress", json!({ "progress": 40, "message": "far" })).await.expect(200);
        server.report(&claimed, "succeed", json!({ "result": { "n": 1 } })).await.expect(200);
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
            assert!(same.iter().all(|(field, value)| event[field] == **value), "{event}");
            assert_fields(event, json!({ "attempt": 1, "version": 1 }));
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
        assert_eq!(ids.len(), rows.len(), "ids are unique");
        server.get(&path(&job, "events?telemetry=perhaps")).await.problem(400, "malformed");
    });
}

#[test]
fn a_replay_shows_the_job_after_each_transition() {
    on_both_stores(async |server| {
        let mut was = vec![server.create(json!({ "type": "a", "max_attempts": 2 })).await];
        let job = was[0].clone();
        let open_page = async |was: &mut Vec<Value>| was.push(server.job(&job).await);
        let held = server.claim(json!({ "worker": "w1", "max": 1 })).await.remove(0);
        open_page(&mut was).await;
        server.report(&held, "start", json!({})).await.expect(200);
        open_page(&mut was).await;
        let error = json!({ "error": { "code": "E", "message": "no" }, "retry_after": "0s" });
        server.report(&held, "fail", error).await.expect(200);
        open_page(&mut was).await;
        let claimed = server.claim(json!({ "worker": "w2", "max": 1, "wait": "10s" })).await.remove(0);
        open_page(&mut was).await;
        server.report(&claimed, "start", json!({})).await.expect(200);
        open_page(&mut was).await;
        server.report(&claimed, "succeed", json!({ "result": [1] })).await.expect(200);
        open_page(&mut was).await;
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
        let claimed = server.claim_one().await;
        server.report(&claimed, "fail", json!({ "error": {}, "retry_after": "1h" })).await.expect(200);
        assert_eq!(waits(&server, &failed).await.1, ["backoff"]);

        let draft = server.create(json!({ "type": "review" })).await;
        let claimed = server.claim_one().await;
        server.succeed(&claimed).await;
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
fn a_log_is_appended_by_its_worker_and_read_from_a_line_number() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let claimed = server.claim_one().await;
        let lines = json!({ "lines": [
            { "stream": "stderr", "level": "warn", "text": "one" }, { "stream": "stdout", "level": "info", "text": "" },
        ] });
        server.report(&claimed, "logs", lines).await.expect(200);
        // Owners and operators need neither worker nor fence.
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
        server.succeed(&claimed).await;
        let kept = server.read(&path(&job, "logs")).await;
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
