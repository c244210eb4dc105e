//! HTTP/2 connections that cost a server more than their client: streams that are reset at once, headers without an end.

use std::sync::Arc;

use tenure_e2e::{Server, Setup, Store, http_client, in_time};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// GET, http, and literals for the path and the authority.
const HEALTH: &[u8] = b"\x82\x86\x04\x08/healthz\x01\x09localhost";

const DESCRIPTION: &[u8] = b"\x82\x86\x04\x0d/openapi.json\x01\x09localhost";

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

const CANCEL: u32 = 8;
const ENHANCE_YOUR_CALM: u32 = 11;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

/// The frames of a connection: kind and payload.
fn frames(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut frames = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(9) {
        let Some((payload, rest)) = rest.split_at_checked(number(&head[..3]) as usize) else { break };
        frames.push((head[3], payload));
        bytes = rest;
    }
    frames
}

/// Sends these bytes again and again until the server closes the connection; everything that it sent. The number of the
/// round is given, from 0.
async fn flood(server: &Server, round: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let (mut reader, mut writer) = TcpStream::connect(server.address()).await.unwrap().into_split();
    let is_closed = Arc::new(Notify::new());
    let closed = Arc::clone(&is_closed);
    let received = tokio::spawn(async move {
        let mut received = Vec::new();
        // A reset ends it as well.
        let _ = reader.read_to_end(&mut received).await;
        closed.notify_one();
        received
    });
    let send = async {
        let mut next = [PREFACE, &frame(SETTINGS, 0, 0, b"")].concat();
        let mut number = 0;
        while writer.write_all(&next).await.is_ok() {
            next = round(number);
            number += 1;
        }
    };
    in_time("the server closes the connection", async {
        tokio::select! {
            () = send => {}
            () = is_closed.notified() => {}
        }
    })
    .await;
    in_time("the end of the connection", received).await.unwrap()
}

/// The error code with which the server ended the connection.
fn error_of(received: &[u8]) -> Option<u32> {
    let frames = frames(received);
    let end = frames.iter().rfind(|(kind, _)| *kind == GOAWAY);
    end.map(|(_, payload)| number(&payload[4..8]))
}

#[tokio::test]
async fn a_connection_that_resets_its_streams_at_once_is_closed() {
    let server = Server::sqlite().await;
    let received = flood(&server, |round| {
        let pair = |stream: u32| {
            let open = frame(HEADERS, END_STREAM | END_HEADERS, stream, HEALTH);
            [open, frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes())].concat()
        };
        (0..500).flat_map(|n| pair(1 + 2 * (500 * round + n))).collect()
    })
    .await;
    assert_eq!(error_of(&received), Some(ENHANCE_YOUR_CALM));
    let frames = frames(&received);
    let (_, settings) = frames.iter().find(|(kind, _)| *kind == SETTINGS).expect("settings of the server");
    let setting = |id: u32| {
        let found = settings.chunks(6).find(|setting| number(&setting[..2]) == id);
        found.map(|setting| number(&setting[2..]))
    };
    let (streams, header_bytes) = (setting(3), setting(6));
    assert_eq!((streams, header_bytes), (Some(256), Some(64 << 10)), "streams and bytes of headers");
    server.read("/readyz").await;
}

#[tokio::test]
async fn a_connection_whose_headers_do_not_end_is_closed() {
    let server = Server::sqlite().await;
    for part in [b"".to_vec(), b"\x00\x01x\x01y".repeat(1000)] {
        let received = flood(&server, |round| {
            let kind = if round == 0 { HEADERS } else { CONTINUATION };
            frame(kind, 0, 1, if round == 0 { HEALTH } else { &part })
        })
        .await;
        assert!(error_of(&received).is_some(), "{} bytes", part.len());
    }
    server.read("/readyz").await;
}

/// Up to 64 KiB, the server answers with a problem. Beyond, the HTTP library answers before the server receives the
/// request, and its answer cannot have a body.
#[tokio::test]
async fn headers_over_64_kib_are_refused_without_a_body_and_the_connection_continues() {
    let client = http_client().http2_prior_knowledge().build().unwrap();
    let server = Setup::new(Store::Sqlite).await.client(client).start().await;
    let with_headers = async |count: usize| {
        let mut request = server.request("GET", "/api/jobs");
        for n in 0..count {
            request = request.header(&format!("x-{n}"), &"x".repeat(1000));
        }
        request.send().await
    };
    with_headers(20).await.problem(431, "headers_too_large");
    let refused = with_headers(70).await;
    assert_eq!((refused.status, refused.text.as_str()), (431, ""));
    server.read("/readyz").await;
}

/// Anonymous memory of a process, in KiB.
fn memory_of(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

/// The initial window of a stream is 0 or 1 byte: the server may send heads, but not the rest of a body.
#[tokio::test]
async fn answers_that_are_not_read_need_little_memory() {
    for window in [0_u32, 1] {
        let server = Server::sqlite().await;
        server.get("/openapi.json").await.expect(200);
        let before = memory_of(&server);
        let mut connection = TcpStream::connect(server.address()).await.unwrap();
        let setting = [&[0, 4], &window.to_be_bytes()[..]].concat();
        let mut sent = [PREFACE, &frame(SETTINGS, 0, 0, &setting)].concat();
        for n in 0..200 {
            sent.extend(frame(HEADERS, END_STREAM | END_HEADERS, 1 + 2 * n, DESCRIPTION));
        }
        connection.write_all(&sent).await.unwrap();
        let mut received = Vec::new();
        in_time("every answer has begun", async {
            let begun =
                |received: &[u8]| frames(received).iter().filter(|(kind, _)| *kind == HEADERS).count();
            while begun(&received) < 200 {
                assert!(connection.read_buf(&mut received).await.unwrap() > 0, "it is closed");
            }
        })
        .await;
        let grown = memory_of(&server).saturating_sub(before);
        assert!(grown < 20 << 10, "{grown} KiB more with a window of {window}");
    }
}
