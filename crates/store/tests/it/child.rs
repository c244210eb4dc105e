//! Other processes: this very program, started again with a role. What a child tells its parent are lines on its
//! standard output; the parent may kill it at any of them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use tenure_core::command::Create;
use tenure_core::decide::{CommandOutput, CommandResult};
use tenure_core::id::JobId;
use tenure_core::job::Class;
use tenure_core::json::Json;
use tenure_core::query::{JobFilter, Page};
use tenure_store::{AnyStore, Store, StoreError};
use uuid::Uuid;

use crate::fixture::*;

const ROLE: &str = "TENURE_TEST_CHILD";
const PLACE: &str = "TENURE_TEST_PLACE";
const TASKS: &str = "TENURE_TEST_TASKS";

/// A process of ours. Killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts a child on a folder or a database.
    pub(crate) fn start(role: &str, place: &str, tasks: usize, env: &[(&str, String)]) -> Self {
        let own = std::env::current_exe().expect("a program knows itself");
        let mut command = Command::new(own);
        command.args(["--exact", "child::the_child_of_another_test", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role).env(PLACE, place).env(TASKS, tasks.to_string());
        command.envs(env.iter().map(|(name, value)| (name, value.as_str())));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a program can start itself");
        let lines = BufReader::new(child.stdout.take().expect("a piped stream is there")).lines();
        Self { child, lines }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that the child meant for us, as its words; `None` when it has ended.
    pub(crate) fn next(&mut self) -> Option<Vec<String>> {
        loop {
            // The last line of a killed child may be torn.
            let line = self.lines.next()?.ok()?;
            if let Some((_, told)) = line.split_once("tell: ").filter(|(_, told)| told.ends_with('.')) {
                return Some(told.trim_end_matches('.').split(' ').map(str::to_owned).collect());
            }
        }
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("our own child can be killed");
    }

    /// Waits for its end; whether it was a good one.
    pub(crate) fn ended_well(&mut self) -> bool {
        self.child.wait().expect("our own child can be waited for").success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop((self.child.kill(), self.child.wait()));
    }
}

/// A line for the parent, whole or not at all. The full stop says that it is not torn.
fn tell(words: &str) {
    let mut out = std::io::stdout().lock();
    let told = out.write_all(format!("\ntell: {words}.\n").as_bytes()).and_then(|()| out.flush());
    told.expect("the parent listens until the end");
}

/// A transition that a child was told had been made.
pub(crate) type Acknowledged = BTreeMap<JobId, u32>;

/// Notes an acknowledgement line.
pub(crate) fn note(acknowledged: &mut Acknowledged, words: &[String]) {
    let [_, job, seq] = words else { panic!("not an acknowledgement: {words:?}") };
    let (job, seq) =
        (JobId(Uuid::parse_str(job).expect("a job's id")), seq.parse::<u32>().expect("a number"));
    let last = acknowledged.entry(job).or_default();
    *last = seq.max(*last);
}

/// Every acknowledged transition is there, no law is broken, and each transition has one event.
pub(crate) async fn assert_kept<S: Store>(store: &S, acknowledged: &Acknowledged) {
    for (id, seq) in acknowledged {
        let job = async || store.job(*id).await.unwrap();
        // A server may still be at the last batch of a node that is gone: what is compared was read in one stillness.
        let (job, history) = until("the job stands still", async || {
            let before = job().await.unwrap_or_else(|| panic!("job {id} was acknowledged, and is gone"));
            let history = store.history(*id).await.unwrap();
            (job().await.as_ref() == Some(&before)).then_some((before, history))
        })
        .await;
        assert!(*seq <= job.seq, "job {id}: transition {seq} was acknowledged, and the last is {}", job.seq);
        assert!(
            history.iter().filter_map(|event| event.seq).eq(1..=job.seq),
            "job {id}: one event a transition"
        );
    }
    assert_lawful(store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_child_of_another_test() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let place = std::env::var(PLACE).expect("a child is told where");
    let tasks =
        std::env::var(TASKS).ok().and_then(|text| text.parse().ok()).expect("a child is told how many");
    let store = match open(&place).await {
        Ok(store) => store,
        Err(error) => return tell(&format!("unopened {}", kind(&error))),
    };
    tell("open");
    match role.as_str() {
        "load" => load(store, tasks).await,
        "claim" => claim_all(store, tasks).await,
        "serial" => serial(store).await,
        "fill" => fill(store).await,
        "hold" => std::future::pending().await,
        other => panic!("there is no role {other}"),
    }
}

async fn open(place: &str) -> Result<AnyStore, StoreError> {
    if place.starts_with("postgres://") {
        AnyStore::connect(place).await
    } else {
        AnyStore::open(Path::new(place)).await
    }
}

/// The error's kind, as one word.
pub(crate) fn kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) => "unavailable",
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
    for done in results.iter().flatten() {
        match done {
            CommandOutput::Job { job, .. } => tell(&format!("ack {} {}", job.id(), job.seq)),
            CommandOutput::Claimed { jobs, .. } => {
                for job in jobs {
                    tell(&format!("ack {} {}", job.id(), job.seq));
                }
            }
            _ => {}
        }
    }
}

