//! A user with an operator's rights: creates jobs, and acts on jobs of all users.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use tenure_core::command::{Cancel, When};
use tenure_runtime::Amendment;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::fixtures::flow::TypeRules;
use crate::network::Request;
use crate::prelude::*;
use crate::ready;
use crate::rng::Rng;
use crate::workload::{key, submit};

/// Users create no jobs beyond this number.
const JOBS_MAX: usize = 75;

#[derive(Clone, Copy)]
enum Action {
    Create,
    Cancel,
    Signal,
    Retry,
    DeadLetter,
    Dismiss,
    Reject,
    Grant,
    Amend,
}

const ACTIONS: [(u64, Action); 9] = [
    (50, Action::Create),
    (12, Action::Cancel),
    (22, Action::Signal),
    (6, Action::Retry),
    (3, Action::DeadLetter),
    (3, Action::Dismiss),
    (2, Action::Reject),
    (4, Action::Grant),
    (12, Action::Amend),
];

pub(super) async fn run(cluster: Rc<Cluster>, mut rng: Rng, user: &'static str) {
    send(&cluster, &mut rng, grant(user, 40, 0)).await;
    let mut count = 0;
    loop {
        sleep(Duration::from_millis(rng.between(50, 2500))).await;
        count += 1;
        let action = if cluster.faults_ended() { Action::Signal } else { rng.weighted(&ACTIONS) };
        let request = match action {
            Action::Create if cluster.known.borrow().len() >= JOBS_MAX => continue,
            Action::Create if rng.percent(50) => {
                let rules = rng.pick(&cluster.plan.controlled);
                // Jobs that are claimed in groups come several at once.
                for _ in 1..rules.batch.as_ref().map_or(1, |batch| batch.size) {
                    let request = controlled(rules, &mut rng, user);
                    send(&cluster, &mut rng, request).await;
                }
                controlled(rules, &mut rng, user)
            }
            Action::Create => create(&mut rng, user),
            Action::Grant => grant(user, rng.between(1, 20), count),
            other => {
                let known = cluster.known.borrow().clone();
                if known.is_empty() {
                    continue;
                }
                let job = rng.pick(&known);
                match other {
                    Action::Amend => amend(&cluster, &mut rng, user, job),
                    other => act(&mut rng, user, count, other, job),
                }
            }
        };
        send(&cluster, &mut rng, request).await;
    }
}

fn grant(user: &str, amount: u64, count: u32) -> Request {
    let given = key(&format!("grant-{user}-{count}"), &amount.to_string());
    submit("operator:root", Some(given), Command::GrantCredits { user: user.into(), amount, reason: None })
}

fn create(rng: &mut Rng, user: &str) -> Request {
    let job_type = rng.pick(&[
        "fleet", "fleet", "saga", "parcel", "picture", "picture", "pattern", "article", "engine", "odd",
    ]);
    // Only jobs of the catch-all may choose a lifecycle.
    let chosen = rng.pick(&["distributed", "so1", "pattern", "image"]);
    let lifecycle = (job_type == "odd" && rng.percent(70)).then(|| chosen.into());
    let payload = json!({ "prompt": format!("p{}", rng.between(1, 8)), "params": rng.between(1, 2) });
    let new = NewJob {
        by: format!("user:{user}").as_str().into(),
        user_id: Some(user.into()),
        lifecycle,
        priority: rng.percent(20).then(|| rng.between(0, 5) as i32),
        max_attempts: rng.percent(15).then(|| rng.between(1, 4) as u32),
        when: if rng.percent(25) { When::In(Millis(rng.between(0, 8000))) } else { When::Now },
        ..NewJob::new(job_type, Json::of(&payload))
    };
    // Few keys, so that some repeat, with the same or another body.
    let keyed = rng.percent(45);
    Request::Create(if keyed { new.keyed(&format!("k{}", rng.between(1, 12))) } else { new })
}

/// A job of a type with flow control. There are few keys, so that jobs meet.
fn controlled(rules: &TypeRules, rng: &mut Rng, user: &'static str) -> Request {
    let new = NewJob {
        by: format!("user:{user}").as_str().into(),
        user_id: Some(user.into()),
        priority: rng.percent(20).then(|| rng.between(0, 2) as i32),
        when: if rng.percent(15) { When::In(Millis(rng.between(0, 4000))) } else { When::Now },
        ..NewJob::new(rules.name, keyed_payload(rng))
    };
    Request::Create(if rng.percent(10) { new.keyed(&format!("f{}", rng.between(1, 6))) } else { new })
}

