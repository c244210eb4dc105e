//! Rows of flow control: limits in force, pauses and halts. They are compared with the jobs, and with what was acknowledged.

use std::collections::BTreeMap;

use tenure_core::flow::{Limits, PauseRequest, ResourceChange};
use tenure_store::{ResourceFilter, ResourceReport, SequenceFilter};

use super::resources::{running, unfinished};
use super::{FlowAuditor, Models};
use crate::auditor::Violation;
use crate::auditor::flow::keys::{Bucket, SequenceKey};
use crate::fixtures::flow::ResourceRules;
use crate::prelude::*;
use crate::ready;

/// The end of a pause; `None` is until it is resumed.
type PauseEnd = Option<Timestamp>;

#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) resources: BTreeMap<String, ResourceRow>,
    pub(super) halts: BTreeMap<SequenceKey, JobId>,
}

#[derive(Clone, Debug)]
pub(super) struct ResourceRow {
    pub(super) limits: Limits,
    is_overridden: bool,
    paused: Option<PauseEnd>,
    buckets: BTreeMap<Option<String>, BucketRow>,
}

#[derive(Clone, Debug)]
struct BucketRow {
    running: u64,
    unfinished: u64,
    /// Also by the resource.
    paused: Option<PauseEnd>,
}

impl Rows {
    fn read(store: &Store) -> Self {
        let filter = ResourceFilter { limit: usize::MAX, ..ResourceFilter::default() };
        let resources = ready(store.resources(filter)).unwrap_or_default();
        let filter = SequenceFilter { halted: true, limit: usize::MAX, ..SequenceFilter::default() };
        let sequences = ready(store.sequences(filter)).unwrap_or_default();
        let halts = sequences.into_iter().filter_map(|sequence| {
            let line = (sequence.id.job_type, sequence.id.key.to_string());
            Some((line, sequence.halted?.0))
        });
        Self { resources: resources.into_iter().map(row).collect(), halts: halts.collect() }
    }

    /// The limits in force; what nodes declare is not read from the store.
    pub(super) fn limits(&self, resource: &str) -> Limits {
        match self.resources.get(resource) {
            Some(row) if row.is_overridden => row.limits,
            _ => declared(resource),
        }
    }

    pub(super) fn pause(&self, (resource, key): &Bucket) -> Option<PauseEnd> {
        let row = self.resources.get(resource)?;
        row.buckets.get(key).and_then(|bucket| bucket.paused).or(row.paused)
    }
}

fn row(report: ResourceReport) -> (String, ResourceRow) {
    let end = |pause: tenure_core::flow::Pause| pause.until;
    let buckets = report.buckets.into_iter().map(|bucket| {
        let row =
            BucketRow { running: bucket.running, unfinished: bucket.waiting, paused: bucket.paused.map(end) };
        (bucket.key.map(|key| key.to_string()), row)
    });
    let row = ResourceRow {
        limits: report.limits,
        is_overridden: report.is_overridden,
        buckets: buckets.collect(),
        paused: report.paused.map(end),
    };
    (report.name.to_string(), row)
}

impl FlowAuditor {
    /// Reads the rows, before the events that led to them are judged.
    pub(in crate::auditor) fn read_rows(&mut self, store: &Store, now: Timestamp) {
        self.before = std::mem::replace(&mut self.after, Rows::read(store));
        if self.before.resources.is_empty() {
            self.before = self.after.clone();
        }
        self.fresh = super::Fresh::default();
        // A claim that waits for a sequence that is resumed now gets its job in a moment.
        let resumed = self.before.halts.keys().filter(|line| !self.after.halts.contains_key(*line));
        self.touched_lines.extend(resumed.map(|line| (line.clone(), now)));
        for (name, row) in &self.after.resources {
            if self.before.limits(name).rate != row.limits.rate {
                self.taken.retain(|bucket, _| bucket.0 != *name);
                self.rate_changed_at.insert(name.clone(), now);
            }
        }
    }

    /// Compares the rows with the jobs, after all events were judged.
    pub(in crate::auditor) fn check_rows(&mut self, models: &Models) -> Option<Violation> {
        let ended = self.end_group();
        ended
            .or_else(|| self.check_changes())
            .or_else(|| self.check_uses(models))
            .or_else(|| self.check_halts())
    }

