//! What went wrong, as people read it: the code and the first line at once, what is long folded.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Serialize;
use serde_json::value::RawValue;
use tenure_core::job::JobError;
use tenure_core::json::Json;

use crate::pretty::{cut, pretty};

/// Letters of a message that are shown at once.
const MESSAGE_LETTERS: usize = 400;
/// Of what is folded, this much.
const FOLDED_BYTES: usize = 16 << 10;
/// Members of an error's details under which languages put where they were.
const STACKS: [&str; 4] = ["stack", "stacktrace", "stack_trace", "traceback"];

pub(super) fn error(error: &JobError) -> Markup {
    let first = error.message.lines().next().unwrap_or_default();
    let shown = cut(first, MESSAGE_LETTERS);
    let stack = error.details.as_ref().and_then(stack);
    html! {
        p {
            strong.failed { "✗ " (error.code) } " "
            span.quiet {
                (word(&error.category)) " · " (word(&error.class))
                @if let Some(stage) = &error.stage { " · in " (word(stage)) }
                @if let Some(reason) = error.reason_code { " · " (reason.as_str()) }
            }
            @if !shown.is_empty() { br; (shown) }
        }
        @if shown != error.message.trim_end() { (folded("The whole message", &cut_bytes(&error.message))) }
        @if let Some(stack) = &stack { (folded("Stack", &cut_bytes(stack))) }
        @if let Some(details) = &error.details {
            (folded("Details", &pretty(details.as_str(), FOLDED_BYTES).0))
        }
    }
}

fn folded(title: &str, text: &str) -> Markup {
    html! { details { summary { (title) } pre tabindex="0" { (text) } } }
}

fn cut_bytes(text: &str) -> String {
    cut(text, FOLDED_BYTES)
}

/// Where the work was, if its worker said so: lines, or a list of them.
fn stack(details: &Json) -> Option<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(details.as_str()).ok()?;
    let told = STACKS.iter().find_map(|name| members.get(*name))?.get();
    let lines = || serde_json::from_str::<Vec<String>>(told).ok().map(|lines| lines.join("\n"));
    serde_json::from_str::<String>(told).ok().or_else(lines).filter(|text| !text.is_empty())
}

/// A value of a list in the spec, by its name there.
pub(super) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
