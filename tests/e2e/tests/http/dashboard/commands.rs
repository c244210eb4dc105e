//! Every command that a page shows works when it is typed.

use std::collections::BTreeSet;
use std::process::Stdio;

use serde_json::json;
use tenure_e2e::{Server, id, in_time, tenure};
use tokio::process::{Child, Command};

use super::shown;

const PAGES: [&str; 12] = [
    "/ui",
    "/ui/jobs",
    "/ui/errors",
    "/ui/types",
    "/ui/queues",
    "/ui/workers",
    "/ui/schedules",
    "/ui/webhooks",
    "/ui/audit",
    "/ui/accounts",
    "/ui/events",
    "/ui/system",
];

/// Names of commands in sentences, which are not to be typed alone.
const NAMES: [&str; 3] = ["tenure work", "tenure verify", "tenure job assets"];

/// The commands in a page.
fn commands(page: &str) -> impl Iterator<Item = String> {
    let codes = page.split("<code>").skip(1).filter_map(|rest| rest.split("</code>").next());
    let plain = |text: &str| {
        let text =
            text.replace("&#39;", "'").replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
        // The program of a worker is the reader's choice.
        text.replace("&amp;", "&").replace("-- COMMAND", "-- cat")
    };
    codes
        .map(plain)
        .filter(|text| text.starts_with("tenure ") && !NAMES.contains(&text.as_str()))
        .collect::<Vec<_>>()
        .into_iter()
}

fn start(server: &Server, command: &str) -> Child {
    let folder = tenure().parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("PATH", path).env("TENURE_URL", server.url());
    shell
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn every_command_that_a_page_shows_works() {
    let server = Server::sqlite().await;
    let mut found = BTreeSet::new();
    for path in PAGES {
        found.extend(commands(&shown(&server, path).await));
    }
    let queued = server.create(json!({ "type": "hello" })).await;
    found.extend(commands(&shown(&server, &format!("/ui/jobs/{}", id(&queued))).await));
    let text = found.iter().cloned().collect::<Vec<_>>().join("\n");
    for expected in ["tenure run hello", "tenure work hello", "tenure schedule create", "explain"] {
        assert!(text.contains(expected), "{expected} is not among\n{text}");
    }
    // The worker runs until the end, and lets the jobs of the other commands finish.
    let (workers, others): (Vec<_>, Vec<_>) =
        found.iter().partition(|command| command.starts_with("tenure work "));
    let mut workers: Vec<(&String, Child)> =
        workers.into_iter().map(|command| (command, start(&server, command))).collect();
    for command in others {
        let output = in_time(command, start(&server, command).wait_with_output()).await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        // A job that has finished meanwhile may refuse to be cancelled; the command itself was right.
        assert!(matches!(output.status.code(), Some(0 | 6)), "{command}: {:?}: {errors}", output.status);
    }
    for (command, worker) in &mut workers {
        assert_eq!(worker.try_wait().unwrap(), None, "{command} has ended");
    }
}
