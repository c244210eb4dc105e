//! One engine: jobs are claimed for it while it has room and pushed to it; what it says is submitted in its order.
//!
//! Everything happens in one task, so there is no lock and no race between what is dispatched and what is said. Words on
//! one job are submitted one after the other; words on different jobs together.

mod inbox;
mod looks;
mod rounds;

use std::collections::BTreeMap;
use std::future::ready;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use socketioxide::extract::SocketRef;
use tenure_core::command::{Asked, Claim, ClaimFilter, Command, Hold};
use tenure_core::decide::{Answer, Done};
use tenure_core::id::{Actor, Fence, JobId, Name};
use tenure_core::job::{CancelMode, Job, LeaseEnd};
use tenure_core::json::Json;
use tenure_core::lifecycle::{Phase, Trigger};
use tenure_core::limits::CLAIM_JOBS_MAX;
use tenure_core::time::Timestamp;
use tenure_runtime::Failure;
use tenure_store::Store as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

use crate::app::{App, LEASES_MAX};
use crate::caller::Right;
use crate::problem::Problem;
use crate::socket::hello::Hello;
use crate::socket::switchboard::{News, Seat};
use crate::socket::{Guest, Ticket, gone, is_true};
use inbox::Inbox;
use rounds::Pending;

/// How often it is looked whether the engine may stay, and whether what it holds is still its own.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Jobs that are claimed at once: others want some, too.
const CLAIM_MAX: usize = 100;
/// How long to wait before a claim that failed is tried again.
const CLAIM_PAUSE: Duration = Duration::from_secs(1);

/// An engine that was let in.
pub(crate) struct Engine {
    app: App,
    hello: Hello,
    inbox: Inbox,
    gone: watch::Receiver<bool>,
}

/// An engine that works.
struct Working {
    app: App,
    hello: Hello,
    socket: SocketRef,
    /// This connection among all that ever came in its name.
    connection: Uuid,
    held: BTreeMap<JobId, Held>,
    /// What it has said and not been answered, in its order.
    pending: Vec<Pending>,
    claim: Option<JoinHandle<Result<Answer, Failure>>>,
    /// Turns true when no more is to be claimed.
    enough: watch::Sender<bool>,
    news: mpsc::Sender<News>,
    /// It does not take what is sent to it.
    is_stuck: bool,
}

/// A job that it holds.
struct Held {
    fence: Fence,
    is_started: bool,
    /// The cancel that it was told of.
    told: Option<CancelMode>,
    /// Whether it was looked at since it was dispatched: its lease may have ended before anybody knew whom to tell.
    is_checked: bool,
}

/// Why an engine's time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Its connection is gone.
    Gone,
    /// Another connection came in its name, here or at another node.
    Replaced,
    /// Its key was revoked, or its token ran out; or another key has its name.
    Barred,
    /// It does not take what is sent to it.
    Stuck,
    /// The node stops; the engine goes on with its jobs at another.
    Drained,
}

impl Engine {
    /// Lets an engine in, or says why not. From here on what it says is kept, though nothing happens before its
    /// connection stands.
    pub(crate) async fn admit(app: App, socket: &SocketRef, auth: Option<&RawValue>) -> Result<(), Problem> {
        let hello = Hello::read(&app, socket, auth).await?;
        hello.caller.may(Right::Work)?;
        app.hear(&hello.caller, &hello.worker).await?;
        let (inbox, gone) = (Inbox::open(socket), gone(socket));
        Ticket::give(Self { app, hello, inbox, gone }, socket);
        Ok(())
    }

    async fn run(self, socket: SocketRef) {
        let Self { app, hello, mut inbox, mut gone } = self;
        let (news, mut told) = mpsc::channel(2 * CLAIM_JOBS_MAX as usize);
        // Whoever had the name before is out before anything is dispatched.
        let mut seat = app.switchboard().seat(&hello.worker).await;
        tracing::info!(engine = %hello.worker, capacity = hello.capacity, "an engine is connected");
        let enough = watch::Sender::new(false);
        let (connection, held) = (app.runtime().new_id().0, BTreeMap::new());
        let mut work = Working {
            app,
            hello,
            socket,
            connection,
            held,
            pending: Vec::new(),
            claim: None,
            enough,
            news,
            is_stuck: false,
        };
        let end = match work.begin().await {
            Ok(()) => work.go_on((&mut inbox, &mut told), (&mut gone, &mut seat)).await,
            Err(problem) => {
                tracing::warn!(why = problem.detail(), "an engine cannot be served");
                End::Barred
            }
        };
        work.end(end, &mut inbox).await;
        drop(seat);
    }
}

