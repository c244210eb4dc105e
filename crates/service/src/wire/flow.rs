//! Resources and sequences of flow control.

use tenure_api::{Bucket, RateLimit, Resource, ResourceLimits, SequenceStatus, WaitsFor};
use tenure_core::flow::{Limits, Pause, Rate};
use tenure_store::{BucketReport, ResourceReport, SequenceReport, WaitReport};

pub fn resource(report: &ResourceReport) -> Resource {
    Resource {
        name: report.name.to_string(),
        key: report.key.clone(),
        limits: limits(&report.limits),
        origin: if report.is_overridden { "override" } else { "file" }.to_owned(),
        paused: report.paused.is_some(),
        paused_until: until(report.paused.as_ref()),
        buckets: report.buckets.iter().map(bucket).collect(),
    }
}

fn limits(limits: &Limits) -> ResourceLimits {
    ResourceLimits { running: limits.running, rate: limits.rate.as_ref().map(rate), waiting: limits.waiting }
}

fn rate(rate: &Rate) -> RateLimit {
    RateLimit { count: rate.count, per: rate.per.to_string(), burst: rate.burst }
}

fn bucket(report: &BucketReport) -> Bucket {
    Bucket {
        key: report.key.as_ref().map(ToString::to_string),
        running: report.running,
        tokens: report.tokens,
        waiting: report.waiting,
        paused: report.paused.is_some(),
        paused_until: until(report.paused.as_ref()),
    }
}

fn until(pause: Option<&Pause>) -> Option<String> {
    pause.and_then(|pause| pause.until).map(|until| until.to_string())
}

pub fn sequence(report: &SequenceReport) -> SequenceStatus {
    SequenceStatus {
        job_type: report.id.job_type.to_string(),
        key: report.id.key.to_string(),
        waiting: report.waiting as u64,
        first_job_id: report.first.map(|job| job.to_string()),
        halted: report.halted.is_some(),
        halted_by: report.halted.map(|(job, _)| job.to_string()),
        halted_at: report.halted.map(|(_, at)| at.to_string()),
    }
}

pub(crate) fn waits_for(report: &WaitReport) -> WaitsFor {
    WaitsFor {
        kind: report.kind.as_str().to_owned(),
        resource: report.resource.as_ref().map(ToString::to_string),
        key: report.key.as_ref().map(ToString::to_string),
        running: report.running,
        limit: report.limit,
        holders: report.holders.iter().map(ToString::to_string).collect(),
        before: report.before as u64,
        until: report.until.map(|until| until.to_string()),
    }
}
