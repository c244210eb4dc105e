//! The promises of the five built-in lifecycles, as `docs/promises.md` lists them. This module tries every trigger in every
//! state.

pub(crate) mod distributed;
mod engine;
mod image;
mod pattern;
mod so1;

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tenure_e2e::{Reply, Server, merged, millis, on_both_stores_with_config};

/// Every trigger of a caller or a worker. `give_up` is a permanent failure, `fail` a transient one; `cancel` is a hard one,
/// because a soft one alone changes no state.
const TRIGGERS: [&str; 10] =
    ["claim", "start", "succeed", "partial", "fail", "give_up", "reject", "release", "cancel", "dead_letter"];

/// Tries every trigger in every state, on both stores: an allowed one happens, with one event; any other is refused with
/// 409 (a claim returns nothing) and changes nothing. The table lists each state with the triggers that bring a new job
/// there, and every allowed transition, according to the description of the lifecycle and not to its file. Jobs of this
/// type need no payload.
pub(crate) fn check_transitions(config: &str, job_type: &str, table: &str) {
    on_both_stores_with_config(config, async |server| try_triggers(&server, job_type, table).await);
}

async fn try_triggers(server: &Server, job_type: &str, table: &str) {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let (states, allowed): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains(':'));
    let states = states.into_iter().map(|line| line.split_once(':').unwrap());
    let mut tried = 0;
    for (state, steps) in states {
        for trigger in TRIGGERS {
            let job = job_in(server, job_type, state, steps).await;
            let transition = format!("{state} {trigger} ");
            match allowed.iter().find_map(|line| line.strip_prefix(&transition)) {
                Some(to) => {
                    assert_happens(server, &job, trigger, to).await;
                    tried += 1;
                }
                None => assert_refused(server, &job, trigger).await,
            }
        }
    }
    assert_eq!(tried, allowed.len(), "every allowed transition was tried");
}

/// Creates a job and brings it to a state.
async fn job_in(server: &Server, job_type: &str, state: &str, steps: &str) -> Value {
    let mut job = new_job(server, job_type, json!({})).await;
    for trigger in steps.split_whitespace() {
        send_trigger(server, &job, trigger).await;
        job = server.job(&job).await;
    }
    assert_eq!(job["state"], state, "{steps}");
    job
}

/// Creates a job in a separate queue, so that a claim can select it.
pub(crate) async fn new_job(server: &Server, kind: &str, more: Value) -> Value {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let body = json!({ "type": kind, "queue": format!("q{n}"), "user_id": "u1", "payload": { "prompt": n } });
    server.create(merged(body, &more)).await
}

/// Claims this job for a worker.
pub(crate) async fn claim(server: &Server, job: &Value, worker: &str) -> Vec<Value> {
    server.claim(json!({ "worker": worker, "max": 1, "queues": [job["queue"]] })).await
}

/// Claims and starts this job in one call, so that the lease cannot expire in between.
pub(crate) async fn claim_started(server: &Server, job: &Value, worker: &str) -> Value {
    let claim = json!({ "worker": worker, "max": 1, "queues": [job["queue"]], "start": true });
    server.claim(claim).await.pop().expect("the job can be claimed")
}

/// The answer to a trigger. A claim is never refused: it returns a job or nothing.
enum Answer {
    Reply(Reply),
    Claimed(Vec<Value>),
}

/// Sends a trigger as the holder of the job, or as a worker that never held it.
async fn send_trigger(server: &Server, job: &Value, trigger: &str) -> Answer {
    let holder = match &job["lease"]["fence"] {
        Value::Null => json!({ "worker": "other", "fence": 999 }),
        fence => json!({ "worker": job["worker"], "fence": fence }),
    };
    let held = |more: Value| merged(holder.clone(), &more);
    let error = |class: &str| json!({ "error": { "code": "BROKEN", "message": "it broke", "class": class } });
    let (call, body) = match trigger {
        "claim" => return Answer::Claimed(claim(server, job, "w1").await),
        "fail" => ("fail", held(error("transient"))),
        "give_up" => ("fail", held(error("permanent"))),
        "reject" if job["lease"].is_null() => ("reject", json!({ "reason": "unsafe" })),
        "reject" => ("reject", held(json!({ "reason": "unsafe" }))),
        "cancel" => ("cancel", json!({ "mode": "hard" })),
        "dead_letter" => ("dead-letter", json!({ "reason_code": "policy_violation", "detail": "no" })),
        verb => (verb, held(json!({}))),
    };
    Answer::Reply(server.call(job, call, &body).await)
}

async fn assert_happens(server: &Server, job: &Value, trigger: &str, to: &str) {
    let what = format!("{} in {}", trigger, job["state"]);
    match send_trigger(server, job, trigger).await {
        Answer::Reply(reply) => assert_eq!(reply.clone().expect(200)["state"], to, "{what}: {}", reply.text),
        Answer::Claimed(claimed) => assert_eq!(claimed.len(), 1, "{what}"),
    }
    let after = server.job(job).await;
    assert_eq!(after["state"], to, "{what}");
    assert_timestamps(&after);
    let history = server.events(job).await;
    assert_eq!(after["seq"].as_u64(), Some(history.len() as u64), "{what}: one event for each transition");
    let mut later = history.iter().filter(|event| event["seq"].as_u64() > job["seq"].as_u64());
    let step = later.find(|event| event["from"] == job["state"]);
    let step = step.unwrap_or_else(|| panic!("{what} left no event: {history:?}"));
    for field in ["ts", "actor", "correlation_id", "type"] {
        assert!(step[field].is_string(), "{what}: {field} of {step}");
    }
}

async fn assert_refused(server: &Server, job: &Value, trigger: &str) {
    let before = (server.job(job).await, server.events(job).await);
    match send_trigger(server, job, trigger).await {
        Answer::Reply(reply) => {
            let problem = reply.problem(409, "invalid_transition");
            assert_eq!(problem["current_state"], job["state"], "{trigger}: {problem}");
            assert!(problem["trigger"].is_string() && problem["allowed"].is_array(), "{trigger}: {problem}");
        }
        Answer::Claimed(claimed) => assert_eq!(claimed, Vec::<Value>::new(), "a claim in {}", job["state"]),
    }
    assert_eq!((server.job(job).await, server.events(job).await), before, "{trigger} in {}", job["state"]);
}

/// The times of a job are in order, set when their state was entered, and the end is set if and only if it is final.
pub(crate) fn assert_timestamps(job: &Value) {
    let is_final = job["phase"] == "final";
    assert_eq!(job["completed_at"].is_string(), is_final, "completed_at of {job}");
    assert_eq!(job["duration_ms"].is_u64(), is_final, "duration_ms of {job}");
    assert!(job["created_at"].is_string() && job["updated_at"].is_string(), "{job}");
    let order = ["created_at", "claimed_at", "started_at", "completed_at"];
    let times = order.iter().map(|name| &job[*name]);
    let known: Vec<i64> = times.filter(|time| time.is_string()).map(millis).collect();
    assert!(known.is_sorted(), "{job}");
    assert!(known.iter().all(|at| *at <= millis(&job["updated_at"])), "{job}");
    if is_final {
        let state = job["state"].as_str().unwrap();
        assert_eq!(job["completed_at"], job["entered"][state], "{job}");
        let span = millis(&job["completed_at"]) - millis(&job["created_at"]);
        assert_eq!(job["duration_ms"].as_i64(), Some(span), "{job}");
    }
}
