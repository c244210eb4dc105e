//! The worker: claims jobs, runs their handlers, renews leases and reports results. A handler gets a [`Job`] and returns a
//! result or a [`Fail`].

mod claim_loop;
mod fail;
mod held_job;
mod job;
mod lease_keeper;
mod reporter;
mod signals;
mod stop;
mod text;
mod trace;

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{oneshot, watch};

use crate::client::Client;
use crate::error::{Error, Result};
use claim_loop::Settings;

pub use fail::{Fail, Stage};
pub use job::Job;
pub use stop::Stop;

/// A worker; configure it, then call [`Worker::run`].
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
    /// A worker for this server, with a unique name and a slot for each core.
    pub fn new(client: Client) -> Self {
        let settings = Settings {
            name: default_name(),
            queues: Vec::new(),
            slots: std::thread::available_parallelism().map_or(1, usize::from),
            wait: Duration::from_secs(20),
            drain: None,
            handlers: HashMap::new(),
        };
        Self { client, settings }
    }

    /// Sets the handler for jobs of this type. Its return value is the job's result.
    pub fn on<P, R, F, W>(mut self, job_type: impl Into<String>, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(Job<P>) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, Fail>> + Send,
    {
        self.settings.handlers.insert(job_type.into(), job::type_erased(handler));
        self
    }

    /// Sets the handler for groups of jobs of this type, whose configuration has `batch`. It gets the jobs of a group and returns a result
    /// or a failure for each, in order; its own failure is that of all of them. Each job has its own lease, stop signal and output, and
    /// takes a slot: with fewer slots than the `size` of a group, groups are smaller. A job without a group is a list of one.
    ///
    /// ```
    /// # use tenure_client::{Client, Fail, Job, Worker};
    /// async fn embed(jobs: Vec<Job<String>>) -> Result<Vec<Result<usize, Fail>>, Fail> {
    ///     Ok(jobs.iter().map(|job| Ok(job.payload.len())).collect())
    /// }
    /// # fn worker(client: Client) -> Worker {
    /// Worker::new(client).on_batch("embed", embed).slots(100)
    /// # }
    /// ```
    pub fn on_batch<P, R, F, W>(mut self, job_type: impl Into<String>, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize,
        F: Fn(Vec<Job<P>>) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Vec<Result<R, Fail>>, Fail>> + Send,
    {
        self.settings.handlers.insert(job_type.into(), job::type_erased_batch(handler));
        self
    }

    setters! {
        /// Number of jobs that run at the same time.
        slots(count: usize) => settings.slots = count.max(1);
        /// The worker's name, which must be unique among running workers.
        name(name: impl Into<String>) => settings.name = name.into();
        /// How long one claim waits for work at the server; by default 20 s.
        wait(wait: Duration) => settings.wait = wait;
        /// How long handlers may run after a shutdown has begun; by default without limit. Then they get
        /// [`Stop::Shutdown`], have one second to return, and their jobs are released.
        drain(limit: Duration) => settings.drain = Some(limit);
    }

    /// Takes jobs from these queues only.
    pub fn queues<Q: Into<String>>(mut self, queues: impl IntoIterator<Item = Q>) -> Self {
        self.settings.queues = queues.into_iter().map(Into::into).collect();
        self
    }

    /// Runs until SIGTERM or ctrl-c, then drains. A second signal ends the process at once.
    pub async fn run(self) -> Result<()> {
        let shutdown = signals::shutdown().await?;
        self.run_until(async { drop(shutdown.await) }).await
    }

    /// Runs until this future is done, then drains. Returns an error if the server refuses this worker's claims; while the
    /// server cannot be reached, the worker keeps trying.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        let Self { client, settings } = self;
        if settings.handlers.is_empty() {
            return Err(Error::Protocol("a worker needs a handler: add one with `on`".into()));
        }
        let client = client.with_own_connections()?;
        let handler_runtime = tokio::runtime::Handle::current();
        let (drain, draining) = watch::channel(false);
        let (result_sender, mut result) = oneshot::channel();
        let thread = std::thread::Builder::new().name("tenure-worker".into());
        let spawned = thread.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let run = claim_loop::run(settings, client, handler_runtime, draining);
            let ended = match runtime {
                Ok(runtime) => runtime.block_on(run),
                Err(why) => Err(Error::Protocol(format!("cannot start the worker's runtime: {why}"))),
            };
            // Without a receiver, the worker was dropped.
            let _ = result_sender.send(ended);
        });
        spawned.map_err(|why| Error::Protocol(format!("cannot start the worker's thread: {why}")))?;
        let panicked = |_| Err(Error::Protocol("the worker's thread panicked".into()));
        tokio::select! {
            biased;
            ended = &mut result => return ended.unwrap_or_else(panicked),
            () = shutdown => {}
        }
        let _ = drain.send(true);
        result.await.unwrap_or_else(panicked)
    }
}

/// Host name, process id and a random part.
fn default_name() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
    let random = uuid::Uuid::now_v7().simple().to_string();
    let host = host.unwrap_or_else(|| "worker".into());
    format!("{}-{}-{}", text::truncate(&host, 200), std::process::id(), &random[24..])
}
