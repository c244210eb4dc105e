//! What every test starts from: a catalog, commands by one call each, and the questions that end a test.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tenure_core::command::{
    Asked, Claim, ClaimFilter, Command, Create, CreationKey, GivenKey, Hold, Report, Verb, When,
};
use tenure_core::decide::{Answer, Done, decide_batch};
use tenure_core::fold::{verify, verify_account};
use tenure_core::id::{JobId, Name};
use tenure_core::job::{Category, Class, Job, JobError, Links};
use tenure_core::job_type::{Catalog, JobType};
use tenure_core::json::Json;
use tenure_core::lifecycle::{Backoff, Jitter, Lifecycle, Policy};
use tenure_core::query::{JobFilter, Page};
use tenure_core::time::Millis;
use tenure_core::working_set::Reads;
use tenure_store::{Scanned, Store, StoreError};

/// Longer than anything that a test waits for; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_mins(1);

/// The five built-in lifecycles under types of their own names, and a few types with a purpose:
/// `paid` costs 3, `quick` has a lease of a few milliseconds, `eager` retries at once, `saga` is undone by `undo`,
/// and `brief` may be forgotten as soon as it is over.
pub(crate) static CATALOG: LazyLock<Arc<Catalog>> = LazyLock::new(|| {
    let mut catalog = Catalog::default();
    let built_in: BTreeMap<String, Lifecycle> =
        Lifecycle::built_in().into_iter().map(|lifecycle| (lifecycle.name.to_string(), lifecycle)).collect();
    let mut brief = built_in["so1"].clone();
    brief.name = "brief".into();
    brief.retention.jobs = Millis(0);
    brief.retention.telemetry = Millis(0);
    brief.idempotency.window = Millis(0);
    let at_once = Backoff { base: Millis(0), factor: 1.0, max: Millis(0), jitter: Jitter::None };
    let following = |name: &str, lifecycle: &str| JobType::following(name, &built_in[lifecycle]);
    let short = Policy { lease: Millis(20), heartbeat: Millis(10), backoff: at_once, ..Policy::default() };
    let mut types = vec![JobType::following("brief", &brief)];
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
    ]);
    for lifecycle in built_in.into_values().chain([brief]) {
        catalog.add_lifecycle(lifecycle);
    }
    for job_type in types {
        catalog.add_type(job_type).expect("the types of the tests follow lifecycles that are there");
    }
    Arc::new(catalog)
});

/// A new id, after all that were made before in this process.
pub(crate) fn an_id() -> JobId {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = u128::from(COUNT.fetch_add(1, Ordering::Relaxed));
    // Two processes must not make the same id.
    let process = u128::from(std::process::id());
    JobId::new(1_700_000_000_000, (count << 24) | process)
}

pub(crate) fn by(who: &str, command: Command) -> Asked {
    Asked { by: who.into(), key: None, command }
}

/// A creation that says nothing but its type.
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
        throttled: None,
    }
}

pub(crate) fn create(create: Create) -> Asked {
    by("user:ann", Command::Create(Box::new(create)))
}

/// A caller's key; the fingerprint tells one body from another.
pub(crate) fn key(text: &str, body: u8) -> CreationKey {
    CreationKey::Given(GivenKey { key: text.into(), fingerprint: [body; 32] })
}

pub(crate) fn any() -> ClaimFilter {
    ClaimFilter::default()
}

pub(crate) fn of_types(types: &[&str]) -> ClaimFilter {
    ClaimFilter { types: Some(types.iter().map(|name| Name::from(*name)).collect()), queues: None }
}

pub(crate) fn of_queues(queues: &[&str]) -> ClaimFilter {
    ClaimFilter { types: None, queues: Some(queues.iter().map(|name| Name::from(*name)).collect()) }
}

/// A claim that also starts what it gets.
pub(crate) fn claim(worker: &str, filter: ClaimFilter, max: u32) -> Asked {
    by("worker", Command::Claim(Claim { worker: worker.into(), filter, max, request_id: None, start: true }))
}

/// The hold that a claimed job gives its worker.
pub(crate) fn hold(job: &Job) -> Hold {
    let lease = job.lease.as_deref().expect("a claimed job has a lease");
    Hold { job: job.id(), worker: lease.worker.clone(), fence: lease.fence }
}

pub(crate) fn report(hold: &Hold, verb: Verb) -> Asked {
    let holder = Some((hold.worker.clone(), hold.fence));
    by("worker", Command::Report(Box::new(Report { job: hold.job, holder, verb })))
}

pub(crate) fn succeed(hold: &Hold) -> Asked {
    report(hold, Verb::Succeed { result: Some(Json::of(&"made")), error: None })
}

pub(crate) fn fail(hold: &Hold, class: Class) -> Asked {
    let error = JobError { class, ..JobError::own("BROKEN", "it broke", Category::Engine) };
    report(hold, Verb::Fail { error, retry_after: None })
}

pub(crate) fn grant(user: &str, amount: u64) -> Asked {
    by("operator:ann", Command::Grant(user.into(), amount, Some("a gift".to_owned())))
}

