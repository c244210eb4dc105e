//! The creation rate of a user.

use serde_json::{Value, json};
use tenure_e2e::{eventually, in_time, on_both_stores_with_config, rows};

#[test]
fn the_creation_rate_of_a_user_is_limited_and_repeats_do_not_count() {
    on_both_stores_with_config("[limits]\ncreations_per_second = 3\n", async |server| {
        let jobs = (0..10).map(|n| json!({ "type": "a", "user_id": "u1", "payload": n }));
        let body = json!({ "jobs": jobs.collect::<Vec<_>>() });
        let ask = async || {
            let answer = server.post_keyed("k", "/api/jobs/batch", &body).await.expect(200);
            rows(&answer["results"]).to_vec()
        };
        let ids = |results: &[Value]| -> Vec<Value> {
            results.iter().map(|result| result["ok"]["id"].clone()).filter(Value::is_string).collect()
        };
        let first = ask().await;
        assert_eq!(ids(&first).len(), 3, "{first:?}");
        let limited = first.iter().filter(|result| result["error"]["code"] == "rate_limited").count();
        assert_eq!(limited, 7);
        let again = ask().await;
        assert_eq!(ids(&again)[..3], ids(&first)[..], "what was made is found again, whatever the pace");
        server.post("/api/jobs", &json!({ "type": "a", "user_id": "u2" })).await.expect(202);
    });
}

#[test]
fn a_caller_over_the_rate_limit_gets_a_retry_after() {
    on_both_stores_with_config("[limits]\ncreations_per_second = 1\n", async |server| {
        let job = json!({ "type": "a", "user_id": "u1" });
        // On a slow machine too, two requests arrive within a second at some time.
        let refused = in_time("one too many", async {
            loop {
                let reply = server.post("/api/jobs", &job).await;
                if reply.status != 202 {
                    return reply;
                }
            }
        });
        let refused = refused.await;
        assert_eq!(refused.header("retry-after"), Some("1"));
        refused.problem(429, "rate_limited");
        eventually("it may again", async || server.post("/api/jobs", &job).await.status == 202).await;
    });
}
