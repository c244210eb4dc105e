//! Requests on jobs and by operators that are invalid or impossible.

use serde_json::json;
use tenure_e2e::on_both_stores_with_config;

use super::{ANY, CONFIG, Jobs, NONE, Row, get, lines, malformed, post, prepare, refuse_all};

/// Jobs that cannot be created, and calls that the existing ones refuse.
fn job_rows(jobs: &Jobs) -> Vec<Row> {
    let Jobs { ready, held, done, .. } = jobs;
    let of = |job: &str, rest: &str| format!("/api/jobs/{job}{rest}");
    let large = format!(r#"{{"type":"plain","payload":"{}"}}"#, "x".repeat(40_000));
    let dead = r#"{"reason_code":"timeout","detail":"x"}"#;
    let create = |body: &str, status, code| post("/api/jobs", body, status, code);
    let guarded = r#"{"type":"picture","payload":{"prompt":"much too long"},"user_id":"u1"}"#;
    let priced = r#"{"type":"picture","payload":{"prompt":"a"},"user_id":"u1"}"#;
    let mut rows = vec![
        create(r#"{"type":"undeclared"}"#, 422, "unknown_type"),
        create(r#"{"type":"plain","lifecycle":"engine"}"#, 422, ANY),
        create(r#"{"type":"picture"}"#, 422, "validation_failed"),
        create(r#"{"type":"picture","payload":null}"#, 422, "validation_failed"),
        create(r#"{"type":"picture","payload":{"prompt":7}}"#, 422, "validation_failed"),
        create(guarded, 422, "guard_rejected"),
        create(priced, 402, "insufficient_credits"),
        create(&large, 413, "too_large"),
        post(of(done, "/cancel"), "{}", 409, "invalid_transition"),
        post(of(done, "/dead-letter"), dead, 409, "invalid_transition"),
        post(of(ready, "/retry"), "", 409, "invalid_transition"),
        post(of(held, "/retry"), "", 409, "invalid_transition"),
        post(of(ready, "/signals/approve"), "", 409, "invalid_transition"),
        post(of(NONE, "/cancel"), "", 404, "not_found"),
        post(of(NONE, "/retry"), "", 404, "not_found"),
        post(of(NONE, "/signals/approve"), "", 404, "not_found"),
        post(of(NONE, "/dead-letter"), dead, 404, "not_found"),
        post(format!("/api/dead-letters/{ready}/dismiss"), r#"{"reason":"x"}"#, 404, "not_found"),
        post("/api/keys", r#"{"role":"viewer"}"#, 422, "validation_failed"),
        get("/api/lifecycles/undeclared", 404, "not_found"),
        get("/api/lifecycles/undeclared/diagram.svg", 404, "not_found"),
        get("/problems/undeclared", 404, "not_found"),
    ];
    for rest in ["", "/events", "/replay", "/explain", "/logs", "/stream"] {
        rows.push(get(of(NONE, rest), 404, "not_found"));
        for id in ["7", "not-a-uuid", &NONE[..35], &NONE.replace('-', "")] {
            rows.push(get(of(id, rest), 400, "malformed"));
        }
    }
    rows
}

/// Invalid queries. READY and DONE are jobs.
const QUERIES: &str = include_str!("queries.txt");

/// Paths and invalid bodies. READY is a job.
const BODIES: &str = include_str!("requests.txt");

/// Requests that are invalid for any job.
fn request_rows(jobs: &Jobs) -> Vec<Row> {
    let named = |text: &str| text.replace("READY", &jobs.ready).replace("DONE", &jobs.done);
    let mut rows: Vec<Row> = lines(QUERIES).map(|path| get(named(path), 400, "malformed")).collect();
    rows.extend(lines(BODIES).map(|line| {
        let (path, body) = line.split_once(' ').unwrap();
        malformed(&named(path), body)
    }));
    let list = |before: &str, item: &str, times: usize| {
        format!("{before}{}{item}]}}", format!("{item},").repeat(times))
    };
    rows.push(malformed("/api/jobs/batch", list(r#"{"jobs":["#, "0", 10_000)));
    rows.push(malformed("/api/reports", list(r#"{"worker":"w1","reports":["#, "0", 10_000)));
    rows.push(malformed("/api/dead-letters/redrive", list(r#"{"ids":["#, &format!("\"{NONE}\""), 10_000)));
    rows.push(malformed("/api/claims", list(r#"{"worker":"w2","types":["#, "\"x\"", 1000)));
    rows.push(malformed(&format!("/api/queues/{}/pause", "q".repeat(256)), ""));
    let reason = json!({ "reason": "x".repeat(16_385) }).to_string();
    rows.push(malformed(&named("/api/jobs/READY/cancel"), reason));
    rows
}

#[test]
fn invalid_job_and_operator_requests_are_refused() {
    on_both_stores_with_config(CONFIG, async |server| {
        let jobs = prepare(&server).await;
        refuse_all(&server, &jobs, job_rows(&jobs)).await;
        refuse_all(&server, &jobs, request_rows(&jobs)).await;
    });
}
