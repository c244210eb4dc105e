//! The same commands in the same order on every store: the same answers, the same jobs, the same histories. The store
//! in memory is the reference. Only times differ, and the ids of compensations, which are made of the time.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use tenure_core::api_key::Role;
use tenure_core::asset::{AssetId, NewAsset};
use tenure_core::command::{AppendLog, Asked, Cancel, Command, Create, Hold, NewKey, Retry, Verb, When};
use tenure_core::dead_letter::ReasonCode;
use tenure_core::decide::{Answer, Done, decide_batch};
use tenure_core::event::Event;
use tenure_core::id::JobId;
use tenure_core::job::{CancelMode, Class, Job};
use tenure_core::job_type::{Catalog, JobType};
use tenure_core::json::Json;
use tenure_core::lifecycle::{Backoff, Jitter, Policy, Timeout};
use tenure_core::order::{Order, OrderKind};
use tenure_core::query::DeadLetterFilter;
use tenure_core::schedule::ScheduleChange;
use tenure_core::time::{Millis, Timestamp};
use tenure_core::working_set::Reads;
use tenure_store::{MemoryStore, Store};

use crate::beds;
use crate::conformance::{a_job_with, add_schedule, fire, journal, new_asset, page, upload};
use crate::fixture::*;

const TYPES: [&str; 8] = ["eager", "so1", "pattern", "paid", "image", "engine", "saga", "brief"];
const WORKERS: [&str; 3] = ["w1", "w2", "w3"];
const USERS: [&str; 2] = ["ann", "bob"];
const KEYS: [&str; 4] = ["a", "b", "c", "d"];
const BATCHES: usize = 250;

/// The catalog of all tests, with waits that end at once or not before the test does: a clock that runs out between
/// two stores' turns would make them differ, and rightly.
static PATIENT: LazyLock<Arc<Catalog>> = LazyLock::new(|| {
    let mut catalog = Catalog::clone(&CATALOG);
    for job_type in CATALOG.types() {
        let lifecycle =
            CATALOG.lifecycle(&job_type.lifecycle).expect("a type follows a lifecycle that is there");
        let waits = lifecycle.states.iter().filter(|state| matches!(state.timeout, Timeout::After(_)));
        let backoff = match job_type.policy.backoff {
            at_once @ Backoff { base: Millis(0), .. } => at_once,
            _ => Backoff { base: HOUR, factor: 1.0, max: HOUR, jitter: Jitter::None },
        };
        let policy = Policy { lease: HOUR, heartbeat: HOUR, cancel_grace: HOUR, backoff, ..job_type.policy };
        let timeouts = waits.map(|state| (state.name.clone(), HOUR)).collect();
        let patient = JobType { policy, timeouts, ..JobType::clone(job_type) };
        catalog.add_type(patient).expect("only times are changed");
    }
    Arc::new(catalog)
});
const HOUR: Millis = Millis(3_600_000);

/// What is asked, by places in what came before rather than by ids.
#[derive(Clone, Debug)]
enum Move {
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
}

fn a_move(chance: &mut Chance) -> Move {
    let place = chance.below(1000);
    match chance.below(20) {
        0..=4 => Move::Create(Box::new(Create {
            user_id: chance.maybe(&USERS).map(Into::into),
            queue: chance.maybe(&["q1", "q2"]).map(Into::into),
            priority: chance.maybe(&[-1, 0, 5]),
            max_attempts: chance.maybe(&[1, 2]),
            payload: Json::of(&place),
            key: if chance.below(4) == 0 {
                key(chance.pick(&["k1", "k2", "k3"]), 1)
            } else {
                a_job("so1").key
            },
            ..a_job(chance.pick(&TYPES))
        })),
        5..=8 => {
            let types = (0..4).map(|_| {
                chance.pick(&["eager", "so1", "pattern", "paid", "image", "engine", "saga", "undo", "brief"])
            });
            let types = types.collect();
            Move::Claim(chance.pick(&WORKERS), types, 1 + chance.below(3) as u32)
        }
        9..=12 => Move::Report(place, a_verb(chance)),
        13 => Move::Heartbeat(place),
        14 => Move::Progress(place, chance.below(101) as f64),
        15 => match chance.below(2) {
            0 => Move::Log(place),
            _ => Move::AddAsset(place, AssetId(an_id().0)),
        },
        16 => match chance.below(4) {
            0 => Move::Cancel(place, CancelMode::Soft),
            1 => Move::Cancel(place, CancelMode::Hard),
            2 => Move::DeadLetter(place),
            _ => Move::Dismiss(place),
        },
        17 => Move::Retry(place, an_id()),
        18 => Move::Grant(chance.pick(&USERS), chance.below(8) as u64),
        _ => match chance.below(14) {
            8 | 9 => Move::AddSchedule(chance.pick(&KEYS), chance.pick(&["so1", "nothing", "paid"])),
            10 => Move::PauseSchedule(chance.pick(&KEYS)),
            11 => Move::RemoveSchedule(chance.pick(&KEYS)),
            12 | 13 => Move::Fire(chance.pick(&KEYS), an_id()),
            3 => Move::Seen((0..3).map(|_| chance.pick(&WORKERS)).collect()),
            4..=6 => Move::AddKey(chance.pick(&KEYS), chance.pick(&Role::ALL), chance.below(2) as u8),
            7 => Move::RevokeKey(chance.pick(&KEYS)),
            0 => Move::Pause(chance.pick(&["q1", "q2"]), chance.below(2) == 0),
            1 => Move::Purge(place),
            _ => Move::Prune,
        },
    }
}

