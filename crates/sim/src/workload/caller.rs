//! A user, who is also an operator: creates jobs and interferes with those that are there, anyone's.

use std::rc::Rc;
use std::time::Duration;

use serde_json::json;
use tenure_core::command::{Cancel, Command, Report, Retry, Verb, When};
use tenure_core::dead_letter::ReasonCode;
use tenure_core::decide::Done;
use tenure_core::id::JobId;
use tenure_core::job::CancelMode;
use tenure_core::json::Json;
use tenure_core::time::Millis;
use tenure_runtime::NewJob;
use tokio::time::sleep;

use crate::chance::Chance;
use crate::network::Request;
use crate::workload::{ask, key};
use crate::world::World;

/// Jobs after which a user asks for no more.
const JOBS_MAX: usize = 60;

#[derive(Clone, Copy)]
enum Deed {
    Create,
    Cancel,
    Signal,
    Retry,
    DeadLetter,
    Dismiss,
    Reject,
    Grant,
}

const DEEDS: [(u64, Deed); 8] = [
    (50, Deed::Create),
    (12, Deed::Cancel),
    (22, Deed::Signal),
    (6, Deed::Retry),
    (3, Deed::DeadLetter),
    (3, Deed::Dismiss),
    (2, Deed::Reject),
    (4, Deed::Grant),
];

/// A user's life.
pub(super) async fn live(world: Rc<World>, mut chance: Chance, user: &'static str) {
    send(&world, &mut chance, grant(user, 40, 0)).await;
    let mut count = 0;
    loop {
        sleep(Duration::from_millis(chance.between(50, 2500))).await;
        count += 1;
        let deed = if world.is_healed() { Deed::Signal } else { chance.weighed(&DEEDS) };
        let request = match deed {
            Deed::Create if world.known.borrow().len() >= JOBS_MAX => continue,
            Deed::Create => create(&mut chance, user),
            Deed::Grant => grant(user, chance.between(1, 20), count),
            Deed::Cancel | Deed::Signal | Deed::Retry | Deed::DeadLetter | Deed::Dismiss | Deed::Reject => {
                let known = world.known.borrow().clone();
                if known.is_empty() {
                    continue;
                }
                let job = chance.pick(&known);
                interfere(&mut chance, (user, count), deed, job)
            }
        };
        send(&world, &mut chance, request).await;
    }
}

fn grant(user: &str, amount: u64, count: u32) -> Request {
    let given = key(&format!("grant-{user}-{count}"), &amount.to_string());
    ask("operator:root", Some(given), Command::Grant(user.into(), amount, None))
}

fn create(chance: &mut Chance, user: &str) -> Request {
    let job_type = chance.pick(&[
        "fleet", "fleet", "saga", "parcel", "picture", "picture", "pattern", "article", "engine", "odd",
    ]);
    // Only the catch-all lets its callers choose.
    let chosen = chance.pick(&["distributed", "so1", "pattern", "image"]);
    let lifecycle = (job_type == "odd" && chance.percent(70)).then(|| chosen.into());
    let payload = json!({ "prompt": format!("p{}", chance.between(1, 8)), "params": chance.between(1, 2) });
    let new = NewJob {
        by: format!("user:{user}").as_str().into(),
        user_id: Some(user.into()),
        lifecycle,
        priority: chance.percent(20).then(|| chance.between(0, 5) as i32),
        max_attempts: chance.percent(15).then(|| chance.between(1, 4) as u32),
        when: if chance.percent(25) { When::In(Millis(chance.between(0, 8000))) } else { When::Now },
        ..NewJob::new(job_type, Json::of(&payload))
    };
    // Few keys, so that some come again, with the same body or with another.
    let keyed = chance.percent(45);
    Request::Create(if keyed { new.keyed(&format!("k{}", chance.between(1, 12))) } else { new })
}

fn interfere(chance: &mut Chance, (user, count): (&str, u32), deed: Deed, job: JobId) -> Request {
    let by = format!("user:{user}");
    let given = chance.percent(40).then(|| key(&format!("{user}-{count}"), "deed"));
    let command = match deed {
        Deed::Cancel => {
            let mode = chance.pick(&[CancelMode::Soft, CancelMode::Soft, CancelMode::Hard]);
            Command::Cancel(Cancel { job, mode, reason: Some("no longer wanted".to_owned()) })
        }
        Deed::Signal => {
            let name = chance.pick(&["approve", "approve", "decline", "unheard_of"]);
            Command::Signal(job, name.into(), None)
        }
        // The node that takes it puts a new id in the place of this one.
        Deed::Retry => Command::Retry(Retry { job, id: job, when: When::Now }),
        Deed::DeadLetter => {
            Command::DeadLetter(job, ReasonCode::PolicyViolation, "given up by hand".to_owned())
        }
        Deed::Reject => {
            let verb = Verb::Reject { reason: "not wanted here".to_owned() };
            Command::Report(Box::new(Report { job, holder: None, verb }))
        }
        Deed::Dismiss | Deed::Create | Deed::Grant => Command::Dismiss(job, "seen".to_owned()),
    };
    ask(&by, given, command)
}

/// Sends it, and again if no answer came and its repeat is known by a key.
async fn send(world: &Rc<World>, chance: &mut Chance, request: Request) {
    let repeatable = match &request {
        Request::Create(new) => new.key.is_some(),
        Request::Ask(asked) => asked.key.is_some(),
        Request::Claim(..) => false,
    };
    for _ in 0..4 {
        let reply = world.ask(chance, request.clone()).await;
        if let Some(Ok(answer)) = reply {
            if let Ok(Done::Job { job, .. }) = answer
                && !world.known.borrow().contains(&job.id())
            {
                world.known.borrow_mut().push(job.id());
            }
            // Some repeat what was answered.
            if !chance.percent(10) {
                return;
            }
        }
        if !repeatable {
            return;
        }
    }
}
