//! Checks flow control by its own model: each claim and creation in the journal against what the declarations, the operators'
//! changes and the events so far allow. The rules have numbers after those of the laws: 11 resources, 12 unique keys, 13 sequences,
//! 14 shares, 15 batches.
//!
//! Limits, pauses and halts change without events. Their rows are read with the events, so that an event is judged by the rows
//! before and after: it is wrong if both forbid it.

mod groups;
mod keys;
mod resources;
mod rows;
mod sequences;
mod shares;
mod unique;

use std::collections::{BTreeMap, BTreeSet};

use crate::auditor::Violation;
use crate::auditor::job_model::JobModel;
use crate::network::Request;
use crate::prelude::*;
pub(super) use keys::KeysModel;
use keys::{Bucket, SequenceKey};
use rows::Rows;
pub(super) use unique::{cancel_others, check_answer};

pub(super) type Models = BTreeMap<JobId, JobModel>;

#[derive(Debug, Default)]
pub(super) struct FlowAuditor {
    /// Rows as they were before and after the events that are read now.
    before: Rows,
    after: Rows,
    /// Requests in flight that may change resources, and whether several did so at once.
    changing: u32,
    overlapped: bool,
    /// Requests in flight that may end the halt of a sequence.
    resuming: u32,
    /// Tokens that were taken since the rate last changed, and when.
    taken: BTreeMap<Bucket, Vec<(Timestamp, u64)>>,
    rate_changed_at: BTreeMap<String, Timestamp>,
    /// When a job of the bucket or of the sequence last changed.
    touched: BTreeMap<Bucket, Timestamp>,
    touched_lines: BTreeMap<SequenceKey, Timestamp>,
    /// The place of each job in its sequence.
    places: BTreeMap<JobId, u64>,
    halts: BTreeMap<SequenceKey, JobId>,
    /// What the events that are read now have changed; they may be of one commit.
    fresh: Fresh,
    group: Option<groups::OpenGroup>,
    pub(super) counts: FlowCounts,
}

/// How often flow control acted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowCounts {
    /// Claims that used a resource.
    pub(crate) limited: u64,
    pub(crate) amended: u64,
    pub(crate) halted: u64,
    /// Claims of a queue that is shared, while another job of the queue was ready.
    pub(crate) shared: u64,
    /// Groups of several jobs.
    pub(crate) grouped: u64,
}

#[derive(Debug, Default)]
struct Fresh {
    changed: BTreeSet<JobId>,
    /// Leases of the shared queue that ended, by key.
    released: BTreeMap<Option<String>, u64>,
    /// Leases of the shared queue that were granted, by worker and key.
    granted: BTreeMap<(String, Option<String>), u64>,
}

/// An event, and everything before it.
pub(super) struct Step<'a> {
    pub(super) event: &'a Event,
    /// The job before the event.
    pub(super) model: &'a JobModel,
    pub(super) models: &'a Models,
    /// For a claim: the worker's claims in flight.
    pub(super) claims: Vec<&'a Claim>,
    /// The store's time when the event was read.
    pub(super) now: Timestamp,
}

impl Step<'_> {
    /// Whether a user asked for this job: only then it is judged by unique keys and the limit of unfinished jobs.
    pub(super) fn is_request(&self) -> bool {
        let links = &self.model.spec.links;
        self.event.actor.to_string().starts_with("user:")
            && links.retry_of.is_none()
            && links.compensates.is_none()
    }

    fn ends_lease(&self) -> bool {
        self.model.held.is_some() && !self.event.facts.phase().is_leased()
    }
}

/// Whether the model's job exists and has not ended.
fn is_unfinished(model: &JobModel) -> bool {
    model.seq > 0 && !model.phase.is_final()
}

impl FlowAuditor {
    /// Whether rows may have changed without an event.
    pub(super) fn is_changing(&self) -> bool {
        self.changing > 0 || self.resuming > 0
    }

    pub(super) fn begin_request(&mut self, request: &Request) {
        if changes_resources(request) {
            self.changing += 1;
            self.overlapped |= self.changing > 1;
        }
        self.resuming += u32::from(may_resume(request));
    }

    pub(super) fn end_request(&mut self, request: &Request) {
        if changes_resources(request) {
            self.changing -= 1;
            self.overlapped &= self.changing > 0;
        }
        self.resuming -= u32::from(may_resume(request));
    }

    /// Judges an event before its model has it.
    pub(super) fn take(&mut self, step: &Step<'_>) -> Option<Violation> {
        let ended = self.end_group_before(step);
        let violation = match step.event.trigger {
            _ if ended.is_some() => ended,
            Trigger::Create => self.check_creation(step),
            Trigger::Claim => self.check_claim(step),
            _ => None,
        };
        self.note(step);
        violation
    }

    fn check_creation(&self, step: &Step<'_>) -> Option<Violation> {
        if !step.is_request() {
            return None;
        }
        self.check_waiting_limit(step).or_else(|| unique::check(step))
    }

    fn check_claim(&mut self, step: &Step<'_>) -> Option<Violation> {
        self.check_buckets(step)
            .or_else(|| self.check_order(step))
            .or_else(|| self.check_share(step))
            .or_else(|| self.check_group(step))
    }

    fn note(&mut self, step: &Step<'_>) {
        let Step { event, model, now, .. } = step;
        let (keys, spec) = (&model.keys, &model.spec);
        for (bucket, _) in &keys.demands {
            self.touched.insert(bucket.clone(), *now);
        }
        self.touched_lines.extend(keys.line(spec).map(|line| (line, *now)));
        self.note_order(step);
        match event.trigger {
            Trigger::Claim => self.note_tokens(step),
            Trigger::Amend => self.counts.amended += 1,
            _ => {}
        }
        self.counts.limited += u64::from(event.trigger == Trigger::Claim && !keys.demands.is_empty());
        self.note_share(step);
        self.fresh.changed.insert(model.id());
    }

    /// Whether flow control may keep a ready job from claims, or did so shortly before `now`.
    pub(super) fn may_wait(&self, model: &JobModel, models: &Models, now: Timestamp) -> bool {
        self.is_changing()
            || self.may_wait_for_buckets(model, models, now)
            || self.may_wait_in_line(model, models, now)
            || groups::may_wait(model, models, now)
    }
}

fn changes_resources(request: &Request) -> bool {
    let Request::Submit(envelope) = request else { return false };
    match &envelope.command {
        Command::ChangeResource { .. } => true,
        Command::Report(report) => {
            matches!(&report.verb, Verb::Fail { pause: Some(_), .. } | Verb::Release { pause: Some(_), .. })
        }
        _ => false,
    }
}

fn may_resume(request: &Request) -> bool {
    let Request::Submit(envelope) = request else { return false };
    matches!(envelope.command, Command::ResumeSequence(_) | Command::DismissDeadLetter { .. })
}
