//! A test kit: a server in memory, on a free loopback port, with a clock that only the test advances.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use std::time::Duration;
//! use tenure_client::testing::Kit;
//! use tenure_client::{NewJob, Worker};
//!
//! let kit = Kit::start().await;
//! let job = kit.client().create(NewJob::new("hello", &"Ada").unwrap()).await.unwrap().job;
//! kit.work(Worker::new(kit.client()).on("hello", async |job: tenure_client::Job<String>| Ok(job.payload.clone())))
//!     .await;
//! assert_eq!(kit.client().get(&job.id).await.unwrap().state, "succeeded");
//! kit.stop().await;
//! # });
//! ```

use std::time::Duration;

use tenure_config::Config;
use tenure_core::time::{Millis, Timestamp};
use tenure_runtime::Definitions;
use tenure_server::{Pages, Server};
use tenure_store::{Backend as _, MemoryStore};

use crate::{Client, JobFilter, JobRecord, Page, Worker};

/// Start of the kit's clock.
const BEGINNING: Timestamp = Timestamp(1_800_000_000_000);
/// Interval at which the kit checks for open work.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A server for a test.
pub struct Kit {
    server: Server,
    store: MemoryStore,
    client: Client,
    url: String,
}

impl Kit {
    /// With the five built-in lifecycles and the catch-all type.
    pub async fn start() -> Self {
        Self::with(Definitions::default()).await
    }

    /// With these lifecycles and types.
    pub async fn with(definitions: Definitions) -> Self {
        let store = MemoryStore::with_manual_clock(BEGINNING);
        let config = Config { listen: ([127, 0, 0, 1], 0).into(), definitions, ..Config::default() };
        let server = Server::start_on(store.clone().into(), config, |_| Pages::none()).await;
        let server = server.expect("a server in memory starts on a free port");
        let url = format!("http://{}", server.address());
        let client = Client::new(&url).expect("an address is a URL");
        Self { server, store, client, url }
    }

    /// The server's address, as a URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A client of this server.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Advances the clock. Timeouts that are due by then are applied before the next call is answered.
    pub fn advance(&self, span: Duration) {
        self.store.advance(Millis(span.as_millis() as u64));
    }

    /// Runs a worker until it has handled every job that can be claimed now.
    pub async fn work(&self, worker: Worker) {
        worker.run_until(self.idle()).await.expect("a worker of the kit runs");
    }

    /// Resolves when no job is held or active, and none could be claimed.
    async fn idle(&self) {
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        loop {
            ticks.tick().await;
            let now = self.store.now().await.expect("a store in memory answers").at;
            let mut busy = false;
            for phase in ["ready", "held", "active"] {
                let filter = JobFilter { phase: Some(phase.to_owned()), ..JobFilter::default() };
                let page = Page { limit: Some(500), ..Page::default() };
                let found = self.client.list(&filter, &page).await.expect("the kit's server answers");
                let run_at = |job: &JobRecord| job.run_at.as_deref().and_then(Timestamp::parse);
                let is_later = |job: &JobRecord| run_at(job).is_some_and(|run_at| now < run_at);
                busy |= found.rows.iter().any(|job| phase != "ready" || !is_later(job));
            }
            if !busy {
                return;
            }
        }
    }

    /// Stops the server.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}
