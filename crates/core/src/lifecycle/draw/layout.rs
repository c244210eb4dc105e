//! Where everything stands, in character cells.
//!
//! States that are not final stand in a row, by rank. What leads to the next one is straight; what leads elsewhere in
//! the row runs above it, and what ends the job runs below it to the final states on the right. Whatever leads to the
//! same place shares one line there (a bus), which each source joins by a line of its own. The lines that reach
//! furthest leave their box furthest left, so that a label, which stands right of its line, never meets another line.

use super::super::{Lifecycle, Outcome, Phase, State};
use super::{Arrow, arrows};

/// What a drawing needs of room.
pub(super) struct Room<'f> {
    /// Rows of a box in the row, with its borders.
    pub(super) rows: usize,
    /// The row of a box in which straight arrows leave it and arrive.
    pub(super) line: usize,
    /// What is written into a box, or the longest that could be.
    pub(super) lines: &'f dyn Fn(&State) -> Vec<String>,
    /// Whether arrows say what they stand for.
    pub(super) labels: bool,
    /// The longest rate of an arrow; none if zero.
    pub(super) rate: usize,
}

/// The whole picture.
pub(super) struct Sheet<'l> {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) boxes: Vec<Shape<'l>>,
    pub(super) wires: Vec<Wire<'l>>,
    pub(super) labels: Vec<Label<'l>>,
    pub(super) rates: Vec<Rate<'l>>,
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

/// From one state to another.
pub(super) type Ends<'l> = (&'l State, &'l State);

/// A line with corners. One without an arrow joins another.
pub(super) struct Wire<'l> {
    /// Nothing for the one that `create` stands for.
    pub(super) ends: Option<Ends<'l>>,
    pub(super) points: Vec<(usize, usize)>,
    pub(super) arrow: bool,
    /// Whether it begins a new attempt.
    pub(super) again: bool,
    /// The place where it joins another.
    pub(super) joins: Option<(usize, usize)>,
}

/// A line of text beside a wire.
pub(super) struct Label<'l> {
    pub(super) ends: Ends<'l>,
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) text: String,
}

/// The place of an arrow's rate: beside its first label, or in the middle under a straight line.
pub(super) struct Rate<'l> {
    pub(super) ends: Ends<'l>,
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) middle: bool,
}

/// Rows of a final box: border, name, border.
const FINAL_ROWS: usize = 3;
/// Columns before the first box: a dot and an arrow.
const START_COLUMNS: usize = 4;

pub(super) fn lay_out<'l>(lifecycle: &'l Lifecycle, room: &Room<'_>) -> Sheet<'l> {
    let plan = Plan::of(lifecycle);
    let grid = Grid::of(&plan, room);
    let mut sheet = Sheet {
        width: 0,
        height: 0,
        boxes: Vec::new(),
        wires: Vec::new(),
        labels: Vec::new(),
        rates: Vec::new(),
    };
    place_boxes(&mut sheet, &plan, &grid, room);
    sheet.wires.push(Wire {
        ends: None,
        points: vec![(0, grid.line), (START_COLUMNS - 1, grid.line)],
        arrow: true,
        again: false,
        joins: None,
    });
    place_straight(&mut sheet, &plan, &grid, room);
    for bus in &plan.above {
        place_above(&mut sheet, &plan, &grid, bus);
    }
    for (index, bus) in plan.below.iter().enumerate() {
        place_below(&mut sheet, &plan, &grid, (index, bus));
    }
    if !room.labels {
        sheet.labels.clear();
    }
    if room.rate == 0 {
        sheet.rates.clear();
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
    fn label_rows(&self, room: &Room<'_>) -> usize {
        if !room.labels {
            return 1;
        }
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
    /// The row of straight arrows.
    line: usize,
    /// The lower edge of the row of boxes.
    bottom: usize,
    /// The row of each line below.
    below: Vec<usize>,
}

impl Grid {
    fn of(plan: &Plan<'_>, room: &Room<'_>) -> Self {
        let mut x = START_COLUMNS;
        let mut columns = Vec::new();
        for column in 0..plan.row.len() {
            let width = box_width(plan, column, room);
            columns.push((x, width));
            x += width.max(1) + gap(plan, column, width, room);
        }
        let mut y = 0;
        let mut above = vec![0; plan.above.len()];
        for (index, bus) in plan.above.iter().enumerate().rev() {
            above[index] = y;
            y += bus.label_rows(room) + 1;
        }
        let (top, line) = (y, y + room.line);
        let beside = plan.straight.iter().flatten().map(|arrow| arrow.rules.len()).max().unwrap_or(0);
        let hanging = if room.labels { beside.saturating_sub(room.line) + room.rate.min(1) } else { 0 };
        y += room.rows.max(room.line + 1 + hanging + 1);
        let mut below = Vec::new();
        let mut box_end = plan.straight_end.map_or(0, |_| line - 1 + FINAL_ROWS);
        for bus in &plan.below {
            let row = (y + bus.label_rows(room)).max(box_end + 1);
            below.push(row);
            y = row + 1;
            box_end = row + FINAL_ROWS - 1;
        }
        Self { columns, ends: x, above, top, line, bottom: top + room.rows - 1, below }
    }

    /// The column of the `nth` line at an edge of a box.
    fn port(&self, column: usize, nth: usize) -> usize {
        self.columns[column].0 + 2 + 2 * nth
    }
}

fn box_width(plan: &Plan<'_>, column: usize, room: &Room<'_>) -> usize {
    let text = (room.lines)(plan.row[column]).iter().map(|line| line.chars().count()).max().unwrap_or(0) + 4;
    let ports = plan.bottom(column).len().max(plan.top(column).len());
    text.max(2 * ports + 3)
}

/// The room right of a box: for its straight arrow, and for the labels above and below.
fn gap(plan: &Plan<'_>, column: usize, width: usize, room: &Room<'_>) -> usize {
    let straight = plan.straight[column].as_ref().filter(|_| room.labels);
    let straight = straight.map_or(4, |arrow| widest(arrow, 0).max(room.rate) + 4);
    let beside = if room.rate == 0 { 0 } else { room.rate + 1 };
    let label = |nth: usize, bus: &Bus<'_>| {
        let (_, arrow) = bus.arrows.iter().find(|(from, _)| *from == column)?;
        room.labels.then(|| 2 + 2 * nth + 2 + widest(arrow, beside) + 1)
    };
    let bottom =
        plan.bottom(column).into_iter().enumerate().filter_map(|(nth, index)| label(nth, &plan.below[index]));
    let lines = plan.top(column).into_iter().enumerate().filter(|(_, (_, arrives))| !arrives);
    let top = lines.filter_map(|(nth, (index, _))| label(nth, &plan.above[index]));
    let labels = bottom.chain(top).max().unwrap_or(0);
    straight.max(labels.saturating_sub(width))
}

/// The longest line of a label, with something beside the first.
fn widest(arrow: &Arrow<'_>, beside: usize) -> usize {
    let lines = arrow.lines();
    let first = lines.first().map_or(0, |line| line.chars().count() + beside);
    lines.iter().map(|line| line.chars().count()).max().unwrap_or(0).max(first)
}

fn place_boxes<'l>(sheet: &mut Sheet<'l>, plan: &Plan<'l>, grid: &Grid, room: &Room<'_>) {
    for (state, (x, width)) in plan.row.iter().zip(&grid.columns) {
        let lines = (room.lines)(state);
        sheet.boxes.push(Shape { state, x: *x, y: grid.top, width: *width, height: room.rows, lines });
    }
    let ends = plan.straight_end.iter().map(|state| (*state, grid.line - 1));
    let ends = ends.chain(plan.below.iter().zip(&grid.below).map(|(bus, line)| (bus.to, line - 1)));
    let ends: Vec<_> = ends.map(|(state, y)| (state, y, (room.lines)(state))).collect();
    let all = ends.iter().flat_map(|(.., lines)| lines);
    let width = all.map(|line| line.chars().count() + 4).max().unwrap_or(0);
    for (state, y, lines) in ends {
        sheet.boxes.push(Shape { state, x: grid.ends, y, width, height: FINAL_ROWS, lines });
    }
}

