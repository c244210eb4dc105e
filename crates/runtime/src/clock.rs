//! This node's estimate of the store's time, from its last reading. Used for ids, guards and waiting; decisions use the
//! store's own time.

use std::sync::Mutex;

use tokio::time::Instant;

use crate::prelude::*;

#[derive(Debug)]
pub(crate) struct Estimate(Mutex<(Now, Instant)>);

impl Estimate {
    pub(crate) fn new(now: Now) -> Self {
        Self(Mutex::new((now, Instant::now())))
    }

    pub(crate) fn set(&self, now: Now) {
        *self.0.lock().expect("no thread panics while holding the lock") = (now, Instant::now());
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.reading().at
    }

    pub(crate) fn reading(&self) -> Now {
        let (now, read_at) = *self.0.lock().expect("no thread panics while holding the lock");
        now.with(now.at + Millis(read_at.elapsed().as_millis() as u64))
    }
}
