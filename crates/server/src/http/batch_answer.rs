//! The answer to a batch: one result for each item, in order. An answer to reports is limited in bytes: beyond the limit,
//! jobs are answered in brief, as with `Prefer: return=minimal`.

use serde_json::Value;
use tenure_api::{ItemResult, ItemResults};
use tenure_core::limits::PAGE_BYTES_MAX;

use super::ItemOutput;
use crate::headers::ReturnPreference;
use crate::http::prelude::*;

/// Items of the first portion.
const FIRST_ITEMS: usize = 128;
/// The smallest and the largest of the other portions.
const PORTION_ITEMS: (usize, usize) = (16, 1024);

pub(crate) struct BatchAnswer<'c> {
    call: &'c CallContext,
    id: CallId,
    results: Vec<ItemResult<ItemOutput, Value>>,
    /// Bytes of the jobs so far, about, also of those that are answered in brief.
    bytes: usize,
}

impl<'c> BatchAnswer<'c> {
    pub(crate) fn new(call: &'c CallContext, id: CallId) -> Self {
        Self { call, id, results: Vec::new(), bytes: 0 }
    }

    /// How many items to submit next: their jobs are in memory together.
    pub(crate) fn portion(&self) -> usize {
        if self.results.is_empty() {
            return FIRST_ITEMS;
        }
        let (least, most) = PORTION_ITEMS;
        (PAGE_BYTES_MAX / (self.bytes / self.results.len()).max(1)).clamp(least, most)
    }

    pub(crate) fn push(&mut self, result: Result<CommandOutput>) {
        let output = match result {
            Ok(output) => output,
            Err(problem) => {
                return self.results.push(ItemResult::Error(problem.to_json(self.id.call().path)));
            }
        };
        if let CommandOutput::Job { job, .. } | CommandOutput::Amended(job) = &output {
            self.bytes += job.bytes();
        }
        let is_full = self.id == CallId::ReportJobs && self.bytes > PAGE_BYTES_MAX;
        let preference = if is_full { ReturnPreference::Minimal } else { self.call.preference };
        self.results.push(ItemResult::Ok(if let Some(brief) = brief(&output, preference) {
            ItemOutput::Brief(brief)
        } else {
            let now = self.call.runtime().reading();
            ItemOutput::Whole(Box::new(OutputAnswer { output, now }))
        }));
    }

    #[allow(clippy::unnecessary_wraps, reason = "the last line of handlers")]
    pub(crate) fn reply(self) -> Reply {
        let response = answer(StatusCode::OK, &ItemResults { results: self.results });
        let is_minimal = self.call.preference == ReturnPreference::Minimal;
        Ok(if is_minimal { minimal(response, false) } else { response })
    }
}
