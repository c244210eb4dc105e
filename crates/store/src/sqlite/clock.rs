//! The embedded store's clock: the machine's monotonic clock, kept near its wall clock, never backwards.
//!
//! Time in which no process had the store open is an outage. So is a time without heartbeats, in which the process was frozen
//! or the disk stalled, and a jump of the wall clock ahead of the monotonic one: a suspended machine, or a clock that was set
//! forward. After a clock was set back, the store's clock runs slower until both agree.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

use crate::prelude::*;
use crate::{Result, SILENCE_MS_MAX, wall};

/// Smaller jumps of the wall clock are drift and ignored.
const JUMP_MS_MIN: i64 = 1000;
/// A store's clock that is ahead of the wall clock by more than this runs slower...
const AHEAD_US_MIN: i64 = 50_000;
/// ... by one part in this many: leases last 14 % longer meanwhile.
const SLEW_PART: i64 = 8;

#[derive(Debug)]
pub(super) struct FileClock {
    time: StoreTime,
    origin: Instant,
    /// Time of the last heartbeat.
    pub(super) heartbeat_at: Timestamp,
}

/// The store's time, as a function of readings of the monotonic and the wall clock.
#[derive(Debug)]
struct StoreTime {
    at_us: i64,
    stopped: Millis,
    /// The monotonic time of the last reading.
    read_at: Duration,
    /// The monotonic time up to which the process is known to have worked. `None` if heartbeats are not expected.
    alive_at: Option<Duration>,
    /// Whether an outage was seen since the last heartbeat.
    is_outage: bool,
    is_slewing: bool,
}

impl FileClock {
    /// Starts after the last heartbeat in the file; the time since then is an outage.
    pub(super) fn open(connection: &Connection) -> Result<Self> {
        let mut clock = Self::look(connection)?;
        clock.time.alive_at = Some(Duration::ZERO);
        write_heartbeat(connection, Now { at: clock.heartbeat_at, stopped: clock.time.stopped })?;
        Ok(clock)
    }

    /// The clock of the file, for a read-only store.
    pub(super) fn look(connection: &Connection) -> Result<Self> {
        let now = wall();
        let (alive_at, stopped) = last_heartbeat(connection)?.unwrap_or((now, 0));
        let at = alive_at.max(now);
        let time = StoreTime::new(at, Millis((stopped + (at.0 - alive_at.0)) as u64));
        Ok(Self { time, origin: Instant::now(), heartbeat_at: at })
    }

    /// Time of the last heartbeat in the file, or of the machine's clock if there is none.
    pub(super) fn alive_at(connection: &Connection) -> Result<Timestamp> {
        Ok(last_heartbeat(connection)?.map_or_else(wall, |(alive_at, _)| alive_at))
    }

    pub(super) fn now(&mut self) -> Now {
        self.time.read(self.origin.elapsed(), wall())
    }

    /// A commit has returned: the process and the disk work.
    pub(super) fn heartbeat(&mut self) {
        self.time.heartbeat(self.origin.elapsed());
    }
}

/// Time of the last heartbeat, and the sum of all outages.
fn last_heartbeat(connection: &Connection) -> Result<Option<(Timestamp, i64)>> {
    let read = |row: &rusqlite::Row<'_>| Ok((Timestamp(row.get(0)?), row.get(1)?));
    Ok(connection.query_row(include_str!("sql/clock.sql"), [], read).optional()?)
}

/// Writes a heartbeat, in the open transaction if there is one.
pub(super) fn write_heartbeat(connection: &Connection, now: Now) -> Result<()> {
    let mut statement = connection.prepare_cached(include_str!("sql/heartbeat.sql"))?;
    statement.execute((now.at.0, now.stopped.0 as i64))?;
    Ok(())
}

impl StoreTime {
    fn new(at: Timestamp, stopped: Millis) -> Self {
        let (at_us, read_at) = (at.0 * 1000, Duration::ZERO);
        Self { at_us, stopped, read_at, alive_at: None, is_outage: false, is_slewing: false }
    }

    fn read(&mut self, monotonic: Duration, wall: Timestamp) -> Now {
        let elapsed_us = monotonic.saturating_sub(self.read_at).as_micros() as i64;
        self.read_at = self.read_at.max(monotonic);
        self.advance(elapsed_us, wall.0 * 1000);
        self.count_silence(monotonic);
        Now { at: Timestamp(self.at_us / 1000), stopped: self.stopped }
    }

    /// Follows the monotonic clock; slower while ahead of the wall clock, and in one step if far behind it.
    fn advance(&mut self, elapsed_us: i64, wall_us: i64) {
        let ahead_us = self.at_us + elapsed_us - wall_us;
        let slewed_us = if ahead_us > AHEAD_US_MIN { (elapsed_us / SLEW_PART).min(ahead_us) } else { 0 };
        self.at_us += elapsed_us - slewed_us;
        let was_slewing = std::mem::replace(&mut self.is_slewing, ahead_us > AHEAD_US_MIN);
        if self.is_slewing && !was_slewing && ahead_us > JUMP_MS_MIN * 1000 {
            tracing::warn!(ms = ahead_us / 1000, "machine clock set back; store clock slowed");
        }
        let jump_ms = (wall_us - self.at_us) / 1000;
        if jump_ms > JUMP_MS_MIN {
            tracing::warn!(ms = jump_ms, "machine's clock jumped ahead; all deadlines postponed");
            self.at_us += jump_ms * 1000;
            self.stopped.0 += jump_ms as u64;
        }
    }

