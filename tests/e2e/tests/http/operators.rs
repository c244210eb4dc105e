//! The calls of operators: dead letters, bulk actions, queues, money, what is in force, the trail, on both stores.

use serde_json::{Value, json};
use tenure_core::lifecycle::Lifecycle;
use tenure_e2e::{
    Server, assert_fields, column, eventually, field_names, find, millis, on_both_stores,
    on_both_stores_with_config, on_both_stores_with_files, rows, sorted_words,
};

use crate::jobs::{JOB, REVIEW, REVIEW_FILES};

const PAID: &str = r#"
[types.paid]
lifecycle = "image"
cost = 2
backoff = { base = "0s", factor = 1.0, max = "0s", jitter = "none" }
max_attempts = 1
[types."*"]
lifecycle = "distributed"
"#;

const LETTER: &str = "job_id created_at reason_code stage last_error attempts last_owner last_lease_expires_at \
                      correlation_id dismissed_at dismissed_by dismissed_reason";

/// A job that its worker could not do, in one attempt.
async fn a_dead_one(server: &Server, mut job: Value, error: Value) -> Value {
    job["max_attempts"] = json!(1);
    server.create(job).await;
    let taken = server.claim_one().await;
    let over = server.report(&taken, "fail", json!({ "error": error })).await.expect(200);
    assert_eq!(over["outcome"], "dead", "{over}");
    over
}

#[test]
fn a_dead_letter_has_its_error_and_can_be_dismissed() {
    on_both_stores(async |server| {
        let error = json!({ "code": "E", "message": "no", "stage": "fetch" });
        let job = a_dead_one(&server, json!({ "type": "a", "correlation_id": "c-1" }), error).await;
        let page = server.read("/api/dead-letters").await;
        assert_eq!(field_names(&page), ["dead_letters", "next_cursor"]);
        let letter = &page["dead_letters"][0];
        assert_eq!(field_names(letter), sorted_words(LETTER));
        assert_eq!((&letter["job_id"], &letter["reason_code"]), (&job["id"], &json!("exhausted_retries")));
        assert_eq!((&letter["stage"], &letter["attempts"]), (&json!("fetch"), &json!(1)));
        assert_eq!((&letter["last_error"]["code"], &letter["last_owner"]), (&json!("E"), &json!("w1")));
        assert_fields(&letter, json!({ "correlation_id": "c-1", "dismissed_at": null }));
        assert!(letter["last_lease_expires_at"].is_string() && letter["created_at"].is_string());
        let dismiss = format!("/api/dead-letters/{}/dismiss", job["id"].as_str().unwrap());
        let dismissed = server.post(&dismiss, &json!({ "reason": "known" })).await.expect(200);
        assert_fields(&dismissed, json!({ "job_id": job["id"], "dismissed_reason": "known" }));
        assert!(dismissed["dismissed_by"].is_string() && dismissed["dismissed_at"].is_string());
        assert_eq!(server.read("/api/dead-letters").await["dead_letters"], json!([]));
        let page = server.read("/api/dead-letters?dismissed=true").await;
        assert_eq!(page["dead_letters"], json!([dismissed]));
        server.post(&dismiss, &json!({})).await.problem(400, "malformed");
        let live = server.create(json!({ "type": "a" })).await;
        let dismiss = format!("/api/dead-letters/{}/dismiss", live["id"].as_str().unwrap());
        server.post(&dismiss, &json!({ "reason": "x" })).await.problem(404, "not_found");
    });
}

