//! Diagrams of lifecycles: text for terminals, SVG for browsers, Mermaid and DOT for other tools, and live maps.
//!
//! Text and SVG share one layout in character cells, so both show the same picture and labels never overlap. Pure:
//! strings in, strings out.

mod layout;
mod map;
mod structure;
mod svg;
mod text;
mod values;

use std::fmt::Write as _;

use layout::LayoutOptions;
pub use map::{Fragment, map_fragments, map_svg, symbol_path};
use tenure_core::lifecycle::{Lifecycle, Outcome, Phase, Rule, State, Timeout, Trigger};
pub use text::map_text;
pub use values::{ArrowValues, MapLinks, MapStyle, MapValues, StateValues};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a terminal: a picture, then every state with its rules.
    Text,
    /// A Mermaid `stateDiagram-v2`.
    Mermaid,
    /// Graphviz DOT.
    Dot,
    /// A standalone image that follows the viewer's light or dark colour scheme.
    Svg,
}

/// Draws a lifecycle. The result ends with a line break.
pub fn draw(lifecycle: &Lifecycle, format: Format) -> String {
    match format {
        Format::Text => text::draw(lifecycle),
        Format::Mermaid => mermaid(lifecycle),
        Format::Dot => dot(lifecycle),
        Format::Svg => svg::draw(lifecycle),
    }
}

/// A one-character symbol for a phase, used beside its colour: `◷` ready, `✓` succeeded. The fonts of terminals have them.
pub fn symbol(phase: Phase) -> char {
    match phase {
        Phase::Ready => '◷',
        Phase::Held => '◆',
        Phase::Active => '▶',
        Phase::Waiting => '‖',
        Phase::Final(Outcome::Succeeded) => '✓',
        Phase::Final(Outcome::Partial) => '◐',
        Phase::Final(Outcome::Failed) => '✗',
        Phase::Final(Outcome::Cancelled) => '⊘',
        Phase::Final(Outcome::Rejected) => '⊠',
        Phase::Final(Outcome::Dead) => '†',
    }
}

/// The CSS class of a phase: its role or its outcome.
pub fn phase_class(phase: Phase) -> &'static str {
    phase.outcome().map_or(phase.as_str(), Outcome::as_str)
}

/// All rules from one state to another, drawn as one arrow.
struct Arrow<'l> {
    from: &'l State,
    to: &'l State,
    rules: Vec<&'l Rule>,
}

impl<'l> Arrow<'l> {
    fn ends(&self) -> (&'l State, &'l State) {
        (self.from, self.to)
    }

    /// Whether only the clock triggers its rules.
    fn is_clock_only(&self) -> bool {
        let clock = [Trigger::Timeout, Trigger::Due, Trigger::LeaseExpired];
        self.rules.iter().all(|rule| clock.contains(&rule.on))
    }

    /// One label line for each rule.
    fn lines(&self) -> Vec<String> {
        self.rules.iter().map(|rule| rule_label(rule)).collect()
    }
}

/// Whether a rule leads back to a ready state. From a waiting initial state it leads to the first attempt instead.
fn returns(lifecycle: &Lifecycle, rule: &Rule) -> bool {
    lifecycle.begins_attempt(rule) && rule.from.as_ref() != Some(&lifecycle.initial)
}

/// The arrows between states, in file order.
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
fn rule_label(rule: &Rule) -> String {
    rule.when.map_or_else(|| rule.on.to_string(), |when| format!("{} [{when}]", rule.on))
}

/// `ready · 30s`, or the outcome.
fn note(state: &State) -> String {
    let class = phase_class(state.phase);
    match state.timeout {
        Timeout::Never => format!("{class} · never"),
        Timeout::After(span) => format!("{class} · {span}"),
        Timeout::Unset => class.to_owned(),
    }
}

/// The text in the box of a state when there are no values to show.
fn plain_lines(state: &State) -> Vec<String> {
    let note = note(state);
    if !state.phase.is_final() {
        return vec![state.name.to_string(), note];
    }
    vec![if state.name == note.as_str() { note } else { format!("{} · {note}", state.name) }]
}

/// Boxes of four rows: border, name, note, border.
const PLAIN: LayoutOptions<'static> =
    LayoutOptions { rows: 4, line: 1, lines: &plain_lines, labels: true, rate: 0 };

fn mermaid(lifecycle: &Lifecycle) -> String {
    let mut out = String::from("stateDiagram-v2\n    direction LR\n");
    for state in &lifecycle.states {
        let _ = writeln!(out, "    state \"{}\" as {}", state.name, mermaid_id(state));
    }
    if let Some(initial) = lifecycle.state(lifecycle.initial.as_str()) {
        let _ = writeln!(out, "    [*] --> {} : create", mermaid_id(initial));
    }
    for arrow in arrows(lifecycle) {
        // A colon ends a description in Mermaid.
        let label = arrow.lines().join("<br/>").replace(':', " ");
        let _ = writeln!(out, "    {} --> {} : {label}", mermaid_id(arrow.from), mermaid_id(arrow.to));
    }
    for state in lifecycle.states.iter().filter(|state| state.phase.is_final()) {
        let _ = writeln!(out, "    {} --> [*]", mermaid_id(state));
    }
    out
}

/// Prefixed, because `end` and `state` are keywords of Mermaid.
fn mermaid_id(state: &State) -> String {
    format!("s_{}", state.name)
}

fn dot(lifecycle: &Lifecycle) -> String {
    let mut out = format!("digraph \"{} v{}\" {{\n", lifecycle.name, lifecycle.version);
    out.push_str("    rankdir=LR;\n    node [shape=box, style=rounded, fontname=\"monospace\"];\n");
    out.push_str("    edge [fontname=\"monospace\", fontsize=10];\n    \"\" [shape=point];\n");
    for state in &lifecycle.states {
        let double_border = if state.phase.is_final() { ", peripheries=2" } else { "" };
        let _ = writeln!(out, "    \"{0}\" [label=\"{0}\\n{1}\"{double_border}];", state.name, note(state));
    }
    let _ = writeln!(out, "    \"\" -> \"{}\" [label=\"create\"];", lifecycle.initial);
    for arrow in arrows(lifecycle) {
        let dashed =
            if arrow.rules.iter().any(|rule| returns(lifecycle, rule)) { ", style=dashed" } else { "" };
        let label = arrow.lines().join("\\n");
        let (from, to) = (&arrow.from.name, &arrow.to.name);
        let _ = writeln!(out, "    \"{from}\" -> \"{to}\" [label=\"{label}\"{dashed}];");
    }
    out.push_str("}\n");
    out
}
