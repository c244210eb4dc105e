//! Front ends: each receives the events of the jobs it may see, in the field names of their lifecycles. An event is
//! encoded once for all of them.

mod encoding;
mod publisher;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use socketioxide::extract::{AckSender, Event, SocketRef};
use socketioxide::{SendError, SocketError};
use tenure_core::api_key::Role;
use tenure_core::id::{QueueName, TypeName, UserId};
use tenure_core::job::LeaseOwner;
use tenure_service::keyring::Admission;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use crate::prelude::*;
use crate::socket::rate_limit::TokenBucket;
use crate::socket::{Session, answer, handshake, on_disconnect, ticks, unknown_event, wait_true};

pub(super) use publisher::Publisher;

/// Messages queued for a front end; one with more is disconnected.
const QUEUED_MESSAGES_MAX: usize = 16_384;
/// Bytes of those messages.
const QUEUED_BYTES_MAX: usize = 32 << 20;
/// Bytes sent to a front end at once, and per second in the long run. A front end that stops reading is disconnected
/// after two ping intervals, which bounds the bytes that are buffered for it until then.
const BURST_BYTES_MAX: f64 = (64 << 20) as f64;
const BYTES_PER_SECOND_MAX: f64 = (8 << 20) as f64;
/// How often the credentials of a front end are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long a full outgoing queue is retried, and the delay between two tries.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
const SEND_RETRY_DELAY: Duration = Duration::from_millis(20);

/// An encoded event of a job.
#[derive(Debug)]
struct JobMessage {
    job_type: TypeName,
    queue: QueueName,
    user_id: Option<UserId>,
    /// The worker that holds or held the job.
    owner: Option<LeaseOwner>,
    /// The event's name, and its alias in older lifecycles.
    names: Vec<String>,
    data: Box<RawValue>,
}

/// The front ends of this node.
#[derive(Default)]
pub(super) struct Subscribers {
    list: Mutex<Vec<Subscriber>>,
    next_id: AtomicU64,
}

struct Subscriber {
    id: u64,
    /// A producer only receives the events of this user's jobs.
    only_user: Option<UserId>,
    queue: mpsc::Sender<Arc<JobMessage>>,
    queued_bytes: Arc<AtomicUsize>,
}

impl Subscribers {
    fn list(&self) -> MutexGuard<'_, Vec<Subscriber>> {
        self.list.lock().expect("the lock is never poisoned")
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    /// Queues a message for every subscriber that may see it. Never waits: a subscriber whose queue is full is removed.
    fn publish(&self, message: &Arc<JobMessage>) {
        let bytes = message.data.get().len();
        self.list().retain(|subscriber| {
            if subscriber.only_user.is_some() && subscriber.only_user != message.user_id {
                return true;
            }
            let queued = subscriber.queued_bytes.fetch_add(bytes, Ordering::AcqRel);
            queued <= QUEUED_BYTES_MAX && subscriber.queue.try_send(Arc::clone(message)).is_ok()
        });
    }
}

/// An admitted front end.
pub(crate) struct FrontEnd {
    app: App,
    caller: Caller,
    id: u64,
    messages: mpsc::Receiver<Arc<JobMessage>>,
    queued_bytes: Arc<AtomicUsize>,
    bandwidth: TokenBucket,
    disconnected: watch::Receiver<bool>,
}

impl Drop for FrontEnd {
    fn drop(&mut self) {
        self.app.hub.subscribers.list().retain(|subscriber| subscriber.id != self.id);
    }
}

impl FrontEnd {
    async fn may_see(&self, message: &JobMessage) -> Result<bool> {
        let (caller, user) = (&self.caller, message.user_id.as_ref());
        if !caller.scopes.admits_job(&message.job_type, &message.queue, user) {
            return Ok(false);
        }
        if caller.sees_all_users() || caller.owns(user) {
            return Ok(true);
        }
        if caller.has(Role::Worker) {
            self.app.holds(caller, message.owner.as_ref()).await
        } else {
            Ok(false)
        }
    }

    /// Sends a message if this front end may see it. False if the front end must be disconnected.
    async fn send(&mut self, socket: &SocketRef, message: &JobMessage) -> bool {
        let bytes = message.data.get().len();
        self.queued_bytes.fetch_sub(bytes, Ordering::AcqRel);
        // The key may have been revoked since the message was queued.
        if self.app.admission(&self.caller).await != Admission::Valid {
            return false;
        }
        match self.may_see(message).await {
            Ok(true) => {}
            Ok(false) => return true,
            Err(_) => return false,
        }
        for name in &message.names {
            while let Err(wait) = self.bandwidth.take(bytes as f64, Instant::now().into_std()) {
                sleep(wait.max(SEND_RETRY_DELAY)).await;
            }
            let deadline = Instant::now() + SEND_TIMEOUT;
            loop {
                match socket.emit(name, &message.data) {
                    Ok(()) => break,
                    Err(SendError::Socket(SocketError::InternalChannelFull)) if Instant::now() < deadline => {
                        sleep(SEND_RETRY_DELAY).await;
                    }
                    Err(_) => return false,
                }
            }
        }
        true
    }
}

impl Session for FrontEnd {
    /// Admits a front end and subscribes it: it receives every event from here on.
    async fn admit(app: App, socket: &SocketRef, auth: Option<&RawValue>) -> Result<Self> {
        let caller = handshake::front_end(&app, socket, auth).await?;
        caller.may(Right::ReadJobs)?;
        let is_for_user = !caller.sees_all_users() && !caller.has(Role::Worker);
        let only_user = caller.user.clone().filter(|_| is_for_user);
        let (queue, messages) = mpsc::channel(QUEUED_MESSAGES_MAX);
        let subscribers = &app.hub.subscribers;
        let (id, queued_bytes) = (subscribers.next_id.fetch_add(1, Ordering::Relaxed), Arc::default());
        let subscriber = Subscriber { id, only_user, queue, queued_bytes: Arc::clone(&queued_bytes) };
        subscribers.list().push(subscriber);
        let bandwidth = TokenBucket::new(BYTES_PER_SECOND_MAX, BURST_BYTES_MAX, Instant::now().into_std());
        let disconnected = on_disconnect(socket);
        let front_end =
            Self { app: app.clone(), caller, id, messages, queued_bytes, bandwidth, disconnected };
        app.hub.ensure_following(&app).await?;
        socket.on_fallback(async |ack: AckSender, Event(event): Event| {
            answer(ack, Err(unknown_event(&event)), &event);
        });
        Ok(front_end)
    }

    async fn run(mut self, socket: SocketRef) {
        let mut checks = ticks(CHECK_INTERVAL);
        let app = self.app.clone();
        let drained = app.drained();
        tokio::pin!(drained);
        loop {
            let may_stay = tokio::select! {
                biased;
                () = wait_true(&mut self.disconnected) => return,
                () = &mut drained => return,
                _ = checks.tick() => self.app.admission(&self.caller).await != Admission::Ended,
                message = self.messages.recv() => match message {
                    Some(message) => self.send(&socket, &message).await,
                    None => false,
                },
            };
            if !may_stay {
                tracing::info!(credential = %self.caller.credential, "front end disconnected");
                drop(socket.disconnect());
                return;
            }
        }
    }
}
