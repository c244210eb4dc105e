//! Batches of new jobs: a key for each job, a key for the request, and refusals of single jobs.

use serde_json::{Value, json};
use tenure_e2e::*;

const BATCH: &str = "/api/jobs/batch";

/// A job of another user for each number, with a key.
fn keyed(n: usize) -> Value {
    json!({ "type": "a", "user_id": format!("u{n}"), "payload": { "n": n }, "idempotency_key": format!("k{n}") })
}

async fn create(server: &Server, jobs: &[Value]) -> Vec<Value> {
    rows(&server.post_ok(BATCH, &json!({ "jobs": jobs })).await["results"]).to_vec()
}

fn ids(results: &[Value]) -> Vec<Value> {
    results.iter().map(|result| result["ok"]["id"].clone()).collect()
}

async fn count(server: &Server) -> usize {
    rows(&server.read("/api/jobs?limit=500").await["jobs"]).len()
}

#[test]
fn a_batch_with_one_row_less_under_the_same_keys_creates_no_duplicates() {
    on_both_stores(async |server| {
        let jobs: Vec<Value> = (0..50).map(keyed).collect();
        let first = create(&server, &jobs).await;
        assert!(first.iter().all(|result| result["ok"].get("replayed").is_none()), "{first:?}");
        assert_eq!(first[7]["ok"]["idempotency_key"], "k7");
        let fewer = create(&server, &jobs[1..]).await;
        assert_eq!(ids(&fewer), ids(&first)[1..]);
        assert!(fewer.iter().all(|result| result["ok"]["replayed"] == true), "{fewer:?}");
        assert_eq!(count(&server).await, 50);
    });
}

#[test]
fn the_key_of_a_batch_with_another_body_is_refused_as_a_whole() {
    on_both_stores(async |server| {
        let jobs: Vec<Value> = (0..10).map(|n| json!({ "type": "a", "user_id": format!("u{n}") })).collect();
        let send = async |jobs: &[Value]| server.post_keyed("import", BATCH, &json!({ "jobs": jobs })).await;
        let first = send(&jobs).await.expect(200)["results"].take();
        for other in [&jobs[1..], &jobs[..9], &[]] {
            send(other).await.problem_at(422, "idempotency_mismatch", "#");
        }
        let mut more = jobs.clone();
        more.push(json!({ "type": "a", "user_id": "u10" }));
        send(&more).await.problem_at(422, "idempotency_mismatch", "#");
        assert_eq!(count(&server).await, 10);
        let again = send(&jobs).await.expect(200)["results"].take();
        assert_eq!(ids(rows(&again)), ids(rows(&first)));
        assert!(rows(&again).iter().all(|result| result["ok"]["replayed"] == true), "{again}");
        assert_eq!(count(&server).await, 10);
        // The jobs' own keys are independent of the request's.
        let own: Vec<Value> = (0..3).map(keyed).collect();
        let one = server.post_keyed("one", BATCH, &json!({ "jobs": own })).await.expect(200);
        let other = server.post_keyed("other", BATCH, &json!({ "jobs": own[1..] })).await.expect(200);
        assert_eq!(ids(rows(&one["results"]))[1..], ids(rows(&other["results"])));
        assert_eq!(count(&server).await, 13);
    });
}

#[test]
fn a_key_means_the_same_in_a_batch_and_in_a_single_call() {
    on_both_stores(async |server| {
        let body = json!({ "type": "a", "payload": { "n": 1 } });
        let with_key = |key: &str| merged(body.clone(), &json!({ "idempotency_key": key }));
        let single = server.post_keyed("order-1", "/api/jobs", &body).await.expect(202);
        for key in ["order-1", "\"order-1\"", " order-1 "] {
            let results = create(&server, &[with_key(key)]).await;
            assert_fields(&results[0]["ok"], json!({ "id": single["id"], "replayed": true }));
        }
        let batch = create(&server, &[with_key("order-2")]).await;
        let repeated = server.post_keyed("order-2", "/api/jobs", &body).await.expect_replay();
        assert_eq!(repeated["id"], batch[0]["ok"]["id"]);
        // The single call takes its key from the header alone.
        let refused = server.post("/api/jobs", &with_key("order-3")).await;
        refused.problem_at(400, "malformed", "#/idempotency_key");
    });
}

#[test]
fn the_same_key_twice_in_one_batch_creates_one_job() {
    on_both_stores(async |server| {
        let other = merged(keyed(1), &json!({ "payload": { "n": 2 } }));
        let results = create(&server, &[keyed(1), keyed(1), other]).await;
        assert_eq!(results[0]["ok"]["id"], results[1]["ok"]["id"]);
        assert!(results[0]["ok"].get("replayed").is_none());
        assert_eq!(results[1]["ok"]["replayed"], true);
        assert_fields(&results[2]["error"], json!({ "code": "idempotency_mismatch", "status": 422 }));
        assert_eq!(count(&server).await, 1);
    });
}

#[test]
fn a_bad_key_is_the_error_of_its_job() {
    on_both_stores(async |server| {
        let long = "k".repeat(256);
        let mut jobs: Vec<Value> = vec![json!({ "type": "a", "idempotency_key": "k".repeat(255) })];
        for bad in [
            json!(""),
            json!(" "),
            json!("\"\""),
            json!(long),
            json!("é"),
            json!("a\nb"),
            json!(7),
            json!({}),
        ] {
            jobs.push(json!({ "type": "a", "idempotency_key": bad }));
        }
        jobs.push(json!({ "type": "a", "idempotency_key": null }));
        let results = create(&server, &jobs).await;
        let (bad, good) = (&results[1..results.len() - 1], [&results[0], &results[results.len() - 1]]);
        for result in bad {
            assert_fields(&result["error"], json!({ "code": "malformed", "status": 400 }));
            assert_eq!(result["error"]["errors"][0]["pointer"], "#/idempotency_key", "{result}");
        }
        assert!(good.iter().all(|result| result["ok"]["id"].is_string()), "{results:?}");
        assert_eq!(count(&server).await, 2);
    });
}

