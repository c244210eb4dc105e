//! Tenure running, without a network face: the server, the simulator and whoever embeds it all talk to a [`Runtime`].
//!
//! In reading order: [`Runtime`] (what may be asked), `batcher` (many callers, one batch), `apply` (one batch, from
//! commands to answers), `waiting` and `journal` (who is woken by it), `sweeper` and `schedules` (time).

mod admission;
mod apply;
mod audit;
mod batcher;
mod job_watch;
mod catalog;
mod clock;
pub mod cron;
mod failure;
pub mod guard;
mod journal;
mod observe;
mod options;
mod rate_limit;
mod schedules;
pub mod schema;
mod sweeper;
mod verify;
mod waiting;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tenure_core::command::{CommandEnvelope, Claim, ClaimFilter, Command};
use tenure_core::decide::{CommandResult, CommandOutput};
use tenure_core::id::{Actor, JobId, Position, QueueName, TypeName, UserId};
use tenure_core::job::LifecycleRef;
use tenure_core::job_type::Catalog;
use tenure_core::lifecycle::Lifecycle;
use tenure_core::refusal::Refusal;
use tenure_core::time::{Millis, Now, Timestamp};
use tenure_store::Store;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use admission::NewJob;
pub use job_watch::Watch;
pub use catalog::{Definitions, TypeDefinition};
pub use failure::{Failure, StartError};
pub use journal::Follower;
pub use observe::{Committed, Failed, Transition};
pub use options::{EXIT_DOUBT, Options};
pub use verify::{Verified, verify};

use admission::Ids;
use batcher::{BatchReceiver, Queue};
use job_watch::JobWatchers;
use catalog::ActiveDefinitions;
use clock::Estimate;
use journal::Journal;
use rate_limit::RateLimit;
use waiting::WaitingClaims;

/// Tenure running. Cheap to clone; its methods are the protocol.
#[derive(Debug)]
pub struct Runtime<S: Store> {
    inner: Arc<Inner<S>>,
    tasks: Arc<tokio::sync::Mutex<JoinSet<()>>>,
}

impl<S: Store> Clone for Runtime<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), tasks: Arc::clone(&self.tasks) }
    }
}

#[derive(Debug)]
pub(crate) struct Inner<S> {
    store: S,
    options: Options,
    definitions: Definitions,
    in_force: RwLock<Arc<ActiveDefinitions>>,
    queue: Queue,
    journal: Journal,
    waiting: WaitingClaims,
    job_watch: Arc<JobWatchers>,
    clock: Estimate,
    pace: RateLimit,
    ids: Ids,
    credits_imbalance: AtomicU64,
    stopping: watch::Sender<bool>,
}

impl<S: Store> Runtime<S> {
    /// Puts the definitions into force and starts to run.
    pub async fn start(store: S, definitions: Definitions, options: Options) -> Result<Self, StartError> {
        let stopping = watch::Sender::new(false);
        let (queue, outlet) = batcher::queue(&options, stopping.subscribe());
        let in_force = ActiveDefinitions::compile(&definitions, Vec::new()).map_err(StartError::Definition)?;
        let inner = Arc::new(Inner {
            clock: Estimate::new(store.now().await?),
            in_force: RwLock::new(Arc::new(in_force)),
            journal: Journal::new(),
            waiting: WaitingClaims::default(),
            job_watch: Arc::default(),
            ids: Ids::default(),
            pace: RateLimit::new(options.creations_per_second),
            credits_imbalance: AtomicU64::new(0),
            stopping,
            store,
            options,
            definitions,
            queue,
        });
        let mut tasks = JoinSet::new();
        for _ in 0..inner.store.parallel_batches() {
            tasks.spawn(lane(Arc::clone(&inner), outlet.clone()));
        }
        let runtime = Self { inner: Arc::clone(&inner), tasks: Arc::new(tokio::sync::Mutex::new(tasks)) };
        inner.register().await?;
        let mut tasks = runtime.tasks.lock().await;
        tasks.spawn(keep_sweeping(Arc::clone(&inner)));
        tasks.spawn(schedules::keep_firing(Arc::clone(&inner)));
        tasks.spawn(keep_beating(Arc::clone(&inner)));
        tasks.spawn(keep_forgetting(Arc::clone(&inner)));
        tasks.spawn(keep_auditing(Arc::clone(&inner)));
        tasks.spawn(keep_listening(inner));
        drop(tasks);
        Ok(runtime)
    }

