//! A list with a cursor. Without a selected row it shows the server's latest rows. While a row is selected, rows keep
//! their places: changes are shown in place, and new rows wait until they are asked for.

use std::collections::{BTreeSet, HashMap, HashSet};

use tenure_core::lifecycle::Phase;

/// Rows that are fetched at first, and with each step beyond the last one.
const STEP: usize = 100;
const ROWS_MAX: usize = crate::client::PAGE_ROWS_MAX;

/// A row as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) cells: Vec<String>,
    /// The job that keys act on.
    pub(super) job: Option<String>,
    pub(super) phase: Option<Phase>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) shown: Vec<Row>,
    /// The selected row; without one, the list shows the latest rows.
    pub(super) cursor: Option<usize>,
    /// The first row on the screen.
    pub(super) offset: usize,
    /// Ids of marked rows, which the next action applies to.
    pub(super) marks: BTreeSet<String>,
    /// Ids of shown rows that the server no longer returns.
    pub(super) gone: HashSet<String>,
    /// Rows that are not shown yet.
    pub(super) newer: usize,
    /// The server's last answer.
    latest: Vec<Row>,
    /// Whether the server has more rows.
    pub(super) more: bool,
    /// How many rows are fetched.
    pub(super) limit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

impl Rows {
    pub(super) fn new() -> Self {
        Self { limit: STEP, ..Self::default() }
    }

    pub(super) fn current(&self) -> Option<&Row> {
        self.shown.get(self.cursor?)
    }

    /// The marked rows, or the selected one if none is marked.
    pub(super) fn selected(&self) -> Vec<String> {
        if self.marks.is_empty() {
            return self.current().map(|row| row.id.clone()).into_iter().collect();
        }
        let ids = self.shown.iter().map(|row| row.id.clone());
        ids.filter(|id| self.marks.contains(id)).collect()
    }

    /// Shows the server's rows, as far as the selection allows.
    pub(super) fn update(&mut self, rows: Vec<Row>, more: bool) {
        self.more = more;
        self.latest = rows;
        if self.cursor.is_none() && self.marks.is_empty() {
            self.show_latest();
            return;
        }
        let mut fresh: HashMap<String, Row> =
            self.latest.iter().map(|row| (row.id.clone(), row.clone())).collect();
        self.gone.clear();
        for row in &mut self.shown {
            match fresh.remove(&row.id) {
                Some(latest) => *row = latest,
                None => drop(self.gone.insert(row.id.clone())),
            }
        }
        // Rows after the last shown one are older; appending them moves nothing.
        let last = self.shown.last().map(|row| &row.id);
        let end = self.latest.iter().rposition(|row| Some(&row.id) == last);
        let older = end.map_or(&[][..], |at| &self.latest[at + 1..]);
        let older: Vec<Row> = older.iter().filter(|row| fresh.contains_key(&row.id)).cloned().collect();
        self.newer = fresh.len() - older.len();
        self.shown.extend(older);
    }

    /// Shows all of the server's rows; the same row stays selected, if it is still there.
    pub(super) fn show_latest(&mut self) {
        let selected = self.current().map(|row| row.id.clone());
        self.shown.clone_from(&self.latest);
        self.newer = 0;
        self.gone.clear();
        let ids: HashSet<&String> = self.shown.iter().map(|row| &row.id).collect();
        self.marks.retain(|mark| ids.contains(mark));
        self.cursor = selected.and_then(|id| self.shown.iter().position(|row| row.id == id));
        if self.cursor.is_none() {
            self.offset = 0;
        }
    }

    /// Marks or unmarks the selected row and selects the next one.
    pub(super) fn mark(&mut self, height: usize) {
        let Some(id) = self.current().map(|row| row.id.clone()) else { return };
        if !self.marks.remove(&id) {
            self.marks.insert(id);
        }
        self.step(Move::Down, height);
    }

    /// Marks all rows; unmarks them if all are marked.
    pub(super) fn mark_all(&mut self) {
        let all: BTreeSet<String> = self.shown.iter().map(|row| row.id.clone()).collect();
        self.marks = if self.marks == all { BTreeSet::new() } else { all };
    }

