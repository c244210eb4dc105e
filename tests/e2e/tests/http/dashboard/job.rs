//! The page of a job.

mod actions;

use serde_json::{Value, json};
use tenure_e2e::{Reply, Server, id, merged, on_both_stores, on_both_stores_with_config, path};

use super::{Look, assert_contains, assert_lacks, contains, form, inside, shown};

/// The path of a job's page, or below it.
fn page(job: &Value, below: &str) -> String {
    format!("/ui/jobs/{}{below}", id(job))
}

/// The forms of a job's page.
fn acts(page: &str) -> &str {
    inside(page, "id=\"job-actions\"", "CLI and curl")
}

async fn open_page(server: &Server, job: &Value) -> String {
    shown(server, &page(job, "")).await
}

/// Sends a form and returns the page to which it redirects.
async fn press(server: &Server, job: &Value, act: &str, fields: &str) -> Reply {
    form(server, &page(job, act), fields).send().await
}

#[test]
fn a_job_page_shows_its_state_and_the_reason() {
    on_both_stores(async |server| {
        let asked = json!({ "type": "index", "user_id": "ann", "queue": "night", "priority": 7, "correlation_id": "c-1" });
        let job = server.create(asked).await;
        let id = id(&job);
        let text = open_page(&server, &job).await;
        assert_eq!(text.matches("<h1").count(), 1);
        assert_contains(&inside(&text, "<h1>", "</h1>").replace('…', "-"), &["index ", &id[..8], &id[32..]]);
        let (copy, curl) = (format!("data-copy=\"{id}\""), format!("curl {}/api/jobs/{id}", server.url()));
        assert_contains(&text, &[&copy, &curl, "1 of 5", "History and row agree", "No log lines yet"]);
        assert_contains(&text, &["no worker waits for type index in queue night"]);
        assert_contains(&text, &["tenure work index -- COMMAND"]);
        for link in ["lifecycles/distributed", "jobs?queue=night", "jobs?user_id=ann"] {
            assert_contains(&text, &[&format!("href=\"/ui/{link}\"")]);
        }
        assert_contains(acts(&text), &[">Cancel</button>", "Irreversible actions", ">Cancel now<"]);
        assert_contains(acts(&text), &[">Send to dead letters<", "data-ask="]);
        assert_lacks(acts(&text), &["Retry", "Signal", "disabled"]);
        assert_lacks(&text, &[" style=", "<script>", "onclick", "javascript:"]);

        let claimed = server.claim_one().await;
        server.report_ok(&claimed, "heartbeat", json!({})).await;
        server.report_ok(&claimed, "progress", json!({ "progress": 41.5, "message": "halfway" })).await;
        let text = open_page(&server, &job).await;
        assert_contains(&text, &["value=\"41.5\"", "41.5 %", "halfway"]);
        assert_contains(&text, &["worker w1 holds it", "lease_expired", "data-until"]);
        let attempt = inside(&text, "class=\"attempt\"", "</details>");
        assert_contains(attempt, &["Attempt 1", "class=\"beat\"", "class=\"lease\"", "in progress"]);

        server.report_ok(&claimed, "succeed", json!({ "result": { "pages": 3 } })).await;
        let text = open_page(&server, &job).await;
        bars_are_on_the_axis(&text);
        assert_contains(&text, &["class=\"icon\"", "finished: succeeded", "&quot;pages&quot;: 3"]);
        // A retry would repeat work that was done: it asks first.
        let irreversible = inside(acts(&text), "Irreversible actions", "</details>");
        assert_contains(irreversible, &[">Retry</button>", "The job has succeeded.", ">Delete</button>"]);
        assert_lacks(acts(&text), &["Cancel", "dead letters"]);
        let commands = ["events", "retry"].map(|verb| format!("tenure job {verb} {id}"));
        assert_eq!(server.read(&path(&job, "explain")).await["try"], json!(commands));
    });
}

const QUICK: &str = r#"
[types."*"]
lifecycle = "distributed"
backoff = { base = "0s", factor = 1.0, max = "0s", jitter = "none" }
"#;

