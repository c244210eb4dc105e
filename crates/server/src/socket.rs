//! Socket.IO on the HTTP port: `/engine` pushes jobs to engines, `/jobs` sends events of jobs to front ends.
//!
//! In reading order: this file (limits and admission), `engine` (one engine's task), `messages` (what an engine sends),
//! `hub` (routes each commit of any node to the connections it concerns), `subscribers` (front ends).

pub(crate) mod engine;
mod handshake;
pub(crate) mod hub;
mod journal_follower;
mod messages;
mod rate_limit;
pub(crate) mod subscribers;

use std::fmt;
use std::future::ready;
use std::sync::Mutex;

use engine::Engine;
use serde_json::json;
use socketioxide::extract::{AckSender, SocketRef, TryData};
use socketioxide::handler::ConnectHandler as _;
use socketioxide::layer::SocketIoLayer;
use socketioxide::{ParserConfig, SocketIo};
use subscribers::FrontEnd;
use tenure_core::limits::PAYLOAD_BYTES_MAX;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::prelude::*;

/// Bytes of a message besides its payload.
const ENVELOPE_BYTES_MAX: usize = 64 << 10;
/// Messages queued for a peer; an engine with more is disconnected. The answers to a burst of events fit.
const OUTGOING_MAX: usize = 4096;
/// Time to authenticate, and to upgrade the transport.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between pings, and the time to answer one.
const PING: Duration = Duration::from_secs(10);
/// Attachments of one message. A message with any is refused, but it must be parsed to be answered.
const ATTACHMENTS_MAX: usize = 8;

/// The layer that serves `/socket.io`.
pub(crate) fn layer(app: &App) -> SocketIoLayer {
    // Of the largest payload that may be configured: limits.payload may be raised later.
    let message_bytes_max = PAYLOAD_BYTES_MAX + ENVELOPE_BYTES_MAX;
    let parser = ParserConfig::common()
        .max_incoming_binaries(ATTACHMENTS_MAX)
        .max_incoming_binary_buf_size(message_bytes_max)
        .packet_completion_timeout(CONNECT_TIMEOUT);
    let (layer, io) = SocketIo::builder()
        .with_parser(parser)
        .max_payload(message_bytes_max as u64)
        .ws_max_message_size(message_bytes_max)
        .ws_max_frame_size(message_bytes_max)
        .max_buffer_size(OUTGOING_MAX)
        .ping_interval(PING)
        .ping_timeout(PING)
        .upgrade_timeout(CONNECT_TIMEOUT)
        .connect_timeout(CONNECT_TIMEOUT)
        .build_layer();
    serve::<Engine>(&io, "/engine", app.clone());
    serve::<FrontEnd>(&io, "/jobs", app.clone());
    app.hub.set_io(io);
    layer
}

/// Serves the sessions of one namespace. A session is kept in the socket's extensions until its connection is established.
fn serve<T: Session>(io: &SocketIo, namespace: &'static str, app: App) {
    let admit = move |socket: SocketRef, TryData(auth): TryData<Box<RawValue>>| {
        let app = app.clone();
        async move {
            let session = T::admit(app, &socket, auth.ok().as_deref()).await.map_err(ConnectError)?;
            socket.extensions.insert(Arc::new(Mutex::new(Some(session))));
            Ok::<(), ConnectError>(())
        }
    };
    io.ns(namespace, connected::<T>.with(admit));
}

/// A refused connection, as the message of a `connect_error`.
struct ConnectError(Problem);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code(), self.0.detail())
    }
}

/// An admitted peer, which runs once its connection is established.
trait Session: Sized + Send + 'static {
    fn admit(
        app: App,
        socket: &SocketRef,
        auth: Option<&RawValue>,
    ) -> impl Future<Output = Result<Self>> + Send;

    fn run(self, socket: SocketRef) -> impl Future<Output = ()> + Send;
}

async fn connected<T: Session>(socket: SocketRef) {
    let kept = socket.extensions.get::<Arc<Mutex<Option<T>>>>();
    let session = kept.and_then(|kept| kept.lock().expect("the lock is never poisoned").take());
    if let Some(session) = session {
        tokio::spawn(session.run(socket));
    }
}

/// An interval in which a missed tick delays the following ones.
fn ticks(period: Duration) -> Interval {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Becomes true when the peer disconnects.
fn on_disconnect(socket: &SocketRef) -> watch::Receiver<bool> {
    let (sender, disconnected) = watch::channel(false);
    socket.on_disconnect(move || {
        sender.send_replace(true);
        ready(())
    });
    disconnected
}

/// Resolves when the value is true, or when its sender is dropped.
async fn wait_true(receiver: &mut watch::Receiver<bool>) {
    drop(receiver.wait_for(|value| *value).await);
}

/// Acknowledges an event. False if the peer's queue is full or its connection closed.
fn answer(ack: AckSender, result: Result<()>, event: &str) -> bool {
    let sent = match result {
        Ok(()) => ack.send(&json!({ "ok": true })),
        Err(problem) => ack.send(&json!({ "error": problem.to_json(&format!("/socket.io#{event}")) })),
    };
    sent.is_ok()
}

fn unknown_event(event: &str) -> Problem {
    Problem::new(ProblemCode::NotFound, format!("there is no event {}", event.escape_debug()))
}
