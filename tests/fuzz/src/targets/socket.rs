//! Socket.IO packets of an engine: each line is a text frame, or a binary one after `!`, to a server in memory. `$JOB` and
//! `$FENCE` are those of a job that the engine holds. The server answers a request after them, or has disconnected the
//! engine; no task of it panics, and it serves others.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tenure_client::testing::Kit;
use tenure_client::{Client, NewJob};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

/// A request without an answer for this long has none.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Identifies the last request.
const LAST_ACK: &str = "43/engine,424242[";
const LAST_REQUEST: &str = "42/engine,424242[\"heartbeat\"]";
const FRAMES_MAX: usize = 64;

static ENGINES: AtomicUsize = AtomicUsize::new(0);
/// Panics of any task.
static PANICS: AtomicUsize = AtomicUsize::new(0);

type Socket = WebSocketStream<TcpStream>;

/// A server in memory and the thread's runtime.
struct World {
    runtime: Runtime,
    kit: Kit,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

pub(super) fn check(input: &[u8]) {
    count_panics();
    WORLD.with_borrow_mut(|world| {
        let World { runtime, kit } = world.get_or_insert_with(World::start);
        let before = PANICS.load(Ordering::Relaxed);
        runtime.block_on(run(&kit.client(), input));
        assert_eq!(PANICS.load(Ordering::Relaxed), before, "a task of the server panicked");
    });
}

impl World {
    fn start() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be built");
        let kit = runtime.block_on(Kit::start());
        Self { runtime, kit }
    }
}

/// Counts panics, also those that a task's handle would receive.
fn count_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let earlier = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Ordering::Relaxed);
            earlier(info);
        }));
    });
}

async fn run(client: &Client, input: &[u8]) {
    // A type for this engine alone: an earlier one may still be connected, and would get the job.
    let number = ENGINES.fetch_add(1, Ordering::Relaxed);
    let job_type = format!("render-{number}");
    let new = NewJob::new(&job_type, &Value::Null).expect("null is JSON").lifecycle("engine");
    let job = client.create(new).await.expect("the server accepts a job").job;
    let mut socket = connect(client, &job_type).await;
    let fence = pushed_fence(&mut socket, &job.id).await;
    let frames: Vec<&[u8]> = input.split(|byte| *byte == b'\n').take(FRAMES_MAX).collect();
    let may_leave = frames.iter().any(|frame| may_end_session(frame));
    let is_sent = async {
        for frame in &frames {
            socket.send(message(frame, &job.id, fence)).await?;
        }
        socket.send(Message::text(LAST_REQUEST)).await
    };
    let is_sent = is_sent.await.is_ok();
    if is_sent && !may_leave {
        timeout(ANSWER_TIMEOUT, answered(&mut socket)).await.expect("the last request was answered");
    }
    drop(socket);
    let shown = client.get(&job.id).await.expect("the server serves other requests");
    assert_eq!(shown.id, job.id);
}

/// Whether a frame may end the session without closing the connection: a disconnect, or a packet whose attachments follow.
fn may_end_session(frame: &[u8]) -> bool {
    frame.starts_with(b"1")
        || frame.starts_with(b"41")
        || frame.starts_with(b"45")
        || frame.starts_with(b"46")
}

fn message(frame: &[u8], job: &str, fence: u64) -> Message {
    if let Some((b'!', binary)) = frame.split_first() {
        return Message::binary(binary.to_vec());
    }
    let text = String::from_utf8_lossy(frame);
    Message::text(text.replace("$JOB", job).replace("$FENCE", &fence.to_string()))
}

async fn connect(client: &Client, job_type: &str) -> Socket {
    let address = client.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let stream = TcpStream::connect(&address).await.expect("the server listens");
    stream.set_nodelay(true).expect("the connection is open");
    let url = format!("ws://{address}/socket.io/?EIO=4&transport=websocket");
    let (mut socket, _) = client_async(url, stream).await.expect("the server accepts a WebSocket");
    let auth = json!({ "engineId": job_type, "jobTypes": [job_type], "capacity": 2 });
    socket.send(Message::text(format!("40/engine,{auth}"))).await.expect("the connection is open");
    socket
}

/// The fence of the job that is pushed to the engine.
async fn pushed_fence(socket: &mut Socket, job: &str) -> u64 {
    let mut seen = Vec::new();
    loop {
        let Ok(Some(text)) = timeout(ANSWER_TIMEOUT, next(socket)).await else {
            panic!("job {job} was not pushed: {seen:?}")
        };
        if let Some(event) = text.strip_prefix("42/engine,") {
            let event: Value = serde_json::from_str(event).expect("an event is JSON");
            if event[1]["jobId"] == job {
                return event[1]["fence"].as_u64().expect("a pushed job has a fence");
            }
        }
        seen.push(text);
    }
}

/// Waits for the last answer or the end of the connection. Every answer is an `ok` or a problem.
async fn answered(socket: &mut Socket) {
    while let Some(text) = next(socket).await {
        let Some(ack) = text.strip_prefix("43/engine,") else { continue };
        let answer = ack.trim_start_matches(|c: char| c.is_ascii_digit());
        let answer: Value = serde_json::from_str(answer).unwrap_or_else(|error| panic!("{error}: {text}"));
        let is_known = answer[0]["ok"] == true || answer[0]["error"]["code"].is_string();
        assert!(is_known, "an event was answered with {text}");
        if text.starts_with(LAST_ACK) {
            return;
        }
    }
}

/// The next text frame; `None` at the end of the connection.
async fn next(socket: &mut Socket) -> Option<String> {
    loop {
        match socket.next().await?.ok()? {
            Message::Text(text) if text.as_str() == "2" => socket.send(Message::text("3")).await.ok()?,
            Message::Text(text) => return Some(text.to_string()),
            _ => {}
        }
    }
}
