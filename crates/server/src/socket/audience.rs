//! Front ends: each hears what happens to the jobs that it may see, in their lifecycles' words. What is said is put
//! together once for all of them.

mod speech;
mod stage;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::value::RawValue;
use socketioxide::extract::{AckSender, Event, SocketRef};
use socketioxide::{SendError, SocketError};
use tenure_core::api_key::Role;
use tenure_core::id::Name;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::app::App;
use crate::caller::{Caller, Right};
use crate::problem::Problem;
use crate::socket::pace::Pace;
use crate::socket::{Guest, Ticket, answer, gone, hello, is_true, no_such_event};

pub(super) use stage::Stage;

/// Events that a front end may be behind; one that is further behind is disconnected.
const BEHIND_EVENTS_MAX: usize = 16_384;
/// What they may weigh together.
const BEHIND_BYTES_MAX: usize = 32 << 20;
/// Bytes that are sent to a front end at once, and in a second over a while. One that stands still is gone by its ping
/// in two of its intervals, and with it what waits for it: no more than was sent meanwhile.
const BURST_BYTES_MAX: f64 = (64 << 20) as f64;
const BYTES_PER_SECOND_MAX: f64 = (8 << 20) as f64;
/// How often it is looked whether a front end may stay.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long to wait for a front end that takes nothing, and between two tries.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Something that happened, as front ends hear it.
#[derive(Debug)]
struct Told {
    /// Whose job it is.
    user_id: Option<Name>,
    /// Who holds or held it.
    worker: Option<Name>,
    /// What it is called: today, and as it was called before.
    names: Vec<String>,
    data: Box<RawValue>,
}

/// Everybody who listens at this node.
#[derive(Default)]
pub(super) struct Audience {
    listeners: Mutex<Vec<Listener>>,
    arrivals: AtomicU64,
}

struct Listener {
    arrival: u64,
    /// A producer: whose jobs it sees.
    only: Option<Name>,
    ear: mpsc::Sender<Arc<Told>>,
    behind_bytes: Arc<AtomicUsize>,
}

impl Audience {
    fn listeners(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.listeners.lock().expect("nobody panics while telling")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listeners().is_empty()
    }

    /// Tells everyone whom it may concern. Nobody is waited for: who is too far behind hears no more.
    fn tell(&self, told: &Arc<Told>) {
        let bytes = told.data.get().len();
        self.listeners().retain(|listener| {
            if listener.only.is_some() && listener.only != told.user_id {
                return true;
            }
            let behind = listener.behind_bytes.fetch_add(bytes, Ordering::AcqRel);
            behind <= BEHIND_BYTES_MAX && listener.ear.try_send(Arc::clone(told)).is_ok()
        });
    }
}

/// A front end that was let in.
pub(crate) struct FrontEnd {
    app: App,
    caller: Caller,
    arrival: u64,
    heard: mpsc::Receiver<Arc<Told>>,
    behind_bytes: Arc<AtomicUsize>,
    pace: Pace,
    gone: watch::Receiver<bool>,
}

impl Drop for FrontEnd {
    fn drop(&mut self) {
        self.app.switchboard().audience().listeners().retain(|listener| listener.arrival != self.arrival);
    }
}

impl FrontEnd {
    /// Lets a front end in, or says why not. It hears what happens from here on.
    pub(crate) async fn admit(app: App, socket: &SocketRef, auth: Option<&RawValue>) -> Result<(), Problem> {
        let caller = hello::front_end(&app, socket, auth).await?;
        caller.may(Right::See)?;
        let only = if caller.role == Role::Producer { caller.user.clone() } else { None };
        let (ear, heard) = mpsc::channel(BEHIND_EVENTS_MAX);
        let audience = app.switchboard().audience();
        let (arrival, behind_bytes) = (audience.arrivals.fetch_add(1, Ordering::Relaxed), Arc::default());
        let listener = Listener { arrival, only, ear, behind_bytes: Arc::clone(&behind_bytes) };
        audience.listeners().push(listener);
        let pace = Pace::new(BYTES_PER_SECOND_MAX, BURST_BYTES_MAX, Instant::now().into_std());
        let gone = gone(socket);
        let front_end = Self { app: app.clone(), caller, arrival, heard, behind_bytes, pace, gone };
        app.switchboard().follow(&app).await?;
        socket.on_fallback(async |ack: AckSender, Event(event): Event| {
            answer(ack, Err(no_such_event(&event)), &event);
        });
        Ticket::give(front_end, socket);
        Ok(())
    }

    async fn run(mut self, socket: SocketRef) {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let app = self.app.clone();
        let drained = app.drained();
        tokio::pin!(drained);
        loop {
            let stays = tokio::select! {
                biased;
                () = is_true(&mut self.gone) => return,
                () = &mut drained => return,
                _ = looks.tick() => self.app.may_go_on(&self.caller).await,
                told = self.heard.recv() => match told {
                    Some(told) => self.pass_on(&socket, &told).await,
                    None => false,
                },
            };
            if !stays {
                tracing::info!(credential = %self.caller.credential, "a front end is disconnected");
                drop(socket.disconnect());
                return;
            }
        }
    }

    /// Sends what happened, if it is this front end's to see; says whether it takes it.
    async fn pass_on(&mut self, socket: &SocketRef, told: &Told) -> bool {
        let bytes = told.data.get().len();
        self.behind_bytes.fetch_sub(bytes, Ordering::AcqRel);
        if self.caller.role == Role::Worker {
            match self.app.holds(&self.caller, told.worker.as_ref()).await {
                Ok(true) => {}
                Ok(false) => return true,
                Err(_) => return false,
            }
        }
        for name in &told.names {
            while let Err(wait) = self.pace.admit(bytes as f64, Instant::now().into_std()) {
                sleep(wait.max(PAUSE)).await;
            }
            let until = Instant::now() + PATIENCE;
            loop {
                match socket.emit(name, &told.data) {
                    Ok(()) => break,
                    Err(SendError::Socket(SocketError::InternalChannelFull)) if Instant::now() < until => {
                        sleep(PAUSE).await;
                    }
                    Err(_) => return false,
                }
            }
        }
        true
    }
}

impl Guest for FrontEnd {
    fn begin(self, socket: SocketRef) {
        tokio::spawn(self.run(socket));
    }
}
