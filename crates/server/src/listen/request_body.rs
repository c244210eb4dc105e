//! The body of a request: it must keep arriving, and what a handler leaves unread is read or closes the connection.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, Version, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tenure_service::body::declared_length;
use tokio::time::{Instant, Sleep};

use super::connection::{BodyWait, Connection};

/// The longest pause between two parts of a body.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// A body may be waited for this long, and for one second more for each of these bytes that have arrived.
const WAIT_MAX: Duration = Duration::from_secs(30);
const BYTES_PER_SECOND_MIN: u64 = 4 << 10;

/// How much of an unread body is read after the response is known, and for how long.
const DISCARDED_BYTES_MAX: u64 = 1 << 20;
const DISCARD_TIME_MAX: Duration = Duration::from_secs(5);

/// How long the next part may take, after this many bytes and this much waiting.
fn patience(received: u64, waited: Duration) -> Duration {
    let allowed = WAIT_MAX + Duration::from_secs(received / BYTES_PER_SECOND_MIN);
    allowed.saturating_sub(waited).min(PAUSE_MAX)
}

#[derive(Debug, thiserror::Error)]
#[error("it arrives too slowly")]
struct TooSlow;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body as the handlers see it.
struct RequestBody<B: Body> {
    body: Option<B>,
    connection: Arc<Connection>,
    received: u64,
    waited: Duration,
    waiting: Option<Waiting>,
    timer: Option<Pin<Box<Sleep>>>,
    rest: Rest<B>,
}

struct Waiting {
    since: Instant,
    _guard: BodyWait,
}

/// What is left of a body when its handler has dropped it.
struct Rest<B>(Arc<Mutex<Option<Unread<B>>>>);

enum Unread<B> {
    /// Nothing.
    End,
    /// The body, and whether the handler has begun to read it.
    Body(B, bool),
    /// It was invalid or too slow: the next request cannot be found.
    Failed,
}

impl<B> Rest<B> {
    fn set(&self, unread: Unread<B>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(unread);
    }

    fn take(&self) -> Option<Unread<B>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin> Body for RequestBody<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        let Poll::Ready(frame) = polled else {
            ready!(self.poll_deadline(context));
            self.end(Unread::Failed);
            return Poll::Ready(Some(Err(TooSlow.into())));
        };
        if let Some(waiting) = self.waiting.take() {
            self.waited += waiting.since.elapsed();
        }
        match &frame {
            None => self.end(Unread::End),
            Some(Err(_)) => self.end(Unread::Failed),
            Some(Ok(frame)) => self.received += frame.data_ref().map_or(0, |data| data.len() as u64),
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<B: Body> RequestBody<B> {
    fn new(body: B, connection: &Arc<Connection>) -> Self {
        Self {
            body: Some(body),
            connection: Arc::clone(connection),
            received: 0,
            waited: Duration::ZERO,
            waiting: None,
            timer: None,
            rest: Rest(Arc::default()),
        }
    }

    fn end(&mut self, unread: Unread<B>) {
        self.body = None;
        self.waiting = None;
        self.rest.set(unread);
    }

    /// Ready when the next part takes too long.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.waiting.is_none() {
            let since = Instant::now();
            let end = since + patience(self.received, self.waited);
            self.waiting = Some(Waiting { since, _guard: self.connection.wait_for_body() });
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(end),
                None => self.timer = Some(Box::pin(tokio::time::sleep_until(end))),
            }
        }
        self.timer.as_mut().map_or(Poll::Pending, |timer| timer.as_mut().poll(context))
    }
}

impl<B: Body> Drop for RequestBody<B> {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            let has_begun = self.received > 0 || self.timer.is_some();
            self.rest.set(if body.is_end_stream() { Unread::End } else { Unread::Body(body, has_begun) });
        }
    }
}

/// Decides after the response is known whether the connection can carry another request.
pub(super) struct UnreadBody {
    rest: Rest<Incoming>,
    declared: Option<u64>,
    /// The caller sends the body only after it was asked to.
    waits_for_continue: bool,
}

/// The request with a body that is watched. `None` for one without a body.
pub(super) fn watch(
    request: Request<Incoming>,
    connection: &Arc<Connection>,
) -> (Request<axum::body::Body>, Option<UnreadBody>) {
    if request.body().is_end_stream() {
        return (request.map(|_| axum::body::Body::empty()), None);
    }
    let (parts, body) = request.into_parts();
    let body = RequestBody::new(body, connection);
    let unread = (parts.version < Version::HTTP_2).then(|| UnreadBody {
        rest: Rest(Arc::clone(&body.rest.0)),
        declared: declared_length(&parts.headers),
        waits_for_continue: expects_continue(&parts.headers),
    });
    (Request::from_parts(parts, axum::body::Body::new(body)), unread)
}

fn expects_continue(headers: &HeaderMap) -> bool {
    headers.get(header::EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

impl UnreadBody {
    /// Reads what is left of the body, or announces in the response that the connection ends.
    pub(super) async fn settle<B>(self, connection: &Connection, response: &mut Response<B>) {
        if !self.read_rest().await {
            connection.set_unread();
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }

    /// Whether the rest was read.
    async fn read_rest(self) -> bool {
        match self.rest.take() {
            Some(Unread::End) => true,
            Some(Unread::Body(body, has_begun)) if has_begun || !self.waits_for_continue => {
                let is_short = self.declared.is_none_or(|length| length <= DISCARDED_BYTES_MAX);
                is_short && tokio::time::timeout(DISCARD_TIME_MAX, discard(body)).await.unwrap_or(false)
            }
            // Some task still reads it, or the caller has not begun to send it.
            Some(Unread::Body(..) | Unread::Failed) | None => false,
        }
    }
}

/// Reads and drops a body. False if it is too large or invalid.
async fn discard(mut body: Incoming) -> bool {
    let mut bytes = 0;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return false };
        bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
        if bytes > DISCARDED_BYTES_MAX {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};
    use http_body_util::StreamBody;

    use super::super::connections::Client;
    use super::*;

    #[test]
    fn a_body_may_pause_briefly_and_must_arrive_at_a_minimum_rate() {
        let seconds = Duration::from_secs;
        assert_eq!(patience(0, Duration::ZERO), seconds(10));
        assert_eq!(patience(0, seconds(25)), seconds(5));
        assert_eq!(patience(4, seconds(30)), Duration::ZERO, "a byte now and then is too slow");
        assert_eq!(patience(16 << 20, seconds(600)), seconds(10), "a large body may take longer");
        assert_eq!(patience(1 << 20, seconds(30 + 255)), seconds(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stalls_ends_with_an_error_and_frees_its_connection() {
        let connection = Arc::new(Connection::new(1, Client::of([10, 0, 0, 1].into())));
        let _request = connection.begin_request();
        let part = Ok::<_, BoxError>(Frame::data(Bytes::from_static(b"x")));
        let parts = stream::iter([part]).chain(stream::pending());
        let mut body = RequestBody::new(StreamBody::new(parts), &connection);
        let rest = Rest(Arc::clone(&body.rest.0));
        assert!(body.frame().await.is_some_and(|part| part.is_ok()));
        assert!(!connection.is_waiting());
        let began = Instant::now();
        let mut next = Box::pin(body.frame());
        assert!(next.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending());
        assert!(connection.is_waiting(), "it can make room");
        let error = next.await.expect("an error").unwrap_err();
        assert_eq!(error.to_string(), "it arrives too slowly");
        assert_eq!(began.elapsed(), PAUSE_MAX);
        assert!(matches!(rest.take(), Some(Unread::Failed)));
        assert!(body.frame().await.is_none());
    }
}
