//! Every route with every role.

use serde_json::json;
use tenure_e2e::{id, on_both_stores};

use super::{ROLES, create_keys};

/// Every call, after the first letters of the permitted roles. The job belongs to the producer and is held by the worker.
const CALLS: &str = include_str!("routes.txt");

#[test]
fn every_route_accepts_only_its_roles() {
    on_both_stores(async |mut server| {
        let keys = create_keys(&mut server).await;
        let mut wrong = Vec::new();
        for call in CALLS.lines() {
            let words: Vec<&str> = call.splitn(4, ' ').collect();
            let (may, method, pattern) = (words[0], words[1], words[2]);
            for (role, key) in ROLES.iter().zip(&keys) {
                let job = server.create(json!({ "type": "job", "user_id": "u1" })).await;
                if *role == "worker" {
                    let claim = json!({ "worker": "w", "max": 1, "types": ["job"] });
                    let claimed = server.post_as(key, "/api/claims", &claim).await.expect(200);
                    assert_eq!(claimed["jobs"][0]["id"], job["id"]);
                }
                let path = pattern.replace("{id}", id(&job));
                let request = server.request(method, &path).key(key);
                let request = match words.get(3) {
                    Some(body) => request.header("content-type", "application/json").bytes(*body),
                    None => request,
                };
                let reply = request.send().await;
                let is_right = if may.contains(&role[..1]) {
                    ![401, 403].contains(&reply.status) && reply.status < 500
                } else {
                    reply.status == 403 && reply.body["code"] == "forbidden"
                };
                if !is_right {
                    wrong.push(format!("{role}: {call}: {} {}", reply.status, reply.text));
                }
                server.call(&job, "cancel", &json!({ "mode": "hard" })).await;
            }
        }
        assert!(wrong.is_empty(), "{:?}:\n{}", server.store(), wrong.join("\n"));
    });
}
