//! The configuration in the audit log: a line for each start or reload that changed it, on any node.

use std::collections::BTreeMap;

use serde_json::Value;
use tenure_core::command::ConfigurationChange;
use tenure_core::event::AuditLine;
use tenure_store::StoreError;

use crate::prelude::*;

/// Lines per read, and reads, in search of the last recorded configuration.
const PAGE_LINES: usize = 500;
const PAGES_MAX: usize = 20;
/// Settings that differ between the nodes of a system.
const OF_NODE: [&str; 4] = ["listen", "data", "tls.certificate", "tls.key"];
/// Changed settings that the line names.
const NAMES_MAX: usize = 10;

/// Records the configuration, if it is another one than the last. Without settings, the server is part of another program.
pub(crate) async fn record(app: &App) {
    let settings = app.settings();
    if settings.is_empty() {
        return;
    }
    let of_system = settings.iter().filter(|setting| !OF_NODE.contains(&setting.name.as_str()));
    let mut after: BTreeMap<String, String> =
        of_system.map(|setting| (setting.name.clone(), setting.value.clone())).collect();
    after.insert("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let recorded = match last(app).await {
        Ok(recorded) => recorded,
        Err(error) => return tracing::warn!(%error, "configuration not recorded"),
    };
    let Some(change) = change(recorded, after) else { return };
    let command = Command::RecordConfiguration(Box::new(change));
    let envelope = CommandEnvelope { by: "server".into(), key: None, command };
    if let Err(error) = app.runtime().submit(envelope).await {
        tracing::warn!(%error, "configuration not recorded");
    }
}

/// The last recorded configuration.
async fn last(app: &App) -> Result<Option<BTreeMap<String, String>>, StoreError> {
    let mut before = u64::MAX;
    for _ in 0..PAGES_MAX {
        let lines = app.store().audit_before(before, PAGE_LINES).await?;
        let Some((row, _)) = lines.last() else { break };
        before = *row;
        if let Some((_, line)) = lines.iter().find(|(_, line)| line.action == AuditLine::CONFIGURE) {
            let details = line.details.as_ref().and_then(|details| details.to_value().ok());
            let after = details.as_ref().and_then(|details| details["after"].as_object());
            let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
            return Ok(after.map(|after| after.iter().filter_map(text).collect()));
        }
    }
    Ok(None)
}

/// The change from one configuration to the next; `None` if they are equal.
fn change(
    recorded: Option<BTreeMap<String, String>>,
    after: BTreeMap<String, String>,
) -> Option<ConfigurationChange> {
    let Some(recorded) = recorded else {
        return Some(ConfigurationChange { what: "first recorded".to_owned(), before: None, after });
    };
    let names = recorded.keys().chain(after.keys());
    let changed = names.filter(|name| recorded.get(*name) != after.get(*name));
    let before: BTreeMap<String, Option<String>> =
        changed.map(|name| (name.clone(), recorded.get(name).cloned())).collect();
    let mut what: Vec<&str> = before.keys().take(NAMES_MAX).map(String::as_str).collect();
    if before.len() > NAMES_MAX {
        what.push("…");
    }
    let what = what.join(", ");
    (!before.is_empty()).then_some(ConfigurationChange { what, before: Some(before), after })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_change_has_the_earlier_values_of_the_changed_settings() {
        let (one, other) = (
            settings(&[("a", "1"), ("b", "2"), ("c", "3")]),
            settings(&[("b", "2"), ("c", "4"), ("d", "5")]),
        );
        assert_eq!(change(Some(one.clone()), one.clone()), None);
        assert_eq!(
            change(None, one.clone()).map(|it| (it.what, it.before)),
            Some(("first recorded".to_owned(), None))
        );
        let found = change(Some(one), other.clone()).expect("they differ");
        assert_eq!((found.what.as_str(), &found.after), ("a, c, d", &other));
        let before: Vec<_> = found.before.expect("it was recorded").into_iter().collect();
        let expected = [("a", Some("1")), ("c", Some("3")), ("d", None)];
        assert_eq!(before, expected.map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))));
    }
}