#[test]
fn dead_letters_are_filtered_and_paged() {
    on_both_stores(async |server| {
        let mut ids = Vec::new();
        for index in 0..7 {
            let stage = if index % 2 == 0 { "fetch" } else { "exec" };
            let job =
                json!({ "type": format!("t{index}"), "user_id": "u", "queue": format!("q{}", index % 3) });
            ids.push(a_dead_one(&server, job, json!({ "stage": stage })).await["id"].clone());
        }
        let given_up = server.create(json!({ "type": "x" })).await;
        let body = json!({ "reason_code": "policy_violation", "detail": "d" });
        server.call(&given_up, "dead-letter", &body).await.expect(200);
        ids.push(given_up["id"].clone());
        ids.reverse();
        let listed = async |query: &str| {
            let page = server.read(&format!("/api/dead-letters?{query}")).await;
            column(&page["dead_letters"], "job_id")
        };
        assert_eq!(listed("").await, ids, "newest first");
        assert_eq!(listed("reason_code=policy_violation").await, ids[..1]);
        assert_eq!(listed("stage=exec").await.len(), 3);
        assert_eq!(listed("type=t3").await.len(), 1);
        assert_eq!(listed("queue=q0").await.len(), 3);
        assert_eq!(listed("user_id=u").await.len(), 7);
        assert_eq!(listed("worker=w1&stage=fetch").await.len(), 4);
        assert_eq!(listed("outcome=failed").await.len(), 0);
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.read(&format!("/api/dead-letters?limit=3{cursor}")).await;
            seen.extend(column(&page["dead_letters"], "job_id"));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(seen, ids);
        for bad in ["reason_code=x", "stage=x", "dismissed=x", "limit=501", "colour=red"] {
            server.get(&format!("/api/dead-letters?{bad}")).await.problem(400, "malformed");
        }
    });
}

#[test]
fn a_redrive_creates_jobs_at_the_requested_rate() {
    on_both_stores(async |server| {
        let mut ids = Vec::new();
        for index in 0..5 {
            let job = json!({ "type": "a", "payload": { "n": index } });
            ids.push(a_dead_one(&server, job, json!({})).await["id"].clone());
        }
        let redrive = "/api/dead-letters/redrive";
        let some = json!({ "ids": [ids[0], "01990c3a-7d2e-7000-8000-000000000000"] });
        let answer = server.post(redrive, &some).await.expect(200);
        let results = rows(&answer["results"]);
        let good = results.iter().find(|row| row["ok"].is_object()).expect("one is redriven");
        let bad = results.iter().find(|row| row["error"].is_object()).expect("one is not there");
        assert_fields(&good["ok"], json!({ "retry_of": ids[0], "payload": { "n": 0 } }));
        assert_eq!(bad["error"]["code"], "not_found");

        let slowly = json!({ "filter": { "type": "a" }, "max_per_second": 0.5 });
        let answer = server.post(redrive, &slowly).await.expect(200);
        let jobs = column(&answer["results"], "ok");
        assert_eq!(jobs.len(), 5);
        assert!(jobs.iter().all(|job| ids.contains(&job["retry_of"])));
        let times: Vec<i64> = jobs.iter().map(|job| millis(&job["run_at"])).collect();
        let spread: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(spread.iter().all(|gap| (1900..=2100).contains(gap)), "two seconds apart: {spread:?}");
        // One is ready at once, by the way of the first redrive and of the second.
        assert_eq!(server.claim(json!({ "worker": "w", "max": 9 })).await.len(), 2);
        for bad in [
            json!({}),
            json!({ "ids": [], "filter": {} }),
            json!({ "ids": ["x"] }),
            json!({ "filter": { "colour": "red" } }),
            json!({ "filter": {}, "max_per_second": 0 }),
        ] {
            server.post(redrive, &bad).await.problem(400, "malformed");
        }
    });
}

#[test]
fn a_redrive_is_idempotent_with_a_key() {
    on_both_stores(async |server| {
        for _ in 0..2 {
            a_dead_one(&server, json!({ "type": "a" }), json!({})).await;
        }
        let redrive = async || {
            let request = server.request("POST", "/api/dead-letters/redrive").idempotent("k");
            let answer = request.json(&json!({ "filter": {} })).send().await.expect(200);
            column(&answer["results"], "ok").iter().map(|job| job["id"].clone()).collect::<Vec<_>>()
        };
        let (first, second) = (redrive().await, redrive().await);
        assert_eq!((first.len(), &first), (2, &second));
        assert_eq!(rows(&server.read("/api/jobs?phase=ready").await["jobs"]).len(), 2);
    });
}

