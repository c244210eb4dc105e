//! Connections: unread bodies, slow, idle, stalled and excess ones.

use serde_json::json;
use tenure_e2e::{Server, Store, eventually, http_client, in_time, path};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
/// On a server without keys, every caller of the API has authenticated.
const JOBS: &str = "GET /api/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A connection that carries one request after the other.
struct Connection(TcpStream);

impl Connection {
    async fn open(server: &Server) -> Self {
        Self(TcpStream::connect(server.address()).await.unwrap())
    }

    async fn write(&mut self, text: &str) {
        // The server may have closed it.
        let _ = self.0.write_all(text.as_bytes()).await;
    }

    /// The head of the next response, in lower case, whose body is read too; empty if the connection was closed.
    async fn head(&mut self) -> String {
        let mut received = Vec::new();
        let find = |received: &[u8]| received.windows(4).position(|four| four == b"\r\n\r\n");
        while find(&received).is_none() {
            match in_time("a response or the end", self.0.read_u8()).await {
                Ok(byte) => received.push(byte),
                Err(_) => return String::new(),
            }
        }
        let head = String::from_utf8_lossy(&received).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        in_time("the body", self.0.read_exact(&mut body)).await.unwrap();
        head
    }

    /// Whether the connection answers this request with 200.
    async fn answers(&mut self, request: &str) -> bool {
        self.write(request).await;
        self.head().await.starts_with("http/1.1 200")
    }
}

/// The head of a request with a body of this length.
fn head(server: &Server, line: &str, headers: &str, length: usize) -> String {
    let host = server.address();
    format!("{line} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {length}\r\n\r\n")
}

const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

#[tokio::test]
async fn a_connection_works_after_a_response_that_came_before_the_body() {
    let mut server = Server::sqlite().await;
    let key = server.use_admin_key().await;
    let text = format!("Authorization: Bearer {key}\r\nContent-Type: text/plain\r\n");
    let body = "x".repeat(900_000);
    for (line, headers, status) in [
        ("POST /nowhere", "", "404"),
        ("PUT /api/jobs", "", "405"),
        ("POST /api/jobs", "", "401"),
        ("POST /api/jobs", text.as_str(), "415"),
        ("POST /api/jobs/batch", text.as_str(), "415"),
        ("PATCH /api/jobs/none", text.as_str(), "400"),
        ("POST /ui/sign-in", FORM, "403"),
        ("GET /healthz", "", "200"),
    ] {
        let mut connection = Connection::open(&server).await;
        connection.write(&head(&server, line, headers, body.len())).await;
        connection.write(&body).await;
        let answer = connection.head().await;
        assert!(answer.starts_with(&format!("http/1.1 {status}")), "{line}: {answer}");
        assert!(!answer.contains("connection: close"), "{line}: {answer}");
        assert!(connection.answers(HEALTH).await, "{line}: the connection does not work any more");
    }
    // More is not read, and neither is a body that the caller holds back.
    for (length, headers) in [(2 << 20, ""), (10, "Expect: 100-continue\r\n")] {
        let mut connection = Connection::open(&server).await;
        connection.write(&head(&server, "POST /nowhere", headers, length)).await;
        let answer = connection.head().await;
        assert!(answer.starts_with("http/1.1 404") && answer.contains("connection: close"), "{answer}");
        assert_eq!(connection.head().await, "", "the connection is closed");
    }
}

