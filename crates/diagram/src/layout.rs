//! Positions of all boxes, lines and labels of a diagram, in character cells.
//!
//! Non-final states form a row, ordered by rank. An arrow to the next state is straight; arrows to other states of the
//! row run above it, and arrows to final states run below it to the right edge. Arrows to the same state share one
//! line (a bus). The line that reaches furthest leaves its box furthest left, so a label, placed to the right of its
//! line, never overlaps another line.

use tenure_core::lifecycle::{Lifecycle, Phase, State};

use crate::Arrow;
use crate::structure::{Bus, BusArrow, Structure, TopLine};

/// Size and contents of a diagram.
pub(crate) struct LayoutOptions<'f> {
    /// Height of the boxes in the row, borders included.
    pub(crate) rows: usize,
    /// The row within a box where straight arrows leave and enter.
    pub(crate) line: usize,
    /// The text of a box, or the longest text that it must have space for.
    pub(crate) lines: &'f dyn Fn(&State) -> Vec<String>,
    /// Whether arrows are labelled with their rules.
    pub(crate) labels: bool,
    /// Length of the longest rate; 0 leaves rates out.
    pub(crate) rate: usize,
}

#[derive(Default)]
pub(crate) struct Layout<'l> {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) boxes: Vec<StateBox<'l>>,
    pub(crate) connectors: Vec<Connector<'l>>,
    pub(crate) labels: Vec<Label<'l>>,
    pub(crate) rates: Vec<RateLabel<'l>>,
}

pub(crate) struct StateBox<'l> {
    pub(crate) state: &'l State,
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) lines: Vec<String>,
}

/// The states that an arrow connects: from, to.
pub(crate) type Ends<'l> = (&'l State, &'l State);

/// A line with corners. A line without an arrow head joins another one.
pub(crate) struct Connector<'l> {
    /// `None` for the line that enters the initial state.
    pub(crate) ends: Option<Ends<'l>>,
    pub(crate) points: Vec<(usize, usize)>,
    pub(crate) arrow_head: bool,
    pub(crate) begins_attempt: bool,
    /// The cell where it joins another line.
    pub(crate) joins: Option<(usize, usize)>,
}

/// A line of text beside a connector.
pub(crate) struct Label<'l> {
    pub(crate) ends: Ends<'l>,
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) text: String,
}

/// The position of an arrow's rate: beside its first label, or centred under a straight line.
pub(crate) struct RateLabel<'l> {
    pub(crate) ends: Ends<'l>,
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) centred: bool,
}

impl<'l> Connector<'l> {
    /// A line with an arrow head that joins no other.
    fn new(ends: Option<Ends<'l>>, points: Vec<(usize, usize)>) -> Self {
        Self { ends, points, arrow_head: true, begins_attempt: false, joins: None }
    }
}

impl StateBox<'_> {
    /// Left, top, right and bottom cell.
    pub(crate) fn edges(&self) -> (usize, usize, usize, usize) {
        (self.x, self.y, self.x + self.width - 1, self.y + self.height - 1)
    }
}

/// Rows of a final box: border, name, border.
const FINAL_ROWS: usize = 3;
/// Columns before the first box: a dot and an arrow.
const START_COLUMNS: usize = 4;

pub(crate) fn lay_out<'l>(lifecycle: &'l Lifecycle, options: &LayoutOptions<'_>) -> Layout<'l> {
    let structure = Structure::of(lifecycle);
    let grid = Grid::of(&structure, options);
    let mut layout = Layout::default();
    place_boxes(&mut layout, &structure, &grid, options);
    let start = vec![(0, grid.line), (START_COLUMNS - 1, grid.line)];
    layout.connectors.push(Connector::new(None, start));
    place_straight(&mut layout, &structure, &grid, options);
    for index in 0..structure.above.len() {
        place_above(&mut layout, &structure, &grid, index);
    }
    for index in 0..structure.below.len() {
        place_below(&mut layout, &structure, &grid, index);
    }
    if !options.labels {
        layout.labels.clear();
    }
    if options.rate == 0 {
        layout.rates.clear();
    }
    layout.width = layout.boxes.iter().map(|state_box| state_box.x + state_box.width).max().unwrap_or(0);
    let box_end = layout.boxes.iter().map(|state_box| state_box.y + state_box.height).max().unwrap_or(0);
    let label_end = layout.labels.iter().map(|label| label.y + 1).max().unwrap_or(0);
    layout.height = box_end.max(label_end);
    layout
}