#[test]
fn a_bulk_action_applies_to_every_matching_job() {
    on_both_stores(async |server| {
        for kind in ["a", "a", "b"] {
            server.create(json!({ "type": kind })).await;
        }
        let act = async |body: Value| server.post("/api/jobs/actions", &body).await;
        let answer = act(json!({ "action": "cancel", "filter": { "type": "a" } })).await.expect(200);
        let jobs = column(&answer["results"], "ok");
        assert_eq!(column(&json!(jobs), "state"), ["cancelled", "cancelled"]);
        assert_eq!(field_names(&jobs[0]), sorted_words(JOB));
        let left = server.read("/api/jobs?phase=ready").await;
        assert_eq!(column(&left["jobs"], "type"), ["b"]);

        let answer =
            act(json!({ "action": "retry", "filter": { "outcome": "cancelled" } })).await.expect(200);
        assert_eq!(column(&json!(column(&answer["results"], "ok")), "state"), ["queued", "queued"]);

        // One that cannot be done spoils no other.
        let answer = act(json!({ "action": "retry", "filter": { "type": "a" } })).await.expect(200);
        let results = rows(&answer["results"]);
        let (good, bad): (Vec<&Value>, Vec<&Value>) = results.iter().partition(|row| row["ok"].is_object());
        assert_eq!((good.len(), bad.len()), (2, 2));
        assert!(bad.iter().all(|row| row["error"]["code"] == "invalid_transition"));

        server.claim_one().await;
        let hard = json!({ "action": "cancel", "filter": { "phase": "active" }, "mode": "hard" });
        let answer = act(hard).await.expect(200);
        assert_eq!(answer["results"][0]["ok"]["state"], "cancelled");
        for bad in [
            json!({ "action": "burn", "filter": {} }),
            json!({ "action": "cancel" }),
            json!({ "action": "cancel", "filter": { "colour": "red" } }),
            json!({ "action": "retry", "filter": {}, "mode": "hard" }),
        ] {
            act(bad).await.problem(400, "malformed");
        }
    });
}

#[test]
fn queues_are_listed_with_their_depth() {
    on_both_stores(async |server| {
        for queue in ["day", "day", "night"] {
            server.create(json!({ "type": "a", "queue": queue })).await;
        }
        server.claim(json!({ "worker": "w", "queues": ["day"], "max": 1 })).await;
        server.post("/api/queues/night/pause", &json!({})).await.expect(200);
        server.request("POST", "/api/queues/night/pause").send().await.expect(200);
        let page = server.read("/api/queues").await;
        assert_eq!(field_names(&page), ["next_cursor", "queues"]);
        let rows = rows(&page["queues"]);
        let find = |name: &str| rows.iter().find(|row| row["name"] == name).cloned().expect("it is listed");
        assert_eq!((&find("day")["ready"], &find("day")["running"]), (&json!(1), &json!(1)));
        assert_eq!((&find("day")["paused"], &find("night")["paused"]), (&json!(false), &json!(true)));
        assert_eq!(find("night")["ready"], 1);
        server.post("/api/queues/night/resume", &json!({})).await.expect(200);
        let page = server.read("/api/queues").await;
        assert!(column(&page["queues"], "paused").iter().all(|paused| paused == false));
    });
}

#[test]
fn active_lifecycles_types_and_settings_are_shown() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let page = server.read("/api/types").await;
        assert_eq!(field_names(&page), ["next_cursor", "types"]);
        let mut names: Vec<Value> = column(&page["types"], "name");
        names.sort_by_key(Value::to_string);
        assert_eq!(names, ["*", "review"]);
        let lease = column(&page["types"], "lease");
        assert!(lease.iter().all(Value::is_string), "spans are strings: {lease:?}");

        let page = server.read("/api/lifecycles").await;
        assert_eq!(field_names(&page), ["lifecycles", "next_cursor"]);
        let names = column(&page["lifecycles"], "name");
        for name in ["distributed", "engine", "image", "pattern", "review", "so1"] {
            assert!(names.contains(&json!(name)), "{name}");
            let one = server.read(&format!("/api/lifecycles/{name}")).await;
            assert_fields(&one, json!({ "name": name, "version": 1 }));
            let source = one["source"].as_str().unwrap();
            let read = Lifecycle::parse(source).expect("what is in force passes its check");
            assert_eq!(read.name, name, "whoever asks can draw it");
            assert!(name != "review" || source == REVIEW, "the file itself, comments and all");
            let svg = server.get(&format!("/api/lifecycles/{name}/diagram.svg")).await;
            assert_eq!((svg.status, svg.header("content-type")), (200, Some("image/svg+xml")));
            assert!(svg.text.contains("<svg") && svg.text.trim_end().ends_with("</svg>"), "{}", svg.text);
        }
        server.get("/api/lifecycles/none").await.problem(404, "not_found");
        server.get("/api/lifecycles/none/diagram.svg").await.problem(404, "not_found");
    });
}

