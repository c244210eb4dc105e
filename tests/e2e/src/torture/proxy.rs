//! A proxy that delays, resets and cuts connections, in particular after a request was forwarded and before its answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const REQUEST_BYTES_MAX: usize = 64 << 10;

/// Forwards connections to one address. Ends when dropped.
pub(super) struct Proxy {
    address: SocketAddr,
    is_faulty: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

/// The fate of a connection.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Forward,
    /// Forwarded after a delay.
    Delay(Duration),
    /// Closed before anything is forwarded.
    Reset,
    /// The first request is forwarded; its answer is not returned.
    DropAnswer,
}

impl Proxy {
    pub(super) async fn start(upstream: &str, seed: usize) -> Self {
        let upstream: SocketAddr = upstream.parse().expect("a server listens on an address");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("the listener is bound");
        let is_faulty = Arc::new(AtomicBool::new(true));
        let faulty = Arc::clone(&is_faulty);
        let task = tokio::spawn(async move {
            let count = AtomicU64::new(seed as u64);
            while let Ok((client, _)) = listener.accept().await {
                let chance = count.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed) >> 32;
                let fate = if faulty.load(Ordering::Relaxed) { Fate::of(chance) } else { Fate::Forward };
                tokio::spawn(serve(client, upstream, fate));
            }
        });
        Self { address, is_faulty, task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// New connections are forwarded from now on.
    pub(super) fn heal(&self) {
        self.is_faulty.store(false, Ordering::Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Fate {
    fn of(chance: u64) -> Self {
        match chance % 10 {
            0 | 1 => Self::Reset,
            2..=4 => Self::DropAnswer,
            5 => Self::Delay(Duration::from_millis(chance / 10 % 300)),
            _ => Self::Forward,
        }
    }
}

/// Errors of either side end the connection, which is what a client sees of a faulty network.
async fn serve(mut client: TcpStream, upstream: SocketAddr, fate: Fate) {
    if matches!(fate, Fate::Reset) {
        return;
    }
    if let Fate::Delay(span) = fate {
        tokio::time::sleep(span).await; // tidy: a fault that takes time
    }
    let Ok(mut server) = TcpStream::connect(upstream).await else { return };
    if !matches!(fate, Fate::DropAnswer) {
        // A forwarded connection ends after one second, so that clients open new ones.
        let copied = copy_bidirectional(&mut client, &mut server);
        drop(tokio::time::timeout(Duration::from_secs(1), copied).await);
        return;
    }
    let mut request = vec![0; REQUEST_BYTES_MAX];
    if let Ok(read) = client.read(&mut request).await
        && server.write_all(&request[..read]).await.is_ok()
    {
        // The answer proves that the request had its effect.
        drop(server.read(&mut request).await);
    }
}
