//! Socket.IO on the HTTP port: `/engine`, where work is pushed to engines, and `/jobs`, where front ends hear what
//! happens.
//!
//! In reading order: this (limits, and who is let in), `engine` (one engine), `said` (what it can say), `switchboard`
//! (who must be told what a commit brings, whichever node made it), `audience` (what front ends hear).

pub(crate) mod audience;
pub(crate) mod engine;
mod following;
mod hello;
mod pace;
mod said;
pub(crate) mod switchboard;

use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use socketioxide::extract::{AckSender, SocketRef, TryData};
use socketioxide::handler::ConnectHandler as _;
use socketioxide::layer::SocketIoLayer;
use socketioxide::{ParserConfig, SocketIo};
use tokio::sync::watch;

use crate::app::App;
use crate::problem::{NOT_FOUND, Problem};
use audience::FrontEnd;
use engine::Engine;

/// What a message may weigh besides the payload that it carries.
const ENVELOPE_BYTES_MAX: usize = 64 << 10;
/// Messages that wait until a peer takes them; an engine that lets more pile up is disconnected. The answers to a burst
/// of events fit.
const OUTGOING_MAX: usize = 4096;
/// How long a connection has to say who it is, and to upgrade its transport.
const CONNECT: Duration = Duration::from_secs(5);
/// How often a peer is asked whether it is there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(10);
/// Attachments of one message. None is taken, but the message that has them is answered.
const ATTACHMENTS_MAX: usize = 8;

/// The layer that answers at `/socket.io`.
pub(crate) fn layer(app: &App) -> SocketIoLayer {
    let message_bytes_max = app.limits().payload + ENVELOPE_BYTES_MAX;
    let parser = ParserConfig::common()
        .max_incoming_binaries(ATTACHMENTS_MAX)
        .max_incoming_binary_buf_size(message_bytes_max)
        .packet_completion_timeout(CONNECT);
    let (layer, io) = SocketIo::builder()
        .with_parser(parser)
        .max_payload(message_bytes_max as u64)
        .ws_max_message_size(message_bytes_max)
        .ws_max_frame_size(message_bytes_max)
        .max_buffer_size(OUTGOING_MAX)
        .ping_interval(PING)
        .ping_timeout(PING)
        .upgrade_timeout(CONNECT)
        .connect_timeout(CONNECT)
        .build_layer();
    let (engines, front_ends) = (app.clone(), app.clone());
    let admit_engine = move |socket: SocketRef, TryData(auth): TryData<Box<RawValue>>| {
        let app = engines.clone();
        async move { Engine::admit(app, &socket, auth.ok().as_deref()).await.map_err(Refused) }
    };
    let admit_front_end = move |socket: SocketRef, TryData(auth): TryData<Box<RawValue>>| {
        let app = front_ends.clone();
        async move { FrontEnd::admit(app, &socket, auth.ok().as_deref()).await.map_err(Refused) }
    };
    io.ns("/engine", connected::<Engine>.with(admit_engine));
    io.ns("/jobs", connected::<FrontEnd>.with(admit_front_end));
    app.switchboard().keep(io);
    layer
}

/// Why somebody is not let in, as the message of a `connect_error`.
struct Refused(Problem);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code(), self.0.detail())
    }
}

/// Somebody who was let in, and begins when his connection stands.
trait Guest: Send + 'static {
    fn begin(self, socket: SocketRef);
}

/// Kept with the socket between the two.
struct Ticket<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Ticket<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Guest> Ticket<T> {
    fn give(guest: T, socket: &SocketRef) {
        socket.extensions.insert(Self(Arc::new(Mutex::new(Some(guest)))));
    }
}

async fn connected<T: Guest>(socket: SocketRef) {
    let ticket = socket.extensions.get::<Ticket<T>>();
    let guest = ticket.and_then(|ticket| ticket.0.lock().expect("nobody panics with a ticket").take());
    if let Some(guest) = guest {
        guest.begin(socket);
    }
}

/// Turns true when the peer is gone.
fn gone(socket: &SocketRef) -> watch::Receiver<bool> {
    let (tell, gone) = watch::channel(false);
    socket.on_disconnect(move || {
        tell.send_replace(true);
        ready(())
    });
    gone
}

/// Resolves when it is true, or when nobody can make it so any more.
async fn is_true(told: &mut watch::Receiver<bool>) {
    drop(told.wait_for(|told| *told).await);
}

/// Answers an event. Who does not take his answers is disconnected: says whether he does.
fn answer(ack: AckSender, result: Result<(), Problem>, event: &str) -> bool {
    let sent = match result {
        Ok(()) => ack.send(&json!({ "ok": true })),
        Err(problem) => ack.send(&json!({ "error": problem.to_json(&format!("/socket.io#{event}")) })),
    };
    sent.is_ok()
}

fn no_such_event(event: &str) -> Problem {
    Problem::new(&NOT_FOUND, format!("there is no event {}", event.escape_debug()))
}
