//! Accepts connections: limits on connections and headers, TLS if configured, and a graceful shutdown.

mod connection;
mod connections;
mod io;
mod request_body;
mod response_body;

use std::convert::Infallible;
use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tenure_config::{Config, TlsConfig};
use tenure_service::extract::{IsSecure, OnConnection, Peer};
use tenure_service::reloadable::Reloadable;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::prelude::*;
use connections::{Connections, Place};
use io::ConnectionIo;
pub(crate) use io::headers_too_large;
use response_body::ResponseBody;

const TLS_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for open requests to finish when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(7);
/// Bytes of all headers of one request.
pub(crate) const HEADER_BYTES_MAX: u32 = 16 << 10;
pub(crate) const HEADERS_MAX: usize = 64;
/// HTTP/2 headers up to this size are answered with a problem; larger ones by the library, without a body.
const HTTP2_HEADER_BYTES_MAX: u32 = 4 * HEADER_BYTES_MAX;
/// Concurrent requests on one HTTP/2 connection.
const STREAMS_MAX: u32 = 256;

/// What a reload of the configuration may change for new connections.
pub(crate) struct ListenerSettings {
    tls: Option<TlsAcceptor>,
    header_timeout: Duration,
    connections_max: usize,
}

impl ListenerSettings {
    /// Loads the certificate and its key.
    pub(crate) fn new(config: &Config) -> Result<Self, String> {
        Ok(Self {
            tls: config.tls.as_ref().map(tls).transpose()?,
            header_timeout: config.limits.header_timeout,
            connections_max: config.limits.connections,
        })
    }
}

#[derive(Clone)]
struct ConnectionContext {
    router: Router,
    builder: Builder<TokioExecutor>,
    settings: Arc<ListenerSettings>,
}

/// Accepts connections until `stop` resolves, then waits for open requests.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    settings: &Reloadable<ListenerSettings>,
    stop: impl Future<Output = ()>,
) {
    let mut context = ConnectionContext { router, builder: builder(), settings: settings.get() };
    let connections = Connections::new(context.settings.connections_max);
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                context.settings = settings.get();
                connections.set_limit(context.settings.connections_max);
                if let Some(place) = connections.admit(peer.ip()) {
                    tokio::spawn(accept(context.clone(), stream, peer, place, graceful.watcher()));
                } else {
                    // Dropping the stream closes it.
                    tracing::warn!(%peer, "connection limit reached");
                }
            }
            Err(error) => {
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

/// Waiting for heads and between requests is limited by [`connection::Connection::expired`].
fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HTTP2_HEADER_BYTES_MAX)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(20));
    builder
}

async fn accept(
    context: ConnectionContext,
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    watcher: Watcher,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, %error, "TCP_NODELAY not set");
    }
    let connection = Arc::clone(&place.connection);
    let serve = async {
        match context.settings.tls.clone() {
            None => serve_connection(context, stream, peer, place, watcher).await,
            Some(tls) => match tokio::time::timeout(TLS_HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
                Ok(Ok(stream)) => serve_connection(context, stream, peer, place, watcher).await,
                Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
                Err(_) => tracing::debug!(%peer, "TLS handshake timed out"),
            },
        }
    };
    tokio::select! {
        () = serve => {}
        () = connection.closed() => tracing::debug!(%peer, "connection closed to make room"),
    }
}

async fn serve_connection<T>(
    context: ConnectionContext,
    stream: T,
    peer: SocketAddr,
    place: Place,
    watcher: Watcher,
) where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (is_secure, connection) = (context.settings.tls.is_some(), Arc::clone(&place.connection));
    let on_connection = OnConnection(Arc::new(place));
    let served = Arc::clone(&connection);
    let router = context.router;
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer.ip()));
        if is_secure {
            request.extensions_mut().insert(IsSecure);
        }
        request.extensions_mut().insert(on_connection.clone());
        answer(router.clone(), Arc::clone(&served), request)
    });
    let io = TokioIo::new(ConnectionIo::new(stream, Arc::clone(&connection)));
    let serving = context.builder.serve_connection_with_upgrades(io, service);
    tokio::select! {
        ended = watcher.watch(serving.into_owned()) => {
            if let Err(error) = ended {
                tracing::debug!(%peer, %error, "connection failed");
            }
        }
        cause = connection.expired(context.settings.header_timeout) => tracing::debug!(%peer, ?cause, "connection closed"),
    }
    connection.end_service();
}

/// Answers one request. It is in progress until its response has been passed on.
async fn answer(
    router: Router,
    connection: Arc<connection::Connection>,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody<Body>>, Infallible> {
    let (guard, is_http2) = (connection.begin_request(), request.version() >= Version::HTTP_2);
    let (request, unread) = request_body::watch(request, &connection);
    let mut response = router.oneshot(request).await?;
    if let Some(unread) = unread {
        unread.settle(&connection, &mut response).await;
    }
    Ok(response.map(|body| ResponseBody::new(body, is_http2, &connection, guard)))
}

/// Loads the certificate and its key.
fn tls(config: &TlsConfig) -> Result<TlsAcceptor, String> {
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
