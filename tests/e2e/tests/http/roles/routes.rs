//! Every route with every role.

use serde_json::{Value, json};
use tenure_e2e::{on_both_stores, path};

use super::{ROLES, close, post_as};

/// Every call with the first letters of the permitted roles. The job belongs to the producer and is held by the worker.
fn calls() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let hold = json!({ "worker": "w", "fence": 1 });
    let with = |more: Value| {
        let mut body = hold.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let nothing = json!({});
    vec![
        ("GET", "/api/jobs", Value::Null, "pwova"),
        ("GET", "/api/jobs/{id}", Value::Null, "pwova"),
        ("GET", "/api/jobs/{id}/events", Value::Null, "pwova"),
        ("GET", "/api/jobs/{id}/replay?seq=1", Value::Null, "pwova"),
        ("GET", "/api/jobs/{id}/explain", Value::Null, "pwova"),
        ("GET", "/api/jobs/{id}/logs", Value::Null, "pwova"),
        ("GET", "/api/types", Value::Null, "pwova"),
        ("GET", "/api/lifecycles", Value::Null, "pwova"),
        ("GET", "/api/lifecycles/so1", Value::Null, "pwova"),
        ("GET", "/api/lifecycles/so1/diagram.svg", Value::Null, "pwova"),
        ("GET", "/api/dead-letters", Value::Null, "pova"),
        ("GET", "/api/accounts/u1/credits", Value::Null, "pova"),
        ("GET", "/api/workers", Value::Null, "ova"),
        ("GET", "/api/queues", Value::Null, "ova"),
        ("GET", "/api/audit", Value::Null, "ova"),
        ("GET", "/api/stats", Value::Null, "ova"),
        ("GET", "/api/keys", Value::Null, "a"),
        ("POST", "/api/jobs", json!({ "type": "new" }), "poa"),
        ("POST", "/api/jobs/batch", json!({ "jobs": [] }), "poa"),
        ("POST", "/api/jobs/{id}/cancel", nothing.clone(), "poa"),
        ("POST", "/api/jobs/{id}/retry", nothing.clone(), "poa"),
        ("POST", "/api/jobs/{id}/signals/go", nothing.clone(), "poa"),
        ("POST", "/api/jobs/{id}/logs", json!({ "lines": [{ "text": "x" }] }), "poa"),
        ("POST", "/api/jobs/{id}/logs", with(json!({ "lines": [{ "text": "x" }] })), "woa"),
        ("POST", "/api/claims", json!({ "worker": "w", "max": 1, "types": ["none"] }), "woa"),
        ("POST", "/api/reports", json!({ "worker": "w", "reports": [] }), "woa"),
        ("POST", "/api/jobs/{id}/start", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/heartbeat", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/progress", with(json!({ "progress": 1 })), "woa"),
        ("POST", "/api/jobs/{id}/succeed", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/partial", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/fail", with(json!({ "error": {} })), "woa"),
        ("POST", "/api/jobs/{id}/reject", with(json!({ "reason": "" })), "woa"),
        ("POST", "/api/jobs/{id}/reject", json!({ "reason": "" }), "oa"),
        ("POST", "/api/jobs/{id}/release", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/cancel-confirm", hold.clone(), "woa"),
        ("POST", "/api/jobs/{id}/dead-letter", json!({ "reason_code": "timeout", "detail": "" }), "oa"),
        ("POST", "/api/jobs/actions", json!({ "action": "cancel", "filter": { "type": "none" } }), "oa"),
        ("POST", "/api/dead-letters/redrive", json!({ "ids": [] }), "oa"),
        ("POST", "/api/dead-letters/{id}/dismiss", json!({ "reason": "" }), "oa"),
        ("POST", "/api/queues/none/pause", nothing.clone(), "oa"),
        ("POST", "/api/queues/none/resume", nothing, "oa"),
        ("POST", "/api/accounts/u1/credits", json!({ "grant": 1, "reason": "" }), "oa"),
        ("POST", "/api/keys", json!({ "role": "viewer" }), "a"),
        ("DELETE", "/api/keys/nothing", Value::Null, "a"),
    ]
}

/// The calls on schedules and webhooks.
fn order_calls() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    vec![
        ("GET", "/api/schedules", Value::Null, "ova"),
        ("GET", "/api/schedules/nothing", Value::Null, "ova"),
        ("POST", "/api/schedules", json!({ "cron": "0 0 1 1 *", "job": { "type": "new" } }), "oa"),
        ("POST", "/api/schedules/nothing/pause", json!({}), "oa"),
        ("POST", "/api/schedules/nothing/resume", json!({}), "oa"),
        ("DELETE", "/api/schedules/nothing", Value::Null, "oa"),
        ("GET", "/api/webhooks", Value::Null, "ova"),
        ("GET", "/api/webhooks/nothing", Value::Null, "ova"),
        ("POST", "/api/webhooks", json!({ "url": "http://localhost/" }), "oa"),
        ("POST", "/api/webhooks/nothing/enable", json!({}), "oa"),
        ("DELETE", "/api/webhooks/nothing", Value::Null, "oa"),
    ]
}

#[test]
fn every_route_accepts_only_its_roles() {
    on_both_stores(async |mut server| {
        let keys = close(&mut server).await;
        let mut wrong = Vec::new();
        for (method, pattern, body, may) in calls().into_iter().chain(order_calls()) {
            for (role, key) in ROLES.iter().zip(&keys) {
                let job = server.create(json!({ "type": "job", "user_id": "u1" })).await;
                if *role == "worker" {
                    let claim = json!({ "worker": "w", "max": 1, "types": ["job"] });
                    let claimed = post_as(&server, key, "/api/claims", &claim).await.expect(200);
                    assert_eq!(claimed["jobs"][0]["id"], job["id"]);
                }
                let path = pattern.replace("{id}", job["id"].as_str().unwrap());
                let request = server.request(method, &path).key(key);
                let request = if body.is_null() { request } else { request.json(&body) };
                let reply = request.send().await;
                let is_right = if may.contains(&role[..1]) {
                    ![401, 403].contains(&reply.status) && reply.status < 500
                } else {
                    reply.status == 403 && reply.body["code"] == "forbidden"
                };
                if !is_right {
                    wrong.push(format!("{role}: {method} {pattern} {body}: {} {}", reply.status, reply.text));
                }
                server.post(&self::path(&job, "cancel"), &json!({ "mode": "hard" })).await;
            }
        }
        assert!(wrong.is_empty(), "{:?}:\n{}", server.store(), wrong.join("\n"));
    });
}
