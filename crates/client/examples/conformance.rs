//! The test worker of the conformance suite (`conformance/README.md`): each job's payload says what its handler does.

use std::fmt::Display;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};
use tenure_client::{Client, Fail, Job, NewJob, Result, Stage, Stop, Worker};

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The settings of `TENURE_CONFORMANCE`.
#[derive(Clone, Deserialize)]
struct Options {
    name: String,
    queue: String,
    types: Vec<String>,
    slots: usize,
    wait_ms: u64,
    drain_ms: Option<u64>,
    /// The types that have a batch handler.
    #[serde(default)]
    batches: Vec<String>,
    gates: PathBuf,
}

/// The payload of a job: the steps of each attempt.
#[derive(Deserialize)]
struct Script {
    attempts: Vec<Vec<Step>>,
}

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Step {
    Log {
        text: String,
        stream: Option<String>,
        level: Option<String>,
    },
    Progress {
        percent: u8,
        message: Option<String>,
    },
    Asset {
        name: String,
        content: String,
    },
    Wait {
        gate: String,
    },
    Block {
        gate: String,
    },
    Spin {
        gate: String,
    },
    WaitStop {
        at_least: Option<String>,
    },
    Create {
        jobs: Vec<NewJobGiven>,
    },
    Succeed {
        result: Option<Value>,
        bytes: Option<usize>,
    },
    Transient {
        code: String,
        message: String,
        retry_after_ms: Option<u64>,
        stage: Option<String>,
        details: Option<Value>,
        pause: Option<Pause>,
    },
    Permanent {
        code: String,
        message: String,
        stage: Option<String>,
        details: Option<Value>,
        pause: Option<Pause>,
    },
    Partial {
        code: String,
        message: String,
        result: Option<Value>,
    },
    Reject {
        reason: String,
    },
    Release {
        checkpoint: Option<Value>,
        delay_ms: Option<u64>,
        pause: Option<Pause>,
    },
    Cancelled {
        checkpoint: Option<Value>,
        result: Option<Value>,
    },
    Error {
        message: String,
    },
    Panic {
        message: String,
    },
}

#[derive(Clone, Deserialize)]
struct Pause {
    resource: String,
    for_ms: u64,
}

#[derive(Deserialize)]
struct NewJobGiven {
    #[serde(rename = "type")]
    job_type: String,
    queue: String,
    payload: Value,
}

type Ending = Result<Value, Fail>;

// One thread: a step that blocks it blocks every handler.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let options: Options = serde_json::from_str(&std::env::var("TENURE_CONFORMANCE")?)?;
    let client = Client::from_env()?;
    let mut worker = Worker::new(client.clone())
        .name(&options.name)
        .queues([&options.queue])
        .slots(options.slots)
        .wait(Duration::from_millis(options.wait_ms));
    if let Some(limit) = options.drain_ms {
        worker = worker.drain(Duration::from_millis(limit));
    }
    for job_type in &options.types {
        let (client, options) = (client.clone(), options.clone());
        worker = worker.on(job_type, move |job| handle(job, client.clone(), options.clone()));
    }
    for job_type in &options.batches {
        let (client, options) = (client.clone(), options.clone());
        worker = worker.on_batch(job_type, move |jobs| handle_batch(jobs, client.clone(), options.clone()));
    }
    worker.run().await?;
    print(&json!({ "line": "drained" }));
    Ok(())
}

async fn handle(job: Job<Script>, client: Client, options: Options) -> Ending {
    started(&job, None);
    perform_all(&job, &client, &options).await
}

async fn handle_batch(jobs: Vec<Job<Script>>, client: Client, options: Options) -> Result<Vec<Ending>, Fail> {
    for job in &jobs {
        started(job, Some(jobs.len()));
    }
    let mut endings = Vec::new();
    for job in &jobs {
        endings.push(perform_all(job, &client, &options).await);
    }
    Ok(endings)
}

fn started(job: &Job<Script>, batch: Option<usize>) {
    let (checkpoint, traceparent) = (&job.checkpoint, &job.traceparent);
    print(
        &json!({ "line": "started", "job": job.id, "attempt": job.attempt, "fence": job.fence, "batch": batch,
        "checkpoint": checkpoint, "traceparent": traceparent, "correlation_id": job.correlation_id }),
    );
}

async fn perform_all(job: &Job<Script>, client: &Client, options: &Options) -> Ending {
    let attempt = (job.attempt as usize).min(job.payload.attempts.len());
    for step in &job.payload.attempts[attempt - 1] {
        if let Some(ending) = perform(job, step, client, options).await? {
            return ending;
        }
    }
    Ok(Value::Null)
}

