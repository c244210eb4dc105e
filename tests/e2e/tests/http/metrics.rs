//! `/metrics`: formats, labels, HTTP requests, webhooks, the process, and the page that documents them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use tenure_e2e::*;

const CONFIG: &str = r#"
[resources.api]
running = 100
[types.greet]
lifecycle = "distributed"
queue = "greetings"
uses = ["api"]
[types."*"]
lifecycle = "distributed"
"#;
const OPEN_METRICS: &str = "application/openmetrics-text";
/// Prints the names of all metrics, or fails if the text is not valid.
const PARSER: &str = "import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
print(*(family.name for family in parse(sys.stdin.read())))";
const PAGE: &str = include_str!("../../../../docs/metrics.md");

/// A server with jobs in many states, unusual names, a webhook that fails, and requests that are refused.
async fn busy_server() -> Server {
    let server = Server::with(CONFIG, Store::Sqlite).await;
    server.post("/api/webhooks", &json!({ "id": "w", "url": "http://127.0.0.1:1/" })).await.expect(201);
    server.create_finished(json!({ "type": "greet" })).await;
    let held = server.create_claimed(json!({ "type": "greet", "max_attempts": 1 })).await;
    server.report_ok(&held, "fail", json!({ "error": {} })).await;
    server.report(&held, "succeed", json!({})).await.problem(409, "lease_conflict");
    for queue in ["plain", "quo\"ted", "back\\slash", "gr\u{fc}\u{df}e", "{a=\"b\"} 1"] {
        server.create(json!({ "type": "undeclared", "queue": queue, "lifecycle": "distributed" })).await;
    }
    server.get("/nothing/here").await.problem(404, "not_found");
    server
}

/// Passes a text to a program; returns what it prints on both streams.
#[track_caller]
fn output_of(program: impl AsRef<Path>, arguments: &[&str], text: &str) -> String {
    let mut command = Command::new(program.as_ref());
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it is installed: `cargo xtask install` installs it");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert!(output.status.success(), "{printed}\n{text}");
    printed
}

async fn open_metrics(server: &Server) -> Reply {
    server.request("GET", "/metrics").header("accept", OPEN_METRICS).send().await
}

#[tokio::test]
async fn promtool_accepts_the_metrics_of_a_busy_server() {
    let text = busy_server().await.get("/metrics").await.text;
    assert_eq!(output_of(xtask::prometheus::promtool().unwrap(), &["check", "metrics"], &text), "", "{text}");
}

#[tokio::test]
async fn the_format_is_classic_unless_open_metrics_is_requested() {
    let server = busy_server().await;
    let classic = server.get("/metrics").await;
    assert_eq!(classic.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(classic.text.contains("# TYPE tenure_claims_total counter\n") && !classic.text.contains("# EOF"));
    let open = open_metrics(&server).await;
    assert_eq!(
        open.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    assert_eq!(open.header("vary"), Some("accept"));
    assert!(open.text.contains("# TYPE tenure_claims counter\n") && open.text.ends_with("\n# EOF\n"));
    let parsed = output_of(xtask::prometheus::python().unwrap(), &["-c", PARSER], &open.text);
    let families: BTreeSet<&str> = parsed.split_whitespace().collect();
    for name in ["tenure_claims", "tenure_build", "tenure_queue_depth", "process_cpu_seconds"] {
        assert!(families.contains(name), "{name} in {parsed}");
    }
}

/// The types and label names of metrics, by the text of a server. A histogram's `le` is not counted.
fn served(text: &str) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut metrics: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines().filter(|line| !line.starts_with("# HELP ")) {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            name.clone_into(&mut current);
            metrics.insert(current.clone(), (kind.to_owned(), BTreeSet::new()));
        } else if let Some((_, labels)) = line.split_once('{') {
            // A name ends with `="`, and stands at the beginning or after a comma.
            let names = labels.split("=\"").filter_map(|part| part.rsplit([',', '"']).next());
            let known = "category class code database from le lifecycle method queue resource result route rule severity state status store to type version webhook";
            let names = names.filter(|name| known.split(' ').any(|known| known == *name) && *name != "le");
            metrics.get_mut(&current).unwrap().1.extend(names.map(str::to_owned));
        }
    }
    metrics
}

