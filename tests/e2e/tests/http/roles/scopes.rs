//! Keys with several roles, scopes, an expiry, rotation and their last use.

use serde_json::{Value, json};
use tenure_e2e::*;

/// Creates a key and returns its text.
async fn create_key(server: &Server, new: Value) -> String {
    let created = server.post("/api/keys", &new).await.expect(201);
    created["key"].as_str().expect("a new key is shown").to_owned()
}

/// A claim of one job.
fn claim(worker: &str) -> Value {
    json!({ "worker": worker, "max": 1, "start": true })
}

#[test]
fn a_key_limited_to_types_and_queues_has_access_to_no_other_jobs() {
    on_both_stores(async |mut server| {
        server.use_admin_key().await;
        let scopes = json!({ "types": ["a", "b"], "queues": ["q"] });
        let key = create_key(&server, json!({ "role": "operator", "scopes": scopes })).await;
        let own = server.post_as(&key, "/api/jobs", &json!({ "type": "a", "queue": "q" })).await.expect(202);
        let other_type = server.create(json!({ "type": "c", "queue": "q" })).await;
        let other_queue = server.create(json!({ "type": "a" })).await;
        for new in [json!({ "type": "c", "queue": "q" }), json!({ "type": "a" })] {
            server.post_as(&key, "/api/jobs", &new).await.problem(403, "forbidden");
        }
        let batch = json!({ "jobs": [{ "type": "b", "queue": "q" }, { "type": "c", "queue": "q" }] });
        let results = server.post_as(&key, "/api/jobs/batch", &batch).await.expect(200);
        assert_eq!(results["results"][0]["ok"]["type"], "b");
        assert_eq!(results["results"][1]["error"]["code"], "forbidden");
        let give_up = json!({ "reason_code": "timeout", "detail": "" });
        for other in [&other_type, &other_queue] {
            for call in ["", "events", "replay", "explain", "logs", "stream", "assets"] {
                server.get_as(&key, &path(other, call)).await.problem(403, "forbidden");
            }
            for (call, body) in [("cancel", &json!({})), ("retry", &json!({})), ("dead-letter", &give_up)] {
                server.post_as(&key, &path(other, call), body).await.problem(403, "forbidden");
            }
        }
        let seen = server.get_as(&key, "/api/jobs").await.expect(200);
        assert_eq!(rows(&seen["jobs"]).len(), 2, "others are left out: {seen}");
        server.get_as(&key, "/api/jobs?type=c").await.problem(403, "forbidden");
        let feed = server.get_as(&key, "/api/events").await.expect(200);
        assert_eq!(rows(&feed["events"]).len(), 2, "{feed}");
        for whole in ["stats", "audit", "workers", "queues", "webhooks", "schedules", "keys"] {
            server.get_as(&key, &format!("/api/{whole}")).await.problem(403, "forbidden");
        }
        // Bulk actions and dead letters.
        for job in [&own, &other_type, &other_queue] {
            server.call_ok(job, "dead-letter", &give_up).await;
        }
        for other in [&other_type, &other_queue] {
            let delete = server.request("DELETE", &path(other, "")).key(&key);
            delete.send().await.problem(403, "forbidden");
            server.job(other).await;
        }
        let letters = server.get_as(&key, "/api/dead-letters").await.expect(200);
        assert_eq!(column(&letters["dead_letters"], "job_id"), [own["id"].clone()]);
        let dismiss = |job: &Value| format!("/api/dead-letters/{}/dismiss", id(job));
        let reason = json!({ "reason": "x" });
        server.post_as(&key, &dismiss(&other_type), &reason).await.problem(403, "forbidden");
        let ids = json!({ "ids": [own["id"], other_type["id"]] });
        let redriven = server.post_as(&key, "/api/dead-letters/redrive", &ids).await.expect(200);
        assert_eq!(redriven["redriven"], 1);
        let all = json!({ "action": "retry", "filter": { "outcome": "dead" } });
        let acted = server.post_as(&key, "/api/jobs/actions", &all).await.expect(200);
        assert_eq!(acted["matched"], 1, "{acted}");
        server.post_as(&key, &dismiss(&own), &reason).await.expect(200);
    });
}

