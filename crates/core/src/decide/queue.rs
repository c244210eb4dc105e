//! Queues: claims from a queue are paused or resumed.

use crate::decide::{CommandOutput, DecisionContext};
use crate::id::{Actor, QueueName};

pub(crate) fn pause(
    context: &mut DecisionContext<'_>,
    by: &Actor,
    queue: &QueueName,
    paused: bool,
) -> CommandOutput {
    let set = &mut *context.set;
    let changed = if paused { set.paused.insert(queue.clone()) } else { set.paused.remove(queue) };
    if changed {
        set.changes.upserted.queues.insert(queue.clone(), paused);
        context.audit(by, if paused { "pause" } else { "resume" }, queue);
    }
    CommandOutput::Nothing
}