fn place_straight<'l>(sheet: &mut Sheet<'l>, plan: &Plan<'l>, grid: &Grid, room: &Room<'_>) {
    for (column, arrow) in plan.straight.iter().enumerate() {
        let Some(arrow) = arrow else { continue };
        let (x, width) = grid.columns[column];
        let begin = x + width;
        let end = grid.columns.get(column + 1).map_or(grid.ends, |(next, _)| *next);
        let points = vec![(begin - 1, grid.line), (end - 1, grid.line)];
        let ends = arrow.ends();
        sheet.wires.push(Wire { ends: Some(ends), points, arrow: true, again: false, joins: None });
        let lines = arrow.lines();
        // As many as there is room for stand on the line, the others hang from it.
        let standing = lines.len().min(room.line);
        let hung = grid.line + 1 + room.rate.min(1);
        for (nth, text) in lines.into_iter().enumerate() {
            let x = begin + (end - begin).saturating_sub(text.chars().count()) / 2;
            let y = if nth < standing { grid.line - standing + nth } else { hung + nth - standing };
            sheet.labels.push(Label { ends, x, y, text });
        }
        sheet.rates.push(Rate { ends, x: usize::midpoint(begin, end), y: grid.line + 1, middle: true });
    }
}

fn place_above<'l>(sheet: &mut Sheet<'l>, plan: &Plan<'l>, grid: &Grid, bus: &Bus<'l>) {
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
        sheet.wires.push(Wire { ends: Some(arrow.ends()), points, arrow: arrives, again, joins });
        for (row, text) in arrow.lines().into_iter().enumerate() {
            sheet.labels.push(Label { ends: arrow.ends(), x: x + 2, y: line + 1 + row, text });
        }
        sheet.rates.push(rate_beside(arrow, (x + 2, line + 1)));
    }
}

fn place_below<'l>(sheet: &mut Sheet<'l>, plan: &Plan<'l>, grid: &Grid, (index, bus): (usize, &Bus<'l>)) {
    let line = grid.below[index];
    for (nth, (from, arrow)) in bus.arrows.iter().enumerate() {
        let port = plan.bottom(*from).iter().position(|found| *found == index).expect("the line was planned");
        let x = grid.port(*from, port);
        let mut points = vec![(x, grid.bottom), (x, line)];
        if nth == 0 {
            points.push((grid.ends - 1, line));
        }
        let joins = (nth > 0).then_some((x, line));
        sheet.wires.push(Wire { ends: Some(arrow.ends()), points, arrow: nth == 0, again: false, joins });
        for (row, text) in arrow.lines().into_iter().rev().enumerate() {
            sheet.labels.push(Label { ends: arrow.ends(), x: x + 2, y: line - 1 - row, text });
        }
        sheet.rates.push(rate_beside(arrow, (x + 2, line - arrow.rules.len())));
    }
}

/// The place right of an arrow's first label, which begins at `(x, y)`.
fn rate_beside<'l>(arrow: &Arrow<'l>, (x, y): (usize, usize)) -> Rate<'l> {
    let first = arrow.lines().first().map_or(0, |line| line.chars().count());
    Rate { ends: arrow.ends(), x: x + first + 1, y, middle: false }
}