#[test]
fn a_key_limited_to_some_jobs_erases_no_user() {
    on_both_stores(async |mut server| {
        server.use_admin_key().await;
        let key = create_key(&server, json!({ "role": "operator", "scopes": { "types": ["a"] } })).await;
        let job = server.create_finished(json!({ "type": "b", "user_id": "u1" })).await;
        let reason = json!({ "reason": "x" });
        server.post_as(&key, "/api/users/u1/erase", &reason).await.problem(403, "forbidden");
        let form = server.request("POST", "/ui/accounts/u1/erase").key(&key).header("origin", server.url());
        let form = form.header("content-type", "application/x-www-form-urlencoded").bytes("reason=x");
        assert_eq!(form.send().await.status, 403);
        server.job(&job).await;
        assert_eq!(server.post_ok("/api/users/u1/erase", &reason).await["deleted"], 1);
    });
}

#[test]
fn a_worker_key_limited_to_types_claims_and_reports_no_other_jobs() {
    on_both_stores(async |mut server| {
        server.use_admin_key().await;
        let scopes = json!({ "types": ["a"] });
        let key = create_key(&server, json!({ "role": "worker", "scopes": scopes })).await;
        server.create(json!({ "type": "b" })).await;
        let own = server.create(json!({ "type": "a" })).await;
        let named = json!({ "worker": "w", "types": ["a", "b"] });
        server.post_as(&key, "/api/claims", &named).await.problem(403, "forbidden");
        let claimed = server.post_as(&key, "/api/claims", &claim("w")).await.expect(200);
        assert_eq!(column(&claimed["jobs"], "id"), [own["id"].clone()]);
        let empty = server.post_as(&key, "/api/claims", &claim("w")).await.expect(200);
        assert_eq!(empty["jobs"], json!([]), "the other type is left");
        let lease = json!({ "worker": "w", "fence": claimed["jobs"][0]["lease"]["fence"] });
        server.post_as(&key, &path(&own, "succeed"), &lease).await.expect(200);
        // An operator may report under any name, but not on jobs that are out of its scopes.
        let operator = create_key(&server, json!({ "role": "operator", "scopes": { "types": ["a"] } })).await;
        let foreign = server.post("/api/claims", &claim("v")).await.expect(200)["jobs"][0].clone();
        assert_eq!(foreign["type"], "b");
        let lease = json!({ "worker": "v", "fence": foreign["lease"]["fence"] });
        server.post_as(&operator, &path(&foreign, "succeed"), &lease).await.problem(403, "forbidden");
        let report = json!({ "job": foreign["id"], "verb": "succeed", "fence": foreign["lease"]["fence"] });
        let reports = json!({ "worker": "v", "reports": [report] });
        let results = server.post_as(&operator, "/api/reports", &reports).await.expect(200);
        assert_eq!(results["results"][0]["error"]["code"], "forbidden");
        assert_eq!(server.job(&foreign).await["outcome"], Value::Null);
    });
}

#[test]
fn a_key_limited_to_worker_names_claims_and_reports_under_no_other_name() {
    on_both_stores(async |mut server| {
        server.use_admin_key().await;
        let key = create_key(&server, json!({ "role": "worker", "scopes": { "worker": "ci-*" } })).await;
        let job = server.create(json!({ "type": "a" })).await;
        server.post_as(&key, "/api/claims", &claim("other")).await.problem(403, "forbidden");
        let claimed = server.post_as(&key, "/api/claims", &claim("ci-1")).await.expect(200);
        let fence = &claimed["jobs"][0]["lease"]["fence"];
        let as_other = json!({ "worker": "other", "fence": fence });
        server.post_as(&key, &path(&job, "heartbeat"), &as_other).await.problem(403, "forbidden");
        let lines = json!({ "worker": "other", "fence": fence, "lines": [{ "text": "x" }] });
        server.post_as(&key, &path(&job, "logs"), &lines).await.problem(403, "forbidden");
        let lease = json!({ "worker": "ci-1", "fence": fence });
        server.post_as(&key, &path(&job, "succeed"), &lease).await.expect(200);
    });
}

