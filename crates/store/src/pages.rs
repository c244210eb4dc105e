//! Pages that are limited in bytes: read in portions, whose size follows from the rows that were read before.

use std::sync::Arc;

use tenure_core::event::Facts;
use tenure_core::limits::{EVENT_BYTES_MAX, LOG_LINE_BYTES_MAX, PAGE_BYTES_MAX};

use crate::prelude::*;
use crate::{JournalEntry, Result, Store};

/// Rows of the first portion.
const FIRST_ROWS: usize = 20;
/// Events of the first portion of a history: they have at most twice the bytes of a page.
const FIRST_EVENTS: usize = 2 * PAGE_BYTES_MAX / EVENT_BYTES_MAX;
/// Events that are read at once for an outline.
const OUTLINE_ROWS: usize = 50;
/// Lines of the first portion of a log: they fit into a page, however long they are.
const FIRST_LINES: usize = PAGE_BYTES_MAX / LOG_LINE_BYTES_MAX;

/// Bytes of a page that is kept until a reader, who may stall, has received it.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// A page with fewer rows than asked for, if those have many bytes.
#[derive(Clone, Debug)]
pub struct BoundedPage<T> {
    pub rows: Vec<T>,
    /// Whether there may be more rows.
    pub has_more: bool,
}

/// The size of a page while it is read.
#[derive(Debug)]
pub(crate) struct PageSize {
    limit: usize,
    bytes_max: usize,
    /// Rows of the first portion.
    first: usize,
    rows: usize,
    bytes: usize,
    /// There are no more rows.
    is_last: bool,
    /// The next row has too many bytes.
    is_full: bool,
}

impl PageSize {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes_max: PAGE_BYTES_MAX,
            first: FIRST_ROWS,
            rows: 0,
            bytes: 0,
            is_last: false,
            is_full: false,
        }
    }

    /// How many rows to read next, if any: as many as fit if they are like the others.
    fn portion(&self) -> Option<usize> {
        if self.is_last || self.is_full || self.rows == self.limit {
            return None;
        }
        let fitting = match self.rows {
            0 => self.first,
            rows => self.bytes_max.saturating_sub(self.bytes) / (self.bytes / rows).max(1) + 1,
        };
        Some(fitting.min(self.limit - self.rows))
    }

    /// Whether a row fits into the page. The first one always does.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        self.is_full = self.rows > 0 && self.bytes + bytes > self.bytes_max;
        if !self.is_full {
            self.rows += 1;
            self.bytes += bytes;
        }
        !self.is_full
    }

    fn has_more(&self) -> bool {
        self.is_full || !self.is_last
    }
}

/// Reads portions of a page until it is full. `after` is the place after a portion that began at a place, and `read` reads so many rows
/// from a place on.
async fn fill<T, P: Copy, F: Future<Output = Result<Vec<T>>>>(
    mut size: PageSize,
    mut place: P,
    bytes: impl Fn(&T) -> usize,
    after: impl Fn(P, &[T]) -> P,
    read: impl Fn(P, usize) -> F,
) -> Result<BoundedPage<T>> {
    let mut rows = Vec::new();
    while let Some(limit) = size.portion() {
        let found = read(place, limit).await?;
        size.is_last = found.len() < limit;
        place = after(place, &found);
        rows.extend(found.into_iter().take_while(|row| size.take(bytes(row))));
    }
    Ok(BoundedPage { rows, has_more: size.has_more() })
}

/// The place after a portion of jobs.
fn last_job(place: Option<JobId>, jobs: &[Arc<Job>]) -> Option<JobId> {
    jobs.last().map_or(place, |job| Some(job.id()))
}

/// The number of rows up to the end of a portion.
fn skipped<T>(place: u64, rows: &[T]) -> u64 {
    place + rows.len() as u64
}

impl Store {
    /// Like [`Store::list`], limited in bytes.
    pub async fn list_page(&self, filter: JobFilter, page: Page) -> Result<BoundedPage<Arc<Job>>> {
        let read = |before, limit| self.list(filter.clone(), Page { before, limit });
        fill(PageSize::new(page.limit), page.before, |job| job.bytes(), last_job, read).await
    }

    /// Like [`Store::dead_letters`], limited in bytes.
    pub async fn dead_letters_page(
        &self,
        filter: DeadLetterFilter,
        page: Page,
    ) -> Result<BoundedPage<DeadLetter>> {
        let after = |before, found: &[DeadLetter]| found.last().map_or(before, |letter| Some(letter.job_id));
        let read = |before, limit| self.dead_letters(filter.clone(), Page { before, limit });
        fill(PageSize::new(page.limit), page.before, DeadLetter::bytes, after, read).await
    }

    /// Like [`Store::logs`], limited in bytes.
    pub async fn logs_page(&self, job: JobId, after: u64, limit: usize) -> Result<BoundedPage<LogLine>> {
        let size = PageSize { first: FIRST_LINES, ..PageSize::new(limit) };
        let last = |after, found: &[LogLine]| found.last().map_or(after, |line| line.n);
        fill(size, after, LogLine::bytes, last, |after, limit| self.logs(job, after, limit)).await
    }

