//! A revocation ends everything that is open with the key, before anything more is delivered.

use serde_json::{Value, json};
use tenure_e2e::*;

use super::create_keys;

/// The text of a log line. Many of them fill the buffers of a connection.
const LINE_BYTES: usize = 60_000;

/// Waits until the node has seen a worker: its claim was accepted.
async fn is_seen(server: &Server, worker: &str) {
    let seen = async || server.column("/api/workers", "name").await.contains(&json!(worker));
    eventually("the worker is seen", seen).await;
}

#[test]
fn a_waiting_claim_ends_when_its_key_is_revoked() {
    on_both_stores(async |mut server| {
        let [_, worker, ..] = create_keys(&mut server).await;
        let key = server.create_key("worker", None).await;
        let claim = json!({ "worker": "late", "types": ["late"], "wait": "60s", "max": 1 });
        let waiting = server.request("POST", "/api/claims").key(&key).json(&claim);
        let (refused, ()) = tokio::join!(waiting.send(), async {
            is_seen(&server, "late").await;
            server.revoke(&key).await;
            server.create(json!({ "type": "late" })).await;
        });
        refused.problem(401, "unauthenticated");
        let claim = json!({ "worker": "valid", "types": ["late"], "max": 1 });
        let claimed = server.post_as(&worker, "/api/claims", &claim).await.expect(200);
        assert_eq!(rows(&claimed["jobs"]).len(), 1, "the job is not lost: {claimed}");
    });
}

#[tokio::test]
async fn a_claim_that_waits_at_one_node_ends_when_its_key_is_revoked_at_another() {
    let mut one = Server::postgres().await;
    one.use_admin_key().await;
    let two = one.second_node().await;
    let key = one.create_key("worker", None).await;
    let claim = json!({ "worker": "late", "types": ["late"], "wait": "60s", "max": 1 });
    let waiting = two.request("POST", "/api/claims").key(&key).json(&claim);
    let (refused, ()) = tokio::join!(waiting.send(), async {
        is_seen(&two, "late").await;
        one.revoke(&key).await;
        one.create(json!({ "type": "late" })).await;
    });
    refused.problem(401, "unauthenticated");
}

#[test]
fn a_stream_with_a_backlog_ends_when_its_key_is_revoked() {
    on_both_stores(async |mut server| {
        let [_, _, _, viewer, admin] = create_keys(&mut server).await;
        let job = server.create(json!({ "type": "a" })).await;
        let lines: Vec<Value> = (0..100).map(|_| json!({ "text": "x".repeat(LINE_BYTES) })).collect();
        for _ in 0..4 {
            server.call_ok(&job, "logs", &json!({ "lines": lines })).await;
        }
        server.use_key(Some(&viewer));
        let mut log = server.stream(&path(&job, "stream"), None).await;
        log.next().await.expect("the first line");
        server.use_key(Some(&admin));
        server.revoke(&viewer).await;
        let rest = log.rest().await.len();
        assert!(rest < 399, "lines that were read before the revocation are not sent: {rest}");
    });
}

#[test]
fn the_event_feed_with_a_backlog_ends_when_its_key_is_revoked() {
    on_both_stores(async |mut server| {
        let [_, _, _, viewer, admin] = create_keys(&mut server).await;
        server.create(json!({ "type": "a", "max_attempts": 100 })).await;
        for _ in 0..40 {
            let held = server.claim_next().await;
            server.report_ok(&held, "release", json!({ "checkpoint": "x".repeat(10 * LINE_BYTES) })).await;
        }
        let total = server.journal().await.len();
        server.use_key(Some(&viewer));
        let mut feed = server.stream("/api/events", Some("0")).await;
        feed.next().await.expect("the first event");
        server.use_key(Some(&admin));
        server.revoke(&viewer).await;
        let rest = feed.rest().await.len();
        assert!(
            rest + 1 < total,
            "events that were read before the revocation are not sent: {rest} of {total}"
        );
    });
}

/// Grants credits with long reasons, so that the audit log does not fit into the buffers of a connection.
async fn fill_audit_log(server: &Server) {
    let reason = "x".repeat(16_000);
    for _ in 0..12 {
        let grant = json!({ "grant": 1, "reason": reason });
        let grant = &grant;
        let grants = (0..50).map(|n| async move {
            server.post(&format!("/api/accounts/u{n}/credits"), grant).await.expect(200)
        });
        futures_util::future::join_all(grants).await;
    }
}

#[test]
fn the_audit_log_with_a_backlog_ends_when_its_key_is_revoked() {
    on_both_stores(async |mut server| {
        let [_, _, _, viewer, admin] = create_keys(&mut server).await;
        fill_audit_log(&server).await;
        server.use_key(Some(&viewer));
        let mut log = server.stream("/api/audit", None).await;
        log.next().await.expect("the first line");
        let mut export = server.request("GET", "/ui/audit/export?format=jsonl").open().await;
        assert_eq!(export.status(), 200);
        server.use_key(Some(&admin));
        server.revoke(&viewer).await;
        let rest = log.rest().await.len();
        assert!(rest < 450, "lines that were read before the revocation are not sent: {rest}");
        let mut lines = 0;
        while let Ok(Some(part)) = in_time("the export", export.chunk()).await {
            lines += part.split(|byte| *byte == b'\n').count() - 1;
        }
        assert!(lines <= 500, "the export ends too: {lines} lines");
    });
}
