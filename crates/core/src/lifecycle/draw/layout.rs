//! Where everything stands, in character cells.
//!
//! States that are not final stand in a row, by rank. What leads to the next one is straight; what leads elsewhere in
//! the row runs above it, and what ends the job runs below it to the final states on the right. Whatever leads to the
//! same place shares one line there (a bus), which each source joins by a line of its own. The lines that reach
//! furthest leave their box furthest left, so that a label, which stands right of its line, never meets another line.

use super::super::{Lifecycle, Outcome, Phase, State};
use super::{Arrow, arrows, note};

/// The whole picture.
pub(super) struct Sheet<'l> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) boxes: Vec<Shape<'l>>,
    pub(super) wires: Vec<Wire>,
    pub(super) labels: Vec<Label>,
}

/// A state.
pub(super) struct Shape<'l> {
    pub(super) state: &'l State,
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) lines: Vec<String>,
}

/// A line with corners. One without an arrow joins another.
pub(super) struct Wire {
    pub(super) points: Vec<(usize, usize)>,
    pub(super) arrow: bool,
    /// Whether it begins a new attempt.
    pub(super) again: bool,
    /// The place where it joins another.
    pub(super) joins: Option<(usize, usize)>,
}

/// A line of text beside a wire.
pub(super) struct Label {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) text: String,
}

/// Rows of a box in the row: border, name, note, border.
const BOX_ROWS: usize = 4;
/// Rows of a final box: border, name, border.
const FINAL_ROWS: usize = 3;
/// Columns before the first box: a dot and an arrow.
const START_COLUMNS: usize = 4;

pub(super) fn lay_out(lifecycle: &Lifecycle) -> Sheet<'_> {
    let plan = Plan::of(lifecycle);
    let grid = Grid::of(&plan);
    let mut sheet = Sheet { width: 0, height: 0, boxes: Vec::new(), wires: Vec::new(), labels: Vec::new() };
    place_boxes(&mut sheet, &plan, &grid);
    sheet.wires.push(Wire {
        points: vec![(0, grid.top + 1), (START_COLUMNS - 1, grid.top + 1)],
        arrow: true,
        again: false,
        joins: None,
    });
    place_straight(&mut sheet, &plan, &grid);
    for bus in &plan.above {
        place_above(&mut sheet, &plan, &grid, bus);
    }
    for (index, bus) in plan.below.iter().enumerate() {
        place_below(&mut sheet, &plan, &grid, (index, bus));
    }
    sheet.width = sheet.boxes.iter().map(|shape| shape.x + shape.width).max().unwrap_or(0);
    let box_end = sheet.boxes.iter().map(|shape| shape.y + shape.height).max().unwrap_or(0);
    let label_end = sheet.labels.iter().map(|label| label.y + 1).max().unwrap_or(0);
    sheet.height = box_end.max(label_end);
    sheet
}

/// What is to be drawn, before it has a place.
struct Plan<'l> {
    /// The states in the row.
    row: Vec<&'l State>,
    /// The arrow to the next in the row, for each; the last one's may lead to `straight_end`.
    straight: Vec<Option<Arrow<'l>>>,
    /// The final state that the row leads straight to.
    straight_end: Option<&'l State>,
    /// Nearest first.
    above: Vec<Bus<'l>>,
    /// From top to bottom, one for each final state but `straight_end`.
    below: Vec<Bus<'l>>,
}

/// All that leads to one state by the same line.
struct Bus<'l> {
    to: &'l State,
    /// By their place in the row.
    arrows: Vec<(usize, Arrow<'l>)>,
}

impl Bus<'_> {
    fn label_rows(&self) -> usize {
        self.arrows.iter().map(|(_, arrow)| arrow.rules.len()).max().unwrap_or(0)
    }
}

impl<'l> Plan<'l> {
    fn of(lifecycle: &'l Lifecycle) -> Self {
        let row: Vec<&State> =
            lifecycle.by_rank().into_iter().filter(|state| !state.phase.is_final()).collect();
        let place = |state: &State| row.iter().position(|other| other.name == state.name);
        let mut plan = Self {
            straight: row.iter().map(|_| None).collect(),
            straight_end: straight_end(lifecycle, &row),
            above: Vec::new(),
            below: Vec::new(),
            row: row.clone(),
        };
        let ends = lifecycle.states.iter().filter(|state| state.phase.is_final());
        plan.below = ends
            .filter(|state| plan.straight_end.is_none_or(|end| end.name != state.name))
            .map(|to| Bus { to, arrows: Vec::new() })
            .collect();
        for arrow in arrows(lifecycle) {
            let Some(from) = place(arrow.from) else { continue };
            let next = place(arrow.to) == Some(from + 1) && arrow.to.phase != Phase::Ready;
            if next || plan.straight_end.is_some_and(|end| end.name == arrow.to.name) {
                plan.straight[from] = Some(arrow);
                continue;
            }
            let buses = if arrow.to.phase.is_final() { &mut plan.below } else { &mut plan.above };
            match buses.iter_mut().find(|bus| bus.to.name == arrow.to.name) {
                Some(bus) => bus.arrows.push((from, arrow)),
                None => buses.push(Bus { to: arrow.to, arrows: vec![(from, arrow)] }),
            }
        }
        for bus in plan.above.iter_mut().chain(&mut plan.below) {
            bus.arrows.sort_by_key(|(from, _)| *from);
        }
        plan.above.sort_by_key(|bus| bus.arrows.iter().map(|(from, _)| *from).max());
        plan
    }

