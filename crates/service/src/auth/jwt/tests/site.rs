//! A web server of one page, for keys behind a URL.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Answers every request with the same page until it is given another.
pub(super) struct Site {
    pub(super) url: String,
    page: Arc<Mutex<String>>,
    visits: Arc<AtomicUsize>,
}

impl Site {
    pub(super) async fn open(body: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let (page, visits) = (Arc::new(Mutex::new(ok(body))), Arc::new(AtomicUsize::new(0)));
        let (shown, counted) = (Arc::clone(&page), Arc::clone(&visits));
        tokio::spawn(async move {
            while let Ok((mut visitor, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") && visitor.read_buf(&mut request).await.unwrap_or(0) > 0
                {
                }
                counted.fetch_add(1, Ordering::SeqCst);
                let page = shown.lock().unwrap().clone();
                let _gone = visitor.write_all(page.as_bytes()).await;
            }
        });
        Self { url, page, visits }
    }

    /// From now on this is the whole answer, status line included.
    pub(super) fn answer(&self, page: String) {
        *self.page.lock().unwrap() = page;
    }

    pub(super) fn show(&self, body: &str) {
        self.answer(ok(body));
    }

    pub(super) fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}
