//! The promises of the five built-in lifecycles, as `docs/promises.md` lists them. This module tries every trigger in every
//! state.

pub(crate) mod distributed;
mod engine;
mod image;
mod pattern;
mod so1;

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tenure_e2e::{Reply, Server, millis, path};

/// Every trigger of a caller or a worker. `give_up` is a permanent failure, `fail` a transient one; `cancel` is a hard one,
/// because a soft one alone changes no state.
const TRIGGERS: [&str; 10] =
    ["claim", "start", "succeed", "partial", "fail", "give_up", "reject", "release", "cancel", "dead_letter"];

/// The transitions of a lifecycle according to its description, not its file.
pub(crate) struct TransitionTable {
    /// The type of the jobs, which need no payload.
    pub(crate) kind: &'static str,
    /// Each state, and the triggers that bring a new job there.
    pub(crate) paths: &'static [(&'static str, &'static [&'static str])],
    /// From, trigger, to: everything that is allowed. Anything else must be refused.
    pub(crate) allowed: &'static [(&'static str, &'static str, &'static str)],
}

impl TransitionTable {
    /// Tries every trigger in every state: an allowed one happens, with one event; any other is refused with 409 (a claim
    /// returns nothing) and changes nothing.
    pub(crate) async fn check(&self, server: &Server) {
        for (state, steps) in self.paths {
            for trigger in TRIGGERS {
                let allowed = self.allowed.iter().find(|(from, by, _)| (from, *by) == (state, trigger));
                let job = self.at(server, state, steps).await;
                match allowed {
                    Some((_, _, to)) => assert_happens(server, &job, trigger, to).await,
                    None => assert_refused(server, &job, trigger).await,
                }
            }
        }
        for (from, trigger, to) in self.allowed {
            assert!(
                self.paths.iter().any(|(state, _)| state == from),
                "{from} {trigger} {to} was never tried"
            );
        }
    }

    /// Creates a job and brings it to a state.
    async fn at(&self, server: &Server, state: &str, steps: &[&str]) -> Value {
        let mut job = new_job(server, self.kind, json!({})).await;
        for trigger in steps {
            send_trigger(server, &job, trigger).await;
            job = server.job(&job).await;
        }
        assert_eq!(job["state"], state, "{steps:?}");
        job
    }
}

/// Creates a job in a separate queue, so that a claim can select it.
pub(crate) async fn new_job(server: &Server, kind: &str, more: Value) -> Value {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut body =
        json!({ "type": kind, "queue": format!("q{n}"), "user_id": "u1", "payload": { "prompt": n } });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    server.create(body).await
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
    let held = |more: Value| {
        let mut body = holder.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
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
    let history = history(server, job).await;
    assert_eq!(after["seq"].as_u64(), Some(history.len() as u64), "{what}: one event for each transition");
    let step = history
        .iter()
        .find(|event| event["from"] == job["state"] && event["seq"].as_u64() > job["seq"].as_u64());
    let step = step.unwrap_or_else(|| panic!("{what} left no event: {history:?}"));
    for field in ["ts", "actor", "correlation_id", "type"] {
        assert!(step[field].is_string(), "{what}: {field} of {step}");
    }
}

async fn assert_refused(server: &Server, job: &Value, trigger: &str) {
    let before = (server.job(job).await, history(server, job).await);
    match send_trigger(server, job, trigger).await {
        Answer::Reply(reply) => {
            let problem = reply.problem(409, "invalid_transition");
            assert_eq!(problem["current_state"], job["state"], "{trigger}: {problem}");
            assert!(problem["trigger"].is_string() && problem["allowed"].is_array(), "{trigger}: {problem}");
        }
        Answer::Claimed(claimed) => assert_eq!(claimed, Vec::<Value>::new(), "a claim in {}", job["state"]),
    }
    assert_eq!((server.job(job).await, history(server, job).await), before, "{trigger} in {}", job["state"]);
}

/// The events of a job, with and without a number.
pub(crate) async fn history(server: &Server, job: &Value) -> Vec<Value> {
    server.read(&path(job, "events")).await["events"].as_array().unwrap().clone()
}

/// The times of a job are in order, set when their state was entered, and the end is set if and only if it is final.
pub(crate) fn assert_timestamps(job: &Value) {
    let is_final = job["phase"] == "final";
    assert_eq!(job["completed_at"].is_string(), is_final, "completed_at of {job}");
    assert_eq!(job["duration_ms"].is_u64(), is_final, "duration_ms of {job}");
    assert!(job["created_at"].is_string() && job["updated_at"].is_string(), "{job}");
    let order = ["created_at", "claimed_at", "started_at", "completed_at"];
    let known: Vec<i64> =
        order.iter().filter(|name| job[**name].is_string()).map(|name| millis(&job[*name])).collect();
    assert!(known.is_sorted(), "{job}");
    assert!(known.iter().all(|at| *at <= millis(&job["updated_at"])), "{job}");
    if is_final {
        let state = job["state"].as_str().unwrap();
        assert_eq!(job["completed_at"], job["entered"][state], "{job}");
        let span = millis(&job["completed_at"]) - millis(&job["created_at"]);
        assert_eq!(job["duration_ms"].as_i64(), Some(span), "{job}");
    }
}
