//! A collector that accepts every request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

pub(super) struct Collector {
    pub(super) endpoint: String,
    requests: Receiver<ReceivedRequest>,
}

pub(super) struct ReceivedRequest {
    pub(super) path: String,
    pub(super) content_type: String,
    body: Vec<u8>,
}

impl Collector {
    pub(super) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let request = receive(stream.unwrap());
                if sender.send(request).is_err() {
                    return;
                }
            }
        });
        Self { endpoint, requests }
    }

    pub(super) fn next(&self) -> ReceivedRequest {
        self.requests.recv_timeout(Duration::from_secs(20)).expect("spans arrive")
    }
}

impl ReceivedRequest {
    pub(super) fn has(&self, part: &[u8]) -> bool {
        self.body.windows(part.len()).any(|window| window == part)
    }
}

fn receive(stream: TcpStream) -> ReceivedRequest {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_string());
    }
    let header = |name: &str| {
        let named = lines.iter().filter_map(|line| line.split_once(": "));
        named.filter(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_string()).next()
    };
    let path = lines[0].split(' ').nth(1).unwrap().to_string();
    let content_type = header("content-type").unwrap();
    let mut body = vec![0; header("content-length").unwrap().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    reader.get_mut().write_all(answer).unwrap();
    ReceivedRequest { path, content_type, body }
}
