//! What an engine has said and nobody has taken up yet. Bounded in every way: how often, how many, how much.

use std::future::{pending, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::value::RawValue;
use socketioxide::extract::{AckSender, SocketRef, TryData};
use tenure_core::id::Name;
use tokio::sync::mpsc;

use crate::problem::{OVERLOADED, Problem, RATE_LIMITED};
use crate::socket::answer;
use crate::socket::engine::rounds::Pending;
use crate::socket::pace::Pace;
use crate::socket::said::Said;

/// Events that one engine may send in a second, over a while.
const EVENTS_PER_SECOND_MAX: f64 = 1000.0;
/// Events that it may send at once.
const BURST_EVENTS_MAX: f64 = 2000.0;
/// Events that wait.
const WAITING_EVENTS_MAX: usize = 2048;
/// What they may weigh together, the last one aside.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// Events in the order in which they came.
pub(super) struct Inbox {
    letters: mpsc::Receiver<Letter>,
    bytes: Arc<AtomicUsize>,
}

/// An event as it came.
struct Letter {
    ack: AckSender,
    text: Option<Box<RawValue>>,
}

impl Letter {
    fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.get().len())
    }
}

impl Inbox {
    /// From now on everything that the engine says lands here. The handler itself only puts it down, because what it
    /// does within its future is done in no order.
    pub(super) fn open(socket: &SocketRef) -> Self {
        let (slot, letters) = mpsc::channel(WAITING_EVENTS_MAX);
        let pace = Pace::new(EVENTS_PER_SECOND_MAX, BURST_EVENTS_MAX, Instant::now());
        let (bytes, pace) = (Arc::<AtomicUsize>::default(), Arc::new(Mutex::new(pace)));
        let waiting = Arc::clone(&bytes);
        socket.on_fallback(move |ack: AckSender, TryData(text): TryData<Box<RawValue>>| {
            put(&slot, &waiting, &pace, Letter { ack, text: text.ok() });
            ready(())
        });
        Self { letters, bytes }
    }

    /// What has come, at least one event; waits for it.
    pub(super) async fn take(&mut self, worker: &Name) -> Vec<Pending> {
        let Some(first) = self.letters.recv().await else { return pending().await };
        let mut taken = vec![self.opened(first, worker)];
        taken.extend(self.take_now(worker));
        taken
    }

    /// What has come.
    pub(super) fn take_now(&mut self, worker: &Name) -> Vec<Pending> {
        let mut taken = Vec::new();
        while let Ok(letter) = self.letters.try_recv() {
            taken.push(self.opened(letter, worker));
        }
        taken
    }

    fn opened(&self, letter: Letter, worker: &Name) -> Pending {
        self.bytes.fetch_sub(letter.bytes(), Ordering::AcqRel);
        let Said { event, asks } = Said::read(letter.text.as_deref(), worker);
        Pending { ack: letter.ack, event, asks }
    }
}

fn put(slot: &mpsc::Sender<Letter>, waiting: &AtomicUsize, pace: &Mutex<Pace>, letter: Letter) {
    let bytes = letter.bytes();
    let admitted = pace.lock().expect("nobody panics while counting").admit(1.0, Instant::now());
    let refused = if admitted.is_err() {
        let detail = format!("more than {EVENTS_PER_SECOND_MAX} events in a second");
        (letter, Problem::new(&RATE_LIMITED, detail).retry_after(1))
    } else if waiting.load(Ordering::Acquire) > WAITING_BYTES_MAX {
        (letter, overloaded())
    } else {
        waiting.fetch_add(bytes, Ordering::AcqRel);
        let Err(full) = slot.try_send(letter) else { return };
        waiting.fetch_sub(bytes, Ordering::AcqRel);
        (full.into_inner(), overloaded())
    };
    let (Letter { ack, text }, problem) = refused;
    let event = Said::name(text.as_deref());
    if !answer(ack, Err(problem), &event) {
        tracing::debug!(event, "an engine does not take its answers");
    }
}

fn overloaded() -> Problem {
    Problem::new(&OVERLOADED, "too many events of this engine wait").retry_after(1)
}