#[test]
fn a_key_with_several_roles_has_the_rights_of_each() {
    on_both_stores(async |mut server| {
        server.use_admin_key().await;
        let new = json!({ "roles": ["producer", "worker"], "user_id": "u1", "name": "build farm" });
        let created = server.post("/api/keys", &new).await.expect(201);
        let both = created["key"].as_str().unwrap();
        assert_fields(
            &created,
            json!({ "role": "producer", "roles": ["producer", "worker"], "name": "build farm" }),
        );
        let own = server.post_as(both, "/api/jobs", &json!({ "type": "a" })).await.expect(202);
        let foreign = server.create(json!({ "type": "b", "user_id": "u2" })).await;
        let unseen = server.create(json!({ "type": "c", "user_id": "u2" })).await;
        let claim = json!({ "worker": "w", "max": 1, "types": ["b"], "start": true });
        server.post_as(both, "/api/claims", &claim).await.expect(200);
        for seen in [&own, &foreign] {
            server.get_as(both, &path(seen, "")).await.expect(200);
        }
        server.get_as(both, &path(&unseen, "")).await.problem(403, "forbidden");
        server.post_as(both, &path(&foreign, "cancel"), &json!({})).await.problem(403, "forbidden");
        let feed = server.get_as(both, "/api/events").await.expect(200);
        assert!(column(&feed["events"], "job_id").iter().all(|id| *id != unseen["id"]), "{feed}");
        let held = server.get_as(both, "/api/jobs?worker=w").await.expect(200);
        assert_eq!(column(&held["jobs"], "id"), [foreign["id"].clone()]);
        let listed = server.get_as(both, "/api/jobs").await.expect(200);
        assert_eq!(column(&listed["jobs"], "id"), [own["id"].clone()]);
        // A producer that sees everything still changes only the jobs of its user.
        let watching = json!({ "roles": ["viewer", "producer"], "user_id": "u1" });
        let watching = create_key(&server, watching).await;
        server.get_as(&watching, &path(&unseen, "")).await.expect(200);
        server.post_as(&watching, &path(&unseen, "cancel"), &json!({})).await.problem(403, "forbidden");
        let other = json!({ "type": "a", "user_id": "u2" });
        server.post_as(&watching, "/api/jobs", &other).await.problem(403, "forbidden");
        server.post("/api/keys", &json!({ "roles": [] })).await.problem(400, "malformed");
        server.post("/api/keys", &json!({})).await.problem(400, "malformed");
    });
}

#[test]
fn a_priority_range_limits_what_a_key_creates() {
    on_both_stores(async |mut server| {
        server.use_admin_key().await;
        let scopes = json!({ "priority_min": 1, "priority_max": 5 });
        let key = create_key(&server, json!({ "role": "operator", "scopes": scopes })).await;
        for (priority, status) in
            [(json!(0), 403), (json!(1), 202), (json!(5), 202), (json!(6), 403), (json!(null), 403)]
        {
            let new = json!({ "type": "a", "priority": priority });
            let reply = server.post_as(&key, "/api/jobs", &new).await;
            assert_eq!(reply.status, status, "{priority}: {}", reply.text);
        }
        let low = server.create(json!({ "type": "b" })).await;
        server.post_as(&key, &path(&low, "cancel"), &json!({ "mode": "hard" })).await.expect(200);
        server.post_as(&key, &path(&low, "retry"), &json!({})).await.problem(403, "forbidden");
        // The copy of an amended job has its present priority.
        let raised = server.create(json!({ "type": "b", "priority": 3 })).await;
        let amended =
            server.request("PATCH", &path(&raised, "")).json(&json!({ "priority": 9 })).send().await;
        assert_eq!(amended.expect(200)["priority"], 9);
        let give_up = json!({ "reason_code": "timeout", "detail": "" });
        server.call_ok(&raised, "dead-letter", &give_up).await;
        server.post_as(&key, &path(&raised, "retry"), &json!({})).await.problem(403, "forbidden");
        let ids = json!({ "ids": [raised["id"]] });
        let redriven = server.post_as(&key, "/api/dead-letters/redrive", &ids).await.expect(200);
        assert_eq!(redriven["results"][0]["error"]["code"], "forbidden", "{redriven}");
        let schedule = json!({ "cron": "0 0 1 1 *", "job": { "type": "a", "priority": 9 } });
        server.post_as(&key, "/api/schedules", &schedule).await.problem(403, "forbidden");
    });
}