    /// Limits and pauses of resources change only by requests, or because a pause is over.
    fn check_changes(&self) -> Option<Violation> {
        let changed = self.after.resources.iter().find(|(name, row)| {
            let before = &self.before.resources[*name];
            let kept = (before.limits, before.is_overridden) == (row.limits, row.is_overridden);
            !(kept && (row.paused.is_none() || row.paused == before.paused))
        });
        let (name, row) = changed.filter(|_| self.changing == 0)?;
        Some(Violation::new(11, None, format!("resource {name} changed without a request: {row:?}")))
    }

    /// What buckets use is what the jobs use.
    fn check_uses(&self, models: &Models) -> Option<Violation> {
        let mut uses: BTreeMap<Bucket, (u64, u64)> = BTreeMap::new();
        for (bucket, _) in models.values().flat_map(|model| &model.keys.demands) {
            uses.entry(bucket.clone())
                .or_insert_with(|| (running(models, bucket), unfinished(models, bucket)));
        }
        let row = |(name, key): &Bucket| {
            let bucket = self.after.resources.get(name).and_then(|row| row.buckets.get(key));
            bucket.map_or((0, 0), |bucket| (bucket.running, bucket.unfinished))
        };
        let (bucket, own) = uses.iter().find(|(bucket, own)| row(bucket) != **own)?;
        let what = format!("bucket {bucket:?} has {:?} units and unfinished jobs", row(bucket));
        let expected = Some(format!("{own:?}, by the histories"));
        Some(Violation { expected, ..Violation::new(11, None, what) })
    }

    /// What an answered request asked for is in force.
    pub(in crate::auditor) fn check_acknowledged(
        &self,
        begun: Timestamp,
        command: &Command,
        keys: impl Fn(JobId) -> Vec<Bucket>,
        now: Timestamp,
    ) -> Option<Violation> {
        if self.overlapped {
            return None;
        }
        let what = || format!("acknowledged, but not in force: {command:?}");
        let is_in_force = match command {
            Command::ChangeResource { resource, change } => {
                let row = self.after.resources.get(resource.as_str())?;
                is_in_force(row, resource.as_str(), change, begun, now)
            }
            Command::Report(report) => {
                let (Verb::Fail { pause, .. } | Verb::Release { pause, .. }) = &report.verb else {
                    return None;
                };
                let PauseRequest { resource, span } = pause.as_ref()?;
                let used = keys(report.job).into_iter().find(|bucket| bucket.0 == resource.as_str())?;
                covers(self.after.pause(&used), begun + *span, now)
            }
            _ => return None,
        };
        (!is_in_force).then(|| Violation::new(11, command.job(), what()))
    }
}

/// The limits that nodes declare.
fn declared(resource: &str) -> Limits {
    ResourceRules::of(resource).map(|rules| rules.limits).unwrap_or_default()
}

/// Whether a pause lasts until a time, if that has not passed.
fn covers(pause: Option<PauseEnd>, until: Timestamp, now: Timestamp) -> bool {
    until <= now || pause.is_some_and(|end| end.is_none_or(|end| until <= end))
}

fn is_in_force(
    row: &ResourceRow,
    name: &str,
    change: &ResourceChange,
    begun: Timestamp,
    now: Timestamp,
) -> bool {
    let declared = declared(name);
    match change {
        ResourceChange::Set(limits) => {
            let expected = Limits {
                running: limits.running.unwrap_or(declared.running),
                rate: limits.rate.unwrap_or(declared.rate),
                waiting: limits.waiting.unwrap_or(declared.waiting),
            };
            row.is_overridden && row.limits == expected
        }
        ResourceChange::Reset => !row.is_overridden && row.limits == declared,
        ResourceChange::Pause { key, span } => {
            let paused = match key {
                None => row.paused,
                Some(key) => row.buckets.get(&Some(key.to_string())).and_then(|bucket| bucket.paused),
            };
            match span {
                None => paused == Some(None),
                Some(span) => covers(paused, begun + *span, now),
            }
        }
        ResourceChange::Resume { key: None } => {
            row.paused.is_none() && row.buckets.values().all(|bucket| bucket.paused.is_none())
        }
        ResourceChange::Resume { key: Some(key) } => {
            let bucket = row.buckets.get(&Some(key.to_string()));
            bucket.is_none_or(|bucket| bucket.paused == row.paused)
        }
    }
}
