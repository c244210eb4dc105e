//! `GET /api/jobs?q=`: the query language.

use serde_json::{Value, json};
use tenure_e2e::*;

/// The jobs that a query finds, and the header with the number of examined jobs.
async fn found(server: &Server, query: &str) -> (Vec<Value>, Option<String>) {
    let reply = server.get(&format!("/api/jobs?q={}", query.replace(' ', "%20").replace('"', "%22"))).await;
    let examined = reply.header("tenure-examined-jobs").map(str::to_owned);
    let jobs = column(&reply.expect(200)["jobs"], "id");
    (jobs, examined)
}

#[test]
fn a_query_finds_jobs_by_state_error_user_payload_and_time() {
    on_both_stores(async |server| {
        let done = server
            .create_finished(json!({ "type": "image", "user_id": "ada", "payload": { "order": 41 } }))
            .await;
        let job = server
            .create_claimed(json!({ "type": "image", "user_id": "ada", "payload": { "order": 42 } }))
            .await;
        let error = json!({ "code": "TIMEOUT", "message": "no answer", "class": "permanent" });
        let failed = server.report_ok(&job, "fail", json!({ "error": error })).await;
        let dead = server.create(json!({ "type": "image", "payload": { "order": { "id": "a b" } } })).await;
        server.call_ok(&dead, "dead-letter", &json!({ "reason_code": "timeout", "detail": "enough" })).await;
        let queued = server.create(json!({ "type": "video", "payload": { "order": 42 } })).await;
        let ids = |jobs: &[&Value]| jobs.iter().map(|job| job["id"].clone()).collect::<Vec<_>>();
        let cases: [(&str, Vec<Value>); 9] = [
            ("type:image state:failed,dead", ids(&[&dead, &failed])),
            ("state:dead", ids(&[&dead])),
            ("state:ready", ids(&[&queued])),
            ("error:timeout user:ada", ids(&[&failed])),
            ("payload.order:42", ids(&[&queued, &failed])),
            ("payload.order:42 type:image", ids(&[&failed])),
            ("payload.order.id:\"a b\"", ids(&[&dead])),
            ("type:image,video since:1h outcome:succeeded,failed", ids(&[&failed, &done])),
            ("until:1h", vec![]),
        ];
        for (query, expected) in cases {
            assert_eq!(found(&server, query).await.0, expected, "{query}");
        }
        assert_eq!(
            found(&server, "payload.order:42").await.1.as_deref(),
            Some("4"),
            "it says how far it looked"
        );
        assert_eq!(found(&server, "user:ada").await.1, None, "the store finds them");
        // Combined with the other filters, and across pages.
        let page = server.read("/api/jobs?q=state:failed,dead&type=image&limit=1").await;
        assert_eq!(column(&page["jobs"], "id"), ids(&[&dead]));
        let cursor = page["next_cursor"].as_str().unwrap();
        let page = server.read(&format!("/api/jobs?q=state:failed,dead&limit=1&cursor={cursor}")).await;
        assert_eq!(column(&page["jobs"], "id"), ids(&[&failed]));
        let none = server.read("/api/jobs?q=type:image&type=video").await;
        assert_eq!(none["jobs"], json!([]));
        let problem = server.get("/api/jobs?q=colour:red").await.expect(400);
        assert_eq!(problem["errors"][0]["pointer"], "?q");
    });
}

#[test]
fn an_amended_payload_is_searched() {
    on_both_stores(async |server| {
        let job = server.create(json!({ "type": "a", "payload": { "n": 1 } })).await;
        let body = json!({ "payload": { "n": 2 } });
        server.request("PATCH", &path(&job, "")).json(&body).send().await.expect(200);
        assert_eq!(found(&server, "payload.n:1").await.0, Vec::<Value>::new());
        assert_eq!(found(&server, "payload.n:2").await.0, vec![job["id"].clone()]);
    });
}

#[test]
fn a_producer_finds_only_the_jobs_of_its_user() {
    on_both_stores(async |mut server| {
        let own = server.create(json!({ "type": "a", "user_id": "u1", "payload": { "n": 1 } })).await;
        server.create(json!({ "type": "a", "user_id": "u2", "payload": { "n": 1 } })).await;
        let admin = server.create_key("admin", None).await;
        server.use_key(Some(&admin));
        let producer = server.create_key("producer", Some("u1")).await;
        server.use_key(Some(&producer));
        assert_eq!(found(&server, "payload.n:1").await.0, vec![own["id"].clone()]);
        assert_eq!(server.get("/api/jobs?q=user:u2").await.status, 403);
    });
}
