//! The worker: claims jobs, runs their handlers, keeps their leases, reports what came of them. A handler sees none of
//! that: it gets a [`Job`] and returns a result or a [`Fail`].

mod fail;
mod held;
mod job;
mod keeper;
mod reporter;
mod room;
mod stop;
mod text;

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{oneshot, watch};

use crate::client::Client;
use crate::error::{Error, Result};
use room::{Order, Settings};

pub use fail::{Fail, Stage};
pub use job::Job;
pub use stop::Stop;

/// A worker, being set up.
#[must_use = "a worker does nothing until it runs"]
pub struct Worker {
    client: Client,
    settings: Settings,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("name", &self.settings.name).finish_non_exhaustive()
    }
}

impl Worker {
    /// A worker of this server, with a name of its own and a slot for each core.
    pub fn new(client: Client) -> Self {
        let settings = Settings {
            name: own_name(),
            queues: Vec::new(),
            slots: std::thread::available_parallelism().map_or(1, usize::from),
            wait: Duration::from_secs(20),
            drain: None,
            handlers: HashMap::new(),
        };
        Self { client, settings }
    }

    /// Runs this handler for jobs of this type. Its return value is the job's result.
    pub fn on<P, R, F, W>(mut self, job_type: impl Into<String>, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(Job<P>) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, Fail>> + Send,
    {
        self.settings.handlers.insert(job_type.into(), job::erased(handler));
        self
    }

    /// How many jobs run at a time.
    pub fn slots(mut self, count: usize) -> Self {
        self.settings.slots = count.max(1);
        self
    }

    /// The worker's name. No two live workers may have the same.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Takes jobs from these queues only.
    pub fn queues<Q: Into<String>>(mut self, queues: impl IntoIterator<Item = Q>) -> Self {
        self.settings.queues = queues.into_iter().map(Into::into).collect();
        self
    }

    /// How long one claim waits for work at the server; 20 s unless told.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.settings.wait = wait;
        self
    }

    /// How long handlers may go on after a shutdown has begun; as long as they like unless told. Then they get
    /// [`Stop::Shutdown`], have a second to return, and their jobs are released.
    pub fn drain(mut self, limit: Duration) -> Self {
        self.settings.drain = Some(limit);
        self
    }

    /// Works until SIGTERM or ctrl-c, then drains.
    pub async fn run(self) -> Result<()> {
        self.run_until(shutdown_signal()).await
    }

    /// Works until this future is done, then drains. An error means that the server refuses to give this worker any
    /// work; a server that cannot be reached is waited for.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        let Self { client, settings } = self;
        if settings.handlers.is_empty() {
            return Err(Error::Protocol("a worker needs a handler: add one with `on`".into()));
        }
        let client = client.apart()?;
        let outside = tokio::runtime::Handle::current();
        let (order, orders) = watch::channel(Order::Work);
        let (ended, mut end) = oneshot::channel();
        let thread = std::thread::Builder::new().name("tenure-worker".into());
        let spawned = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let result = match runtime {
                Ok(runtime) => runtime.block_on(room::work(settings, client, outside, orders)),
                Err(why) => Err(Error::Protocol(format!("the worker has no runtime: {why}"))),
            };
            // Nobody waits for the end of a worker that was dropped.
            let _ = ended.send(result);
        });
        spawned.map_err(|why| Error::Protocol(format!("the worker has no thread: {why}")))?;
        let gone = |_| Err(Error::Protocol("the worker's thread has panicked".into()));
        tokio::select! {
            biased;
            result = &mut end => return result.unwrap_or_else(gone),
            () = shutdown => {}
        }
        let _ = order.send(Order::Drain);
        end.await.unwrap_or_else(gone)
    }
}

/// The machine, the process, and something by chance.
fn own_name() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let chance = uuid::Uuid::now_v7().simple().to_string();
    let host = host.unwrap_or_else(|| "worker".into());
    format!("{}-{}-{}", text::cut(&host, 200), std::process::id(), &chance[24..])
}

async fn shutdown_signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = interrupt => {}
        () = terminate() => {}
    }
}

#[cfg(unix)]
async fn terminate() {
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminate() {
    std::future::pending().await
}
