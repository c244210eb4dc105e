//! Jobs that became ready, summed up between two notifications, and the text of a notification.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ReadyJobs;
use crate::prelude::*;

/// Queues and types that are summed up; beyond that, the jobs count as unknown.
const SLOTS_MAX: usize = 256;
/// PostgreSQL accepts less than 8000 bytes.
const NOTIFICATION_BYTES_MAX: usize = 7900;

#[derive(Debug, Default)]
pub(super) struct ReadyChanges {
    slots: BTreeMap<(QueueName, TypeName), (usize, Option<Timestamp>)>,
    /// Whether jobs are missing.
    incomplete: bool,
}

impl ReadyChanges {
    /// Adds jobs; `None` if they are unknown.
    pub(super) fn add(&mut self, ready: Option<Vec<ReadyJobs>>) {
        self.incomplete |= ready.is_none();
        for jobs in ready.unwrap_or_default() {
            let (claimable, next_run) = self.slots.entry((jobs.queue, jobs.job_type)).or_default();
            *claimable += jobs.claimable;
            *next_run = [*next_run, jobs.next_run].into_iter().flatten().min();
        }
        if self.slots.len() > SLOTS_MAX {
            self.incomplete = true;
            self.slots.clear();
        }
    }

    /// The sums since the last call; `None` if jobs are missing.
    pub(super) fn take(&mut self) -> Option<Vec<ReadyJobs>> {
        let Self { slots, incomplete } = std::mem::take(self);
        let jobs =
            |((queue, job_type), (claimable, next_run))| ReadyJobs { queue, job_type, claimable, next_run };
        (!incomplete).then(|| slots.into_iter().map(jobs).collect())
    }
}

/// A notification of commits.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CommitNotification {
    pub(super) node: String,
    /// The jobs that became ready; `None` if they are unknown.
    pub(super) ready: Option<Vec<ReadyJobs>>,
}

impl CommitNotification {
    pub(super) fn text(mut self) -> String {
        let json = |notification: &Self| serde_json::to_string(notification).unwrap_or_default();
        let text = json(&self);
        if text.len() <= NOTIFICATION_BYTES_MAX {
            return text;
        }
        self.ready = None;
        json(&self)
    }

    /// A notification whose text has another form, such as one of an older version, is one of unknown jobs.
    pub(super) fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_else(|_| Self { node: text.to_owned(), ready: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready(queue: &str, claimable: usize, next_run: Option<i64>) -> ReadyJobs {
        let next_run = next_run.map(Timestamp);
        ReadyJobs { queue: queue.into(), job_type: "t".into(), claimable, next_run }
    }

    #[test]
    fn jobs_are_summed_up_by_queue_and_type() {
        let mut changes = ReadyChanges::default();
        changes.add(Some(vec![ready("a", 1, None), ready("b", 0, Some(9)), ready("a", 2, Some(7))]));
        changes.add(Some(vec![ready("b", 0, Some(5))]));
        assert_eq!(changes.take(), Some(vec![ready("a", 3, Some(7)), ready("b", 0, Some(5))]));
        assert_eq!(changes.take(), Some(Vec::new()));
    }

    #[test]
    fn jobs_of_too_many_queues_are_unknown() {
        let mut changes = ReadyChanges::default();
        changes.add(Some((0..=SLOTS_MAX).map(|n| ready(&n.to_string(), 1, None)).collect()));
        assert_eq!(changes.take(), None);
        assert_eq!(changes.take(), Some(Vec::new()));
    }

    #[test]
    fn a_notification_is_read_as_written_and_never_too_long() {
        let of = |ready| CommitNotification { node: "n".to_owned(), ready };
        let short = || of(Some(vec![ready("a", 3, Some(7))]));
        assert_eq!(CommitNotification::parse(&short().text()), short());
        let long = of(Some((0..SLOTS_MAX).map(|n| ready(&n.to_string(), 1, None)).collect()));
        assert_eq!(CommitNotification::parse(&long.text()), of(None));
        assert_eq!(CommitNotification::parse("n"), of(None));
    }
}
