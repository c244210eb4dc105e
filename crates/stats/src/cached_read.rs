//! A cached value that is refreshed at intervals proportional to the cost of reading it. One read runs at a time;
//! meanwhile callers get the last value.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::prelude::*;

/// A value younger than this is not read again.
const AGE_MIN: Duration = Duration::from_millis(500);
/// Reads take at most one hundredth of the time.
const AGE_COSTS: u32 = 100;
/// What a read counts at most until a second one has confirmed it: a busy machine may make any read slow once, and its value
/// must not be shown for a minute.
const UNCONFIRMED_COST_MAX: Duration = Duration::from_millis(50);
/// Callers wait for a read that took less than this the last time.
const QUICK: Duration = Duration::from_millis(10);
/// How long [`CachedRead::get_or`] waits for the first read.
const FIRST_READ_WAIT: Duration = Duration::from_millis(50);

pub(crate) type ReadResult<T> = Result<T, StoreError>;

/// A read that can run in the background.
pub(crate) trait Read<T>: Future<Output = ReadResult<T>> + Send + 'static {}

impl<T, F: Future<Output = ReadResult<T>> + Send + 'static> Read<T> for F {}

pub(crate) struct CachedRead<T> {
    last: Mutex<Option<CachedValue<T>>>,
    /// Held during a read.
    reading: Arc<tokio::sync::Mutex<()>>,
}

struct CachedValue<T> {
    value: Arc<T>,
    at: Instant,
    /// The duration of the last two reads, the shorter one.
    cost: Duration,
    /// The duration of the last read.
    took: Duration,
    expired: bool,
}

impl<T> Default for CachedRead<T> {
    fn default() -> Self {
        Self { last: Mutex::new(None), reading: Arc::default() }
    }
}

impl<T: Send + Sync + 'static> CachedRead<T> {
    /// The last value, if it is fresh. Otherwise reads it again: in the caller if that is quick, else in the background
    /// while the caller gets the older value.
    pub(crate) async fn get<R: Read<T>>(self: &Arc<Self>, read: impl FnOnce() -> R) -> ReadResult<Arc<T>> {
        let last = self.last().as_ref().map(|last| (Arc::clone(&last.value), last.is_fresh(), last.cost));
        match last {
            Some((value, true, _)) => Ok(value),
            Some((value, false, cost)) => match Arc::clone(&self.reading).try_lock_owned() {
                Err(_) => Ok(value),
                Ok(permit) if cost < QUICK => Box::pin(self.read(permit, read())).await,
                Ok(permit) => {
                    self.read_in_background(permit, read());
                    Ok(value)
                }
            },
            None => {
                let permit = Arc::clone(&self.reading).lock_owned().await;
                let read_meanwhile = self.last().as_ref().map(|last| Arc::clone(&last.value));
                match read_meanwhile {
                    Some(value) => Ok(value),
                    None => Box::pin(self.read(permit, read())).await,
                }
            }
        }
    }

    /// Like `get`, but returns `instead()` if the first read takes too long.
    pub(crate) async fn get_or<R: Read<T>>(
        self: &Arc<Self>,
        read: impl FnOnce() -> R,
        instead: impl FnOnce() -> T,
    ) -> ReadResult<Arc<T>> {
        if self.last().is_some() {
            return self.get(read).await;
        }
        if let Ok(permit) = Arc::clone(&self.reading).try_lock_owned() {
            self.read_in_background(permit, read());
        }
        drop(tokio::time::timeout(FIRST_READ_WAIT, self.idle()).await);
        let read = self.last().as_ref().map(|last| Arc::clone(&last.value));
        Ok(read.unwrap_or_else(|| Arc::new(instead())))
    }

    fn read_in_background(self: &Arc<Self>, permit: OwnedMutexGuard<()>, read: impl Read<T>) {
        let cached = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = cached.read(permit, read).await {
                tracing::warn!(%error, "statistics read failed");
            }
        });
    }

    /// Whether the last read was quick; false before the first.
    pub(crate) fn is_quick(&self) -> bool {
        self.last().as_ref().is_some_and(|last| last.cost < QUICK)
    }

    /// Makes the next `get` read again.
    pub(crate) fn expire(&self) {
        if let Some(last) = self.last().as_mut() {
            last.expired = true;
        }
    }

    /// Resolves when no read is in progress.
    pub(crate) async fn idle(&self) {
        drop(self.reading.lock().await);
    }

    async fn read(&self, permit: OwnedMutexGuard<()>, read: impl Read<T>) -> ReadResult<Arc<T>> {
        let began = Instant::now();
        let value = Arc::new(read.await?);
        self.note(Arc::clone(&value), began, began.elapsed());
        drop(permit);
        Ok(value)
    }

    fn note(&self, value: Arc<T>, at: Instant, took: Duration) {
        let mut last = self.last();
        let before = last.as_ref().map_or(UNCONFIRMED_COST_MAX, |last| last.took);
        *last = Some(CachedValue { value, at, cost: took.min(before), took, expired: false });
    }

    fn last(&self) -> MutexGuard<'_, Option<CachedValue<T>>> {
        self.last.lock().expect("no panic while a value is stored")
    }
}

