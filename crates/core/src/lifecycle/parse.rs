//! TOML to a draft: every value read, typed and remembered with its place, nothing proved yet.
//!
//! The tree is walked by hand rather than derived, because a derived reader stops at the first mistake and speaks in
//! its own words. What is mistaken here becomes a flaw and the walk goes on; what a near miss must have meant is read
//! as if it had been written so, so that one slip of the pen is one flaw.

mod api;
mod reader;
mod state;
mod tables;
mod transition;

use toml::de::DeTable;

use super::flaw::{At, Flaw, Flaws, RuleId, Span};
use super::policy::{Api, Policy, Retention};
use super::{Condition, Phase, Timeout, Trigger};
use crate::dead_letter::ReasonCode;
use crate::limits;
use crate::time::Millis;
use reader::Reader;

/// A file as it was read. What could not be read is `None`, and its flaw is among `flaws`.
pub(super) struct Draft {
    pub(super) name: Option<At<String>>,
    pub(super) version: u32,
    pub(super) about: String,
    pub(super) initial: Option<At<String>>,
    /// Whether what is wrong with `initial` was told already.
    pub(super) initial_told: bool,
    pub(super) states: Vec<DraftState>,
    pub(super) transitions: Vec<DraftTransition>,
    pub(super) policy: Policy,
    pub(super) credits: Option<DraftCredits>,
    pub(super) idempotency: DraftIdempotency,
    pub(super) retention: Retention,
    pub(super) api: Option<DraftApi>,
    /// The places to point at when something is missing.
    pub(super) head: Heads,
    pub(super) flaws: Vec<Flaw>,
}

/// Where the tables begin.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub(super) file: Span,
    /// `None`: there is no such table, or it could not be read.
    pub(super) states: Option<Span>,
    pub(super) transitions: Option<Span>,
}

pub(super) struct DraftState {
    pub(super) name: At<String>,
    /// With the place that says so.
    pub(super) phase: Option<At<Phase>>,
    pub(super) timeout: Option<At<Timeout>>,
    /// Whether one is there, even if it could not be read.
    pub(super) timeout_told: bool,
    pub(super) alias: Option<At<String>>,
}

pub(super) struct DraftTransition {
    pub(super) at: Span,
    /// `None` for a trigger that does not exist.
    pub(super) on: Vec<At<Option<Trigger>>>,
    /// `None`: there is no `from`.
    pub(super) from: Option<Vec<At<String>>>,
    pub(super) when: Option<At<Option<Condition>>>,
    pub(super) to: Option<At<String>>,
    pub(super) event: Option<String>,
    /// Whether one is there that could not be read, which was told.
    pub(super) event_told: bool,
    pub(super) audit: Option<String>,
    pub(super) reason: Option<At<ReasonCode>>,
}

pub(super) struct DraftCredits {
    pub(super) at: Span,
    pub(super) settle: Vec<At<String>>,
    pub(super) refund: Vec<At<String>>,
    /// Whether a part of it could not be read, which was told.
    pub(super) told: bool,
}

pub(super) struct DraftIdempotency {
    pub(super) derive: Vec<String>,
    pub(super) reusable: Vec<At<String>>,
    pub(super) window: Millis,
}

pub(super) struct DraftApi {
    pub(super) api: Api,
    /// The states that dotted names pick: `entered.queued`.
    pub(super) states: Vec<At<String>>,
    /// The events that are named.
    pub(super) events: Vec<At<String>>,
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

/// Reads a file. An error is what makes any further reading a guess: it is too large, or not TOML.
pub(super) fn draft(source: &str) -> Result<Draft, Vec<Flaw>> {
    let mut flaws = Flaws::new(source);
    if source.len() > limits::LIFECYCLE_BYTES_MAX {
        let message = format!("the file has more than {} bytes", limits::LIFECYCLE_BYTES_MAX);
        let help = "a lifecycle is a few hundred lines; is this the right file?";
        flaws.add(RuleId::Syntax, message, &[(Span { start: 0, end: 0 }, "the whole file")], help);
        return Err(flaws.into_sorted());
    }
    let (root, errors) = DeTable::parse_recoverable(source);
    // The first in the file: those after it are mostly what the parser made of it.
    let not_toml = errors.iter().filter(|error| !is_duplicate(error));
    if let Some(error) = not_toml.min_by_key(|error| error.span().map_or(0, |span| span.start)) {
        syntax(&mut flaws, source, error);
        return Err(flaws.into_sorted());
    }
    for error in &errors {
        duplicate(&mut flaws, source, error);
    }
    let mut reader = Reader { flaws };
    let mut draft = read(&mut reader, root.get_ref(), first_line(source));
    draft.flaws = reader.flaws.into_sorted();
    Ok(draft)
}

fn read(reader: &mut Reader<'_>, root: &DeTable<'_>, file: Span) -> Draft {
    let table = reader.open(root, file, "a lifecycle", KEYS);
    let states = state::read(reader, &table);
    let transitions = transition::read(reader, &table);
    let idempotency = tables::idempotency(reader, &table);
    Draft {
        name: tables::name(reader, &table),
        version: tables::version(reader, &table),
        about: table
            .get("about")
            .and_then(|value| reader.text(value, "about"))
            .map_or(String::new(), |text| text.value),
        initial_told: table.get("initial").is_some(),
        initial: table.get("initial").and_then(|value| reader.text(value, "initial")),
        policy: tables::policy(reader, &table),
        credits: tables::credits(reader, &table),
        idempotency,
        retention: tables::retention(reader, &table),
        api: api::read(reader, &table),
        head: Heads { file, states: states.1, transitions: transitions.1 },
        states: states.0,
        transitions: transitions.0,
        flaws: Vec::new(),
    }
}

fn is_duplicate(error: &toml::de::Error) -> bool {
    error.message() == "duplicate key"
}

fn duplicate(flaws: &mut Flaws<'_>, source: &str, error: &toml::de::Error) {
    let span = error.span().unwrap_or(0..0);
    let message = format!("`{}` stands here a second time", source.get(span.clone()).unwrap_or_default());
    flaws.add(
        RuleId::L1,
        message,
        &[(span.into(), "once more")],
        "a name stands for one thing: remove one of the two, or rename it",
    );
}

fn syntax(flaws: &mut Flaws<'_>, source: &str, error: &toml::de::Error) {
    let span = error.span().map_or_else(|| first_line(source), Span::from);
    let help = if error.message().contains("recur") {
        "a lifecycle is nested three deep at most"
    } else {
        "a lifecycle is a TOML file: names bare, texts in double quotes, one `key = value` to a line"
    };
    flaws.add(RuleId::Syntax, format!("this is not TOML: {}", error.message()), &[(span, "here")], help);
}

/// The place of what is not there.
fn first_line(source: &str) -> Span {
    Span { start: 0, end: source.find('\n').unwrap_or(source.len()) }
}
