//! `tenure bench` reports every figure; no test depends on their values.

use serde_json::Value;
use tenure_e2e::rows;

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
fn pages_are_measured_next_to_the_read_of_one_row() {
    let pages = start_server().json(&["bench", "--pages", "200"]);
    let claimed = rows(&pages["pages_us"]);
    assert!(claimed[0]["address"].as_str().unwrap().starts_with("/api/jobs/"));
    assert!(claimed.len() > 10 && claimed.iter().all(|it| it["p50"].as_u64() > Some(0)), "{pages:#}");
}
