//! Rows with a cursor in them. While nobody has the cursor in them they follow what the server says; while somebody has,
//! they stay where they are: what changes is changed in its place, and what is new waits until it is called for.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

/// Rows that are asked for at first, and with each step beyond the last one.
const STEP: usize = 100;
/// A page of the API has no more.
const ROWS_MAX: usize = 500;

/// The rows of a list.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// As they are shown.
    pub(super) shown: Vec<Value>,
    /// Which member names a row.
    name: &'static str,
    /// The row that keys are about; none, and the rows follow the server.
    pub(super) cursor: Option<usize>,
    /// The first row on the screen.
    pub(super) offset: usize,
    /// Rows that the next action is about, by name.
    pub(super) marks: BTreeSet<String>,
    /// Rows that the server has no longer, by name.
    gone: HashSet<String>,
    /// How many are not shown yet.
    pub(super) newer: usize,
    /// What the server said last.
    latest: Vec<Value>,
    /// Whether the server has more.
    pub(super) more: bool,
    /// How many are asked for.
    pub(super) limit: usize,
}

/// Where a cursor goes.
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
    /// None yet.
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            shown: Vec::new(),
            name,
            cursor: None,
            offset: 0,
            marks: BTreeSet::new(),
            gone: HashSet::new(),
            newer: 0,
            latest: Vec::new(),
            more: false,
            limit: STEP,
        }
    }

    /// A row's name.
    pub(super) fn named(&self, row: &Value) -> String {
        row[self.name].as_str().unwrap_or_default().to_owned()
    }

    /// The row under the cursor.
    pub(super) fn current(&self) -> Option<&Value> {
        self.shown.get(self.cursor?)
    }

    /// What an action is about: the marked rows, else the one under the cursor.
    pub(super) fn chosen(&self) -> Vec<String> {
        if self.marks.is_empty() {
            return self.current().map(|row| self.named(row)).into_iter().collect();
        }
        let names = self.shown.iter().map(|row| self.named(row));
        names.filter(|name| self.marks.contains(name)).collect()
    }

    /// Whether the server has it no longer.
    pub(super) fn is_gone(&self, row: &Value) -> bool {
        self.gone.contains(&self.named(row))
    }

    /// What the server has now.
    pub(super) fn take(&mut self, rows: Vec<Value>, more: bool) {
        self.more = more;
        self.latest = rows;
        if self.cursor.is_none() && self.marks.is_empty() {
            self.bring();
            return;
        }
        let mut fresh: HashMap<String, Value> =
            self.latest.iter().map(|row| (self.named(row), row.clone())).collect();
        self.gone.clear();
        for index in 0..self.shown.len() {
            let name = self.named(&self.shown[index]);
            match fresh.remove(&name) {
                Some(row) => self.shown[index] = row,
                None => drop(self.gone.insert(name)),
            }
        }
        // What comes after the last row that is shown is older, and moves nothing.
        let last = self.shown.last().map(|row| self.named(row));
        let end = self.latest.iter().rposition(|row| Some(self.named(row)) == last);
        let older = end.map_or(&[][..], |at| &self.latest[at + 1..]);
        let older: Vec<Value> =
            older.iter().filter(|row| fresh.contains_key(&self.named(row))).cloned().collect();
        self.newer = fresh.len() - older.len();
        self.shown.extend(older);
    }

    /// Shows everything that the server has; the cursor stays with its row, as far as there is one.
    pub(super) fn bring(&mut self) {
        let at = self.current().map(|row| self.named(row));
        self.shown.clone_from(&self.latest);
        self.newer = 0;
        self.gone.clear();
        let names: HashSet<String> = self.shown.iter().map(|row| self.named(row)).collect();
        self.marks.retain(|mark| names.contains(mark));
        self.cursor = at.and_then(|at| self.shown.iter().position(|row| self.named(row) == at));
        if self.cursor.is_none() {
            self.offset = 0;
        }
    }

    /// Marks the row under the cursor, or no longer, and goes on to the next.
    pub(super) fn mark(&mut self, height: usize) {
        let Some(name) = self.current().map(|row| self.named(row)) else { return };
        if !self.marks.remove(&name) {
            self.marks.insert(name);
        }
        self.step(Move::Down, height);
    }

    /// Marks all of them, or none if all are.
    pub(super) fn mark_all(&mut self) {
        let all: BTreeSet<String> = self.shown.iter().map(|row| self.named(row)).collect();
        self.marks = if self.marks == all { BTreeSet::new() } else { all };
    }

    /// Moves the cursor; above the first row it leaves them. True if more rows should be asked for.
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
            self.bring();
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
    use serde_json::json;

    use super::*;

    fn rows(names: &str) -> Vec<Value> {
        names.chars().map(|name| json!({ "id": name.to_string() })).collect()
    }

    fn told(rows: &Rows) -> String {
        let cursor = rows.current().map_or("-".to_owned(), |row| rows.named(row));
        let shown: String = rows.shown.iter().map(|row| rows.named(row)).collect();
        format!("{shown} at {cursor}, {} newer", rows.newer)
    }

    #[test]
    fn rows_follow_until_the_cursor_is_in_them() {
        let mut it = Rows::new("id");
        it.take(rows("cba"), false);
        it.take(rows("dcba"), false);
        assert_eq!(told(&it), "dcba at -, 0 newer");
        it.step(Move::Down, 10);
        it.step(Move::Down, 10);
        it.take(rows("fedcb"), false);
        assert_eq!(told(&it), "dcba at c, 2 newer");
        assert!(it.is_gone(&json!({ "id": "a" })) && !it.is_gone(&json!({ "id": "b" })));
        it.bring();
        assert_eq!(told(&it), "fedcb at c, 0 newer");
        it.step(Move::First, 10);
        it.take(rows("gfedcb"), false);
        assert_eq!(told(&it), "gfedcb at -, 0 newer");
    }

    #[test]
    fn older_rows_come_after_the_last_and_move_nothing() {
        let mut it = Rows::new("id");
        it.take(rows("dc"), true);
        assert!(it.step(Move::Last, 10), "more are asked for");
        it.take(rows("edcba"), false);
        assert_eq!(told(&it), "dcba at c, 1 newer");
        assert!(!it.step(Move::Last, 10), "there are no more");
    }

    #[test]
    fn marks_are_what_an_action_is_about() {
        let mut it = Rows::new("id");
        it.take(rows("dcba"), false);
        assert_eq!(it.chosen(), Vec::<String>::new());
        it.step(Move::Down, 10);
        assert_eq!(it.chosen(), ["d"]);
        it.mark(10);
        it.mark(10);
        assert_eq!((it.chosen(), told(&it).as_str()), (vec!["d".into(), "c".into()], "dcba at b, 0 newer"));
        it.mark_all();
        assert_eq!(it.chosen().len(), 4);
        it.mark_all();
        assert_eq!(it.chosen(), ["b"]);
    }

    #[test]
    fn what_is_shown_stays_around_the_cursor() {
        let mut it = Rows::new("id");
        it.take(rows("jihgfedcba"), false);
        it.step(Move::Last, 4);
        assert_eq!(it.offset, 6);
        it.step(Move::Up, 4);
        assert_eq!(it.offset, 6, "nothing moves that need not");
        it.step(Move::PageUp, 4);
        assert_eq!((it.cursor, it.offset), (Some(5), 5));
        for to in [Move::PageUp, Move::PageUp, Move::PageUp, Move::Up, Move::PageDown] {
            it.step(to, 0);
        }
    }
}
