//! Demo types, all of which run without a payload, and their worker.

use std::process::Stdio;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tenure_client::{Fail, Job, Worker};
use tenure_core::lifecycle::{Backoff, Jitter};
use tenure_core::time::Millis;
use tenure_runtime::{Definitions, TypeDefinition};
use tokio::sync::watch;

use crate::client::connect;
use crate::output;

pub(super) const NAMES: [&str; 7] = ["hello", "flaky", "crash", "scene", "workflow", "export", "picture"];

/// A type for each built-in lifecycle, and the catch-all.
pub(super) fn definitions() -> Definitions {
    let soon = Backoff { base: Millis(700), factor: 1.5, max: Millis::seconds(5), jitter: Jitter::None };
    let quick = TypeDefinition {
        lease: Some(Millis::seconds(5)),
        heartbeat: Some(Millis::seconds(1)),
        backoff: Some(soon),
        ..TypeDefinition::new("crash", "distributed")
    };
    let mut definitions = Definitions::default();
    definitions.types.extend([
        TypeDefinition::new("hello", "distributed"),
        TypeDefinition { backoff: Some(soon), ..TypeDefinition::new("flaky", "distributed") },
        quick,
        TypeDefinition::new("scene", "engine"),
        TypeDefinition::new("workflow", "so1"),
        TypeDefinition::new("export", "pattern"),
        TypeDefinition::new("picture", "image"),
    ]);
    definitions
}

/// Runs the demo worker until `stop` is true.
pub(super) async fn work(url: String, key: Option<String>, stop: watch::Receiver<bool>) {
    let client = match connect(&url, key.as_deref()) {
        Ok(client) => client,
        Err(error) => return output::message(&format!("tenure: cannot start the demo worker: {error}")),
    };
    let worker = Worker::new(client)
        .name("demo")
        .slots(8)
        .on("hello", hello)
        .on("flaky", flaky)
        .on("scene", |job: Job<Value>| steps(job, &["loading", "lighting", "rendering", "writing"]))
        .on("workflow", |job: Job<Value>| steps(job, &["fetching", "running", "collecting"]))
        .on("export", export)
        .on("picture", |job: Job<Value>| steps(job, &["sampling", "denoising", "encoding"]));
    let stopped = stopped(stop.clone());
    let (worked, ()) =
        tokio::join!(worker.run_until(stopped), run_crashing_worker(&url, key.as_deref(), stop));
    if let Err(error) = worked {
        output::message(&format!("tenure: the demo worker failed: {error}"));
    }
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // The sender sends `true` before it is dropped.
    drop(stop.wait_for(|stop| *stop).await);
}

/// Accepts any payload.
async fn hello(job: Job<Value>) -> Result<Value, Fail> {
    let name = job.payload["name"].as_str().unwrap_or("world").to_owned();
    job.log(format!("saying hello to {name}"));
    Ok(json!({ "greeting": format!("Hello, {name}") }))
}

/// Fails twice, then succeeds.
async fn flaky(job: Job<Value>) -> Result<Value, Fail> {
    job.progress(30, "calling upstream");
    tokio::time::sleep(Duration::from_millis(300)).await;
    if job.attempt < 3 {
        job.log(format!("attempt {}: no answer", job.attempt));
        return Err(Fail::transient("UPSTREAM_TIMEOUT", "no answer in 300 ms"));
    }
    Ok(json!({ "attempts": job.attempt }))
}

/// The result of a job that consists of steps.
#[derive(Serialize)]
struct Steps {
    steps: usize,
}

async fn steps(job: Job<Value>, names: &'static [&'static str]) -> Result<Steps, Fail> {
    for (done, name) in names.iter().enumerate() {
        job.progress((done * 100 / names.len()) as u8, *name);
        job.log(*name);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(400)) => {}
            _ = job.stopped() => return Err(Fail::cancelled()),
        }
    }
    Ok(Steps { steps: names.len() })
}

/// Stores a small asset.
async fn export(job: Job<Value>) -> Result<Value, Fail> {
    let Steps { steps } = steps(job.clone(), &["reading", "laying out", "writing"]).await?;
    let rows = format!("job,attempt,steps\n{},{},{steps}\n", job.id, job.attempt);
    let asset = job.asset("export.csv", rows).await?;
    Ok(json!({ "steps": steps, "url": asset.url, "bytes": asset.file_size }))
}

/// Runs a worker for `crash` in a child process. The first attempt of each job kills the process, which is started again;
/// the job's lease expires, and the next attempt succeeds.
async fn run_crashing_worker(url: &str, key: Option<&str>, stop: watch::Receiver<bool>) {
    const SCRIPT: &str =
        "if [ \"$TENURE_ATTEMPT\" = 1 ]; then kill -9 $PPID; fi; echo 'result {\"survived\": true}' >&3";
    let Ok(tenure) = std::env::current_exe() else { return };
    loop {
        let mut command = tokio::process::Command::new(&tenure);
        command.args(["work", "crash", "--name", "doomed", "--", "sh", "-c", SCRIPT]);
        command.env("TENURE_URL", url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.kill_on_drop(true);
        command.env_remove("TENURE_KEY_FILE");
        if let Some(key) = key {
            command.env("TENURE_KEY", key);
        }
        let Ok(mut child) = command.spawn() else { return };
        tokio::select! {
            _ = child.wait() => {}
            () = stopped(stop.clone()) => {
                if let Err(error) = child.kill().await {
                    output::message(&format!("tenure: cannot stop a demo worker: {error}"));
                }
                return;
            }
        }
        // Restarts at most twice per second.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
