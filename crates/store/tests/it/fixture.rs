//! Fixtures: a catalog, builders of commands, and checks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tenure_core::command::{AppendLog, CreationKey, NewLogLine, Report, WorkerSighting};
use tenure_core::fold::{verify, verify_account};
use tenure_core::lifecycle::{Lifecycle, Trigger};
use tenure_store::AccountSums;

use crate::prelude::*;

/// A test that waits longer has failed.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// A type for each built-in lifecycle, with its name, and a few special types: `paid` costs 3, `quick` has a lease of a
/// few milliseconds, `eager` retries immediately, `saga` is compensated by `undo`, `brief` can be purged as soon as it
/// is finished, and `parked` has no rule for claims. Of `single` and `latest`, one unfinished job has a unique key; a second one
/// is refused or replaces the first.
pub(crate) static CATALOG: LazyLock<Arc<Catalog>> = LazyLock::new(|| {
    let mut catalog = Catalog::default();
    let built_in: BTreeMap<String, Lifecycle> =
        Lifecycle::built_in().into_iter().map(|lifecycle| (lifecycle.name.to_string(), lifecycle)).collect();
    let mut brief = built_in["so1"].clone();
    brief.name = "brief".into();
    brief.retention.jobs = Millis(0);
    brief.retention.telemetry = Millis(0);
    brief.idempotency.window = Millis(0);
    let mut parked = built_in["so1"].clone();
    parked.name = "parked".into();
    parked.rules.retain(|rule| rule.on != Trigger::Claim);
    let at_once = Backoff { base: Millis(0), factor: 1.0, max: Millis(0), jitter: Jitter::None };
    let following = |name: &str, lifecycle: &str| JobType::following(name, &built_in[lifecycle]);
    let short = Policy { lease: Millis(20), heartbeat: Millis(10), backoff: at_once, ..Policy::default() };
    let mut types = vec![JobType::following("brief", &brief), JobType::following("parked", &parked)];
    types.extend(built_in.keys().map(|name| following(name, name)));
    types.extend([
        JobType { cost: 3, ..following("paid", "image") },
        JobType { policy: short, ..following("quick", "distributed") },
        JobType {
            policy: Policy { backoff: at_once, ..Policy::default() },
            ..following("eager", "distributed")
        },
        JobType { compensate_with: Some("undo".into()), ..following("saga", "so1") },
        following("undo", "so1"),
        JobType { unique: Some(unique(OnConflict::Refuse)), ..following("single", "so1") },
        JobType { unique: Some(unique(OnConflict::Replace)), ..following("latest", "so1") },
    ]);
    for lifecycle in built_in.into_values().chain([brief, parked]) {
        catalog.add_lifecycle(lifecycle);
    }
    for job_type in types {
        catalog.add_type(job_type).expect("the types are valid");
    }
    Arc::new(catalog)
});

fn unique(on_conflict: OnConflict) -> Unique {
    Unique { among: Among::Unfinished, on_conflict }
}

/// A creation with a unique key.
pub(crate) fn keyed(job_type: &str, key: &str) -> Create {
    Create { flow: FlowKeys { unique: Some(key.into()), ..FlowKeys::default() }, ..a_job(job_type) }
}

/// A new id, after all earlier ones of this process.
pub(crate) fn an_id() -> JobId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = u128::from(COUNT.fetch_add(1, Ordering::Relaxed));
    // Ids of two processes must differ.
    let process = u128::from(std::process::id());
    JobId::new(1_700_000_000_000, (count << 24) | process)
}

pub(crate) fn by(actor: &str, command: Command) -> CommandEnvelope {
    CommandEnvelope { by: actor.into(), key: None, command }
}

/// A creation with defaults for everything but its type.
pub(crate) fn a_job(job_type: &str) -> Create {
    Create {
        id: an_id(),
        job_type: job_type.into(),
        lifecycle: None,
        payload: Json::null(),
        user_id: None,
        queue: None,
        priority: None,
        max_attempts: None,
        when: When::Now,
        links: Links::default(),
        key: CreationKey::None,
        flow: FlowKeys::default(),
        is_limited: true,
        reader: Reader::default(),
        throttled: None,
    }
}

pub(crate) fn create(create: Create) -> CommandEnvelope {
    by("user:ann", Command::Create(Box::new(create)))
}

/// An idempotency key; the fingerprint differs for different bodies.
pub(crate) fn key(text: &str, body: u8) -> CreationKey {
    CreationKey::Given(IdempotencyKey { key: text.into(), fingerprint: [body; 32] })
}

pub(crate) fn any() -> ClaimFilter {
    ClaimFilter::default()
}

pub(crate) fn of_types(types: &[&str]) -> ClaimFilter {
    ClaimFilter { types: Some(types.iter().map(|name| (*name).into()).collect()), queues: None }
}

