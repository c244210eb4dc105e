//! Hints between nodes by LISTEN and NOTIFY. Only hints: they are lost while a connection is down and do not pass a
//! pooler, so whoever waits for one also looks by himself from time to time.
//!
//! NOTIFY makes commits wait for each other, so it is never part of a batch: one task tells the others after the
//! fact, at most once in ten milliseconds, however many batches there were.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls};
use uuid::Uuid;

/// How many commits become one notification.
const NOTIFY_PAUSE: Duration = Duration::from_millis(10);
/// How long to wait before a lost connection is made again.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// The node's ear and mouth.
#[derive(Debug)]
pub(super) struct Hints {
    shared: Arc<Shared>,
    task: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Another node may have committed something.
    heard: Notify,
    /// This node has.
    wrote: Notify,
}

impl Hints {
    /// Starts listening, and goes on until it is dropped.
    pub(super) fn start(config: Config) -> Self {
        let shared = Arc::<Shared>::default();
        let task = tokio::spawn(keep_listening(config, Arc::clone(&shared)));
        Self { shared, task: Some(task) }
    }

    /// Neither hears nor tells anything.
    pub(super) fn none() -> Self {
        Self { shared: Arc::default(), task: None }
    }

    /// This node committed events.
    pub(super) fn wrote(&self) {
        self.shared.wrote.notify_one();
    }

    /// Waits for another node.
    pub(super) async fn heard(&self) {
        self.shared.heard.notified().await;
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

async fn keep_listening(config: Config, shared: Arc<Shared>) {
    let node = Uuid::now_v7().simple().to_string();
    loop {
        if let Err(error) = listen(&config, &shared, &node).await {
            tracing::debug!(error = super::error::text(&error), "hints from other nodes are interrupted");
        }
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
}

/// Listens and tells on one connection until it breaks.
async fn listen(config: &Config, shared: &Arc<Shared>, node: &str) -> Result<(), tokio_postgres::Error> {
    let (client, mut driver) = config.connect(NoTls).await?;
    let (ear, own) = (Arc::clone(shared), node.to_owned());
    let hear = async move {
        while let Some(message) = poll_fn(|context| driver.poll_message(context)).await {
            match message? {
                AsyncMessage::Notification(told) if told.payload() != own => ear.heard.notify_one(),
                _ => {}
            }
        }
        Ok(())
    };
    tokio::select! {
        biased;
        ended = hear => ended,
        ended = tell(&client, shared, node) => ended,
    }
}

async fn tell(client: &Client, shared: &Shared, node: &str) -> Result<(), tokio_postgres::Error> {
    client.batch_execute("listen tenure").await?;
    // Something may have been missed while nobody listened.
    shared.heard.notify_one();
    loop {
        shared.wrote.notified().await;
        client.batch_execute(&format!("notify tenure, '{node}'")).await?;
        tokio::time::sleep(NOTIFY_PAUSE).await;
    }
}