/// The cells that everything is aligned to.
struct Grid {
    columns: Vec<Column>,
    /// Left edge of the final states.
    finals: usize,
    /// The row of each bus above.
    above: Vec<usize>,
    /// Top edge of the boxes in the row.
    top: usize,
    /// The row of straight arrows.
    line: usize,
    /// Bottom edge of the boxes in the row.
    bottom: usize,
    /// The row of each bus below.
    below: Vec<usize>,
}

/// A box in the row.
struct Column {
    x: usize,
    width: usize,
}

impl Grid {
    fn of(structure: &Structure<'_>, options: &LayoutOptions<'_>) -> Self {
        let mut x = START_COLUMNS;
        let mut columns = Vec::new();
        for column in 0..structure.row.len() {
            let width = box_width(structure, column, options);
            columns.push(Column { x, width });
            x += width.max(1) + gap(structure, column, width, options);
        }
        let mut y = 0;
        let mut above = vec![0; structure.above.len()];
        for (index, bus) in structure.above.iter().enumerate().rev() {
            above[index] = y;
            y += label_rows(bus, options) + 1;
        }
        let (top, line) = (y, y + options.line);
        let labels = structure.straight.iter().flatten().map(|arrow| arrow.rules.len()).max().unwrap_or(0);
        let hanging =
            if options.labels { labels.saturating_sub(options.line) + options.rate.min(1) } else { 0 };
        y += options.rows.max(options.line + 1 + hanging + 1);
        let mut below = Vec::new();
        let mut box_end = structure.straight_end.map_or(0, |_| line - 1 + FINAL_ROWS);
        for bus in &structure.below {
            let row = (y + label_rows(bus, options)).max(box_end + 1);
            below.push(row);
            y = row + 1;
            box_end = row + FINAL_ROWS - 1;
        }
        Self { columns, finals: x, above, top, line, bottom: top + options.rows - 1, below }
    }

    /// The x position of the `index`th line at the top or bottom edge of a box.
    fn port(&self, column: usize, index: usize) -> usize {
        self.columns[column].x + 2 + 2 * index
    }
}

fn label_rows(bus: &Bus<'_>, options: &LayoutOptions<'_>) -> usize {
    if !options.labels {
        return 1;
    }
    bus.arrows.iter().map(|found| found.arrow.rules.len()).max().unwrap_or(0)
}

fn box_width(structure: &Structure<'_>, column: usize, options: &LayoutOptions<'_>) -> usize {
    let text = widest(&(options.lines)(structure.row[column])) + 4;
    let ports = structure.bottom_lines(column).len().max(structure.top_lines(column).len());
    text.max(2 * ports + 3)
}

/// The space to the right of a box: for its straight arrow and for the labels above and below.
fn gap(structure: &Structure<'_>, column: usize, width: usize, options: &LayoutOptions<'_>) -> usize {
    if !options.labels {
        return 4;
    }
    let straight = structure.straight[column].as_ref();
    let straight = straight.map_or(4, |arrow| widest(&arrow.lines()).max(options.rate) + 4);
    let rate = if options.rate == 0 { 0 } else { options.rate + 1 };
    let label = |port: usize, bus: &Bus<'_>| {
        let lines = bus.arrow_from(column)?.lines();
        Some(2 + 2 * port + 2 + widest(&lines).max(first_width(&lines) + rate) + 1)
    };
    let bottom = structure.bottom_lines(column).into_iter().enumerate();
    let bottom = bottom.filter_map(|(port, index)| label(port, &structure.below[index]));
    let top = structure.top_lines(column).into_iter().enumerate().filter(|(_, line)| !line.enters);
    let top = top.filter_map(|(port, line)| label(port, &structure.above[line.bus]));
    straight.max(bottom.chain(top).max().unwrap_or(0).saturating_sub(width))
}

fn widest(lines: &[String]) -> usize {
    lines.iter().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn first_width(lines: &[String]) -> usize {
    lines.first().map_or(0, |line| line.chars().count())
}

fn place_boxes<'l>(
    layout: &mut Layout<'l>,
    structure: &Structure<'l>,
    grid: &Grid,
    options: &LayoutOptions<'_>,
) {
    for (state, Column { x, width }) in structure.row.iter().zip(&grid.columns) {
        let lines = (options.lines)(state);
        layout.boxes.push(StateBox { state, x: *x, y: grid.top, width: *width, height: options.rows, lines });
    }
    let straight = structure.straight_end.iter().map(|state| (*state, grid.line));
    let finals = straight.chain(structure.below.iter().map(|bus| bus.to).zip(grid.below.iter().copied()));
    let finals: Vec<_> = finals.map(|(state, line)| (state, line - 1, (options.lines)(state))).collect();
    let width = finals.iter().map(|(.., lines)| widest(lines) + 4).max().unwrap_or(0);
    for (state, y, lines) in finals {
        layout.boxes.push(StateBox { state, x: grid.finals, y, width, height: FINAL_ROWS, lines });
    }
}

