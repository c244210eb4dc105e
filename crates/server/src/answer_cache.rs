//! One answer for many callers: public calls do not read the store for each request.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// The last answer. Callers that arrive while it is made wait for it.
pub(crate) struct AnswerCache<T> {
    max_age: Duration,
    last: Mutex<Option<(Instant, T)>>,
}

impl<T: Clone> AnswerCache<T> {
    pub(crate) fn new(max_age: Duration) -> Self {
        Self { max_age, last: Mutex::default() }
    }

    /// The last answer, or a new one if that is too old.
    pub(crate) async fn get(&self, make: impl Future<Output = T>) -> T {
        let mut last = self.last.lock().await;
        if let Some((at, answer)) = &*last
            && at.elapsed() < self.max_age
        {
            return answer.clone();
        }
        let answer = make.await;
        *last = Some((Instant::now(), answer.clone()));
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_made_once_for_all_callers_until_it_is_too_old() {
        let (cache, made) = (AnswerCache::new(Duration::from_secs(1)), AtomicU32::new(0));
        let make = || async {
            tokio::task::yield_now().await;
            made.fetch_add(1, Ordering::Relaxed) + 1
        };
        let answers = futures_util::future::join_all((0..10).map(|_| cache.get(make()))).await;
        assert_eq!(answers, [1; 10]);
        tokio::time::advance(Duration::from_millis(999)).await;
        assert_eq!(cache.get(make()).await, 1);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(cache.get(make()).await, 2);
    }
}
