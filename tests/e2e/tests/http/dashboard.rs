//! Pages and forms of the dashboard, without a browser.

mod automations;
mod commands;
mod errors;
mod job;
mod jobs;
mod sessions;
mod time_ranges;
mod types;
mod users;

use std::collections::BTreeMap;

use reqwest::redirect::Policy;
use reqwest::{Response, Url};
use serde_json::Value;
use tenure_e2e::{Reply, Request, Server, http_client, in_time, on_both_stores_with_setup};

/// Runs a test on both stores with a client that does not follow redirects.
fn on_both_stores_without_redirects(test: impl AsyncFn(Server)) {
    let client = http_client().redirect(Policy::none()).build().unwrap();
    on_both_stores_with_setup(|setup| setup.client(client.clone()), test);
}

/// Requests a page like a browser.
async fn ask(server: &Server, path: &str) -> Reply {
    server.request("GET", path).header("accept", "text/html").send().await
}

/// The text of a page that is shown.
async fn shown(server: &Server, path: &str) -> String {
    let reply = ask(server, path).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.text
}

/// A form like a browser with scripts sends it from a page of this server, after a question.
fn form(server: &Server, path: &str, fields: &str) -> Request {
    plain_form(server, path, &format!("{fields}&confirmed=yes"))
}

/// A form like a browser without scripts sends it.
fn plain_form(server: &Server, path: &str, fields: &str) -> Request {
    let request = server.request("POST", path).header("origin", server.url()).header("accept", "text/html");
    request.header("content-type", "application/x-www-form-urlencoded").bytes(fields.to_owned())
}

/// Sends a form.
async fn send(server: &Server, path: &str, fields: &[(&str, &str)]) -> Reply {
    let url = Url::parse_with_params("http://form", fields).unwrap();
    form(server, path, url.query().unwrap_or_default()).send().await
}

/// The message that the next page shows after a form.
#[track_caller]
fn said(reply: &Reply) -> String {
    assert_eq!(reply.status, 303, "{}", reply.text);
    let cookie = reply.header("set-cookie").expect("it says what was done");
    let value = cookie.strip_prefix("tenure_said=").and_then(|rest| rest.split(';').next()).unwrap();
    let url = Url::parse(&format!("http://said/?{value}")).unwrap();
    url.query_pairs().next().expect("a sentence").0.into_owned()
}

#[track_caller]
fn assert_contains(page: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(page.contains(piece), "{piece} is not in {page}");
    }
}

#[track_caller]
fn assert_lacks(page: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(!page.contains(piece), "{piece} is in {page}");
    }
}

/// The text between two strings.
fn inside<'p>(page: &'p str, from: &str, to: &str) -> &'p str {
    let (_, rest) = page.split_once(from).unwrap_or_else(|| panic!("{from} is not in {page}"));
    rest.split_once(to).unwrap_or_else(|| panic!("{to} does not follow {from}")).0
}

/// An open page: its parts as they were last sent.
struct Look {
    stream: Response,
    received: Vec<u8>,
    parts: BTreeMap<String, Value>,
}

impl Look {
    /// Opens the stream that a page names.
    async fn at(server: &Server, page: &str) -> Self {
        Self::on(server, &inside(page, "data-stream=\"", "\"").replace("&amp;", "&")).await
    }

    /// Opens a stream.
    async fn on(server: &Server, path: &str) -> Self {
        let stream = server.request("GET", path).header("accept", "text/event-stream").open().await;
        assert_eq!(stream.status(), 200, "{path}");
        assert_eq!(stream.headers()["content-type"], "text/event-stream", "{path}");
        Self { stream, received: Vec::new(), parts: BTreeMap::new() }
    }

    /// Waits until a condition on a part holds.
    async fn until(&mut self, id: &str, is_wanted: impl Fn(&Value) -> bool) {
        while !self.parts.get(id).is_some_and(&is_wanted) {
            let Some(end) = self.received.windows(2).position(|pair| pair == b"\n\n") else {
                let chunk = in_time(id, self.stream.chunk()).await.expect("the stream continues");
                self.received.extend_from_slice(&chunk.expect("it does not end"));
                continue;
            };
            let event: Vec<u8> = self.received.drain(..end + 2).collect();
            let event = String::from_utf8(event).expect("events are UTF-8");
            let Some(data) = event.lines().find_map(|line| line.strip_prefix("data: ")) else { continue };
            let parts: Vec<(String, Value)> = serde_json::from_str(data).expect("parts are pairs");
            self.parts.extend(parts);
        }
    }
}

fn contains(text: &str) -> impl Fn(&Value) -> bool {
    move |part| part.as_str().is_some_and(|part| part.contains(text))
}
