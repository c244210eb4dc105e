//! Lifecycle files: registered once for each name and version.

use crate::decide::{CommandOutput, CommandResult, DecisionContext};
use crate::job::LifecycleRef;
use crate::refusal::Refusal;

/// The same name and version with a different text is refused: existing jobs follow the registered text.
pub(crate) fn register(context: &mut DecisionContext<'_>, key: &LifecycleRef, source: &str) -> CommandResult {
    match context.set.lifecycles.get(key) {
        Some(known) if known == source => Ok(CommandOutput::Nothing),
        Some(_) => Err(Refusal::LifecycleChanged(key.clone())),
        None => {
            context.set.lifecycles.insert(key.clone(), source.to_owned());
            context.set.changes.upserted.lifecycles.insert(key.clone());
            Ok(CommandOutput::Nothing)
        }
    }
}
