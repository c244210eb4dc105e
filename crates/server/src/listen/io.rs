//! The bytes of a connection: records when something arrives, gives the errors that the HTTP library answers itself a
//! problem as their body, and closes so that the last response reaches a caller that still sends.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::connection::Connection;
use super::{HEADER_BYTES_MAX, HEADERS_MAX};
use crate::prelude::*;

/// How long, and for how many bytes, a closing connection reads what its caller still sends. A socket that is closed with
/// unread bytes is reset, which can remove the response from the caller's buffer.
const LINGER_MAX: Duration = Duration::from_secs(2);
const LINGER_BYTES_MAX: usize = 16 << 20;
const LINGER_BUFFER_BYTES: usize = 8 << 10;

pub(super) struct ConnectionIo<T> {
    io: T,
    connection: Arc<Connection>,
    /// Bytes that replace an answer of the HTTP library.
    replacement: Vec<u8>,
    linger: Option<Linger>,
}

struct Linger {
    end: Pin<Box<Sleep>>,
    bytes: usize,
}

impl<T: AsyncRead + AsyncWrite + Unpin> ConnectionIo<T> {
    pub(super) fn new(io: T, connection: Arc<Connection>) -> Self {
        Self { io, connection, replacement: Vec::new(), linger: None }
    }

    /// Takes an answer of the HTTP library, to write a better one instead. False if it is something else.
    fn replace(&mut self, written: &[u8]) -> bool {
        let is_refusal = written.starts_with(b"HTTP/1.1 4") && written.ends_with(b"\r\n\r\n");
        if !is_refusal || !self.connection.is_library_answering() {
            return false;
        }
        self.connection.set_unread();
        self.replacement = refusal(&written[9..12]);
        true
    }

    /// Records that bytes were written.
    fn written(&self, count: usize) -> usize {
        if count > 0 {
            self.connection.on_written();
        }
        count
    }

    fn poll_replacement(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        while !self.replacement.is_empty() {
            let count = ready!(Pin::new(&mut self.io).poll_write(context, &self.replacement))?;
            if count == 0 {
                return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into()));
            }
            self.replacement.drain(..count);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let new = || Linger { end: Box::pin(tokio::time::sleep(LINGER_MAX)), bytes: 0 };
        let linger = self.linger.get_or_insert_with(new);
        let mut buffer = [0; LINGER_BUFFER_BYTES];
        while linger.bytes < LINGER_BYTES_MAX && linger.end.as_mut().poll(context).is_pending() {
            let mut read = ReadBuf::new(&mut buffer);
            match ready!(Pin::new(&mut self.io).poll_read(context, &mut read)) {
                Ok(()) if !read.filled().is_empty() => linger.bytes += read.filled().len(),
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(())
    }
}

/// A response with a problem, given the status of the library's.
fn refusal(status: &[u8]) -> Vec<u8> {
    let problem = match status {
        b"431" | b"414" => headers_too_large(),
        _ => Problem::malformed("#", "the request is not valid HTTP"),
    };
    let body = problem.to_json("").to_string();
    let (status, length) = (problem.status(), body.len());
    let head = "content-type: application/problem+json\r\ncache-control: no-store\r\n\
                x-content-type-options: nosniff\r\nconnection: close";
    format!("HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}

pub(crate) fn headers_too_large() -> Problem {
    let detail = format!(
        "the first line and the headers of a request have at most {HEADER_BYTES_MAX} bytes and {HEADERS_MAX} headers"
    );
    Problem::new(ProblemCode::HeadersTooLarge, detail).with("limit", json!(HEADER_BYTES_MAX))
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for ConnectionIo<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.connection.on_read(&buffer.filled()[before..]);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ConnectionIo<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        if self.replace(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(self.poll_replacement(context))?;
        let written = ready!(Pin::new(&mut self.io).poll_write(context, bytes))?;
        Poll::Ready(Ok(self.written(written)))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        if let [bytes] = slices
            && self.replace(bytes)
        {
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(self.poll_replacement(context))?;
        let written = ready!(Pin::new(&mut self.io).poll_write_vectored(context, slices))?;
        Poll::Ready(Ok(self.written(written)))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_replacement(context))?;
        ready!(Pin::new(&mut self.io).poll_flush(context))?;
        self.connection.on_flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.poll_replacement(context))?;
        if self.linger.is_none() {
            ready!(Pin::new(&mut self.io).poll_shutdown(context))?;
        }
        if self.connection.has_unread() {
            ready!(self.poll_linger(context));
        }
        Poll::Ready(Ok(()))
    }
}
