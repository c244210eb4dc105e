//! Sample data: jobs of all five built-in lifecycles, and of one with approvals, in most of their states.

use serde_json::{Value, json};
use tenure_e2e::{Server, Setup, Store, rows};

const CONFIG: &str = include_str!("fixtures/sample_data.toml");

/// A lifecycle with a state that waits for a person.
const REVIEW: &str = include_str!("../http/fixtures/review.toml");

/// Jobs; with `worker`, claimed and started by it; then its `reports`, or a `call` on the job.
const JOBS: &str = include_str!("fixtures/sample_jobs.json");

/// A server with sample data. Its open jobs do not change during a test.
pub(crate) async fn busy_server(store: Store) -> Server {
    let server = Setup::new(store).await.config(CONFIG).file("review.toml", REVIEW).start().await;
    let billing =
        json!({ "id": "billing", "url": "http://127.0.0.1:9/hooks", "filter": { "event": "job_queued" } });
    server.post("/api/webhooks", &billing).await.expect(201);
    server.post("/api/webhooks/billing/disable", &json!({})).await.expect(200);
    server.grant("grace", 20).await;
    for sample in rows(&serde_json::from_str(JOBS).unwrap()) {
        for _ in 0..sample["count"].as_u64().unwrap_or(1) {
            create(&server, sample).await;
        }
    }
    server.post("/api/queues/exports/pause", &json!({})).await.expect(200);
    let every_night = json!({ "id": "nightly", "cron": "0 3 * * *", "timezone": "Europe/Berlin", "job": { "type": "nightly_report" } });
    server.post("/api/schedules", &every_night).await.expect(201);
    server
}

/// A server whose configuration was changed by a reload: jobs succeeded before and failed after it.
pub(crate) async fn deployed_server(store: Store) -> Server {
    let config =
        |attempts: u32| format!("[types.import]\nlifecycle = \"distributed\"\nmax_attempts = {attempts}\n");
    let server = Setup::new(store).await.config(&config(3)).start().await;
    for _ in 0..6 {
        server.create_finished(json!({ "type": "import" })).await;
    }
    server.reload_with(&[("tenure.toml", config(1).as_str())]).await;
    for _ in 0..6 {
        let job = server.create_claimed(json!({ "type": "import" })).await;
        server
            .report_ok(&job, "fail", json!({ "error": { "code": "E_PARSE", "message": "no header" } }))
            .await;
    }
    server
}

async fn create(server: &Server, sample: &Value) {
    let mut job = server.create(sample["job"].clone()).await;
    if let Value::String(worker) = &sample["worker"] {
        let (types, queues) = ([&job["type"]], [&job["queue"]]);
        let claim = json!({ "worker": worker, "types": types, "queues": queues, "max": 1, "start": true });
        let claimed = server.claim(claim).await.remove(0);
        assert_eq!(claimed["id"], job["id"], "no other job was ready");
        job = claimed;
    }
    for report in sample["reports"].as_array().into_iter().flatten() {
        server.report(&job, report[0].as_str().unwrap(), report[1].clone()).await.expect(200);
    }
    if let [Value::String(call), body] = sample["call"].as_array().map_or(&[][..], Vec::as_slice) {
        server.call(&job, call, body).await.expect(200);
    }
}
