//! A server with prepared answers, for what a real one does only with very many rows.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tenure_e2e::{DEADLINE, tenure};

#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Method, path and query.
    pub(crate) target: String,
    pub(crate) body: Value,
}

pub(crate) struct FakeServer {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl FakeServer {
    /// Answers one request after the other with these bodies.
    pub(crate) fn answers(bodies: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let (seen, mut bodies) = (Arc::clone(&requests), VecDeque::from(bodies));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &seen, &mut bodies);
            }
        });
        Self { url, requests }
    }

    /// Runs `tenure` with these arguments.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut limited = Command::new("timeout");
        limited.arg(DEADLINE.as_secs().to_string()).arg(tenure()).args(arguments);
        limited.env("TENURE_URL", &self.url).env_remove("TENURE_KEY").env_remove("TENURE_KEY_FILE");
        limited.stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

/// Answers one request of a connection, and closes it.
fn answer(mut stream: TcpStream, seen: &Mutex<Vec<Request>>, bodies: &mut VecDeque<Value>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            return;
        }
    }
    let lengths = head.lines().filter_map(|line| line.split_once(": "));
    let length = lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let mut body = vec![0; length.map(|(_, value)| value.parse().unwrap()).next().unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let target = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    seen.lock().unwrap().push(Request { target, body: serde_json::from_slice(&body).unwrap_or_default() });
    let (status, body) = bodies.pop_front().map_or((404, Value::Null), |body| (200, body));
    let (body, kind) = (body.to_string(), "application/json");
    let head = format!("content-type: {kind}\r\ncontent-length: {}\r\nconnection: close", body.len());
    write!(stream, "HTTP/1.1 {status} x\r\n{head}\r\n\r\n{body}").unwrap();
}
