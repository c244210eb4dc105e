//! distributed: one owner at a time, on a lease. Random faults are in `chaos`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use tenure_e2e::*;
use tokio::task::JoinSet;

use super::{assert_timestamps, check_transitions, claim, claim_started, new_job};
use crate::jobs::EVENT;

const CONFIG: &str = include_str!("../fixtures/promise_distributed.toml");

#[test]
fn the_allowed_transitions_happen_and_all_others_are_refused() {
    check_transitions(CONFIG, "index", include_str!("distributed.txt"));
}

/// The rank of a state within one attempt.
pub(crate) fn rank(state: &Value) -> u64 {
    match state.as_str().expect("a state has a name") {
        "queued" => 0,
        "assigned" => 1,
        "running" => 2,
        _ => 3,
    }
}

/// The invariants of every history: no step back, one owner at a time, one event per transition.
pub(crate) fn check_history(history: &[Value]) {
    let numbered: Vec<&Value> = history.iter().filter(|event| event["seq"].is_u64()).collect();
    let seqs = numbered.iter().map(|event| event["seq"].as_u64().unwrap());
    assert!(seqs.eq(1..=numbered.len() as u64), "numbered without a gap: {history:?}");
    for pair in numbered.windows(2) {
        let location = |event: &Value| (event["attempt"].as_u64().unwrap(), rank(&event["to"]));
        assert!(location(pair[0]) < location(pair[1]), "a step back: {history:?}");
        assert_eq!(pair[0]["to"], pair[1]["from"], "{history:?}");
        assert!(millis(&pair[0]["ts"]) <= millis(&pair[1]["ts"]), "{history:?}");
        let is_ready = pair[0]["payload"]["phase"] == "ready";
        assert!(pair[1]["trigger"] != "claim" || is_ready, "claimed while held: {history:?}");
    }
}

/// The jobs that one worker claims, starts and finishes until none is left.
async fn work(server: &Server, name: &str) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let jobs = server.claim(json!({ "worker": name, "max": 1, "wait": "1s" })).await;
        let Some(job) = jobs.first() else { return ids };
        server.report_ok(job, "start", json!({})).await;
        server.succeed(job).await;
        ids.push(id(job).to_owned());
    }
}

#[test]
fn sixty_four_claimers_share_a_thousand_jobs_with_one_event_for_each_transition() {
    const CLAIMERS: usize = 64;
    const JOBS: usize = 1000;
    on_both_stores_with_config(CONFIG, async |server| {
        server.create_many(JOBS, json!({ "type": "index" })).await;
        let nodes = server.with_second_node().await;
        let mut claimers = JoinSet::new();
        for n in 0..CLAIMERS {
            let node = Arc::clone(&nodes[n % nodes.len()]);
            claimers.spawn(async move { work(&node, &format!("w{n}")).await });
        }
        let claimed = claimers.join_all().await.concat();
        let different = claimed.iter().collect::<BTreeSet<_>>().len();
        assert_eq!((claimed.len(), different), (JOBS, JOBS), "each job once");
        let histories = nodes[0].histories().await;
        assert_eq!(histories.len(), JOBS);
        for history in histories.values() {
            check_history(history);
            assert_eq!(history.len(), 4, "{history:?}");
        }
        let mut transitions = 0.0;
        for node in &nodes {
            transitions += node.metrics().await.sum("tenure_transitions_total", &[]).unwrap();
        }
        assert!((transitions - 4.0 * JOBS as f64).abs() < 0.5, "counted {transitions}");
    });
}

