//! Random commands in the same order on every store must give the same results, jobs and histories as on the reference,
//! the store in memory. Only times differ, and the ids of compensations, which contain the time.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use tenure_core::command::ResourceChange;
use tenure_core::event::Event;
use tenure_core::flow::{
    Declarations, LimitOverride, Limits, OnFailure, QueueFlow, Resource, ResourceUse, Sequence, SequenceId,
    Share, TypeFlow,
};
use tenure_core::id::TypeName;
use tenure_core::job::Progress;
use tenure_core::lifecycle::Timeout;
use tenure_store::{ResourceFilter, SequenceFilter};

use crate::conformance::{
    a_job_with, add_schedule, cancel, change_schedule, fire, journal, new_asset, page, upload,
};
use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

const TYPES: [&str; 8] = ["eager", "so1", "pattern", "paid", "image", "engine", "saga", "brief"];
const WORKERS: [&str; 3] = ["w1", "w2", "w3"];
const USERS: [&str; 2] = ["ann", "bob"];
const KEYS: [&str; 4] = ["a", "b", "c", "d"];
const BATCHES: usize = 250;

/// The catalog with waits of zero or an hour: a deadline that passes between the turns of two stores would make them
/// differ.
static SLOW_CATALOG: LazyLock<Arc<Catalog>> = LazyLock::new(|| {
    let mut catalog = Catalog::clone(&CATALOG);
    for job_type in CATALOG.types() {
        let lifecycle = CATALOG.lifecycle(&job_type.lifecycle).expect("the lifecycle of a type is known");
        let waits = lifecycle.states.iter().filter(|state| matches!(state.timeout, Timeout::After(_)));
        let backoff = match job_type.policy.backoff {
            zero @ Backoff { base: Millis(0), .. } => zero,
            _ => Backoff { base: HOUR, factor: 1.0, max: HOUR, jitter: Jitter::None },
        };
        let policy = Policy { lease: HOUR, heartbeat: HOUR, cancel_grace: HOUR, backoff, ..job_type.policy };
        let timeouts = waits.map(|state| (state.name.clone(), HOUR)).collect();
        let slow = JobType { policy, timeouts, ..JobType::clone(job_type) };
        catalog.add_type(slow).expect("only times are changed");
    }
    Arc::new(catalog)
});
const HOUR: Millis = Millis(3_600_000);

