//! The picture in characters, and under it every state with its rules.

use std::fmt::Write as _;

use super::super::{Lifecycle, State};
use super::figures::{COUNT_MAX, Figures, fit};
use super::layout::{Room, Shape, Sheet, Wire, lay_out};
use super::{DECLARED, note, said};

/// A picture that is wider than this would be broken by most terminals, and is left out.
const WIDTH_MAX: usize = 132;

pub(super) fn draw(lifecycle: &Lifecycle) -> String {
    let sheet = lay_out(lifecycle, &DECLARED);
    let mut out = String::new();
    if sheet.width <= WIDTH_MAX {
        out.push_str(&Canvas::paint(&sheet));
        out.push('\n');
    }
    out.push_str(&listing(lifecycle));
    out
}

/// The picture alone, however wide, with what `figures` say inside the boxes, each in a place of its own.
pub(super) fn map(lifecycle: &Lifecycle, figures: &Figures) -> String {
    let ends = lifecycle.states.iter().filter(|state| state.phase.is_final());
    let name_max = ends.map(|state| state.name.as_str().len()).max().unwrap_or(0);
    let lines = |state: &State| {
        let said = figures.state(&state.name);
        let (sign, count) = (state.phase.sign(), fit(said.count.as_deref().unwrap_or("–"), COUNT_MAX));
        if state.phase.is_final() {
            return vec![format!("{sign} {:name_max$} {count:>COUNT_MAX$}", state.name.as_str())];
        }
        let oldest = said.oldest.map_or_else(String::new, |age| format!("oldest {}", fit(&age, AGE_MAX)));
        vec![format!("{sign} {}", state.name), format!("{count:COUNT_MAX$}"), format!("{oldest:OLDEST_MAX$}")]
    };
    Canvas::paint(&lay_out(lifecycle, &Room { rows: 5, line: 2, lines: &lines, labels: true, rate: 0 }))
}

/// The longest age in the map, and the word before it.
const AGE_MAX: usize = 7;
const OLDEST_MAX: usize = 7 + AGE_MAX;

const NORTH: u8 = 1;
const EAST: u8 = 2;
const SOUTH: u8 = 4;
const WEST: u8 = 8;

/// What lines meet in a cell, or the character that stands there.
#[derive(Clone, Copy)]
enum Cell {
    Lines { directions: u8, dashed: bool },
    Char(char),
}

struct Canvas {
    rows: Vec<Vec<Cell>>,
}

impl Canvas {
    fn paint(sheet: &Sheet<'_>) -> String {
        let empty = Cell::Lines { directions: 0, dashed: false };
        let mut canvas = Self { rows: vec![vec![empty; sheet.width]; sheet.height] };
        for shape in sheet.boxes.iter().filter(|shape| !shape.state.phase.is_final()) {
            canvas.outline(shape);
        }
        for wire in &sheet.wires {
            canvas.wire(wire);
        }
        if let Some(begin) = sheet.wires.first().and_then(|wire| wire.points.first()) {
            canvas.put(*begin, '●');
        }
        for shape in &sheet.boxes {
            canvas.fill(shape);
        }
        for label in &sheet.labels {
            canvas.write((label.x, label.y), &label.text);
        }
        canvas.into_text()
    }

    fn outline(&mut self, shape: &Shape<'_>) {
        let (right, bottom) = (shape.x + shape.width - 1, shape.y + shape.height - 1);
        let corners =
            [(shape.x, shape.y), (right, shape.y), (right, bottom), (shape.x, bottom), (shape.x, shape.y)];
        for pair in corners.windows(2) {
            self.line(pair[0], pair[1], false);
        }
    }

