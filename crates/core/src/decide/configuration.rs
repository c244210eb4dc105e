//! Configurations of nodes: a change is a line of the audit log.

use serde_json::json;

use crate::command::ConfigurationChange;
use crate::command_origin::CommandOrigin;
use crate::decide::audit::ValueChange;
use crate::decide::{CommandOutput, DecisionContext};
use crate::event::AuditLine;

pub(crate) fn record(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    change: &ConfigurationChange,
) -> CommandOutput {
    let before = change.before.as_ref().map_or(json!(null), |before| json!(before));
    context.audit(by, AuditLine::CONFIGURE, &change.what, &ValueChange::new(before, json!(change.after)));
    CommandOutput::Nothing
}
