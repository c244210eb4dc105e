//! Tenure on the network: HTTP, event streams, keys, telemetry.
//!
//! In reading order: `router` (every route on one screen), `gate` (who calls), `http` (a file for each noun), `door` (the
//! same in a lifecycle's own words), `problem` (what is answered when the answer is no), `ui` (the dashboard), `listen` (the socket).

mod app;
mod assets;
mod auth;
mod body;
mod caller;
pub mod config;
mod crew;
mod door;
mod explain;
mod feed;
mod gate;
mod headers;
mod http;
mod keyring;
mod listen;
mod listing;
mod metrics;
mod problem;
mod pulse;
mod query;
mod roll;
mod router;
mod shell;
mod socket;
mod sse;
mod stats;
pub mod telemetry;
mod trace_context;
mod ui;
mod webhooks;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tenure_core::command::Asked;
use tenure_runtime::{Committed, Definitions, Options, Runtime, StartError};
use tenure_store::{AnyStore, StoreError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use app::{App, Parts};
use assets::{Contents, garbage};
use auth::jwt::{Jwt, JwtSettings};
use config::{Config, JwtConfig, StoreAt};
use door::Doors;
use keyring::Keyring;
use metrics::Metrics;
use pulse::{Own, Pulse, Tally};
use socket::switchboard::Switchboard;

/// How often the store is told which workers were heard, and what was counted.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A lifecycle or a type cannot be in force.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The address is taken, or not ours.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// A server without keys that others could reach.
    #[error(
        "there is no key and no [auth.jwt], so everybody who reaches {0} would be admin: listen on a loopback \
         address, and make a key first (`tenure key create --role admin`)"
    )]
    Open(SocketAddr),
    /// A file of the configuration cannot be used.
    #[error("{0}")]
    Config(String),
}

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    app: App,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    telling: JoinHandle<()>,
    sending: JoinHandle<()>,
    deleting: Option<JoinHandle<()>>,
}

impl Server {
    /// Opens the store that the configuration names, and serves it.
    pub async fn start(config: Config) -> Result<Self, ServeError> {
        let store = match &config.store {
            StoreAt::Data(folder) => AnyStore::open(folder).await?,
            StoreAt::Database(url) => AnyStore::connect(url.reveal()).await?,
        };
        Self::on(store, config).await
    }

    /// Serves a store that is open already.
    pub async fn on(store: AnyStore, config: Config) -> Result<Self, ServeError> {
        let contents = Contents::open(&config, &store).map_err(ServeError::Config)?;
        let Config { listen, definitions, limits, webhooks, jwt, tls, settings, .. } = config;
        let doors = Doors::open(&definitions.lifecycles).map_err(ServeError::Config)?;
        let tls = tls.as_ref().map(listen::tls).transpose().map_err(ServeError::Config)?;
        let jwt = jwt.map(jwt_settings).map(Jwt::open).transpose().map_err(ServeError::Config)?;
        let keyring = Arc::new(Keyring::open(store.clone(), jwt).await?);
        if keyring.is_open() && !listen.ip().is_loopback() {
            return Err(ServeError::Open(listen));
        }
        let switchboard = Arc::<Switchboard>::default();
        let (runtime, metrics, tally) =
            run(store, definitions, limits.creations_per_second, Arc::clone(&switchboard)).await?;
        let bound = TcpListener::bind(listen).await;
        let listener = bound.map_err(|error| ServeError::Listen(listen, error))?;
        let address = listener.local_addr().map_err(|error| ServeError::Listen(listen, error))?;
        let (id, started_at) = (runtime.new_id().to_string().into(), runtime.now());
        let pulse = Pulse::new(tally, Own::new(id, address.to_string().into(), started_at));
        let parts = Parts {
            runtime,
            keyring,
            metrics,
            pulse,
            switchboard,
            doors,
            limits,
            webhooks,
            contents,
            settings,
        };
        let app = App::new(parts);
        let router = router::router(&app);
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            listen::serve(listener, (router, tls), &limits, stopped).await;
        });
        let telling = tokio::spawn(keep_telling(app.clone()));
        tokio::spawn(begin(app.clone()));
        let sending = tokio::spawn(webhooks::keep_sending(app.clone()));
        let deleting = app.contents().cloned();
        let deleting = deleting.map(|contents| tokio::spawn(garbage::keep_deleting(app.clone(), contents)));
        Ok(Self { address, app, stop, serving, telling, sending, deleting })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether it has no keys: then only this machine can reach it.
    pub fn is_open(&self) -> bool {
        self.app.keyring().is_open()
    }

    /// Drains: no new claims, streams end, open requests finish; then everything that was accepted is answered, and the
    /// store is closed.
    pub async fn stop(self) {
        let Self { app, stop, serving, telling, sending, deleting, .. } = self;
        app.drain();
        app.switchboard().close().await;
        // Only a server that broke has stopped listening by itself.
        let _ = stop.send(());
        drop(serving.await);
        drop(sending.await);
        telling.abort();
        deleting.inspect(JoinHandle::abort);
        app.pulse().rest().await;
        // A store that is away need not hear it: the node will be missed.
        drop(tokio::time::timeout(TELL_EVERY, tell(&app, app.pulse().farewell())).await);
        app.runtime().stop().await;
    }
}

/// Starts the runtime with metrics and a tally that count what it commits.
async fn run(
    store: AnyStore,
    definitions: Definitions,
    creations_per_second: Option<u32>,
    switchboard: Arc<Switchboard>,
) -> Result<(Runtime<AnyStore>, Arc<Metrics>, Arc<Tally>), ServeError> {
    let counting: Arc<OnceLock<(Arc<Metrics>, Arc<Tally>)>> = Arc::default();
    let counted = Arc::clone(&counting);
    let observe = Arc::new(move |committed: &Committed| {
        if let Some((metrics, tally)) = counted.get() {
            metrics.count(committed);
            tally.count(committed);
        }
        switchboard.hear(committed);
    });
    let runtime =
        Runtime::start(store, definitions, Options { observe, creations_per_second, ..Options::default() })
            .await?;
    let catalog = runtime.catalog();
    let (metrics, tally) = (Arc::new(Metrics::new(&catalog)), Arc::new(Tally::new(&catalog)));
    counting.get_or_init(|| (Arc::clone(&metrics), Arc::clone(&tally)));
    Ok((runtime, metrics, tally))
}

fn jwt_settings(config: JwtConfig) -> JwtSettings {
    let JwtConfig { issuer, audience, jwks, algorithms, role_claim, user_claim } = config;
    JwtSettings { issuer, audience, jwks, algorithms, role_claim, user_claim }
}

/// Reads what pages show, so that the first of them is quick.
async fn begin(app: App) {
    if let Err(problem) = app.pulse().now(&app).await {
        tracing::warn!(?problem, "the first numbers could not be read");
    }
}

/// Tells the store which workers were heard and what this node counted, so that every node can say.
async fn keep_telling(app: App) {
    loop {
        if let Some(news) = app.crew().news(app.runtime().now()) {
            tell(&app, news).await;
        }
        if let Some(news) = app.pulse().news(&app) {
            tell(&app, news).await;
        }
        tokio::time::sleep(TELL_EVERY).await;
    }
}

async fn tell(app: &App, news: Asked) {
    if let Err(error) = app.runtime().submit(news).await {
        tracing::warn!(%error, "the store was not told what this node has heard and counted");
    }
}
