//! Malformed HTTP: headers, lengths, framing.

use std::fmt::Write as _;

use serde_json::Value;
use tenure_e2e::{Server, in_time, on_both_stores_with_config};

use super::{ANY, CONFIG, lines, prepare, snapshot};

/// Status, head and body of the answer on a raw connection. Status 0: closed without an answer.
pub(super) async fn raw(server: &Server, bytes: &[u8]) -> (u16, String, Value) {
    let text = server.raw(bytes).await;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, head.to_ascii_lowercase(), serde_json::from_str(body).unwrap_or(Value::Null))
}

/// A request with the headers that all of them have.
pub(super) fn wire(line: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n{body}").into_bytes()
}

/// Status, code and request line.
const LINES: &str = include_str!("http_lines.txt");

const JOB: &str = r#"{"type":"plain"}"#;

const IS_JSON: &str = "Content-Type: application/json\r\n";

/// Bytes, the accepted statuses (0: closed without an answer), and the code.
type Wire = (Vec<u8>, &'static [u16], &'static str);

/// A valid job with these headers.
fn create(headers: &str) -> Vec<u8> {
    wire("POST /api/jobs", &format!("{headers}Content-Length: {}\r\n", JOB.len()), JOB)
}

/// Unsupported content types, foreign origins and foreign hosts.
fn header_rows() -> Vec<Wire> {
    let mut rows: Vec<Wire> = vec![
        (create(""), &[415], "unsupported_media_type"),
        (create(&format!("{IS_JSON}Content-Encoding: gzip\r\n")), &[415], "unsupported_media_type"),
    ];
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "json", "*/*"]
    {
        rows.push((create(&format!("Content-Type: {kind}\r\n")), &[415], "unsupported_media_type"));
    }
    for origin in ["https://evil.example", "null", "http://localhost:1", "http://localhost.evil.example"] {
        rows.push((create(&format!("{IS_JSON}Origin: {origin}\r\n")), &[403], "forbidden"));
    }
    let two_hosts =
        "GET /api/jobs HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    rows.push((two_hosts.into(), &[400], "malformed"));
    for head in [
        "GET /api/jobs HTTP/1.1\r\nHost: evil.example",
        "GET /api/jobs HTTP/1.1\r\nHost: localhost.evil.example",
        "GET /api/jobs HTTP/1.1\r\nX-No: host",
        "GET http://evil.example/api/jobs HTTP/1.1\r\nHost: localhost",
        "GET /metrics HTTP/1.1\r\nHost: evil.example",
        "GET /openapi.json HTTP/1.1\r\nHost: evil.example:80",
    ] {
        rows.push((format!("{head}\r\nConnection: close\r\n\r\n").into(), &[421], "misdirected"));
    }
    rows
}

/// Wrong lengths, long heads, and bytes that are not HTTP.
fn framing_rows() -> Vec<Wire> {
    let long = "x".repeat(20_000);
    let many = (0..80).fold(String::new(), |many, n| format!("{many}X-{n}: y\r\n"));
    let chunked = format!("{IS_JSON}Transfer-Encoding: chunked\r\n");
    let too_much = format!("100000\r\n{}\r\n", " ".repeat(1 << 20)).repeat(3) + "0\r\n\r\n";
    let post = |headers: &str, body: &str| wire("POST /api/jobs", headers, body);
    let length = |length: &str| format!("{IS_JSON}Content-Length: {length}\r\n");
    let broken: &[u16] = &[400, 0];
    vec![
        (post(&length("999999999999"), ""), &[413], "too_large"),
        (post(&chunked, &too_much), &[413], "too_large"),
        (post(&chunked, "zz\r\n{}\r\n0\r\n\r\n"), broken, ANY),
        (post(&chunked, "fffffffffffffffff\r\n{}\r\n"), broken, ANY),
        (post(&format!("{chunked}Content-Length: 5\r\n"), "2\r\n{}\r\n0\r\n\r\n"), broken, ANY),
        (post(&format!("{IS_JSON}Transfer-Encoding: gzip\r\n"), JOB), broken, ANY),
        (create(&length("3")), broken, ANY),
        (post(&length("-1"), JOB), broken, ANY),
        (post(&length("1x"), JOB), broken, ANY),
        (wire("GET /api/jobs", &format!("X-Long: {long}\r\n"), ""), &[431], "headers_too_large"),
        (wire("GET /api/jobs", &many, ""), &[431], "headers_too_large"),
        (wire(&format!("GET /api/jobs?state={long}"), "", ""), &[431], "headers_too_large"),
        (wire(&format!("GET /api/jobs?state={}", long.repeat(4)), "", ""), &[431], "headers_too_large"),
        (wire("CONNECT localhost:80", "", ""), &[400, 404, 405], ANY),
        (wire("GET /api/jobs", "Bad Header: x\r\n", ""), broken, ANY),
        (wire("GET /api/jobs", "X-Nul: a\0b\r\n", ""), broken, ANY),
        (b"GARBAGE\r\n\r\n".to_vec(), broken, ANY),
        (b"GET /api/jobs HTTP/9.9\r\n\r\n".to_vec(), &[400, 505, 0], ANY),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), broken, ANY),
    ]
}

