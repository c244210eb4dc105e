//! The embedded store's clock: the machine's wall clock when opened, then its monotonic clock, never backwards.
//!
//! Time in which no process had the store open is an outage. So is a jump of the wall clock ahead of the monotonic
//! one: a suspended machine, or a corrected clock. A wall clock that falls behind is ignored.

use std::time::Instant;

use rusqlite::{Connection, OptionalExtension as _};

use crate::prelude::*;
use crate::{Result, wall};

/// Smaller jumps are drift and ignored.
const JUMP_MS_MIN: i64 = 1000;

#[derive(Debug)]
pub(super) struct FileClock {
    /// The store's time at `since`.
    base: Timestamp,
    since: Instant,
    stopped: Millis,
    /// Time of the last heartbeat.
    pub(super) told: Timestamp,
}

impl FileClock {
    /// Starts after the last heartbeat in the file; the time since then is an outage.
    pub(super) fn open(connection: &Connection) -> Result<Self> {
        let mut clock = Self::look(connection)?;
        let at = clock.base.max(wall());
        clock.stopped.0 += (at - clock.base).0;
        (clock.base, clock.told) = (at, at);
        clock.tell(connection, at)?;
        Ok(clock)
    }

    /// The clock of the file, for a read-only store.
    pub(super) fn look(connection: &Connection) -> Result<Self> {
        let row = connection
            .query_row(include_str!("sql/clock.sql"), [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })
            .optional()?;
        let (alive_at, stopped) =
            row.map_or((wall(), 0), |(alive_at, stopped)| (Timestamp(alive_at), stopped));
        Ok(Self { base: alive_at, since: Instant::now(), stopped: Millis(stopped as u64), told: alive_at })
    }

    pub(super) fn now(&mut self) -> Now {
        let at = self.base + Millis(self.since.elapsed().as_millis() as u64);
        let ahead = wall().0 - at.0;
        if ahead > JUMP_MS_MIN {
            self.base = Timestamp(self.base.0 + ahead);
            self.stopped.0 += ahead as u64;
            return Now { at: Timestamp(at.0 + ahead), stopped: self.stopped };
        }
        Now { at, stopped: self.stopped }
    }

    /// Writes a heartbeat in the open transaction.
    pub(super) fn tell(&self, connection: &Connection, at: Timestamp) -> Result<()> {
        let mut statement = connection.prepare_cached(include_str!("sql/heartbeat.sql"))?;
        statement.execute((at.0, self.stopped.0 as i64))?;
        Ok(())
    }
}