#[test]
fn a_job_whose_workers_miss_their_leases_is_retried_and_finally_dead_lettered() {
    on_both_stores_with_config(CONFIG, async |server| {
        for (kind, code) in [("silent", "HEARTBEAT_LOST"), ("leased", "LEASE_EXPIRED")] {
            let job = new_job(&server, kind, json!({})).await;
            let first = claim_started(&server, &job, "w1").await;
            let orphan = server.job_when(&job, "state", "queued").await;
            assert_fields(&orphan, json!({ "/error/code": code, "attempt": 2 }));
            let second = claim(&server, &job, "w2").await.remove(0);
            assert!(second["lease"]["fence"].as_u64() > first["lease"]["fence"].as_u64());
            for verb in ["heartbeat", "succeed", "release"] {
                let late = server.report(&first, verb, json!({})).await.problem(409, "lease_conflict");
                assert!(["superseded", "lost"].contains(&late["cause"].as_str().unwrap()), "{late}");
            }
            let finished = server.job_when(&job, "phase", "final").await;
            assert_fields(&finished, json!({ "state": "dead_lettered", "retry_count": 2 }));
            let letter = &server.read(&format!("/api/dead-letters?type={kind}")).await["dead_letters"][0];
            assert_fields(letter, json!({ "reason_code": "exhausted_retries", "last_owner": "w2" }));
            assert!(letter["last_lease_expires_at"].is_string());
            check_history(&server.events(&job).await);
        }
        assert_eq!(server.metrics().await.sum("tenure_lease_expiries_total", &[]), Some(4.0));
    });
}

#[test]
fn retry_delays_double_up_to_their_maximum_with_jitter() {
    on_both_stores_with_config(CONFIG, async |server| {
        new_job(&server, "backoff", json!({})).await;
        let mut waits = Vec::new();
        for _ in 0..4 {
            let claimed = server.claim_next().await;
            let queued = server.report_ok(&claimed, "fail", json!({ "error": {} })).await;
            waits.push(millis(&queued["run_at"]) - millis(&queued["updated_at"]));
        }
        assert_eq!(waits, [100, 200, 300, 300]);
        let mut spread = BTreeSet::new();
        for _ in 0..20 {
            let job = new_job(&server, "jitter", json!({})).await;
            let claimed = claim_started(&server, &job, "w1").await;
            let queued = server.report_ok(&claimed, "fail", json!({ "error": {} })).await;
            let wait = millis(&queued["run_at"]) - millis(&queued["updated_at"]);
            assert!((0..=10_000).contains(&wait), "{wait}");
            spread.insert(wait);
        }
        assert!(spread.len() > 5, "full jitter spreads over ten seconds: {spread:?}");
    });
}

#[test]
fn each_error_class_leads_to_its_documented_state() {
    on_both_stores_with_config(CONFIG, async |server| {
        for (class, state) in [
            (json!({}), "queued"),
            (json!({ "class": "transient" }), "queued"),
            (json!({ "class": "permanent" }), "failed"),
            (json!({ "class": "validation" }), "failed"),
            (json!({ "class": "lease_conflict" }), "failed"),
        ] {
            let job = new_job(&server, "index", json!({})).await;
            let claimed = claim_started(&server, &job, "w1").await;
            let after = server.report_ok(&claimed, "fail", json!({ "error": class })).await;
            assert_eq!(after["state"], state, "{class}");
            assert_timestamps(&after);
        }
    });
}

#[test]
fn every_reason_and_stage_appears_in_a_dead_letter_with_all_fields() {
    const FIELDS: &str = "reason_code last_error attempts last_owner last_lease_expires_at correlation_id";
    const REASONS: &str = "parse_error validation_failed dependency_unavailable timeout exhausted_retries \
                           policy_violation infrastructure_failure";
    on_both_stores_with_config(CONFIG, async |server| {
        let letter = async |job: &Value| {
            find(&server.read("/api/dead-letters?limit=500").await["dead_letters"], "job_id", id(job)).clone()
        };
        for reason in REASONS.split_whitespace() {
            let job = new_job(&server, "index", json!({ "correlation_id": reason })).await;
            claim(&server, &job, "w1").await;
            server.call_ok(&job, "dead-letter", &json!({ "reason_code": reason, "detail": "by hand" })).await;
            let letter = letter(&job).await;
            assert_fields(&letter, json!({ "reason_code": reason, "correlation_id": reason }));
            assert_fields(&letter, json!({ "last_owner": "w1", "attempts": 1 }));
            assert!(FIELDS.split(' ').all(|field| !letter[field].is_null()), "{letter}");
        }
        for stage in ["fetch", "input", "exec", "output", "commit"] {
            let job = new_job(&server, "index", json!({ "max_attempts": 1 })).await;
            let claimed = claim_started(&server, &job, "w1").await;
            let error = json!({ "error": { "code": "E", "message": "m", "stage": stage } });
            assert_eq!(server.report_ok(&claimed, "fail", error).await["state"], "dead_lettered");
            let letter = letter(&job).await;
            assert_fields(&letter, json!({ "stage": stage, "/last_error/stage": stage }));
        }
    });
}

