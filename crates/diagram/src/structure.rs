//! Which states form the main row of a diagram and which lines their arrows share, before anything has coordinates.

use tenure_core::lifecycle::{Lifecycle, Outcome, Phase, State};

use crate::{Arrow, arrows, returns};

pub(crate) struct Structure<'l> {
    /// The non-final states by rank.
    pub(crate) row: Vec<&'l State>,
    /// For each state of the row, the arrow to the next one; the last may lead to `straight_end`.
    pub(crate) straight: Vec<Option<Arrow<'l>>>,
    /// The final state at the end of the row.
    pub(crate) straight_end: Option<&'l State>,
    /// Nearest first.
    pub(crate) above: Vec<Bus<'l>>,
    /// From top to bottom, one for each final state except `straight_end`.
    pub(crate) below: Vec<Bus<'l>>,
}

/// A line shared by all arrows to one state.
pub(crate) struct Bus<'l> {
    pub(crate) to: &'l State,
    pub(crate) arrows: Vec<BusArrow<'l>>,
}

pub(crate) struct BusArrow<'l> {
    /// The column of the state that it leaves.
    pub(crate) column: usize,
    pub(crate) arrow: Arrow<'l>,
}

/// A line at the top of a box.
#[derive(PartialEq, Eq)]
pub(crate) struct TopLine {
    /// Index in [`Structure::above`].
    pub(crate) bus: usize,
    /// Whether the line enters the box; otherwise it leaves.
    pub(crate) enters: bool,
}

impl<'l> Bus<'l> {
    pub(crate) fn arrow_from(&self, column: usize) -> Option<&Arrow<'l>> {
        self.arrows.iter().find(|found| found.column == column).map(|found| &found.arrow)
    }
}

impl<'l> Structure<'l> {
    pub(crate) fn of(lifecycle: &'l Lifecycle) -> Self {
        let row: Vec<&State> =
            lifecycle.by_rank().into_iter().filter(|state| !state.phase.is_final()).collect();
        let straight_end = straight_end(lifecycle, &row);
        let is_straight_end = |state: &State| straight_end.is_some_and(|end| end.name == state.name);
        let finals = lifecycle.states.iter().filter(|state| state.phase.is_final());
        let below = finals.filter(|state| !is_straight_end(state)).map(|to| Bus { to, arrows: Vec::new() });
        let mut structure = Self {
            straight: row.iter().map(|_| None).collect(),
            straight_end,
            above: Vec::new(),
            below: below.collect(),
            row,
        };
        for arrow in arrows(lifecycle) {
            let Some(column) = structure.column(arrow.from) else { continue };
            let leads_back = arrow.rules.iter().any(|rule| returns(lifecycle, rule));
            let next = structure.column(arrow.to) == Some(column + 1) && !leads_back;
            if next || is_straight_end(arrow.to) {
                structure.straight[column] = Some(arrow);
                continue;
            }
            let buses = if arrow.to.phase.is_final() { &mut structure.below } else { &mut structure.above };
            let to = arrow.to;
            let arrow = BusArrow { column, arrow };
            match buses.iter_mut().find(|bus| bus.to.name == to.name) {
                Some(bus) => bus.arrows.push(arrow),
                None => buses.push(Bus { to, arrows: vec![arrow] }),
            }
        }
        for bus in structure.above.iter_mut().chain(&mut structure.below) {
            bus.arrows.sort_by_key(|arrow| arrow.column);
        }
        structure.above.sort_by_key(|bus| bus.arrows.iter().map(|arrow| arrow.column).max());
        structure
    }

    /// The position of a state in the row, if it is not final.
    pub(crate) fn column(&self, state: &State) -> Option<usize> {
        self.row.iter().position(|other| other.name == state.name)
    }

    /// The lines that leave the bottom of a box as indexes in `below`, the deepest first.
    pub(crate) fn bottom_lines(&self, column: usize) -> Vec<usize> {
        let buses = self.below.iter().enumerate().rev();
        buses.filter(|(_, bus)| bus.arrow_from(column).is_some()).map(|(index, _)| index).collect()
    }

    /// The lines at the top of a box, the highest first.
    pub(crate) fn top_lines(&self, column: usize) -> Vec<TopLine> {
        let mut lines = Vec::new();
        for (index, bus) in self.above.iter().enumerate().rev() {
            if self.column(bus.to) == Some(column) {
                lines.push(TopLine { bus: index, enters: true });
            }
            if bus.arrow_from(column).is_some() {
                lines.push(TopLine { bus: index, enters: false });
            }
        }
        lines
    }
}

/// The succeeded state that only the last state of the row leads to, if there is one.
fn straight_end<'l>(lifecycle: &'l Lifecycle, row: &[&State]) -> Option<&'l State> {
    let last = row.last()?;
    lifecycle.states.iter().filter(|state| state.phase == Phase::Final(Outcome::Succeeded)).find(|state| {
        let mut into = lifecycle.rules.iter().filter(|rule| rule.to == state.name).peekable();
        into.peek().is_some() && into.all(|rule| rule.from.as_ref() == Some(&last.name))
    })
}
