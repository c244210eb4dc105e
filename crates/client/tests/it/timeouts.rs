//! The timeouts of the built-in lifecycles, to the millisecond, on a clock that only the test advances.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::testing::Kit;
use tenure_client::{Client, Method};

async fn post(client: &Client, path: &str, body: Value) -> Value {
    client.call(Method::POST, path, Some(&body)).await.unwrap()
}

async fn create(client: &Client, lifecycle: &str, payload: Value) -> Value {
    let body = json!({ "type": "a", "lifecycle": lifecycle, "user_id": "u1", "payload": payload });
    post(client, "/api/jobs", body).await
}

async fn claim(client: &Client, start: bool) -> Value {
    let body = json!({ "worker": "w1", "max": 1, "start": start });
    post(client, "/api/claims", body).await["jobs"][0].clone()
}

/// Waits until the sweep has brought the job to this state.
async fn eventually(client: &Client, job: &Value, state: &str) -> Value {
    let path = format!("/api/jobs/{}", job["id"].as_str().unwrap());
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let wait = async {
        loop {
            ticks.tick().await;
            let job = client.call(Method::GET, &path, None).await.unwrap();
            if job["state"] == state {
                return job;
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), wait).await.expect("the sweep finds the job")
}

/// Milliseconds between two times of the same day.
fn between(from: &Value, to: &Value) -> i64 {
    let millis = |time: &Value| {
        let text = time.as_str().expect("a time");
        let part = |range: std::ops::Range<usize>| text[range].parse::<i64>().expect("digits");
        ((part(11..13) * 60 + part(14..16)) * 60 + part(17..19)) * 1000 + part(20..23)
    };
    millis(to) - millis(from)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_has_30_seconds_to_take_a_job_10_to_start_it_and_60_to_finish_it() {
    let kit = Kit::start().await;
    let client = kit.client();
    let times_out = async |job: &Value, code: &str, since: &str, millis: i64| {
        kit.advance(Duration::from_mins(1));
        let finished = eventually(&client, job, "failed").await;
        assert_eq!(finished["error"]["code"], code);
        assert_eq!(between(&finished[since], &finished["completed_at"]), millis);
    };
    let unclaimed = create(&client, "engine", json!({})).await;
    times_out(&unclaimed, "QUEUE_TIMEOUT", "created_at", 30_000).await;

    let unstarted = create(&client, "engine", json!({})).await;
    claim(&client, false).await;
    times_out(&unstarted, "DISPATCH_TIMEOUT", "claimed_at", 10_000).await;

    let unfinished = create(&client, "engine", json!({})).await;
    let held = claim(&client, true).await;
    let heartbeat = json!({ "worker": "w1", "fence": held["lease"]["fence"] });
    let path = format!("/api/jobs/{}/heartbeat", held["id"].as_str().unwrap());
    for _ in 0..5 {
        kit.advance(Duration::from_secs(11));
        post(&client, &path, heartbeat.clone()).await;
    }
    times_out(&unfinished, "RUN_TIMEOUT", "started_at", 60_000).await;
    kit.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_missed_heartbeats_of_15_seconds_orphan_a_job_before_its_lease_of_60_ends() {
    let kit = Kit::start().await;
    let client = kit.client();
    let job = create(&client, "distributed", json!({})).await;
    let held = claim(&client, true).await;
    assert_eq!((&held["lease"]["ttl"], &held["lease"]["heartbeat"]), (&json!("1m"), &json!("15s")));
    kit.advance(Duration::from_mins(5));
    let orphan = eventually(&client, &job, "queued").await;
    assert_eq!((&orphan["error"]["code"], &orphan["attempt"]), (&json!("HEARTBEAT_LOST"), &json!(2)));
    assert_eq!(between(&held["claimed_at"], &orphan["entered"]["queued"]), 30_000);
    kit.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_prompt_finds_the_same_job_for_a_minute() {
    let kit = Kit::start().await;
    let client = kit.client();
    let ask = async || create(&client, "image", json!({ "prompt": "a cat" })).await["id"].clone();
    let first = ask().await;
    kit.advance(Duration::from_secs(59));
    assert_eq!(ask().await, first, "the same minute");
    kit.advance(Duration::from_secs(2));
    let second = ask().await;
    assert_ne!(second, first, "the next minute, and more than 60 seconds later");
    // The next minute of the clock begins in between, which does not matter.
    kit.advance(Duration::from_secs(58));
    assert_eq!(ask().await, second);
    kit.advance(Duration::from_secs(2));
    assert_ne!(ask().await, second);
    kit.stop().await;
}
