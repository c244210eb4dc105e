//! The diagram in characters, followed by every state with its rules.

use std::fmt::Write as _;

use tenure_core::lifecycle::{Lifecycle, State};

use crate::layout::{Connector, Layout, LayoutOptions, StateBox, lay_out};
use crate::values::{COUNT_MAX, MapValues, fit};
use crate::{PLAIN, note, returns, rule_label, symbol};

/// Most terminals would wrap a wider picture, so it is left out.
const WIDTH_MAX: usize = 132;
/// The longest age on a text map.
const AGE_MAX: usize = 7;
const OLDEST_MAX: usize = "oldest ".len() + AGE_MAX;

pub(crate) fn draw(lifecycle: &Lifecycle) -> String {
    let layout = lay_out(lifecycle, &PLAIN);
    let mut out = String::new();
    if layout.width <= WIDTH_MAX {
        out.push_str(&Canvas::paint(&layout));
        out.push('\n');
    }
    out.push_str(&listing(lifecycle));
    out
}

/// The picture of [`crate::Format::Text`] at any width, with counts and ages at fixed positions in its boxes.
pub fn map_text(lifecycle: &Lifecycle, values: &MapValues) -> String {
    let finals = lifecycle.states.iter().filter(|state| state.phase.is_final());
    let name_max = finals.map(|state| state.name.as_str().len()).max().unwrap_or(0);
    let lines = |state: &State| {
        let shown = values.state(&state.name);
        let (symbol, count) = (symbol(state.phase), fit(shown.count.as_deref().unwrap_or("–"), COUNT_MAX));
        if state.phase.is_final() {
            return vec![format!("{symbol} {:name_max$} {count:>COUNT_MAX$}", state.name.as_str())];
        }
        let oldest = shown.oldest.map_or_else(String::new, |age| format!("oldest {}", fit(&age, AGE_MAX)));
        vec![
            format!("{symbol} {}", state.name),
            format!("{count:COUNT_MAX$}"),
            format!("{oldest:OLDEST_MAX$}"),
        ]
    };
    let options = LayoutOptions { rows: 5, line: 2, lines: &lines, labels: true, rate: 0 };
    Canvas::paint(&lay_out(lifecycle, &options))
}

const NORTH: u8 = 1;
const EAST: u8 = 2;
const SOUTH: u8 = 4;
const WEST: u8 = 8;

/// The lines that meet in a cell, or the character drawn there.
#[derive(Clone, Copy)]
enum Cell {
    Lines { directions: u8, dashed: bool },
    Char(char),
}

/// Rows of cells.
struct Canvas(Vec<Vec<Cell>>);

impl Canvas {
    fn paint(layout: &Layout<'_>) -> String {
        let empty = Cell::Lines { directions: 0, dashed: false };
        let mut canvas = Self(vec![vec![empty; layout.width]; layout.height]);
        for state_box in layout.boxes.iter().filter(|state_box| !state_box.state.phase.is_final()) {
            canvas.outline(state_box);
        }
        for connector in &layout.connectors {
            canvas.connector(connector);
        }
        if let Some(start) = layout.connectors.first().and_then(|connector| connector.points.first()) {
            canvas.put(*start, '●');
        }
        for state_box in &layout.boxes {
            canvas.fill(state_box);
        }
        for label in &layout.labels {
            canvas.write((label.x, label.y), &label.text);
        }
        canvas.into_text()
    }

    fn outline(&mut self, state_box: &StateBox<'_>) {
        let (left, top, right, bottom) = state_box.edges();
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        for pair in corners.windows(2) {
            self.line(pair[0], pair[1], false);
        }
    }

    fn fill(&mut self, state_box: &StateBox<'_>) {
        let (left, top, right, bottom) = state_box.edges();
        if state_box.state.phase.is_final() {
            for x in left + 1..right {
                self.put((x, top), '═');
                self.put((x, bottom), '═');
            }
            for y in top + 1..bottom {
                self.put((left, y), '║');
                self.put((right, y), '║');
            }
            self.put((left, top), '╔');
            self.put((right, top), '╗');
            self.put((left, bottom), '╚');
            self.put((right, bottom), '╝');
        }
        for (row, line) in state_box.lines.iter().enumerate() {
            self.write((left + 2, top + 1 + row), line);
        }
    }

