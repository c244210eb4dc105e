//! The `[api]` table: a lifecycle's own door. What its left sides name must be fields that a job or an event has.

use toml::de::DeTable;

use super::super::flaw::{At, RuleId, Span};
use super::super::policy::Api;
use super::DraftApi;
use super::reader::{Reader, Table, Value, shown};
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
    "duration_ms",
    "run_ms",
];
/// What an event has besides.
const EVENT_FIELDS: &[&str] = &["job_id", "trigger", "from", "to", "ts", "actor", "cause", "version"];
const ERROR_FIELDS: &[&str] = &["code", "message", "category", "class", "stage", "details", "text"];
const LEASE_FIELDS: &[&str] = &["fence", "expires_at"];
const CANCEL_FIELDS: &[&str] = &["mode", "reason", "by", "at", "hard_at"];
/// First steps of a path that the server itself answers.
const TAKEN: &[&str] =
    &["api", "ui", "problems", "docs", "socket.io", "healthz", "readyz", "metrics", "openapi.json"];

pub(super) fn read(reader: &mut Reader<'_>, root: &Table<'_>) -> Option<DraftApi> {
    let table = reader.below(root, "api", &["mount", "fields", "events"])?;
    let mut draft = DraftApi {
        api: Api { mount: String::new(), fields: Vec::new(), events: Vec::new() },
        states: Vec::new(),
        events: Vec::new(),
    };
    match table.get("mount") {
        Some(value) => mount(reader, value, &mut draft),
        None => reader.flaws.add(
            RuleId::Syntax,
            "a door without `mount`",
            &[(table.at, "where?")],
            "say where it stands: mount = \"/reviews\"",
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

fn mount(reader: &mut Reader<'_>, value: &Value<'_>, draft: &mut DraftApi) {
    let Some(text) = reader.text(value, "mount") else { return };
    let steps: Vec<&str> = text.value.trim_start_matches('/').split('/').collect();
    let plain = |step: &&str| {
        !step.is_empty()
            && *step != "."
            && *step != ".."
            && step.chars().all(|c| c.is_ascii_alphanumeric() || "-._~".contains(c))
    };
    if !text.value.starts_with('/') || text.value.starts_with("//") || !steps.iter().all(plain) {
        let message = format!("`{}` is not a path for a door", shown(&text.value));
        let help = "begin with `/`, and use letters, digits, `-`, `.`, `_` and `~` between slashes: mount = \"/reviews\"";
        reader.flaws.add(RuleId::L1, message, &[(text.at, "not a path")], help);
    } else if text.value.len() > limits::NAME_BYTES_MAX {
        reader.bad_name(&text, "a door", "a shorter path");
    } else if TAKEN.contains(&steps[0]) {
        let message = format!("a door cannot stand below `/{}`", steps[0]);
        let taken: Vec<String> = TAKEN.iter().map(|step| format!("/{step}")).collect();
        let help = format!("the server itself answers at {}; choose another beginning", list(&taken));
        reader.flaws.add(RuleId::L1, message, &[(text.at, "taken")], help);
    }
    draft.api.mount = text.value;
}

fn read_fields(reader: &mut Reader<'_>, fields: &DeTable<'_>, draft: &mut DraftApi) {
    let mut spoken: Vec<At<String>> = Vec::new();
    for (key, value) in fields {
        let field = At { value: key.get_ref().to_string(), at: Span::from(key.span()) };
        known_field(reader, &field, false, draft);
        let Some(name) = reader.text(value, &shown(&field.value)) else { continue };
        if name.value.is_empty()
            || name.value.len() > limits::NAME_BYTES_MAX
            || name.value.contains(char::is_control)
        {
            reader.bad_name(&name, "a field", "the name as clients know it: jobId");
        }
        if let Some(first) = spoken.iter().find(|first| first.value == name.value) {
            let message = format!("two fields are called `{}`", shown(&name.value));
            let places = [(name.at, "here"), (first.at, "and here")];
            reader.flaws.add(
                RuleId::L1,
                message,
                &places,
                "on the wire each name stands for one field: rename one of them",
            );
        }
        draft.api.fields.push((field.value, name.value.clone()));
        spoken.push(name);
    }
}

fn read_events(reader: &mut Reader<'_>, events: &DeTable<'_>, draft: &mut DraftApi) {
    for (key, value) in events {
        let event = At { value: key.get_ref().to_string(), at: Span::from(key.span()) };
        let fields = reader.text_list(value, &shown(&event.value));
        for field in &fields {
            known_field(reader, field, true, draft);
        }
        draft.api.events.push((event.value.clone(), fields.into_iter().map(|field| field.value).collect()));
        draft.events.push(event);
    }
}

/// Whether there is such a field; a dotted one picks a value within it.
fn known_field(reader: &mut Reader<'_>, field: &At<String>, of_event: bool, draft: &mut DraftApi) {
    let (head, rest) =
        field.value.split_once('.').map_or((field.value.as_str(), None), |(head, rest)| (head, Some(rest)));
    let more = if of_event { EVENT_FIELDS } else { &[] };
    let heads: Vec<&str> = FIELDS.iter().chain(more).copied().collect();
    if !heads.contains(&head) {
        unknown_field(reader, field, head, &heads);
        return;
    }
    let Some(rest) = rest else { return };
    match head {
        "entered" => draft.states.push(At { value: rest.to_owned(), at: field.at }),
        "error" if rest.split('.').next() != Some("details") => known_part(reader, field, rest, ERROR_FIELDS),
        "lease" => known_part(reader, field, rest, LEASE_FIELDS),
        "cancel_requested" => known_part(reader, field, rest, CANCEL_FIELDS),
        "payload" | "result" | "checkpoint" | "error" if rest.split('.').all(|step| !step.is_empty()) => {}
        _ => {
            let message =
                format!("`{}` picks nothing: `{head}` has no parts of that name", shown(&field.value));
            let help = "a dotted name picks from entered, error, lease, payload, result or checkpoint";
            reader.flaws.add(RuleId::L1, message, &[(field.at, "unknown")], help);
        }
    }
}

fn known_part(reader: &mut Reader<'_>, field: &At<String>, part: &str, parts: &[&str]) {
    if !parts.contains(&part) {
        unknown_field(reader, field, part, parts);
    }
}

fn unknown_field(reader: &mut Reader<'_>, field: &At<String>, part: &str, known: &[&str]) {
    let all = format!("there are {}", list(known));
    let help = did_you_mean(part, known.iter().copied())
        .map_or_else(|| all.clone(), |meant| format!("did you mean `{meant}`? {all}"));
    reader.flaws.add(
        RuleId::L1,
        format!("`{}` is not a field", shown(&field.value)),
        &[(field.at, "unknown")],
        help,
    );
}