pub(crate) fn of_queues(queues: &[&str]) -> ClaimFilter {
    ClaimFilter { types: None, queues: Some(queues.iter().map(|name| (*name).into()).collect()) }
}

/// A claim that also starts the jobs.
pub(crate) fn claim(worker: &str, filter: ClaimFilter, max: u32) -> CommandEnvelope {
    by("worker", Command::Claim(Claim { worker: worker.into(), filter, max, request_id: None, start: true }))
}

/// The hold of a claimed job.
pub(crate) fn hold(job: &Job) -> Hold {
    let lease = job.lease.as_deref().expect("a claimed job has a lease");
    Hold { job: job.id(), worker: lease.worker.clone(), fence: lease.fence }
}

pub(crate) fn report(hold: &Hold, verb: Verb) -> CommandEnvelope {
    let holder = Some(hold.clone().holder());
    by("worker", Command::Report(Box::new(Report { job: hold.job, holder, verb })))
}

/// Appends lines to a job's log, as its holder or as its owner.
pub(crate) fn append_log(job: JobId, hold: Option<&Hold>, texts: &[&str]) -> CommandEnvelope {
    let line =
        |text: &&str| NewLogLine { stream: "stdout".into(), level: "info".into(), text: (*text).to_owned() };
    let holder = hold.map(|hold| hold.clone().holder());
    by("user:ann", Command::Log(AppendLog { job, holder, lines: texts.iter().map(line).collect() }))
}

/// A sighting of workers, each perhaps with a credential.
pub(crate) fn seen(workers: &[(&str, Option<&str>)]) -> CommandEnvelope {
    let sighting = |(worker, key): &(&str, Option<&str>)| WorkerSighting {
        worker: (*worker).into(),
        credential: key.map(Into::into),
    };
    by("node", Command::WorkersSeen(workers.iter().map(sighting).collect()))
}

pub(crate) fn succeed(hold: &Hold) -> CommandEnvelope {
    report(hold, Verb::Succeed { result: Some(Json::of(&"made")), error: None })
}

pub(crate) fn fail(hold: &Hold, class: Class) -> CommandEnvelope {
    let error = JobError { class, ..JobError::own("BROKEN", "it broke", Category::Engine) };
    report(hold, Verb::Fail { error, retry_after: None, pause: None })
}

pub(crate) fn grant(user: &str, amount: u64) -> CommandEnvelope {
    by("operator:ann", Command::GrantCredits { user: user.into(), amount, reason: Some("a gift".to_owned()) })
}

pub(crate) fn heartbeat(hold: &Hold) -> CommandEnvelope {
    by("worker", Command::Heartbeat(hold.clone()))
}

pub(crate) fn pause_queue(queue: &str, paused: bool) -> CommandEnvelope {
    by("operator:ann", Command::PauseQueue { queue: queue.into(), paused })
}

pub(crate) fn dead_letter(job: JobId, reason: ReasonCode) -> CommandEnvelope {
    by("operator:ann", Command::DeadLetter { job, reason, detail: "enough".to_owned() })
}

pub(crate) fn dismiss(job: JobId) -> CommandEnvelope {
    by("operator:ann", Command::DismissDeadLetter { job, reason: "seen".to_owned() })
}

/// A job as `finished` reads it: without payload, result, checkpoint, error and amendments.
pub(crate) fn without_texts(job: &Job) -> Arc<Job> {
    let mut job = job.clone();
    Arc::make_mut(&mut job.spec).payload = Json::null();
    (job.output.result, job.output.checkpoint, job.output.error, job.amended) = (None, None, None, None);
    Arc::new(job)
}

/// Submits one batch.
pub(crate) async fn try_submit(
    store: &Store,
    commands: Vec<CommandEnvelope>,
) -> Result<Vec<CommandResult>, StoreError> {
    let catalog = Arc::clone(&CATALOG);
    store.transact(Reads::of(&commands), move |set, now| decide_batch(set, &catalog, &commands, now)).await
}

/// Submits one batch to a store that works.
pub(crate) async fn submit(store: &Store, commands: Vec<CommandEnvelope>) -> Vec<CommandResult> {
    try_submit(store, commands).await.expect("the store works")
}

