//! The body of a response: its request is in progress until it has been passed on, and its caller must read it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::connection::{Connection, ReaderWait, RequestGuard};

/// The HTTP library stores a part of an HTTP/2 response as a whole once its caller accepts one byte, so parts are small.
const HTTP2_PART_BYTES: usize = 64 << 10;

pub(super) struct ResponseBody<B> {
    body: B,
    /// What is left of a part of an HTTP/2 response.
    rest: Bytes,
    is_http2: bool,
    /// From when a part is passed on until the library asks for the next one. It does not ask while the caller does not read.
    waiting: Option<ReaderWait>,
    connection: Arc<Connection>,
    /// Ends when it is dropped.
    _request: RequestGuard,
}

impl<B: Body> ResponseBody<B> {
    pub(super) fn new(body: B, is_http2: bool, connection: &Arc<Connection>, request: RequestGuard) -> Self {
        let waiting = (!body.is_end_stream()).then(|| connection.wait_for_reader());
        let connection = Arc::clone(connection);
        Self { body, rest: Bytes::new(), is_http2, waiting, connection, _request: request }
    }

    /// The next part of what is left.
    fn split(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.len().min(HTTP2_PART_BYTES);
        Frame::data(self.rest.split_to(bytes))
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for ResponseBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.waiting = None;
        let frame = if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if self.is_http2 => {
                        self.rest = data;
                        self.split()
                    }
                    Ok(data) => Frame::data(data),
                    Err(frame) => frame,
                },
                ended => return Poll::Ready(ended),
            }
        } else {
            self.split()
        };
        if !self.is_end_stream() {
            self.waiting = Some(self.connection.wait_for_reader());
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (left, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + left);
        }
        hint.set_lower(body.lower() + left);
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{StreamExt as _, stream};
    use http_body_util::{BodyExt as _, Full, StreamBody};

    use super::super::connection::CloseCause;
    use super::super::connections::Client;
    use super::*;

    const HEADERS: Duration = Duration::from_secs(10);

    fn connection() -> Arc<Connection> {
        Arc::new(Connection::new(1, Client::of([10, 0, 0, 1].into())))
    }

    fn response<B: Body>(connection: &Arc<Connection>, body: B, is_http2: bool) -> ResponseBody<B> {
        ResponseBody::new(body, is_http2, connection, connection.begin_request())
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_is_never_read_ends_its_connection() {
        let connection = connection();
        let _body = response(&connection, Full::new(Bytes::from_static(b"text")), true);
        assert_eq!(connection.expired(HEADERS).await, CloseCause::SlowReader);
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_that_is_not_read_ends_its_connection_and_a_pause_of_the_handler_does_not() {
        let connection = connection();
        let part = Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"x")));
        let parts = StreamBody::new(stream::iter([part]).chain(stream::pending()));
        let mut body = response(&connection, parts, false);
        assert!(body.frame().await.is_some_and(|part| part.is_ok()));
        assert!(connection.deadline(HEADERS).is_some(), "the part may not be written");
        let mut next = Box::pin(body.frame());
        assert!(next.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending());
        assert_eq!(connection.deadline(HEADERS), None, "the handler has nothing to send");
        drop(next);
    }

    #[tokio::test]
    async fn a_large_part_of_an_http2_response_is_passed_on_in_small_ones() {
        let connection = connection();
        let text = Bytes::from(vec![b'x'; 2 * HTTP2_PART_BYTES + 1]);
        for (is_http2, expected) in
            [(true, vec![HTTP2_PART_BYTES, HTTP2_PART_BYTES, 1]), (false, vec![2 * HTTP2_PART_BYTES + 1])]
        {
            let mut body = response(&connection, Full::new(text.clone()), is_http2);
            let (mut sizes, mut left) = (Vec::new(), text.len() as u64);
            while !body.is_end_stream() {
                assert_eq!(body.size_hint().exact(), Some(left));
                let part = body.frame().await.unwrap().unwrap().into_data().unwrap();
                sizes.push(part.len());
                left -= part.len() as u64;
            }
            assert_eq!(sizes, expected);
            assert!(body.waiting.is_none(), "the last part is passed on");
        }
    }
}