    fn column(&self, state: &State) -> usize {
        self.row
            .iter()
            .position(|other| other.name == state.name)
            .expect("what is not final stands in the row")
    }

    /// The lines that leave the bottom of a box: places in `below`, the deepest first.
    fn bottom(&self, column: usize) -> Vec<usize> {
        let leaves = |bus: &Bus<'_>| bus.arrows.iter().any(|(from, _)| *from == column);
        (0..self.below.len()).rev().filter(|index| leaves(&self.below[*index])).collect()
    }

    /// The lines at the top of a box, the highest first: places in `above`, and whether the line arrives.
    fn top(&self, column: usize) -> Vec<(usize, bool)> {
        let mut lines = Vec::new();
        for (index, bus) in self.above.iter().enumerate().rev() {
            if self.column(bus.to) == column {
                lines.push((index, true));
            }
            if bus.arrows.iter().any(|(from, _)| *from == column) {
                lines.push((index, false));
            }
        }
        lines
    }
}

/// A success that only the last state of the row leads to continues it.
fn straight_end<'l>(lifecycle: &'l Lifecycle, row: &[&State]) -> Option<&'l State> {
    let last = row.last()?;
    lifecycle.states.iter().filter(|state| state.phase == Phase::Final(Outcome::Succeeded)).find(|state| {
        let mut into = lifecycle.rules.iter().filter(|rule| rule.to == state.name).peekable();
        into.peek().is_some() && into.all(|rule| rule.from.as_ref() == Some(&last.name))
    })
}

/// The cells that everything is aligned to.
struct Grid {
    /// Left edge and width of each box in the row.
    columns: Vec<(usize, usize)>,
    /// Left edge of the final states.
    ends: usize,
    /// The row of each line above.
    above: Vec<usize>,
    /// The upper edge of the row of boxes.
    top: usize,
    /// The row of each line below.
    below: Vec<usize>,
}

impl Grid {
    fn of(plan: &Plan<'_>) -> Self {
        let mut x = START_COLUMNS;
        let mut columns = Vec::new();
        for column in 0..plan.row.len() {
            let width = box_width(plan, column);
            columns.push((x, width));
            x += width.max(1) + gap(plan, column, width);
        }
        let mut y = 0;
        let mut above = vec![0; plan.above.len()];
        for (index, bus) in plan.above.iter().enumerate().rev() {
            above[index] = y;
            y += bus.label_rows() + 1;
        }
        let top = y;
        let beside = plan.straight.iter().flatten().map(|arrow| arrow.rules.len()).max().unwrap_or(0);
        y += BOX_ROWS.max(beside + 2);
        let mut below = Vec::new();
        let mut box_end = plan.straight_end.map_or(0, |_| top + FINAL_ROWS);
        for bus in &plan.below {
            let line = (y + bus.label_rows()).max(box_end + 1);
            below.push(line);
            y = line + 1;
            box_end = line + FINAL_ROWS - 1;
        }
        Self { columns, ends: x, above, top, below }
    }

    /// The column of the `nth` line at an edge of a box.
    fn port(&self, column: usize, nth: usize) -> usize {
        self.columns[column].0 + 2 + 2 * nth
    }
}

fn box_lines(state: &State) -> Vec<String> {
    let note = note(state);
    if !state.phase.is_final() {
        return vec![state.name.to_string(), note];
    }
    vec![if state.name == note.as_str() { note } else { format!("{} · {note}", state.name) }]
}

fn box_width(plan: &Plan<'_>, column: usize) -> usize {
    let text = box_lines(plan.row[column]).iter().map(|line| line.chars().count()).max().unwrap_or(0) + 4;
    let ports = plan.bottom(column).len().max(plan.top(column).len());
    text.max(2 * ports + 3)
}

