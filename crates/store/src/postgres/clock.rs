//! The database's clock, shared by all nodes, and outages, in which no node ran.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_postgres::Row;

use super::connection::Connection;
use super::error::StatementFault;
use super::rows::{get, one};
use super::statements::{COUNT_OUTAGE, HEARTBEAT, NOW};
use crate::prelude::*;
use crate::{Result, SILENCE_MS_MAX};

/// A batch includes a heartbeat if the last one is this old.
const HEARTBEAT_MS: i64 = 500;
/// A clock that is ahead by more than this is logged.
const AHEAD_MS_LOGGED: i64 = 1000;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    pub(super) at: i64,
    pub(super) alive_at: i64,
    pub(super) stopped: i64,
    /// The database's clock. Behind `at` after it was set back.
    pub(super) wall: i64,
}

impl Reading {
    /// The first four columns of `now.sql` and similar statements.
    pub(super) fn of(row: &Row) -> Result<Self> {
        Ok(Self { at: get(row, 0)?, alive_at: get(row, 1)?, stopped: get(row, 2)?, wall: get(row, 3)? })
    }

    pub(super) fn is_outage(self) -> bool {
        self.at - self.alive_at > SILENCE_MS_MAX
    }

    pub(super) fn needs_heartbeat(self) -> bool {
        self.at - self.alive_at > HEARTBEAT_MS
    }

    pub(super) fn now(self) -> Now {
        Now { at: Timestamp(self.at), stopped: Millis(self.stopped as u64) }
    }
}

/// The latest reading of this node.
#[derive(Debug, Default)]
pub(super) struct DatabaseClock(Mutex<i64>);

impl DatabaseClock {
    /// The reading, never before an earlier reading of this node.
    pub(super) fn seen(&self, reading: Reading) -> Reading {
        let mut last = self.last();
        *last = reading.at.max(*last);
        Reading { at: *last, ..reading }
    }

    fn last(&self) -> MutexGuard<'_, i64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the clock, after recording an outage that it shows.
pub(super) async fn read(connection: &Connection, clock: &DatabaseClock) -> Result<Reading, StatementFault> {
    loop {
        let reading = Reading::of(one(&connection.query_once(&NOW, &[]).await?, &NOW)?)?;
        if !reading.is_outage() {
            return Ok(clock.seen(reading));
        }
        count_outage(connection, reading).await?;
    }
}

/// Records an outage, unless another node has done so.
pub(super) async fn count_outage(connection: &Connection, reading: Reading) -> Result<(), StatementFault> {
    let ms = reading.at - reading.alive_at;
    tracing::warn!(ms, "outage recorded; all deadlines postponed");
    connection.query_once(&COUNT_OUTAGE, &[&reading.alive_at, &reading.at, &reading.wall]).await?;
    Ok(())
}

pub(super) async fn write_heartbeat(
    connection: &Connection,
    clock: &DatabaseClock,
) -> Result<(), StatementFault> {
    let reading = read(connection, clock).await?;
    let ahead = reading.at - reading.wall;
    if ahead > AHEAD_MS_LOGGED && reading.at == reading.alive_at {
        tracing::warn!(ms = ahead, "database clock set back; store clock slowed");
    }
    connection.query_once(&HEARTBEAT, &[&reading.at, &reading.wall]).await?;
    Ok(())
}
