//! Accepts connections: limits on connections and headers, TLS if configured, and a graceful shutdown.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tenure_config::{Limits, TlsConfig};
use tenure_service::extract::{IsSecure, Peer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::prelude::*;

const TLS_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for open requests to finish when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(7);
/// Bytes of all headers of one request.
const HEADER_BYTES_MAX: u32 = 16 << 10;
const HEADERS_MAX: usize = 64;
/// Concurrent requests on one HTTP/2 connection.
const STREAMS_MAX: u32 = 256;

#[derive(Clone)]
struct ConnectionContext {
    router: Router,
    builder: Builder<TokioExecutor>,
    tls: Option<TlsAcceptor>,
    header_timeout: Duration,
}

/// Accepts connections until `stop` resolves, then waits for open requests.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<TlsAcceptor>,
    limits: &Limits,
    stop: impl Future<Output = ()>,
) {
    let header_timeout = limits.header_timeout;
    let context = ConnectionContext { router, builder: builder(limits), tls, header_timeout };
    let permits = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match (accepted, Arc::clone(&permits).try_acquire_owned()) {
            (Ok((stream, peer)), Ok(permit)) => {
                let permit = ConnectionPermit(Arc::new(permit));
                tokio::spawn(accept(context.clone(), stream, peer, permit, graceful.watcher()));
            }
            // Dropping the stream closes it.
            (Ok((_, peer)), Err(_)) => tracing::warn!(%peer, "connection limit reached"),
            (Err(error), _) => {
                tracing::warn!(%error, "connection accept failed");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(SHUTDOWN_GRACE, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests still open at the shutdown deadline");
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

/// A connection's share of the connection limit. Requests carry it, so that a WebSocket counts for as long as it is open.
#[derive(Clone)]
struct ConnectionPermit(#[allow(dead_code, reason = "it is held, not read")] Arc<OwnedSemaphorePermit>);

async fn accept(
    context: ConnectionContext,
    stream: TcpStream,
    peer: SocketAddr,
    permit: ConnectionPermit,
    watcher: Watcher,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, %error, "TCP_NODELAY not set");
    }
    match context.tls.clone() {
        None => serve_connection(context, stream, peer, permit, watcher).await,
        Some(tls) => match tokio::time::timeout(TLS_HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
            Ok(Ok(stream)) => serve_connection(context, stream, peer, permit, watcher).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
            Err(_) => tracing::debug!(%peer, "TLS handshake timed out"),
        },
    }
}

async fn serve_connection<T>(
    context: ConnectionContext,
    stream: T,
    peer: SocketAddr,
    permit: ConnectionPermit,
    watcher: Watcher,
) where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let is_secure = context.tls.is_some();
    let has_request = Arc::new(AtomicBool::new(false));
    let request_seen = Arc::clone(&has_request);
    let router = context.router.map_request(move |mut request: http::Request<hyper::body::Incoming>| {
        request_seen.store(true, Ordering::Relaxed);
        request.extensions_mut().insert(Peer(peer.ip()));
        if is_secure {
            request.extensions_mut().insert(IsSecure);
        }
        request.extensions_mut().insert(permit.clone());
        request.map(axum::body::Body::new)
    });
    let connection = context
        .builder
        .serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(router));
    // The first request must arrive within the header timeout, too.
    let idle = async {
        tokio::time::sleep(context.header_timeout).await;
        if has_request.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        ended = watcher.watch(connection.into_owned()) => {
            if let Err(error) = ended {
                tracing::debug!(%peer, %error, "connection failed");
            }
        }
        () = idle => tracing::debug!(%peer, "connection closed without a request"),
    }
}

/// Loads the certificate and its key.
pub(crate) fn tls(config: &TlsConfig) -> Result<TlsAcceptor, String> {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let certificates = CertificateDer::pem_file_iter(&config.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| format!("cannot load tls.certificate {}: {error}", config.certificate.display()))?;
    let key = PrivateKeyDer::from_pem_file(&config.key)
        .map_err(|error| format!("cannot load tls.key {}: {error}", config.key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let built = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key));
    let mut built = built
        .map_err(|error| format!("cannot use tls.certificate {}: {error}", config.certificate.display()))?;
    built.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(built)))
}
