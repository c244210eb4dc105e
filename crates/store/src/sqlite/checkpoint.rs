//! Copies SQLite's write-ahead log to the file on a separate thread, so that no commit waits for it.
//!
//! The log starts again at its beginning only when all of it is copied and no reader uses it. Under load neither ever happens,
//! so when the log is long, the writer copies the little that is left while reads wait.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use crate::sqlite::{Writer, WriterTask};
use crate::{Result, StoreError};

/// How often the length of the log is read.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The pause after a failure, which may be a full disk.
const LOOK_AFTER_FAILURE: Duration = Duration::from_secs(5);
/// Pages that are copied at once, at least.
const PAGES_MIN: i64 = 4_000;
/// Pages after which the log is to start again; and again after this many more, if a read took too long.
const PAGES_MAX: i64 = 16_000;
/// How long commits wait for reads, so that the log can start again.
const WAIT_FOR_READS: Duration = Duration::from_millis(20);
/// How long a statement waits for a lock of another process, as in `pragmas.sql`.
const WAIT_FOR_LOCK: Duration = Duration::from_secs(5);

/// The thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Checkpointer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(connection: Connection, writer: Sender<WriterTask>) -> Result<Self> {
        let (stop, stopped) = channel();
        let log = LogCopy { connection, writer, stopped, restart_at: PAGES_MAX };
        let thread = std::thread::Builder::new().name("tenure-checkpoint".to_owned());
        let thread = thread.spawn(move || log.run());
        let thread = thread.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic was already reported.
            drop(thread.join());
        }
    }
}

/// The state of the thread.
struct LogCopy {
    connection: Connection,
    writer: Sender<WriterTask>,
    /// Disconnected when the thread must end.
    stopped: Receiver<()>,
    /// The length at which the log is to start again.
    restart_at: i64,
}

impl LogCopy {
    fn run(mut self) {
        let mut pause = LOOK_EVERY;
        while self.stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            pause = match self.look() {
                Ok(()) => LOOK_EVERY,
                Err(error) => {
                    tracing::warn!(%error, "write-ahead log not copied to the file");
                    LOOK_AFTER_FAILURE
                }
            };
        }
    }

    fn look(&mut self) -> Result<()> {
        let log = checkpoint(&self.connection, "noop")?;
        if log.pages - log.copied < PAGES_MIN {
            return Ok(());
        }
        let log = checkpoint(&self.connection, "passive")?;
        if log.pages < self.restart_at {
            return Ok(());
        }
        self.restart_at = if self.restart()? { PAGES_MAX } else { log.pages + PAGES_MAX };
        Ok(())
    }

    /// Asks the writer, and returns whether it could. It does not answer if the store is closing.
    fn restart(&self) -> Result<bool> {
        let (reply, answer) = channel();
        let task: WriterTask = Box::new(move |writer| drop(reply.send(writer.restart_log())));
        if self.writer.send(task).is_err() {
            return Ok(false);
        }
        loop {
            match answer.recv_timeout(LOOK_EVERY) {
                Ok(restarted) => return restarted,
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
                // The writer may be the thread that closes the store and waits for this one.
                Err(RecvTimeoutError::Timeout) => match self.stopped.try_recv() {
                    Err(TryRecvError::Disconnected) => return Ok(false),
                    Ok(()) | Err(TryRecvError::Empty) => {}
                },
            }
        }
    }
}

/// The length of the log, and how much of it is copied.
struct LogLength {
    pages: i64,
    copied: i64,
}

fn checkpoint(connection: &Connection, mode: &str) -> Result<LogLength> {
    let sql = format!("pragma wal_checkpoint({mode})");
    let length = |row: &rusqlite::Row<'_>| Ok(LogLength { pages: row.get(1)?, copied: row.get(2)? });
    Ok(connection.query_row(&sql, [], length)?)
}

impl Writer {
    /// Copies the rest of the log, so that the next commit starts it again. Returns whether no read took too long. A reader in
    /// another process postpones it, too.
    fn restart_log(&mut self) -> Result<bool> {
        let Some(_closed) = self.reads.close() else { return Ok(false) };
        self.connection.busy_timeout(Duration::ZERO)?;
        let restarted = checkpoint(&self.connection, "restart");
        self.connection.busy_timeout(WAIT_FOR_LOCK)?;
        restarted.map(|log| log.pages == log.copied)
    }
}

/// Lets reads run at the same time, or none.
#[derive(Debug, Default)]
pub(super) struct ReadGate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    reads: usize,
    is_closed: bool,
}

/// A read that runs. It ends when this is dropped.
pub(super) struct RunningRead<'a>(&'a ReadGate);

/// While this exists, no read runs.
pub(super) struct ClosedGate<'a>(&'a ReadGate);

impl ReadGate {
    /// Begins a read, when the gate is open.
    pub(super) fn enter(&self) -> RunningRead<'_> {
        let state = self.changed.wait_while(self.state(), |state| state.is_closed);
        state.expect("no thread panics while holding the lock").reads += 1;
        RunningRead(self)
    }

    /// Lets no new read begin, and waits for those that run, but not for long ones.
    fn close(&self) -> Option<ClosedGate<'_>> {
        let mut state = self.state();
        state.is_closed = true;
        let waited = self.changed.wait_timeout_while(state, WAIT_FOR_READS, |state| state.reads > 0);
        let (state, _) = waited.expect("no thread panics while holding the lock");
        let closed = ClosedGate(self);
        let is_free = state.reads == 0;
        drop(state);
        is_free.then_some(closed)
    }

    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().expect("no thread panics while holding the lock")
    }
}

impl Drop for RunningRead<'_> {
    fn drop(&mut self) {
        self.0.state().reads -= 1;
        self.0.changed.notify_all();
    }
}

impl Drop for ClosedGate<'_> {
    fn drop(&mut self) {
        self.0.state().is_closed = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_read_keeps_the_gate_open() {
        let gate = ReadGate::default();
        let read = gate.enter();
        assert!(gate.close().is_none());
        drop(gate.enter());
        drop(read);
        assert!(gate.close().is_some());
        drop(gate.enter());
    }

    #[test]
    fn a_read_waits_while_the_gate_is_closed() {
        let gate = ReadGate::default();
        let closed = gate.close().expect("nothing is read");
        std::thread::scope(|scope| {
            let read = scope.spawn(|| drop(gate.enter()));
            assert!(!read.is_finished());
            drop(closed);
        });
    }
}