/// Submits one batch, and again after every retryable error.
pub(crate) async fn submit_until_done(store: &Store, commands: &[CommandEnvelope]) -> Vec<CommandResult> {
    loop {
        match try_submit(store, commands.to_vec()).await {
            Ok(results) => return results,
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Submits one command to a store that works.
pub(crate) async fn one(store: &Store, command: CommandEnvelope) -> CommandResult {
    submit(store, vec![command]).await.remove(0)
}

/// The job in a result.
pub(crate) fn job_of(result: CommandResult) -> Arc<Job> {
    match result.expect("the command is valid") {
        CommandOutput::Job { job, .. } => job,
        other => panic!("a job was expected, not {other:?}"),
    }
}

/// The jobs in the result of a claim.
pub(crate) fn claimed(result: CommandResult) -> Vec<Arc<Job>> {
    match result.expect("a claim is not refused") {
        CommandOutput::Claimed { jobs, .. } => jobs,
        other => panic!("claimed jobs were expected, not {other:?}"),
    }
}

/// Creates jobs in one batch.
pub(crate) async fn created(store: &Store, creations: Vec<Create>) -> Vec<Arc<Job>> {
    submit(store, creations.into_iter().map(create).collect()).await.into_iter().map(job_of).collect()
}

/// Creates one job.
pub(crate) async fn created_one(store: &Store, creation: Create) -> Arc<Job> {
    created(store, vec![creation]).await.remove(0)
}

/// Claims and starts jobs.
pub(crate) async fn take(store: &Store, worker: &str, filter: ClaimFilter, max: u32) -> Vec<Arc<Job>> {
    claimed(one(store, claim(worker, filter, max)).await)
}

/// Every job, newest first.
pub(crate) async fn all_jobs(store: &Store) -> Vec<Arc<Job>> {
    list_all(store, JobFilter::default(), 500).await
}

/// Every job that a filter finds, page by page.
pub(crate) async fn list_all(store: &Store, filter: JobFilter, limit: usize) -> Vec<Arc<Job>> {
    all_pages(limit, async |last: Option<&Arc<Job>>| {
        store.list(filter.clone(), Page { before: last.map(|job| job.id()), limit }).await
    })
    .await
}

/// All rows of a read in pages, which gets the last row so far.
pub(crate) async fn all_pages<T>(
    limit: usize,
    mut read: impl AsyncFnMut(Option<&T>) -> Result<Vec<T>, StoreError>,
) -> Vec<T> {
    let mut found = Vec::new();
    loop {
        let page = read(found.last()).await.expect("the store works");
        assert!(page.len() <= limit, "a page is never longer than requested");
        if page.is_empty() {
            return found;
        }
        found.extend(page);
    }
}

/// Every record of every job.
pub(crate) async fn scan_all(store: &Store) -> Vec<Scanned> {
    all_pages(200, async |last: Option<&Scanned>| store.scan(last.map(|it| it.id), 200).await).await
}

/// Every account with the sums of its ledger.
pub(crate) async fn scan_all_accounts(store: &Store, limit: usize) -> Vec<AccountSums> {
    all_pages(limit, async |last: Option<&AccountSums>| {
        store.scan_accounts(last.map(|(user, ..)| user.clone()), limit).await
    })
    .await
}

/// Checks the laws: every history folds to its row, every account matches its ledger, and there are no orphans.
pub(crate) async fn assert_lawful(store: &Store) {
    for scanned in scan_all(store).await {
        let record = scanned.record.unwrap_or_else(|why| panic!("job {}: {why}", scanned.id));
        let lifecycle = CATALOG.lifecycle(&record.job.spec.lifecycle);
        let found = verify(&record, lifecycle.map(AsRef::as_ref));
        assert!(found.is_empty(), "{found:?}");
    }
    for (user, account, sums) in scan_all_accounts(store, 100).await {
        assert_eq!(verify_account(&user, account, &sums), []);
    }
    assert_eq!(store.orphans(10).await.expect("the store works"), Vec::<String>::new());
}

/// Waits until the clock of the store is after a time.
pub(crate) async fn clock_after(store: &Store, at: Timestamp) {
    until("the clock has advanced", async || (store.now().await.unwrap().at > at).then_some(())).await;
}

/// Waits until `ask` returns `Some`.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let mut ticks = tokio::time::interval(Duration::from_millis(2));
    let wait = async {
        loop {
            ticks.tick().await;
            if let Some(result) = ask().await {
                return result;
            }
        }
    };
    tokio::time::timeout(WAIT_MAX, wait).await.unwrap_or_else(|_| panic!("timed out waiting until {what}"))
}

/// Pseudo-random numbers, the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Seeded from `TENURE_TEST_SEED`, to repeat a failure, otherwise at random.
    pub(crate) fn from_env() -> Self {
        let seed = std::env::var("TENURE_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let fresh = || std::hash::BuildHasher::hash_one(&std::collections::hash_map::RandomState::new(), 0);
        let seed = seed.unwrap_or_else(fresh);
        println!("TENURE_TEST_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// One of the choices.
    pub(crate) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// One of the choices, or `None`.
    pub(crate) fn maybe<T: Clone>(&mut self, choices: &[T]) -> Option<T> {
        (self.below(2) == 0).then(|| self.pick(choices))
    }
}