    fn fill(&mut self, shape: &Shape<'_>) {
        if shape.state.phase.is_final() {
            let (right, bottom) = (shape.x + shape.width - 1, shape.y + shape.height - 1);
            for x in shape.x + 1..right {
                self.put((x, shape.y), '═');
                self.put((x, bottom), '═');
            }
            for y in shape.y + 1..bottom {
                self.put((shape.x, y), '║');
                self.put((right, y), '║');
            }
            self.put((shape.x, shape.y), '╔');
            self.put((right, shape.y), '╗');
            self.put((shape.x, bottom), '╚');
            self.put((right, bottom), '╝');
        }
        for (row, line) in shape.lines.iter().enumerate() {
            self.write((shape.x + 2, shape.y + 1 + row), line);
        }
    }

    fn wire(&mut self, wire: &Wire<'_>) {
        for pair in wire.points.windows(2) {
            self.line(pair[0], pair[1], wire.again);
        }
        if let ([.., before, end], true) = (&wire.points[..], wire.arrow) {
            self.put(*end, if before.1 == end.1 { '▶' } else { '▼' });
        }
    }

    fn line(&mut self, from: (usize, usize), to: (usize, usize), dashed: bool) {
        let (from, to) = if from <= to { (from, to) } else { (to, from) };
        let (forth, back) = if from.1 == to.1 { (EAST, WEST) } else { (SOUTH, NORTH) };
        for x in from.0..=to.0 {
            for y in from.1..=to.1 {
                let mut directions = 0;
                if (x, y) != to {
                    directions |= forth;
                }
                if (x, y) != from {
                    directions |= back;
                }
                self.join((x, y), directions, dashed);
            }
        }
    }

    fn join(&mut self, (x, y): (usize, usize), more: u8, dashed_more: bool) {
        if let Cell::Lines { directions, dashed } = &mut self.rows[y][x] {
            *dashed = dashed_more && (*dashed || *directions == 0);
            *directions |= more;
        }
    }

    fn put(&mut self, (x, y): (usize, usize), char: char) {
        self.rows[y][x] = Cell::Char(char);
    }

    fn write(&mut self, (x, y): (usize, usize), text: &str) {
        for (nth, char) in text.chars().enumerate() {
            self.put((x + nth, y), char);
        }
    }

    fn into_text(self) -> String {
        let mut out = String::new();
        for row in self.rows {
            let line: String = row.into_iter().map(shown).collect();
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

fn shown(cell: Cell) -> char {
    const LINES: [char; 16] =
        [' ', '│', '─', '└', '│', '│', '┌', '├', '─', '┘', '─', '┴', '┐', '┤', '┬', '┼'];
    match cell {
        Cell::Char(char) => char,
        Cell::Lines { directions, dashed: true } if directions == EAST | WEST => '┄',
        Cell::Lines { directions, dashed: true } if directions == NORTH | SOUTH => '┆',
        Cell::Lines { directions, .. } => LINES[usize::from(directions)],
    }
}

/// Every state by rank, and under each the rules that leave it.
fn listing(lifecycle: &Lifecycle) -> String {
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let on = width(&mut lifecycle.rules.iter().map(|rule| said(rule).chars().count()));
    let to = width(&mut lifecycle.rules.iter().map(|rule| rule.to.as_str().len()));
    let mut out = String::new();
    for state in lifecycle.by_rank() {
        let _ = writeln!(out, "{:>2}  {}", state.rank, heading(state));
        for rule in lifecycle.rules_from(state.name.as_str()) {
            let arrow = if lifecycle.begins_attempt(rule) { '↺' } else { '→' };
            let mut notes = rule.event.to_string();
            if let Some(reason) = rule.reason {
                let _ = write!(notes, ", reason {}", reason.as_str());
            }
            if let Some(audit) = &rule.audit {
                let _ = write!(notes, ", audit {audit}");
            }
            let _ = writeln!(out, "      {:on$}  {arrow} {:to$}  {notes}", said(rule), rule.to.as_str());
        }
    }
    out
}

fn heading(state: &State) -> String {
    let alias = state.alias.as_ref().map_or_else(String::new, |alias| format!(", also called {alias}"));
    let ends = if state.phase.is_final() { "final, " } else { "" };
    format!("{}  ({ends}{}{alias})", state.name, note(state))
}
