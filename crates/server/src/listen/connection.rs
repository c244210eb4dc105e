//! One connection: what happens on it, and for how long it may wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::connections::Client;

/// How long a connection may stay open without a request.
const IDLE_MAX: Duration = Duration::from_secs(75);

/// How long a part of a response may wait until the caller has read the ones before it.
const READ_MAX: Duration = Duration::from_mins(1);
/// After this time, a connection that waits for its caller to read makes room for others.
const READ_PAUSE_MIN: Duration = Duration::from_secs(1);

/// Every HTTP/2 connection begins with these bytes.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0";

pub(super) struct Connection {
    pub(super) id: u64,
    pub(super) client: Client,
    activity: Mutex<Activity>,
    /// Whether a response was given without reading the whole request.
    has_unread: AtomicBool,
    closing: Notify,
}

struct Activity {
    is_served: bool,
    /// `None` until something was read.
    is_http2: Option<bool>,
    had_request: bool,
    /// Requests whose response has not been passed on completely.
    requests: usize,
    /// Requests whose handler waits for the body.
    waiting_for_body: usize,
    /// Requests whose response waits for the caller to read, each with a number and the time since then.
    waiting_for_reader: Vec<(u64, Instant)>,
    last_reader_wait: u64,
    /// When the connection was opened, its last request ended, or a byte of its response was written after that.
    quiet_since: Instant,
    /// When the first byte of the next request's head was read.
    head_since: Option<Instant>,
    /// Whether bytes of the last response may not have been written yet.
    has_unwritten: bool,
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseCause {
    /// The head of a request did not arrive in time.
    SlowHead,
    /// The caller does not read a response.
    SlowReader,
    Idle,
}

impl Connection {
    pub(super) fn new(id: u64, client: Client) -> Self {
        let activity = Activity {
            is_served: true,
            is_http2: None,
            had_request: false,
            requests: 0,
            waiting_for_body: 0,
            waiting_for_reader: Vec::new(),
            last_reader_wait: 0,
            quiet_since: Instant::now(),
            head_since: None,
            has_unwritten: false,
        };
        let activity = Mutex::new(activity);
        Self { id, client, activity, has_unread: AtomicBool::new(false), closing: Notify::new() }
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether closing it loses nothing: no request is being processed, and each response that is being passed on waits for
    /// the caller.
    pub(super) fn is_waiting(&self) -> bool {
        let activity = self.activity();
        let unread = activity.waiting_for_reader.iter();
        let unread = unread.filter(|(_, since)| since.elapsed() >= READ_PAUSE_MIN).count();
        activity.is_served && activity.requests <= activity.waiting_for_body + unread
    }

    /// Asks the task that serves the connection to close it.
    pub(super) fn close(&self) {
        self.closing.notify_one();
    }

    /// Resolves when another connection needs the place of this one.
    pub(super) async fn closed(&self) {
        self.closing.notified().await;
    }

    /// An upgraded connection is no longer served here; it keeps its share of the limit.
    pub(super) fn end_service(&self) {
        self.activity().is_served = false;
    }

    pub(super) fn begin_request(self: &Arc<Self>) -> RequestGuard {
        let mut activity = self.activity();
        activity.requests += 1;
        activity.had_request = true;
        activity.head_since = None;
        drop(activity);
        RequestGuard(Arc::clone(self))
    }

    pub(super) fn wait_for_body(self: &Arc<Self>) -> BodyWait {
        self.activity().waiting_for_body += 1;
        BodyWait(Arc::clone(self))
    }

    /// A part of a response is ready, and waits until the parts before it are written.
    pub(super) fn wait_for_reader(self: &Arc<Self>) -> ReaderWait {
        let mut activity = self.activity();
        activity.last_reader_wait += 1;
        let number = activity.last_reader_wait;
        activity.waiting_for_reader.push((number, Instant::now()));
        ReaderWait { connection: Arc::clone(self), number }
    }

    pub(super) fn on_read(&self, bytes: &[u8]) {
        let mut activity = self.activity();
        let is_http2 = || {
            let compared = bytes.len().min(HTTP2_PREFACE.len());
            compared > 1 && bytes[..compared] == HTTP2_PREFACE[..compared]
        };
        activity.is_http2.get_or_insert_with(is_http2);
        if activity.requests == 0 && activity.head_since.is_none() {
            activity.head_since = Some(Instant::now());
        }
    }

    /// Some bytes of a response were written, so the caller reads. Over HTTP/2 they may be those of the library.
    pub(super) fn on_written(&self) {
        let (mut activity, now) = (self.activity(), Instant::now());
        if activity.has_unwritten {
            activity.quiet_since = now;
        }
        if activity.is_http2 != Some(true) {
            activity.waiting_for_reader.iter_mut().for_each(|(_, since)| *since = now);
        }
    }

    /// Everything that the HTTP library had to write is written.
    pub(super) fn on_flushed(&self) {
        let mut activity = self.activity();
        activity.has_unwritten &= activity.requests > 0;
    }

    /// Whether bytes written now are not part of a response of the router: an answer that the HTTP library makes.
    pub(super) fn is_library_answering(&self) -> bool {
        let activity = self.activity();
        activity.requests == 0 && !activity.has_unwritten && activity.is_http2 != Some(true)
    }

    pub(super) fn set_unread(&self) {
        self.has_unread.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_unread(&self) -> bool {
        self.has_unread.load(Ordering::Relaxed)
    }

    /// When the connection is to be closed unless something happens before, and why.
    pub(super) fn deadline(&self, header_timeout: Duration) -> Option<(Instant, CloseCause)> {
        let activity = self.activity();
        match activity.head_since {
            _ if activity.requests > 0 => {
                let since = activity.waiting_for_reader.iter().map(|(_, since)| *since).min();
                since.map(|since| (since + READ_MAX, CloseCause::SlowReader))
            }
            _ if !activity.had_request => Some((activity.quiet_since + header_timeout, CloseCause::SlowHead)),
            Some(head) if activity.is_http2 != Some(true) => {
                Some((head + header_timeout, CloseCause::SlowHead))
            }
            _ => Some((activity.quiet_since + IDLE_MAX, CloseCause::Idle)),
        }
    }

    /// Resolves when the connection has been idle, the head of a request has been arriving, or a response has not been read, for
    /// too long.
    pub(super) async fn expired(&self, header_timeout: Duration) -> CloseCause {
        loop {
            let now = Instant::now();
            let check_at = match self.deadline(header_timeout) {
                Some((deadline, cause)) if deadline <= now => return cause,
                // The head of a request may begin meanwhile, which has an earlier deadline.
                Some((deadline, _)) => deadline.min(now + header_timeout),
                None => now + header_timeout,
            };
            tokio::time::sleep_until(check_at).await;
        }
    }
}

/// A request in progress.
pub(super) struct RequestGuard(Arc<Connection>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.requests -= 1;
        activity.has_unwritten = true;
        if activity.requests == 0 {
            activity.quiet_since = Instant::now();
            activity.head_since = None;
        }
    }
}

/// A request whose handler waits for the body.
pub(super) struct BodyWait(Arc<Connection>);

impl Drop for BodyWait {
    fn drop(&mut self) {
        self.0.activity().waiting_for_body -= 1;
    }
}

/// A response that waits for the caller to read.
pub(super) struct ReaderWait {
    connection: Arc<Connection>,
    number: u64,
}

impl Drop for ReaderWait {
    fn drop(&mut self) {
        let mut activity = self.connection.activity();
        let index = activity.waiting_for_reader.iter().position(|(number, _)| *number == self.number);
        index.map(|index| activity.waiting_for_reader.swap_remove(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: Duration = Duration::from_secs(10);

    fn connection() -> Arc<Connection> {
        Arc::new(Connection::new(1, Client::of([127, 0, 0, 1].into())))
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_ends_after_the_header_timeout() {
        let (connection, began) = (connection(), Instant::now());
        assert_eq!(connection.expired(HEADERS).await, CloseCause::SlowHead);
        assert_eq!(began.elapsed(), HEADERS);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_ends_after_75_seconds() {
        let connection = connection();
        connection.on_read(b"GET / HTTP/1.1\r\n\r\n");
        let request = connection.begin_request();
        tokio::time::advance(Duration::from_secs(500)).await;
        assert_eq!(connection.deadline(HEADERS), None, "a request has no deadline here");
        drop(request);
        let began = Instant::now();
        assert_eq!(connection.expired(HEADERS).await, CloseCause::Idle);
        assert_eq!(began.elapsed(), IDLE_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_is_not_read_ends_the_connection_after_a_minute() {
        let connection = connection();
        let _requests = [connection.begin_request(), connection.begin_request()];
        let (first, began) = (connection.wait_for_reader(), Instant::now());
        assert!(!connection.is_waiting(), "it is only just being written");
        tokio::time::advance(Duration::from_secs(50)).await;
        let second = connection.wait_for_reader();
        tokio::time::advance(READ_PAUSE_MIN).await;
        assert!(connection.is_waiting(), "it can make room");
        drop(first);
        assert!(!connection.is_waiting(), "another request is being processed");
        assert_eq!(connection.expired(HEADERS).await, CloseCause::SlowReader);
        assert_eq!(began.elapsed(), Duration::from_secs(110));
        drop(second);
        assert_eq!(connection.deadline(HEADERS), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_is_being_written_is_not_cut() {
        let (connection, began) = (connection(), Instant::now());
        connection.on_read(b"GET / HTTP/1.1\r\n\r\n");
        let request = connection.begin_request();
        let part = connection.wait_for_reader();
        tokio::time::advance(Duration::from_secs(50)).await;
        connection.on_written();
        let expected = (began + Duration::from_secs(50) + READ_MAX, CloseCause::SlowReader);
        assert_eq!(connection.deadline(HEADERS), Some(expected));
        drop((part, request));
        // The library has the whole response now.
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(70)).await;
            connection.on_written();
        }
        let idle = |seconds: u64| Some((began + Duration::from_secs(seconds) + IDLE_MAX, CloseCause::Idle));
        assert_eq!(connection.deadline(HEADERS), idle(50 + 3 * 70));
        connection.on_flushed();
        tokio::time::advance(Duration::from_secs(70)).await;
        connection.on_written();
        assert_eq!(connection.deadline(HEADERS), idle(50 + 3 * 70), "the response was written before");
    }

    #[tokio::test(start_paused = true)]
    async fn the_head_of_a_later_request_has_the_header_timeout() {
        let connection = connection();
        connection.on_read(b"GET / HTTP/1.1\r\n\r\n");
        drop(connection.begin_request());
        tokio::time::advance(Duration::from_mins(1)).await;
        connection.on_read(b"GE");
        let began = Instant::now();
        assert_eq!(connection.expired(HEADERS).await, CloseCause::SlowHead);
        assert!(began.elapsed() <= HEADERS * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn frames_between_http2_requests_are_no_head() {
        let connection = connection();
        connection.on_read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        drop(connection.begin_request());
        connection.on_read(b"\0\0\x08\x06");
        assert_eq!(connection.expired(HEADERS).await, CloseCause::Idle);
    }

    #[test]
    fn only_bytes_between_written_responses_come_from_the_library() {
        let connection = connection();
        assert!(connection.is_library_answering());
        let request = connection.begin_request();
        assert!(!connection.is_library_answering());
        connection.on_flushed();
        drop(request);
        assert!(!connection.is_library_answering(), "the response may not be written yet");
        connection.on_flushed();
        assert!(connection.is_library_answering());
    }
}
