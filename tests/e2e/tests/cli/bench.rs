//! `tenure bench` reports every figure; no test depends on their values.

use std::process::Command;

use serde_json::{Value, json};
use tenure_e2e::{new_database, rows, server_url, tenure};

use crate::start_server;

#[test]
fn a_benchmark_reports_every_figure() {
    let server = start_server();
    let short = "--seconds 1 --callers 4 --batch 10 --batch-callers 2 --samples 5 --idle 10 --engines 5 --dashboards 5";
    let short: Vec<&str> = short.split(' ').collect();
    let own = server.json(&[&["bench"][..], &short].concat());
    let without_server = "disk_syncs_per_second runtime_per_second runtime_batches_per_second idle_bytes";
    for measured in without_server.split(' ') {
        assert!(own[measured].as_f64().is_some(), "{measured}: {own:#}");
    }
    let running = server.json(&[&["bench", "--running"][..], &short].concat());
    for measured in ["healthz", "singles", "batches", "engines", "idle_singles", "dashboards_singles"] {
        let rate = |report: &Value| report[format!("{measured}_per_second")].as_f64();
        assert!(rate(&own) > Some(0.0) && rate(&running) > Some(0.0), "{measured}: {running:#}");
    }
    assert!(running["latency_us"]["p99"].as_u64() > Some(0));
}

#[test]
fn each_store_is_measured_next_to_a_log_file() {
    let arguments = "bench --stores sqlite,postgres --waiting 30 --finished 20 --callers 2 --seconds 1 --pinned --database-url";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let url = server_url();
    let measured = start_server().json(&[&arguments[..], &[&url]].concat());
    let runs = rows(&measured["stores"]);
    let kind = |run: &Value| (run["store"].as_str().unwrap().to_owned(), run["pinned"].as_bool().unwrap());
    let expected = [("sqlite", false), ("postgres", false), ("postgres", true)];
    assert!(
        runs.iter().map(kind).eq(expected.map(|(store, pinned)| (store.to_owned(), pinned))),
        "{measured:#}"
    );
    for run in runs {
        for figure in ["per_second", "written_bytes", "limit_per_second"] {
            assert!(run[figure].as_f64() > Some(0.0), "{figure}: {run:#}");
        }
        let has_database = run["store"] == "postgres";
        for figure in ["database_cpu_us", "dead_rows"] {
            assert_eq!(run[figure].is_number(), has_database, "{figure}: {run:#}");
        }
    }
    let openings = rows(&measured["openings"]);
    assert_eq!(openings.len(), 2);
    for opening in openings {
        assert!(
            opening["verified_jobs"].as_u64() >= Some(50),
            "the jobs that waited and had finished: {opening:#}"
        );
        assert!(opening["peak_bytes"].as_u64() >= opening["resident_bytes"].as_u64());
    }
}

#[test]
fn pages_are_measured_next_to_the_read_of_one_row() {
    let pages = start_server().json(&["bench", "--pages", "200"]);
    let claimed = rows(&pages["pages_us"]);
    assert!(claimed[0]["address"].as_str().unwrap().starts_with("/api/jobs/"));
    assert!(claimed.len() > 10 && claimed.iter().all(|it| it["p50"].as_u64() > Some(0)), "{pages:#}");
}

#[tokio::test]
async fn flow_control_is_lawful_by_the_histories_of_three_nodes() {
    let url = new_database().await;
    let arguments = ["bench", "--flow", "100", "--seconds", "1", "--database-url", &url, "-o", "json"];
    let output = Command::new(tenure()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let hot = &report["hot_key"];
    let most = hot["most_at_once"].as_u64().unwrap();
    assert!((2..=3).contains(&most), "{hot}");
    assert_eq!((&hot["nodes"], &hot["claimers_each"]), (&json!(3), &json!(64)));
    for tokens in rows(&report["tokens"]) {
        assert_eq!(tokens["unlawful"], 0, "{tokens}");
        assert!(tokens["late_worst_ms"].as_i64().unwrap() >= 0, "{tokens}");
    }
    assert_eq!(report["other_tenant"]["is_next"], true);
    let ratio = report["shares"]["ratio"].as_f64().unwrap();
    assert!((4.0..6.0).contains(&ratio), "weights of five to one: {ratio}");
    let expected = json!({ "calls": 100, "jobs": 1, "runs": 1, "events": 100, "has_last_payload": true });
    assert_eq!(report["debounce"], expected);
    let rate = |cost: &Value, of: &str| cost[of].as_f64().unwrap();
    for cost in rows(&report["costs"]) {
        assert!(
            ["undeclared", "plain", "one_key", "many_keys"].iter().all(|of| rate(cost, of) > 0.0),
            "{cost}"
        );
    }
}