/// Work of all kinds from several tasks, for ever; each acknowledgement is told.
async fn load(store: AnyStore, tasks: usize) {
    submit_and_tell(&store, vec![grant("ann", 1_000_000)]).await;
    let tasks: Vec<_> = (0..tasks)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut random = Random(n as u64 + u64::from(std::process::id()));
                // Until it is killed.
                for _ in 0..usize::MAX {
                    a_round(&store, &format!("w{n}"), &mut random).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a task does not panic");
    }
}

async fn a_round(store: &AnyStore, worker: &str, random: &mut Random) {
    let size = random.below(4) + 1;
    let creations = (0..size).map(|_| {
        let own =
            Create { user_id: Some("ann".into()), ..a_job(random.pick(&["so1", "eager", "paid", "saga"])) };
        create(Create { payload: Json::of(&"x".repeat(random.below(2000))), ..own })
    });
    submit_and_tell(store, creations.collect()).await;
    let Some(mut results) = submit_and_tell(store, vec![claim(worker, any(), size as u32)]).await else {
        return;
    };
    let held = claimed(results.remove(0));
    let reports = held.iter().map(|job| match random.below(3) {
        0 => fail(&hold(job), random.pick(&[Class::Transient, Class::Permanent])),
        _ => succeed(&hold(job)),
    });
    submit_and_tell(store, reports.collect()).await;
}

/// One batch; its acknowledgements are told, and so is an error after which it may be tried again.
async fn submit_and_tell(
    store: &AnyStore,
    commands: Vec<tenure_core::command::CommandEnvelope>,
) -> Option<Vec<CommandResult>> {
    match try_submit(store, commands).await {
        Ok(results) => {
            acknowledge(&results);
            Some(results)
        }
        Err(error) if error.is_retryable() => {
            tell(&format!("again {}", kind(&error)));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Claims until nothing is ready any more; tells each job that it got.
async fn claim_all(store: AnyStore, tasks: usize) {
    let claimers: Vec<_> = (0..tasks)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                let worker = format!("w{}-{n}", std::process::id());
                claim_until_empty(&store, &worker, 5, |id, fence| tell(&format!("got {id} {fence}"))).await;
            })
        })
        .collect();
    for claimer in claimers {
        claimer.await.expect("a claimer does not panic");
    }
    tell("done");
}

/// One claimer: claims until nothing is ready.
pub(crate) async fn claim_until_empty<S: Store>(
    store: &S,
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

/// One batch after the other until one fails; then everything must be refused.
async fn serial(store: AnyStore) {
    for round in 0.. {
        match try_submit(&store, vec![create(a_job("so1"))]).await {
            Ok(results) if round < 100 => acknowledge(&results),
            Ok(_) => return tell("survived"),
            Err(error) => {
                tell(&format!("failed {}", kind(&error)));
                break;
            }
        }
    }
    for _ in 0..3 {
        let refused = try_submit(&store, vec![create(a_job("so1"))]).await;
        tell(&format!("then {}", refused.as_ref().map_or_else(kind, |_| "accepted")));
    }
    let beat = store.heartbeat().await;
    tell(&format!("then {}", beat.as_ref().map_or_else(kind, |()| "accepted")));
}

/// Fills the disk, tells so, and goes on when the parent has made room.
async fn fill(store: AnyStore) {
    let flag = PathBuf::from(std::env::var("TENURE_SHIM_FULL").expect("a full disk is a flag"));
    let creation = || Create { payload: Json::of(&"x".repeat(10_000)), ..a_job("so1") };
    for _ in 0..5 {
        acknowledge(&submit(&store, vec![create(creation())]).await);
    }
    std::fs::write(&flag, "").expect("the flag is not on the full disk");
    for _ in 0..3 {
        let refused = try_submit(&store, vec![create(creation())]).await;
        tell(&format!("while-full {}", refused.as_ref().map_or_else(kind, |_| "accepted")));
        tell(&format!("readable {}", all_jobs(&store).await.len()));
    }
    std::fs::remove_file(&flag).expect("the flag is there");
    acknowledge(&submit_until_done(&store, &[create(creation())]).await);
    tell("after");
}
