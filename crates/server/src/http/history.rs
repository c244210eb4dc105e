//! A job's events in order, in pages that are limited in bytes.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use tenure_api::EventOf;
use tenure_core::event::{Event, Telemetry};
use tenure_core::limits::PAGE_BYTES_MAX;
use tenure_store::BoundedPage;

use crate::http::prelude::*;

/// Events in one page; pages of usual events are limited by their bytes.
const EVENTS_MAX: usize = 100_000;

#[derive(Serialize)]
#[serde(untagged)]
enum HistoryRow<'a> {
    Transition(Box<EventOf<Borrowed<'a>>>),
    Telemetry(Value),
}

/// What earlier pages had: the events up to a number, and how many notes and lines of telemetry. Each of the three only
/// grows at its end, so that a page misses nothing that was added since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HistoryCursor {
    seq: u64,
    notes: u64,
    telemetry: u64,
}

impl HistoryCursor {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        let cursor = Self { seq: parts.next()??, notes: parts.next()??, telemetry: parts.next()?? };
        parts.next().is_none().then_some(cursor)
    }
}

impl fmt::Display for HistoryCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.seq, self.notes, self.telemetry)
    }
}

pub(crate) async fn list(call: CallContext, Id(id): Id, mut params: QueryParams) -> Reply {
    let with_telemetry = params.flag("telemetry")?;
    let cursor = params.read("cursor", "a cursor of an earlier answer", HistoryCursor::parse)?;
    params.done()?;
    let job = call.job(id).await?;
    let (correlation, trace) = (job.spec.correlation_id(), job.spec.trace_id());
    let cursor = cursor.unwrap_or_default();
    let numbered = call.store().history_page(id, cursor.seq, EVENTS_MAX).await?;
    let notes = if numbered.has_more && !with_telemetry {
        BoundedPage { rows: Vec::new(), has_more: true }
    } else {
        call.store().notes_page(id, cursor.notes, EVENTS_MAX).await?
    };
    let telemetry = if with_telemetry {
        call.store().telemetry_page(id, cursor.telemetry, EVENTS_MAX).await?
    } else {
        BoundedPage { rows: Vec::new(), has_more: false }
    };
    let mut unread = UnreadHistory::after(cursor, &numbered, &notes, &telemetry);
    let (mut rows, mut bytes) = (Vec::new(), 0);
    let next = loop {
        let cursor = unread.cursor;
        let Some(line) = unread.next(with_telemetry) else {
            let has_more = numbered.has_more || notes.has_more || telemetry.has_more;
            break has_more.then(|| cursor.to_string());
        };
        bytes += line.bytes();
        if bytes > PAGE_BYTES_MAX && !rows.is_empty() {
            break Some(cursor.to_string());
        }
        rows.push(match line {
            HistoryLine::Event(event) => {
                HistoryRow::Transition(Box::new(wire::event(event, correlation.as_str(), trace.as_str())))
            }
            HistoryLine::Telemetry(line) => HistoryRow::Telemetry(wire::telemetry(line, &job)),
        });
    };
    page(CallId::ListJobEvents, rows, next)
}

#[derive(Clone, Copy)]
enum HistoryLine<'a> {
    Event(&'a Event),
    Telemetry(&'a Telemetry),
}

impl HistoryLine<'_> {
    fn ts(&self) -> Timestamp {
        match self {
            Self::Event(event) => event.ts,
            Self::Telemetry(line) => line.ts,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Event(event) => event.bytes(),
            Self::Telemetry(line) => line.bytes(),
        }
    }
}

/// What follows a cursor, as far as it was read.
struct UnreadHistory<'a> {
    cursor: HistoryCursor,
    numbered: &'a [Event],
    notes: &'a [Event],
    telemetry: &'a [Telemetry],
    /// Whether there are numbered events, notes, and lines of telemetry that were not read.
    is_cut: [bool; 3],
}

impl<'a> UnreadHistory<'a> {
    fn after(
        cursor: HistoryCursor,
        numbered: &'a BoundedPage<Event>,
        notes: &'a BoundedPage<Event>,
        telemetry: &'a BoundedPage<Telemetry>,
    ) -> Self {
        let is_cut = [numbered.has_more, notes.has_more, telemetry.has_more];
        Self { cursor, numbered: &numbered.rows, notes: &notes.rows, telemetry: &telemetry.rows, is_cut }
    }

    /// The next line: notes after the numbered events, or all by time. `None` if the next one was not read.
    fn next(&mut self, by_time: bool) -> Option<HistoryLine<'a>> {
        let is_missing = [self.numbered.is_empty(), self.notes.is_empty(), self.telemetry.is_empty()];
        let is_unread = |index: usize| self.is_cut[index] && is_missing[index];
        if is_unread(0) || (by_time && (is_unread(1) || is_unread(2))) {
            return None;
        }
        let heads = [
            self.numbered.first().map(HistoryLine::Event),
            self.notes.first().map(HistoryLine::Event),
            self.telemetry.first().map(HistoryLine::Telemetry),
        ];
        let mut heads = heads.into_iter().enumerate().filter_map(|(index, head)| Some((index, head?)));
        let (index, line) = if by_time { heads.min_by_key(|(_, line)| line.ts()) } else { heads.next() }?;
        match index {
            0 => {
                self.cursor.seq = self.numbered[0].seq.map_or(self.cursor.seq, u64::from);
                self.numbered = &self.numbered[1..];
            }
            1 => {
                self.notes = &self.notes[1..];
                self.cursor.notes += 1;
            }
            _ => {
                self.telemetry = &self.telemetry[1..];
                self.cursor.telemetry += 1;
            }
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_parsed_as_it_is_printed() {
        let cursor = HistoryCursor { seq: 7, notes: 0, telemetry: 12 };
        assert_eq!(HistoryCursor::parse(&cursor.to_string()), Some(cursor));
        for bad in ["", "1", "1.2", "1.2.3.4", "1.2.x", "-1.0.0"] {
            assert_eq!(HistoryCursor::parse(bad), None, "{bad}");
        }
    }
}
