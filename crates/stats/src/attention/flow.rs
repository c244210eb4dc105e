//! Rules about flow control and the clock: halted sequences, paused resources, steps of the clock.

use super::{Attention, AttentionKind, Judged, Severity, Subject, number};
use crate::prelude::*;
use crate::read::HALTED_MAX;

/// How long a step of the clock is reported.
const STEP_REPORTED: Millis = Millis::seconds(3600);

/// Sequences that a failed job stopped: no further job of them runs.
pub(super) fn halted(judged: &Judged<'_>) -> Option<Attention> {
    let halted = &judged.peers.halted;
    let first = halted.iter().min_by_key(|sequence| sequence.halted.map(|(_, at)| at))?;
    let waiting: usize = halted.iter().map(|sequence| sequence.waiting).sum();
    let jobs = number(waiting as u64, "unfinished job");
    let name = format!("{} of type {}", first.id.key, first.id.job_type);
    let text = match halted.len() {
        1 => format!("the sequence {name} is halted by a failed job, with {jobs}"),
        many => {
            let more = if many >= HALTED_MAX { " or more" } else { "" };
            format!("{many}{more} sequences are halted by failed jobs, with {jobs}; the first is {name}")
        }
    };
    Some(Attention {
        what: AttentionKind::HaltedSequence,
        severity: Severity::Critical,
        text,
        since: first.halted.map(|(_, at)| at),
        subject: Subject::Resources,
        action: "Resume the sequence",
    })
}

/// Resources, or single buckets of them, that are paused for long.
pub(super) fn paused_resources(judged: &Judged<'_>) -> impl Iterator<Item = Attention> {
    let now = judged.inputs.live.now;
    let is_long = move |at: Timestamp| now > at && now - at > judged.thresholds.pause;
    judged.peers.paused_resources.iter().filter(move |paused| is_long(paused.pause.at)).map(|paused| {
        Attention {
            what: AttentionKind::PausedResource,
            severity: Severity::Warning,
            text: format!("resource {} is paused by {}", paused.name, paused.pause.by),
            since: Some(paused.pause.at),
            subject: Subject::Resources,
            action: "Resume the resource",
        }
    })
}

/// A step of the clock while the server ran.
pub(super) fn clock_step(judged: &Judged<'_>) -> Option<Attention> {
    let step = judged.peers.clock_step?;
    let now = judged.inputs.live.now;
    (now < step.at || now - step.at <= STEP_REPORTED).then(|| Attention {
        what: AttentionKind::ClockStep,
        severity: Severity::Warning,
        text: format!(
            "the clock went ahead by {} while the server ran: the machine or the server was stopped, or the clock was set. All deadlines are postponed",
            step.by
        ),
        since: Some(step.at),
        subject: Subject::System,
        action: "Check the machine",
    })
}
