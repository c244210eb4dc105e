//! Reads the `[api]` table: the mount path and the names of a lifecycle API.

use toml::de::DeTable;

use super::super::flaw::{Located, RuleId, Span, suggestion};
use super::super::policy::Api;
use super::DraftApi;
use super::reader::{DraftReader, KnownTable, TomlValue, shown};
use crate::limits;
use crate::text::{did_you_mean, list};

/// The canonical fields of a job.
const FIELDS: &[&str] = &[
    "id",
    "lifecycle",
    "lifecycle_version",
    "type",
    "queue",
    "user_id",
    "state",
    "phase",
    "outcome",
    "seq",
    "attempt",
    "retry_count",
    "max_attempts",
    "priority",
    "progress",
    "progress_message",
    "payload",
    "result",
    "error",
    "checkpoint",
    "worker",
    "lease",
    "cancel_requested",
    "correlation_id",
    "trace_id",
    "idempotency_key",
    "retry_of",
    "run_at",
    "created_at",
    "updated_at",
    "claimed_at",
    "started_at",
    "completed_at",
    "entered",
    "flow",
    "duration_ms",
    "run_ms",
];
/// Additional fields of an event.
const EVENT_FIELDS: &[&str] = &["job_id", "trigger", "from", "to", "ts", "actor", "cause", "version"];
const ERROR_FIELDS: &[&str] = &["code", "message", "category", "class", "stage", "details", "text"];
const LEASE_FIELDS: &[&str] = &["fence", "expires_at"];
const CANCEL_FIELDS: &[&str] = &["mode", "reason", "by", "at", "hard_at"];
/// First segments of the paths that the server itself serves.
const RESERVED: &[&str] =
    &["api", "ui", "problems", "docs", "socket.io", "healthz", "readyz", "metrics", "openapi.json"];

pub(super) fn read(reader: &mut DraftReader<'_>, root: &KnownTable<'_>) -> Option<DraftApi> {
    let table = reader.subtable(root, "api", &["mount", "fields", "events"])?;
    let mut draft = DraftApi {
        api: Api { mount: String::new(), fields: Vec::new(), events: Vec::new() },
        states: Vec::new(),
        events: Vec::new(),
    };
    match table.get("mount") {
        Some(value) => mount(reader, value, &mut draft),
        None => reader.flaws.add(
            RuleId::Syntax,
            "[api] has no `mount`",
            &[(table.at, "no path")],
            "add the path of the API: mount = \"/reviews\"",
        ),
    }
    if let Some(value) = table.get("fields")
        && let Some(fields) = reader.table(value, "api.fields")
    {
        read_fields(reader, fields, &mut draft);
    }
    if let Some(value) = table.get("events")
        && let Some(events) = reader.table(value, "api.events")
    {
        read_events(reader, events, &mut draft);
    }
    Some(draft)
}

fn mount(reader: &mut DraftReader<'_>, value: &TomlValue<'_>, draft: &mut DraftApi) {
    let Some(text) = reader.text(value, "mount") else { return };
    let segments: Vec<&str> = text.value.trim_start_matches('/').split('/').collect();
    let plain = |segment: &&str| {
        !["", ".", ".."].contains(segment)
            && segment.chars().all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
    };
    if !text.value.starts_with('/') || text.value.starts_with("//") || !segments.iter().all(plain) {
        let message = format!("`{}` is not a path", shown(&text.value));
        let help = "start with `/`, and use letters, digits, `-`, `.`, `_` and `~` between slashes: mount = \"/reviews\"";
        reader.flaws.add(RuleId::L1, message, &[(text.at, "not a path")], help);
    } else if text.value.len() > limits::NAME_BYTES_MAX {
        reader.bad_name(&text, "an API", "a shorter path");
    } else if RESERVED.contains(&segments[0]) {
        let message = format!("`/{}` is reserved", segments[0]);
        let reserved: Vec<String> = RESERVED.iter().map(|segment| format!("/{segment}")).collect();
        let help = format!("choose a path outside {}, which the server uses", list(&reserved));
        reader.flaws.add(RuleId::L1, message, &[(text.at, "reserved")], help);
    }
    draft.api.mount = text.value;
}