fn a_verb(chance: &mut Chance) -> Verb {
    let error = |class| tenure_core::job::JobError {
        class,
        ..tenure_core::job::JobError::own("BROKEN", "it broke", tenure_core::job::Category::Engine)
    };
    match chance.below(8) {
        0 | 1 => Verb::Fail { error: error(Class::Transient), retry_after: None },
        2 => Verb::Fail { error: error(Class::Permanent), retry_after: None },
        3 => Verb::Partial { result: None, error: None },
        4 => Verb::Reject { reason: "no".to_owned() },
        5 => Verb::Release { checkpoint: Some(Json::of(&1)), delay: None },
        6 => Verb::CancelConfirm { checkpoint: None, result: None },
        _ => Verb::Succeed { result: Some(Json::of(&"made")), error: None },
    }
}

/// A store, and what was made and held in it, in order.
struct World<S: Store> {
    store: S,
    jobs: Vec<JobId>,
    held: Vec<Hold>,
}

impl<S: Store> World<S> {
    fn new(store: S) -> Self {
        Self { store, jobs: Vec::new(), held: Vec::new() }
    }

    /// The move in this store's own ids; `None` while there is nothing to make it on.
    fn asked(&self, wanted: &Move) -> Option<Asked> {
        let job = |place: usize| self.jobs.get(place % self.jobs.len().max(1)).copied();
        let hold = |place: usize| self.held.get(place % self.held.len().max(1)).cloned();
        Some(match wanted.clone() {
            Move::Create(creation) => create(*creation),
            Move::Claim(worker, types, max) => claim(worker, of_types(&types), max),
            Move::Report(place, verb) => report(&hold(place)?, verb),
            Move::Heartbeat(place) => by("worker", Command::Heartbeat(hold(place)?)),
            Move::Progress(place, percent) => by("worker", Command::Progress(hold(place)?, percent, None)),
            Move::Log(place) => {
                let lines = vec![("stdout".into(), "info".into(), format!("line {place}"))];
                by("user:ann", Command::Log(AppendLog { job: job(place)?, holder: None, lines }))
            }
            Move::AddAsset(place, id) => {
                let new = NewAsset { id, ..new_asset(job(place)?, Some(&id.to_string())) };
                by("user:ann", Command::AddAsset(Box::new(new)))
            }
            Move::Cancel(place, mode) => {
                by("user:ann", Command::Cancel(Cancel { job: job(place)?, mode, reason: None }))
            }
            Move::DeadLetter(place) => by(
                "operator:ann",
                Command::DeadLetter(job(place)?, ReasonCode::PolicyViolation, "enough".to_owned()),
            ),
            Move::Dismiss(place) => by("operator:ann", Command::Dismiss(job(place)?, "seen".to_owned())),
            Move::Retry(place, id) => {
                by("user:ann", Command::Retry(Retry { job: job(place)?, id, when: When::Now }))
            }
            Move::Purge(place) => by("clock", Command::Purge(job(place)?)),
            Move::Pause(queue, paused) => by("operator:ann", Command::Pause(queue.into(), paused)),
            Move::Grant(user, amount) => grant(user, amount),
            Move::Prune => by("clock", Command::Prune),
            Move::Seen(workers) => {
                let heard = workers.into_iter().map(|name| (name.into(), None)).collect();
                by("node", Command::Seen(heard))
            }
            Move::AddKey(id, role, digest) => {
                let new = NewKey { id: id.into(), role, user_id: Some("ann".into()), digest: [digest; 32] };
                by("admin:ann", Command::AddKey(Box::new(new)))
            }
            Move::RevokeKey(id) => by("admin:ann", Command::RevokeKey(id.into())),
            Move::AddSchedule(id, job_type) => add_schedule(id, job_type, Timestamp(1)),
            Move::PauseSchedule(id) => {
                by("operator:ann", Command::ChangeSchedule(id.into(), ScheduleChange::Pause))
            }
            Move::RemoveSchedule(id) => {
                by("operator:ann", Command::ChangeSchedule(id.into(), ScheduleChange::Remove))
            }
            // Twice at most: the first time is read as it was made, the second as the first left it.
            Move::Fire(id, job) => fire(id, (Timestamp(1), Timestamp(2)), a_job_with(job, "paid")),
        })
    }

