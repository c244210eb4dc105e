//! The end of the journal, as a node reads it to follow the others: events, and changes without an event.

use std::sync::Arc;

use tokio_postgres::Row;
use uuid::Uuid;

use super::job_change::{JobChange, job_change};
use super::rows::for_each;
use crate::Result;
use crate::codec::{self, Interner};
use crate::prelude::*;
use crate::row::RowReader;

/// Events, and changes, that are read at once.
pub(super) const TAIL_ROWS_MAX: i64 = 10_000;
/// Bytes of them and of the payloads of new jobs that are read at once, about: a node that was stopped for a while may have
/// missed many large jobs.
pub(super) const TAIL_BYTES_MAX: i64 = 32 << 20;

type DecodeEntry = fn(&mut RowReader<'_>) -> Result<TailEntry>;

/// The records after a position.
#[derive(Debug, Default)]
pub(super) struct JournalTail {
    /// In the order of the journal.
    pub(super) records: Vec<TailRecord>,
    /// Whether there are more.
    pub(super) is_cut: bool,
}

#[derive(Debug)]
pub(super) struct TailRecord {
    pub(super) position: i64,
    pub(super) entry: TailEntry,
}

#[derive(Debug)]
pub(super) enum TailEntry {
    /// With the request, if it creates the job.
    Event(Box<Event>, Option<Arc<Spec>>),
    Change(Box<JobChange>),
    /// A row that Tenure cannot have written. It must not keep a node from following the others.
    Unreadable(JobId),
}

impl TailEntry {
    pub(super) fn job(&self) -> JobId {
        match self {
            Self::Event(event, _) => event.job_id,
            Self::Change(change) => change.job_id,
            Self::Unreadable(job) => *job,
        }
    }

    /// The columns of `tail` after position and bytes.
    fn event(row: &mut RowReader<'_>) -> Result<Self> {
        let event = Box::new(codec::event(row)?);
        let creates = row.peek::<Option<Uuid>>()?.is_some();
        let spec = if creates { Some(Arc::new(codec::spec(row)?)) } else { None };
        Ok(Self::Event(event, spec))
    }

    /// The columns of `tail_changes` after position and bytes.
    fn change(row: &mut RowReader<'_>) -> Result<Self> {
        Ok(Self::Change(Box::new(job_change(row)?)))
    }
}

impl JournalTail {
    /// Decodes the rows of `tail` and `tail_changes`.
    pub(super) fn of(events: &[Row], changes: &[Row]) -> Result<Self> {
        let mut records = Vec::with_capacity(events.len() + changes.len());
        let mut names = Interner::default();
        let decoders: [(_, DecodeEntry); 2] = [(events, TailEntry::event), (changes, TailEntry::change)];
        let mut cut: Option<i64> = None;
        for (rows, decode) in decoders {
            let (mut last, mut bytes) = (0, 0);
            for_each(rows, &mut names, |row| {
                let position = row.get()?;
                (last, bytes) = (position, bytes + row.get::<i64>()?);
                let job = JobId(row.peek()?);
                let entry = decode(row).unwrap_or_else(|error| {
                    tracing::error!(%job, %error, "record of the journal not readable");
                    TailEntry::Unreadable(job)
                });
                records.push(TailRecord { position, entry });
                Ok(())
            })?;
            if rows.len() as i64 >= TAIL_ROWS_MAX || bytes >= TAIL_BYTES_MAX {
                cut = Some(cut.map_or(last, |cut| cut.min(last)));
            }
        }
        records.retain(|record| cut.is_none_or(|cut| record.position <= cut));
        records.sort_by_key(|record| record.position);
        Ok(Self { records, is_cut: cut.is_some() })
    }

    /// The jobs that the records belong to.
    pub(super) fn jobs(&self) -> impl Iterator<Item = JobId> {
        self.records.iter().map(|record| record.entry.job())
    }
}
