//! Queues: claims from a queue are paused or resumed.

use serde_json::json;

use crate::command_origin::CommandOrigin;
use crate::decide::audit::ValueChange;
use crate::decide::{CommandOutput, DecisionContext};
use crate::id::QueueName;

pub(crate) fn pause(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    queue: &QueueName,
    paused: bool,
) -> CommandOutput {
    let set = &mut *context.set;
    let changed = if paused { set.paused.insert(queue.clone()) } else { set.paused.remove(queue) };
    if changed {
        set.changes.upserted.queues.insert(queue.clone(), paused);
        let change = ValueChange::new(json!({ "paused": !paused }), json!({ "paused": paused }));
        context.audit(by, if paused { "pause" } else { "resume" }, queue, &change);
    }
    CommandOutput::Nothing
}
