//! Workers and nodes: when they were last seen, and a worker's connection.

use uuid::Uuid;

use crate::command::{Hold, WorkerSighting};
use crate::command_origin::CommandOrigin;
use crate::decide::lease::Presented;
use crate::decide::transition::TransitionRequest;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, clock, lease};
use crate::id::{Name, WorkerId};
use crate::job::{Category, JobError};
use crate::lifecycle::Trigger;
use crate::node::NodeRecord;
use crate::worker::WorkerRecord;

/// The holder's connection is closed. Without a rule for it in the lifecycle, the lease expires at its time.
pub(crate) fn disconnect(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    hold: &Hold,
) -> CommandResult {
    let job = context.job(hold.job)?;
    lease::check(&job, &Presented::hold(by, hold))?;
    if context.lifecycle(&job)?.has_rule(job.state.as_str(), &Trigger::Disconnected) {
        let error =
            JobError::own("WORKER_DISCONNECTED", "the worker's connection was closed", Category::Queue);
        let request = TransitionRequest::new(Trigger::Disconnected, by.clone());
        context.transition(hold.job, request.failing(error))?;
        clock::catch_up(context, hold.job)?;
    }
    context.job_output(hold.job)
}

/// Of a worker that is listed twice, the last entry counts.
pub(crate) fn seen(context: &mut DecisionContext<'_>, workers: &[WorkerSighting]) -> CommandOutput {
    for WorkerSighting { worker, credential } in workers {
        record(context, worker, credential.as_ref(), None);
    }
    CommandOutput::Nothing
}

/// The connection takes over the worker's name from an older one.
pub(crate) fn bind_connection(
    context: &mut DecisionContext<'_>,
    worker: &WorkerId,
    credential: &Name,
    connection: Uuid,
) -> CommandOutput {
    record(context, worker, Some(credential), Some(connection));
    CommandOutput::Nothing
}

fn record(
    context: &mut DecisionContext<'_>,
    name: &WorkerId,
    credential: Option<&Name>,
    connection: Option<Uuid>,
) {
    let (seen_at, workers) = (context.now.at, &mut context.set.changes.upserted.workers);
    let connection = connection.or_else(|| workers.get(name).and_then(|known| known.connection));
    let record = WorkerRecord { name: name.clone(), credential: credential.cloned(), seen_at, connection };
    workers.insert(name.clone(), record);
}

/// The last report of a node counts; after a node has reported that it stopped, later reports are ignored.
pub(crate) fn node_heartbeat(context: &mut DecisionContext<'_>, node: &NodeRecord) -> CommandOutput {
    let nodes = &mut context.set.changes.upserted.nodes;
    if !nodes.get(&node.id).is_some_and(|known| known.stopped) {
        nodes.insert(node.id.clone(), NodeRecord { seen_at: context.now.at, ..node.clone() });
    }
    CommandOutput::Nothing
}