/// A command that refers to jobs and leases by index, because ids differ between stores.
#[derive(Clone, Debug)]
enum RandomCommand {
    Create(Box<Create>),
    Claim(&'static str, Vec<&'static str>, u32),
    Report(usize, Verb),
    Heartbeat(usize),
    Progress(usize, f64),
    Log(usize),
    AddAsset(usize, AssetId),
    Cancel(usize, CancelMode),
    DeadLetter(usize),
    Dismiss(usize),
    Retry(usize, JobId),
    Amend(usize, i32),
    Purge(usize),
    Pause(&'static str, bool),
    Grant(&'static str, u64),
    Prune,
    Seen(Vec<&'static str>),
    AddKey(&'static str, Role, u8),
    RevokeKey(&'static str),
    AddSchedule(&'static str, &'static str),
    PauseSchedule(&'static str),
    RemoveSchedule(&'static str),
    Fire(&'static str, JobId),
    /// Declares flow control.
    Declare,
    ChangeResource(ResourceChange),
    ResumeSequence(&'static str),
}

/// Limits without times: a token that arrives between the turns of two stores would make them differ.
fn declarations() -> Declarations {
    let limits = Limits { running: Some(2), waiting: Some(30), ..Limits::default() };
    let sequence = |on_failure| TypeFlow {
        sequence: Some(Sequence { key: "payload.s".to_owned(), on_failure }),
        ..TypeFlow::default()
    };
    let share = Share { key: "user_id".to_owned(), weights: [("s0".into(), 2)].into(), default_weight: 1 };
    Declarations {
        resources: [("api".into(), Resource { key: Some("payload.k".to_owned()), limits })].into(),
        types: [
            ("eager".into(), sequence(OnFailure::Halt)),
            ("engine".into(), sequence(OnFailure::Continue)),
        ]
        .into(),
        queues: [("q1".into(), QueueFlow { share: Some(share), aging: None })].into(),
    }
}

/// Keys of some of the rules.
fn flow_keys(random: &mut Random) -> FlowKeys {
    let used = |key: &str| ResourceUse { resource: "api".into(), key: Some(key.into()), units: 1 };
    let resources = random.maybe(&["a", "b"]).filter(|_| random.below(3) == 0).map(used);
    let sequence = random.maybe(&["x", "y"]).filter(|_| random.below(3) == 0).map(Into::into);
    let share = random.maybe(&["s0", "s1"]).map(Into::into);
    FlowKeys { resources: resources.into_iter().collect(), sequence, share, ..FlowKeys::default() }
}

fn a_change(random: &mut Random) -> RandomCommand {
    let key = random.maybe(&["a", "b"]).map(Into::into);
    let limit = random.maybe(&[1, 3]);
    RandomCommand::ChangeResource(match random.below(5) {
        0 => ResourceChange::Set(LimitOverride { running: Some(limit), ..LimitOverride::default() }),
        1 => ResourceChange::Reset,
        2 => ResourceChange::Pause { key, span: None },
        _ => ResourceChange::Resume { key },
    })
}

fn a_command(random: &mut Random) -> RandomCommand {
    let place = random.below(1000);
    match random.below(20) {
        0..=4 => RandomCommand::Create(Box::new(Create {
            user_id: random.maybe(&USERS).map(Into::into),
            queue: random.maybe(&["q1", "q2"]).map(Into::into),
            priority: random.maybe(&[-1, 0, 5]),
            max_attempts: random.maybe(&[1, 2]),
            payload: Json::of(&place),
            key: if random.below(4) == 0 {
                key(random.pick(&["k1", "k2", "k3"]), 1)
            } else {
                a_job("so1").key
            },
            ..match random.below(6) {
                0 => keyed("latest", random.pick(&["k0", "k1"])),
                1 => keyed("single", random.pick(&["k0", "k1"])),
                _ => Create { flow: flow_keys(random), ..a_job(random.pick(&TYPES)) },
            }
        })),
        5..=8 => {
            let types = (0..4).map(|_| {
                random.pick(&["eager", "so1", "pattern", "paid", "image", "engine", "saga", "undo", "brief"])
            });
            let types = types.collect();
            RandomCommand::Claim(random.pick(&WORKERS), types, 1 + random.below(3) as u32)
        }
        9..=12 => RandomCommand::Report(place, a_report(random)),
        13 => RandomCommand::Heartbeat(place),
        14 => RandomCommand::Progress(place, random.below(101) as f64),
        15 => match random.below(2) {
            0 => RandomCommand::Log(place),
            _ => RandomCommand::AddAsset(place, AssetId(an_id().0)),
        },
        16 => match random.below(4) {
            0 => RandomCommand::Cancel(place, CancelMode::Soft),
            1 => RandomCommand::Cancel(place, CancelMode::Hard),
            2 => RandomCommand::DeadLetter(place),
            _ => RandomCommand::Dismiss(place),
        },
        17 if random.below(2) == 0 => RandomCommand::Amend(place, random.below(5) as i32),
        17 => RandomCommand::Retry(place, an_id()),
        18 => RandomCommand::Grant(random.pick(&USERS), random.below(8) as u64),
        _ => match random.below(18) {
            14 | 15 => a_change(random),
            16 | 17 => RandomCommand::ResumeSequence(random.pick(&["x", "y"])),
            8 | 9 => RandomCommand::AddSchedule(random.pick(&KEYS), random.pick(&["so1", "nothing", "paid"])),
            10 => RandomCommand::PauseSchedule(random.pick(&KEYS)),
            11 => RandomCommand::RemoveSchedule(random.pick(&KEYS)),
            12 | 13 => RandomCommand::Fire(random.pick(&KEYS), an_id()),
            3 => RandomCommand::Seen((0..3).map(|_| random.pick(&WORKERS)).collect()),
            4..=6 => {
                RandomCommand::AddKey(random.pick(&KEYS), random.pick(&Role::ALL), random.below(2) as u8)
            }
            7 => RandomCommand::RevokeKey(random.pick(&KEYS)),
            0 => RandomCommand::Pause(random.pick(&["q1", "q2"]), random.below(2) == 0),
            1 => RandomCommand::Purge(place),
            _ => RandomCommand::Prune,
        },
    }
}

fn a_report(random: &mut Random) -> Verb {
    let error = |class| JobError { class, ..JobError::own("BROKEN", "it broke", Category::Engine) };
    match random.below(8) {
        0 | 1 => Verb::Fail { error: error(Class::Transient), retry_after: None, pause: None },
        2 => Verb::Fail { error: error(Class::Permanent), retry_after: None, pause: None },
        3 => Verb::Partial { result: None, error: None },
        4 => Verb::Reject { reason: "no".to_owned() },
        5 => Verb::Release { checkpoint: Some(Json::of(&1)), delay: None, pause: None },
        6 => Verb::CancelConfirm { checkpoint: None, result: None },
        _ => Verb::Succeed { result: Some(Json::of(&"made")), error: None },
    }
}

/// A store with its jobs and leases in order.
struct Replica {
    store: Store,
    jobs: Vec<JobId>,
    types: HashMap<JobId, TypeName>,
    held: Vec<Hold>,
}

impl Replica {
    fn new(store: Store) -> Self {
        Self { store, jobs: Vec::new(), types: HashMap::new(), held: Vec::new() }
    }

    /// The command with the ids of this store; `None` if there is no job or lease yet.
    fn envelope(&self, wanted: &RandomCommand) -> Option<CommandEnvelope> {
        let job = |place: usize| self.jobs.get(place % self.jobs.len().max(1)).copied();
        let hold = |place: usize| self.held.get(place % self.held.len().max(1)).cloned();
        Some(match wanted.clone() {
            RandomCommand::Create(creation) => create(*creation),
            RandomCommand::Claim(worker, types, max) => claim(worker, of_types(&types), max),
            RandomCommand::Report(place, verb) => report(&hold(place)?, verb),
            RandomCommand::Heartbeat(place) => heartbeat(&hold(place)?),
            RandomCommand::Progress(place, percent) => {
                by("worker", Command::Progress { hold: hold(place)?, percent, message: None })
            }
            RandomCommand::Log(place) => append_log(job(place)?, None, &[&format!("line {place}")]),
            RandomCommand::AddAsset(place, id) => {
                let new = NewAsset { id, ..new_asset(job(place)?, Some(&id.to_string())) };
                by("user:ann", Command::AddAsset(Box::new(new)))
            }
            RandomCommand::Cancel(place, mode) => cancel(job(place)?, mode),
            RandomCommand::DeadLetter(place) => dead_letter(job(place)?, ReasonCode::PolicyViolation),
            RandomCommand::Dismiss(place) => dismiss(job(place)?),
            RandomCommand::Amend(place, value) => self.amendment(job(place)?, value),
            RandomCommand::Retry(place, id) => {
                by("user:ann", Command::Retry(Retry { job: job(place)?, id, when: When::Now }))
            }
            RandomCommand::Purge(place) => by("clock", Command::Purge(job(place)?)),
            RandomCommand::Pause(queue, paused) => pause_queue(queue, paused),
            RandomCommand::Grant(user, amount) => grant(user, amount),
            RandomCommand::Prune => by("clock", Command::Prune),
            RandomCommand::Seen(workers) => {
                let workers: Vec<_> = workers.into_iter().map(|worker| (worker, None)).collect();
                seen(&workers)
            }
            RandomCommand::AddKey(id, role, digest) => {
                let new = NewKey::new(id, role, Some("ann".into()), [digest; 32]);
                by("admin:ann", Command::AddKey(Box::new(new)))
            }
            RandomCommand::RevokeKey(id) => by("admin:ann", Command::RevokeKey(id.into())),
            RandomCommand::AddSchedule(id, job_type) => add_schedule(id, job_type, Timestamp(1)),
            RandomCommand::PauseSchedule(id) => change_schedule(id, ScheduleChange::Pause),
            RandomCommand::RemoveSchedule(id) => change_schedule(id, ScheduleChange::Remove),
            RandomCommand::Declare => by("runtime", Command::DeclareFlow(Arc::new(declarations()))),
            RandomCommand::ChangeResource(change) => {
                by("operator:ann", Command::ChangeResource { resource: "api".into(), change })
            }
            RandomCommand::ResumeSequence(key) => {
                let id = SequenceId { job_type: "eager".into(), key: key.into() };
                by("operator:ann", Command::ResumeSequence(id))
            }
            // Fires at most twice.
            RandomCommand::Fire(id, job) => fire(id, Timestamp(1), Timestamp(2), a_job_with(job, "paid")),
        })
    }

    fn amendment(&self, job: JobId, value: i32) -> CommandEnvelope {
        let flow = FlowKeys { unique: Some(format!("k{}", value % 2).into()), ..FlowKeys::default() };
        let amend = Amend {
            job,
            job_type: self.types[&job].clone(),
            payload: Some(Json::of(&value)),
            priority: Some(value),
            run_at: None,
            flow: Some(flow),
            if_seq: None,
        };
        by("operator:ann", Command::Amend(Box::new(amend)))
    }

    /// Submits the commands in one batch, and describes each result.
    async fn submit(&mut self, commands: &[RandomCommand]) -> Vec<String> {
        let mut batch: Vec<_> = commands.iter().filter_map(|wanted| self.envelope(wanted)).collect();
        // An object is announced in the batch that adds its asset, so the announcement cannot expire.
        let uploads = batch.iter().filter_map(|envelope| match &envelope.command {
            Command::AddAsset(new) => Some(upload(new.job, new.storage_path.as_deref()?, false)),
            _ => None,
        });
        let uploads: Vec<_> = uploads.collect();
        batch.splice(0..0, uploads);
        let reads = Reads::of(&batch);
        let decide = move |set: &mut _, now| decide_batch(set, &SLOW_CATALOG, &batch, now);
        let results = self.store.transact(reads, decide).await.expect("the store works");
        for output in results.iter().flatten() {
            match output {
                CommandOutput::Job { job, .. } if !self.jobs.contains(&job.id()) => {
                    self.jobs.push(job.id());
                    self.types.insert(job.id(), job.spec.job_type.clone());
                }
                CommandOutput::Claimed { jobs, .. } => self.held.extend(jobs.iter().map(|job| hold(job))),
                _ => {}
            }
        }
        results.iter().map(described).collect()
    }

    /// Everything in the store, without times.
    async fn contents(&self) -> String {
        let mut text = String::new();
        let mut records: Vec<_> =
            scan_all(&self.store).await.into_iter().map(|it| it.record.unwrap()).collect();
        records.sort_by_key(|record| shown(record.job.id()));
        for record in records {
            writeln!(text, "{}", job_line(&record.job)).unwrap();
            for event in &record.events {
                writeln!(text, "    {}", event_line(event)).unwrap();
            }
            let letter = record
                .dead_letter
                .map(|it| (it.reason_code, it.attempts, it.last_owner, it.dismissed.is_some()));
            writeln!(text, "    {letter:?} {:?} ledger {}", record.logs, record.ledger.len()).unwrap();
            for asset in self.store.assets(record.job.id(), None, 1000).await.unwrap() {
                let (path, discarded) = (asset.storage_path, asset.discarded_at.is_some());
                writeln!(text, "    {} {path:?} {discarded}", shown(JobId(asset.id.0))).unwrap();
            }
        }
        for line in journal(&self.store, 100).await {
            writeln!(text, "{} {:?} {}", shown(line.event.job_id), line.event.seq, line.queue).unwrap();
        }
        for user in USERS {
            let lines = self.store.ledger(user.into(), 0, 10_000).await.unwrap();
            let lines: Vec<_> = lines.iter().map(|(_, line)| (line.kind, line.amount)).collect();
            writeln!(text, "{user}: {:?} {lines:?}", self.store.account(user.into()).await.unwrap()).unwrap();
        }
        let trail = self.store.audit(0, 10_000).await.unwrap();
        let trail: Vec<_> = trail.iter().map(|(_, line)| (&line.action, line.job_id.map(shown))).collect();
        let letters = self.store.dead_letters(DeadLetterFilter::default(), page(1000)).await.unwrap().len();
        let (counts, paused) = (self.store.counts().await.unwrap(), self.store.paused().await.unwrap());
        writeln!(text, "{}", self.observed().await).unwrap();
        writeln!(text, "{trail:?}\n{letters} letters\n{counts:?}\n{paused:?}").unwrap();
        text
    }

    /// What dashboards read, without times.
    async fn observed(&self) -> String {
        let store = &self.store;
        let gauges = store.gauges().await.unwrap();
        let shown = |jobs: Vec<Arc<Job>>| {
            let mut shown: Vec<_> = jobs.iter().map(job_line).collect();
            shown.sort();
            shown.join("\n")
        };
        let leased = shown(store.leased(None, None, 1000).await.unwrap());
        let finished = shown(store.finished(Timestamp(0), 1000).await.unwrap());
        let workers: Vec<_> = store.workers().await.unwrap().into_iter().map(|worker| worker.name).collect();
        let keys = store.api_keys().await.unwrap();
        let keys: Vec<_> =
            keys.iter().map(|key| (&key.id, key.role, key.digest[0], key.revoked_at.is_some())).collect();
        let (jobs, letters) = (gauges.jobs, gauges.dead_letters);
        let schedules = store.automations(AutomationKind::Schedule).await.unwrap();
        let schedules: Vec<_> = schedules.iter().map(automation_line).collect();
        let due = store.due_automations(AutomationKind::Schedule, 100).await.unwrap();
        let due: Vec<_> = due.iter().map(|automation| automation.id().1).collect();
        let filter = ResourceFilter { limit: 9, ..ResourceFilter::default() };
        let buckets: Vec<_> =
            store.resources(filter).await.unwrap().into_iter().flat_map(|it| it.buckets).collect();
        let buckets: Vec<_> =
            buckets.iter().map(|it| (&it.key, it.running, it.waiting, it.paused.is_some())).collect();
        let sequences = store
            .sequences(SequenceFilter { id: None, halted: false, after: None, limit: 99 })
            .await
            .unwrap();
        let sequences: Vec<_> =
            sequences.iter().map(|it| (it.id.to_string(), it.waiting, it.halted.is_some())).collect();
        format!(
            "{buckets:?}\n{sequences:?}\n{jobs:?}\n{letters} open\n{leased}\n{finished}\n{workers:?}\n{keys:?}\n{schedules:?}\n{due:?}"
        )
    }
}

/// A schedule without the time of its creation.
fn automation_line(automation: &Automation) -> String {
    let Automation::Schedule(it) = automation else { return automation.id().1.to_string() };
    let last = it.last_job.map(shown);
    format!("{} {:?} {:?} {:?} {last:?} {:?}", it.id, it.plan, it.next_at, it.last_at, it.last_error)
}

/// An id without its time.
fn shown(id: JobId) -> String {
    id.to_string().split_off(14)
}

fn described(result: &CommandResult) -> String {
    match result {
        Ok(CommandOutput::Job { job, replayed, ignored }) => {
            format!("{} replayed {replayed} ignored {ignored}", job_line(job))
        }
        Ok(CommandOutput::Amended(job)) => format!("{} amended", job_line(job)),
        Ok(CommandOutput::Claimed { jobs, .. }) => jobs.iter().map(job_line).collect::<Vec<_>>().join("\n"),
        Ok(CommandOutput::Heartbeat { lease, cancel }) => format!("heartbeat {} {cancel:?}", lease.fence),
        Ok(CommandOutput::Key { key, replayed }) => {
            format!("{} {:?} revoked {} replayed {replayed}", key.id, key.role, key.revoked_at.is_some())
        }
        Ok(CommandOutput::Asset { asset, replayed }) => {
            format!("{} of {} replayed {replayed}", shown(JobId(asset.id.0)), shown(asset.job_id))
        }
        Ok(CommandOutput::Automation { automation, replayed }) => {
            format!("{} replayed {replayed}", automation_line(automation))
        }
        Ok(other) => format!("{other:?}"),
        Err(refusal) => {
            // Refusals contain job ids, whose beginnings differ.
            let text = refusal.to_string();
            let words = text.split(' ').map(|word| word.chars().rev().take(18).collect());
            words.collect::<Vec<String>>().join(" ")
        }
    }
}

fn job_line(job: &Arc<Job>) -> String {
    let spec = &job.spec;
    let lease = job.lease.as_ref().map(|lease| (lease.fence, lease.worker.clone()));
    let last =
        job.last_lease.as_ref().map(|lease| (lease.fence, lease.worker.clone(), lease.end, lease.by.clone()));
    let entered: Vec<_> = job.times.entered.iter().map(|(state, _)| state).collect();
    let mut output = job.output.clone();
    output.progress = output.progress.map(|progress| Box::new(Progress { message: None, ..*progress }));
    let cancel = job.cancel.as_ref().map(|cancel| (cancel.mode, cancel.by.clone()));
    // The payload of a compensation contains the times of the first job.
    let payload = if spec.links.compensates.is_some() { "" } else { job.payload().as_str() };
    format!(
        "{} {} {} {:?} {} {} {payload} | {} {:?} seq {} attempt {} failed {} fence {} | {lease:?} {last:?} {entered:?} {output:?} {cancel:?} {:?}",
        shown(spec.id),
        spec.job_type,
        spec.queue,
        spec.user_id,
        job.priority(),
        spec.max_attempts,
        job.state,
        job.phase,
        job.seq,
        job.attempt,
        job.retry_count,
        job.fence,
        // The places of jobs differ, and their order does not.
        FlowKeys { place: 0, ..job.flow().clone() },
    )
}

fn event_line(event: &Event) -> String {
    let facts = &event.facts;
    let note = facts.note.is_some();
    format!(
        "{:?} {} {} {:?} {} {} {} {:?} {:?} {:?} {:?} {note}",
        event.seq,
        event.name,
        event.trigger,
        event.from,
        event.to,
        event.attempt,
        event.actor,
        event.cause,
        facts.error,
        facts.result,
        facts.checkpoint,
    )
}

/// Waits for the next millisecond, so that the order by time is the same in all stores.
async fn tick(store: &Store) {
    let now = store.now().await.unwrap().at;
    clock_after(store, now).await;
}

/// Runs random batches on a store and in memory. `next` may return another node for the next batch.
async fn check_against_memory(store: Store, mut next: impl AsyncFnMut(&mut Random) -> Option<Store>) {
    let mut random = Random::from_env();
    let mut nodes = Random(random.next());
    let mut reference = Replica::new(MemoryStore::new().into());
    let mut replica = Replica::new(store);
    for replica in [&mut reference, &mut replica] {
        replica.submit(&[RandomCommand::Declare]).await;
    }
    for batch in 0..BATCHES {
        let commands: Vec<_> = (0..=random.below(6)).map(|_| a_command(&mut random)).collect();
        if let Some(node) = next(&mut nodes).await {
            replica.store = node;
            assert_eq!(replica.observed().await, reference.observed().await, "before batch {batch}");
        }
        tick(&reference.store).await;
        tick(&replica.store).await;
        let expected = reference.submit(&commands).await;
        assert_eq!(replica.submit(&commands).await, expected, "batch {batch}: {commands:?}");
    }
    assert!(reference.jobs.len() > 80 && reference.held.len() > 40);
    let (expected, found) = (reference.contents().await, replica.contents().await);
    for (ours, theirs) in found.lines().zip(expected.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
    assert_lawful(&reference.store).await;
    assert_lawful(&replica.store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_behaves_like_memory() {
    let stores = stores::sqlite().await;
    check_against_memory(stores.store.clone(), async |_| None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_behaves_like_memory() {
    let stores = stores::postgres().await;
    check_against_memory(stores.store.clone(), async |_| None).await;
}

/// Two nodes take turns, new ones start from the rows and the journal, and rows are saved now and then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changing_nodes_of_postgres_behave_like_memory() {
    let url = stores::a_database().await;
    let nodes = [stores::connect(&url).await, stores::connect(&url).await];
    let mut n = 0;
    check_against_memory(nodes[0].clone(), async |random| {
        if random.below(5) == 0 {
            assert!(
                list_all(&nodes[n % 2], JobFilter::default(), 500).await.len() < 10_000,
                "saves every row"
            );
        }
        n += 1;
        match random.below(8) {
            0 => Some(stores::connect(&url).await),
            _ => Some(nodes[n % 2].clone()),
        }
    })
    .await;
}
