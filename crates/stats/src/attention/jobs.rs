//! Rules about jobs: failing types, jobs that no worker claims, old jobs, dead letters, lost leases, lost workers.

use std::collections::BTreeSet;

use tenure_core::text::grouped;

use super::{Attention, AttentionKind, Judged, Severity, Subject, number};
use crate::assemble::GRACE;
use crate::prelude::*;
use crate::queues::phase_of;
use crate::snapshot::{Overlong, StateNow, TypeNow};

/// From this share on, failing is critical.
const CRITICAL_PERCENT: f64 = 50.0;
/// Minutes over which lost leases are counted.
const LOST_MINUTES: usize = 10;

/// The longest wait of a claim: a worker may be silent for so long.
const CLAIM_WAIT_MAX: Millis = Millis::seconds(300);

/// Types of whose jobs too many failed in the last hour.
pub(super) fn failing_types(judged: &Judged<'_>) -> Vec<Attention> {
    let thresholds = judged.thresholds;
    let failing = |it: &TypeNow| {
        let percent = it.totals.failure_rate()? * 100.0;
        let is_reported = percent >= f64::from(thresholds.failure_percent)
            && it.totals.failed_jobs >= u64::from(thresholds.failed_jobs);
        let of_type = judged.failures.iter().filter(|failure| failure.job_type == it.name);
        let most = of_type.clone().max_by_key(|failure| failure.count);
        let mostly = most.map(|failure| format!(", mostly {}", failure.code)).unwrap_or_default();
        let (failed, all) = (it.totals.failed_jobs, it.totals.failed_jobs + it.totals.succeeded);
        let is_critical = percent >= CRITICAL_PERCENT;
        is_reported.then(|| Attention {
            what: AttentionKind::FailingType,
            severity: if is_critical { Severity::Critical } else { Severity::Warning },
            text: format!(
                "{percent:.1} % of the jobs of type {} failed in the last hour: {} of {}{mostly}",
                it.name,
                grouped(failed),
                grouped(all)
            ),
            since: of_type.map(|failure| failure.first_at).min(),
            subject: Subject::Errors(it.name.clone()),
            action: "See why it fails",
        })
    };
    judged.types.iter().filter_map(failing).collect()
}

pub(super) fn dead_letters(judged: &Judged<'_>) -> Option<Attention> {
    let gauges = &judged.inputs.live.gauges;
    (gauges.dead_letters > 0).then(|| Attention {
        what: AttentionKind::DeadLetters,
        severity: Severity::Warning,
        text: number(gauges.dead_letters, "dead letter"),
        since: gauges.oldest_dead_letter,
        subject: Subject::DeadLetters,
        action: "Redrive or dismiss",
    })
}

/// Ready jobs that no worker on any node waits for or works on.
pub(super) fn without_worker(
    judged: &Judged<'_>,
    idle: impl Fn(&QueueName, &TypeName) -> usize,
) -> Vec<Attention> {
    let inputs = judged.inputs;
    let gauges = &inputs.live.gauges;
    let is_unclaimed = |queue: &QueueName, job_type: &TypeName, since| {
        inputs.live.now - since > GRACE
            && !inputs.live.paused.contains(queue)
            && !inputs.held.workers.contains_key(job_type)
            && idle(queue, job_type) == 0
    };
    let unclaimed = gauges.oldest_ready.iter().filter(|it| is_unclaimed(&it.queue, &it.job_type, it.since));
    let shown = unclaimed.map(|it| {
        let here =
            gauges.jobs.iter().filter(|count| count.queue == it.queue && count.job_type == it.job_type);
        let is_ready =
            |count: &&Count| phase_of(inputs.catalog, &count.lifecycle, &count.state) == Some(Phase::Ready);
        let jobs = number(here.filter(is_ready).map(|count| count.count).sum(), "ready job");
        Attention {
            what: AttentionKind::NoWorker,
            severity: Severity::Critical,
            text: format!("{jobs} of type {} in queue {}, but no worker claims them", it.job_type, it.queue),
            since: Some(it.since),
            subject: Subject::ReadyJobs(it.job_type.clone()),
            action: "Start a worker",
        }
    });
    shown.collect()
}