/// The bars of the timeline: start and width in thousandths of the axis.
fn bars(page: &str) -> Vec<(f64, f64)> {
    let number = |rect: &str, name: &str| inside(rect, &format!(" {name}=\""), "\"").parse::<f64>().unwrap();
    let attempts = inside(page, "id=\"job-attempts\"", "class=\"axis\"");
    attempts.split("<rect").skip(1).map(|rect| (number(rect, "x"), number(rect, "width"))).collect()
}

#[track_caller]
fn bars_are_on_the_axis(page: &str) {
    let bars = bars(page);
    assert!(!bars.is_empty());
    for (x, width) in bars {
        // A bar has a minimum width.
        assert!(x >= 0.0 && width >= 2.0 && x + width <= 1002.1, "{x} {width}");
    }
}

#[test]
fn each_attempt_is_in_the_timeline_with_its_error() {
    on_both_stores_with_config(QUICK, async |server| {
        let job = server.create(json!({ "type": "a", "max_attempts": 2 })).await;
        for attempt in 1..=2 {
            let claim = json!({ "worker": format!("w{attempt}"), "max": 1, "start": true, "wait": "30s" });
            let claimed = server.claim(claim).await.remove(0);
            let details = json!({ "stack": "at work.rs:7\nat main.rs:1", "port": 5432 });
            let error = json!({
                "code": format!("E{attempt}"), "message": "it broke\nand this is why", "category": "system",
                "class": "transient", "stage": "exec", "details": details,
            });
            server.report_ok(&claimed, "fail", json!({ "error": error })).await;
        }
        let text = open_page(&server, &job).await;
        let attempts = inside(&text, "id=\"job-attempts\"", "class=\"axis\"");
        assert_eq!(attempts.matches("class=\"attempt\"").count(), 2);
        assert_contains(attempts, &["Attempt 1", "Attempt 2", "E1", "E2", "w1, fence", "w2, fence"]);
        assert_contains(attempts, &["at work.rs:7\nat main.rs:1", "system · transient · in exec"]);
        assert_contains(attempts, &["and this is why", "its lease was reported"]);
        bars_are_on_the_axis(&text);
        // Every visited state is highlighted, with the number of visits.
        assert_contains(inside(&text, "class=\"map path\"", "</svg>"), &["2×", "taken", "here"]);
        assert_contains(&text, &["Dead letter: ", "exhausted_retries", ">Redrive<", ">Dismiss<", "2 failed"]);

        let dismissed = press(&server, &job, "/dismiss", "reason=known").await;
        assert_contains(&dismissed.text, &["dismissed", "known"]);
        assert_lacks(&dismissed.text, &[">Dismiss<"]);
        let again = press(&server, &job, "/retry", "").await;
        assert_eq!(again.status, 200);
        assert_contains(&again.text, &["Retry of", "class=\"icon\"", "no worker waits"]);
        assert_contains(&open_page(&server, &job).await, &["Retried as"]);
    });
}

/// A lifecycle with a state without a worker, from which an operator can reject.
const SCREENED: &str = include_str!("../fixtures/screened.toml");