#[test]
fn a_failed_compensation_is_a_dead_letter_and_a_successful_one_an_event() {
    on_both_stores_with_config(CONFIG, async |server| {
        let undone = async |ends: &str| {
            let job = new_job(&server, "book", json!({})).await;
            let claimed = server.claim_one().await;
            let error = json!({ "error": { "class": "permanent" } });
            assert_eq!(server.report_ok(&claimed, "fail", error).await["state"], "failed");
            let undo = server.claim_one().await;
            assert_eq!((&undo["type"], &undo["payload"]["job"]["id"]), (&json!("unbook"), &job["id"]));
            assert_eq!(undo["correlation_id"], job["correlation_id"]);
            let more = if ends == "fail" { json!({ "error": {} }) } else { json!({}) };
            server.report_ok(&undo, ends, more).await;
            (job, undo)
        };
        let (job, _) = undone("succeed").await;
        let last = server.events(&job).await.pop().unwrap();
        assert_fields(&last, json!({ "type": "job_compensated", "seq": null }));
        let (job, undo) = undone("fail").await;
        let kinds = server.column(&path(&job, "events"), "type").await;
        assert!(!kinds.contains(&json!("job_compensated")), "{kinds:?}");
        let letter = &server.read("/api/dead-letters").await["dead_letters"][0];
        assert_fields(letter, json!({ "job_id": undo["id"], "reason_code": "compensation_failed" }));
    });
}

#[test]
fn every_listed_event_has_the_fields_of_the_schema() {
    on_both_stores_with_config(CONFIG, async |server| {
        let started = async |kind: &str| {
            let job = new_job(&server, kind, json!({})).await;
            claim_started(&server, &job, "w1").await
        };
        let done = started("beating").await;
        // Reports renew the lease when half of it or less remains; before that they count as heartbeats.
        let kinds = async || {
            server.report_ok(&done, "heartbeat", json!({})).await;
            server.column(&path(&done, "events?telemetry=true"), "type").await
        };
        eventually("it was renewed and beaten", async || {
            let kinds = kinds().await;
            ["job_lease_renewed", "job_heartbeat"].iter().all(|kind| kinds.contains(&json!(kind)))
        })
        .await;
        server.succeed(&done).await;
        let failed = started("book").await;
        server.report_ok(&failed, "fail", json!({ "error": { "class": "permanent" } })).await;
        let undo = server.claim_one().await;
        server.succeed(&undo).await;
        let cancelled = started("index").await;
        server.call_ok(&cancelled, "cancel", &json!({ "mode": "hard" })).await;
        let dead = started("index").await;
        let body = json!({ "reason_code": "policy_violation", "detail": "no" });
        server.call_ok(&dead, "dead-letter", &body).await;
        let mut answer: BTreeMap<String, Value> = BTreeMap::new();
        for job in [&done, &failed, &cancelled, &dead] {
            let mixed = server.read(&path(job, "events?telemetry=true")).await;
            for event in rows(&mixed["events"]) {
                answer.insert(event["type"].as_str().unwrap().to_owned(), event.clone());
            }
        }
        for kind in
            "job_claimed job_started job_lease_renewed job_heartbeat job_succeeded job_failed job_cancelled \
                     job_dead_lettered job_compensated"
                .split_whitespace()
        {
            let event = answer.get(kind).unwrap_or_else(|| panic!("{kind} was never told"));
            assert_eq!(field_names(event), sorted_words(EVENT), "{kind}");
            for member in ["id", "job_id", "type", "ts", "actor", "correlation_id", "version"] {
                assert!(!event[member].is_null(), "{kind}: {member}");
            }
        }
    });
}
