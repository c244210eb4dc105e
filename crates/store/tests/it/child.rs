//! Child processes: this test program, started again with a role. A child reports to its parent by lines on its
//! standard output; the parent may kill it after any of them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use tenure_store::Store;
use uuid::Uuid;

use crate::fixture::*;
use crate::prelude::*;

const ROLE: &str = "TENURE_TEST_CHILD";
const PLACE: &str = "TENURE_TEST_PLACE";
const TASKS: &str = "TENURE_TEST_TASKS";

/// A child process, killed when dropped.
pub(crate) struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts a child on a folder or a database.
    pub(crate) fn start(role: &str, place: &str, tasks: usize, env: &[(&str, String)]) -> Self {
        let own = std::env::current_exe().expect("the path of this program is known");
        let mut command = Command::new(own);
        command.args(["--exact", "child::the_child_of_another_test", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role).env(PLACE, place).env(TASKS, tasks.to_string());
        command.envs(env.iter().map(|(name, value)| (name, value.as_str())));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("this program can be started");
        let lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        Self { child, lines }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The words of the next report; `None` when the child has ended.
    pub(crate) fn next(&mut self) -> Option<Vec<String>> {
        loop {
            // The last line of a killed child may be incomplete.
            let line = self.lines.next()?.ok()?;
            let report = line.split_once("report: ").and_then(|(_, report)| report.strip_suffix('.'));
            if let Some(report) = report {
                return Some(report.split(' ').map(str::to_owned).collect());
            }
        }
    }

    /// Kills it without warning.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the child can be killed");
    }

    /// Waits for its end, and returns whether it succeeded.
    pub(crate) fn succeeded(&mut self) -> bool {
        self.child.wait().expect("the child can be waited for").success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop((self.child.kill(), self.child.wait()));
    }
}

/// Reports a line to the parent. The full stop marks it as complete.
fn report_line(words: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(format!("\nreport: {words}.\n").as_bytes()).and_then(|()| out.flush());
    written.expect("the parent reads until the end");
}

/// The last acknowledged transition of each job.
pub(crate) type Acknowledged = BTreeMap<JobId, u32>;

/// Records an acknowledgement.
pub(crate) fn note(acknowledged: &mut Acknowledged, words: &[String]) {
    let [_, job, seq] = words else { panic!("not an acknowledgement: {words:?}") };
    let (job, seq) = (JobId(Uuid::parse_str(job).expect("a job id")), seq.parse::<u32>().expect("a number"));
    let last = acknowledged.entry(job).or_default();
    *last = seq.max(*last);
}

/// Checks that every acknowledged transition is stored, each has one event, and no law is broken.
pub(crate) async fn assert_kept(store: &Store, acknowledged: &Acknowledged) {
    for (id, seq) in acknowledged {
        let job = async || store.job(*id).await.unwrap();
        // The server may still execute the last batch of a killed node, so read until nothing changes.
        let (job, history) = until("the job does not change", async || {
            let before =
                job().await.unwrap_or_else(|| panic!("job {id} was acknowledged, but does not exist"));
            let history = store.whole_history(*id).await.unwrap();
            (job().await.as_ref() == Some(&before)).then_some((before, history))
        })
        .await;
        assert!(*seq <= job.seq, "job {id}: transition {seq} was acknowledged, but the last is {}", job.seq);
        let complete = history.iter().filter_map(|event| event.seq).eq(1..=job.seq);
        assert!(complete, "job {id}: one event for each transition");
    }
    assert_lawful(store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_child_of_another_test() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let place = std::env::var(PLACE).expect("a child has a place");
    let tasks =
        std::env::var(TASKS).ok().and_then(|text| text.parse().ok()).expect("a child has a number of tasks");
    let store = match open(&place).await {
        Ok(store) => store,
        Err(error) => return report_line(&format!("unopened {}", kind(&error))),
    };
    report_line("open");
    match role.as_str() {
        "load" => load(store, tasks).await,
        "claim" => claim_all(store, tasks).await,
        "serial" => serial(store).await,
        "fill" => fill(store).await,
        "hold" => std::future::pending().await,
        other => panic!("there is no role {other}"),
    }
}

async fn open(place: &str) -> Result<Store, StoreError> {
    if place.starts_with("postgres://") {
        Store::connect(place).await
    } else {
        Store::open(Path::new(place)).await
    }
}

/// The kind of an error, as one word.
pub(crate) fn kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) => "unavailable",
        StoreError::Denied(_) => "denied",
        StoreError::Full => "full",
        StoreError::Conflict(_) => "conflict",
        StoreError::OutcomeUnknown(_) => "unknown",
        StoreError::Corrupt { .. } => "corrupt",
        StoreError::SchemaAhead { .. } => "ahead",
        StoreError::MigrationChanged(_) => "changed",
        StoreError::InUse { .. } => "in-use",
        StoreError::Unsafe(_) => "unsafe",
        StoreError::Statement(_) => "statement",
    }
}