    /// Makes the moves in one batch, and says what came of each.
    async fn make(&mut self, moves: &[Move]) -> Vec<String> {
        let mut asked: Vec<_> = moves.iter().filter_map(|wanted| self.asked(wanted)).collect();
        // An object is promised in the batch that takes it back: no promise can run out meanwhile.
        let new = asked.iter().filter_map(|asked| match &asked.command {
            Command::AddAsset(new) => Some(upload(new.job, new.storage_path.as_deref()?, false)),
            _ => None,
        });
        asked.splice(0..0, new.collect::<Vec<_>>());
        let judged = self
            .store
            .transact(Reads::of(&asked), move |set, now| decide_batch(set, &PATIENT, &asked, now))
            .await;
        let answers = judged.expect("the store works");
        for done in answers.iter().flatten() {
            match done {
                Done::Job { job, .. } if !self.jobs.contains(&job.id()) => self.jobs.push(job.id()),
                Done::Claimed { jobs, .. } => self.held.extend(jobs.iter().map(|job| hold(job))),
                _ => {}
            }
        }
        answers.iter().map(said).collect()
    }

    /// Everything there is, without its times.
    async fn told(&self) -> String {
        let mut text = String::new();
        let mut records: Vec<_> =
            scan_all(&self.store).await.into_iter().map(|it| it.record.unwrap()).collect();
        records.sort_by_key(|record| shown(record.job.id()));
        for record in records {
            writeln!(text, "{}", standing(&record.job)).unwrap();
            for event in &record.events {
                writeln!(text, "    {}", line(event)).unwrap();
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
        writeln!(text, "{}", self.watched().await).unwrap();
        writeln!(text, "{trail:?}\n{letters} letters\n{counts:?}\n{paused:?}").unwrap();
        text
    }

    /// What is watched, without its times.
    async fn watched(&self) -> String {
        let store = &self.store;
        let gauges = store.gauges().await.unwrap();
        let shown = |jobs: Vec<Arc<Job>>| {
            let mut shown: Vec<_> = jobs.iter().map(standing).collect();
            shown.sort();
            shown.join("\n")
        };
        let leased = shown(store.leased(1000).await.unwrap());
        let finished = shown(store.finished(Timestamp(0), 1000).await.unwrap());
        let workers: Vec<_> = store.workers().await.unwrap().into_iter().map(|worker| worker.name).collect();
        let keys = store.api_keys().await.unwrap();
        let keys: Vec<_> =
            keys.iter().map(|key| (&key.id, key.role, key.digest[0], key.revoked_at.is_some())).collect();
        let (jobs, letters) = (gauges.jobs, gauges.dead_letters);
        let orders = store.orders(OrderKind::Schedule).await.unwrap();
        let orders: Vec<_> = orders.iter().map(order).collect();
        let due = store.due_orders(OrderKind::Schedule, 100).await.unwrap();
        let due: Vec<_> = due.iter().map(|order| order.id().1).collect();
        format!("{jobs:?}\n{letters} open\n{leased}\n{finished}\n{workers:?}\n{keys:?}\n{orders:?}\n{due:?}")
    }
}

/// A schedule without the time in which it was made.
fn order(order: &Order) -> String {
    let Order::Schedule(it) = order else { return order.id().1.to_string() };
    let last = it.last_job.map(shown);
    format!("{} {:?} {:?} {:?} {last:?} {:?}", it.id, it.plan, it.next_at, it.last_at, it.last_error)
}

/// An id without the time in it.
fn shown(id: JobId) -> String {
    id.to_string().split_off(14)
}

fn said(answer: &Answer) -> String {
    match answer {
        Ok(Done::Job { job, replayed, ignored }) => {
            format!("{} replayed {replayed} ignored {ignored}", standing(job))
        }
        Ok(Done::Claimed { jobs, .. }) => jobs.iter().map(standing).collect::<Vec<_>>().join("\n"),
        Ok(Done::Beat { lease, cancel }) => format!("beat {} {cancel:?}", lease.fence),
        Ok(Done::Key { key, replayed }) => {
            format!("{} {:?} revoked {} replayed {replayed}", key.id, key.role, key.revoked_at.is_some())
        }
        Ok(Done::Asset { asset, replayed }) => {
            format!("{} of {} replayed {replayed}", shown(JobId(asset.id.0)), shown(asset.job_id))
        }
        Ok(Done::Order { order: told, replayed }) => format!("{} replayed {replayed}", order(told)),
        Ok(other) => format!("{other:?}"),
        Err(refusal) => {
            // Refusals name jobs by their ids.
            let words: Vec<_> =
                refusal.to_string().split(' ').map(|word| word.chars().rev().take(18).collect()).collect();
            let words: Vec<String> = words;
            words.join(" ")
        }
    }
}

fn standing(job: &Arc<Job>) -> String {
    let spec = &job.spec;
    let lease = job.lease.as_ref().map(|lease| (lease.fence, lease.worker.clone()));
    let last =
        job.last_lease.as_ref().map(|lease| (lease.fence, lease.worker.clone(), lease.end, lease.by.clone()));
    let entered: Vec<_> = job.times.entered.iter().map(|(state, _)| state).collect();
    let mut output = job.output.clone();
    output.progress =
        output.progress.map(|progress| Box::new(tenure_core::job::Progress { message: None, ..*progress }));
    let cancel = job.cancel.as_ref().map(|cancel| (cancel.mode, cancel.by.clone()));
    // A compensation carries the first job with all its times.
    let payload = if spec.links.compensates.is_some() { "" } else { spec.payload.as_str() };
    format!(
        "{} {} {} {:?} {} {} {payload} | {} {:?} seq {} attempt {} failed {} fence {} | {lease:?} {last:?} {entered:?} {output:?} {cancel:?}",
        shown(spec.id),
        spec.job_type,
        spec.queue,
        spec.user_id,
        spec.priority,
        spec.max_attempts,
        job.state,
        job.phase,
        job.seq,
        job.attempt,
        job.retry_count,
        job.fence,
    )
}

fn line(event: &Event) -> String {
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

/// No two batches share a millisecond, so that what is ordered by time is ordered alike everywhere.
async fn tick<S: Store>(store: &S) {
    let now = store.now().await.unwrap().at;
    until("the clock has moved", async || (store.now().await.unwrap().at > now).then_some(())).await;
}

async fn agrees_with_memory<S: Store>(store: S) {
    let mut chance = Chance::of_run();
    let mut reference = World::new(MemoryStore::new());
    let mut world = World::new(store);
    for batch in 0..BATCHES {
        let moves: Vec<_> = (0..=chance.below(6)).map(|_| a_move(&mut chance)).collect();
        tick(&reference.store).await;
        tick(&world.store).await;
        let expected = reference.make(&moves).await;
        assert_eq!(world.make(&moves).await, expected, "batch {batch}: {moves:?}");
    }
    assert!(reference.jobs.len() > 80 && reference.held.len() > 40);
    let (expected, told) = (reference.told().await, world.told().await);
    for (ours, theirs) in told.lines().zip(expected.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(told.lines().count(), expected.lines().count());
    assert_lawful(&reference.store).await;
    assert_lawful(&world.store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_does_what_memory_does() {
    let bed = beds::sqlite().await;
    agrees_with_memory(bed.store.clone()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_does_what_memory_does() {
    let bed = beds::postgres().await;
    agrees_with_memory(bed.store.clone()).await;
}
