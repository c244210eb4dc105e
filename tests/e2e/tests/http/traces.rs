//! Spans that the server exports: of requests, and of attempts.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tenure_e2e::*;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A collector that keeps what it receives.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<u8>>>);

impl Collector {
    /// Starts one, and returns its endpoint.
    async fn start() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let collector = Self::default();
        let each = collector.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let collector = each.clone();
                tokio::spawn(async move { collector.receive(socket).await });
            }
        });
        (collector, endpoint)
    }

    async fn receive(&self, socket: TcpStream) -> Option<()> {
        let mut socket = BufReader::new(socket);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                socket.read_line(&mut head).await.ok().filter(|count| *count > 0)?;
            }
            let lines = head.lines().map(str::to_lowercase);
            let mut lengths = lines.filter_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; lengths.next().unwrap_or(0)];
            socket.read_exact(&mut body).await.ok()?;
            self.0.lock().unwrap().extend(body);
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.ok()?;
        }
    }

    fn count(&self, part: &[u8]) -> usize {
        self.0.lock().unwrap().windows(part.len()).filter(|window| *window == part).count()
    }
}

/// The id of the span in a `traceparent`, as bytes.
fn span_id(traceparent: &str) -> [u8; 8] {
    u64::from_str_radix(traceparent.split('-').nth(2).unwrap(), 16).unwrap().to_be_bytes()
}

#[tokio::test]
async fn an_attempt_is_one_span_that_claim_and_report_link_to() {
    let (collector, endpoint) = Collector::start().await;
    let config = format!(
        "[otel]\nendpoint = \"{endpoint}\"\n[types.a]\nlifecycle = \"distributed\"\nqueue = \"paintings\"\n"
    );
    let mut server = Server::with(&config, Store::Sqlite).await;
    let created = server.create(json!({ "type": "a", "max_attempts": 1 })).await;
    let claimed = server.claim_next().await;
    let attempt = claimed["traceparent"].as_str().unwrap().to_owned();
    assert!(attempt.contains(created["trace_id"].as_str().unwrap()), "{attempt} is in the job's trace");
    server
        .report_ok(&claimed, "fail", json!({ "error": { "code": "NO_PAINT", "message": "out of blue" } }))
        .await;
    // The rest is sent before the process ends.
    server.terminate().await;
    let own_id = [&[0x12, 8][..], &span_id(&attempt)].concat();
    assert_eq!(
        collector.count(&own_id),
        3,
        "the span of the attempt, and a link from the claim and from the report"
    );
    assert_eq!(collector.count(b"process paintings"), 1);
    for part in ["NO_PAINT", "out of blue", "messaging.destination.name", "tenure.job.type"] {
        assert!(collector.count(part.as_bytes()) > 0, "{part}");
    }
    for name in ["POST /api/jobs", "POST /api/claims", "POST /api/jobs/{id}/fail"] {
        assert!(collector.count(name.as_bytes()) > 0, "{name}");
    }
    for attribute in ["http.route", "http.request.method", "http.response.status_code", "url.path"] {
        assert!(collector.count(attribute.as_bytes()) >= 3, "{attribute}");
    }
}

#[tokio::test]
async fn without_an_endpoint_a_worker_gets_the_context_of_the_job() {
    let server = Server::sqlite().await;
    let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let request = server.request("POST", "/api/jobs").header("traceparent", given);
    request.json(&json!({ "type": "a" })).send().await.expect(202);
    assert_eq!(server.claim_next().await["traceparent"], given);
}

#[tokio::test]
async fn no_span_has_a_stream_token() {
    let (collector, endpoint) = Collector::start().await;
    let mut server = Server::with(&format!("[otel]\nendpoint = \"{endpoint}\"\n"), Store::Sqlite).await;
    let job = server.create(json!({ "type": "a" })).await;
    let created = server.call(&job, "stream-token", &json!({})).await.expect(201);
    let token = created["token"].as_str().unwrap();
    let mut stream = server.stream(&format!("{}?token={token}", path(&job, "stream")), None).await;
    server.call_ok(&job, "cancel", &json!({})).await;
    assert_eq!(stream.next().await.expect("the final status").event, "status");
    server.get(&format!("/api/jobs?token={token}")).await.problem(400, "malformed");
    // The rest is sent before the process ends.
    server.terminate().await;
    assert!(collector.count(b"/api/jobs/{id}/stream-token") > 0, "requests are traced");
    assert_eq!(collector.count(token.strip_prefix("tns_").unwrap().as_bytes()), 0);
}
