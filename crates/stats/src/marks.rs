//! Actions of operators that change which jobs are claimed, as marks for charts.

use crate::Stats;
use crate::cached_read::ReadResult;
use crate::prelude::*;

/// Actions of the audit log that are marked, with what they did.
const MARKED: [(&str, &str); 7] = [
    ("pause", "paused queue"),
    ("resume", "resumed queue"),
    ("pause-resource", "paused resource"),
    ("resume-resource", "resumed resource"),
    ("set-resource", "set the limits of resource"),
    ("reset-resource", "reset the limits of resource"),
    ("resume-sequence", "resumed sequence"),
];
/// Lines of the audit log, without those about jobs, among which they are looked for.
const AUDIT_LINES: usize = 1000;

/// An action of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: Timestamp,
    /// `paused queue default`.
    pub text: String,
    pub actor: Name,
}

impl Stats {
    /// Actions from one time on and before another, newest first, as far as they are among the last lines of the audit log that are
    /// not about jobs.
    pub async fn marks(&self, from: Timestamp, before: Timestamp) -> Result<Vec<Mark>, StoreError> {
        let marks = self.marks.get(|| read_marks(self.runtime.clone())).await?;
        Ok(marks.iter().filter(|mark| from <= mark.at && mark.at < before).cloned().collect())
    }
}

async fn read_marks(runtime: Runtime) -> ReadResult<Vec<Mark>> {
    let lines = runtime.store().audit_without_job(u64::MAX, AUDIT_LINES).await?;
    let mark = |(_, line): (u64, tenure_core::event::AuditLine)| {
        let (_, what) = MARKED.iter().find(|(action, _)| line.action == *action)?;
        let text = format!("{what} {}", line.reason.as_deref().unwrap_or_default());
        Some(Mark { at: line.ts, text: text.trim_end().to_owned(), actor: line.actor.as_str().into() })
    };
    Ok(lines.into_iter().filter_map(mark).collect())
}