/// Performs a step; an ending if it is the last one.
async fn perform(
    job: &Job<Script>,
    step: &Step,
    client: &Client,
    options: &Options,
) -> Result<Option<Ending>, Fail> {
    match step {
        Step::Log { text, stream, level } => {
            let (stream, level) = (stream.as_deref(), level.as_deref());
            job.log_to(stream.unwrap_or("stdout"), level.unwrap_or("info"), text);
        }
        Step::Progress { percent, message } => job.progress(*percent, message.as_deref().unwrap_or_default()),
        Step::Asset { name, content } => drop(job.asset(name, content.clone().into_bytes()).await?),
        Step::Wait { gate } => {
            while !options.gates.join(gate).exists() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
        Step::Block { gate } => {
            while !options.gates.join(gate).exists() {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        Step::Spin { gate } => {
            while !options.gates.join(gate).exists() {
                let end = Instant::now() + POLL_INTERVAL;
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
            }
        }
        Step::WaitStop { at_least } => wait_stop(job, at_least.as_deref()).await,
        Step::Create { jobs } => create(job, client, jobs).await,
        ending => return end(ending).map(Some),
    }
    Ok(None)
}

async fn wait_stop(job: &Job<Script>, at_least: Option<&str>) {
    let at_least = if at_least == Some("hard_cancel") { Stop::HardCancel } else { Stop::SoftCancel };
    let cause = match job.stopped_at_least(at_least).await {
        Stop::SoftCancel => "soft_cancel",
        Stop::Shutdown => "shutdown",
        Stop::HardCancel => "hard_cancel",
        Stop::LeaseLost => "lease_lost",
    };
    print(&json!({ "line": "stopped", "job": job.id, "cause": cause }));
}

/// Creates the jobs at the same time, each with its own call.
async fn create(job: &Job<Script>, client: &Client, jobs: &[NewJobGiven]) {
    let calls = jobs.iter().map(async |given| {
        let new = NewJob::new(&given.job_type, &given.payload)?;
        client.create(new.queue(&given.queue)).await
    });
    for (index, created) in join_all(calls).await.into_iter().enumerate() {
        let (id, code) = match &created {
            Ok(created) => (Some(&created.job.id), None),
            Err(error) => (None, error.problem().map(|problem| problem.code.clone())),
        };
        print(&json!({ "line": "created", "job": job.id, "index": index, "id": id, "code": code }));
    }
}

/// The ending of the attempt.
fn end(step: &Step) -> Result<Ending, Fail> {
    let fail = match step {
        Step::Succeed { bytes: Some(count), .. } => return Ok(Ok("x".repeat(*count).into())),
        Step::Succeed { result, .. } => return Ok(Ok(result.clone().unwrap_or_default())),
        Step::Transient { code, message, retry_after_ms, stage, details, pause } => {
            let fail = with_more(Fail::transient(code, message), stage.as_deref(), details.as_ref());
            let fail = with(fail, retry_after_ms.map(Duration::from_millis), Fail::retry_after);
            with(fail, pause.clone(), paused)
        }
        Step::Permanent { code, message, stage, details, pause } => {
            let fail = with_more(Fail::permanent(code, message), stage.as_deref(), details.as_ref());
            with(fail, pause.clone(), paused)
        }
        Step::Partial { code, message, result } => {
            with(Fail::partial(code, message), result.clone(), Fail::result)
        }
        Step::Reject { reason } => Fail::reject(reason),
        Step::Release { checkpoint, delay_ms, pause } => {
            let fail = with(Fail::release(), checkpoint.clone(), Fail::checkpoint);
            let fail = with(fail, delay_ms.map(Duration::from_millis), Fail::delay);
            with(fail, pause.clone(), paused)
        }
        Step::Cancelled { checkpoint, result } => {
            let fail = with(Fail::cancelled(), checkpoint.clone(), Fail::checkpoint);
            with(fail, result.clone(), Fail::result)
        }
        Step::Error { message } => return Err(std::io::Error::other(message.clone()).into()),
        Step::Panic { message } => panic!("{message}"),
        _ => unreachable!("`perform` handles every other step"),
    };
    Ok(Err(fail))
}

fn paused(fail: Fail, pause: Pause) -> Fail {
    fail.pause(pause.resource, Duration::from_millis(pause.for_ms))
}

fn with<T>(fail: Fail, value: Option<T>, set: impl FnOnce(Fail, T) -> Fail) -> Fail {
    match value {
        Some(value) => set(fail, value),
        None => fail,
    }
}

fn with_more(fail: Fail, stage: Option<&str>, details: Option<&Value>) -> Fail {
    let stage = stage.map(|stage| match stage {
        "fetch" => Stage::Fetch,
        "input" => Stage::Input,
        "output" => Stage::Output,
        "commit" => Stage::Commit,
        _ => Stage::Exec,
    });
    with(with(fail, stage, Fail::stage), details, Fail::details)
}

/// Prints a line for the runner.
fn print(line: &dyn Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("the runner reads the output");
}
