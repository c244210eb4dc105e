//! Events of an engine that wait to be submitted, limited in rate, number and bytes.

use std::future::{pending, ready};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use socketioxide::extract::{AckSender, SocketRef, TryData};
use tokio::sync::mpsc;

use crate::prelude::*;
use crate::socket::answer;
use crate::socket::engine::submit_rounds::PendingReport;
use crate::socket::messages::{EngineMessage, event_name};
use crate::socket::rate_limit::TokenBucket;

/// Events per second in the long run, and at once.
const EVENTS_PER_SECOND_MAX: f64 = 1000.0;
const BURST_EVENTS_MAX: f64 = 2000.0;
const WAITING_EVENTS_MAX: usize = 2048;
/// Bytes of the waiting events, not counting the last one.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// Events in order of arrival.
pub(super) struct Inbox {
    events: mpsc::Receiver<IncomingEvent>,
    waiting_bytes: Arc<AtomicUsize>,
}

struct IncomingEvent {
    ack: AckSender,
    text: Option<Box<RawValue>>,
}

impl IncomingEvent {
    fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.get().len())
    }
}

impl Inbox {
    /// Receives every event of the socket. The handler only queues them, because handlers run concurrently and an event
    /// that awaited there could be overtaken.
    pub(super) fn open(socket: &SocketRef) -> Self {
        let (queue, events) = mpsc::channel(WAITING_EVENTS_MAX);
        let rate = TokenBucket::new(EVENTS_PER_SECOND_MAX, BURST_EVENTS_MAX, Instant::now());
        let (waiting_bytes, rate) = (Arc::<AtomicUsize>::default(), Arc::new(Mutex::new(rate)));
        let waiting = Arc::clone(&waiting_bytes);
        socket.on_fallback(move |ack: AckSender, TryData(text): TryData<Box<RawValue>>| {
            enqueue(&queue, &waiting, &rate, IncomingEvent { ack, text: text.ok() });
            ready(())
        });
        Self { events, waiting_bytes }
    }

    /// Waits for at least one event.
    pub(super) async fn take(&mut self, worker: &WorkerId) -> Vec<PendingReport> {
        let Some(first) = self.events.recv().await else { return pending().await };
        let mut taken = vec![self.parse(first, worker)];
        taken.extend(self.take_now(worker));
        taken
    }

    /// The events that have arrived.
    pub(super) fn take_now(&mut self, worker: &WorkerId) -> Vec<PendingReport> {
        let mut taken = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            taken.push(self.parse(event, worker));
        }
        taken
    }

    fn parse(&self, incoming: IncomingEvent, worker: &WorkerId) -> PendingReport {
        self.waiting_bytes.fetch_sub(incoming.bytes(), Ordering::AcqRel);
        let message = EngineMessage::parse(incoming.text.as_deref(), worker);
        PendingReport { ack: incoming.ack, message }
    }
}

/// Queues an event, or answers it with the limit that it exceeds.
fn enqueue(
    queue: &mpsc::Sender<IncomingEvent>,
    waiting_bytes: &AtomicUsize,
    rate: &Mutex<TokenBucket>,
    incoming: IncomingEvent,
) {
    let bytes = incoming.bytes();
    let is_too_fast = rate.lock().expect("the lock is never poisoned").take(1.0, Instant::now()).is_err();
    let (refused, problem) = if is_too_fast {
        let detail = format!("more than {EVENTS_PER_SECOND_MAX} events per second");
        (incoming, Problem::new(ProblemCode::RateLimited, detail).retry_after(1))
    } else if waiting_bytes.load(Ordering::Acquire) > WAITING_BYTES_MAX {
        (incoming, overloaded())
    } else {
        waiting_bytes.fetch_add(bytes, Ordering::AcqRel);
        let Err(full) = queue.try_send(incoming) else { return };
        waiting_bytes.fetch_sub(bytes, Ordering::AcqRel);
        (full.into_inner(), overloaded())
    };
    let event = event_name(refused.text.as_deref());
    if !answer(refused.ack, Err(problem), &event) {
        tracing::debug!(event, "engine answer dropped");
    }
}

fn overloaded() -> Problem {
    Problem::new(ProblemCode::Overloaded, "too many events of this engine are waiting").retry_after(1)
}