    /// Like [`Store::history`], limited in bytes.
    pub async fn history_page(&self, id: JobId, after: u64, limit: usize) -> Result<BoundedPage<Event>> {
        let size = PageSize { first: FIRST_EVENTS, ..PageSize::new(limit) };
        let number = |event: &Event| event.seq.map(u64::from);
        let last = |after, found: &[Event]| found.last().and_then(number).unwrap_or(after);
        fill(size, after, Event::bytes, last, |after, limit| self.history(id, after, limit)).await
    }

    /// Like [`Store::notes`], limited in bytes.
    pub async fn notes_page(&self, id: JobId, after: u64, limit: usize) -> Result<BoundedPage<Event>> {
        let size = PageSize { first: FIRST_EVENTS, ..PageSize::new(limit) };
        fill(size, after, Event::bytes, skipped, |after, limit| self.notes(id, after, limit)).await
    }

    /// Like [`Store::telemetry`], limited in bytes.
    pub async fn telemetry_page(
        &self,
        id: JobId,
        after: u64,
        limit: usize,
    ) -> Result<BoundedPage<Telemetry>> {
        let read = |after, limit| self.telemetry(id, after, limit);
        fill(PageSize::new(limit), after, Telemetry::bytes, skipped, read).await
    }

    /// All events of a job, notes after the numbered ones. Not limited: only for jobs that are known to have few.
    pub async fn whole_history(&self, id: JobId) -> Result<Vec<Event>> {
        let mut events = self.history(id, 0, usize::MAX >> 1).await?;
        events.extend(self.notes(id, 0, usize::MAX >> 1).await?);
        Ok(events)
    }

    /// The journal after a position and up to another, in order. Of the facts of each event only the phase is there, and few events
    /// are read at once, so that neither the answer nor its reading needs much memory, however large the events are.
    pub async fn journal_outline(&self, mut after: Position, upto: Position) -> Result<Vec<JournalEntry>> {
        let mut outline = Vec::new();
        while after < upto {
            let limit = usize::try_from(upto.0 - after.0).map_or(OUTLINE_ROWS, |rows| rows.min(OUTLINE_ROWS));
            let found = self.events(after, limit).await?;
            let Some(last) = found.last() else { break };
            after = last.position;
            outline.extend(found.into_iter().filter(|entry| entry.position <= upto).map(|mut entry| {
                entry.event.facts = Facts::entering(entry.event.facts.phase());
                entry
            }));
        }
        Ok(outline)
    }

    /// Like [`Store::events`], limited in bytes.
    pub async fn journal_page(&self, after: Position, limit: usize) -> Result<BoundedPage<JournalEntry>> {
        self.journal_portion(after, PageSize::new(limit)).await
    }

    /// Like [`Store::journal_page`], with at most 256 KiB, or one event: for streams, which keep a page for as long as their
    /// reader stalls.
    pub async fn short_journal_page(
        &self,
        after: Position,
        limit: usize,
    ) -> Result<BoundedPage<JournalEntry>> {
        let size = PageSize { bytes_max: KEPT_BYTES_MAX, first: FIRST_EVENTS, ..PageSize::new(limit) };
        self.journal_portion(after, size).await
    }

    async fn journal_portion(&self, after: Position, size: PageSize) -> Result<BoundedPage<JournalEntry>> {
        let last = |after, found: &[JournalEntry]| found.last().map_or(after, |entry| entry.position);
        let bytes = |entry: &JournalEntry| entry.event.bytes();
        fill(size, after, bytes, last, |after, limit| self.events(after, limit)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads rows of these sizes, and returns the sizes of the portions and of the page.
    fn read(sizes: &[usize], limit: usize) -> (Vec<usize>, usize, bool) {
        let (mut size, mut portions, mut read) = (PageSize::new(limit), Vec::new(), 0);
        while let Some(portion) = size.portion() {
            let found = &sizes[read..sizes.len().min(read + portion)];
            size.is_last = found.len() < portion;
            read += found.iter().take_while(|bytes| size.take(**bytes)).count();
            portions.push(portion);
        }
        (portions, size.rows, size.has_more())
    }

    #[test]
    fn small_rows_fill_a_page_in_two_portions() {
        assert_eq!(read(&[500; 900], 500), (vec![20, 480], 500, true));
        assert_eq!(read(&[500; 100], 500), (vec![20, 480], 100, false));
        assert_eq!(read(&[500; 20], 20), (vec![20], 20, true));
        assert_eq!(read(&[], 20), (vec![20], 0, false));
    }

    #[test]
    fn large_rows_make_a_page_shorter_but_never_empty() {
        assert_eq!(read(&[1 << 20; 900], 500), (vec![20], 8, true));
        assert_eq!(read(&[9 << 20; 900], 500), (vec![20], 1, true));
        let (portions, rows, has_more) = read(&[100 << 10; 900], 500);
        assert_eq!((portions, rows, has_more), (vec![20, 62], 81, true));
    }
}