/// A payload with the fields that are keys of flow control. Few values: 7 and "7" are one key, null is none.
fn keyed_payload(rng: &mut Rng) -> Json {
    let mut key = || match rng.between(0, 19) {
        0 => json!(null),
        1 => json!(""),
        2..=5 => json!(7),
        6..=8 => json!("7"),
        _ => json!("main"),
    };
    let (customer, document, account, model) = (key(), key(), key(), key());
    let number = rng.between(1, 1000);
    let fields = json!({
        "customer": customer, "document": document, "account": account, "model": model, "number": number,
    });
    // A list is no key: the creation is refused.
    Json::of(&if rng.percent(2) {
        json!({ "document": [1], "account": [1], "customer": [1] })
    } else {
        fields
    })
}

fn amend(cluster: &Cluster, rng: &mut Rng, user: &'static str, job: JobId) -> Request {
    let row = ready(cluster.store.handle().job(job)).ok().flatten();
    let is_controlled = row.as_ref().is_some_and(|row| TypeRules::of(row.spec.job_type.as_str()).is_some());
    let seq = row.map_or(1, |row| row.seq);
    let now = cluster.now();
    let run_at = Timestamp(now.0 - 500 + rng.between(0, 5000) as i64);
    let mut amendment = Amendment {
        payload: (is_controlled && rng.percent(60)).then(|| keyed_payload(rng)),
        priority: rng.percent(40).then(|| rng.between(0, 3) as i32),
        run_at: rng.percent(30).then_some(run_at),
        if_seq: rng.percent(30).then(|| seq + rng.between(0, 1) as u32),
        key: None,
    };
    if amendment.payload.is_none() && amendment.run_at.is_none() {
        amendment.priority.get_or_insert(1);
    }
    Request::Amend(user, job, amendment)
}

fn act(rng: &mut Rng, user: &str, count: u32, action: Action, job: JobId) -> Request {
    let by = format!("user:{user}");
    let given = rng.percent(40).then(|| key(&format!("{user}-{count}"), "action"));
    let command = match action {
        Action::Cancel => {
            let mode = rng.pick(&[CancelMode::Soft, CancelMode::Soft, CancelMode::Hard]);
            Command::Cancel(Cancel { job, mode, reason: Some("no longer wanted".to_owned()) })
        }
        Action::Signal => {
            let name = rng.pick(&["approve", "approve", "decline", "unknown"]);
            Command::Signal { job, name: name.into(), payload: None }
        }
        // The node replaces this id by a new one.
        Action::Retry => Command::Retry(Retry { job, id: job, when: When::Now }),
        Action::DeadLetter => Command::DeadLetter {
            job,
            reason: ReasonCode::PolicyViolation,
            detail: "set aside by an operator".to_owned(),
        },
        Action::Reject => {
            let verb = Verb::Reject { reason: "not wanted here".to_owned() };
            Command::Report(Box::new(Report { job, holder: None, verb }))
        }
        Action::Dismiss | Action::Create | Action::Grant | Action::Amend => {
            Command::DismissDeadLetter { job, reason: "seen".to_owned() }
        }
    };
    submit(&by, given, command)
}

/// Sends a request; one with a key is repeated if no reply arrives, and sometimes after a reply.
async fn send(cluster: &Rc<Cluster>, rng: &mut Rng, request: Request) {
    let has_key = match &request {
        Request::Create(new) => new.key.is_some(),
        Request::Submit(envelope) => envelope.key.is_some(),
        Request::Claim(..) | Request::Amend(..) | Request::AddSchedule(..) | Request::ResumeSchedule(_) => {
            false
        }
    };
    for _ in 0..4 {
        let reply = cluster.send(rng, request.clone()).await;
        if let Some(Ok(answer)) = reply {
            if let Ok(CommandOutput::Job { job, .. } | CommandOutput::Amended(job)) = answer
                && !cluster.known.borrow().contains(&job.id())
            {
                cluster.known.borrow_mut().push(job.id());
            }
            if !rng.percent(10) {
                return;
            }
        }
        if !has_key {
            return;
        }
    }
}
