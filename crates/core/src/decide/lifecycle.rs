//! Lifecycle files: registered once for each name and version.

use serde_json::{Value, json};

use crate::command_origin::CommandOrigin;
use crate::decide::audit::ValueChange;
use crate::decide::{CommandOutput, CommandResult, DecisionContext};
use crate::job::LifecycleRef;
use crate::refusal::Refusal;

/// The same name and version with a different text is refused: existing jobs follow the registered text.
pub(crate) fn register(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    key: &LifecycleRef,
    source: &str,
    is_update: bool,
) -> CommandResult {
    match context.set.lifecycles.get(key) {
        Some(known) if known == source => Ok(CommandOutput::Nothing),
        Some(_) => Err(Refusal::LifecycleChanged(key.clone())),
        None => {
            context.set.lifecycles.insert(key.clone(), source.to_owned());
            context.set.changes.upserted.lifecycles.insert(key.clone());
            if is_update {
                let LifecycleRef { name, version } = key;
                let after = json!({ "name": name, "version": version });
                let change = ValueChange::new(Value::Null, after);
                context.audit(by, "lifecycle_register", &format!("{name} v{version}"), &change);
            }
            Ok(CommandOutput::Nothing)
        }
    }
}
