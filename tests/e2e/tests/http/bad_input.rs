//! Bad input, as tables: each row is a request and its answer. No answer is a 5xx, no request hangs, none changes
//! anything, and the server keeps working after each.

mod bodies;
mod connections;
mod credentials;
mod http;
mod http2;
mod json;
mod numbers;
mod requests;
mod workers;

use std::fmt::Write as _;

use serde_json::{Value, json};
use tenure_e2e::{Server, id};

const CONFIG: &str = include_str!("fixtures/bad_input.toml");

/// Any code is accepted.
const ANY: &str = "*";

/// One bad request and the expected answer.
struct Row {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    status: u16,
    code: &'static str,
}

impl Row {
    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn shown(&self) -> String {
        let body: String = String::from_utf8_lossy(&self.body).chars().take(200).collect();
        format!("{} {} {:?} {body}", self.method, self.path, self.headers)
    }
}

fn get(path: impl Into<String>, status: u16, code: &'static str) -> Row {
    Row { method: "GET", path: path.into(), headers: vec![], body: vec![], status, code }
}

/// A POST with the content type of JSON.
fn post(path: impl Into<String>, body: impl Into<Vec<u8>>, status: u16, code: &'static str) -> Row {
    let headers = vec![("content-type", "application/json".to_owned())];
    Row { method: "POST", path: path.into(), headers, body: body.into(), status, code }
}

/// A POST that is malformed.
fn malformed(path: &str, body: impl Into<Vec<u8>>) -> Row {
    post(path, body, 400, "malformed")
}

/// Jobs in three states.
struct Jobs {
    ready: String,
    held: String,
    fence: u64,
    done: String,
}

async fn prepare(server: &Server) -> Jobs {
    let plain = json!({ "type": "plain" });
    let done = server.create_finished(plain.clone()).await;
    let held = server.create_claimed(plain.clone()).await;
    let ready = server.create(plain).await;
    let fence = held["lease"]["fence"].as_u64().unwrap();
    let [ready, held, done] = [ready, held, done].map(|job| id(&job).to_owned());
    Jobs { ready, held, fence, done }
}

/// Everything that a request could change.
async fn snapshot(server: &Server, jobs: &Jobs) -> Value {
    let paths = "jobs?limit=500 events?after=latest&limit=1 audit?limit=500 dead-letters queues accounts/u1/credits \
                 keys schedules webhooks";
    let mut all = json!({ "logs": server.read(&format!("/api/jobs/{}/logs", jobs.held)).await });
    for path in paths.split_whitespace() {
        all[path] = server.read(&format!("/api/{path}")).await;
    }
    // Reading with a key is a use of it, which is written some time later.
    for key in all["keys"]["keys"].as_array_mut().into_iter().flatten() {
        key["last_used_at"].take();
    }
    all
}

/// Sends every row and reports all wrong answers, and changes.
async fn refuse_all(server: &Server, jobs: &Jobs, rows: Vec<Row>) {
    let before = snapshot(server, jobs).await;
    let mut wrong = String::new();
    for row in &rows {
        let mut request = server.request(row.method, &row.path);
        for (name, value) in &row.headers {
            request = request.header(name, value);
        }
        let reply = request.bytes(row.body.clone()).send().await;
        let code = reply.body["code"].as_str().unwrap_or_default();
        if reply.status != row.status || (row.code != ANY && code != row.code) {
            let text: String = reply.text.chars().take(300).collect();
            let Row { status, code, .. } = row;
            writeln!(wrong, "{}\n  wanted {status} {code}, got {} {text}", row.shown(), reply.status)
                .unwrap();
        } else if reply.header("content-type") != Some("application/problem+json") {
            writeln!(wrong, "{}\n  is not answered with a problem", row.shown()).unwrap();
        }
        assert!(snapshot(server, jobs).await == before, "{wrong}{}\n  changed something", row.shown());
    }
    assert!(wrong.is_empty(), "{} rows\n{wrong}", rows.len());
}

/// The rows of a table.
fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.trim().lines()
}

/// The id of no job.
const NONE: &str = "0198c2f0-0000-7000-8000-000000000000";
