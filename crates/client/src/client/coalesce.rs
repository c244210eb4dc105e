//! Coalescing: creations that are requested while another one is in flight leave together, with the next request.
//!
//! The answers set the pace, not a timer: a call that finds nothing in flight leaves at once, and the calls that come
//! meanwhile leave as one batch when the answer is there. A task sends the requests, so that no call depends on the caller
//! of another one: a caller may stop polling or go away at any time.

use std::collections::VecDeque;
use std::fmt;
use std::mem::{replace, take};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::error::{Error, Problem, Result};

/// A larger job gains nothing from company and would delay the others.
pub(super) const JOB_BYTES_MAX: usize = 256 << 10;
/// Size limit of one batch; a server accepts several times as much, unless it is configured otherwise.
const BATCH_BYTES_MAX: usize = 4 << 20;
const BATCH_JOBS_MAX: usize = 1000;
/// Yields between an answer and the next request, so that the callers that were answered can ask again.
const YIELDS_BEFORE_REQUEST: usize = 5;

/// A job to create as JSON, with its idempotency key: it can be sent any number of times, alone or in a batch.
#[derive(Debug)]
pub(super) struct KeyedJob {
    pub(super) body: Bytes,
    pub(super) key: String,
}

impl KeyedJob {
    /// An upper limit of its size in a batch.
    fn size(&self) -> usize {
        self.body.len() + 2 * self.key.len() + 32
    }
}

/// The body of a batch.
pub(super) fn batch_body<'a>(jobs: impl Iterator<Item = (&'a Bytes, Option<&'a str>)> + Clone) -> Bytes {
    let size = jobs.clone().map(|(body, key)| body.len() + 2 * key.map_or(0, str::len) + 32).sum::<usize>();
    let mut text = Vec::with_capacity(size + 16);
    text.extend_from_slice(b"{\"jobs\":[");
    for (nth, (body, key)) in jobs.enumerate() {
        if nth > 0 {
            text.push(b',');
        }
        match key {
            Some(key) => {
                text.extend_from_slice(b"{\"idempotency_key\":");
                serde_json::to_writer(&mut text, key).expect("a text can be written as JSON");
                text.push(b',');
                // The body is an object with at least a type.
                text.extend_from_slice(&body[1..]);
            }
            None => text.extend_from_slice(body),
        }
    }
    text.extend_from_slice(b"]}");
    text.into()
}

/// Sends requests that create jobs, each once.
pub(super) trait Transport<T>: Clone + Send + Sync + 'static {
    /// One job in an ordinary request.
    fn single(&self, job: &KeyedJob) -> impl Future<Output = Result<T>> + Send;
    /// The body of a batch of this many jobs; one result for each, in order.
    fn batch(
        &self,
        body: Bytes,
        count: usize,
    ) -> impl Future<Output = Result<Vec<Result<T, Problem>>>> + Send;
}

/// The creations of one client that wait for their request. At most one request is in flight.
pub(super) struct Coalescer<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    waiting: VecDeque<Waiting<T>>,
    is_in_flight: bool,
    bytes_max: usize,
}

struct Waiting<T> {
    job: Arc<KeyedJob>,
    /// Dropped without an answer if the job must be sent alone.
    answer: oneshot::Sender<Result<T>>,
}

impl<T> Default for Coalescer<T> {
    fn default() -> Self {
        let state = State { waiting: VecDeque::new(), is_in_flight: false, bytes_max: BATCH_BYTES_MAX };
        Self(Arc::new(Mutex::new(state)))
    }
}

impl<T> Clone for Coalescer<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Coalescer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coalescer").field("waiting", &self.state().waiting.len()).finish_non_exhaustive()
    }
}

impl<T> Coalescer<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().expect("no thread panics while holding the lock")
    }

    /// The jobs of the next request, as many as fit; none if no caller waits for one. A job whose caller is gone is not
    /// sent.
    fn next_jobs(&self) -> Vec<Waiting<T>> {
        let mut state = self.state();
        state.waiting.retain(|waiting| !waiting.answer.is_closed());
        let (mut bytes, bytes_max) = (16, state.bytes_max);
        let fit = state.waiting.iter().take(BATCH_JOBS_MAX).take_while(|waiting| {
            bytes += waiting.job.size();
            bytes <= bytes_max
        });
        let count = fit.count().max(1).min(state.waiting.len());
        state.is_in_flight = count > 0;
        state.waiting.drain(..count).collect()
    }
}