#[test]
fn text_of_a_job_is_escaped() {
    on_both_stores(async |server| {
        let evil = "<script>alert(1)</script><img src=x onerror=\"alert(2)\">'\"`$(reboot)";
        let names = json!({ "type": evil, "queue": evil, "user_id": evil, "correlation_id": evil });
        let job = merged(names, &json!({ "payload": { evil: evil }, "max_attempts": 1 }));
        let job = server.create(job).await;
        assert_lacks(&open_page(&server, &job).await, &["<script>", "<img src=x", "=\"alert"]);
        let claimed = server.claim(json!({ "worker": evil, "max": 1, "start": true })).await.remove(0);
        server.report_ok(&claimed, "progress", json!({ "progress": 1, "message": evil })).await;
        let lines = json!({ "lines": [{ "stream": evil, "level": evil, "text": evil }] });
        server.call_ok(&job, "logs", &lines).await;
        let asset = json!({ "asset_type": evil, "url": "https://example.org/a'b\"><script>" });
        server.call(&job, "assets", &asset).await.expect(201);
        server.call_ok(&job, "cancel", &json!({ "reason": evil })).await;
        assert_lacks(&open_page(&server, &job).await, &["<script>", "<img src=x", "=\"alert"]);
        let error = json!({ "code": "X<b>", "message": evil, "details": { "stack": evil, "more": evil } });
        server.report_ok(&claimed, "fail", json!({ "error": error })).await;
        let text = open_page(&server, &job).await;
        assert_lacks(&text, &["<script>", "<img src=x", "=\"alert", "X<b>"]);
        assert_contains(&text, &["&lt;script&gt;alert(1)&lt;/script&gt;"]);
        let log = server.get(&page(&job, "/log")).await;
        assert_eq!(log.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(log.header("x-content-type-options"), Some("nosniff"));
        assert!(log.text.contains(evil));
    });
}

#[test]
fn large_values_are_truncated_with_a_link_to_the_whole() {
    on_both_stores(async |server| {
        let long = "ü".repeat(450_000);
        let payload = format!("{{\"exact\":0.10,\"big\":18446744073709551617,\"text\":\"{long}\"}}");
        let body = format!("{{\"type\":\"a\",\"max_attempts\":1,\"payload\":{payload}}}");
        let job = server.post_text("/api/jobs", body).await.expect(202);
        let claimed = server.claim_one().await;
        let line = json!({ "text": "x".repeat(50) });
        for _ in 0..10 {
            server.call_ok(&job, "logs", &json!({ "lines": vec![&line; 10_000] })).await;
        }
        let last = json!({ "level": "error", "text": format!("the end {}", "y".repeat(60_000)) });
        server.call_ok(&job, "logs", &json!({ "lines": [last] })).await;
        let error = json!({ "code": "BIG", "message": "z".repeat(10_000) });
        server.report_ok(&claimed, "fail", json!({ "error": error })).await;

        let text = open_page(&server, &job).await;
        assert!(text.len() < 500_000, "{} bytes", text.len());
        assert_contains(&text, &["&quot;exact&quot;: 0.10,", "18446744073709551617", "Full text, "]);
        assert_contains(&text, &["The last 200 of 100,001 lines", "the end yyy"]);
        assert_lacks(inside(&text, "id=\"job-log\"", "</pre>"), &[&"y".repeat(1001)]);
        assert_eq!(server.get(&page(&job, "/text/payload")).await.text, payload);
        let log = server.get(&page(&job, "/log")).await.text;
        assert_eq!(log.lines().count(), 100_001);
        assert!(log.ends_with(&format!("{}\n", "y".repeat(60_000))));
        assert_contains(&server.get(&page(&job, "/text/error")).await.text, &[&"z".repeat(10_000)]);
        assert_eq!(server.get(&page(&job, "/text/history")).await.text.lines().count(), 4);
        assert_eq!(server.get(&page(&job, "/text/result")).await.status, 404);
        assert_eq!(server.get(&page(&job, "/text/secrets")).await.status, 404);
    });
}

/// The lines of the log that a page shows, each with its time.
fn log_lines(page: &str) -> Vec<&str> {
    inside(page, "id=\"job-log\"", "</pre>").split("class=\"n\">").skip(1).collect()
}

#[test]
fn a_log_is_searched_and_shown_by_attempt() {
    on_both_stores_with_config(QUICK, async |server| {
        let job = server.create(json!({ "type": "a", "max_attempts": 2 })).await;
        for attempt in 1..=2 {
            let claim = json!({ "worker": "w1", "max": 1, "start": true, "wait": "30s" });
            let claimed = server.claim(claim).await.remove(0);
            let text = |n: usize| json!({ "text": format!("attempt {attempt} step {n} <b>") });
            let lines: Vec<Value> = (0..300).map(text).collect();
            server.call_ok(&job, "logs", &json!({ "lines": lines })).await;
            let error = json!({ "code": "E", "message": "it broke" });
            server.report_ok(&claimed, "fail", json!({ "error": error })).await;
        }
        let text = open_page(&server, &job).await;
        let lines = log_lines(&text);
        assert_eq!(lines.len(), 200);
        let time = lines[0].split('<').next().unwrap();
        assert!(time.len() == 12 && time.as_bytes()[2] == b':' && time.as_bytes()[8] == b'.', "{time}");
        // The error and the last lines come before everything else.
        let above = inside(&text, "id=\"job-status\"", "id=\"why\"");
        assert_contains(
            above,
            &["it broke", "attempt 2 step 299", "All 600 lines", ">Redrive<", "Copy link"],
        );

        let text = shown(&server, &page(&job, "?log=STEP+29")).await;
        // 29 and 290 to 299, of each attempt.
        assert_eq!(log_lines(&text).len(), 22);
        assert_contains(&text, &["22 lines match; searched 600 of 600"]);
        let text = shown(&server, &page(&job, "?log=&attempt=1")).await;
        let lines = log_lines(&text);
        assert!(lines.iter().all(|line| line.contains("attempt 1 ")), "{lines:?}");
        assert_eq!(lines.len(), 200);
        assert_contains(&text, &["The last 200 matching lines"]);
        let text = shown(&server, &page(&job, "?log=%3Cb%3E&attempt=2")).await;
        assert_lacks(&text, &["<b>"]);
        assert_contains(&text, &["<option value=\"2\" selected>"]);
        let wrong = format!("?log={}", "x".repeat(201));
        assert_eq!(super::ask(&server, &page(&job, &wrong)).await.status, 400);
    });
}

#[test]
fn a_long_history_shows_its_end() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        for _ in 0..70 {
            let claimed = server.claim_next().await;
            server.report_ok(&claimed, "release", json!({ "checkpoint": { "at": 7 } })).await;
        }
        let text = open_page(&server, &job).await;
        assert_contains(&text, &["The last 20 of 71 attempts", "The last 200 of 211 events"]);
        assert_contains(&text, &["Attempt 71", "70×", "Checkpoint"]);
        assert_contains(&text, &["History and row agree: its 211 transitions"]);
        assert_lacks(&text, &["Attempt 51<"]);
        bars_are_on_the_axis(&text);
        assert!(text.len() < 500_000, "{} bytes", text.len());
    });
}

