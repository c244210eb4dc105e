//! The answer to a batch: one result for each item, in order. It is limited in bytes: beyond the limit, jobs are answered
//! in brief, as with `Prefer: return=minimal`.

use serde_json::Value;
use tenure_api::{ItemResult, ItemResults};
use tenure_service::bulk::{Portions, output_bytes};

use super::ItemOutput;
use crate::headers::ReturnPreference;
use crate::http::prelude::*;

pub(crate) struct BatchAnswer<'c> {
    call: &'c CallContext,
    id: CallId,
    results: Vec<ItemResult<ItemOutput, Value>>,
    /// Counts the jobs so far, also those that are answered in brief.
    size: Portions,
}

impl<'c> BatchAnswer<'c> {
    pub(crate) fn new(call: &'c CallContext, id: CallId) -> Self {
        Self { call, id, results: Vec::new(), size: Portions::default() }
    }

    /// How many items to submit next.
    pub(crate) fn portion(&self) -> usize {
        self.size.size()
    }

    pub(crate) fn push(&mut self, result: Result<CommandOutput>) {
        let output = match result {
            Ok(output) => output,
            Err(problem) => {
                return self.results.push(ItemResult::Error(problem.to_json(self.id.call().path)));
            }
        };
        self.size.add(self.bytes(&output));
        let is_full = self.size.is_full();
        let preference = if is_full { ReturnPreference::Minimal } else { self.call.preference };
        self.results.push(ItemResult::Ok(ItemOutput::of(self.call, output, preference)));
    }

    /// Bytes that an output adds to the answer. The payload of a created job is not counted: the request had it, so that
    /// only results and checkpoints of jobs that were created before make an answer larger than its request.
    fn bytes(&self, output: &CommandOutput) -> usize {
        match output {
            // A job that a unique key found may have any payload.
            CommandOutput::Job { job, replayed, .. }
                if self.id == CallId::CreateJobs && !(*replayed && job.flow().unique.is_some()) =>
            {
                job.bytes() - job.spec.payload.as_str().len()
            }
            output => output_bytes(output),
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "the last line of handlers")]
    pub(crate) fn reply(self) -> Reply {
        let response = answer(StatusCode::OK, &ItemResults { results: self.results });
        let is_minimal = self.call.preference == ReturnPreference::Minimal;
        Ok(if is_minimal { minimal(response, false) } else { response })
    }
}
