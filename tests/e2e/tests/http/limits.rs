//! Limits: the creation rate of a user, bytes of claims and pages, memory, overload.

use serde_json::{Value, json};
use tenure_e2e::{
    Server, Setup, Store, column, eventually, in_time, on_both_stores, on_both_stores_with_config, path, rows,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[test]
fn the_creation_rate_of_a_user_is_limited_and_repeats_do_not_count() {
    on_both_stores_with_config("[limits]\ncreations_per_second = 3\n", async |server| {
        let jobs = (0..10).map(|n| json!({ "type": "a", "user_id": "u1", "payload": n }));
        let body = json!({ "jobs": jobs.collect::<Vec<_>>() });
        let ask = async || {
            let answer = server.post_keyed("k", "/api/jobs/batch", &body).await.expect(200);
            rows(&answer["results"]).to_vec()
        };
        let ids = |results: &[Value]| -> Vec<Value> {
            results.iter().map(|result| result["ok"]["id"].clone()).filter(Value::is_string).collect()
        };
        let first = ask().await;
        assert_eq!(ids(&first).len(), 3, "{first:?}");
        let limited = first.iter().filter(|result| result["error"]["code"] == "rate_limited").count();
        assert_eq!(limited, 7);
        let again = ask().await;
        assert_eq!(ids(&again)[..3], ids(&first)[..], "what was made is found again, whatever the pace");
        server.post("/api/jobs", &json!({ "type": "a", "user_id": "u2" })).await.expect(202);
    });
}

#[test]
fn a_caller_over_the_rate_limit_gets_a_retry_after() {
    on_both_stores_with_config("[limits]\ncreations_per_second = 1\n", async |server| {
        let job = json!({ "type": "a", "user_id": "u1" });
        // On a slow machine too, two requests arrive within a second at some time.
        let refused = in_time("one too many", async {
            loop {
                let reply = server.post("/api/jobs", &job).await;
                if reply.status != 202 {
                    return reply;
                }
            }
        });
        let refused = refused.await;
        assert_eq!(refused.header("retry-after"), Some("1"));
        refused.problem(429, "rate_limited");
        eventually("it may again", async || server.post("/api/jobs", &job).await.status == 202).await;
    });
}

/// Creates 24 jobs with payloads of half a mebibyte.
async fn create_large_jobs(server: &Server) {
    let payload = "x".repeat(1 << 19);
    let jobs: Vec<Value> = (0..24).map(|n| json!({ "type": "large", "payload": [n, payload] })).collect();
    let answer = server.post("/api/jobs/batch", &json!({ "jobs": jobs })).await.expect(200);
    assert!(rows(&answer["results"]).iter().all(|result| result["ok"].is_object()), "{answer}");
}

#[test]
fn a_claim_of_large_jobs_returns_fewer_and_leaves_the_others_ready() {
    on_both_stores(async |server| {
        create_large_jobs(&server).await;
        let mut claimed = Vec::new();
        while claimed.len() < 24 {
            let body = json!({ "worker": "w1", "types": ["large"], "max": 100 });
            let answer = server.post("/api/claims", &body).await.expect(200);
            let jobs = column(&answer["jobs"], "id");
            assert!((1..24).contains(&jobs.len()), "{} jobs at once", jobs.len());
            claimed.extend(jobs);
        }
        claimed.sort_by_key(ToString::to_string);
        claimed.dedup();
        assert_eq!(claimed.len(), 24, "each job is claimed once");
    });
}

#[test]
fn concurrent_claims_of_large_jobs_all_get_one() {
    on_both_stores(async |server| {
        // More than one batch reads for its claims.
        for _ in 0..3 {
            create_large_jobs(&server).await;
        }
        let body = json!({ "worker": "w1", "types": ["large"], "max": 2 });
        let claims = (0..36).map(|_| server.post("/api/claims", &body));
        for reply in futures_util::future::join_all(claims).await {
            assert!(!rows(&reply.expect(200)["jobs"]).is_empty(), "a claim is empty although jobs are ready");
        }
    });
}

#[test]
fn a_page_of_large_jobs_has_fewer_rows_and_a_cursor() {
    on_both_stores(async |server| {
        create_large_jobs(&server).await;
        let first = server.read("/api/jobs?type=large&limit=500").await;
        assert!((1..24).contains(&rows(&first["jobs"]).len()));
        assert!(first["next_cursor"].is_string());
        assert_eq!(server.all_pages("/api/jobs?type=large&limit=500", "jobs").await.len(), 24);
    });
}

#[tokio::test]
async fn without_memory_creations_are_refused_and_running_work_ends() {
    for store in Store::ALL {
        let setup = Setup::new(store).await;
        let server = setup.clone().start().await;
        let job = server.create_claimed(json!({ "type": "a" })).await;
        drop(server);
        let server = setup.config("[limits]\nmemory = \"1 MiB\"\n").start().await;
        let body = json!({ "type": "a" });
        for (path, body) in [("/api/jobs", &body), ("/api/jobs/batch", &json!({ "jobs": [body] }))] {
            let refused = server.post(path, body).await;
            assert_eq!(refused.header("retry-after"), Some("1"));
            refused.problem(503, "overloaded");
        }
        // The declared body is never sent: the refusal does not wait for it.
        for path in ["/api/jobs/batch", "/jobs/batch"] {
            let head = "host: localhost\r\ncontent-type: application/json\r\ncontent-length: 100000";
            let refused = server.raw(format!("POST {path} HTTP/1.1\r\n{head}\r\n\r\n").as_bytes()).await;
            assert!(refused.starts_with("HTTP/1.1 503"), "{path}: {refused}");
        }
        let holder = json!({ "worker": job["worker"], "fence": job["lease"]["fence"] });
        server.post(&path(&job, "heartbeat"), &holder).await.expect(200);
        server.succeed(&job).await;
        server.read("/api/jobs").await;
    }
}

#[tokio::test]
async fn uploads_take_part_in_the_memory_budget() {
    let config = "[limits]\nmemory = \"256 MiB\"\n[assets]\nstore = \"file:./objects\"\n";
    let server = Server::with(config, Store::Sqlite).await;
    let job = server.create(json!({ "type": "a" })).await;
    let to = path(&job, "assets?asset_type=t");
    let head = format!("POST {to} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 20000000\r\n");
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut upload = TcpStream::connect(server.address()).await.unwrap();
        upload.write_all(format!("{head}expect: 100-continue\r\n\r\n").as_bytes()).await.unwrap();
        let mut begun = [0; 12];
        in_time("the body is asked for", upload.read_exact(&mut begun)).await.unwrap();
        assert_eq!(begun, *b"HTTP/1.1 100");
        open.push(upload);
    }
    let refused = server.raw(format!("{head}\r\n").as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
    server.request("POST", &to).bytes("small").send().await.expect(201);
    drop(open);
}

#[test]
fn a_flood_of_creations_leaves_heartbeats_answered() {
    on_both_stores(async |server| {
        let job = server.create_claimed(json!({ "type": "held" })).await;
        let jobs: Vec<Value> = (0..1000).map(|n| json!({ "type": "flood", "payload": n })).collect();
        let batch = json!({ "jobs": jobs });
        let holder = json!({ "worker": job["worker"], "fence": job["lease"]["fence"] });
        let flood = async {
            loop {
                let asks = (0..8).map(|_| server.post("/api/jobs/batch", &batch));
                for reply in futures_util::future::join_all(asks).await {
                    assert!([200, 503].contains(&reply.status), "{}", reply.text);
                }
            }
        };
        let heartbeats = async {
            for _ in 0..20 {
                server.post(&path(&job, "heartbeat"), &holder).await.expect(200);
            }
        };
        tokio::select! {
            () = flood => {}
            () = heartbeats => {}
        }
        server.succeed(&job).await;
    });
}

/// A text of half a mebibyte.
fn large_text() -> String {
    "x".repeat(1 << 19)
}

#[test]
fn a_page_of_large_log_lines_has_fewer_lines_and_a_cursor() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let lines: Vec<Value> = (0..100).map(|_| json!({ "text": "x".repeat(60_000) })).collect();
        for _ in 0..2 {
            server.call_ok(&job, "logs", &json!({ "lines": lines })).await;
        }
        let (mut numbers, mut after, mut pages) = (Vec::new(), "0".to_owned(), 0);
        loop {
            let page = server.read(&path(&job, &format!("logs?after={after}"))).await;
            numbers.extend(column(&page["lines"], "n"));
            pages += 1;
            let Some(next) = page["next_cursor"].as_str() else { break };
            next.clone_into(&mut after);
        }
        assert_eq!(numbers, (1..=200).map(|n| json!(n)).collect::<Vec<_>>());
        assert_eq!(pages, 2, "12 MB are more than one page");
        let mut log = server.stream(&path(&job, "stream"), None).await;
        for n in 1..=200 {
            assert_eq!(log.next().await.expect("a line").id, n.to_string());
        }
    });
}

