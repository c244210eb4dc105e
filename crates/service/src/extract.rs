//! Extractors that handlers of the API and of the dashboard share, and checks of where a request comes from.

use std::net::{IpAddr, Ipv6Addr};

use axum::extract::{FromRef, FromRequestParts, Path, RawPathParams};
use axum::response::Response;
use http::request::Parts;
use http::{HeaderMap, Uri, header};
use tenure_core::asset::AssetId;

use crate::prelude::*;
use crate::query::{is_name, job_id};

/// The address of the client.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// Who connects: an IPv4 address, or the network of an IPv6 address, which has 64 bits.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// Marks a request over TLS.
#[derive(Clone, Copy, Debug)]
pub struct IsSecure;

/// The connection of a request.
pub trait Connection: Send + Sync {
    /// A caller has authenticated on it.
    fn authenticated(&self);
}

/// Carries the connection of a request.
#[derive(Clone)]
pub struct OnConnection(pub Arc<dyn Connection>);

impl OnConnection {
    /// Records that a caller has authenticated on the connection of these extensions, if there is one.
    pub fn authenticated(extensions: &http::Extensions) {
        if let Some(Self(connection)) = extensions.get() {
            connection.authenticated();
        }
    }
}

/// The result of an authentication that was made earlier for the same request.
#[derive(Clone, Debug)]
pub struct Authenticated(pub Result<Caller>);

impl<S> FromRequestParts<S> for Caller
where
    S: Send + Sync,
    Service: FromRef<S>,
{
    type Rejection = Problem;

    /// A handler that takes a [`Caller`] refuses requests without valid credentials.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        if let Some(Authenticated(caller)) = parts.extensions.remove() {
            return caller;
        }
        let service = Service::from_ref(state);
        let keys = service.keyring().current().await?;
        if keys.is_open() {
            OnConnection::authenticated(&parts.extensions);
            return Ok(Self::open());
        }
        let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
        let token = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let caller = service.keyring().identify(&keys, token, peer, service.runtime().now()).await?;
        OnConnection::authenticated(&parts.extensions);
        Ok(caller)
    }
}

/// The host that a request names.
pub fn host_of<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    uri.authority().map(http::uri::Authority::as_str).or_else(|| headers.get(header::HOST)?.to_str().ok())
}

/// Refuses a request from a page of another origin.
pub fn own_origin(headers: &HeaderMap, uri: &Uri) -> Result<()> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let own = host_of(headers, uri).unwrap_or_default();
    let is_own =
        |origin: &str| ["http://", "https://"].iter().any(|scheme| origin.strip_prefix(scheme) == Some(own));
    if origin.to_str().is_ok_and(is_own) {
        Ok(())
    } else {
        Err(Problem::forbidden("requests from pages of another origin are not allowed"))
    }
}

pub type Reply = Result<Response>;

/// The job id in a path.
#[derive(Clone, Copy, Debug)]
pub struct Id(pub JobId);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let segments = RawPathParams::from_request_parts(parts, state).await.map_err(|_| undecoded())?;
        let text = segments.iter().next().map_or("", |(_, text)| text);
        job_id(text)
            .map(Self)
            .ok_or_else(|| Problem::malformed("#", format!("`{}` is not a job's id", text.escape_debug())))
    }
}

/// The variable segments of a path, decoded.
#[derive(Debug)]
pub struct Segments(pub Vec<String>);

impl<S: Send + Sync> FromRequestParts<S> for Segments {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let Path(segments) =
            Path::<Vec<(String, String)>>::from_request_parts(parts, state).await.map_err(|_| undecoded())?;
        Ok(Self(segments.into_iter().map(|(_, value)| value).collect()))
    }
}

fn undecoded() -> Problem {
    Problem::malformed("#", "the path is not percent-encoded UTF-8")
}

/// A queue, user, key or other name in a path.
#[derive(Debug)]
pub struct Named<T>(pub T);

impl<S: Send + Sync, T: From<String>> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let Segments(mut segments) = Segments::from_request_parts(parts, state).await?;
        let text = segments.swap_remove(0);
        let name = is_name(&text).then(|| Self(text.into()));
        name.ok_or_else(|| Problem::malformed("#", "a name has 1 to 255 bytes and no control characters"))
    }
}

/// The job and the asset in a path.
pub struct AssetPath {
    pub job: JobId,
    pub asset: AssetId,
}

impl<S: Send + Sync> FromRequestParts<S> for AssetPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let Segments(segments) = Segments::from_request_parts(parts, state).await?;
        let id = |index: usize, what: &str| {
            let text = segments.get(index).map(String::as_str).unwrap_or_default();
            let bad = || Problem::malformed("#", format!("`{}` is not {what}'s id", text.escape_debug()));
            job_id(text).ok_or_else(bad)
        };
        Ok(Self { job: id(0, "a job")?, asset: AssetId(id(1, "an asset")?.0) })
    }
}