    /// Creates a job, or finds the one that its key leads to.
    pub async fn create(&self, new: NewJob) -> Result<CommandResult, Failure> {
        let (now, user) = (self.inner.clock.now(), new.user_id.clone());
        match admission::admit(&self.inner.in_force(), new, self.new_id(), now) {
            Ok(asked) => {
                let throttled = self.inner.pace.take(user.as_ref(), now).err();
                let answer = self.inner.submit(asked.throttled(throttled)).await;
                self.inner.counted(user.as_ref(), throttled, answer)
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Creates many at once; one answer for each, in order.
    pub async fn create_all(&self, new: impl IntoIterator<Item = NewJob>) -> Vec<Result<CommandResult, Failure>> {
        let (in_force, now) = (self.inner.in_force(), self.inner.clock.now());
        let (mut asked, mut admitted) = (Vec::new(), Vec::new());
        for new in new {
            let user = new.user_id.clone();
            admitted.push(admission::admit(&in_force, new, self.new_id(), now).map(|command| {
                let throttled = self.inner.pace.take(user.as_ref(), now).err();
                asked.push(command.throttled(throttled));
                (user, throttled)
            }));
        }
        let mut answers = self.inner.submit_all(asked).await.into_iter();
        let answer = |admitted: Result<(Option<UserId>, _), _>| match admitted {
            Ok((user, throttled)) => {
                let answer = answers.next().expect("one answer for each command");
                self.inner.counted(user.as_ref(), throttled, answer)
            }
            Err(refusal) => Ok(Err(refusal)),
        };
        admitted.into_iter().map(answer).collect()
    }

    /// Claims jobs for a worker, waiting up to `wait` for one to be there.
    pub async fn claim(&self, claim: Claim, wait: Duration) -> Result<CommandResult, Failure> {
        self.claim_unless(claim, wait, std::future::pending()).await
    }

    /// The same, waiting no longer than until `stop`. A claim that is being judged then is not given up: its jobs would be
    /// nobody's until their leases run out.
    pub async fn claim_unless(
        &self,
        claim: Claim,
        wait: Duration,
        stop: impl Future<Output = ()>,
    ) -> Result<CommandResult, Failure> {
        waiting::claim(&self.inner, claim, wait, stop).await
    }

    /// Claims jobs for a worker, waiting for one to be there until it is enough.
    pub async fn claim_until(
        &self,
        claim: Claim,
        enough: impl Future<Output = ()>,
    ) -> Result<CommandResult, Failure> {
        waiting::claim_until(&self.inner, &claim, enough).await
    }

    /// Asks anything else.
    pub async fn submit(&self, asked: CommandEnvelope) -> Result<CommandResult, Failure> {
        self.inner.submit(asked).await
    }

    /// Asks many things at once; one answer for each, in order.
    pub async fn submit_all(&self, asked: impl IntoIterator<Item = CommandEnvelope>) -> Vec<Result<CommandResult, Failure>> {
        self.inner.submit_all(asked.into_iter().collect()).await
    }

    /// Reads the journal from after a position, for ever.
    pub fn follow(&self, after: Position) -> Follower<S> {
        self.inner.journal.follow(self.inner.store.clone(), after, self.inner.poll_every())
    }

    /// The store, to read from.
    pub fn store(&self) -> &S {
        &self.inner.store
    }

    /// Lifecycles and types in force.
    pub fn catalog(&self) -> Catalog {
        self.inner.in_force().catalog.clone()
    }

    /// An id for a new job: for a retry, whose command names it.
    pub fn new_id(&self) -> JobId {
        self.inner.ids.next(self.inner.clock.now(), (self.inner.options.chance)())
    }

    /// This node's idea of the store's time.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// The same, with how long the clocks stood still: what shows deadlines on the calendar.
    pub fn reading(&self) -> Now {
        self.inner.clock.reading()
    }

    /// Watches one job: its transitions, its log, its progress.
    pub fn watch(&self, job: JobId) -> Watch {
        Watch::new(&self.inner.job_watch, job, self.inner.poll_every())
    }

    /// Whether a claim that waits on this node would take a job of this queue and type.
    pub fn is_awaited(&self, queue: &QueueName, job_type: &TypeName) -> bool {
        self.inner.waiting.admits(queue, job_type)
    }

    /// What the claims that wait on this node wait for.
    pub fn awaited(&self) -> Vec<ClaimFilter> {
        self.inner.waiting.awaited()
    }

    /// How many commands wait for a batch.
    pub fn waiting_commands(&self) -> usize {
        self.inner.queue.waiting()
    }

    /// By how many credits accounts and ledger disagreed when they were last compared; zero before the first time.
    pub fn credits_imbalance(&self) -> u64 {
        self.inner.credits_imbalance.load(Ordering::Relaxed)
    }

    /// Takes no more commands, answers those that wait, and ends.
    pub async fn stop(&self) {
        self.inner.stopping.send_replace(true);
        let mut tasks = self.tasks.lock().await;
        while tasks.join_next().await.is_some() {}
    }
}

impl<S: Store> Inner<S> {
    fn in_force(&self) -> Arc<ActiveDefinitions> {
        Arc::clone(&self.in_force.read().expect("nobody panics while changing what is in force"))
    }

    /// The answer to a creation. Only a new job counts against its user's pace.
    fn counted(
        &self,
        user: Option<&UserId>,
        throttled: Option<Millis>,
        answer: Result<CommandResult, Failure>,
    ) -> Result<CommandResult, Failure> {
        let is_new = matches!(answer, Ok(Ok(CommandOutput::Job { replayed: false, .. })));
        if throttled.is_none() && !is_new {
            self.pace.give_back(user);
        }
        answer
    }

    /// Submits a command. A job of a lifecycle that another node brought is met by reading the store's files again.
    async fn submit(&self, asked: CommandEnvelope) -> Result<CommandResult, Failure> {
        if !self.store.is_shared() {
            return self.submit_once(asked).await;
        }
        let answer = self.submit_once(asked.clone()).await?;
        if !matches!(answer, Err(Refusal::UnknownLifecycle(_))) || self.reload().await.is_err() {
            return Ok(answer);
        }
        self.submit_once(asked).await
    }

    async fn submit_once(&self, asked: CommandEnvelope) -> Result<CommandResult, Failure> {
        self.queue.put(asked)?.await.map_err(|_| Failure::Stopped)?
    }

    /// In portions, so that one caller's many leave room in the queue for others' few.
    async fn submit_all(&self, asked: Vec<CommandEnvelope>) -> Vec<Result<CommandResult, Failure>> {
        let mut answers = Vec::with_capacity(asked.len());
        for portion in asked.chunks(self.options.batch_commands_max) {
            let queued: Vec<_> = portion.iter().map(|asked| self.queue.put(asked.clone())).collect();
            for (answer, asked) in queued.into_iter().zip(portion) {
                let answer = match answer {
                    Ok(answer) => answer.await.unwrap_or(Err(Failure::Stopped)),
                    Err(failure) => Err(failure),
                };
                let is_foreign = matches!(answer, Ok(Err(Refusal::UnknownLifecycle(_))));
                answers.push(if is_foreign { self.submit(asked.clone()).await } else { answer });
            }
        }
        answers
    }

    /// Brings the definitions' lifecycles into the store's force, and the store's older ones into ours.
    async fn register(&self) -> Result<(), StartError> {
        for lifecycle in &self.definitions.lifecycles {
            let key = LifecycleRef { name: lifecycle.name.clone(), version: lifecycle.version };
            let command = Command::RegisterLifecycle { lifecycle: key, source: lifecycle.source.clone() };
            let by = Actor::from("runtime");
            match self.submit_once(CommandEnvelope { by, key: None, command }).await {
                Ok(Ok(CommandOutput::Nothing | CommandOutput::Job { .. })) => {}
                Ok(Ok(_)) => unreachable!("a registration has nothing else to tell"),
                Ok(Err(refusal)) => return Err(StartError::Definition(refusal.to_string())),
                Err(failure) => return Err(StartError::Register(failure)),
            }
        }
        self.reload().await
    }

    /// Compiles anew what is in force, with every version that the store knows.
    async fn reload(&self) -> Result<(), StartError> {
        let mut older = Vec::new();
        for (key, source) in self.store.lifecycles().await? {
            if let Ok(lifecycle) = Lifecycle::parse(&source) {
                older.push(lifecycle);
            } else {
                tracing::error!(name = %key.name, version = key.version, "a stored lifecycle fails its check");
            }
        }
        let compiled = ActiveDefinitions::compile(&self.definitions, older).map_err(StartError::Definition)?;
        *self.in_force.write().expect("nobody panics while changing what is in force") = Arc::new(compiled);
        Ok(())
    }

    /// How often to look for what nobody told us: seldom, where only we commit.
    fn poll_every(&self) -> Duration {
        let every = self.options.poll_every;
        if self.store.is_shared() { every } else { every.saturating_mul(5) }
    }

    /// Waits for a while; says whether to go on.
    async fn pause(&self, span: Duration) -> bool {
        let mut stopping = self.stopping.subscribe();
        tokio::time::timeout(span, stopping.wait_for(|stopping| *stopping)).await.is_err()
    }
}

/// Takes batches until the queue is closed and empty.
async fn lane<S: Store>(inner: Arc<Inner<S>>, mut outlet: BatchReceiver) {
    while let Some(batch) = outlet.batch().await {
        apply::apply(&inner, batch).await;
    }
}

async fn keep_sweeping<S: Store>(inner: Arc<Inner<S>>) {
    let mut stuck = BTreeSet::new();
    while inner.pause(inner.options.sweep_every).await {
        inner.sweep(&mut stuck).await;
    }
}

async fn keep_beating<S: Store>(inner: Arc<Inner<S>>) {
    while inner.pause(inner.options.beat_every).await {
        if let Err(error) = inner.store.heartbeat().await {
            tracing::warn!(%error, "the store does not hear that this node lives");
        }
    }
}

async fn keep_forgetting<S: Store>(inner: Arc<Inner<S>>) {
    while inner.pause(inner.options.forget_every).await {
        inner.forget().await;
    }
}

/// At once, and then every while. After a long pass comes a long pause: a ledger of any size takes a twentieth at most.
async fn keep_auditing<S: Store>(inner: Arc<Inner<S>>) {
    loop {
        let began = tokio::time::Instant::now();
        inner.audit_credits().await;
        if !inner.pause(inner.options.audit_every.max(began.elapsed() * 19)).await {
            return;
        }
    }
}

/// Passes hints of other nodes on to followers and waiting claims.
async fn keep_listening<S: Store>(inner: Arc<Inner<S>>) {
    let mut stopping = inner.stopping.subscribe();
    loop {
        tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = inner.store.remote_commit() => {
                inner.journal.grew();
                inner.waiting.wake_all();
            }
        }
    }
}
