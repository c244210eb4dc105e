//! The error of a job: code and first line, with long texts folded.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Serialize;
use serde_json::value::RawValue;
use tenure_core::job::JobError;
use tenure_core::json::Json;

use crate::pretty::{cut, pretty};

/// Characters of the message that are not folded.
const MESSAGE_CHARS: usize = 400;
const FOLDED_BYTES: usize = 16 << 10;
/// Members of an error's details that may have a stack trace.
const STACKS: [&str; 4] = ["stack", "stacktrace", "stack_trace", "traceback"];

pub(super) fn error(error: &JobError) -> Markup {
    let first = error.message.lines().next().unwrap_or_default();
    let shown = cut(first, MESSAGE_CHARS);
    let stack = error.details.as_ref().and_then(stack);
    html! {
        p {
            strong.failed { "✗ " (error.code) } " "
            span.quiet {
                (code(&error.category)) " · " (code(&error.class))
                @if let Some(stage) = &error.stage { " · in " (code(stage)) }
                @if let Some(reason) = error.reason_code { " · " (reason.as_str()) }
            }
            @if !shown.is_empty() { br; (shown) }
        }
        @if shown != error.message.trim_end() { (folded("Full message", &cut(&error.message, FOLDED_BYTES))) }
        @if let Some(stack) = &stack { (folded("Stack", &cut(stack, FOLDED_BYTES))) }
        @if let Some(details) = &error.details {
            (folded("Details", &pretty(details.as_str(), FOLDED_BYTES).0))
        }
    }
}

fn folded(title: &str, text: &str) -> Markup {
    html! { details { summary { (title) } pre tabindex="0" { (text) } } }
}

/// The stack trace, as a text or a list of lines.
fn stack(details: &Json) -> Option<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(details.as_str()).ok()?;
    let text = STACKS.iter().find_map(|name| members.get(*name))?.get();
    let lines = || serde_json::from_str::<Vec<String>>(text).ok().map(|lines| lines.join("\n"));
    serde_json::from_str::<String>(text).ok().or_else(lines).filter(|text| !text.is_empty())
}

/// The wire name of an enum value.
pub(super) fn code(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
