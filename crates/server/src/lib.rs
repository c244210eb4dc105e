//! The server: HTTP API, Socket.IO, event streams, webhooks, assets, metrics and telemetry on one port.
//!
//! In reading order: `router` (all routes), `middleware` (around every request), `http` (one file per noun),
//! `lifecycle_api` (the same calls with a lifecycle's field names), `socket` (engines and front ends), `listen` (connections and TLS). The
//! dashboard is passed in: see [`Pages`].

mod answer_cache;
mod app;
mod assets;
mod body;
mod check;
mod configuration;
mod event_broadcast;
mod headers;
mod http;
mod lifecycle_api;
mod listen;
mod memory;
mod metrics;
mod middleware;
mod prelude;
mod reload;
mod router;
mod socket;
pub mod telemetry;
mod trace_context;
mod webhooks;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use check::check;
use tenure_config::{Config, Limits, StoreLocation};
use tenure_core::command::CommandEnvelope;
use tenure_runtime::{Committed, Definitions, Options, Runtime, StartError};
use tenure_service::assets::Contents;
use tenure_service::auth::jwt::Jwt;
use tenure_service::keyring::Keyring;
pub use tenure_service::pages::Pages;
use tenure_service::reloadable::Reloadable;
use tenure_service::{Service, ServiceParts};
use tenure_stats::{Counters, Stats, ThisNode};
use tenure_store::{Outbox, Store, StoreError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use app::App;
use assets::garbage;
use lifecycle_api::LifecycleApis;
use listen::ListenerSettings;
use memory::Memory;
use metrics::Metrics;
use socket::hub::Hub;

/// How often the workers seen, the keys used and the counts of this node are written to the store.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);

/// Delay between two attempts to connect to the database at start.
const CONNECT_PAUSE: Duration = Duration::from_secs(1);

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A lifecycle or a type cannot be loaded.
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// A server without keys must not be reachable from other machines.
    #[error(
        "there are no keys and [auth.jwt] is not set, so every caller of {0} would be admin: listen on a loopback \
         address, or create a key first with `tenure key create --role admin`"
    )]
    Open(SocketAddr),
    /// A file or address of the configuration cannot be used.
    #[error("{0}")]
    Config(String),
}

/// A running server.
pub struct Server {
    address: SocketAddr,
    /// What is applied now.
    config: Config,
    listener: Arc<Reloadable<ListenerSettings>>,
    app: App,
    stop: oneshot::Sender<()>,
    tasks: Tasks,
}

struct Tasks {
    serve: JoinHandle<()>,
    report: JoinHandle<()>,
    watch_keys: JoinHandle<()>,
    webhooks: JoinHandle<()>,
    garbage: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens the configured store, and serves it with these pages.
    pub async fn start(config: Config, pages: impl FnOnce(Service) -> Pages) -> Result<Self, ServeError> {
        let store = match &config.store {
            StoreLocation::Data(folder) => Store::open(folder).await?,
            StoreLocation::Database(url) => connect(url.reveal(), &config.database_schema).await?,
        };
        Self::start_on(store, config, pages).await
    }

