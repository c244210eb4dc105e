//! Every call has the specified path and body.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{
    Action, CallId, CancelMode, Claim, Client, DeadLetterFilter, EventFilter, Holder, JobFilter, NewLine,
    Page, Redrive, Report, Result, Verb,
};

use crate::fake_server::{FakeServer, Reply, Request};

/// An answer that the call can decode, whichever it is.
fn answer_to(request: &Request) -> Value {
    let lists = CallId::ALL.iter().filter_map(|id| id.call().rows());
    let mut answer: Value = lists.map(|name| (name.to_owned(), json!([]))).collect();
    answer["id"] = json!("j 1");
    answer["replayed"] = json!(true);
    answer["lease"] = json!({ "fence": 3, "expires_at": "", "heartbeat": "10s", "ttl": "1m 30s" });
    answer["cancel"] = json!("soft");
    answer["token"] = json!("tns_1");
    answer["expires_at"] = json!("");
    if request.method == "POST" {
        answer["lines"] = json!(1);
    }
    answer
}

async fn about_jobs(client: &Client) -> Result<()> {
    client.get("j 1").await?;
    client.history("j1", false).await?;
    client.history("j1", true).await?;
    client.replay("j1", 2).await?;
    client.cancel("j1", CancelMode::Soft, None).await?;
    client.retry("j1").await?;
    client.dead_letter("j1", "policy_violation", "no").await?;
    client.signal("j1", "approve").await?;
    client.explain("j1").await?;
    client.stream_token("j1").await?;
    client.logs("j1", 5).await?;
    let line = NewLine { stream: Some("stdout".into()), level: Some("info".into()), text: "x".into() };
    client.append_logs("j1", None, std::slice::from_ref(&line)).await?;
    client.append_logs("j1", Some(&Holder { worker: "w".into(), fence: 3 }), &[line]).await?;
    client.journal(Some("c"), Some(9), &EventFilter::default()).await?;
    Ok(())
}

async fn by_workers(client: &Client) -> Result<()> {
    let wait = Some(Duration::from_secs(2));
    let claim = Claim { worker: "w".into(), max: 2, wait, ..Claim::default() };
    assert_eq!(client.claim(&claim).await?, []);
    let report = Report::new("j1", 3, Verb::CancelConfirm).with("checkpoint", json!(1));
    let reported = client.report("w", &report).await?;
    assert!(reported.replayed && !reported.ignored);
    assert_eq!(reported.job.id, "j 1");
    let heartbeat = client.heartbeat("j1", &Holder { worker: "w".into(), fence: 3 }).await?;
    assert_eq!(heartbeat.cancel, Some(CancelMode::Soft));
    assert_eq!(heartbeat.lease.and_then(|lease| lease.ttl), Some(Duration::from_secs(90)));
    client.workers(&Page::default()).await?;
    Ok(())
}

async fn by_operators(client: &Client) -> Result<()> {
    let jobs = JobFilter { job_type: Some("t".into()), ..JobFilter::default() };
    let dead = DeadLetterFilter { stage: Some("exec".into()), ..DeadLetterFilter::default() };
    client.dead_letters(&dead, true, &Page { limit: Some(3), cursor: None }).await?;
    client.redrive(&Redrive::Ids(vec!["j1".into()]), None).await?;
    let filter = Redrive::Filter(Box::new(dead));
    client.redrive(&filter, Some(5)).await?;
    client.redrive_after(&filter, Some(5), "c").await?;
    client.dismiss("j1", "known").await?;
    client.act(Action::Cancel(CancelMode::Hard), &jobs).await?;
    client.act(Action::Retry, &jobs).await?;
    client.act(Action::Delete, &jobs).await?;
    client.act_on_all(Action::Retry).await?;
    client.count_matching(Action::Delete, &jobs).await?;
    client.delete_job("j1").await?;
    client.erase_user("u1", "asked").await?;
    client.queues().await?;
    client.pause_queue("q").await?;
    client.resume_queue("q").await?;
    client.lifecycles().await?;
    client.lifecycle("image").await?;
    client.diagram("image").await?;
    client.what_if("image", "name", Some("2h")).await?;
    client.types().await?;
    client.credits("u/1").await?;
    client.grant("u1", 5, "gift").await?;
    client.audit(&Page::default()).await?;
    client.stats().await?;
    client.keys().await?;
    client.create_key("producer", Some("u1")).await?;
    client.rotate_key("k1", Some("10m")).await?;
    client.revoke_key("k1").await?;
    client.healthz().await?;
    client.readyz().await?;
    client.metrics().await.map(drop)
}

#[tokio::test]
async fn every_call_has_the_specified_path_and_body() {
    let server = FakeServer::start(|request| async move { Reply::Json(200, answer_to(&request)) });
    let client = server.client();
    about_jobs(&client).await.unwrap();
    by_workers(&client).await.unwrap();
    by_operators(&client).await.unwrap();
    for request in server.requests() {
        let path = request.path.split('?').next().unwrap_or_default();
        assert!(CallId::find(&request.method, path).is_some(), "{} {path}", request.method);
    }
    let sent = server.requests().into_iter().map(|request| match request.body {
        Value::Null => format!("{} {}", request.method, request.path),
        body => format!("{} {} {}", request.method, request.path, sorted(&body)),
    });
    let expected = include_str!("paths.txt").lines();
    assert_eq!(sent.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

/// JSON with sorted fields, independent of the features of this build.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: std::collections::BTreeMap<_, _> = fields.iter().collect();
            fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        Value::Array(rows) => rows.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