#[test]
fn assets_are_listed_and_only_images_are_embedded() {
    let config = "[types.\"*\"]\nlifecycle = \"distributed\"\n[assets]\nstore = \"file:./objects\"\n";
    on_both_stores_with_config(config, async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let mut added = Vec::new();
        for name in ["a.png", "b.html"] {
            let location = format!("{}?asset_type=thing&name={name}", path(&job, "assets"));
            added.push(server.request("POST", &location).bytes("<b>0123456789</b>").send().await.expect(201));
        }
        let text = open_page(&server, &job).await;
        let at = |nth: usize| page(&job, &format!("/assets/{}", added[nth]["id"].as_str().unwrap()));
        assert_contains(&text, &[&format!("src=\"{}\"", at(0)), "a.png", "b.html", "17 bytes"]);
        assert_lacks(&text, &[&format!("src=\"{}\"", at(1))]);
        for (nth, kind, how) in [(0, "image/png", "inline"), (1, "application/octet-stream", "attachment")] {
            let content = server.get(&at(nth)).await;
            assert_eq!((content.status, content.text.as_str()), (200, "<b>0123456789</b>"));
            assert_eq!(content.header("content-type"), Some(kind));
            assert!(content.header("content-disposition").is_some_and(|value| value.starts_with(how)));
            assert_eq!(content.header("content-security-policy"), Some("sandbox; default-src 'none'"));
            assert_eq!(content.header("x-content-type-options"), Some("nosniff"));
        }
        press(&server, &job, "/cancel-hard", "").await;
        assert_eq!(server.get(&at(0)).await.status, 404);
        assert_contains(&open_page(&server, &job).await, &["discarded"]);
    });
}

#[test]
fn an_open_page_is_updated() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a" })).await;
        let mut look = Look::on(&server, &page(&job, "")).await;
        look.until("job-status", contains("queued")).await;
        let claimed = server.claim_one().await;
        look.until("job-attempt", |part| contains("w1")(part) && contains("data-until")(part)).await;
        server.report_ok(&claimed, "progress", json!({ "progress": 50 })).await;
        look.until("job-status", contains("50 %")).await;
        server.call_ok(&job, "logs", &json!({ "lines": [{ "text": "hello there" }] })).await;
        look.until("job-log", contains("hello there")).await;
        server.report_ok(&claimed, "succeed", json!({ "result": [1] })).await;
        look.until("job-actions", contains("Retry")).await;
    });
}
