//! A web server with one response, for keys behind a URL.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Sends the same response to every request until it is changed.
pub(super) struct KeyServer {
    pub(super) url: String,
    response: Arc<Mutex<String>>,
    requests: Arc<AtomicUsize>,
}

impl KeyServer {
    pub(super) async fn start(body: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let (response, requests) = (Arc::new(Mutex::new(ok(body))), Arc::new(AtomicUsize::new(0)));
        let (current, counted) = (Arc::clone(&response), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") && stream.read_buf(&mut request).await.unwrap_or(0) > 0
                {
                }
                counted.fetch_add(1, Ordering::SeqCst);
                let response = current.lock().unwrap().clone();
                let _closed = stream.write_all(response.as_bytes()).await;
            }
        });
        Self { url, response, requests }
    }

    /// Sets the whole response, including its status line.
    pub(super) fn respond(&self, response: String) {
        *self.response.lock().unwrap() = response;
    }

    pub(super) fn serve(&self, body: &str) {
        self.respond(ok(body));
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}