#[test]
fn credits_are_reserved_settled_and_refunded() {
    on_both_stores_with_config(PAID, async |server| {
        let account = "/api/accounts/u1/credits";
        let empty = server.read(account).await;
        assert_fields(&empty, json!({ "available": 0, "ledger": [] }));
        let paint = async |prompt: &str| {
            let body = json!({ "type": "paid", "user_id": "u1", "payload": { "prompt": prompt } });
            server.post("/api/jobs", &body).await
        };
        let problem = paint("a").await.problem(402, "insufficient_credits");
        assert_fields(&problem, json!({ "cost": 2, "available": 0 }));
        let granted = server.post(account, &json!({ "grant": 5, "reason": "welcome" })).await.expect(200);
        let sums =
            |account: &Value| ["granted", "reserved", "spent", "available"].map(|sum| account[sum].as_u64());
        assert_eq!(sums(&granted), [5, 0, 0, 5].map(Some));

        let job = paint("a").await.expect(202);
        assert_eq!(sums(&server.read(account).await), [5, 2, 0, 3].map(Some));
        // The same prompt in the same minute is the same job, and costs nothing.
        let again = paint("a").await;
        assert_eq!(again.expect_replay()["id"], job["id"]);
        let taken = server.claim_one().await;
        server.report(&taken, "succeed", json!({ "result": { "url": "x" } })).await.expect(200);
        assert_eq!(sums(&server.read(account).await), [5, 0, 2, 3].map(Some));

        paint("b").await.expect(202);
        let short = paint("c").await.problem(402, "insufficient_credits");
        assert_eq!(short["available"], 1);
        let taken = server.claim_one().await;
        let dead = server.report(&taken, "fail", json!({ "error": {} })).await.expect(200);
        assert_eq!(dead["outcome"], "dead");
        let account = server.read(account).await;
        assert_eq!(sums(&account), [5, 0, 2, 3].map(Some));
        assert_eq!(column(&account["ledger"], "kind"), ["grant", "reserve", "settle", "reserve", "refund"]);
        assert_eq!(column(&account["ledger"], "amount"), [5, 2, 2, 2, 2]);
        for line in rows(&account["ledger"]) {
            assert_eq!(field_names(line), sorted_words("id ts kind amount job_id reason"));
        }
        assert_eq!(account["ledger"][0]["reason"], "welcome");
        assert_eq!(
            (&account["ledger"][0]["job_id"], &account["ledger"][1]["job_id"]),
            (&Value::Null, &job["id"])
        );
    });
}

#[test]
fn a_grant_is_idempotent_and_limited() {
    on_both_stores(async |server| {
        let grant = async || {
            let body = json!({ "grant": 3, "reason": "r" });
            server.request("POST", "/api/accounts/u/credits").idempotent("g").json(&body).send().await
        };
        assert_eq!(grant().await.expect(200)["granted"], 3);
        assert_eq!(grant().await.expect(200)["granted"], 3);
        for bad in [
            json!({ "grant": 0, "reason": "" }),
            json!({ "grant": -1, "reason": "" }),
            json!({ "grant": 1.5 }),
        ] {
            server.post("/api/accounts/u/credits", &bad).await.problem(400, "malformed");
        }
        assert_eq!(server.read("/api/accounts/u/credits").await["granted"], 3);
    });
}