    /// Serves an open store.
    pub async fn start_on(
        store: Store,
        config: Config,
        pages: impl FnOnce(Service) -> Pages,
    ) -> Result<Self, ServeError> {
        let contents = Contents::open(&config, store.properties().kind).map_err(ServeError::Config)?;
        let Config { listen, definitions, limits, webhooks, jwt, settings, .. } = config.clone();
        let lifecycle_apis = LifecycleApis::new(&definitions.lifecycles).map_err(ServeError::Config)?;
        let listener_settings = ListenerSettings::new(&config).map_err(ServeError::Config)?;
        let jwt = jwt.map(Jwt::open).transpose().map_err(ServeError::Config)?;
        let keyring = Arc::new(Keyring::open(store.clone(), jwt).await?);
        if keyring.is_open() && !listen.ip().is_loopback() {
            return Err(ServeError::Open(listen));
        }
        let outboxes = config.intake.iter().map(|one| Outbox::new(one.database_url.reveal(), &one.schema));
        let outboxes = outboxes.collect::<Result<Vec<_>, _>>()?;
        let (hub, memory) = (Arc::<Hub>::default(), Memory::new(limits.memory));
        store.limit_memory(memory.bytes_max());
        let ObservedRuntime { runtime, metrics, counters } =
            start_runtime(store, definitions, &limits, Arc::clone(&hub), Arc::clone(&memory), outboxes)
                .await?;
        let not_bound = |error| ServeError::Listen(listen, error);
        let listener = TcpListener::bind(listen).await.map_err(not_bound)?;
        let address = listener.local_addr().map_err(not_bound)?;
        let id = runtime.new_id().to_string().into();
        let this_node = ThisNode::new(id, address.to_string().into(), runtime.now());
        let stats = Stats::new(runtime.clone(), counters, this_node);
        stats.set_thresholds(config.attention);
        let (limits, settings) = (limits.into(), settings.into());
        let service = Service::new(ServiceParts { runtime, keyring, stats, limits, contents, settings });
        let pages = pages(service.clone());
        let app = App::new(service, metrics, hub, lifecycle_apis, webhooks, memory);
        configuration::record(&app).await;
        let router = router::router(&app, pages);
        let (stop, stopped) = oneshot::channel();
        let listening = Arc::new(Reloadable::from(listener_settings));
        let settings = Arc::clone(&listening);
        let serve = tokio::spawn(async move {
            listen::serve(listener, router, &settings, async { drop(stopped.await) }).await;
        });
        let tasks = Tasks::spawn(&app, serve);
        Ok(Self { address, config, listener: listening, app, stop, tasks })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the server has no keys, and therefore only serves this machine.
    pub fn is_open(&self) -> bool {
        self.app.keyring().is_open()
    }

    /// Drains the node: claims are refused, streams end, open requests finish. Then answers every accepted command and
    /// closes the store.
    pub async fn stop(self) {
        let Self { app, stop, tasks, .. } = self;
        app.drain();
        app.hub.close().await;
        // Fails only if the listener has ended already.
        let _ = stop.send(());
        drop(tasks.serve.await);
        drop(tasks.webhooks.await);
        tasks.report.abort();
        tasks.watch_keys.abort();
        tasks.garbage.inspect(JoinHandle::abort);
        app.stats().idle().await;
        // Without this report other nodes notice the missing heartbeat.
        drop(timeout(REPORT_INTERVAL, write_minutes(&app, true)).await);
        drop(timeout(REPORT_INTERVAL, submit_report(&app, app.stats().last_report())).await);
        app.runtime().stop().await;
    }
}

/// Connects as soon as the database is available: a node that starts during a failover waits for the new primary.
async fn connect(url: &str, schema: &str) -> Result<Store, StoreError> {
    loop {
        match Store::connect_to(url, schema).await {
            Err(StoreError::Unavailable(why)) => tracing::warn!(why, "database not available; waiting"),
            connected => return connected,
        }
        sleep(CONNECT_PAUSE).await;
    }
}

impl Tasks {
    fn spawn(app: &App, serve: JoinHandle<()>) -> Self {
        tokio::spawn(warm_up(app.clone()));
        let keyring = Arc::clone(app.keyring());
        let watch_keys = tokio::spawn(async move { keyring.watch().await });
        let contents = app.contents().cloned();
        Self {
            serve,
            report: tokio::spawn(report_periodically(app.clone())),
            watch_keys,
            webhooks: tokio::spawn(webhooks::deliver_all(app.clone())),
            garbage: contents.map(|contents| tokio::spawn(garbage::delete_all(app.clone(), contents))),
        }
    }
}

struct ObservedRuntime {
    runtime: Runtime,
    metrics: Arc<Metrics>,
    counters: Arc<Counters>,
}

/// Starts the runtime so that metrics, counters and the hub observe its commits.
async fn start_runtime(
    store: Store,
    definitions: Definitions,
    limits: &Limits,
    hub: Arc<Hub>,
    memory: Arc<Memory>,
    outboxes: Vec<Outbox>,
) -> Result<ObservedRuntime, ServeError> {
    // Both need the runtime's catalog, so they exist only after its start.
    let observers: Arc<OnceLock<(Arc<Metrics>, Arc<Counters>)>> = Arc::default();
    let observing = Arc::clone(&observers);
    let observe = Arc::new(move |committed: &Committed| {
        if let Some((metrics, counters)) = observing.get() {
            metrics.count(committed);
            counters.count(committed);
        }
        telemetry::export_attempts(committed);
        hub.on_commit(committed);
    });
    let is_short_of_memory = Arc::new(move || memory.is_short());
    let creations_per_second = limits.creations_per_second;
    let options =
        Options { observe, creations_per_second, is_short_of_memory, outboxes, ..Options::default() };
    let runtime = Runtime::start(store, definitions, options).await?;
    let (catalog, kind) = (runtime.catalog(), runtime.store().properties().kind.as_str());
    let (metrics, counters) = (Arc::new(Metrics::new(&catalog, kind)), Arc::new(Counters::new(&catalog)));
    observers.get_or_init(|| (Arc::clone(&metrics), Arc::clone(&counters)));
    Ok(ObservedRuntime { runtime, metrics, counters })
}

/// Reads the statistics once, so that the first page is fast.
async fn warm_up(app: App) {
    if let Err(error) = app.stats().snapshot().await {
        tracing::warn!(%error, "first statistics read failed");
    }
}

/// Writes the workers seen, the keys used and the counts of this node to the store, where other nodes read them.
async fn report_periodically(app: App) {
    loop {
        if let Some(updates) = app.worker_registry().take_updates(app.runtime().now()) {
            submit_report(&app, updates).await;
        }
        if let Some(uses) = app.keyring().take_uses() {
            submit_report(&app, uses).await;
        }
        if let Some(report) = app.stats().take_report() {
            submit_report(&app, report).await;
        }
        write_minutes(&app, false).await;
        sleep(REPORT_INTERVAL).await;
    }
}

async fn write_minutes(app: &App, also_unfinished: bool) {
    if let Err(error) = app.stats().write_minutes(also_unfinished).await {
        tracing::warn!(%error, "statistics of a minute not written yet");
    }
}

async fn submit_report(app: &App, report: CommandEnvelope) {
    if let Err(error) = app.runtime().submit(report).await {
        tracing::warn!(%error, "node report failed");
    }
}
