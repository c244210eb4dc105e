//! engine: strict dispatch with a timeout in every state, over HTTP. The same over the socket is in `tests/socket`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tenure_e2e::{Server, assert_fields, column, eventually, millis, on_both_stores_with_config, path, rows};

use super::{assert_timestamps, check_transitions, claim, claim_started, history, new_job};

const CONFIG: &str = include_str!("../fixtures/promise_engine.toml");

/// Each state with the triggers that lead there, then every allowed transition.
const TABLE: &str = include_str!("engine.txt");

#[test]
fn the_four_valid_transitions_happen_and_all_others_are_rejected() {
    on_both_stores_with_config(CONFIG, async |server| check_transitions(&server, "scene", TABLE).await);
}

/// Milliseconds from the entry of the current state until its timeout; later on a busy machine.
async fn limit(server: &Server, job: &Value) -> i64 {
    let explained = server.read(&path(job, "explain")).await;
    let clocks = rows(&explained["clocks"]);
    let timeout = clocks.iter().find(|clock| clock["trigger"] == "timeout").expect("every state has a limit");
    let job = server.job(job).await;
    millis(&timeout["at"]) - millis(&job["entered"][job["state"].as_str().unwrap()])
}

#[test]
fn each_state_has_its_documented_timeout() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = new_job(&server, "scene", json!({})).await;
        assert!((30_000..40_000).contains(&limit(&server, &job).await));
        let held = claim(&server, &job, "engine_01").await.remove(0);
        assert!((10_000..20_000).contains(&limit(&server, &job).await));
        server.report(&held, "start", json!({})).await.expect(200);
        assert!((60_000..70_000).contains(&limit(&server, &job).await));
    });
}

/// A job in this state, whose engine sends nothing more.
async fn abandoned(server: &Server, kind: &str) -> Value {
    let job = new_job(server, kind, json!({})).await;
    match kind {
        "short_queue" => {}
        "short_dispatch" => drop(claim(server, &job, "engine_01").await),
        _ => drop(claim_started(server, &job, "engine_01").await),
    }
    eventually("it has failed", async || server.job(&job).await["state"] == "failed").await;
    server.job(&job).await
}

#[test]
fn every_failure_has_a_state_a_reason_an_event_a_metric_and_a_log_line() {
    on_both_stores_with_config(CONFIG, async |server| {
        let reported = new_job(&server, "scene", json!({})).await;
        let held = claim(&server, &reported, "engine_01").await.remove(0);
        server.report(&held, "start", json!({})).await.expect(200);
        let error = json!({ "code": "BAD_ASSET", "message": "corrupted_texture.png" });
        let reported = server.report(&held, "fail", json!({ "error": error })).await.expect(200);
        assert_eq!(reported["error"]["text"], "BAD_ASSET: corrupted_texture.png");
        let cases = [
            (reported, "BAD_ASSET", "engine"),
            (abandoned(&server, "short_queue").await, "QUEUE_TIMEOUT", "queue"),
            (abandoned(&server, "short_dispatch").await, "DISPATCH_TIMEOUT", "system"),
            (abandoned(&server, "short_run").await, "RUN_TIMEOUT", "engine"),
            (abandoned(&server, "fragile").await, "HEARTBEAT_LOST", "system"),
        ];
        let metrics = server.get("/metrics").await.text;
        for (job, code, category) in cases {
            assert_eq!((&job["state"], &job["outcome"]), (&json!("failed"), &json!("failed")), "{code}");
            assert_fields(&job["error"], json!({ "code": code, "category": category }));
            assert_timestamps(&job);
            let last = history(&server, &job).await.pop().unwrap();
            assert_eq!((&last["type"], &last["to"]), (&json!("JOB_FAILED"), &json!("failed")), "{code}");
            let counted = format!("tenure_failures_total{{category=\"{category}\",");
            let lines = metrics.lines().filter(|line| line.starts_with(&counted));
            let count: f64 = lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum();
            assert!(count >= 1.0, "{code}: {metrics}");
            let (logs, id) = (server.logs(), job["id"].as_str().unwrap());
            assert!(logs.lines().any(|line| line.contains(id) && line.contains(code)), "{code}: {logs}");
        }
    });
}