#[test]
fn credits_never_go_below_zero_under_concurrency() {
    on_both_stores_with_config(PAID, async |server| {
        server.post("/api/accounts/u1/credits", &json!({ "grant": 10, "reason": "r" })).await.expect(200);
        let server = std::sync::Arc::new(server);
        let mut asks = tokio::task::JoinSet::new();
        for index in 0..20 {
            let server = std::sync::Arc::clone(&server);
            asks.spawn(async move {
                let body = json!({ "type": "paid", "user_id": "u1", "payload": { "prompt": index } });
                server.post("/api/jobs", &body).await.status
            });
        }
        let mut statuses = Vec::new();
        while let Some(status) = asks.join_next().await {
            statuses.push(status.unwrap());
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [[202; 5].as_slice(), [402; 15].as_slice()].concat());
        assert_eq!(server.read("/api/accounts/u1/credits").await["available"], 0);
    });
}

#[test]
fn every_operator_action_is_in_the_audit_log() {
    on_both_stores_with_files(REVIEW_FILES, async |server| {
        let mut expected: Vec<(&str, Value, Value)> = Vec::new();
        let job = server.create(json!({ "type": "a" })).await;
        server.call(&job, "cancel", &json!({ "reason": "why" })).await.expect(200);
        expected.push(("cancel", job["id"].clone(), json!("why")));
        let again = server.call(&job, "retry", &json!({})).await.expect(202);
        expected.push(("retry", job["id"].clone(), Value::Null));
        let body = json!({ "reason_code": "timeout", "detail": "slow" });
        server.call(&again, "dead-letter", &body).await.expect(200);
        expected.push(("dead-letter", again["id"].clone(), json!("slow")));
        server.post("/api/dead-letters/redrive", &json!({ "ids": [again["id"]] })).await.expect(200);
        expected.push(("retry", again["id"].clone(), Value::Null));
        let dismiss = format!("/api/dead-letters/{}/dismiss", again["id"].as_str().unwrap());
        server.post(&dismiss, &json!({ "reason": "known" })).await.expect(200);
        expected.push(("dismiss", again["id"].clone(), json!("known")));
        server.post("/api/queues/night/pause", &json!({})).await.expect(200);
        expected.push(("pause", Value::Null, json!("night")));
        server.post("/api/queues/night/resume", &json!({})).await.expect(200);
        expected.push(("resume", Value::Null, json!("night")));
        server.post("/api/accounts/u/credits", &json!({ "grant": 1, "reason": "gift" })).await.expect(200);
        expected.push(("grant", Value::Null, json!("1 for u: gift")));
        server
            .post(
                "/api/jobs/actions",
                &json!({ "action": "cancel", "filter": { "type": "a", "phase": "ready" } }),
            )
            .await
            .expect(200);
        let page = server.read("/api/audit").await;
        assert_eq!(field_names(&page), ["audit", "next_cursor"]);
        let lines = rows(&page["audit"]);
        assert!(
            lines.iter().all(|line| field_names(line) == sorted_words("id ts action actor job_id reason")),
            "{page}"
        );
        assert!(
            lines.iter().all(|line| line["actor"].as_str().is_some_and(|actor| actor.starts_with("admin")))
        );
        for (action, job, reason) in expected {
            let is_it =
                |line: &&Value| line["action"] == action && line["job_id"] == job && line["reason"] == reason;
            assert!(lines.iter().any(|line| is_it(&line)), "{action} {job} {reason}: {page}");
        }
        assert_eq!(lines.iter().filter(|line| line["action"] == "cancel").count(), 2, "a bulk action too");
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = server.read(&format!("/api/audit?limit=2{cursor}")).await;
            seen.extend(rows(&page["audit"]).iter().cloned());
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(&seen, lines);
    });
}

