//! The audit log: before and after values of every action, and its live stream.

use serde_json::{Value, json};
use tenure_e2e::*;

use crate::roles::create_keys;

/// The last line of the log with this action.
async fn last(server: &Server, action: &str) -> Value {
    let lines = server.rows("/api/audit?limit=500").await;
    lines.into_iter().rfind(|line| line["action"] == action).unwrap_or_else(|| panic!("no line {action}"))
}

/// Checks the values before and after the last action of this name.
#[track_caller]
fn assert_change(line: &Value, before: Value, after: Value) {
    let details = &line["details"];
    for (which, expected) in [("before", before), ("after", after)] {
        if expected.is_null() {
            assert_eq!(details[which], Value::Null, "{line}");
        } else {
            assert_fields(&details[which], expected);
        }
    }
}

#[test]
fn an_audit_line_has_the_credential_and_the_values_before_and_after() {
    on_both_stores(async |mut server| {
        let [_, worker, operator, viewer, admin] = create_keys(&mut server).await;
        let key_id = |key: &str| key.split('_').nth(1).unwrap().to_owned();
        let created = json!({ "id": key_id(&viewer), "role": "viewer", "revoked_at": null });
        assert_change(&last(&server, "key_create").await, Value::Null, created);
        server.revoke(&viewer).await;
        let line = last(&server, "key_revoke").await;
        assert_change(&line, json!({ "revoked_at": null }), json!({ "id": key_id(&viewer) }));
        assert!(line["details"]["after"]["revoked_at"].is_string(), "{line}");
        assert_eq!(line["details"]["credential"], format!("key:{}", key_id(&admin)));
        assert!(!line.to_string().contains(&viewer), "no secret is written");

        server.use_key(Some(&operator));
        server.post_ok("/api/queues/q/pause", &json!({})).await;
        let line = last(&server, "pause").await;
        assert_change(&line, json!({ "paused": false }), json!({ "paused": true }));
        assert_eq!(line["details"]["credential"], format!("key:{}", key_id(&operator)));
        server.grant("u9", 5).await;
        server.grant("u9", 2).await;
        let line = last(&server, "grant").await;
        assert_change(&line, json!({ "granted": 5 }), json!({ "granted": 7 }));

        let job = server.create(json!({ "type": "a" })).await;
        let claim = json!({ "worker": "w", "max": 1, "start": true });
        server.post_as(&worker, "/api/claims", &claim).await.expect(200);
        server.call_ok(&job, "cancel", &json!({})).await;
        let running = json!({ "state": "running", "worker": "w", "cancel_requested": null });
        let asked = json!({ "state": "running", "worker": "w", "cancel_requested": "soft" });
        assert_change(&last(&server, "cancel").await, running, asked);
        server.call_ok(&job, "dead-letter", &json!({ "reason_code": "timeout", "detail": "" })).await;
        let dead = json!({ "state": "dead_lettered", "job_id": job["id"] });
        assert_change(&last(&server, "dead-letter").await, json!({ "state": "running" }), dead.clone());
        let dismiss = format!("/api/dead-letters/{}/dismiss", id(&job));
        server.post_ok(&dismiss, &json!({ "reason": "known" })).await;
        let line = last(&server, "dismiss").await;
        assert_change(&line, json!({ "dismissed_at": null }), json!({ "dismissed_by": line["actor"] }));

        // Bulk actions write a line for each job.
        let retry = json!({ "action": "retry", "filter": { "type": "a", "phase": "final" } });
        let results = server.post_ok("/api/jobs/actions", &retry).await;
        let copy = &results["results"][0]["ok"];
        assert_change(
            &last(&server, "retry").await,
            dead,
            json!({ "state": "queued", "job_id": copy["id"] }),
        );
        let cancel = json!({ "action": "cancel", "filter": { "type": "a", "phase": "ready" } });
        server.post_ok("/api/jobs/actions", &cancel).await;
        let line = last(&server, "cancel").await;
        assert_change(
            &line,
            json!({ "state": "queued" }),
            json!({ "state": "cancelled", "job_id": copy["id"] }),
        );
    });
}

#[test]
fn an_audit_line_of_a_schedule_has_the_values_before_and_after() {
    on_both_stores(async |server| {
        let plan = json!({ "id": "s1", "cron": "0 0 1 1 *", "job": { "type": "a" } });
        server.post("/api/schedules", &plan).await.expect(201);
        let line = last(&server, "schedule_create").await;
        assert_change(&line, Value::Null, json!({ "cron": "0 0 1 1 *", "type": "a" }));
        server.post_ok("/api/schedules/s1/pause", &json!({})).await;
        assert_change(
            &last(&server, "schedule_pause").await,
            json!({ "type": "a" }),
            json!({ "next_at": null }),
        );
        server.delete("/api/schedules/s1").await.expect(200);
        assert_change(&last(&server, "schedule_remove").await, json!({ "next_at": null }), Value::Null);
    });
}

#[test]
fn the_audit_log_is_followed_live_and_from_a_cursor() {
    on_both_stores(async |mut server| {
        let [producer, _, _, viewer, admin] = create_keys(&mut server).await;
        server.use_key(Some(&viewer));
        let mut stream = server.stream("/api/audit", None).await;
        let lines = server.rows("/api/audit").await;
        let mut ids = Vec::new();
        for line in &lines {
            let event = stream.next().await.unwrap();
            assert_eq!((event.event.as_str(), &event.data), ("audit", line));
            assert_eq!(event.id, line["id"].to_string());
            ids.push(event.id);
        }
        server.use_key(Some(&admin));
        server.grant("u1", 1).await;
        assert_eq!(stream.next().await.unwrap().data["action"], "grant");
        let mut rest = server.stream("/api/audit", Some(&ids[1])).await;
        assert_eq!(rest.next().await.unwrap().id, ids[2]);
        let from = format!("/api/audit?cursor={}", ids[2]);
        assert_eq!(server.stream(&from, None).await.next().await.unwrap().id, ids[3]);
        // A stream of a revoked key ends, and a role that may not read the log gets none.
        server.revoke(&viewer).await;
        server.grant("u1", 1).await;
        let mut later = Vec::new();
        while let Some(event) = stream.next().await {
            later.push(event.data["action"].clone());
        }
        assert!(!later.contains(&json!("grant")), "{later:?}");
        let request =
            server.request("GET", "/api/audit").key(&producer).header("accept", "text/event-stream");
        request.send().await.problem(403, "forbidden");
        let bad = server.request("GET", "/api/audit").header("accept", "text/event-stream");
        bad.header("last-event-id", "x").send().await.problem(400, "malformed");
    });
}

#[tokio::test]
async fn actions_on_one_node_reach_a_stream_of_the_other() {
    let one = Server::postgres().await;
    let two = one.second_node().await;
    let mut stream = two.stream("/api/audit", None).await;
    for round in 0..20 {
        let node = if round % 2 == 0 { &one } else { &two };
        node.grant(&format!("u{round}"), 1).await;
        let line = stream.next().await.unwrap().data;
        assert!(line["reason"].as_str().unwrap().contains(&format!("u{round}")), "{line}");
    }
}
