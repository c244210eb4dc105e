//! Answers about many large jobs, and jobs with a long history: they are limited in bytes.

use serde_json::{Value, json};
use tenure_e2e::{Server, column, id, on_both_stores, on_both_stores_with_config, path, rows};

const ONE_ATTEMPT: &str = "[types.a]\nlifecycle = \"distributed\"\nmax_attempts = 1\n";
const JOBS: usize = 24;

/// Half a mebibyte.
fn large_text() -> String {
    "x".repeat(1 << 19)
}

/// Checks that each result is there, in order, and that those beyond the limit have only their ids.
fn check_brief(answer: &Value, of: &str, ids: &[Value]) {
    let results = rows(&answer["results"]);
    assert_eq!(results.len(), ids.len(), "one result for each job");
    let whole = results.iter().take_while(|result| !result["ok"][of].is_null()).count();
    assert!((1..results.len()).contains(&whole), "{whole} of {} have their {of}", results.len());
    assert!(results[whole..].iter().all(|result| result["ok"]["id"].is_string()), "{:?}", results[whole]);
    assert!(results[whole..].iter().all(|result| result["ok"]["state"].is_null()), "{:?}", results[whole]);
    let bytes = answer.to_string().len();
    assert!(bytes < 10 << 20, "{bytes} bytes");
}

#[test]
fn a_batch_that_finds_large_jobs_by_their_keys_has_the_last_ones_in_brief() {
    on_both_stores(async |server| {
        let jobs: Vec<Value> = (0..JOBS)
            .map(|n| json!({ "type": "a", "payload": n, "idempotency_key": format!("k{n}") }))
            .collect();
        let body = json!({ "jobs": jobs });
        let created = server.post_ok("/api/jobs/batch", &body).await;
        let ids: Vec<Value> = rows(&created["results"]).iter().map(|it| it["ok"]["id"].clone()).collect();
        for _ in 0..JOBS {
            let held = server.claim_next().await;
            server.report_ok(&held, "succeed", json!({ "result": large_text() })).await;
        }
        let again = server.post_ok("/api/jobs/batch", &body).await;
        check_brief(&again, "result", &ids);
        let found: Vec<Value> = rows(&again["results"]).iter().map(|it| it["ok"]["id"].clone()).collect();
        assert_eq!(found, ids, "the same jobs, in order");
        assert!(
            rows(&again["results"]).iter().all(|it| it["ok"]["replayed"] == true),
            "{:?}",
            again["results"][0]
        );
    });
}

#[test]
fn a_batch_of_new_large_jobs_is_answered_with_all_of_them() {
    on_both_stores(async |server| {
        let new =
            |n: usize| json!({ "type": "a", "payload": large_text(), "idempotency_key": format!("k{n}") });
        let body = json!({ "jobs": (0..JOBS).map(new).collect::<Vec<_>>() });
        for replayed in [json!(null), json!(true)] {
            let answer = server.post_ok("/api/jobs/batch", &body).await;
            let results = rows(&answer["results"]);
            assert!(
                results.iter().all(|it| it["ok"]["payload"].is_string() && it["ok"]["replayed"] == replayed)
            );
        }
    });
}

async fn create_dead_letters(server: &Server) -> Vec<Value> {
    let mut dead = Vec::new();
    for _ in 0..JOBS {
        let job = server.create_claimed(json!({ "type": "a", "payload": large_text() })).await;
        server.report_ok(&job, "fail", json!({ "error": { "code": "E", "message": "m" } })).await;
        dead.push(job["id"].clone());
    }
    dead
}

#[test]
fn a_redrive_of_large_jobs_has_the_last_ones_in_brief() {
    on_both_stores_with_config(ONE_ATTEMPT, async |server| {
        let dead = create_dead_letters(&server).await;
        for body in [json!({ "filter": { "type": "a" } }), json!({ "ids": dead })] {
            let answer = server.post_ok("/api/dead-letters/redrive", &body).await;
            assert_eq!(answer["redriven"], JOBS);
            check_brief(&answer, "payload", &dead);
            let mut named = column(&answer["results"], "job_id");
            named.sort_by_key(ToString::to_string);
            assert_eq!(named, dead, "each dead letter once");
        }
        assert_eq!(server.all_pages("/api/jobs?type=a&phase=ready", "jobs").await.len(), 2 * JOBS);
    });
}

#[test]
fn a_job_with_a_long_history_is_shown_folded_and_sent_in_pages() {
    on_both_stores_with_config(
        "[types.a]\nlifecycle = \"distributed\"\nmax_attempts = 100\n",
        async |server| {
            let job = server.create(json!({ "type": "a" })).await;
            for _ in 0..JOBS {
                let held = server.claim_next().await;
                server.report_ok(&held, "release", json!({ "checkpoint": large_text() })).await;
            }
            let last = server.job(&job).await;
            let seq = last["seq"].as_u64().unwrap();
            let page = server.get(&format!("/ui/jobs/{}", id(&job))).await.text;
            assert!(page.contains("The history is long"), "12 MB of events are not read for a page");
            assert!(page.contains(&format!("of {seq} events")), "the last ones are shown");
            let text = server.get(&format!("/ui/jobs/{}/text/history", id(&job))).await.text;
            let numbers: Vec<u64> = text
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64())
                .collect();
            assert_eq!(numbers, (1..=seq).collect::<Vec<_>>(), "the whole history as text");
            for at in [1, seq / 2, seq] {
                let folded = server.read(&path(&job, &format!("replay?seq={at}"))).await;
                assert_eq!(folded["seq"], at);
            }
            assert_eq!(server.read(&path(&job, "replay")).await["state"], last["state"]);
        },
    );
}
