//! Reads a lifecycle file into a [`Draft`]: typed values with their places, not yet checked against the rules.
//!
//! Written by hand because a derived deserializer stops at the first error, with its own messages. Here every error
//! becomes a flaw and reading continues; an obvious typo is read as the name that was meant, so it is one flaw only.

mod api;
mod reader;
mod state;
mod tables;
mod transition;

use toml::de::DeTable;

use super::flaw::{Flaw, Flaws, Located, RuleId, Span};
use super::policy::{Api, Policy, Retention};
use super::{Condition, Phase, Timeout, Trigger};
use crate::api_key::Role;
use crate::dead_letter::ReasonCode;
use crate::limits;
use crate::time::Millis;
use reader::DraftReader;

/// A file as read. A value that could not be read is `None`, and its flaw is in `flaws`.
pub(super) struct Draft {
    pub(super) name: Option<Located<String>>,
    pub(super) version: u32,
    pub(super) about: String,
    pub(super) initial: Option<Located<String>>,
    /// Whether the key is there, even if its value could not be read.
    pub(super) initial_present: bool,
    pub(super) states: Vec<DraftState>,
    pub(super) transitions: Vec<DraftTransition>,
    pub(super) policy: Policy,
    pub(super) credits: Option<DraftCredits>,
    pub(super) idempotency: DraftIdempotency,
    pub(super) retention: Retention,
    pub(super) api: Option<DraftApi>,
    /// The places to point at when something is missing.
    pub(super) headings: Headings,
    pub(super) flaws: Vec<Flaw>,
}

/// Where the tables begin; `None` for one that is missing or could not be read.
#[derive(Clone, Copy)]
pub(super) struct Headings {
    pub(super) file: Span,
    pub(super) states: Option<Span>,
    pub(super) transitions: Option<Span>,
}

pub(super) struct DraftState {
    pub(super) name: Located<String>,
    /// At its `role` or `outcome`.
    pub(super) phase: Option<Located<Phase>>,
    pub(super) timeout: Option<Located<Timeout>>,
    /// Whether the key is there, even if its value could not be read.
    pub(super) timeout_present: bool,
    pub(super) alias: Option<Located<String>>,
}

pub(super) struct DraftTransition {
    pub(super) at: Span,
    /// `None` for a trigger that does not exist.
    pub(super) on: Vec<Located<Option<Trigger>>>,
    /// `None` if there is no `from`.
    pub(super) from: Option<Vec<Located<String>>>,
    pub(super) when: Option<Located<Option<Condition>>>,
    pub(super) to: Option<Located<String>>,
    pub(super) event: Option<String>,
    /// Whether there is one that could not be read.
    pub(super) event_unreadable: bool,
    pub(super) audit: Option<String>,
    pub(super) reason: Option<Located<ReasonCode>>,
    pub(super) by: Option<Located<Vec<Role>>>,
}

pub(super) struct DraftCredits {
    pub(super) at: Span,
    pub(super) settle: Vec<Located<String>>,
    pub(super) refund: Vec<Located<String>>,
    /// Whether a part of it could not be read.
    pub(super) unreadable: bool,
}

pub(super) struct DraftIdempotency {
    pub(super) derive: Vec<String>,
    pub(super) reusable: Vec<Located<String>>,
    pub(super) window: Millis,
}

pub(super) struct DraftApi {
    pub(super) api: Api,
    /// The states in dotted names: `entered.queued`.
    pub(super) states: Vec<Located<String>>,
    pub(super) events: Vec<Located<String>>,
}

const KEYS: &[&str] = &[
    "name",
    "version",
    "about",
    "initial",
    "states",
    "transitions",
    "policy",
    "credits",
    "idempotency",
    "retention",
    "api",
];

/// Reads a file. Fails only if the rest cannot be read: the file is too large, or not TOML.
pub(super) fn draft(source: &str) -> Result<Draft, Vec<Flaw>> {
    let mut flaws = Flaws::new(source);
    if source.len() > limits::LIFECYCLE_BYTES_MAX {
        let message = format!("the file is larger than {} bytes", limits::LIFECYCLE_BYTES_MAX);
        let help = "a lifecycle is a few hundred lines: check that this is the right file";
        flaws.add(RuleId::Syntax, message, &[(Span { start: 0, end: 0 }, "the whole file")], help);
        return Err(flaws.into_sorted());
    }
    let (root, errors) = DeTable::parse_recoverable(source);
    // Only the first in the file: later ones are mostly consequences of it.
    let not_toml = errors.iter().filter(|error| !is_duplicate(error));
    if let Some(error) = not_toml.min_by_key(|error| error.span().map_or(0, |span| span.start)) {
        syntax(&mut flaws, source, error);
        return Err(flaws.into_sorted());
    }
    for error in &errors {
        duplicate(&mut flaws, source, error);
    }
    let mut reader = DraftReader { flaws };
    let mut draft = read(&mut reader, root.get_ref(), first_line(source));
    draft.flaws = reader.flaws.into_sorted();
    Ok(draft)
}

fn read(reader: &mut DraftReader<'_>, root: &DeTable<'_>, file: Span) -> Draft {
    let table = reader.open(root, file, "a lifecycle", KEYS);
    let (states, states_at) = state::read(reader, &table);
    let (transitions, transitions_at) = transition::read(reader, &table);
    Draft {
        name: tables::name(reader, &table),
        version: tables::version(reader, &table),
        about: reader.optional_text(&table, "about").map_or(String::new(), |text| text.value),
        initial_present: table.get("initial").is_some(),
        initial: reader.optional_text(&table, "initial"),
        policy: tables::policy(reader, &table),
        credits: tables::credits(reader, &table),
        idempotency: tables::idempotency(reader, &table),
        retention: tables::retention(reader, &table),
        api: api::read(reader, &table),
        headings: Headings { file, states: states_at, transitions: transitions_at },
        states,
        transitions,
        flaws: Vec::new(),
    }
}

fn is_duplicate(error: &toml::de::Error) -> bool {
    error.message() == "duplicate key"
}

fn duplicate(flaws: &mut Flaws<'_>, source: &str, error: &toml::de::Error) {
    let span = error.span().unwrap_or(0..0);
    let message = format!("`{}` is defined twice", source.get(span.clone()).unwrap_or_default());
    flaws.add(RuleId::L1, message, &[(span.into(), "second definition")], "remove or rename one of the two");
}

fn syntax(flaws: &mut Flaws<'_>, source: &str, error: &toml::de::Error) {
    let span = error.span().map_or_else(|| first_line(source), Span::from);
    let help = if error.message().contains("recur") {
        "a lifecycle has at most three levels of nesting"
    } else {
        "write TOML: one `key = value` per line, strings in double quotes"
    };
    flaws.add(RuleId::Syntax, format!("this is not TOML: {}", error.message()), &[(span, "here")], help);
}

/// Where missing keys are reported.
fn first_line(source: &str) -> Span {
    Span { start: 0, end: source.find('\n').unwrap_or(source.len()) }
}
