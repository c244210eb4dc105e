//! Stories: what a person does in a browser, as JavaScript beside this file, on a server that a test has prepared.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::harness::Server;

/// Each wait in a story ends after a minute; this is for stories that do not even wait.
const LONGEST: Duration = Duration::from_mins(5);

/// Plays a story on a server. `more` is an object with what else it has to know.
pub(crate) async fn play(story: &str, server: &Server, more: Value) {
    play_with(story, server.url(), more, async |cue| panic!("nobody knows how to {cue}")).await;
}

/// Plays a story that cannot do everything itself: where it says `await cue("…")`, it is done here.
pub(crate) async fn play_with(story: &str, url: &str, more: Value, mut on_cue: impl AsyncFnMut(&str)) {
    let missing = "node and Chromium are installed: `cargo xtask install` does it";
    let mut props = more;
    props["url"] = url.into();
    let stage = json!({
        "tools": xtask::browser::javascript().expect(missing),
        "chromium": xtask::browser::CHROMIUM,
        "screenshots": xtask::cargo::target().join("screenshots"),
        "props": props,
    });
    let mut node = Command::new("node");
    node.arg(format!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/{}.mjs"), story));
    node.env("STAGE", stage.to_string()).kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = node.spawn().expect(missing);
    let mut told = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let whole = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            match line.strip_prefix("cue ") {
                Some(cue) => {
                    on_cue(cue).await;
                    told.write_all(b"done\n").await.unwrap();
                }
                None => println!("{line}"),
            }
        }
        child.wait().await.unwrap()
    };
    let status = timeout(LONGEST, whole).await.unwrap_or_else(|_| panic!("{story} has no end"));
    assert!(status.success(), "{story} ended badly; above is why, and pictures are in target/screenshots");
}