#[tokio::test]
async fn an_endless_request_head_times_out_and_an_idle_connection_does_not() {
    let config = "[limits]\nheader_timeout = \"200ms\"\nconnections = 3\n";
    let server = Server::with(config, Store::Sqlite).await;
    let mut idle = Connection::open(&server).await;
    assert!(idle.answers(JOBS).await);
    for beginning in ["", "GET", "GET /healthz HTTP/1.1\r\n", "GET /healthz HTTP/1.1\r\nHost: loc"] {
        let mut connection = Connection::open(&server).await;
        connection.write(beginning).await;
        assert_eq!(connection.head().await, "", "{beginning:?}");
    }
    assert!(idle.answers(JOBS).await, "a connection is closed after the header timeout");
    idle.write("GET").await;
    assert_eq!(idle.head().await, "", "the head of a later request has a timeout, too");
    eventually("the connections are closed", async || {
        server.request("GET", "/healthz").try_send().await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn connections_over_the_limit_are_closed_and_the_others_work() {
    let server = Server::with("[limits]\nconnections = 3\n", Store::Sqlite).await;
    let mut accepted = Vec::new();
    for _ in 0..3 {
        let mut connection = Connection::open(&server).await;
        assert!(connection.answers(JOBS).await);
        accepted.push(connection);
    }
    for _ in 0..5 {
        let mut connection = Connection::open(&server).await;
        assert!(!connection.answers(JOBS).await, "a fourth connection is accepted");
    }
    for connection in &mut accepted {
        assert!(connection.answers(JOBS).await, "an accepted connection is no longer answered");
    }
    drop(accepted.pop());
    eventually("a connection is accepted again", async || {
        Connection::open(&server).await.answers(JOBS).await
    })
    .await;
}

#[tokio::test]
async fn a_server_without_free_descriptors_serves_its_connections_and_recovers() {
    let server = Server::sqlite().await;
    let mut early = Connection::open(&server).await;
    assert!(early.answers(JOBS).await);
    let in_use = std::fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap().count();
    let limit = [format!("--pid={}", server.id()), format!("--nofile={}", in_use + 8)];
    assert!(std::process::Command::new("prlimit").args(limit).status().unwrap().success());
    let mut excess = Vec::new();
    for _ in 0..40 {
        excess.push(Connection::open(&server).await);
    }
    eventually("no more are accepted", async || server.logs().contains("connection accept failed")).await;
    for _ in 0..20 {
        assert!(early.answers(JOBS).await, "an accepted connection is no longer answered");
    }
    drop(excess);
    eventually("a connection is accepted again", async || {
        Connection::open(&server).await.answers(JOBS).await
    })
    .await;
}

#[tokio::test]
async fn stalled_connections_do_not_keep_out_callers_with_credentials() {
    let mut server = Server::with("[limits]\nconnections = 40\n", Store::Sqlite).await;
    let key = server.use_admin_key().await;
    let job = server.create_claimed(json!({ "type": "a" })).await;
    let ask = format!("GET /api/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n");
    let mut early = Connection::open(&server).await;
    assert!(early.answers(&ask).await);
    let own = format!("Origin: http://{}\r\n{FORM}", server.address());
    let mut stalled = Vec::new();
    for number in 0..160 {
        let mut connection = Connection::open(&server).await;
        match number % 4 {
            0 => connection.write(&head(&server, "POST /ui/sign-in", &own, 8000)).await,
            1 => connection.write("GET /healthz HTTP/1.1\r\nHost").await,
            2 => assert!(connection.answers(HEALTH).await, "a new connection is not answered"),
            _ => {}
        }
        stalled.push(connection);
    }
    let beat = json!({ "worker": job["worker"], "fence": job["lease"]["fence"] });
    for _ in 0..20 {
        // Without a pool, each request has a new connection.
        let fresh = http_client().pool_max_idle_per_host(0).build().unwrap();
        let url = format!("{}{}", server.url(), path(&job, "heartbeat"));
        let sent = fresh.post(url).bearer_auth(&key).header("content-type", "application/json");
        let reply = in_time("a heartbeat", sent.body(beat.to_string()).send()).await.unwrap();
        assert_eq!(reply.status(), 200);
    }
    assert!(early.answers(&ask).await, "a connection with credentials was closed");
    drop(stalled);
}

#[tokio::test]
async fn a_form_without_credentials_is_small() {
    let mut server = Server::sqlite().await;
    server.use_admin_key().await;
    let origin = server.url().to_owned();
    let form = |bytes: usize| {
        let request = server.request("POST", "/ui/sign-in").header("origin", &origin);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.bytes(format!("key={}", "k".repeat(bytes))).send()
    };
    assert_eq!(form(8 << 10).await.status, 413);
    assert_eq!(form(8000).await.status, 401);
}