#[test]
fn scopes_that_would_not_hold_are_refused() {
    on_both_stores(async |mut server| {
        server.use_admin_key().await;
        for (new, pointer) in [
            (json!({ "role": "admin", "scopes": { "types": ["a"] } }), "#/scopes"),
            (json!({ "role": "worker", "scopes": { "user_id": "u" } }), "#/scopes/user_id"),
            (json!({ "role": "viewer", "expires_at": "2001-01-01T00:00:00Z" }), "#/expires_at"),
        ] {
            server.post("/api/keys", &new).await.problem_at(422, "validation_failed", pointer);
        }
        for new in [
            json!({ "role": "viewer", "scopes": { "types": [] } }),
            json!({ "role": "viewer", "scopes": { "colour": "red" } }),
            json!({ "role": "viewer", "ttl": "1h", "expires_at": "2099-01-01T00:00:00Z" }),
        ] {
            server.post("/api/keys", &new).await.problem(400, "malformed");
        }
        let user = create_key(&server, json!({ "role": "operator", "scopes": { "user_id": "u1" } })).await;
        let own = server.post_as(&user, "/api/jobs", &json!({ "type": "a" })).await.expect(202);
        assert_eq!(own["user_id"], "u1");
        let other = json!({ "type": "a", "user_id": "u2" });
        server.post_as(&user, "/api/jobs", &other).await.problem(403, "forbidden");
        server.post_as(&user, "/api/claims", &claim("w")).await.problem(403, "forbidden");
    });
}

#[test]
fn an_expired_key_is_refused_and_its_streams_end() {
    on_both_stores(async |mut server| {
        let admin = server.use_admin_key().await;
        let key = create_key(&server, json!({ "role": "viewer", "ttl": "2s" })).await;
        server.use_key(Some(&key));
        let mut feed = server.stream("/api/events", None).await;
        server.use_key(Some(&admin));
        let expired = async || server.get_as(&key, "/api/jobs").await.status == 401;
        eventually("the key expires", expired).await;
        server.create(json!({ "type": "secret" })).await;
        assert_eq!(feed.next().await, None);
    });
}

#[test]
fn a_rotated_key_accepts_the_earlier_secret_for_the_overlap() {
    on_both_stores(async |mut server| {
        let admin = server.use_admin_key().await;
        let first = create_key(&server, json!({ "role": "viewer" })).await;
        let rotate = format!("/api/keys/{}/rotate", first.split('_').nth(1).unwrap());
        let rotated = server.post_keyed("r1", &rotate, &json!({ "overlap": "10m" })).await.expect(201);
        let second = rotated["key"].as_str().unwrap().to_owned();
        assert!(second != first && rotated["earlier_secrets_until"].is_string(), "{rotated}");
        let again = server.post_keyed("r1", &rotate, &json!({ "overlap": "10m" })).await.expect_replay();
        assert_eq!(again.get("key"), None);
        for key in [&first, &second] {
            server.get_as(key, "/api/jobs").await.expect(200);
        }
        server.use_key(Some(&first));
        let mut feed = server.stream("/api/events", None).await;
        server.use_key(Some(&admin));
        let third = server.post(&rotate, &json!({ "overlap": "0s" })).await.expect(201);
        for key in [&first, &second] {
            server.get_as(key, "/api/jobs").await.problem(401, "unauthenticated");
        }
        server.get_as(third["key"].as_str().unwrap(), "/api/jobs").await.expect(200);
        server.create(json!({ "type": "secret" })).await;
        assert_eq!(feed.next().await, None, "the stream of an earlier secret ends");
        assert!(server.column("/api/audit", "action").await.contains(&json!("key_rotate")));
        server.post("/api/keys/nothing/rotate", &json!({})).await.problem(404, "not_found");
    });
}

#[test]
fn the_last_use_of_a_key_is_shown() {
    on_both_stores(async |mut server| {
        server.use_admin_key().await;
        let key = create_key(&server, json!({ "role": "viewer", "name": "watch" })).await;
        let row = async || find(&server.read("/api/keys").await["keys"], "name", "watch").clone();
        assert_eq!(row().await["last_used_at"], Value::Null);
        server.get_as(&key, "/api/jobs").await.expect(200);
        eventually("the use is written", async || row().await["last_used_at"].is_string()).await;
    });
}