#[test]
fn an_engine_without_heartbeats_fails_all_of_its_jobs() {
    on_both_stores_with_config(CONFIG, async |server| {
        let mut jobs = Vec::new();
        for _ in 0..3 {
            let job = new_job(&server, "fragile", json!({})).await;
            claim_started(&server, &job, "engine_01").await;
            jobs.push(job);
        }
        for job in &jobs {
            eventually("it has failed", async || server.job(job).await["state"] == "failed").await;
            let finished = server.job(job).await;
            assert_fields(&finished, json!({ "/error/code": "HEARTBEAT_LOST", "worker": "engine_01" }));
        }
    });
}

#[test]
fn every_job_is_queued_once_and_completes_or_fails_once_in_the_journal() {
    const JOBS: usize = 60;
    on_both_stores_with_config(CONFIG, async |server| {
        let server = std::sync::Arc::new(server);
        let mut lives = tokio::task::JoinSet::new();
        for n in 0..JOBS {
            let server = std::sync::Arc::clone(&server);
            lives.spawn(async move {
                let job = new_job(&server, "scene", json!({})).await;
                let held = claim(&server, &job, &format!("engine_{n}")).await.remove(0);
                server.report(&held, "start", json!({})).await.expect(200);
                server.report(&held, "progress", json!({ "progress": 50 })).await.expect(200);
                let (verb, more) =
                    if n % 3 == 0 { ("fail", json!({ "error": {} })) } else { ("succeed", json!({})) };
                server.report(&held, verb, more).await.expect(200);
            });
        }
        lives.join_all().await;
        let mut kinds_by_job: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for event in server.journal().await {
            let kind = event["type"].as_str().unwrap().to_owned();
            kinds_by_job.entry(event["job_id"].to_string()).or_default().push(kind);
        }
        assert_eq!(kinds_by_job.len(), JOBS);
        let ends = |end: &str| {
            let whole = ["JOB_QUEUED", "JOB_DISPATCHED", "JOB_RUNNING", end];
            kinds_by_job.values().filter(|kinds| **kinds == whole).count()
        };
        assert_eq!((ends("JOB_FAILED"), ends("JOB_COMPLETED")), (JOBS / 3, JOBS - JOBS / 3));
    });
}

#[test]
fn a_finished_job_has_every_timestamp_and_progress() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = new_job(&server, "scene", json!({})).await;
        let held = claim(&server, &job, "engine_local_01").await.remove(0);
        server.report(&held, "start", json!({})).await.expect(200);
        let half = server.report(&held, "progress", json!({ "progress": 40 })).await.expect(200);
        assert_fields(&half, json!({ "state": "running", "progress": 40 }));
        let finished = server.report(&held, "succeed", json!({ "result": { "scene": 1 } })).await.expect(200);
        let entered: Vec<i64> = ["queued", "dispatched", "running", "completed"]
            .iter()
            .map(|state| millis(&finished["entered"][*state]))
            .collect();
        assert!(entered.is_sorted(), "{finished}");
        assert_eq!((&finished["worker"], &finished["retry_count"]), (&json!("engine_local_01"), &json!(0)));
        assert_eq!((&finished["error"], &finished["result"]), (&Value::Null, &json!({ "scene": 1 })));
        assert_timestamps(&finished);
        let mixed = server.read(&path(&job, "events?telemetry=true")).await;
        let kinds = column(&mixed["events"], "type");
        assert!(
            kinds.iter().any(|kind| kind.as_str().unwrap().eq_ignore_ascii_case("job_progress")),
            "{kinds:?}"
        );
    });
}

#[test]
fn the_old_names_of_states_still_find_their_jobs() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = new_job(&server, "scene", json!({})).await;
        let found = async |state: &str| {
            let page = server.read(&format!("/api/jobs?lifecycle=engine&state={state}")).await;
            column(&page["jobs"], "id")
        };
        assert_eq!(found("queued").await, [job["id"].clone()]);
        let held = claim(&server, &job, "engine_01").await.remove(0);
        server.report(&held, "start", json!({})).await.expect(200);
        assert_eq!(
            (found("started").await, found("running").await),
            (vec![job["id"].clone()], vec![job["id"].clone()])
        );
        server.succeed(&held).await;
        assert_eq!(
            (found("finished").await, found("completed").await),
            (vec![job["id"].clone()], vec![job["id"].clone()])
        );
        assert_eq!(found("started").await, Vec::<Value>::new());
    });
}