fn read_fields(reader: &mut DraftReader<'_>, fields: &DeTable<'_>, draft: &mut DraftApi) {
    let mut used: Vec<Located<String>> = Vec::new();
    for (key, value) in fields {
        let field = Located { value: key.get_ref().to_string(), at: Span::from(key.span()) };
        check_field(reader, &field, false, draft);
        let Some(name) = reader.text(value, &shown(&field.value)) else { continue };
        if name.value.is_empty()
            || name.value.len() > limits::NAME_BYTES_MAX
            || name.value.contains(char::is_control)
        {
            reader.bad_name(&name, "a field", "the name that clients use: jobId");
        }
        if let Some(first) = used.iter().find(|first| first.value == name.value) {
            let message = format!("two fields are named `{}`", shown(&name.value));
            let places = [(name.at, "second use"), (first.at, "first use")];
            reader.flaws.add(RuleId::L1, message, &places, "rename one of them");
        }
        draft.api.fields.push((field.value, name.value.clone()));
        used.push(name);
    }
}

fn read_events(reader: &mut DraftReader<'_>, events: &DeTable<'_>, draft: &mut DraftApi) {
    for (key, value) in events {
        let event = Located { value: key.get_ref().to_string(), at: Span::from(key.span()) };
        let fields = reader.text_list(value, &shown(&event.value));
        for field in &fields {
            check_field(reader, field, true, draft);
        }
        draft.api.events.push((event.value.clone(), fields.into_iter().map(|field| field.value).collect()));
        draft.events.push(event);
    }
}

/// Checks that a field exists; a dotted name selects a value inside it.
fn check_field(reader: &mut DraftReader<'_>, field: &Located<String>, of_event: bool, draft: &mut DraftApi) {
    let (head, rest) =
        field.value.split_once('.').map_or((field.value.as_str(), None), |(head, rest)| (head, Some(rest)));
    let more = if of_event { EVENT_FIELDS } else { &[] };
    let heads: Vec<&str> = FIELDS.iter().chain(more).copied().collect();
    check_part(reader, field, head, &heads);
    let Some(rest) = rest.filter(|_| heads.contains(&head)) else { return };
    match head {
        "entered" => draft.states.push(Located { value: rest.to_owned(), at: field.at }),
        "error" if rest.split('.').next() != Some("details") => check_part(reader, field, rest, ERROR_FIELDS),
        "lease" => check_part(reader, field, rest, LEASE_FIELDS),
        "cancel_requested" => check_part(reader, field, rest, CANCEL_FIELDS),
        "flow" => check_part(reader, field, rest, &["unique"]),
        "payload" | "result" | "checkpoint" | "error" if rest.split('.').all(|step| !step.is_empty()) => {}
        _ => {
            let message = format!("`{}` does not exist: `{head}` has no such part", shown(&field.value));
            let help = "use dotted names only in entered, error, lease, payload, result or checkpoint";
            reader.flaws.add(RuleId::L1, message, &[(field.at, "unknown")], help);
        }
    }
}

fn check_part(reader: &mut DraftReader<'_>, field: &Located<String>, part: &str, known: &[&str]) {
    if !known.contains(&part) {
        let help =
            suggestion(did_you_mean(part, known.iter().copied()), &format!("the fields are {}", list(known)));
        let message = format!("`{}` is not a field", shown(&field.value));
        reader.flaws.add(RuleId::L1, message, &[(field.at, "unknown")], help);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tenure_api::schema::{Described as _, Schema};

    #[test]
    fn every_field_of_a_job_in_the_api_can_be_renamed() {
        let fields = tenure_api::JobRecord::OBJECT.fields.iter();
        let fields = fields.filter(|field| !matches!(field.schema, Schema::Extra(_)));
        let fields: BTreeSet<&str> = fields.map(|field| field.name).collect();
        assert_eq!(super::FIELDS.iter().copied().collect::<BTreeSet<_>>(), fields);
    }
}
