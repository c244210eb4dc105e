//! The test kit: a server in memory, and a clock that only the test advances.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::testing::Kit;
use tenure_client::{Client, Fail, Job, NewAsset, NewJob, NewLine, Page, Worker};

use crate::fake_server::with;

/// Fails until its third attempt.
async fn flaky(job: Job<Value>) -> Result<Value, Fail> {
    if job.attempt < 3 {
        Err(Fail::transient("NOT_YET", "later"))
    } else {
        Ok(json!({ "attempts": job.attempt }))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fails_twice_succeeds_after_the_clock_advances() {
    let kit = Kit::start().await;
    let id = kit.client().create(NewJob::new("flaky", &json!({})).unwrap()).await.unwrap().job.id;
    for round in 1.. {
        kit.work(Worker::new(kit.client()).on("flaky", flaky)).await;
        let job = kit.client().get(&id).await.unwrap();
        if job.is_final() {
            break;
        }
        // The delay is random, from zero to half a second, so one round may have two attempts.
        let is_retried = job.state == "queued" && job.retry_count >= round;
        assert!(round < 3 && is_retried, "after round {round}: {job:?}");
        kit.advance(Duration::from_mins(10));
    }
    assert_eq!(kit.client().get(&id).await.unwrap().result, Some(json!({ "attempts": 3 })));
    kit.stop().await;
}

/// The address of a job's stream with a token.
async fn stream_of(client: &Client, url: &str, job: &str) -> String {
    format!("{url}/api/jobs/{job}/stream?token={}", client.stream_token(job).await.unwrap().token)
}

/// Advances the clock and appends a line to the job's log, whose commit reads the clock; the number of lines.
async fn pass(kit: &Kit, job: &str, span: Duration) -> u64 {
    kit.advance(span);
    let line = NewLine { stream: None, level: None, text: "more".into() };
    kit.client().append_logs(job, None, &[line]).await.unwrap().lines
}

/// Waits until an open stream has delivered the next line.
async fn delivered(stream: &mut reqwest::Response) {
    while !stream.chunk().await.unwrap().expect("the stream is open").starts_with(b"event: log") {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_token_ends_five_minutes_after_its_stream_was_last_open() {
    const STEP: Duration = Duration::from_mins(4);
    let kit = Kit::start().await;
    let client = kit.client();
    let job = client.create(NewJob::new("slow", &json!({})).unwrap()).await.unwrap().job.id;
    let status = async |url: &str| reqwest::get(url).await.unwrap().status().as_u16();
    let unused = stream_of(&client, kit.url(), &job).await;
    pass(&kit, &job, Duration::from_secs(299)).await;
    assert_eq!(status(&unused).await, 200);
    let unused = stream_of(&client, kit.url(), &job).await;
    let lines = pass(&kit, &job, Duration::from_secs(301)).await;
    assert_eq!(status(&unused).await, 401, "it was not used");
    let used = stream_of(&client, kit.url(), &job).await;
    let mut open = reqwest::get(format!("{used}&after={lines}")).await.unwrap();
    for _ in 0..3 {
        pass(&kit, &job, STEP).await;
        delivered(&mut open).await;
    }
    drop(open);
    let lines = pass(&kit, &job, STEP).await;
    let mut again = reqwest::get(format!("{used}&after={lines}")).await.unwrap();
    assert_eq!(again.status(), 200, "a browser reconnects after 16 minutes");
    // At most 12 hours after it was asked for, token and stream end.
    for _ in 0..(12 * 60 / 4 - 5) {
        pass(&kit, &job, STEP).await;
        delivered(&mut again).await;
    }
    assert_eq!(status(&used).await, 200);
    // A server estimates the time between two commits, so the end is a little later than its store's clock says.
    pass(&kit, &job, STEP + Duration::from_secs(1)).await;
    assert_eq!(status(&used).await, 401);
    while again.chunk().await.is_ok_and(|chunk| chunk.is_some()) {}
    kit.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_uploads_assets() {
    let kit = Kit::start().await;
    let client = kit.client();
    let id = client.create(NewJob::new("paint", &json!({})).unwrap()).await.unwrap().job.id;
    let folder = std::env::temp_dir().join(format!("tenure-asset-{id}"));
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("note.txt");
    std::fs::write(&file, "from a file").unwrap();
    let paint = with(file, |file, job| async move {
        let picture = job.asset("image.png", vec![1, 2, 3]).await?;
        job.asset_of_type("remark", "note.txt", file).await?;
        Ok(json!({ "url": picture.url }))
    });
    kit.work(Worker::new(kit.client()).on("paint", paint)).await;
    std::fs::remove_dir_all(folder).unwrap();
    let assets = client.assets(&id, &Page::default()).await.unwrap().rows;
    let [note, picture] = &assets[..] else { panic!("{assets:?}") };
    assert_eq!((note.asset_type.as_str(), note.file_size), ("remark", Some(11)));
    assert_eq!((picture.asset_type.as_str(), picture.file_size), ("png", Some(3)));
    assert_eq!(client.get(&id).await.unwrap().result, Some(json!({ "url": picture.url })));
    assert_eq!(&client.download(&id, &note.id).await.unwrap().bytes().await.unwrap()[..], b"from a file");
    let elsewhere =
        NewAsset { asset_type: "page".into(), url: "https://example.org/".into(), ..NewAsset::default() };
    let registered = client.register_asset(&id, None, &elsewhere).await.unwrap();
    let refused = client.download(&id, &registered.id).await.unwrap_err();
    assert_eq!(refused.code(), Some("not_found"));
    kit.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_runs_out_when_the_test_says_so() {
    let kit = Kit::start().await;
    let id = kit.client().create(NewJob::new("slow", &json!({})).unwrap()).await.unwrap().job.id;
    let claim = tenure_client::Claim { worker: "gone".into(), max: 1, start: true, ..Default::default() };
    assert_eq!(kit.client().claim(&claim).await.unwrap().len(), 1);
    kit.advance(Duration::from_hours(1));
    // The expired lease is applied before the call, with or without a sweep.
    let explained = kit.client().cancel(&id, tenure_client::CancelMode::Soft, None).await.unwrap();
    assert_eq!(explained.state, "cancelled", "a job without a worker is cancelled at once");
    let history = kit.client().history(&id, false).await.unwrap();
    assert!(history.rows.iter().any(|event| event.trigger.as_deref() == Some("lease_expired")));
    kit.stop().await;
}
