//! The database's clock, which is every node's, and the time in which no node ran.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tenure_core::time::{Millis, Now, Timestamp};
use tokio_postgres::Row;

use super::connection::Connection;
use super::error::Fault;
use super::rows::get;
use super::statements::{COUNT_OUTAGE, HEARTBEAT, NOW};
use crate::StoreError;

/// A silence longer than this was an outage: nodes beat every half second.
const SILENCE_MS_MAX: i64 = 1500;
/// A batch says that its node lives if nobody has for this long.
const BEAT_MS: i64 = 500;
/// A reading is this old at most when it arrives.
const GUESS_AHEAD_MS: i64 = 100;

/// One reading of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) at: i64,
    pub(super) alive_at: i64,
    pub(super) stopped: i64,
}

impl Reading {
    /// The first three columns of `now` and its like.
    pub(super) fn of(row: &Row) -> Result<Self, StoreError> {
        Ok(Self { at: get(row, 0)?, alive_at: get(row, 1)?, stopped: get(row, 2)? })
    }

    pub(super) fn is_outage(self) -> bool {
        self.at - self.alive_at > SILENCE_MS_MAX
    }

    pub(super) fn needs_beat(self) -> bool {
        self.at - self.alive_at > BEAT_MS
    }

    pub(super) fn now(self) -> Now {
        Now { at: Timestamp(self.at), stopped: Millis(self.stopped as u64) }
    }
}

/// What this node has seen of the clock.
#[derive(Debug, Default)]
pub(super) struct Clock(Mutex<Option<(i64, Instant)>>);

impl Clock {
    /// The reading, but never before one that this node has seen.
    pub(super) fn seen(&self, reading: Reading) -> Reading {
        let mut last = self.last();
        let at = last.map_or(reading.at, |(at, _)| at.max(reading.at));
        *last = Some((at, Instant::now()));
        Reading { at, ..reading }
    }

    /// What the clock shows about now, to look for jobs by: rather ahead than behind, since the judge goes by the
    /// reading. Nothing before the first one.
    pub(super) fn guess(&self) -> Option<i64> {
        let passed = |since: Instant| since.elapsed().as_millis() as i64;
        self.last().map(|(at, since)| at + passed(since) + GUESS_AHEAD_MS)
    }

    fn last(&self) -> MutexGuard<'_, Option<(i64, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the clock; an outage that it shows is counted first.
pub(super) async fn read(connection: &Connection, clock: &Clock) -> Result<Reading, Fault> {
    loop {
        let reading = Reading::of(one(&connection.query_once(&NOW, &[]).await?)?)?;
        if !reading.is_outage() {
            return Ok(clock.seen(reading));
        }
        count_outage(connection, reading).await?;
    }
}

/// Counts an outage, unless another node has done so meanwhile.
pub(super) async fn count_outage(connection: &Connection, reading: Reading) -> Result<(), Fault> {
    let ms = reading.at - reading.alive_at;
    tracing::warn!(ms, "no node ran for a while: all deadlines move by as much");
    connection.query_once(&COUNT_OUTAGE, &[&reading.alive_at, &reading.at]).await?;
    Ok(())
}

/// Says that a node lives.
pub(super) async fn beat(connection: &Connection, clock: &Clock) -> Result<(), Fault> {
    let reading = read(connection, clock).await?;
    connection.query_once(&HEARTBEAT, &[&reading.at]).await?;
    Ok(())
}

/// The row of a statement that has one.
pub(super) fn one(rows: &[Row]) -> Result<&Row, StoreError> {
    rows.first().ok_or_else(|| crate::codec::corrupt("clock", 1, "the row is not there"))
}