const CONFIG: &str = r#"
[limits]
payload = "1 KiB"
[types.picture]
lifecycle = "pattern"
schema = { type = "object", required = ["prompt"], properties = { prompt = { type = "string" } } }
guard = '!payload.prompt.contains("forbidden")'
[types.plain]
lifecycle = "distributed"
[types.priced]
lifecycle = "image"
cost = 5
"#;

#[test]
fn a_refused_job_of_a_batch_has_the_problem_of_the_single_call() {
    on_both_stores_with_config(CONFIG, async |server| {
        let deep = |levels: usize| {
            format!(r#"{{"type":"plain","payload":{}{}}}"#, "[".repeat(levels), "]".repeat(levels))
        };
        let bad = [
            "7".to_owned(),
            "{}".to_owned(),
            r#"{"type":"plain","colour":"red"}"#.to_owned(),
            r#"{"type":"plain","priority":1000001}"#.to_owned(),
            r#"{"type":"plain","priority":"high"}"#.to_owned(),
            r#"{"type":"plain","run_at":"2030-01-01T00:00:00Z","delay":"1s"}"#.to_owned(),
            r#"{"type":"plain","payload":{"a":1,"a":2}}"#.to_owned(),
            r#"{"type":"plain","payload":"\u0000"}"#.to_owned(),
            r#"{"type":"plain","payload":"\ud800"}"#.to_owned(),
            deep(64),
            format!(r#"{{"type":"plain","payload":"{}"}}"#, "x".repeat(2000)),
            r#"{"type":"undeclared"}"#.to_owned(),
            r#"{"type":"picture","payload":{"prompt":1}}"#.to_owned(),
            r#"{"type":"picture","payload":{"prompt":"forbidden"}}"#.to_owned(),
            r#"{"type":"plain","lifecycle":"pattern"}"#.to_owned(),
            r#"{"type":"priced","user_id":"u1"}"#.to_owned(),
        ];
        let good = [r#"{"type":"plain"}"#.to_owned(), deep(63)];
        let items = [&good[..1], &bad[..], &good[1..]].concat();
        let reply = server.post_text(BATCH, format!(r#"{{"jobs":[{}]}}"#, items.join(","))).await.expect(200);
        let results = rows(&reply["results"]);
        assert_eq!(results.len(), items.len());
        for good in [&results[0], &results[items.len() - 1]] {
            assert_eq!(good["ok"]["type"], "plain", "{good}");
        }
        for (body, result) in bad.iter().zip(&results[1..]) {
            let single = server.post_text("/api/jobs", body.as_str()).await;
            let mut expected = single.body.clone();
            assert_eq!(expected["status"], single.status, "{body}: {}", single.text);
            expected["instance"] = json!(BATCH);
            assert_eq!(result, &json!({ "error": expected }), "{body}");
        }
        assert_eq!(count(&server).await, 2);
    });
}

#[test]
fn a_body_that_is_not_a_batch_is_refused_as_a_whole() {
    on_both_stores(async |server| {
        for body in [
            "",
            "{",
            "[]",
            "7",
            "{}",
            r#"{"jobs":{}}"#,
            r#"{"jobs":[],"more":1}"#,
            r#"{"jobs":[],"jobs":[]}"#,
        ] {
            server.post_text(BATCH, body).await.problem(400, "malformed");
        }
        let cut = r#"{"jobs":[{"type":"a"},{"type":"#;
        server.post_text(BATCH, cut).await.problem(400, "malformed");
        assert_eq!(count(&server).await, 0);
    });
}

#[test]
fn a_job_over_the_rate_limit_has_a_retry_after() {
    on_both_stores_with_config("[limits]\ncreations_per_second = 1\n", async |server| {
        let results = create(&server, &[json!({ "type": "a" }), json!({ "type": "a" })]).await;
        assert_fields(&results[1]["error"], json!({ "code": "rate_limited", "retry_after": "1s" }));
    });
}

#[test]
fn a_job_of_a_batch_can_have_a_key_in_a_lifecycle_api() {
    on_both_stores(async |server| {
        let job = json!({ "action": "workflow", "idempotency_key": "k1" });
        let jobs = json!({ "jobs": [job, { "action": "workflow", "input": { "n": 1 } }] });
        let first = server.post_ok("/so1/api/jobs/batch", &jobs).await["results"].take();
        let again = server.post_ok("/so1/api/jobs/batch", &jobs).await["results"].take();
        assert_eq!(first[0]["ok"]["id"], again[0]["ok"]["id"]);
        assert_ne!(first[1]["ok"]["id"], again[1]["ok"]["id"]);
        // The field names of a valid job are translated beside an invalid one.
        let flawed = r#"{"jobs":[{"action":"workflow","input":{"a":1,"a":2}},{"action":"workflow"}]}"#;
        let results = server.post_text("/so1/api/jobs/batch", flawed).await.expect(200)["results"].take();
        assert_eq!(results[0]["error"]["code"], "malformed");
        assert_eq!(results[1]["ok"]["action"], "workflow");
    });
}