/// Types whose oldest ready job is too old, unless it is reported that no worker claims them or the queue is paused.
pub(super) fn old_ready(judged: &Judged<'_>, unclaimed: &[Attention]) -> Vec<Attention> {
    let live = &judged.inputs.live;
    let is_old = |since: Timestamp| live.now > since && live.now - since > judged.thresholds.oldest_ready;
    let reported: BTreeSet<_> = unclaimed
        .iter()
        .filter_map(|it| match &it.subject {
            Subject::ReadyJobs(job_type) => Some(job_type),
            _ => None,
        })
        .collect();
    let ready = live.gauges.oldest_ready.iter().filter(|it| is_old(it.since));
    let ready = ready.filter(|it| !live.paused.contains(&it.queue) && !reported.contains(&it.job_type));
    let shown = ready.map(|it| Attention {
        what: AttentionKind::OldReady,
        severity: Severity::Warning,
        text: format!("the oldest job of type {} in queue {} waits for a worker", it.job_type, it.queue),
        since: Some(it.since),
        subject: Subject::ReadyJobs(it.job_type.clone()),
        action: "Add workers",
    });
    shown.collect()
}

/// States in which a job has been far longer than is usual for its type. Ready states have their own rules.
pub(super) fn overlong(judged: &Judged<'_>) -> Vec<Attention> {
    let of_state = |lifecycle: &LifecycleName, state: &StateNow| {
        let Overlong { job_type, since, p95_ms } = state.overlong.clone()?;
        let text = format!(
            "the oldest job of type {job_type} in state {} is far over the type's p95 of {}",
            state.name,
            Millis(p95_ms)
        );
        let (lifecycle, state_name) = (lifecycle.clone(), state.name.clone());
        (state.phase != Phase::Ready).then_some(Attention {
            what: AttentionKind::Overlong,
            severity: Severity::Warning,
            text,
            since: Some(since),
            subject: Subject::State { lifecycle, state: state_name, job_type },
            action: "Look at the job",
        })
    };
    let of_lifecycle = judged
        .lifecycles
        .iter()
        .flat_map(|it| it.states.iter().filter_map(|state| of_state(&it.name, state)));
    of_lifecycle.collect()
}

/// Leases that expired because their workers stopped.
pub(super) fn lost_leases(judged: &Judged<'_>) -> Option<Attention> {
    let lifecycles = judged.inputs.counted.lifecycles.values();
    let steps = lifecycles.flat_map(|types| types.values()).flat_map(|of_type| &of_type.steps);
    let expired = steps.filter(|step| step.trigger == Trigger::LeaseExpired);
    let lost: u64 = expired.flat_map(|step| step.minutes.until(judged.inputs.minute(), LOST_MINUTES)).sum();
    (lost >= u64::from(judged.thresholds.lost_leases)).then(|| Attention {
        what: AttentionKind::LostLeases,
        severity: Severity::Warning,
        text: format!(
            "{} expired in the last {LOST_MINUTES} minutes: workers stop or stall",
            number(lost, "lease")
        ),
        since: None,
        subject: Subject::Workers,
        action: "See the workers",
    })
}

/// Workers that hold jobs and have been silent for longer than a claim or the renewal of a lease may take.
pub(super) fn lost_workers(judged: &Judged<'_>) -> Option<Attention> {
    let now = judged.inputs.live.now;
    let mut lost = Vec::new();
    for (worker, held) in &judged.inputs.held.holders {
        let Some(seen_at) = judged.peers.workers.get(worker).copied() else { continue };
        let expected = Millis(CLAIM_WAIT_MAX.0.max(held.lease.0 / 2) + GRACE.0);
        if now > seen_at && now - seen_at > expected {
            lost.push((seen_at, worker, held.jobs));
        }
    }
    let (since, first, _) = *lost.iter().min()?;
    let jobs = number(lost.iter().map(|(.., jobs)| jobs).sum(), "job");
    let text = match lost.len() {
        1 => format!("worker {first} is silent and holds {jobs}"),
        many => format!("{many} workers are silent and hold {jobs}; the first is {first}"),
    };
    Some(Attention {
        what: AttentionKind::LostWorker,
        severity: Severity::Warning,
        text,
        since: Some(since),
        subject: Subject::Workers,
        action: "See the workers",
    })
}
