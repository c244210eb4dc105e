//! Sequences: jobs of a type with one key run one after the other. A failure of the first halts the sequence, if it is declared so.

use serde_json::{Value, json};

use crate::command_origin::CommandOrigin;
use crate::decide::audit::ValueChange;
use crate::decide::{CommandOutput, CommandResult, DecisionContext};
use crate::flow::{FlowKeys, FlowRecord, FlowRecordKind, Halt, OnFailure, SequenceId};
use crate::id::TypeName;
use crate::job::Job;
use crate::lifecycle::Outcome;
use crate::refusal::Refusal;

/// The keys of a new job with its place in the order of creation, if its type declares a sequence.
pub(crate) fn placed(context: &DecisionContext<'_>, job_type: &TypeName, flow: &FlowKeys) -> FlowKeys {
    let declared = context.set.flow.state.declarations.job_type(job_type.as_str());
    let is_ordered = flow.sequence.is_some() || declared.is_some_and(|flow| flow.sequence.is_some());
    let place = if is_ordered { next_place(context) } else { 0 };
    FlowKeys { place, ..flow.clone() }
}

/// Larger than that of every job that was created before.
fn next_place(context: &DecisionContext<'_>) -> u64 {
    context.set.flow.position + context.set.changes.appended.events.len() as u64 + 1
}

/// A job entered its sequence.
pub(crate) fn joined(context: &mut DecisionContext<'_>, job: &Job) {
    let Some(sequence) = sequence_of(job) else { return };
    let jobs = context.set.flow.sequences.entry(sequence).or_default();
    let entry = (job.flow().place, job.id());
    if !jobs.contains(&entry) {
        jobs.push(entry);
        jobs.sort_unstable();
    }
}

/// An amendment may have moved a job to another sequence.
pub(crate) fn moved(context: &mut DecisionContext<'_>, before: &Job, after: &Job) {
    let left = sequence_of(before);
    if left == sequence_of(after) {
        return;
    }
    if let Some(left) = left {
        context.set.flow.leave(before.id(), &left);
    }
    joined(context, after);
}

/// A job ended. If it was the first of its sequence and did not succeed, the sequence may halt.
pub(crate) fn ended(context: &mut DecisionContext<'_>, job: &Job, outcome: Outcome) {
    let Some(sequence) = sequence_of(job) else { return };
    let was_first = context.set.flow.is_first(job.id(), &sequence);
    context.set.flow.leave(job.id(), &sequence);
    let state = &context.set.flow.state;
    if !was_first || outcome.is_success() || state.halts.contains_key(&sequence) {
        return;
    }
    let declared = state.declarations.job_type(job.spec.job_type.as_str());
    let declared = declared.and_then(|flow| flow.sequence.as_ref());
    if declared.is_some_and(|declared| declared.on_failure == OnFailure::Halt) {
        let halt = Halt { job: job.id(), place: job.flow().place, at: context.now.at };
        context.set.put_flow(FlowRecord::Halt(sequence, halt));
    }
}

fn sequence_of(job: &Job) -> Option<SequenceId> {
    job.flow().sequence_of(&job.spec.job_type)
}

/// The keys of a copy of a finished job. The copy of a job that halted its sequence takes its place at the front.
pub(crate) fn copied(context: &DecisionContext<'_>, job: &Job) -> FlowKeys {
    match halt_of(context, job) {
        Some((_, halt)) => FlowKeys { place: halt.place, ..job.flow().clone() },
        None => placed(context, &job.spec.job_type, job.flow()),
    }
}

/// The halt that a job caused.
fn halt_of(context: &DecisionContext<'_>, job: &Job) -> Option<(SequenceId, Halt)> {
    let sequence = sequence_of(job)?;
    let halt = context.set.flow.state.halts.get(&sequence).filter(|halt| halt.job == job.id()).cloned()?;
    Some((sequence, halt))
}

/// Ends the halt that a job caused.
pub(crate) fn end_halt(context: &mut DecisionContext<'_>, job: &Job) {
    if let Some((sequence, _)) = halt_of(context, job) {
        remove(context, &sequence);
    }
}

fn remove(context: &mut DecisionContext<'_>, sequence: &SequenceId) {
    let id = (FlowRecordKind::Halt, sequence.job_type.to_string(), sequence.key.to_string());
    context.set.remove_flow(id);
}

/// An operator resumes a halted sequence with its next job.
pub(crate) fn resume(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    sequence: &SequenceId,
) -> CommandResult {
    let halt = context.set.flow.state.halts.get(sequence).cloned();
    let halt = halt.ok_or_else(|| Refusal::NotHalted(sequence.clone()))?;
    remove(context, sequence);
    let change = ValueChange::new(json!({ "job_id": halt.job, "halted_at": halt.at }), Value::Null);
    context.audit(by, "resume-sequence", &sequence.to_string(), &change);
    Ok(CommandOutput::Nothing)
}