impl<T> CachedValue<T> {
    fn is_fresh(&self) -> bool {
        !self.expired && self.at.elapsed() < AGE_MIN.max(self.cost * AGE_COSTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_mins(10);

    /// A cached 1 that took this long to read, twice.
    fn read_twice(took: Duration) -> Arc<CachedRead<u32>> {
        let cached: Arc<CachedRead<u32>> = Arc::default();
        cached.note(Arc::new(1), Instant::now(), took);
        cached.note(Arc::new(1), Instant::now(), took);
        cached
    }

    async fn two() -> ReadResult<u32> {
        Ok(2)
    }

    #[tokio::test]
    async fn the_first_read_is_waited_for() {
        let cached: Arc<CachedRead<u32>> = Arc::default();
        assert_eq!(*cached.get(two).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn get_or_does_not_wait_for_a_slow_first_read() {
        let cached: Arc<CachedRead<u32>> = Arc::default();
        let (send, sent) = tokio::sync::oneshot::channel();
        let read = || async move { Ok(sent.await.expect("a value is sent")) };
        assert_eq!(*cached.get_or(read, || 7).await.unwrap(), 7);
        send.send(2).unwrap();
        cached.idle().await;
        assert_eq!(*cached.get_or(two, || 7).await.unwrap(), 2, "it was read in the background");
    }

    #[tokio::test]
    async fn a_slow_value_stays_fresh_for_long_and_is_then_read_in_the_background() {
        let cached = read_twice(SLOW);
        assert_eq!(*cached.get(two).await.unwrap(), 1, "fresh for 100 times its cost");
        assert!(!cached.is_quick());
        cached.expire();
        assert_eq!(*cached.get(two).await.unwrap(), 1, "callers do not wait for the next");
        cached.idle().await;
        assert_eq!(cached.last().as_ref().map(|last| *last.value), Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_that_was_slow_once_is_read_again_within_seconds() {
        let cached: Arc<CachedRead<u32>> = Arc::default();
        for before in [None, Some(Duration::ZERO)] {
            cached.last().take();
            if let Some(took) = before {
                cached.note(Arc::new(1), Instant::now(), took);
            }
            cached.note(Arc::new(1), Instant::now(), SLOW);
            tokio::time::advance(Duration::from_secs(6)).await;
            let _ = cached.get(two).await.unwrap();
            cached.idle().await;
            assert_eq!(cached.last().as_ref().map(|last| *last.value), Some(2));
        }
    }

    #[tokio::test]
    async fn a_quick_read_is_waited_for() {
        let cached = read_twice(Duration::ZERO);
        assert!(cached.is_quick());
        cached.expire();
        assert_eq!(*cached.get(two).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn one_caller_reads_and_the_others_get_the_last_value() {
        let cached = read_twice(Duration::ZERO);
        cached.expire();
        let reader = Arc::clone(&cached);
        let stuck = tokio::spawn(async move { reader.get(std::future::pending).await.map(|value| *value) });
        while cached.reading.try_lock().is_ok() {
            tokio::task::yield_now().await;
        }
        assert_eq!(*cached.get(two).await.unwrap(), 1);
        stuck.abort();
        cached.idle().await;
        assert_eq!(*cached.get(two).await.unwrap(), 2, "after an aborted read another caller reads");
    }
}