impl<T: Send + 'static> Coalescer<T> {
    /// Sends a job once, with the next request. `None`: its request was not answered in a way that tells about this job, so
    /// it must be sent alone. It may have been created.
    pub(super) async fn send(&self, transport: &impl Transport<T>, job: &Arc<KeyedJob>) -> Option<Result<T>> {
        let (answer, answered) = oneshot::channel();
        let is_in_flight = {
            let mut state = self.state();
            state.waiting.push_back(Waiting { job: Arc::clone(job), answer });
            replace(&mut state.is_in_flight, true)
        };
        if !is_in_flight {
            tokio::spawn(Sender { coalescer: self.clone(), is_done: false }.run(transport.clone()));
        }
        answered.await.ok()
    }
}

/// The task that sends requests until no caller waits.
struct Sender<T> {
    coalescer: Coalescer<T>,
    is_done: bool,
}

impl<T> Drop for Sender<T> {
    /// If the task's runtime shuts down, or the task panics, the callers that wait send their jobs themselves.
    fn drop(&mut self) {
        if !self.is_done {
            let mut state = self.coalescer.state();
            state.is_in_flight = false;
            let waiting = take(&mut state.waiting);
            drop(state);
            drop(waiting);
        }
    }
}

impl<T: Send + 'static> Sender<T> {
    async fn run(mut self, transport: impl Transport<T>) {
        loop {
            let mut jobs = self.coalescer.next_jobs();
            match jobs.len() {
                0 => break,
                1 => {
                    let Waiting { job, answer } = jobs.remove(0);
                    // The caller may be gone.
                    let _ = answer.send(transport.single(&job).await);
                }
                _ => self.send_batch(jobs, &transport).await,
            }
            for _ in 0..YIELDS_BEFORE_REQUEST {
                tokio::task::yield_now().await;
            }
        }
        self.is_done = true;
    }

    async fn send_batch(&self, jobs: Vec<Waiting<T>>, transport: &impl Transport<T>) {
        let texts = jobs.iter().map(|waiting| (&waiting.job.body, Some(waiting.job.key.as_str())));
        let results = transport.batch(batch_body(texts), jobs.len()).await;
        let answers: Vec<Result<T>> = match results {
            Ok(results) => results.into_iter().map(|result| result.map_err(Error::Refused)).collect(),
            Err(error) if applies_to_each(&error) => jobs.iter().map(|_| Err(error.clone())).collect(),
            Err(error) => {
                tracing::debug!(%error, jobs = jobs.len(), "batch refused; each job is sent alone");
                if let Some(limit) = body_limit(&error) {
                    self.coalescer.state().bytes_max = limit;
                }
                return;
            }
        };
        for (waiting, answer) in jobs.into_iter().zip(answers) {
            // Servers of version 0.1 refuse the key of a job in a batch, but not of a job alone.
            if !is_malformed(&answer) {
                let _ = waiting.answer.send(answer);
            }
        }
    }
}

/// Whether each job alone would have had the same answer as the batch. Otherwise one of them may be the cause.
fn applies_to_each(error: &Error) -> bool {
    match error {
        Error::Unreachable(_) => true,
        Error::Refused(problem) => matches!(problem.status, 401 | 403 | 421 | 429 | 503),
        Error::Protocol(_) | Error::TimedOut(_) => false,
    }
}

fn is_malformed<T>(answer: &Result<T>) -> bool {
    matches!(answer, Err(Error::Refused(problem)) if problem.code == "malformed")
}

/// The limit of the server, if it refused a body because of its size.
fn body_limit(error: &Error) -> Option<usize> {
    let problem = error.problem().filter(|problem| problem.status == 413)?;
    problem.extra.get("limit")?.as_u64()?.try_into().ok()
}

#[cfg(test)]
mod tests;
