//! Notifications of commits between nodes by LISTEN and NOTIFY. They may be lost while a connection is down and do not pass
//! poolers, so every waiter also polls.
//!
//! NOTIFY serialises commits, so it is never part of a batch: one task notifies the other nodes afterwards, at most once
//! every ten milliseconds. A notification names the queues and types of the jobs that became ready.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client};
use uuid::Uuid;

use super::options::DatabaseServer;
use super::ready_changes::{CommitNotification, ReadyChanges};
use super::schema::SchemaName;
use super::statements::NOTIFY;
use crate::ReadyJobs;

/// Commits within this time share one notification.
const NOTIFY_PAUSE: Duration = Duration::from_millis(10);
/// Delay before reconnecting.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// Sends and receives notifications of commits.
#[derive(Debug)]
pub(super) struct CommitNotifications {
    shared: Arc<Wakeups>,
    task: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Wakeups {
    /// Commits of other nodes.
    remote: ReadySignal,
    /// Commits of this node.
    wrote: ReadySignal,
}

/// Wakes one task for commits, and has their jobs.
#[derive(Debug, Default)]
struct ReadySignal {
    changes: Mutex<ReadyChanges>,
    wake_up: Notify,
}

impl ReadySignal {
    fn send(&self, ready: Option<Vec<ReadyJobs>>) {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).add(ready);
        self.wake_up.notify_one();
    }

    async fn receive(&self) -> Option<Vec<ReadyJobs>> {
        self.wake_up.notified().await;
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl CommitNotifications {
    /// Listens until it is dropped.
    pub(super) fn start(server: DatabaseServer) -> Self {
        let shared = Arc::<Wakeups>::default();
        let task = tokio::spawn(keep_listening(server, Arc::clone(&shared)));
        Self { shared, task: Some(task) }
    }

    /// Disabled: neither sends nor receives.
    pub(super) fn none() -> Self {
        Self { shared: Arc::default(), task: None }
    }

    /// This node has committed; `None` if the jobs that became ready are not known.
    pub(super) fn wrote(&self, ready: Option<Vec<ReadyJobs>>) {
        self.shared.wrote.send(ready);
    }

    pub(super) async fn remote_commit(&self) -> Option<Vec<ReadyJobs>> {
        self.shared.remote.receive().await
    }
}

impl Drop for CommitNotifications {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

async fn keep_listening(server: DatabaseServer, shared: Arc<Wakeups>) {
    let node = Uuid::now_v7().simple().to_string();
    loop {
        if let Err(error) = listen(&server, &shared, &node).await {
            tracing::debug!(error = super::error::text(&error), "commit notifications interrupted");
        }
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
}

/// Sends and receives on one connection until it fails.
async fn listen(
    server: &DatabaseServer,
    shared: &Arc<Wakeups>,
    node: &str,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut driver) = server.config.connect(server.tls()).await?;
    let receive = async {
        while let Some(message) = poll_fn(|context| driver.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message? {
                let notification = CommitNotification::parse(notification.payload());
                if notification.node != node {
                    shared.remote.send(notification.ready);
                }
            }
        }
        Ok(())
    };
    tokio::select! {
        biased;
        ended = receive => ended,
        ended = send(&client, &server.schema, shared, node) => ended,
    }
}

async fn send(
    client: &Client,
    schema: &SchemaName,
    shared: &Wakeups,
    node: &str,
) -> Result<(), tokio_postgres::Error> {
    client.batch_execute(&format!("listen {}", schema.quoted())).await?;
    // A notification may have been lost before LISTEN took effect.
    shared.remote.send(None);
    loop {
        let ready = shared.wrote.receive().await;
        let text = CommitNotification { node: node.to_owned(), ready }.text();
        client.query_typed(NOTIFY.text, &[(&schema.as_str(), Type::TEXT), (&text, Type::TEXT)]).await?;
        tokio::time::sleep(NOTIFY_PAUSE).await;
    }
}