/// The room right of a box: for its straight arrow, and for the labels above and below.
fn gap(plan: &Plan<'_>, column: usize, width: usize) -> usize {
    let straight = plan.straight[column].as_ref().map_or(4, |arrow| widest(arrow) + 4);
    let label = |nth: usize, bus: &Bus<'_>| {
        let (_, arrow) = bus.arrows.iter().find(|(from, _)| *from == column)?;
        Some(2 + 2 * nth + 2 + widest(arrow) + 1)
    };
    let bottom =
        plan.bottom(column).into_iter().enumerate().filter_map(|(nth, index)| label(nth, &plan.below[index]));
    let lines = plan.top(column).into_iter().enumerate().filter(|(_, (_, arrives))| !arrives);
    let top = lines.filter_map(|(nth, (index, _))| label(nth, &plan.above[index]));
    let labels = bottom.chain(top).max().unwrap_or(0);
    straight.max(labels.saturating_sub(width))
}

fn widest(arrow: &Arrow<'_>) -> usize {
    arrow.lines().iter().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn place_boxes<'l>(sheet: &mut Sheet<'l>, plan: &Plan<'l>, grid: &Grid) {
    for (state, (x, width)) in plan.row.iter().zip(&grid.columns) {
        let lines = box_lines(state);
        sheet.boxes.push(Shape { state, x: *x, y: grid.top, width: *width, height: BOX_ROWS, lines });
    }
    let ends = plan.straight_end.iter().map(|state| (*state, grid.top));
    let ends = ends.chain(plan.below.iter().zip(&grid.below).map(|(bus, line)| (bus.to, line - 1)));
    let ends: Vec<_> = ends.map(|(state, y)| (state, y, box_lines(state))).collect();
    let width = ends.iter().map(|(.., lines)| lines[0].chars().count() + 4).max().unwrap_or(0);
    for (state, y, lines) in ends {
        sheet.boxes.push(Shape { state, x: grid.ends, y, width, height: FINAL_ROWS, lines });
    }
}

fn place_straight(sheet: &mut Sheet<'_>, plan: &Plan<'_>, grid: &Grid) {
    for (column, arrow) in plan.straight.iter().enumerate() {
        let Some(arrow) = arrow else { continue };
        let (x, width) = grid.columns[column];
        let begin = x + width;
        let end = grid.columns.get(column + 1).map_or(grid.ends, |(next, _)| *next);
        let points = vec![(begin - 1, grid.top + 1), (end - 1, grid.top + 1)];
        sheet.wires.push(Wire { points, arrow: true, again: false, joins: None });
        for (nth, text) in arrow.lines().into_iter().enumerate() {
            let x = begin + (end - begin).saturating_sub(text.chars().count()) / 2;
            // The first stands on the line, the others hang from it.
            let y = if nth == 0 { grid.top } else { grid.top + 1 + nth };
            sheet.labels.push(Label { x, y, text });
        }
    }
}

fn place_above(sheet: &mut Sheet<'_>, plan: &Plan<'_>, grid: &Grid, bus: &Bus<'_>) {
    let index = plan.above.iter().position(|other| std::ptr::eq(other, bus)).expect("a bus of this plan");
    let again = bus.to.phase == Phase::Ready;
    let line = grid.above[index];
    let port = |column: usize, arrives: bool| {
        let nth = plan
            .top(column)
            .iter()
            .position(|found| *found == (index, arrives))
            .expect("the line was planned");
        grid.port(column, nth)
    };
    let target = plan.column(bus.to);
    let entry = port(target, true);
    let from_right = bus.arrows.iter().rposition(|(from, _)| *from >= target);
    for (nth, (from, arrow)) in bus.arrows.iter().enumerate() {
        let x = port(*from, false);
        // The furthest from either side makes the line; the others join it.
        let whole = Some(nth) == from_right || (nth == 0 && *from < target);
        let arrives = Some(nth) == from_right || (nth == 0 && from_right.is_none());
        let mut points = vec![(x, grid.top), (x, line)];
        if whole {
            points.push((entry, line));
        }
        if arrives {
            points.push((entry, grid.top - 1));
        }
        let joins = (!arrives).then_some(*points.last().expect("a wire has points"));
        sheet.wires.push(Wire { points, arrow: arrives, again, joins });
        for (row, text) in arrow.lines().into_iter().enumerate() {
            sheet.labels.push(Label { x: x + 2, y: line + 1 + row, text });
        }
    }
}

fn place_below(sheet: &mut Sheet<'_>, plan: &Plan<'_>, grid: &Grid, (index, bus): (usize, &Bus<'_>)) {
    let line = grid.below[index];
    for (nth, (from, arrow)) in bus.arrows.iter().enumerate() {
        let port = plan.bottom(*from).iter().position(|found| *found == index).expect("the line was planned");
        let x = grid.port(*from, port);
        let mut points = vec![(x, grid.top + BOX_ROWS - 1), (x, line)];
        if nth == 0 {
            points.push((grid.ends - 1, line));
        }
        let joins = (nth > 0).then_some((x, line));
        sheet.wires.push(Wire { points, arrow: nth == 0, again: false, joins });
        for (row, text) in arrow.lines().into_iter().rev().enumerate() {
            sheet.labels.push(Label { x: x + 2, y: line - 1 - row, text });
        }
    }
}
