//! The socket: connections counted, headers timed, TLS where there is a certificate, and an end that lets open requests
//! finish.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::config::{Limits, TlsConfig};
use crate::gate::{IsSecure, Peer};

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long open requests have when the server stops.
const FAREWELL: Duration = Duration::from_secs(7);
/// The largest header section.
const HEADER_BYTES_MAX: u32 = 16 << 10;
/// Headers of one request.
const HEADERS_MAX: usize = 64;
/// Requests at once on one HTTP/2 connection.
const STREAMS_MAX: u32 = 256;

/// Everything that a connection needs.
#[derive(Clone)]
struct Reception {
    router: Router,
    builder: Builder<TokioExecutor>,
    tls: Option<TlsAcceptor>,
    header_timeout: Duration,
}

/// Accepts connections until `stop` resolves, then lets open requests finish.
pub(crate) async fn serve(
    listener: TcpListener,
    (router, tls): (Router, Option<TlsAcceptor>),
    limits: &Limits,
    stop: impl Future<Output = ()>,
) {
    let reception =
        Reception { router, builder: builder(limits), tls, header_timeout: limits.header_timeout };
    let places = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match (accepted, Arc::clone(&places).try_acquire_owned()) {
            (Ok((stream, peer)), Ok(place)) => {
                let place = Place(Arc::new(place));
                tokio::spawn(receive(reception.clone(), (stream, peer), place, graceful.watcher()));
            }
            // Full: closed at once, and nobody who is inside notices.
            (Ok((_, peer)), Err(_)) => tracing::warn!(%peer, "too many connections"),
            (Err(error), _) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(FAREWELL, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time");
    }
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEADER_BYTES_MAX)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

/// One connection's place among the many. A request carries it, so that a connection which becomes a web socket counts
/// for as long as that is open.
#[derive(Clone)]
struct Place(#[allow(dead_code, reason = "it is held, not read")] Arc<OwnedSemaphorePermit>);

async fn receive(
    reception: Reception,
    (stream, peer): (TcpStream, SocketAddr),
    place: Place,
    watcher: Watcher,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, %error, "answers to this peer may be late");
    }
    match reception.tls.clone() {
        None => converse(reception, stream, (peer, place), watcher).await,
        Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
            Ok(Ok(stream)) => converse(reception, stream, (peer, place), watcher).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS"),
            Err(_) => tracing::debug!(%peer, "a handshake that did not end"),
        },
    }
}

async fn converse<T>(reception: Reception, stream: T, (peer, place): (SocketAddr, Place), watcher: Watcher)
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let is_secure = reception.tls.is_some();
    let heard = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&heard);
    let router = reception.router.map_request(move |mut request: http::Request<hyper::body::Incoming>| {
        hears.store(true, Ordering::Relaxed);
        request.extensions_mut().insert(Peer(peer.ip()));
        if is_secure {
            request.extensions_mut().insert(IsSecure);
        }
        request.extensions_mut().insert(place.clone());
        request.map(axum::body::Body::new)
    });
    let connection = reception
        .builder
        .serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(router));
    // Whoever has not asked anything yet has no more time for it than for a head.
    let silence = async {
        tokio::time::sleep(reception.header_timeout).await;
        if heard.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        ended = watcher.watch(connection.into_owned()) => {
            if let Err(error) = ended {
                tracing::debug!(%peer, %error, "a connection broke");
            }
        }
        () = silence => tracing::debug!(%peer, "a connection that asked nothing"),
    }
}

/// Reads the certificate and its key.
pub(crate) fn tls(config: &TlsConfig) -> Result<TlsAcceptor, String> {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let certificates = CertificateDer::pem_file_iter(&config.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| format!("{}: {error}", config.certificate.display()))?;
    let key = PrivateKeyDer::from_pem_file(&config.key)
        .map_err(|error| format!("{}: {error}", config.key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let built = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key));
    let mut built = built.map_err(|error| format!("{}: {error}", config.certificate.display()))?;
    built.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(built)))
}