impl Guest for Engine {
    fn begin(self, socket: SocketRef) {
        tokio::spawn(self.run(socket));
    }
}

impl Working {
    /// Takes the engine's name, and takes up what it holds from an earlier connection.
    async fn begin(&mut self) -> Result<(), Problem> {
        self.take_name().await?;
        self.app.switchboard().follow(&self.app).await?;
        for job in self.app.store().leased(LEASES_MAX).await? {
            if job.lease.as_ref().is_some_and(|lease| lease.worker == self.hello.worker) {
                self.hold(&job, true);
                self.standing(&job);
            }
        }
        Ok(())
    }

    async fn go_on(
        &mut self,
        (inbox, told): (&mut Inbox, &mut mpsc::Receiver<News>),
        (gone, seat): (&mut watch::Receiver<bool>, &mut Seat),
    ) -> End {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let app = self.app.clone();
        let drained = app.drained();
        tokio::pin!(drained);
        loop {
            self.ask();
            tokio::select! {
                biased;
                () = is_true(gone) => return End::Gone,
                () = seat.taken() => return End::Replaced,
                () = &mut drained => return End::Drained,
                Some(news) = told.recv() => self.learn(news).await,
                claimed = claimed(&mut self.claim) => self.dispatch(claimed),
                _ = looks.tick() => if let Some(end) = self.look().await {
                    return end;
                },
                said = inbox.take(&self.hello.worker), if self.pending.is_empty() => self.pending = said,
                () = ready(()), if !self.pending.is_empty() => {
                    if !self.is_admitted().await {
                        return End::Barred;
                    }
                    self.pending.extend(inbox.take_now(&self.hello.worker));
                    self.round().await;
                }
            }
            if self.is_stuck {
                return End::Stuck;
            }
        }
    }

    /// Asks for work, if there is room for it and nobody asks already.
    fn ask(&mut self) {
        let room = self.hello.capacity.saturating_sub(self.held.len()).min(CLAIM_MAX);
        if self.claim.is_some() || room == 0 {
            return;
        }
        let claim = Claim {
            worker: self.hello.worker.clone(),
            filter: ClaimFilter { types: Some(self.hello.types.clone()), queues: None },
            max: room as u32,
            request_id: None,
            start: false,
        };
        let (runtime, mut enough) = (self.app.runtime().clone(), self.enough.subscribe());
        self.claim = Some(tokio::spawn(async move {
            let answer = runtime.claim_until(claim, is_true(&mut enough)).await;
            if !matches!(answer, Ok(Ok(_))) {
                drop(tokio::time::timeout(CLAIM_PAUSE, is_true(&mut enough)).await);
            }
            answer
        }));
    }

    /// Takes up what was claimed, and pushes it.
    fn dispatch(&mut self, claimed: Result<Answer, Failure>) {
        let jobs = match claimed {
            Ok(Ok(Done::Claimed { jobs, .. })) => jobs,
            Ok(Ok(_)) => unreachable!("a claim is answered with jobs"),
            Ok(Err(refusal)) => return tracing::warn!(engine = %self.hello.worker, %refusal, "no claim"),
            Err(failure) => return tracing::warn!(engine = %self.hello.worker, %failure, "no claim"),
        };
        let now = self.app.runtime().reading();
        for job in jobs {
            let Some(lease) = &job.lease else { continue };
            self.hold(&job, false);
            let dispatch = Dispatch {
                job_id: job.id(),
                job_type: &job.spec.job_type,
                payload: &job.spec.payload,
                attempt: job.attempt,
                fence: lease.fence,
                lease_expires_at: now.calendar(lease.expires()),
                correlation_id: job.spec.correlation_id(),
                traceparent: job.spec.traceparent(),
            };
            self.push("job_dispatch", &dispatch);
        }
    }