#[test]
fn a_page_of_large_dead_letters_has_fewer_rows_and_a_cursor() {
    on_both_stores_with_config(
        "[types.a]\nlifecycle = \"distributed\"\nmax_attempts = 1\n",
        async |server| {
            let error = json!({ "code": "E", "message": "m", "details": large_text() });
            for _ in 0..24 {
                let job = server.create_claimed(json!({ "type": "a" })).await;
                server.report_ok(&job, "fail", json!({ "error": error })).await;
            }
            let first = server.read("/api/dead-letters?limit=500").await;
            assert!((1..24).contains(&rows(&first["dead_letters"]).len()));
            assert!(first["next_cursor"].is_string());
            assert_eq!(server.all_pages("/api/dead-letters?limit=500", "dead_letters").await.len(), 24);
            let redriven =
                server.post_ok("/api/dead-letters/redrive", &json!({ "filter": { "type": "a" } })).await;
            assert_eq!(redriven["redriven"], 24, "every page is redriven");
            server.get("/ui/errors").await;
        },
    );
}

#[test]
fn a_history_of_large_events_has_pages() {
    on_both_stores_with_config(
        "[types.a]\nlifecycle = \"distributed\"\nmax_attempts = 100\n",
        async |server| {
            let job = server.create(json!({ "type": "a" })).await;
            for _ in 0..20 {
                let held = server.claim_next().await;
                server.report_ok(&held, "release", json!({ "checkpoint": large_text() })).await;
            }
            for telemetry in ["false", "true"] {
                let base = path(&job, &format!("events?telemetry={telemetry}"));
                let first = server.read(&base).await;
                assert!(first["next_cursor"].is_string(), "10 MB of checkpoints are more than one page");
                let all = server.all_pages(&base, "events").await;
                let numbers: Vec<u64> = all.iter().filter_map(|event| event["seq"].as_u64()).collect();
                let last = server.job(&job).await["seq"].as_u64().unwrap();
                assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "each event is on one page, in order");
                assert!((1..all.len()).contains(&rows(&first["events"]).len()));
            }
            let cursor = path(&job, "events?cursor=nonsense");
            server.get(&cursor).await.problem(400, "malformed");
        },
    );
}