fn acknowledge(results: &[CommandResult]) {
    for output in results.iter().flatten() {
        match output {
            CommandOutput::Job { job, .. } => report_line(&format!("ack {} {}", job.id(), job.seq)),
            CommandOutput::Claimed { jobs, .. } => {
                for job in jobs {
                    report_line(&format!("ack {} {}", job.id(), job.seq));
                }
            }
            _ => {}
        }
    }
}

/// Work of all kinds from several tasks, until killed; reports each acknowledgement.
async fn load(store: Store, tasks: usize) {
    submit_and_report(&store, vec![grant("ann", 1_000_000)]).await;
    let worker = async |n: usize, store: Store| {
        let mut random = Random(n as u64 + u64::from(std::process::id()));
        loop {
            a_round(&store, &format!("w{n}"), &mut random).await;
        }
    };
    let mut running = tokio::task::JoinSet::new();
    for n in 0..tasks {
        running.spawn(worker(n, store.clone()));
    }
    running.join_all().await;
}

async fn a_round(store: &Store, worker: &str, random: &mut Random) {
    let size = random.below(4) + 1;
    let creations = (0..size).map(|_| {
        let own =
            Create { user_id: Some("ann".into()), ..a_job(random.pick(&["so1", "eager", "paid", "saga"])) };
        create(Create { payload: Json::of(&"x".repeat(random.below(2000))), ..own })
    });
    submit_and_report(store, creations.collect()).await;
    let Some(mut results) = submit_and_report(store, vec![claim(worker, any(), size as u32)]).await else {
        return;
    };
    let held = claimed(results.remove(0));
    let reports = held.iter().map(|job| match random.below(3) {
        0 => fail(&hold(job), random.pick(&[Class::Transient, Class::Permanent])),
        _ => succeed(&hold(job)),
    });
    submit_and_report(store, reports.collect()).await;
}

/// Submits one batch; reports its acknowledgements, or a retryable error.
async fn submit_and_report(
    store: &Store,
    commands: Vec<tenure_core::command::CommandEnvelope>,
) -> Option<Vec<CommandResult>> {
    match try_submit(store, commands).await {
        Ok(results) => {
            acknowledge(&results);
            Some(results)
        }
        Err(error) if error.is_retryable() => {
            report_line(&format!("again {}", kind(&error)));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Claims until no job is ready; reports each claimed job.
async fn claim_all(store: Store, tasks: usize) {
    let claimers: Vec<_> = (0..tasks)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let worker = format!("w{}-{n}", std::process::id());
                claim_until_empty(&store, &worker, 5, |id, fence| report_line(&format!("got {id} {fence}")))
                    .await;
            })
        })
        .collect();
    for claimer in claimers {
        claimer.await.expect("a claimer does not panic");
    }
    report_line("done");
}

/// Claims with one worker until no job is ready.
pub(crate) async fn claim_until_empty(
    store: &Store,
    worker: &str,
    max: u32,
    mut got: impl FnMut(JobId, u64),
) {
    loop {
        let jobs = claimed(submit_until_done(store, &[claim(worker, any(), max)]).await.remove(0));
        for job in &jobs {
            got(job.id(), job.fence.0);
        }
        if jobs.is_empty() {
            let ready = JobFilter { phase: Some("ready".into()), ..JobFilter::default() };
            match store.list(ready, Page { before: None, limit: 1 }).await {
                Ok(page) if page.is_empty() => return,
                Ok(_) => {}
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
    }
}

/// Submits batches until one fails; after that, everything must be refused.
async fn serial(store: Store) {
    for round in 0.. {
        match try_submit(&store, vec![create(a_job("so1"))]).await {
            Ok(results) if round < 100 => acknowledge(&results),
            Ok(_) => return report_line("survived"),
            Err(error) => {
                report_line(&format!("failed {}", kind(&error)));
                break;
            }
        }
    }
    for _ in 0..3 {
        let refused = try_submit(&store, vec![create(a_job("so1"))]).await;
        report_line(&format!("then {}", refused.as_ref().map_or_else(kind, |_| "accepted")));
    }
    let heartbeat = store.heartbeat().await;
    report_line(&format!("then {}", heartbeat.as_ref().map_or_else(kind, |()| "accepted")));
}

/// Submits while a flag file makes the disk full, and again after it is removed.
async fn fill(store: Store) {
    let flag = PathBuf::from(std::env::var("TENURE_SHIM_FULL").expect("the path of the flag is set"));
    let creation = || Create { payload: Json::of(&"x".repeat(10_000)), ..a_job("so1") };
    for _ in 0..5 {
        acknowledge(&submit(&store, vec![create(creation())]).await);
    }
    std::fs::write(&flag, "").expect("the flag is not on the full disk");
    for _ in 0..3 {
        let refused = try_submit(&store, vec![create(creation())]).await;
        report_line(&format!("while-full {}", refused.as_ref().map_or_else(kind, |_| "accepted")));
        report_line(&format!("readable {}", all_jobs(&store).await.len()));
    }
    std::fs::remove_file(&flag).expect("the flag exists");
    acknowledge(&submit_until_done(&store, &[create(creation())]).await);
    report_line("after");
}
