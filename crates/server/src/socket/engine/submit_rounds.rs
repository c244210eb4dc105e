//! Submits an engine's reports in rounds: each takes the next report on every job, so that reports on one job keep their
//! order and reports on many jobs commit together.

use std::collections::HashSet;

use socketioxide::extract::AckSender;
use tenure_core::command::{Hold, Holder, Report, Verb};
use tenure_core::refusal::Refusal;

use crate::prelude::*;
use crate::socket::answer;
use crate::socket::engine::EngineTask;
use crate::socket::messages::{EngineMessage, EngineRequest};

/// Reports per round: their answers must fit into the engine's outgoing queue.
const ROUND_MAX: usize = 256;

/// An event without an answer.
pub(super) struct PendingReport {
    pub(super) ack: AckSender,
    pub(super) message: EngineMessage,
}

/// A report in the current round.
struct RoundEntry {
    ack: AckSender,
    event: String,
    command: Command,
    /// The job must be started first; the command follows in the next round.
    starts: bool,
}

impl EngineTask {
    /// Submits and answers the next report on each job.
    pub(super) async fn submit_round(&mut self) {
        let is_heartbeat =
            |first: &PendingReport| matches!(first.message.request, Ok(EngineRequest::Heartbeat));
        if self.pending.first().is_some_and(is_heartbeat) {
            let PendingReport { ack, message } = self.pending.remove(0);
            let result = self.heartbeat().await;
            return self.reply(ack, result, &message.event);
        }
        let round = self.next_round();
        let commands = round
            .iter()
            .map(|entry| if entry.starts { start(&entry.command) } else { entry.command.clone() });
        let results = self.submit_all(commands.collect()).await;
        let mut again = Vec::new();
        for (RoundEntry { ack, event, command, starts }, result) in round.into_iter().zip(results) {
            let result = self.settle(&command, result);
            if starts && result.is_ok() {
                let message = EngineMessage { event, request: Ok(EngineRequest::Job(command)) };
                again.push(PendingReport { ack, message });
            } else {
                self.reply(ack, result, &event);
            }
        }
        self.pending.splice(0..0, again);
    }

    /// Takes the next report on each job, and answers malformed events. A heartbeat waits for the reports before it, and
    /// the reports after it wait for the heartbeat.
    fn next_round(&mut self) -> Vec<RoundEntry> {
        let (mut round, mut later, mut busy) = (Vec::new(), Vec::new(), HashSet::<Option<JobId>>::new());
        let mut is_full = false;
        for PendingReport { ack, message: EngineMessage { event, request } } in
            std::mem::take(&mut self.pending)
        {
            match request {
                Err(problem) => self.reply(ack, Err(problem), &event),
                Ok(EngineRequest::Job(command)) if !is_full && busy.insert(command.job()) => {
                    let starts = self.must_start(&command);
                    round.push(RoundEntry { ack, event, command, starts });
                    is_full = round.len() == ROUND_MAX;
                }
                Ok(request) => {
                    is_full |= matches!(request, EngineRequest::Heartbeat);
                    later.push(PendingReport { ack, message: EngineMessage { event, request: Ok(request) } });
                }
            }
        }
        self.pending = later;
        round
    }

    /// Progress of a job that is not started starts it.
    fn must_start(&self, command: &Command) -> bool {
        let Command::Progress { hold, .. } = command else { return false };
        self.held.get(&hold.job).is_some_and(|held| held.fence == hold.fence && !held.is_started)
    }

    /// Renews the lease of every held job. A lease that was lost in the meantime is not an error.
    async fn heartbeat(&mut self) -> Result<()> {
        let worker = &self.handshake.worker;
        let heartbeat = |(job, fence)| Command::Heartbeat(Hold { job, worker: worker.clone(), fence });
        let held = self.held.iter().map(|(job, held)| (*job, held.fence));
        let heartbeats: Vec<Command> = held.map(heartbeat).collect();
        let results = self.submit_all(heartbeats.clone()).await;
        let mut first_failure = Ok(());
        for (heartbeat, result) in heartbeats.iter().zip(results) {
            let is_refused = matches!(result, Ok(Err(_)));
            let settled = self.settle(heartbeat, result);
            if !is_refused && first_failure.is_ok() {
                first_failure = settled;
            }
        }
        first_failure
    }

    async fn submit_all(&self, commands: Vec<Command>) -> Vec<Result<CommandResult, Failure>> {
        let by = self.handshake.caller.origin();
        let envelope = |command| CommandEnvelope { by: by.clone(), key: None, command };
        self.app.runtime().submit_all(commands.into_iter().map(envelope)).await
    }

    /// Updates the held job by a command's result.
    fn settle(&mut self, command: &Command, result: Result<CommandResult, Failure>) -> Result<()> {
        match (&result, command.job()) {
            (Ok(Ok(CommandOutput::Job { job, .. })), _) => self.update(job),
            (Ok(Ok(CommandOutput::Heartbeat { cancel: Some(mode), .. })), Some(job)) => {
                self.send_cancel(job, *mode);
            }
            (Ok(Err(refusal)), Some(job)) if self.has_lost(job, refusal) => self.drop_job(job),
            _ => {}
        }
        result??;
        Ok(())
    }

    /// Whether a refusal means that the engine no longer holds the job.
    fn has_lost(&self, job: JobId, refusal: &Refusal) -> bool {
        match refusal {
            Refusal::LeaseConflict { fence, .. } => {
                self.held.get(&job).is_some_and(|held| Some(held.fence) == *fence)
            }
            Refusal::NotFound { .. } => true,
            _ => false,
        }
    }

    fn reply(&mut self, ack: AckSender, result: Result<()>, event: &str) {
        self.is_stuck |= !answer(ack, result, event);
    }
}

/// The command that starts the job of a progress report.
fn start(command: &Command) -> Command {
    let Command::Progress { hold: Hold { job, worker, fence }, .. } = command else { return command.clone() };
    let holder = Some(Holder { worker: worker.clone(), fence: *fence });
    Command::Report(Box::new(Report { job: *job, holder, verb: Verb::Start }))
}
