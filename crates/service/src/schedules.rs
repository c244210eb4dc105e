//! Schedules: their next times, and runs on request.

use tenure_core::decide::CommandOutput;
use tenure_core::json::Json;
use tenure_core::schedule::Schedule;
use tenure_runtime::cron::Cron;
use tenure_runtime::schedules::new_job;

use crate::prelude::*;

/// How many of the next times are shown.
const NEXT_TIMES: usize = 5;

/// When a schedule fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// Its expression in words.
    pub describe: Option<String>,
    /// The next times; none while it is paused.
    pub next: Vec<Timestamp>,
}

impl Times {
    pub fn of(service: &Service, schedule: &Schedule) -> Self {
        let now = service.runtime().now();
        let cron = Cron::parse(&schedule.plan.cron, schedule.plan.timezone.as_str()).ok();
        let (mut at, mut next) = (schedule.next_at, Vec::new());
        while let (Some(time), Some(cron), true) = (at, &cron, next.len() < NEXT_TIMES) {
            next.push(time);
            at = cron.next(time.max(now));
        }
        Self { describe: cron.map(|cron| cron.describe()), next }
    }
}

/// Creates the job of a schedule now. The output is the job. With a key, a repeated call answers the same job.
pub async fn run(
    service: &Service,
    caller: &Caller,
    schedule: &Schedule,
    key: Option<IdempotencyKey>,
) -> Result<CommandOutput> {
    caller.may_create(&service.runtime().catalog(), &new_job(&schedule.plan))?;
    // The key belongs to this schedule: for another one it is used for another body.
    let of_schedule = |key: IdempotencyKey| {
        let body = serde_json::json!({ "schedule": schedule.id });
        IdempotencyKey { fingerprint: Json::of(&body).digest(), ..key }
    };
    Ok(service.runtime().run_schedule(caller.origin(), schedule, key.map(of_schedule)).await??)
}
