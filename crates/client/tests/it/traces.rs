//! The span of a handler belongs to the trace of its job.

use std::sync::Mutex;

use opentelemetry::trace::{TraceContextExt as _, TracerProvider as _};
use opentelemetry_sdk::trace::SdkTracerProvider;
use serde_json::{Value, json};
use tenure_client::{Fail, Job, Worker};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::fake_server::{FakeServer, Request, Running, claimed, job, no_jobs, reported, results};

const ATTEMPT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Returns the trace of the current span.
async fn trace_id(_: Job<Value>) -> Result<String, Fail> {
    Ok(tracing::Span::current().context().span().span_context().trace_id().to_string())
}

#[tokio::test]
async fn a_handler_runs_in_a_span_of_its_jobs_trace() {
    let provider = SdkTracerProvider::builder().build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
    let mut job = job("j1", "t", 60_000);
    job["traceparent"] = json!(ATTEMPT);
    let jobs = Mutex::new(Some(job));
    let server = FakeServer::start(move |request: Request| {
        let job = jobs.lock().unwrap().take_if(|_| request.is_claim());
        async move {
            match job {
                Some(job) => claimed(&[job]),
                None if request.is_claim() => no_jobs(&request).await,
                None => results(&request, |_| Ok(json!({}))),
            }
        }
    });
    let worker = Running::start(Worker::new(server.client()).on("t", trace_id).name("w1"));
    let reports = server.until(reported("succeed")).await;
    worker.stop().await;
    assert_eq!(reports[0]["result"], ATTEMPT.split('-').nth(1).unwrap(), "{reports:?}");
}
