//! Engines on the socket: each acknowledges and completes every pushed job at once. Socket.IO is written by hand on a
//! WebSocket, so that the cost of a client library is not measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::load::{Load, post};
use super::payload;

/// Jobs that one engine holds at a time.
const CAPACITY: usize = 4;
/// Jobs in one request of the producer.
const BATCH: usize = 500;

#[derive(Default)]
struct Counters {
    connected: AtomicUsize,
    completed: AtomicUsize,
}

/// The job in a pushed event: its first element is the event's name.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PushedJob {
    job_id: String,
    fence: u64,
}

impl Load {
    /// Jobs per second that are pushed, acknowledged and completed while a producer keeps enough of them waiting.
    pub(super) async fn engines(&self, count: usize, span: Duration) -> Result<f64> {
        let (counters, stop) = (Arc::<Counters>::default(), watch::Sender::new(false));
        let mut tasks = JoinSet::new();
        for number in 0..count {
            tasks.spawn(run_engine(self.clone(), number, Arc::clone(&counters), stop.subscribe()));
        }
        while counters.connected.load(Ordering::Relaxed) < count {
            // A task that ends now has failed.
            tokio::select! {
                Some(ended) = tasks.join_next() => ended??,
                () = tokio::time::sleep(Duration::from_millis(10)) => {}
            }
        }
        let (producer, job) = (self.client()?, json!({ "type": "engines", "payload": payload() }));
        let (jobs, enough) = (json!({ "jobs": vec![job; BATCH] }), BATCH.max(2 * CAPACITY * count));
        let (start, mut created) = (Instant::now(), 0);
        while start.elapsed() < span {
            if created < counters.completed.load(Ordering::Relaxed) + enough {
                post(&producer, "/api/jobs/batch", &jobs).await?;
                created += BATCH;
            } else {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let rate = counters.completed.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
        stop.send_replace(true);
        for ended in tasks.join_all().await {
            ended?;
        }
        Ok(rate)
    }
}

async fn run_engine(
    load: Load,
    number: usize,
    counters: Arc<Counters>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    let mut socket = connect(&load, number).await?;
    counters.connected.fetch_add(1, Ordering::Relaxed);
    loop {
        let text = tokio::select! {
            text = next(&mut socket) => text?,
            _ = stop.wait_for(|stop| *stop) => return Ok(()),
        };
        if text == "2" {
            socket.send(Message::text("3")).await?;
        } else if text.starts_with("43/engine,") {
            if !text.ends_with("[{\"ok\":true}]") {
                bail!("a completion was answered with {text}");
            }
            counters.completed.fetch_add(1, Ordering::Relaxed);
        } else if let Some(event) = text.strip_prefix("42/engine,") {
            let (_, PushedJob { job_id, fence }) = serde_json::from_str::<(String, PushedJob)>(event)?;
            let holder = json!({ "jobId": job_id, "fence": fence });
            socket.feed(Message::text(format!("42/engine,{}", json!(["job_ack", holder])))).await?;
            socket.send(Message::text(format!("42/engine,1{}", json!(["job_complete", holder])))).await?;
        }
    }
}

async fn connect(load: &Load, number: usize) -> Result<WebSocketStream<TcpStream>> {
    let address =
        load.url.strip_prefix("http://").context("engines of the benchmark need an http:// address")?;
    let address = address.trim_end_matches('/');
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let url = format!("ws://{address}/socket.io/?EIO=4&transport=websocket");
    let (mut socket, _) = client_async(url, stream).await.context("the WebSocket handshake failed")?;
    next(&mut socket).await?;
    let mut auth =
        json!({ "engineId": format!("bench-{number}"), "jobTypes": ["engines"], "capacity": CAPACITY });
    if let Some(key) = &load.key {
        auth["token"] = json!(key);
    }
    socket.send(Message::text(format!("40/engine,{auth}"))).await?;
    let mut answer = next(&mut socket).await?;
    while answer == "2" {
        socket.send(Message::text("3")).await?;
        answer = next(&mut socket).await?;
    }
    if !answer.starts_with("40/engine,") {
        bail!("the server refused an engine: {answer}");
    }
    Ok(socket)
}

async fn next(socket: &mut WebSocketStream<TcpStream>) -> Result<String> {
    loop {
        if let Message::Text(text) = socket.next().await.context("the server closed the connection")?? {
            return Ok(text.to_string());
        }
    }
}
