//! A collector of one's own: takes what is posted to it, and says thanks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

pub(super) struct Collector {
    pub(super) endpoint: String,
    arrived: Receiver<Arrived>,
}

pub(super) struct Arrived {
    pub(super) path: String,
    pub(super) content_type: String,
    body: Vec<u8>,
}

impl Collector {
    pub(super) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let (sender, arrived) = channel();
        thread::spawn(move || {
            for visitor in listener.incoming() {
                let request = take(visitor.unwrap());
                if sender.send(request).is_err() {
                    return;
                }
            }
        });
        Self { endpoint, arrived }
    }

    pub(super) fn next(&self) -> Arrived {
        self.arrived.recv_timeout(Duration::from_secs(20)).expect("spans arrive")
    }
}

impl Arrived {
    pub(super) fn has(&self, part: &[u8]) -> bool {
        self.body.windows(part.len()).any(|window| window == part)
    }
}

fn take(visitor: TcpStream) -> Arrived {
    let mut reader = BufReader::new(visitor);
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
    Arrived { path, content_type, body }
}
