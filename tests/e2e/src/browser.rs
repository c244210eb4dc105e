//! Chromium, controlled by the JavaScript stories in `tests/browser`.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::Server;

/// Each wait in a story has a limit of a minute; this is for stories that hang without waiting.
const STORY_MAX: Duration = Duration::from_mins(5);

/// Runs a story on a server. `props` is an object of further values for the story.
pub async fn run_story(story: &str, server: &Server, props: Value) {
    run_story_with(story, server.url(), props, async |request| panic!("unknown request: {request}")).await;
}

/// Runs a story that asks the test, with `await request("…")`, for what a browser cannot do.
pub async fn run_story_with(story: &str, url: &str, mut props: Value, mut on_request: impl AsyncFnMut(&str)) {
    let missing = "node and Chromium are installed: `cargo xtask install` installs them";
    props["url"] = url.into();
    let settings = json!({
        "tools": xtask::browser::javascript().expect(missing),
        "chromium": xtask::browser::CHROMIUM,
        "screenshots": xtask::cargo::target().join("screenshots"),
        "isPictured": std::env::var_os("TENURE_TEST_SCREENSHOTS").is_some(),
        "props": props,
    });
    let mut node = Command::new("node");
    node.arg(format!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/{}.mjs"), story));
    node.env("STORY", settings.to_string()).kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = node.spawn().expect(missing);
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let run = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            match line.strip_prefix("request ") {
                Some(request) => {
                    on_request(request).await;
                    stdin.write_all(b"done\n").await.unwrap();
                }
                None => println!("{line}"),
            }
        }
        child.wait().await.unwrap()
    };
    let status = timeout(STORY_MAX, run).await.unwrap_or_else(|_| panic!("{story} did not end"));
    assert!(status.success(), "{story} failed: see above, and the pictures in target/screenshots");
}
