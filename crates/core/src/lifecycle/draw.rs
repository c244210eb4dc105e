//! Pictures of a lifecycle, made from its rules: for a terminal, for a browser, and for two tools that draw themselves.
//!
//! Text and SVG share one layout in character cells, so that both show the same picture and no two labels meet.

mod figures;
mod layout;
mod map;
mod svg;
mod text;

use std::fmt::Write as _;

pub use figures::{ArrowFigures, Figures, Links, Look, StateFigures};
use layout::Room;

use super::{Lifecycle, Outcome, Phase, Rule, State, Timeout, Trigger};

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a terminal: a picture, then every state with its rules.
    Text,
    /// A `stateDiagram-v2`.
    Mermaid,
    /// For Graphviz.
    Dot,
    /// A picture that stands by itself, light or dark as the reader has it.
    Svg,
}

impl Lifecycle {
    /// Draws it. Ends with a line break.
    pub fn draw(&self, format: Format) -> String {
        match format {
            Format::Text => text::draw(self),
            Format::Mermaid => mermaid(self),
            Format::Dot => dot(self),
            Format::Svg => svg::draw(self),
        }
    }
}

/// All rules from one state to another: one arrow.
struct Arrow<'l> {
    from: &'l State,
    to: &'l State,
    rules: Vec<&'l Rule>,
}

impl<'l> Arrow<'l> {
    fn ends(&self) -> (&'l State, &'l State) {
        (self.from, self.to)
    }

    /// Whether nobody but the clock takes it.
    fn is_clocks(&self) -> bool {
        let clock = [Trigger::Timeout, Trigger::Due, Trigger::LeaseExpired];
        self.rules.iter().all(|rule| clock.contains(&rule.on))
    }

    /// One line for each rule: `fail [retry]`.
    fn lines(&self) -> Vec<String> {
        self.rules.iter().map(|rule| said(rule)).collect()
    }
}

/// The arrows between states, in the order of the file.
fn arrows(lifecycle: &Lifecycle) -> Vec<Arrow<'_>> {
    let mut arrows: Vec<Arrow<'_>> = Vec::new();
    for rule in &lifecycle.rules {
        let Some(from) = rule.from.as_ref().and_then(|name| lifecycle.state(name.as_str())) else { continue };
        let Some(to) = lifecycle.state(rule.to.as_str()) else { continue };
        match arrows.iter_mut().find(|arrow| arrow.from.name == from.name && arrow.to.name == to.name) {
            Some(arrow) => arrow.rules.push(rule),
            None => arrows.push(Arrow { from, to, rules: vec![rule] }),
        }
    }
    arrows
}

/// `fail [retry]`.
fn said(rule: &Rule) -> String {
    rule.when.map_or_else(|| rule.on.to_string(), |when| format!("{} [{when}]", rule.on))
}

/// `ready · 30s`, or the outcome.
fn note(state: &State) -> String {
    let role = match state.phase {
        Phase::Final(outcome) => return outcome.to_string(),
        Phase::Ready | Phase::Held | Phase::Active | Phase::Waiting => state.phase.as_str(),
    };
    match state.timeout {
        Timeout::Unsaid => role.to_owned(),
        Timeout::Never => format!("{role} · never"),
        Timeout::After(span) => format!("{role} · {span}"),
    }
}

/// The lines of a declared state's box.
fn declared(state: &State) -> Vec<String> {
    let note = note(state);
    if !state.phase.is_final() {
        return vec![state.name.to_string(), note];
    }
    vec![if state.name == note.as_str() { note } else { format!("{} · {note}", state.name) }]
}

/// For a declared lifecycle: border, name, note, border.
const DECLARED: Room<'static> = Room { rows: 4, line: 1, lines: &declared, labels: true, rate: 0 };

impl Phase {
    /// A sign for it that says in a character what its colour says: `◷` ready, `✓` succeeded.
    pub fn sign(self) -> char {
        match self {
            Self::Ready => '◷',
            Self::Held => '⚿',
            Self::Active => '▶',
            Self::Waiting => '⏸',
            Self::Final(Outcome::Succeeded) => '✓',
            Self::Final(Outcome::Partial) => '◐',
            Self::Final(Outcome::Failed) => '✗',
            Self::Final(Outcome::Cancelled) => '⊘',
            Self::Final(Outcome::Rejected) => '⊠',
            Self::Final(Outcome::Dead) => '†',
        }
    }

    /// What pictures call it: the role, or the outcome.
    fn kind(self) -> &'static str {
        self.outcome().map_or(self.as_str(), Outcome::as_str)
    }
}

fn mermaid(lifecycle: &Lifecycle) -> String {
    let mut out = String::from("stateDiagram-v2\n    direction LR\n");
    for state in &lifecycle.states {
        let _ = writeln!(out, "    state \"{}\" as {}", state.name, mermaid_id(state));
    }
    if let Some(initial) = lifecycle.state(lifecycle.initial.as_str()) {
        let _ = writeln!(out, "    [*] --> {} : create", mermaid_id(initial));
    }
    for arrow in arrows(lifecycle) {
        // A colon ends a description there.
        let label = arrow.lines().join("<br/>").replace(':', " ");
        let _ = writeln!(out, "    {} --> {} : {label}", mermaid_id(arrow.from), mermaid_id(arrow.to));
    }
    for state in lifecycle.states.iter().filter(|state| state.phase.is_final()) {
        let _ = writeln!(out, "    {} --> [*]", mermaid_id(state));
    }
    out
}

/// Prefixed, since a state may be called `end` or `state`, which mean something there.
fn mermaid_id(state: &State) -> String {
    format!("s_{}", state.name)
}

fn dot(lifecycle: &Lifecycle) -> String {
    let mut out = format!("digraph \"{} v{}\" {{\n", lifecycle.name, lifecycle.version);
    out.push_str("    rankdir=LR;\n    node [shape=box, style=rounded, fontname=\"monospace\"];\n");
    out.push_str("    edge [fontname=\"monospace\", fontsize=10];\n    \"\" [shape=point];\n");
    for state in &lifecycle.states {
        let ends = if state.phase.is_final() { ", peripheries=2" } else { "" };
        let _ = writeln!(out, "    \"{0}\" [label=\"{0}\\n{1}\"{ends}];", state.name, note(state));
    }
    let _ = writeln!(out, "    \"\" -> \"{}\" [label=\"create\"];", lifecycle.initial);
    for arrow in arrows(lifecycle) {
        let again = if arrow.to.phase == Phase::Ready { ", style=dashed" } else { "" };
        let label = arrow.lines().join("\\n");
        let _ =
            writeln!(out, "    \"{}\" -> \"{}\" [label=\"{label}\"{again}];", arrow.from.name, arrow.to.name);
    }
    out.push_str("}\n");
    out
}
