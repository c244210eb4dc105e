//! The runtime: Tenure without a network interface, used by the server, the simulator and embedding programs.
//!
//! In reading order: [`Runtime`] (the interface), `batcher` (many callers, one batch), `apply` (one batch, from commands to
//! answers), `waiting` and `journal` (woken by a commit), `sweeper`, `schedules` and `retention` (time).

mod admission;
mod apply;
mod audit;
mod background;
mod batcher;
mod catalog;
mod clock;
mod command_queue;
pub mod cron;
mod erasure;
mod failure;
mod flow;
pub mod guard;
mod intake;
mod job_watch;
mod journal;
mod observe;
mod options;
mod prelude;
mod rate_limit;
mod register;
mod retention;
pub mod schedules;
pub mod schema;
mod sweeper;
mod verify;
mod waiting;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use admission::{Amendment, NewJob};
pub use catalog::{Definitions, TypeDefinition, UniqueDefinition};
pub use erasure::ErasureProgress;
pub use failure::{Failure, StartError};
pub use intake::IntakeAge;
pub use job_watch::Watch;
pub use journal::Follower;
pub use observe::{Committed, EndedAttempt, Failed, Transition};
pub use options::{EXIT_PANIC, EXIT_UNKNOWN_OUTCOME, Options};
pub use verify::{Verified, verify};

use admission::Ids;
use background::{
    apply_batches, ending_on_panic, keep_alive, keep_auditing, keep_listening, keep_polling, keep_pruning,
    keep_sweeping,
};
use batcher::CommandQueue;
use catalog::ActiveDefinitions;
use clock::Estimate;
use flow::CompiledFlow;
use job_watch::JobWatchers;
use journal::Journal;
use rate_limit::RateLimit;
use waiting::WaitingClaims;

use crate::prelude::*;

/// The shortest pause between two reads for waiting claims.
const POLL_PAUSE_MIN: Duration = Duration::from_millis(10);

/// How long a batch may delay the next one.
const BATCH_PATIENCE: Duration = Duration::from_secs(5);

/// Slow batches of a batch worker that are in flight besides the current one.
const SLOW_BATCHES_MAX: usize = 16;

/// The answer to a command, or why it was not decided.
pub(crate) type Answer = Result<CommandResult, Failure>;

/// A running Tenure. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Runtime {
    inner: Arc<Inner>,
    tasks: Arc<tokio::sync::Mutex<JoinSet<()>>>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    store: Store,
    options: Options,
    definitions: RwLock<Arc<Definitions>>,
    active: RwLock<Arc<ActiveDefinitions>>,
    flow: RwLock<Arc<CompiledFlow>>,
    /// Held while definitions are made active, so that older ones cannot replace newer ones.
    activating: tokio::sync::Mutex<()>,
    queue: CommandQueue,
    journal: Journal,
    waiting: WaitingClaims,
    job_watch: Arc<JobWatchers>,
    clock: Estimate,
    rate_limit: RateLimit,
    ids: Ids,
    credits_imbalance: AtomicU64,
    /// When lifecycles were last reloaded because a job follows one that is not active.
    reloaded_at: Mutex<Option<Instant>>,
    stopping: watch::Sender<bool>,
    intake_ages: Vec<Arc<IntakeAge>>,
}

impl Runtime {
    /// Registers the definitions and starts the background tasks.
    pub async fn start(
        store: impl Into<Store>,
        definitions: Definitions,
        options: Options,
    ) -> Result<Self, StartError> {
        let store = store.into();
        let stopping = watch::Sender::new(false);
        let (queue, receiver) = batcher::queue(&options, stopping.subscribe());
        let active = ActiveDefinitions::compile(&definitions, Vec::new()).map_err(StartError::Definition)?;
        let flow = CompiledFlow::compile(&definitions.flow).map_err(StartError::Definition)?;
        let inner = Arc::new(Inner {
            flow: RwLock::new(Arc::new(flow)),
            clock: Estimate::new(store.now().await?),
            active: RwLock::new(Arc::new(active)),
            journal: Journal::default(),
            waiting: WaitingClaims::default(),
            job_watch: Arc::default(),
            ids: Ids::default(),
            rate_limit: RateLimit::new(options.creations_per_second),
            credits_imbalance: AtomicU64::new(0),
            reloaded_at: Mutex::new(None),
            stopping,
            intake_ages: intake::ages(&options.outboxes),
            store,
            options,
            definitions: RwLock::new(Arc::new(definitions)),
            activating: tokio::sync::Mutex::new(()),
            queue,
        });
        let mut tasks = JoinSet::new();
        for _ in 0..inner.store.properties().parallel_batches {
            tasks.spawn(ending_on_panic(&inner, apply_batches(Arc::clone(&inner), receiver.clone())));
        }
        let runtime = Self { inner: Arc::clone(&inner), tasks: Arc::new(tokio::sync::Mutex::new(tasks)) };
        inner.register().await?;
        let mut tasks = runtime.tasks.lock().await;
        tasks.spawn(ending_on_panic(&inner, keep_sweeping(Arc::clone(&inner))));
        tasks.spawn(ending_on_panic(&inner, schedules::keep_firing(Arc::clone(&inner))));
        tasks.spawn(ending_on_panic(&inner, keep_alive(Arc::clone(&inner))));
        tasks.spawn(ending_on_panic(&inner, keep_pruning(Arc::clone(&inner))));
        tasks.spawn(ending_on_panic(&inner, keep_auditing(Arc::clone(&inner))));
        tasks.spawn(ending_on_panic(&inner, keep_polling(Arc::clone(&inner))));
        tasks.spawn(ending_on_panic(&inner, keep_listening(Arc::clone(&inner))));
        for task in intake::tasks(&inner) {
            tasks.spawn(ending_on_panic(&inner, task));
        }
        drop(tasks);
        Ok(runtime)
    }

