//! Searches the audit log, newest line first. A search reads a limited number of lines and says how far it came.

use tenure_core::event::AuditLine;

use crate::prelude::*;

/// Lines that are read in one step.
const STEP: usize = 500;
/// Lines that one search reads.
pub const EXAMINED_MAX: usize = 10_000;

/// Which lines are wanted. `None` is any; texts match without regard to case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// A part of the actor.
    pub actor: Option<String>,
    /// A part of the action.
    pub action: Option<String>,
    /// The start of the job's id.
    pub job: Option<String>,
    /// A part of the reason or of the changed values.
    pub text: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// A page of a search.
#[derive(Debug, Default)]
pub struct FoundLines {
    /// Each with its row number, the newest first.
    pub lines: Vec<(u64, AuditLine)>,
    /// Where the search continues, if older lines may match.
    pub before: Option<u64>,
    pub examined: usize,
}

impl AuditFilter {
    pub fn admits(&self, line: &AuditLine) -> bool {
        let has = |part: &Option<String>, text: &str| {
            part.as_ref().is_none_or(|part| text.to_lowercase().contains(&part.to_lowercase()))
        };
        let job = line.job_id.map(|job| job.to_string()).unwrap_or_default();
        let details = line.details.as_ref().map_or("", |details| details.as_str());
        has(&self.actor, &line.actor.to_string())
            && has(&self.action, line.action.as_str())
            && self.job.as_ref().is_none_or(|start| job.starts_with(&start.to_lowercase()))
            && (has(&self.text, line.reason.as_deref().unwrap_or_default()) || has(&self.text, details))
            && self.since.is_none_or(|since| line.ts >= since)
            && self.until.is_none_or(|until| line.ts < until)
    }

    /// At most `limit` matching lines before a row.
    pub async fn search(&self, service: &Service, before: u64, limit: usize) -> Result<FoundLines> {
        let mut found = FoundLines { before: Some(before), ..FoundLines::default() };
        while let Some(before) = found.before
            && found.examined < EXAMINED_MAX
        {
            let lines = service.store().audit_before(before, STEP).await?;
            found.before = lines.last().filter(|_| lines.len() == STEP).map(|(row, _)| *row);
            for (row, line) in lines.into_iter().filter(|(_, line)| !line.is_baseline()) {
                found.examined += 1;
                // Lines are in the order of their commits, and so of their times.
                if self.since.is_some_and(|since| line.ts < since) {
                    found.before = None;
                    return Ok(found);
                }
                if self.admits(&line) {
                    found.lines.push((row, line));
                }
                if found.lines.len() == limit {
                    found.before = Some(row);
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}