    /// Counts the time since the last heartbeat as an outage if it is too long. Once that was seen, all time up to the next
    /// heartbeat belongs to the outage.
    fn count_silence(&mut self, monotonic: Duration) {
        let Some(alive_at) = self.alive_at else { return };
        let silent_ms = monotonic.saturating_sub(alive_at).as_millis() as u64;
        if !self.is_outage && silent_ms <= SILENCE_MS_MAX as u64 {
            return;
        }
        if !self.is_outage {
            tracing::warn!(ms = silent_ms, "outage recorded; all deadlines postponed");
        }
        self.is_outage = true;
        self.stopped.0 += silent_ms;
        self.alive_at = Some(alive_at + Duration::from_millis(silent_ms));
    }

    /// The process works at a monotonic time.
    fn heartbeat(&mut self, monotonic: Duration) {
        self.count_silence(monotonic);
        self.is_outage = false;
        self.alive_at = self.alive_at.map(|alive_at| alive_at.max(monotonic));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_000_000);

    /// A clock, the monotonic time, and the wall clock's deviation from it.
    struct Machine {
        time: StoreTime,
        monotonic_ms: u64,
        wall_ahead_ms: i64,
    }

    impl Machine {
        fn start() -> Self {
            let mut time = StoreTime::new(START, Millis(0));
            time.alive_at = Some(Duration::ZERO);
            Self { time, monotonic_ms: 0, wall_ahead_ms: 0 }
        }

        /// Time passes without a heartbeat; returns the time since the start and the outages.
        fn freeze(&mut self, ms: u64) -> (i64, u64) {
            self.monotonic_ms += ms;
            let wall = Timestamp(START.0 + self.monotonic_ms as i64 + self.wall_ahead_ms);
            let now = self.time.read(Duration::from_millis(self.monotonic_ms), wall);
            (now.at.0 - START.0, now.stopped.0)
        }

        /// Time passes with a heartbeat every half second.
        fn run(&mut self, ms: u64) -> (i64, u64) {
            for _ in 0..ms / 500 {
                self.freeze(500);
                self.time.heartbeat(Duration::from_millis(self.monotonic_ms));
            }
            self.freeze(ms % 500)
        }
    }

    #[test]
    fn a_frozen_process_is_an_outage() {
        let mut machine = Machine::start();
        assert_eq!(machine.run(10_000), (10_000, 0));
        assert_eq!(machine.freeze(60_000), (70_000, 60_000));
        assert_eq!(machine.run(10_000), (80_000, 60_500), "up to the next heartbeat");
    }

    #[test]
    fn a_short_silence_is_not() {
        let mut machine = Machine::start();
        assert_eq!(machine.freeze(1500), (1500, 0));
        assert_eq!(machine.run(1000), (2500, 2000), "without a heartbeat it becomes one");
    }

    #[test]
    fn a_stalled_disk_is_one_outage_however_often_the_clock_is_read() {
        let mut machine = Machine::start();
        machine.run(2000);
        for _ in 0..9_999 {
            machine.freeze(1);
        }
        machine.freeze(1);
        machine.time.heartbeat(Duration::from_millis(machine.monotonic_ms));
        assert_eq!(machine.run(400), (12_400, 10_000));
    }

    #[test]
    fn a_clock_that_was_set_forward_and_back_is_reached_again() {
        let mut machine = Machine::start();
        machine.run(1000);
        machine.wall_ahead_ms = 60_000;
        assert_eq!(machine.run(1000), (62_000, 60_000), "leases are not affected");
        machine.wall_ahead_ms = 0;
        let mut last = 62_000;
        for _ in 0..60 * 8 {
            let (at, stopped) = machine.run(1000);
            assert!((last + 870..=last + 1000).contains(&at), "{last} {at}");
            assert_eq!(stopped, 60_000);
            last = at;
        }
        let true_time = machine.monotonic_ms as i64;
        assert!((true_time..=true_time + 50).contains(&last), "{last} is ahead of {true_time}");
    }

    #[test]
    fn a_suspended_machine_is_an_outage() {
        let mut machine = Machine::start();
        machine.run(1000);
        machine.wall_ahead_ms = 3_600_000;
        assert_eq!(machine.run(1000), (3_602_000, 3_600_000));
    }

    #[test]
    fn a_read_only_store_expects_no_heartbeats() {
        let mut machine = Machine::start();
        machine.time.alive_at = None;
        assert_eq!(machine.freeze(60_000), (60_000, 0));
    }
}