    /// Replaces the lifecycles and types. All of them are checked first: if one is refused, nothing changes. Stored jobs
    /// keep the lifecycle version that they follow.
    pub async fn redefine(&self, definitions: Definitions) -> Result<(), StartError> {
        self.inner.redefine(definitions).await
    }

    /// Changes how many jobs each user may create per second on this node; `None` is unlimited.
    pub fn limit_creations(&self, per_second: Option<u32>) {
        self.inner.rate_limit.set(per_second);
    }

    /// Creates a job, or returns the one that was created with the same key.
    pub async fn create(&self, new: NewJob) -> Answer {
        let (now, user) = (self.inner.clock.now(), new.user_id.clone());
        match admission::admit(&self.inner.active(), &self.inner.flow(), new, self.new_id(), now) {
            Ok(envelope) => {
                let throttled = self.inner.rate_limit.take(user.as_ref(), now).err();
                let answer = self.inner.submit(envelope.throttled(throttled)).await;
                self.inner.settle_rate_limit(user.as_ref(), throttled, answer)
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Creates several jobs; one answer for each, in order.
    pub async fn create_all(&self, new: impl IntoIterator<Item = NewJob>) -> Vec<Answer> {
        let (active, flow, now) = (self.inner.active(), self.inner.flow(), self.inner.clock.now());
        let (mut envelopes, mut admitted) = (Vec::new(), Vec::new());
        for new in new {
            let user = new.user_id.clone();
            admitted.push(admission::admit(&active, &flow, new, self.new_id(), now).map(|command| {
                let throttled = self.inner.rate_limit.take(user.as_ref(), now).err();
                envelopes.push(command.throttled(throttled));
                (user, throttled)
            }));
        }
        let mut answers = self.inner.submit_all(envelopes).await.into_iter();
        let answer = |admitted: Result<(Option<UserId>, _), _>| match admitted {
            Ok((user, throttled)) => {
                let answer = answers.next().expect("one answer for each command");
                self.inner.settle_rate_limit(user.as_ref(), throttled, answer)
            }
            Err(refusal) => Ok(Err(refusal)),
        };
        admitted.into_iter().map(answer).collect()
    }

    /// Changes values of a job that no worker holds.
    pub async fn amend(
        &self,
        by: CommandOrigin,
        job: &tenure_core::job::Job,
        amendment: Amendment,
    ) -> Answer {
        let (active, flow) = (self.inner.active(), self.inner.flow());
        match admission::amend(&active, &flow, by, job, amendment, self.inner.clock.now()) {
            Ok(envelope) => self.inner.submit(envelope).await,
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Claims jobs for a worker of the embedding program, waiting up to `wait` for one to become ready. The leases are bound
    /// to no credential.
    pub async fn claim(&self, claim: Claim, wait: Duration) -> Answer {
        let by = Actor::worker(&claim.worker).into();
        self.claim_unless(&by, claim, wait, std::future::pending()).await
    }

    /// Claims jobs for a worker, bound to the credential of `by`, waiting up to `wait` for one to become ready, but not beyond
    /// `stop`. A submitted claim is not abandoned: its jobs would have no worker until their leases expire.
    pub async fn claim_unless(
        &self,
        by: &CommandOrigin,
        claim: Claim,
        wait: Duration,
        stop: impl Future<Output = ()>,
    ) -> Answer {
        waiting::claim(&self.inner, by, claim, wait, stop).await
    }

    /// The same, waiting for a job to become ready until `deadline` resolves.
    pub async fn claim_until(
        &self,
        by: &CommandOrigin,
        claim: Claim,
        deadline: impl Future<Output = ()>,
    ) -> Answer {
        waiting::claim_until(&self.inner, by, &claim, deadline).await
    }

    /// Submits any other command.
    pub async fn submit(&self, envelope: CommandEnvelope) -> Answer {
        self.inner.submit(envelope).await
    }

    /// Submits several commands; one answer for each, in order.
    pub async fn submit_all(&self, envelopes: impl IntoIterator<Item = CommandEnvelope>) -> Vec<Answer> {
        self.inner.submit_all(envelopes.into_iter().collect()).await
    }

    /// Follows the journal from after a position.
    pub fn follow(&self, after: Position) -> Follower {
        self.inner.journal.follow(self.inner.store.clone(), after, self.inner.poll_every())
    }

    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    pub fn catalog(&self) -> Catalog {
        self.inner.active().catalog.clone()
    }

    /// The lifecycle of a job. If it is not active here, another node has registered it, and it is loaded from the store.
    pub async fn lifecycle(&self, key: &LifecycleRef) -> Option<Arc<Lifecycle>> {
        let known = || self.inner.active().catalog.lifecycle(key).cloned();
        match known() {
            None if self.inner.store.is_shared() && self.inner.reload().await.is_ok() => known(),
            known => known,
        }
    }

    /// An id for a new job.
    pub fn new_id(&self) -> JobId {
        self.inner.ids.next(self.inner.clock.now(), (self.inner.options.random)())
    }

    /// This node's estimate of the store's time.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// The same with the total outage time, which converts deadlines to calendar times.
    pub fn reading(&self) -> Now {
        self.inner.clock.reading()
    }

    /// Watches the transitions, log and progress of one job.
    pub fn watch(&self, job: JobId) -> Watch {
        Watch::new(&self.inner.job_watch, job, self.inner.poll_every())
    }

    /// Whether a claim that waits on this node accepts a job of this queue and type.
    pub fn is_awaited(&self, queue: &QueueName, job_type: &TypeName) -> bool {
        self.inner.waiting.admits(queue, job_type)
    }

    /// The filters of the claims that wait on this node, and how many claims have each.
    pub fn awaited(&self) -> Vec<(ClaimFilter, usize)> {
        self.inner.waiting.awaited()
    }

    /// The difference between accounts and ledger in the last comparison; zero before the first.
    pub fn credits_imbalance(&self) -> u64 {
        self.inner.credits_imbalance.load(Ordering::Relaxed)
    }

    /// Accepts no more commands, answers those that are queued, and stops.
    pub async fn stop(&self) {
        self.inner.stopping.send_replace(true);
        let mut tasks = self.tasks.lock().await;
        while tasks.join_next().await.is_some() {}
    }
}

impl Inner {
    fn active(&self) -> Arc<ActiveDefinitions> {
        Arc::clone(&self.active.read().expect("no thread panics while holding the lock"))
    }

    /// Returns the rate-limit token of a creation that did not create a job.
    fn settle_rate_limit(&self, user: Option<&UserId>, throttled: Option<Millis>, answer: Answer) -> Answer {
        let is_new = matches!(answer, Ok(Ok(CommandOutput::Job { replayed: false, .. })));
        if throttled.is_none() && !is_new {
            self.rate_limit.give_back(user);
        }
        answer
    }

    /// Submits a command. If another node registered the job's lifecycle, reloads the lifecycles and tries again.
    async fn submit(&self, envelope: CommandEnvelope) -> Answer {
        if !self.store.is_shared() {
            return self.submit_once(envelope).await;
        }
        let answer = self.submit_once(envelope.clone()).await?;
        if !matches!(answer, Err(Refusal::UnknownLifecycle(_))) || self.reload().await.is_err() {
            return Ok(answer);
        }
        self.submit_once(envelope).await
    }

    async fn submit_once(&self, envelope: CommandEnvelope) -> Answer {
        self.queue.put(envelope)?.await.map_err(|_| Failure::Stopped)?
    }

    /// In portions, so that a large request leaves room in the queue for others.
    async fn submit_all(&self, envelopes: Vec<CommandEnvelope>) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(envelopes.len());
        let mut rest = &envelopes[..];
        while !rest.is_empty() {
            let (portion, later) = rest.split_at(self.portion(rest));
            rest = later;
            let queued: Vec<_> = portion.iter().map(|envelope| self.queue.put(envelope.clone())).collect();
            for (answer, envelope) in queued.into_iter().zip(portion) {
                let answer = match answer {
                    Ok(answer) => answer.await.unwrap_or(Err(Failure::Stopped)),
                    Err(failure) => Err(failure),
                };
                let is_foreign = matches!(answer, Ok(Err(Refusal::UnknownLifecycle(_))));
                answers.push(if is_foreign { self.submit(envelope.clone()).await } else { answer });
            }
        }
        answers
    }

    /// How many commands are queued at once: not more than a batch can take.
    fn portion(&self, envelopes: &[CommandEnvelope]) -> usize {
        let Options { batch_commands_max, batch_bytes_max, .. } = self.options;
        let mut bytes = 0;
        let fits = envelopes.iter().take(batch_commands_max).take_while(|envelope| {
            bytes += command_queue::bytes(&envelope.command);
            bytes <= batch_bytes_max
        });
        fits.count().max(1)
    }

    /// Poll interval for commits without a notification; five times longer if no other node can commit.
    fn poll_every(&self) -> Duration {
        let every = self.options.poll_every;
        if self.store.is_shared() { every } else { every.saturating_mul(5) }
    }

    /// Waits for `span`; `false` if the runtime is stopping.
    async fn pause(&self, span: Duration) -> bool {
        let mut stopping = self.stopping.subscribe();
        tokio::time::timeout(span, stopping.wait_for(|stopping| *stopping)).await.is_err()
    }
}