    fn hold(&mut self, job: &Job, is_checked: bool) {
        let Some(lease) = &job.lease else { return };
        let is_started = job.phase == Phase::Active;
        let held = Held { fence: lease.fence, is_started, told: None, is_checked };
        self.held.insert(job.id(), held);
        self.app.switchboard().holds(job.id(), &self.news);
    }

    fn let_go(&mut self, job: JobId) {
        self.held.remove(&job);
        self.app.switchboard().holds_no_more(job);
    }

    /// Where a job of its stands: still held, or not; cancelled, or not.
    fn standing(&mut self, job: &Job) {
        let Some(held) = self.held.get_mut(&job.id()) else { return };
        held.is_checked = true;
        let lease = job.lease.as_ref();
        if lease.is_some_and(|lease| lease.fence == held.fence && lease.worker == self.hello.worker) {
            held.is_started = job.phase == Phase::Active;
            if let Some(cancel) = &job.cancel {
                self.cancel(job.id(), cancel.mode);
            }
            return;
        }
        let ended = job.last_lease.as_ref().filter(|ended| ended.fence == held.fence);
        if ended.is_some_and(|ended| ended.by == Trigger::Cancel && ended.end == LeaseEnd::Revoked) {
            self.cancel(job.id(), CancelMode::Hard);
        }
        self.let_go(job.id());
    }

    /// Tells the engine to stop a job, once for each way.
    fn cancel(&mut self, job: JobId, mode: CancelMode) {
        let Some(held) = self.held.get_mut(&job).filter(|held| held.told != Some(mode)) else { return };
        held.told = Some(mode);
        let fence = held.fence;
        self.push("job_cancel", &json!({ "jobId": job, "fence": fence, "mode": mode }));
    }

    fn push(&mut self, event: &str, data: &impl Serialize) {
        if let Err(error) = self.socket.emit(event, data) {
            tracing::debug!(engine = %self.hello.worker, %error, event, "not sent");
            self.is_stuck = true;
        }
    }

    /// The last that is done for it: what it had said still counts, and what it holds gets what its end brings.
    async fn end(mut self, end: End, inbox: &mut Inbox) {
        tracing::info!(engine = %self.hello.worker, ?end, "an engine is disconnected");
        self.enough.send_replace(true);
        if self.claim.is_some() {
            let claimed = claimed(&mut self.claim).await;
            self.dispatch(claimed);
        }
        if end != End::Barred {
            self.pending.extend(inbox.take_now(&self.hello.worker));
            while !self.pending.is_empty() {
                self.round().await;
            }
        }
        if matches!(end, End::Replaced | End::Barred | End::Stuck)
            && self.socket.clone().disconnect().is_err()
        {
            tracing::debug!(engine = %self.hello.worker, "a connection that takes nothing is left to its ping");
        }
        let held: Vec<(JobId, Fence)> = self.held.iter().map(|(job, held)| (*job, held.fence)).collect();
        for (job, _) in &held {
            self.let_go(*job);
        }
        if end == End::Drained {
            return;
        }
        let worker = &self.hello.worker;
        let asked = held.into_iter().map(|(job, fence)| {
            let command = Command::Disconnect(Hold { job, worker: worker.clone(), fence });
            Asked { by: Actor::worker(worker), key: None, command }
        });
        for answer in self.app.runtime().submit_all(asked).await {
            if let Err(failure) = answer {
                tracing::warn!(engine = %worker, %failure, "a lease is left to run out");
            }
        }
    }
}

/// The end of a claim; never, if there is none.
async fn claimed(claim: &mut Option<JoinHandle<Result<Answer, Failure>>>) -> Result<Answer, Failure> {
    let Some(running) = claim else { return std::future::pending().await };
    let ended = running.await;
    *claim = None;
    ended.unwrap_or(Err(Failure::Stopped))
}

/// A job as it is pushed; the payload as it came.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dispatch<'a> {
    job_id: JobId,
    job_type: &'a Name,
    payload: &'a Json,
    attempt: u32,
    fence: Fence,
    lease_expires_at: Timestamp,
    correlation_id: Name,
    traceparent: Name,
}
