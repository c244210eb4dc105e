//! Sizes of bodies, and what is checked before a body is read.

use serde_json::{Value, json};
use tenure_core::limits;
use tenure_e2e::{Server, on_both_stores, rows};

use crate::roles::create_keys;

/// Sends JSON that is malformed at its end; `None` if the server closed the connection before all of it was sent.
async fn status_of_malformed(server: &Server, key: &str, path: &str, bytes: usize) -> Option<u16> {
    let body = format!(r#"{{"type":"{}""#, "x".repeat(bytes));
    let request = server.request("POST", path).key(key).header("content-type", "application/json");
    request.bytes(body).try_send().await.ok().map(|reply| reply.status)
}

#[test]
fn a_caller_without_the_right_is_refused_before_its_body_is_parsed() {
    on_both_stores(async |mut server| {
        let [_, _, _, viewer, admin] = create_keys(&mut server).await;
        for path in ["/api/jobs", "/api/jobs/batch", "/engine/jobs", "/engine/jobs/batch"] {
            for bytes in [10, 100_000] {
                let status = status_of_malformed(&server, &viewer, path, bytes).await;
                assert_eq!(status, Some(403), "{path}");
                let status = status_of_malformed(&server, &admin, path, bytes).await;
                assert_eq!(status, Some(400), "{path}");
            }
            // The limit of the body is not reached, because nothing of it is read.
            let status = status_of_malformed(&server, &viewer, path, 20 << 20).await;
            assert!(status.is_none_or(|status| status == 403), "{path}: {status:?}");
        }
        // Only the head is sent.
        let head = |bytes: usize| {
            format!(
                "POST /engine/jobs HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {viewer}\r\n\
                 content-type: application/json\r\ncontent-length: {bytes}\r\n\r\n",
                server.address()
            )
        };
        let answer = server.raw(head(2 << 20).as_bytes()).await.to_lowercase();
        assert!(answer.starts_with("http/1.1 403") && answer.contains("connection: close"), "{answer}");
    });
}

#[test]
fn only_calls_about_many_jobs_or_lines_have_large_bodies() {
    on_both_stores(async |server| {
        let job = server.create_claimed(json!({ "type": "a" })).await;
        let path = |call: &str| format!("/api/jobs/{}/{call}", job["id"].as_str().unwrap());
        let (small, large) = ("x".repeat(1 << 20), "x".repeat(5 << 20));
        for (path, body, limit) in [
            (path("cancel"), json!({ "reason": small }), 1 << 20),
            ("/api/claims".to_owned(), json!({ "worker": small }), 1 << 20),
            ("/api/jobs".to_owned(), json!({ "type": "a", "payload": large }), 4 << 20),
            ("/engine/jobs".to_owned(), json!({ "jobType": "a", "payload": large }), 4 << 20),
            (path("succeed"), json!({ "worker": "w1", "fence": 1, "result": large }), 4 << 20),
            (path("signals/go"), json!({ "payload": large }), 4 << 20),
        ] {
            // The server may close the connection before everything was sent.
            if let Ok(reply) = server.request("POST", &path).json(&body).try_send().await {
                assert_eq!(reply.problem(413, "too_large")["limit"], limit, "{path}");
            }
        }
        let amended = server.create(json!({ "type": "amended" })).await;
        let address = format!("/api/jobs/{}", amended["id"].as_str().unwrap());
        let amend = async |bytes: usize| {
            let body = json!({ "payload": "x".repeat(bytes) });
            server.request("PATCH", &address).json(&body).try_send().await
        };
        let largest = limits::PAYLOAD_BYTES_MAX - 2;
        let reply = amend(largest).await.expect("the largest payload fits into the body").expect(200);
        assert_eq!(reply["payload"].as_str().map(str::len), Some(largest));
        if let Ok(reply) = amend(5 << 20).await {
            assert_eq!(reply.problem(413, "too_large")["limit"], 4 << 20);
        }
        let jobs: Vec<Value> =
            (0..12).map(|n| json!({ "type": "b", "payload": [n, "x".repeat(1 << 19)] })).collect();
        let batch = json!({ "jobs": jobs });
        for path in ["/api/jobs/batch", "/api/jobs/batch"] {
            let answer = server.post_keyed("batch", path, &batch).await.expect(200);
            let created = rows(&answer["results"]).iter().filter(|result| result["ok"].is_object());
            assert_eq!(created.count(), 12);
        }
        assert_eq!(server.list("type=b").await.len(), 12, "the repeat created nothing");
    });
}