/// The types and label names of metrics, by the tables of the page.
fn documented() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let mut cells = row.split('|').map(str::trim);
        let (name, kind) = (cells.next().unwrap().trim_matches('`'), cells.next().unwrap());
        let labels = cells.next().unwrap().split(", ").map(|label| label.trim_matches('`').to_owned());
        (name.to_owned(), (kind.to_owned(), labels.filter(|label| !label.is_empty()).collect()))
    })
    .collect()
}

#[tokio::test]
async fn the_page_lists_every_metric_with_its_type_and_labels() {
    let server = busy_server().await;
    let text = server.get("/metrics").await.text;
    assert_eq!(documented(), served(&text), "docs/metrics.md and\n{text}");
    let is_shared =
        |name: &str| PAGE.split("## Of the store").nth(1).unwrap().contains(&format!("| `{name}` |"));
    for line in text.lines().filter_map(|line| line.strip_prefix("# HELP ")) {
        let (name, help) = line.split_once(' ').unwrap();
        let is_marked = help.contains("the same on every node: aggregate with max");
        assert_eq!(is_marked, is_shared(name), "{line}");
    }
}

#[test]
fn ten_thousand_queues_leave_the_metrics_small() {
    on_both_stores_with_config(CONFIG, async |server| {
        let before = server.metrics_text().await.len();
        let job = |number: u32| {
            let (queue, job_type) = (format!("queue-{number:05}"), format!("type-{}", number % 1000));
            json!({ "type": job_type, "queue": queue, "lifecycle": "distributed" })
        };
        let jobs: Vec<_> = (0..10_000).map(job).collect();
        server.post("/api/jobs/batch", &json!({ "jobs": jobs })).await.expect(200);
        server.create(json!({ "type": "greet" })).await;
        let text = server.metrics_text().await;
        assert!(text.len() < before + 40_000, "{} bytes, {before} before", text.len());
        let all = server.metrics().await;
        let depth = |labels: &[&str]| all.sum("tenure_queue_depth", labels);
        assert_eq!(depth(&[]), Some(10_001.0));
        assert_eq!(depth(&["queue=\"greetings\"", "type=\"greet\""]), Some(1.0));
        assert_eq!(depth(&["queue=\"queue-00099\"", "type=\"*\""]), Some(1.0));
        assert_eq!(depth(&["queue=\"queue-00100\""]), None);
        assert_eq!(depth(&["queue=\"other\"", "type=\"*\""]), Some(9900.0));
        assert!(all.sum("tenure_oldest_ready_seconds", &["queue=\"other\""]).is_some_and(|age| age > 0.0));
    });
}

#[test]
fn requests_are_counted_by_route_method_and_class_of_the_status() {
    on_both_stores_with_config(CONFIG, async |server| {
        let job = server.create(json!({ "type": "greet" })).await;
        for _ in 0..3 {
            server.job(&job).await;
        }
        server.get("/api/jobs/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00").await.problem(404, "not_found");
        server.get("/image/jobs/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00").await;
        for path in ["/a", "/b", "/c"] {
            server.get(path).await.problem(404, "not_found");
        }
        server.request("PURGE", "/api/jobs").send().await.problem(405, "method_not_allowed");
        let all = server.metrics().await;
        let requests = |route: &str, method: &str, status: &str| {
            let labels = [
                format!("route=\"{route}\""),
                format!("method=\"{method}\""),
                format!("status=\"{status}\""),
            ];
            all.sum("tenure_http_requests_total", &labels.each_ref().map(String::as_str))
        };
        assert_eq!(requests("/api/jobs", "POST", "2xx"), Some(1.0));
        assert_eq!(requests("/api/jobs/{id}", "GET", "2xx"), Some(3.0));
        assert_eq!(requests("/api/jobs/{id}", "GET", "4xx"), Some(1.0));
        assert_eq!(requests("/image/jobs/{id}", "GET", "4xx"), Some(1.0));
        assert_eq!(requests("other", "GET", "4xx"), Some(3.0));
        assert_eq!(requests("/api/jobs", "other", "4xx"), Some(1.0));
        let of_job = ["route=\"/api/jobs/{id}\"", "method=\"GET\""];
        assert_eq!(all.sum("tenure_http_request_duration_seconds_count", &of_job), Some(4.0));
    });
}

