//! A number that costs something to read, read as seldom as its cost asks for: one reading at a time, whoever asks
//! meanwhile gets the last one.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::problem::Problem;

/// What was read lately is not read again.
const AGE_MIN: Duration = Duration::from_millis(500);
/// Reading takes a hundredth of the time at most.
const AGE_COSTS: u32 = 100;
/// A reading that is quicker than this is waited for.
const QUICK: Duration = Duration::from_millis(10);

/// How long somebody waits who would take something else.
const PATIENCE: Duration = Duration::from_millis(50);

/// The last reading of something.
pub(crate) struct Part<T>(Arc<Inner<T>>);

struct Inner<T> {
    last: Mutex<Option<Reading<T>>>,
    /// Held while somebody reads.
    reading: Arc<tokio::sync::Mutex<()>>,
}

struct Reading<T> {
    value: Arc<T>,
    at: Instant,
    cost: Duration,
    expired: bool,
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self(Arc::new(Inner { last: Mutex::new(None), reading: Arc::default() }))
    }
}

impl<T> Clone for Part<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Send + Sync + 'static> Part<T> {
    /// The last reading, if it is fresh. Else it is read again: by whoever asks, if that is quick; in the background, if
    /// it is not and there is an older one to show.
    pub(crate) async fn get<R>(&self, read: impl FnOnce() -> R) -> Result<Arc<T>, Problem>
    where
        R: Future<Output = Result<T, Problem>> + Send + 'static,
    {
        let last = self.last().as_ref().map(|last| (Arc::clone(&last.value), last.is_fresh(), last.cost));
        match last {
            Some((value, true, _)) => Ok(value),
            Some((value, false, cost)) => match Arc::clone(&self.0.reading).try_lock_owned() {
                Err(_) => Ok(value),
                Ok(turn) if cost < QUICK => Box::pin(self.read(turn, read())).await,
                Ok(turn) => {
                    self.read_behind(turn, read());
                    Ok(value)
                }
            },
            None => {
                let turn = Arc::clone(&self.0.reading).lock_owned().await;
                let read_meanwhile = self.last().as_ref().map(|last| Arc::clone(&last.value));
                match read_meanwhile {
                    Some(value) => Ok(value),
                    None => Box::pin(self.read(turn, read())).await,
                }
            }
        }
    }

    /// The same for who would rather have something else than wait for the first reading.
    pub(crate) async fn get_or<R>(
        &self,
        read: impl FnOnce() -> R,
        instead: impl FnOnce() -> T,
    ) -> Result<Arc<T>, Problem>
    where
        R: Future<Output = Result<T, Problem>> + Send + 'static,
    {
        if self.last().is_some() {
            return self.get(read).await;
        }
        if let Ok(turn) = Arc::clone(&self.0.reading).try_lock_owned() {
            self.read_behind(turn, read());
        }
        // Whether it ended in time is seen below.
        drop(tokio::time::timeout(PATIENCE, self.rest()).await);
        let read = self.last().as_ref().map(|last| Arc::clone(&last.value));
        Ok(read.unwrap_or_else(|| Arc::new(instead())))
    }

    fn read_behind(
        &self,
        turn: OwnedMutexGuard<()>,
        read: impl Future<Output = Result<T, Problem>> + Send + 'static,
    ) {
        let part = self.clone();
        tokio::spawn(async move {
            if let Err(problem) = part.read(turn, read).await {
                tracing::warn!(?problem, "a number could not be read");
            }
        });
    }

    /// Whether reading it again is quick; unknown is not.
    pub(crate) fn is_quick(&self) -> bool {
        self.last().as_ref().is_some_and(|last| last.cost < QUICK)
    }

    /// Forgets how fresh the last reading is: whoever asks next reads.
    pub(crate) fn expire(&self) {
        if let Some(last) = self.last().as_mut() {
            last.expired = true;
        }
    }

    /// Resolves when nobody reads.
    pub(crate) async fn rest(&self) {
        drop(self.0.reading.lock().await);
    }

    async fn read(
        &self,
        turn: OwnedMutexGuard<()>,
        read: impl Future<Output = Result<T, Problem>>,
    ) -> Result<Arc<T>, Problem> {
        let began = Instant::now();
        let value = Arc::new(read.await?);
        self.note(Arc::clone(&value), began, began.elapsed());
        drop(turn);
        Ok(value)
    }

    fn note(&self, value: Arc<T>, at: Instant, cost: Duration) {
        *self.last() = Some(Reading { value, at, cost, expired: false });
    }

    fn last(&self) -> MutexGuard<'_, Option<Reading<T>>> {
        self.0.last.lock().expect("nobody panics while noting a reading")
    }
}

impl<T> Reading<T> {
    fn is_fresh(&self) -> bool {
        !self.expired && self.at.elapsed() < AGE_MIN.max(self.cost * AGE_COSTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAR: Duration = Duration::from_mins(10);

    /// A part whose last reading was a 1 that cost so much.
    fn read_once(cost: Duration) -> Part<u32> {
        let part = Part::default();
        part.note(Arc::new(1), Instant::now(), cost);
        part
    }

    async fn two() -> Result<u32, Problem> {
        Ok(2)
    }

    #[tokio::test]
    async fn the_first_reading_is_waited_for() {
        let part = Part::default();
        assert_eq!(*part.get(two).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn who_would_take_something_else_does_not_wait_for_the_first_reading() {
        let part: Part<u32> = Part::default();
        let (told, tell) = tokio::sync::oneshot::channel();
        let read = || async move { Ok(tell.await.expect("it is told")) };
        assert_eq!(*part.get_or(read, || 7).await.unwrap(), 7);
        told.send(2).unwrap();
        part.rest().await;
        assert_eq!(*part.get_or(two, || 7).await.unwrap(), 2, "it was read behind");
    }

    #[tokio::test]
    async fn what_is_dear_is_fresh_for_long_and_then_read_in_the_background() {
        let part = read_once(DEAR);
        assert_eq!(*part.get(two).await.unwrap(), 1, "a hundred times its cost it counts as fresh");
        assert!(!part.is_quick());
        part.expire();
        assert_eq!(*part.get(two).await.unwrap(), 1, "nobody waits for the next");
        part.rest().await;
        assert_eq!(part.last().as_ref().map(|last| *last.value), Some(2));
    }

    #[tokio::test]
    async fn what_is_quick_is_waited_for() {
        let part = read_once(Duration::ZERO);
        assert!(part.is_quick());
        part.expire();
        assert_eq!(*part.get(two).await.unwrap(), 2);
    }

    #[tokio::test]
    async fn one_reads_and_the_others_get_the_last_one() {
        let part = read_once(Duration::ZERO);
        part.expire();
        let reader = part.clone();
        let stuck = tokio::spawn(async move { reader.get(std::future::pending).await.map(|value| *value) });
        while part.0.reading.try_lock().is_ok() {
            tokio::task::yield_now().await;
        }
        assert_eq!(*part.get(two).await.unwrap(), 1);
        stuck.abort();
        part.rest().await;
        assert_eq!(*part.get(two).await.unwrap(), 2, "who gives up is followed by another");
    }
}
