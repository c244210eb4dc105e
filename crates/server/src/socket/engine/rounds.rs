//! What an engine said, submitted: a round takes the next word on each job, so that words on one job keep their order
//! and words on many jobs commit together.

use std::collections::HashSet;

use socketioxide::extract::AckSender;
use tenure_core::command::{Asked, Command, Hold, Report, Verb};
use tenure_core::decide::{Answer, Done};
use tenure_core::id::JobId;
use tenure_core::refusal::Refusal;
use tenure_runtime::Failure;

use crate::problem::Problem;
use crate::socket::answer;
use crate::socket::engine::Working;
use crate::socket::said::Asks;

/// Words in one round: their answers must fit into what may wait for the engine.
const ROUND_MAX: usize = 256;

/// An event that waits for its answer.
pub(super) struct Pending {
    pub(super) ack: AckSender,
    pub(super) event: String,
    pub(super) asks: Result<Asks, Problem>,
}

/// A word whose turn it is.
struct Turn {
    ack: AckSender,
    event: String,
    command: Command,
    /// The job is started first; the word itself comes after.
    starts: bool,
}

impl Working {
    /// Submits the next word on each job and answers it.
    pub(super) async fn round(&mut self) {
        if matches!(self.pending.first(), Some(Pending { asks: Ok(Asks::Heartbeat), .. })) {
            let Pending { ack, event, .. } = self.pending.remove(0);
            let result = self.beat().await;
            return self.reply(ack, result, &event);
        }
        let turns = self.turns();
        let by = self.hello.caller.actor();
        let asked = turns.iter().map(|turn| {
            let command = if turn.starts { start(&turn.command) } else { turn.command.clone() };
            Asked { by: by.clone(), key: None, command }
        });
        let asked: Vec<Asked> = asked.collect();
        let answers = self.app.runtime().submit_all(asked).await;
        let mut again = Vec::new();
        for (Turn { ack, event, command, starts }, answer) in turns.into_iter().zip(answers) {
            let result = self.settle(&command, answer);
            if starts && result.is_ok() {
                again.push(Pending { ack, event, asks: Ok(Asks::Verb(command)) });
            } else {
                self.reply(ack, result, &event);
            }
        }
        self.pending.splice(0..0, again);
    }

    /// Takes the next word on each job, and answers what cannot be understood. A heartbeat waits for what was said
    /// before it, and what was said after it waits for the heartbeat.
    fn turns(&mut self) -> Vec<Turn> {
        let (mut turns, mut later, mut busy) = (Vec::new(), Vec::new(), HashSet::<Option<JobId>>::new());
        let mut is_full = false;
        for Pending { ack, event, asks } in std::mem::take(&mut self.pending) {
            match asks {
                Err(problem) => self.reply(ack, Err(problem), &event),
                Ok(Asks::Verb(command)) if !is_full && busy.insert(command.job()) => {
                    let starts = self.starts(&command);
                    turns.push(Turn { ack, event, command, starts });
                    is_full = turns.len() == ROUND_MAX;
                }
                Ok(asks) => {
                    is_full |= matches!(asks, Asks::Heartbeat);
                    later.push(Pending { ack, event, asks: Ok(asks) });
                }
            }
        }
        self.pending = later;
        turns
    }

    /// Progress of a job that was not started starts it.
    fn starts(&self, command: &Command) -> bool {
        let Command::Progress(hold, ..) = command else { return false };
        self.held.get(&hold.job).is_some_and(|held| held.fence == hold.fence && !held.is_started)
    }

    /// Beats every lease that it holds. One that it has lost meanwhile is not held, and no error.
    async fn beat(&mut self) -> Result<(), Problem> {
        let by = self.hello.caller.actor();
        let worker = &self.hello.worker;
        let beat = |(job, fence)| Command::Heartbeat(Hold { job, worker: worker.clone(), fence });
        let beats: Vec<Command> = self.held.iter().map(|(job, held)| (*job, held.fence)).map(beat).collect();
        let asked = beats.iter().map(|beat| Asked { by: by.clone(), key: None, command: beat.clone() });
        let asked: Vec<Asked> = asked.collect();
        let answers = self.app.runtime().submit_all(asked).await;
        let mut result = Ok(());
        for (beat, answer) in beats.iter().zip(answers) {
            let is_refused = matches!(answer, Ok(Err(_)));
            let settled = self.settle(beat, answer);
            if !is_refused && result.is_ok() {
                result = settled;
            }
        }
        result
    }

    /// Notes what an answer says of the job.
    fn settle(&mut self, command: &Command, answer: Result<Answer, Failure>) -> Result<(), Problem> {
        match (&answer, command.job()) {
            (Ok(Ok(Done::Job { job, .. })), _) => self.standing(job),
            (Ok(Ok(Done::Beat { cancel: Some(mode), .. })), Some(job)) => self.cancel(job, *mode),
            (Ok(Err(Refusal::LeaseConflict { fence, .. })), Some(job))
                if self.held.get(&job).is_some_and(|held| Some(held.fence) == *fence) =>
            {
                self.let_go(job);
            }
            (Ok(Err(Refusal::NotFound { .. })), Some(job)) => self.let_go(job),
            _ => {}
        }
        answer??;
        Ok(())
    }

    fn reply(&mut self, ack: AckSender, result: Result<(), Problem>, event: &str) {
        self.is_stuck |= !answer(ack, result, event);
    }
}

/// The start of the job that a word is about.
fn start(command: &Command) -> Command {
    let Command::Progress(Hold { job, worker, fence }, ..) = command else { return command.clone() };
    let holder = Some((worker.clone(), *fence));
    Command::Report(Box::new(Report { job: *job, holder, verb: Verb::Start }))
}