#[test]
fn a_failing_webhook_lags() {
    on_both_stores(async |server| {
        let lag = async |name: &str| server.metrics().await.sum(&format!("tenure_webhook_{name}"), &[]);
        assert_eq!(lag("lag_seconds").await, Some(0.0), "there is no webhook");
        server.post("/api/webhooks", &json!({ "id": "w", "url": "http://127.0.0.1:1/" })).await.expect(201);
        server.create(json!({ "type": "a" })).await;
        eventually("a delivery fails", async || {
            let failed =
                server.metrics().await.sum("tenure_webhook_deliveries_total", &["result=\"failed\""]);
            failed.is_some_and(|failed| failed >= 1.0)
        })
        .await;
        assert_eq!(lag("lag_events").await, Some(1.0));
        assert!(lag("lag_seconds").await.is_some_and(|seconds| seconds > 0.0));
    });
}

#[test]
fn a_disabled_webhook_needs_attention() {
    on_both_stores(async |server| {
        let attention = async |severity: &str| {
            let labels = ["rule=\"webhook\"", &format!("severity=\"{severity}\"")];
            server.metrics().await.sum("tenure_attention", &labels)
        };
        assert_eq!(attention("warning").await, Some(0.0));
        server.post("/api/webhooks", &json!({ "id": "w", "url": "http://127.0.0.1:1/" })).await.expect(201);
        server.post_ok("/api/webhooks/w/disable", &json!({})).await;
        eventually("the metrics show it", async || attention("warning").await == Some(1.0)).await;
        assert_eq!(attention("critical").await, Some(0.0), "an operator disabled it");
        assert_eq!(server.metrics().await.sum("tenure_webhook_lag_seconds", &[]), Some(0.0));
        server.post_ok("/api/webhooks/w/enable", &json!({})).await;
        eventually("it has ended", async || attention("warning").await == Some(0.0)).await;
    });
}

#[tokio::test]
async fn every_rule_of_the_attention_list_is_a_label() {
    let server = Server::sqlite().await;
    let description = server.read("/openapi.json").await;
    let rules = &description["components"]["schemas"]["Attention"]["properties"]["what"]["enum"];
    let all = server.metrics().await;
    for rule in rows(rules) {
        for severity in ["warning", "critical"] {
            let labels = [&format!("rule={rule}"), &format!("severity=\"{severity}\"")];
            assert_eq!(all.sum("tenure_attention", &labels.map(String::as_str)), Some(0.0), "{labels:?}");
        }
    }
}

#[test]
fn a_paused_queue_is_marked() {
    on_both_stores_with_config(CONFIG, async |server| {
        let paused = async |queue: &str| {
            server.metrics().await.sum("tenure_queue_paused", &[&format!("queue=\"{queue}\"")])
        };
        assert_eq!(paused("greetings").await, Some(0.0), "a declared queue is there from the start");
        for queue in ["greetings", "later"] {
            server.post_ok(&format!("/api/queues/{queue}/pause"), &json!({})).await;
            eventually("the metrics show it", async || paused(queue).await == Some(1.0)).await;
        }
        server.post_ok("/api/queues/greetings/resume", &json!({})).await;
        eventually("it has ended", async || paused("greetings").await == Some(0.0)).await;
    });
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_build_and_the_process_are_described() {
    let server = Server::sqlite().await;
    let all = server.metrics().await;
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert_eq!(all.sum("tenure_build_info", &[&version, "store=\"sqlite\""]), Some(1.0));
    assert!(all.sum("process_resident_memory_bytes", &[]).is_some_and(|bytes| bytes > 1e6));
    assert!(all.sum("process_open_fds", &[]) < all.sum("process_max_fds", &[]));
    assert!(all.sum("process_cpu_seconds_total", &[]).is_some());
    assert!(all.sum("process_start_time_seconds", &[]).is_some_and(|at| at > 1.7e9));
}

#[tokio::test]
async fn many_scrapers_share_one_reading() {
    let server = Server::sqlite().await;
    let mut texts = BTreeSet::new();
    for _ in 0..50 {
        texts.insert(server.get("/metrics").await.text);
    }
    // On a slow machine, they take longer than a second.
    assert!(texts.len() < 25, "{} readings for 50 requests", texts.len());
    assert!(open_metrics(&server).await.text.ends_with("# EOF\n"), "each format has its text");
}
