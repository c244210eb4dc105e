//! Engines on the socket: each acks and completes what is pushed to it, at once. Socket.IO by hand, over a web socket:
//! a client that does more would be measured, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::load::{Load, payload, tell};

/// Jobs that one engine has at once.
const CAPACITY: usize = 4;
/// Jobs in one request of the producer.
const BATCH: usize = 500;

/// What all engines have done together.
#[derive(Default)]
struct Done {
    connected: AtomicUsize,
    completed: AtomicUsize,
}

impl Load {
    /// Jobs per second that are pushed to engines, acked and completed, while a producer keeps enough of them waiting.
    pub(super) async fn engines(&self, count: usize, span: Duration) -> Result<f64> {
        let (done, over) = (Arc::<Done>::default(), watch::Sender::new(false));
        let mut tasks = JoinSet::new();
        for number in 0..count {
            let engine = engine(self.clone(), number, Arc::clone(&done), over.subscribe());
            tasks.spawn(engine);
        }
        while done.connected.load(Ordering::Relaxed) < count {
            // One that ends now has an error to tell.
            tokio::select! {
                Some(ended) = tasks.join_next() => ended??,
                () = tokio::time::sleep(Duration::from_millis(10)) => {}
            }
        }
        let (producer, job) = (self.client()?, json!({ "type": "engines", "payload": payload() }));
        let (jobs, enough) = (json!({ "jobs": vec![job; BATCH] }), BATCH.max(2 * CAPACITY * count));
        let (begun, mut created) = (Instant::now(), 0);
        while begun.elapsed() < span {
            if created < done.completed.load(Ordering::Relaxed) + enough {
                tell(&producer, "/api/jobs/batch", &jobs).await?;
                created += BATCH;
            } else {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let rate = done.completed.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
        over.send_replace(true);
        for ended in tasks.join_all().await {
            ended?;
        }
        Ok(rate)
    }
}

async fn engine(load: Load, number: usize, done: Arc<Done>, mut over: watch::Receiver<bool>) -> Result<()> {
    let mut socket = connect(&load, number).await?;
    done.connected.fetch_add(1, Ordering::Relaxed);
    loop {
        let text = tokio::select! {
            text = next(&mut socket) => text?,
            _ = over.wait_for(|over| *over) => return Ok(()),
        };
        if text == "2" {
            socket.send(Message::text("3")).await?;
        } else if text.starts_with("43/engine,") {
            if !text.ends_with("[{\"ok\":true}]") {
                bail!("a completion was answered with {text}");
            }
            done.completed.fetch_add(1, Ordering::Relaxed);
        } else if let Some(event) = text.strip_prefix("42/engine,") {
            let event: Value = serde_json::from_str(event)?;
            let hold = json!({ "jobId": event[1]["jobId"], "fence": event[1]["fence"] });
            socket.feed(Message::text(format!("42/engine,{}", json!(["job_ack", hold])))).await?;
            socket.send(Message::text(format!("42/engine,1{}", json!(["job_complete", hold])))).await?;
        }
    }
}

async fn connect(load: &Load, number: usize) -> Result<WebSocketStream<TcpStream>> {
    let address = load.url.strip_prefix("http://").context("engines of the bench speak http:// alone")?;
    let address = address.trim_end_matches('/');
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let url = format!("ws://{address}/socket.io/?EIO=4&transport=websocket");
    let (mut socket, _) = client_async(url, stream).await.context("no web socket")?;
    next(&mut socket).await?;
    let mut auth =
        json!({ "engineId": format!("bench-{number}"), "jobTypes": ["engines"], "capacity": CAPACITY });
    if let Some(key) = &load.key {
        auth["token"] = json!(key);
    }
    socket.send(Message::text(format!("40/engine,{auth}"))).await?;
    let answer = next(&mut socket).await?;
    if !answer.starts_with("40/engine,") {
        bail!("an engine was not let in: {answer}");
    }
    Ok(socket)
}

/// The next text.
async fn next(socket: &mut WebSocketStream<TcpStream>) -> Result<String> {
    loop {
        if let Message::Text(text) = socket.next().await.context("the server closed the connection")?? {
            return Ok(text.to_string());
        }
    }
}