fn place_straight<'l>(
    layout: &mut Layout<'l>,
    structure: &Structure<'l>,
    grid: &Grid,
    options: &LayoutOptions<'_>,
) {
    for (column, arrow) in structure.straight.iter().enumerate() {
        let Some(arrow) = arrow else { continue };
        let begin = grid.columns[column].x + grid.columns[column].width;
        let end = grid.columns.get(column + 1).map_or(grid.finals, |next| next.x);
        let points = vec![(begin - 1, grid.line), (end - 1, grid.line)];
        let ends = arrow.ends();
        layout.connectors.push(Connector::new(Some(ends), points));
        let lines = arrow.lines();
        // As many labels as fit go above the line, the others below it.
        let above = lines.len().min(options.line);
        let below = grid.line + 1 + options.rate.min(1);
        for (index, text) in lines.into_iter().enumerate() {
            let x = begin + (end - begin).saturating_sub(text.chars().count()) / 2;
            let y = if index < above { grid.line - above + index } else { below + index - above };
            layout.labels.push(Label { ends, x, y, text });
        }
        let x = usize::midpoint(begin, end);
        layout.rates.push(RateLabel { ends, x, y: grid.line + 1, centred: true });
    }
}

fn place_above<'l>(layout: &mut Layout<'l>, structure: &Structure<'l>, grid: &Grid, index: usize) {
    let bus = &structure.above[index];
    let line = grid.above[index];
    let port = |column: usize, enters: bool| {
        let wanted = TopLine { bus: index, enters };
        let lines = structure.top_lines(column);
        let port = lines.iter().position(|found| *found == wanted).expect("the bus has a line at this box");
        grid.port(column, port)
    };
    let target = structure.column(bus.to).expect("only final states are outside the row");
    let entry = port(target, true);
    let last_from_right = bus.arrows.iter().rposition(|found| found.column >= target);
    for (nth, BusArrow { column, arrow }) in bus.arrows.iter().enumerate() {
        let x = port(*column, false);
        // The furthest arrow on either side draws the shared line; the others join it.
        let shared = Some(nth) == last_from_right || (nth == 0 && *column < target);
        let enters = Some(nth) == last_from_right || (nth == 0 && last_from_right.is_none());
        let mut points = vec![(x, grid.top), (x, line)];
        if shared {
            points.push((entry, line));
        }
        if enters {
            points.push((entry, grid.top - 1));
        }
        let joins = (!enters).then_some(points[points.len() - 1]);
        let (ends, begins_attempt) = (Some(arrow.ends()), bus.to.phase == Phase::Ready);
        layout.connectors.push(Connector { ends, points, arrow_head: enters, begins_attempt, joins });
        label(layout, arrow, x + 2, line + 1);
    }
}

fn place_below<'l>(layout: &mut Layout<'l>, structure: &Structure<'l>, grid: &Grid, index: usize) {
    let line = grid.below[index];
    for (nth, BusArrow { column, arrow }) in structure.below[index].arrows.iter().enumerate() {
        let lines = structure.bottom_lines(*column);
        let port = lines.iter().position(|found| *found == index).expect("the bus has a line at this box");
        let x = grid.port(*column, port);
        let mut points = vec![(x, grid.bottom), (x, line)];
        if nth == 0 {
            points.push((grid.finals - 1, line));
        }
        let joins = (nth > 0).then_some((x, line));
        let connector = Connector::new(Some(arrow.ends()), points);
        layout.connectors.push(Connector { arrow_head: nth == 0, joins, ..connector });
        label(layout, arrow, x + 2, line - arrow.rules.len());
    }
}

/// Puts the labels of an arrow below each other from (x, y) on, and its rate beside the first.
fn label<'l>(layout: &mut Layout<'l>, arrow: &Arrow<'l>, x: usize, y: usize) {
    let (ends, lines) = (arrow.ends(), arrow.lines());
    layout.rates.push(RateLabel { ends, x: x + first_width(&lines) + 1, y, centred: false });
    for (row, text) in lines.into_iter().enumerate() {
        layout.labels.push(Label { ends, x, y: y + row, text });
    }
}
