//! The newest rows of what is read in ascending order.

use std::collections::VecDeque;

use tenure_core::limits::PAGE_BYTES_MAX;

use crate::BoundedPage;

/// Keeps the last rows that it gets: as many as a page may have, limited in bytes, too.
#[derive(Debug)]
pub struct NewestRows<T> {
    /// Each with its bytes.
    rows: VecDeque<(T, usize)>,
    bytes: usize,
    bytes_max: usize,
    limit: usize,
    has_more: bool,
}

impl<T> NewestRows<T> {
    pub fn new(limit: usize) -> Self {
        Self { rows: VecDeque::new(), bytes: 0, bytes_max: PAGE_BYTES_MAX, limit, has_more: false }
    }

    /// Adds a row that is newer than all others. The last one is always kept.
    pub fn push(&mut self, row: T, bytes: usize) {
        self.rows.push_back((row, bytes));
        self.bytes += bytes;
        while self.rows.len() > self.limit.max(1) || (self.rows.len() > 1 && self.bytes > self.bytes_max) {
            let (_, bytes) = self.rows.pop_front().expect("there is more than one row");
            self.bytes -= bytes;
            self.has_more = true;
        }
    }

    /// Newest first.
    pub fn into_page(self) -> BoundedPage<T> {
        BoundedPage {
            rows: self.rows.into_iter().rev().map(|(row, _)| row).collect(),
            has_more: self.has_more,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(limit: usize, sizes: &[usize]) -> (Vec<usize>, bool) {
        let mut rows = NewestRows { bytes_max: 100, ..NewestRows::new(limit) };
        for (number, bytes) in sizes.iter().enumerate() {
            rows.push(number, *bytes);
        }
        let BoundedPage { rows, has_more } = rows.into_page();
        (rows, has_more)
    }

    #[test]
    fn the_newest_rows_that_fit_are_kept() {
        assert_eq!(newest(3, &[]), (vec![], false));
        assert_eq!(newest(3, &[1, 1, 1]), (vec![2, 1, 0], false));
        assert_eq!(newest(3, &[1, 1, 1, 1]), (vec![3, 2, 1], true));
        assert_eq!(newest(9, &[1, 60, 40, 60, 40]), (vec![4, 3], true));
        assert_eq!(newest(9, &[1, 60, 200]), (vec![2], true), "one row is always kept");
        assert_eq!(newest(9, &[200, 1, 1]), (vec![2, 1], true));
    }
}