    /// Moves the selection; above the first row it ends. Returns whether more rows are to be fetched.
    pub(super) fn step(&mut self, to: Move, height: usize) -> bool {
        let last = self.shown.len().saturating_sub(1);
        let page = height.max(2) - 1;
        self.cursor = match (to, self.cursor) {
            _ if self.shown.is_empty() => None,
            (Move::First, _) | (Move::Up | Move::PageUp, None | Some(0)) => None,
            (Move::Up, Some(at)) => Some(at - 1),
            (Move::PageUp, Some(at)) => Some(at.saturating_sub(page)),
            (Move::Down | Move::PageDown, None) => Some(0),
            (Move::Down, Some(at)) => Some(last.min(at + 1)),
            (Move::PageDown, Some(at)) => Some(last.min(at + page)),
            (Move::Last, _) => Some(last),
        };
        match self.cursor {
            Some(at) => self.offset = self.offset.clamp((at + 1).saturating_sub(height.max(1)), at),
            None => self.offset = 0,
        }
        if self.cursor.is_none() && self.marks.is_empty() {
            self.show_latest();
        }
        let wants = self.cursor == Some(last) && self.more && self.limit < ROWS_MAX;
        if wants {
            self.limit = (self.limit + STEP).min(ROWS_MAX);
        }
        wants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: char) -> Row {
        Row { id: id.to_string(), cells: Vec::new(), job: None, phase: None }
    }

    fn rows(ids: &str) -> Vec<Row> {
        ids.chars().map(row).collect()
    }

    fn listed(ids: &str, more: bool) -> Rows {
        let mut it = Rows::new();
        it.update(rows(ids), more);
        it
    }

    fn described(rows: &Rows) -> String {
        let cursor = rows.current().map_or("-", |row| &row.id);
        let shown: String = rows.shown.iter().map(|row| row.id.as_str()).collect();
        format!("{shown} at {cursor}, {} newer", rows.newer)
    }

    #[test]
    fn rows_follow_the_server_until_one_is_selected() {
        let mut it = listed("cba", false);
        it.update(rows("dcba"), false);
        assert_eq!(described(&it), "dcba at -, 0 newer");
        it.step(Move::Down, 10);
        it.step(Move::Down, 10);
        it.update(rows("fedcb"), false);
        assert_eq!(described(&it), "dcba at c, 2 newer");
        assert!(it.gone.contains("a") && !it.gone.contains("b"));
        it.show_latest();
        assert_eq!(described(&it), "fedcb at c, 0 newer");
        it.step(Move::First, 10);
        it.update(rows("gfedcb"), false);
        assert_eq!(described(&it), "gfedcb at -, 0 newer");
    }

    #[test]
    fn older_rows_are_appended() {
        let mut it = listed("dc", true);
        assert!(it.step(Move::Last, 10), "more are fetched");
        it.update(rows("edcba"), false);
        assert_eq!(described(&it), "dcba at c, 1 newer");
        assert!(!it.step(Move::Last, 10), "there are no more");
    }

    #[test]
    fn actions_apply_to_marked_rows() {
        let mut it = listed("dcba", false);
        assert_eq!(it.selected(), Vec::<String>::new());
        it.step(Move::Down, 10);
        assert_eq!(it.selected(), ["d"]);
        it.mark(10);
        it.mark(10);
        assert_eq!(
            (it.selected(), described(&it).as_str()),
            (vec!["d".into(), "c".into()], "dcba at b, 0 newer")
        );
        it.mark_all();
        assert_eq!(it.selected().len(), 4);
        it.mark_all();
        assert_eq!(it.selected(), ["b"]);
    }

    #[test]
    fn the_selected_row_stays_on_the_screen() {
        let mut it = listed("jihgfedcba", false);
        it.step(Move::Last, 4);
        assert_eq!(it.offset, 6);
        it.step(Move::Up, 4);
        assert_eq!(it.offset, 6, "rows move only if they must");
        it.step(Move::PageUp, 4);
        assert_eq!((it.cursor, it.offset), (Some(5), 5));
        for to in [Move::PageUp, Move::PageUp, Move::PageUp, Move::Up, Move::PageDown] {
            it.step(to, 0);
        }
    }
}