    fn connector(&mut self, connector: &Connector<'_>) {
        for pair in connector.points.windows(2) {
            self.line(pair[0], pair[1], connector.begins_attempt);
        }
        if let ([.., before, end], true) = (&connector.points[..], connector.arrow_head) {
            self.put(*end, if before.1 == end.1 { '▶' } else { '▼' });
        }
    }

    fn line(&mut self, from: (usize, usize), to: (usize, usize), dashed: bool) {
        let (from, to) = if from <= to { (from, to) } else { (to, from) };
        let (forward, back) = if from.1 == to.1 { (EAST, WEST) } else { (SOUTH, NORTH) };
        for x in from.0..=to.0 {
            for y in from.1..=to.1 {
                let mut directions = 0;
                if (x, y) != to {
                    directions |= forward;
                }
                if (x, y) != from {
                    directions |= back;
                }
                self.join((x, y), directions, dashed);
            }
        }
    }

    fn join(&mut self, (x, y): (usize, usize), added: u8, dashed_too: bool) {
        if let Cell::Lines { directions, dashed } = &mut self.0[y][x] {
            *dashed = dashed_too && (*dashed || *directions == 0);
            *directions |= added;
        }
    }

    fn put(&mut self, (x, y): (usize, usize), char: char) {
        self.0[y][x] = Cell::Char(char);
    }

    fn write(&mut self, (x, y): (usize, usize), text: &str) {
        for (offset, char) in text.chars().enumerate() {
            self.put((x + offset, y), char);
        }
    }

    fn into_text(self) -> String {
        let mut out = String::new();
        for row in self.0 {
            let line: String = row.into_iter().map(character).collect();
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

fn character(cell: Cell) -> char {
    const LINES: [char; 16] =
        [' ', '│', '─', '└', '│', '│', '┌', '├', '─', '┘', '─', '┴', '┐', '┤', '┬', '┼'];
    match cell {
        Cell::Char(char) => char,
        Cell::Lines { directions, dashed: true } if directions == EAST | WEST => '┄',
        Cell::Lines { directions, dashed: true } if directions == NORTH | SOUTH => '┆',
        Cell::Lines { directions, .. } => LINES[usize::from(directions)],
    }
}

/// Every state by rank, each followed by the rules that leave it.
fn listing(lifecycle: &Lifecycle) -> String {
    let rules = &lifecycle.rules;
    let on_width = rules.iter().map(|rule| rule_label(rule).chars().count()).max().unwrap_or(0);
    let to_width = rules.iter().map(|rule| rule.to.as_str().len()).max().unwrap_or(0);
    let mut out = String::new();
    for state in lifecycle.by_rank() {
        let _ = writeln!(out, "{:>2}  {}", state.rank, heading(state));
        for rule in lifecycle.rules_from(state.name.as_str()) {
            let arrow = if returns(lifecycle, rule) { '↺' } else { '→' };
            let mut notes = rule.event.to_string();
            if let Some(reason) = rule.reason {
                let _ = write!(notes, ", reason {}", reason.as_str());
            }
            if let Some(audit) = &rule.audit {
                let _ = write!(notes, ", audit {audit}");
            }
            if let Some(by) = &rule.by {
                let names: Vec<&str> = by.iter().map(|role| role.as_str()).collect();
                let _ = write!(notes, ", by {}", names.join(", "));
            }
            let (on, to) = (rule_label(rule), rule.to.as_str());
            let _ = writeln!(out, "      {on:on_width$}  {arrow} {to:to_width$}  {notes}");
        }
    }
    out
}

fn heading(state: &State) -> String {
    let alias = state.alias.as_ref().map_or_else(String::new, |alias| format!(", also called {alias}"));
    let prefix = if state.phase.is_final() { "final, " } else { "" };
    format!("{}  ({prefix}{}{alias})", state.name, note(state))
}
