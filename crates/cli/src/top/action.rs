//! Actions on jobs: cancel, retry, redrive. Each is confirmed first, with the number of jobs.

use serde_json::json;
use tenure_api::{CallId, JobRecord, RedriveResults};

use crate::client::{self, Answer, Server};
use crate::show::short;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActionKind {
    Cancel { hard: bool },
    Retry,
    Redrive,
}

/// An action, and the ids of its jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) kind: ActionKind,
    pub(super) jobs: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActionOutcome {
    pub(super) kind: ActionKind,
    /// The cancelled jobs, or the new ones.
    pub(super) done: Vec<String>,
    /// Error messages for the other jobs.
    pub(super) refused: Vec<String>,
}

impl Action {
    pub(super) fn question(&self) -> String {
        let jobs = match &self.jobs[..] {
            [job] => format!("job {}", short(job)),
            jobs => format!("{} jobs", jobs.len()),
        };
        match self.kind {
            ActionKind::Cancel { .. } => format!("Cancel {jobs}?"),
            ActionKind::Retry => format!("Retry {jobs}?"),
            ActionKind::Redrive => format!("Redrive {jobs}?"),
        }
    }

    /// The keys that answer the question.
    pub(super) fn keys(&self) -> &'static str {
        match self.kind {
            ActionKind::Cancel { .. } => "y ask the worker to stop · h stop now · n no",
            ActionKind::Retry | ActionKind::Redrive => "y yes · n no",
        }
    }

    /// Acts on one job after the other; a refusal does not stop the rest.
    pub(super) async fn run(self, server: &Server) -> ActionOutcome {
        let mut outcome = ActionOutcome { kind: self.kind, done: Vec::new(), refused: Vec::new() };
        let (call, body) = match self.kind {
            ActionKind::Redrive => {
                outcome.redrive(server, &self.jobs).await;
                return outcome;
            }
            ActionKind::Cancel { hard } => {
                (CallId::CancelJob, json!({ "mode": if hard { "hard" } else { "soft" } }))
            }
            ActionKind::Retry => (CallId::RetryJob, json!({})),
        };
        for job in &self.jobs {
            match server.post::<JobRecord>(call, &[job], &body).await {
                Ok(job) => outcome.done.push(job.id.clone()),
                Err(error) => outcome.refused.push(client::cli_error(&error).message),
            }
        }
        outcome
    }
}

impl ActionOutcome {
    async fn redrive(&mut self, server: &Server, jobs: &[String]) {
        let body = json!({ "ids": jobs });
        let redriven: anyhow::Result<Answer<RedriveResults>> =
            server.post(CallId::RedriveDeadLetters, &[], &body).await;
        match redriven {
            Ok(answer) => {
                for result in answer.into_inner().results {
                    self.done.extend(result.ok.map(|job| job.id));
                    self.refused.extend(result.error.map(|problem| problem.to_string()));
                }
            }
            Err(error) => self.refused.push(client::cli_error(&error).message),
        }
    }

    pub(super) fn summary(&self) -> String {
        let done = match (self.kind, &self.done[..]) {
            (_, []) => String::new(),
            (ActionKind::Cancel { hard: true }, jobs) => format!("{} cancelled", jobs.len()),
            (ActionKind::Cancel { hard: false }, jobs) => format!("{} asked to stop", jobs.len()),
            (ActionKind::Retry | ActionKind::Redrive, [job]) => format!("new job: {}", short(job)),
            (ActionKind::Retry | ActionKind::Redrive, jobs) => format!("{} new jobs", jobs.len()),
        };
        match &self.refused[..] {
            [] => done,
            [first, ..] if done.is_empty() => format!("{} refused: {first}", self.refused.len()),
            [first, ..] => format!("{done}, {} refused: {first}", self.refused.len()),
        }
    }
}