#[test]
fn statistics_count_open_and_finished_jobs() {
    on_both_stores(async |server| {
        for _ in 0..3 {
            server.create_finished(json!({ "type": "a" })).await;
        }
        server.create(json!({ "type": "b" })).await;
        let is_counted = |stats: &Value| {
            let finished = rows(&stats["types"]).iter().find(|row| row["type"] == "a");
            let queued = rows(&stats["counts"]).iter().any(|row| row["type"] == "b");
            queued && finished.is_some_and(|row| row["finished"] == 3)
        };
        let counted = async || is_counted(&server.read("/api/stats").await);
        eventually("everything is counted", counted).await;
        let stats = server.read("/api/stats").await;
        let counts = rows(&stats["counts"]);
        let count = |kind: &str, state: &str| {
            let row = counts.iter().find(|row| row["type"] == kind && row["state"] == state);
            row.map(|row| (row["lifecycle"].clone(), row["count"].clone()))
        };
        assert_eq!(count("a", "succeeded"), Some((json!("distributed"), json!(3))));
        assert_eq!(count("b", "queued"), Some((json!("distributed"), json!(1))));
        let types = rows(&stats["types"]);
        let finished = types.iter().find(|row| row["type"] == "a").expect("what was finished");
        assert_fields(&finished, json!({ "finished": 3, "outcomes": { "succeeded": 3 } }));
        assert!(finished["rate"].as_f64().is_some_and(|rate| rate > 0.0));
        for spans in ["wait_ms", "run_ms"] {
            assert_eq!(field_names(&finished[spans]), ["p50", "p95", "p99"]);
            assert!(finished[spans].as_object().unwrap().values().all(Value::is_u64), "{finished}");
        }
    });
}

#[test]
fn a_bulk_action_applies_to_thousands_of_jobs() {
    on_both_stores(async |server| {
        let many = json!({ "jobs": vec![json!({ "type": "a" }); 1300] });
        server.post("/api/jobs/batch", &many).await.expect(200);
        let cancel = json!({ "action": "cancel", "filter": { "type": "a" } });
        let answer = server.post("/api/jobs/actions", &cancel).await.expect(200);
        assert_eq!(answer["next_cursor"], Value::Null);
        let done: std::collections::BTreeSet<String> = rows(&answer["results"])
            .iter()
            .filter(|row| row["ok"]["state"] == "cancelled")
            .map(|row| row["job_id"].to_string())
            .collect();
        assert_eq!(done.len(), 1300);
        assert!(server.claim(json!({ "worker": "w", "max": 1 })).await.is_empty());
    });
}

#[tokio::test]
async fn a_worker_seen_by_one_node_is_listed_by_the_other() {
    let one = Server::postgres().await;
    let two = one.second_node().await;
    one.create(json!({ "type": "a" })).await;
    let taken = one.claim_one().await;
    let page = two.read("/api/workers").await;
    let held = rows(&page["workers"]).iter().find(|row| row["name"] == "w1");
    assert_eq!(held.expect("who holds something is listed at once")["holds"][0]["job_id"], taken["id"]);
    eventually("it was seen", async || {
        let page = two.read("/api/workers").await;
        rows(&page["workers"]).iter().any(|row| row["name"] == "w1" && row["seen_at"].is_string())
    })
    .await;
    two.succeed(&taken).await;
}

#[test]
fn a_redrive_by_filter_applies_to_every_dead_letter() {
    const LETTERS: usize = 520;
    on_both_stores(async |server| {
        let many = json!({ "jobs": vec![json!({ "type": "a" }); LETTERS] });
        let made = server.post("/api/jobs/batch", &many).await.expect(200);
        for job in column(&made["results"], "ok") {
            let body = json!({ "reason_code": "dependency_unavailable", "detail": "down" });
            server.call(&job, "dead-letter", &body).await.expect(200);
        }
        let filter = json!({ "filter": { "reason_code": "dependency_unavailable" } });
        let answer = server.post("/api/dead-letters/redrive", &filter).await.expect(200);
        let of: std::collections::BTreeSet<String> =
            column(&answer["results"], "ok").iter().map(|job| job["retry_of"].to_string()).collect();
        assert_eq!(of.len(), LETTERS);
        assert_eq!(server.claim(json!({ "worker": "w", "max": 1000 })).await.len(), LETTERS);
    });
}