/// One batch, decided by the rules.
pub(crate) async fn try_submit<S: Store>(store: &S, commands: Vec<Asked>) -> Result<Vec<Answer>, StoreError> {
    let catalog = Arc::clone(&CATALOG);
    store.transact(Reads::of(&commands), move |set, now| decide_batch(set, &catalog, &commands, now)).await
}

/// One batch on a store that works.
pub(crate) async fn submit<S: Store>(store: &S, commands: Vec<Asked>) -> Vec<Answer> {
    try_submit(store, commands).await.expect("the store works")
}

/// One batch; what may be tried again is tried again.
pub(crate) async fn insist<S: Store>(store: &S, commands: &[Asked]) -> Vec<Answer> {
    loop {
        match try_submit(store, commands.to_vec()).await {
            Ok(answers) => return answers,
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

/// One command on a store that works.
pub(crate) async fn one<S: Store>(store: &S, command: Asked) -> Answer {
    submit(store, vec![command]).await.remove(0)
}

/// The job in an answer.
pub(crate) fn job_of(answer: Answer) -> Arc<Job> {
    match answer.expect("the rules allow it") {
        Done::Job { job, .. } => job,
        other => panic!("a job was expected, not {other:?}"),
    }
}

/// The jobs in a claim's answer.
pub(crate) fn claimed(answer: Answer) -> Vec<Arc<Job>> {
    match answer.expect("a claim is not refused") {
        Done::Claimed { jobs, .. } => jobs,
        other => panic!("claimed jobs were expected, not {other:?}"),
    }
}

/// Creates jobs in one batch.
pub(crate) async fn created<S: Store>(store: &S, creations: Vec<Create>) -> Vec<Arc<Job>> {
    submit(store, creations.into_iter().map(create).collect()).await.into_iter().map(job_of).collect()
}

/// Creates one job.
pub(crate) async fn created_one<S: Store>(store: &S, creation: Create) -> Arc<Job> {
    created(store, vec![creation]).await.remove(0)
}

/// Claims and starts.
pub(crate) async fn take<S: Store>(store: &S, worker: &str, filter: ClaimFilter, max: u32) -> Vec<Arc<Job>> {
    claimed(one(store, claim(worker, filter, max)).await)
}

/// Every job, newest first.
pub(crate) async fn all_jobs<S: Store>(store: &S) -> Vec<Arc<Job>> {
    list_all(store, JobFilter::default(), 500).await
}

/// Every job that a filter finds, page by page.
pub(crate) async fn list_all<S: Store>(store: &S, filter: JobFilter, limit: usize) -> Vec<Arc<Job>> {
    let mut found: Vec<Arc<Job>> = Vec::new();
    loop {
        let before = found.last().map(|job| job.id());
        let page = store.list(filter.clone(), Page { before, limit }).await.expect("the store works");
        assert!(page.len() <= limit, "a page is never longer than was asked");
        let last = page.len() < limit;
        found.extend(page);
        if last {
            return found;
        }
    }
}

/// Every record of every job.
pub(crate) async fn scan_all<S: Store>(store: &S) -> Vec<Scanned> {
    let mut found: Vec<Scanned> = Vec::new();
    loop {
        let page = store.scan(found.last().map(|it| it.id), 200).await.expect("the store works");
        if page.is_empty() {
            return found;
        }
        found.extend(page);
    }
}

/// No law is broken: every job folds to its row, every account is what its ledger adds up to, no row is astray.
pub(crate) async fn assert_lawful<S: Store>(store: &S) {
    for scanned in scan_all(store).await {
        let record = scanned.record.unwrap_or_else(|why| panic!("job {}: {why}", scanned.id));
        let lifecycle = CATALOG.lifecycle(&record.job.spec.lifecycle);
        let found = verify(&record, lifecycle.map(AsRef::as_ref));
        assert!(found.is_empty(), "{found:?}");
    }
    let mut after: Option<Name> = None;
    loop {
        let page = store.scan_accounts(after.clone(), 100).await.expect("the store works");
        let Some((last, ..)) = page.last() else { break };
        after = Some(last.clone());
        for (user, account, sums) in page {
            assert_eq!(verify_account(&user, account, &sums), []);
        }
    }
    assert_eq!(store.strays(10).await.expect("the store works"), Vec::<String>::new());
}

/// Waits until a question is answered with `Some`: for a thing, never for a while.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let mut ticks = tokio::time::interval(Duration::from_millis(2));
    let wait = async {
        loop {
            ticks.tick().await;
            if let Some(answer) = ask().await {
                return answer;
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| panic!("waited in vain until {what}"))
}

/// Numbers that look random and are the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    /// From a variable if it is set, so that a failure can be repeated; else new with each run.
    pub(crate) fn of_run() -> Self {
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

    /// One of these.
    pub(crate) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// One of these, or nothing.
    pub(crate) fn maybe<T: Clone>(&mut self, choices: &[T]) -> Option<T> {
        (self.below(2) == 0).then(|| self.pick(choices))
    }
}