#[test]
fn malformed_http_is_refused() {
    on_both_stores_with_config(CONFIG, async |server| {
        let jobs = prepare(&server).await;
        let before = snapshot(&server, &jobs).await;
        let mut rows = header_rows();
        rows.extend(framing_rows());
        for line in lines(LINES) {
            let (status, rest) = line.split_once(' ').unwrap();
            let (code, request) = rest.split_once(' ').unwrap();
            let status: &[u16] = match status {
                "400" => &[400],
                "404" => &[404],
                _ => &[405],
            };
            rows.push((wire(request, "", ""), status, code));
        }
        let mut wrong = String::new();
        for (bytes, statuses, code) in &rows {
            let shown: String = String::from_utf8_lossy(bytes).chars().take(150).collect();
            let (status, head, body) = in_time(&shown, raw(&server, bytes)).await;
            let is_right = statuses.contains(&status) && (*code == ANY || body["code"] == *code);
            let has_details = match status {
                405 => head.contains("\r\nallow: "),
                413 => body["limit"] == 2 << 20,
                431 => body["limit"] == 16 << 10,
                // Also those that the HTTP library finds.
                400.. => body["code"].is_string(),
                _ => true,
            };
            if !is_right || !has_details {
                writeln!(wrong, "{shown:?}\n  wanted {statuses:?} {code}, got {status} {head:?} {body}")
                    .unwrap();
            }
            assert!(snapshot(&server, &jobs).await == before, "{shown:?} changed something\n{wrong}");
        }
        assert!(wrong.is_empty(), "{} rows\n{wrong}", rows.len());
    });
}

#[tokio::test]
async fn a_request_with_two_lengths_closes_its_connection() {
    let server = Server::sqlite().await;
    for lengths in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5\r\nContent-Length: 12\r\n",
    ] {
        let first = format!("POST /api/jobs HTTP/1.1\r\nHost: localhost\r\n{IS_JSON}{lengths}\r\n");
        let smuggled = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let received = server.raw(format!("{first}2\r\n{{}}\r\n0\r\n\r\n{smuggled}").as_bytes()).await;
        assert!(received.starts_with("HTTP/1.1 400") || received.is_empty(), "{lengths}: {received}");
        assert!(received.matches("HTTP/1.1 ").count() <= 1, "{lengths}: {received}");
    }
}

#[tokio::test]
async fn json_is_accepted_in_utf_8_and_answered_with_json_whatever_is_accepted() {
    let server = Server::sqlite().await;
    for kind in ["application/json", "Application/JSON", "application/json; charset=utf-8"] {
        let headers = format!("Content-Type: {kind}\r\nAccept: text/html\r\n");
        let (status, head, body) = raw(&server, &create(&headers)).await;
        assert!(status == 202 && head.contains("content-type: application/json"), "{kind}: {status} {head}");
        assert_eq!(body["type"], "plain", "{kind}");
    }
    for kind in ["application/json;charset=\"UTF-8\"", "application/json ; charset=Utf-8"] {
        let (status, _, body) = raw(&server, &create(&format!("Content-Type: {kind}\r\n"))).await;
        assert_eq!(status, 202, "{kind}: {body}");
    }
    let (status, head, _) = raw(&server, &wire("GET /api/nothing", "Accept: text/html\r\n", "")).await;
    assert!(status == 404 && head.contains("content-type: application/problem+json"), "{status} {head}");
}
