//! Every call has the specified path and body.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{
    Action, CancelMode, Claim, Client, DeadLetterFilter, EventFilter, Holder, JobFilter, NewLine, Page,
    Redrive, Report, Result, Verb,
};

use crate::fake_server::{FakeServer, Reply};

/// An answer that every call can decode.
fn anything() -> Value {
    let lists =
        ["jobs", "events", "dead_letters", "lines", "audit", "workers", "queues", "types", "lifecycles"];
    let mut answer: Value = lists.into_iter().map(|name| (name.to_owned(), json!([]))).collect();
    answer["id"] = json!("j 1");
    answer["replayed"] = json!(true);
    answer["lease"] = json!({ "fence": 3, "expires_at": "", "heartbeat": "10s", "ttl": "1m 30s" });
    answer["cancel"] = json!("soft");
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
    client.logs("j1", 5).await?;
    let line = NewLine { stream: Some("stdout".into()), level: Some("info".into()), text: "x".into() };
    client.append_logs("j1", None, std::slice::from_ref(&line)).await?;
    client.append_logs("j1", Some(&Holder { worker: "w".into(), fence: 3 }), &[line]).await?;
    client.journal(Some("c"), Some(9), &EventFilter::default()).await?;
    Ok(())
}

const ABOUT_JOBS: &str = r#"GET /api/jobs/j%201
GET /api/jobs/j1/events
GET /api/jobs/j1/events?telemetry=true
GET /api/jobs/j1/replay?seq=2
POST /api/jobs/j1/cancel {"mode":"soft"}
POST /api/jobs/j1/retry {}
POST /api/jobs/j1/dead-letter {"detail":"no","reason_code":"policy_violation"}
POST /api/jobs/j1/signals/approve {}
GET /api/jobs/j1/explain
GET /api/jobs/j1/logs?after=5
POST /api/jobs/j1/logs {"lines":[{"level":"info","stream":"stdout","text":"x"}]}
POST /api/jobs/j1/logs {"fence":3,"lines":[{"level":"info","stream":"stdout","text":"x"}],"worker":"w"}
GET /api/events?after=c&limit=9"#;

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

const BY_WORKERS: &str = r#"POST /api/claims {"max":2,"start":false,"wait":"2000ms","worker":"w"}
POST /api/jobs/j1/cancel-confirm {"checkpoint":1,"fence":3,"worker":"w"}
POST /api/jobs/j1/heartbeat {"fence":3,"worker":"w"}
GET /api/workers"#;

async fn by_operators(client: &Client) -> Result<()> {
    let jobs = JobFilter { job_type: Some("t".into()), ..JobFilter::default() };
    let dead = DeadLetterFilter { stage: Some("exec".into()), ..DeadLetterFilter::default() };
    client.dead_letters(&dead, true, &Page { limit: Some(3), cursor: None }).await?;
    client.redrive(&Redrive::Ids(vec!["j1".into()]), None).await?;
    client.redrive(&Redrive::Filter(Box::new(dead)), Some(5)).await?;
    client.dismiss("j1", "known").await?;
    client.act(Action::Cancel(CancelMode::Hard), &jobs).await?;
    client.act(Action::Retry, &jobs).await?;
    client.queues().await?;
    client.pause_queue("q").await?;
    client.resume_queue("q").await?;
    client.lifecycles().await?;
    client.lifecycle("image").await?;
    client.diagram("image").await?;
    client.types().await?;
    client.credits("u/1").await?;
    client.grant("u1", 5, "gift").await?;
    client.audit(&Page::default()).await?;
    client.stats().await?;
    client.keys().await?;
    client.create_key("producer", Some("u1")).await?;
    client.revoke_key("k1").await?;
    client.healthz().await?;
    client.readyz().await?;
    client.metrics().await.map(drop)
}

const BY_OPERATORS: &str = r#"GET /api/dead-letters?stage=exec&dismissed=true&limit=3
POST /api/dead-letters/redrive {"ids":["j1"]}
POST /api/dead-letters/redrive {"filter":{"stage":"exec"},"max_per_second":5}
POST /api/dead-letters/j1/dismiss {"reason":"known"}
POST /api/jobs/actions {"action":"cancel","filter":{"type":"t"},"mode":"hard"}
POST /api/jobs/actions {"action":"retry","filter":{"type":"t"}}
GET /api/queues
POST /api/queues/q/pause {}
POST /api/queues/q/resume {}
GET /api/lifecycles
GET /api/lifecycles/image
GET /api/lifecycles/image/diagram.svg
GET /api/types
GET /api/accounts/u%2F1/credits
POST /api/accounts/u1/credits {"grant":5,"reason":"gift"}
GET /api/audit
GET /api/stats
GET /api/keys
POST /api/keys {"role":"producer","user_id":"u1"}
DELETE /api/keys/k1
GET /healthz
GET /readyz
GET /metrics"#;

#[tokio::test]
async fn every_call_has_the_specified_path_and_body() {
    let server = FakeServer::start(|_| async { Reply::Json(200, anything()) });
    let client = server.client();
    about_jobs(&client).await.unwrap();
    by_workers(&client).await.unwrap();
    by_operators(&client).await.unwrap();
    let stops = server.requests().into_iter().map(|request| match request.body {
        Value::Null => format!("{} {}", request.method, request.path),
        body => format!("{} {} {}", request.method, request.path, sorted(&body)),
    });
    let expected = [ABOUT_JOBS, BY_WORKERS, BY_OPERATORS].map(str::lines).into_iter().flatten();
    for (stops, expected) in stops.zip(expected) {
        assert_eq!(stops, expected);
    }
    assert_eq!(server.requests().len(), 13 + 4 + 23);
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