#[test]
fn a_large_answer_to_many_reports_has_the_last_jobs_in_brief() {
    on_both_stores(async |server| {
        create_large_jobs(&server).await;
        let mut jobs = Vec::new();
        while jobs.len() < 24 {
            jobs.extend(server.claim(json!({ "worker": "w1", "types": ["large"], "max": 100 })).await);
        }
        let report =
            |job: &Value| json!({ "job": job["id"], "fence": job["lease"]["fence"], "verb": "start" });
        let body = json!({ "worker": "w1", "reports": jobs.iter().map(report).collect::<Vec<_>>() });
        let answer = server.post_ok("/api/reports", &body).await;
        let results = rows(&answer["results"]);
        let ids: Vec<Value> = results.iter().map(|result| result["ok"]["id"].clone()).collect();
        assert_eq!(ids, column(&json!(jobs), "id"), "one result for each report, in order");
        let whole = results.iter().take_while(|result| result["ok"]["payload"].is_array()).count();
        assert!((1..24).contains(&whole), "{whole} of 24 jobs have their payload");
        let brief = &results[whole..];
        assert!(brief.iter().all(|result| result["ok"]["payload"].is_null()), "{:?}", brief[0]);
        assert!(answer.to_string().len() < 10 << 20, "{} bytes", answer.to_string().len());
        assert_eq!(server.list("type=large&state=running&limit=1").await.len(), 1);
    });
}

#[test]
fn a_bulk_action_on_large_jobs_ends_early_with_a_cursor() {
    on_both_stores(async |server| {
        create_large_jobs(&server).await;
        let mut body = json!({ "action": "cancel", "filter": { "type": "large" }, "dry_run": true });
        assert_eq!(server.post_ok("/api/jobs/actions", &body).await["matched"], 24);
        body["dry_run"] = json!(false);
        let (mut matched, mut requests) = (0, 0);
        loop {
            let answer = server.post_ok("/api/jobs/actions", &body).await;
            matched += answer["matched"].as_u64().unwrap();
            requests += 1;
            if answer["next_cursor"].is_null() {
                break;
            }
            body["cursor"] = answer["next_cursor"].clone();
        }
        assert_eq!(matched, 24, "each job once");
        assert!(requests > 1, "24 jobs with 12 MB are not one answer");
        assert_eq!(server.list("type=large&outcome=cancelled&limit=1").await.len(), 1);
    });
}
