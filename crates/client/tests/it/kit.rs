//! The test kit: a real server in memory, and a clock that only the test moves.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::testing::Kit;
use tenure_client::{Fail, Job, NewJob, Worker};

/// Fails until its third attempt.
async fn flaky(job: Job<Value>) -> Result<Value, Fail> {
    if job.attempt < 3 {
        Err(Fail::transient("NOT_YET", "later"))
    } else {
        Ok(json!({ "attempts": job.attempt }))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fails_twice_succeeds_when_the_test_lets_time_pass() {
    let kit = Kit::start().await;
    let id = kit.client().create(NewJob::new("flaky", &json!({})).unwrap()).await.unwrap().job.id;
    for attempt in 1..=3 {
        kit.work(Worker::new(kit.client()).on("flaky", flaky)).await;
        let job = kit.client().get(&id).await.unwrap();
        assert_eq!(job.state, if attempt < 3 { "queued" } else { "succeeded" }, "after attempt {attempt}");
        kit.advance(Duration::from_mins(10));
    }
    assert_eq!(kit.client().get(&id).await.unwrap().result, Some(json!({ "attempts": 3 })));
    kit.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_runs_out_when_the_test_says_so() {
    let kit = Kit::start().await;
    let id = kit.client().create(NewJob::new("slow", &json!({})).unwrap()).await.unwrap().job.id;
    let claim = tenure_client::Claim { worker: "gone".into(), max: 1, start: true, ..Default::default() };
    assert_eq!(kit.client().claim(&claim).await.unwrap().len(), 1);
    kit.advance(Duration::from_hours(1));
    // What was due has happened before this is answered, swept or not.
    let explained = kit.client().cancel(&id, tenure_client::CancelMode::Soft, None).await.unwrap();
    assert_eq!(explained.state, "cancelled", "nobody holds it, so it is cancelled at once");
    let history = kit.client().history(&id, false).await.unwrap();
    assert!(history.rows.iter().any(|event| event.trigger.as_deref() == Some("lease_expired")));
    kit.stop().await;
}
