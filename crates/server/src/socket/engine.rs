//! One engine: claims jobs while the engine has capacity, pushes them to it, and submits what it reports.
//!
//! One task does everything, so dispatches and reports need no lock. Reports on one job are submitted in order, reports
//! on different jobs together.

mod checks;
mod inbox;
mod submit_rounds;

use std::collections::BTreeMap;
use std::future::ready;

use checks::connection_id;
use inbox::Inbox;
use serde::Serialize;
use serde_json::json;
use socketioxide::extract::SocketRef;
use submit_rounds::PendingReport;
use tenure_core::command::{Claim, Hold};
use tenure_core::id::TypeName;
use tenure_core::job::{CancelMode, LeaseEnd};
use tenure_core::lifecycle::{Phase, Trigger};
use tenure_core::limits::CLAIM_JOBS_MAX;
use tenure_service::worker_registry::{AboutWorker, Claiming};
use tenure_store::LeasePages;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::prelude::*;
use crate::socket::handshake::EngineHandshake;
use crate::socket::hub::{HolderNotice, Registration};
use crate::socket::{Session, on_disconnect, ticks, wait_true};
use crate::telemetry;

/// How often the engine's credentials, its name and its jobs are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Jobs per claim, so that one engine does not take them all.
const CLAIM_MAX: usize = 100;
/// The delay after a failed claim.
const CLAIM_RETRY_DELAY: Duration = Duration::from_secs(1);

/// An admitted engine.
pub(crate) struct Engine {
    app: App,
    handshake: EngineHandshake,
    inbox: Inbox,
    disconnected: watch::Receiver<bool>,
}

/// The task of a connected engine.
struct EngineTask {
    app: App,
    handshake: EngineHandshake,
    socket: SocketRef,
    /// Distinguishes this connection from every other under the same name.
    connection: Uuid,
    held: BTreeMap<JobId, HeldJob>,
    /// Reports without an answer, in order of arrival.
    pending: Vec<PendingReport>,
    claim: Option<JoinHandle<Result<CommandResult, Failure>>>,
    /// Becomes true to end a waiting claim.
    stop_claiming: watch::Sender<bool>,
    notices: mpsc::Sender<HolderNotice>,
    /// A message could not be sent: the engine does not read, or is gone.
    is_stuck: bool,
}

struct HeldJob {
    fence: Fence,
    is_started: bool,
    /// The last cancel that was sent to the engine.
    cancel_sent: Option<CancelMode>,
    /// Whether the row was read after the dispatch: the lease may have ended before this engine was its holder.
    is_checked: bool,
}

/// Why an engine's task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndReason {
    Disconnected,
    /// Another connection with its credential uses its name, at this or another node.
    Replaced,
    /// Its key was revoked, its token expired, or another key holds leases of an earlier version under its name.
    Unauthorized,
    /// It does not read what is sent to it.
    Stuck,
    /// The node stops; the engine keeps its jobs and reconnects to another.
    Draining,
}

/// A connected engine is seen at each check of its connection, far more often than this.
const SILENCE_MAX: Millis = Millis(60_000);

impl Session for Engine {
    /// Admits an engine. Its events are kept from here on, and processed once its connection is established.
    async fn admit(app: App, socket: &SocketRef, auth: Option<&RawValue>) -> Result<Self> {
        let handshake = EngineHandshake::read(&app, socket, auth).await?;
        handshake.caller.may(Right::Work)?;
        app.touch_worker(&handshake.caller, &handshake.worker).await?;
        let about = AboutWorker { slots: u32::try_from(handshake.capacity).ok(), ..AboutWorker::default() };
        let claiming = Claiming { types: handshake.filter.types.clone(), wait: SILENCE_MAX, about };
        app.worker_registry().claims(&handshake.worker, &handshake.caller.credential, claiming);
        let (inbox, disconnected) = (Inbox::open(socket), on_disconnect(socket));
        Ok(Self { app, handshake, inbox, disconnected })
    }

    async fn run(self, socket: SocketRef) {
        let Self { app, handshake, mut inbox, mut disconnected } = self;
        let (notices, mut received) = mpsc::channel(2 * CLAIM_JOBS_MAX as usize);
        // An earlier connection under this name has ended before anything is dispatched.
        let mut registration = app.hub.register(&handshake.worker, &handshake.caller.credential).await;
        tracing::info!(engine = %handshake.worker, capacity = handshake.capacity, "engine connected");
        let mut task = EngineTask {
            connection: connection_id(app.runtime().new_id().0, &handshake.caller.credential),
            app,
            handshake,
            socket,
            held: BTreeMap::new(),
            pending: Vec::new(),
            claim: None,
            stop_claiming: watch::Sender::new(false),
            notices,
            is_stuck: false,
        };
        let reason = match task.begin().await {
            Ok(()) => task.work(&mut inbox, &mut received, &mut disconnected, &mut registration).await,
            Err(problem) => {
                tracing::warn!(engine = %task.handshake.worker, detail = problem.detail(), "engine refused");
                EndReason::Unauthorized
            }
        };
        task.end(reason, &mut inbox).await;
        drop(registration);
    }
}

impl EngineTask {
    /// Takes the engine's name, and the jobs it holds from an earlier connection.
    async fn begin(&mut self) -> Result<()> {
        self.bind_name().await?;
        self.app.hub.ensure_following(&self.app).await?;
        let app = self.app.clone();
        let mut leases = LeasePages::of(app.store(), self.handshake.worker.clone());
        while let Some(page) = leases.next().await? {
            for job in page {
                if self.may_hold(&job) && self.handshake.caller.has_in_scope(&job.spec) {
                    self.hold(&job, true);
                    self.update(&job);
                }
            }
        }
        Ok(())
    }

    /// Whether a lease under the engine's name is its own, and not one of another credential.
    fn may_hold(&self, job: &Job) -> bool {
        job.lease.as_ref().is_some_and(|lease| lease.admits(Some(&self.handshake.caller.credential)))
    }

    async fn work(
        &mut self,
        inbox: &mut Inbox,
        notices: &mut mpsc::Receiver<HolderNotice>,
        disconnected: &mut watch::Receiver<bool>,
        registration: &mut Registration,
    ) -> EndReason {
        let mut checks = ticks(CHECK_INTERVAL);
        let app = self.app.clone();
        let drained = app.drained();
        tokio::pin!(drained);
        loop {
            self.claim_if_idle();
            tokio::select! {
                biased;
                () = wait_true(disconnected) => return EndReason::Disconnected,
                () = registration.replaced() => return EndReason::Replaced,
                () = &mut drained => return EndReason::Draining,
                Some(notice) = notices.recv() => {
                    if !self.is_admitted().await {
                        return EndReason::Unauthorized;
                    }
                    self.handle_notice(notice).await;
                }
                claimed = claimed(&mut self.claim) => {
                    let jobs = self.hold_claimed(claimed);
                    // The key may have been revoked since the claim began: its jobs are given back.
                    if !self.is_verified().await {
                        return EndReason::Unauthorized;
                    }
                    self.dispatch(&jobs);
                }
                _ = checks.tick() => if let Some(reason) = self.check().await {
                    return reason;
                },
                reports = inbox.take(&self.handshake.worker), if self.pending.is_empty() => {
                    self.pending = reports;
                }
                () = ready(()), if !self.pending.is_empty() => {
                    if !self.is_admitted().await {
                        return EndReason::Unauthorized;
                    }
                    self.pending.extend(inbox.take_now(&self.handshake.worker));
                    self.refuse_out_of_scope().await;
                    self.submit_round().await;
                }
            }
            if self.is_stuck {
                return EndReason::Stuck;
            }
        }
    }

    /// Starts a claim, if the engine has capacity and none is running.
    fn claim_if_idle(&mut self) {
        let room = self.handshake.capacity.saturating_sub(self.held.len()).min(CLAIM_MAX);
        if self.claim.is_some() || room == 0 {
            return;
        }
        let claim = Claim {
            worker: self.handshake.worker.clone(),
            filter: self.handshake.filter.clone(),
            max: room as u32,
            request_id: None,
            start: false,
        };
        let (runtime, mut stop) = (self.app.runtime().clone(), self.stop_claiming.subscribe());
        let (app, caller) = (self.app.clone(), self.handshake.caller.clone());
        self.claim = Some(tokio::spawn(async move {
            // A claim that waits ends with its key: it would take a job that cannot be dispatched.
            let ended = async {
                tokio::select! {
                    () = wait_true(&mut stop) => {}
                    () = app.must_end(&caller) => {}
                }
            };
            let result = runtime.claim_until(&caller.origin(), claim, ended).await;
            if !matches!(result, Ok(Ok(_))) {
                drop(tokio::time::timeout(CLAIM_RETRY_DELAY, wait_true(&mut stop)).await);
            }
            result
        }));
    }

    /// Holds the claimed jobs.
    fn hold_claimed(&mut self, claimed: Result<CommandResult, Failure>) -> Vec<Arc<Job>> {
        let jobs = match claimed {
            Ok(Ok(CommandOutput::Claimed { jobs, .. })) => jobs,
            Ok(Ok(_)) => unreachable!("the output of a claim is jobs"),
            Ok(Err(refusal)) => {
                tracing::warn!(engine = %self.handshake.worker, %refusal, "claim refused");
                Vec::new()
            }
            Err(failure) => {
                tracing::warn!(engine = %self.handshake.worker, %failure, "claim failed");
                Vec::new()
            }
        };
        for job in &jobs {
            self.hold(job, false);
        }
        jobs
    }

    /// Pushes held jobs.
    fn dispatch(&mut self, jobs: &[Arc<Job>]) {
        let now = self.app.runtime().reading();
        for job in jobs {
            let Some(lease) = &job.lease else { continue };
            let dispatch = Dispatch {
                job_id: job.id(),
                job_type: &job.spec.job_type,
                payload: job.payload(),
                attempt: job.attempt,
                fence: lease.fence,
                lease_expires_at: now.calendar(lease.expires()),
                correlation_id: job.spec.correlation_id(),
                traceparent: telemetry::job_traceparent(job, lease.fence),
            };
            self.emit("job_dispatch", &dispatch);
        }
    }

    fn hold(&mut self, job: &Job, is_checked: bool) {
        let Some(lease) = &job.lease else { return };
        let is_started = job.phase == Phase::Active;
        let held = HeldJob { fence: lease.fence, is_started, cancel_sent: None, is_checked };
        self.held.insert(job.id(), held);
        self.app.hub.add_holder(job.id(), &self.notices);
    }

    fn drop_job(&mut self, job: JobId) {
        self.held.remove(&job);
        self.app.hub.remove_holder(job);
    }

    /// Compares a held job with its row: sends a cancel, or drops the job if its lease has ended.
    fn update(&mut self, job: &Job) {
        let Some(held) = self.held.get_mut(&job.id()) else { return };
        held.is_checked = true;
        let lease = job.lease.as_ref();
        if lease.is_some_and(|lease| lease.fence == held.fence && lease.worker == self.handshake.worker) {
            held.is_started = job.phase == Phase::Active;
            if let Some(cancel) = &job.cancel {
                self.send_cancel(job.id(), cancel.mode);
            }
            return;
        }
        let ended = job.last_lease.as_ref().filter(|ended| ended.fence == held.fence);
        if ended.is_some_and(|ended| ended.by == Trigger::Cancel && ended.end == LeaseEnd::Revoked) {
            self.send_cancel(job.id(), CancelMode::Hard);
        }
        self.drop_job(job.id());
    }

    /// Sends a cancel, once per mode.
    fn send_cancel(&mut self, job: JobId, mode: CancelMode) {
        let Some(held) = self.held.get_mut(&job).filter(|held| held.cancel_sent != Some(mode)) else {
            return;
        };
        held.cancel_sent = Some(mode);
        let fence = held.fence;
        self.emit("job_cancel", &json!({ "jobId": job, "fence": fence, "mode": mode }));
    }

    fn emit(&mut self, event: &str, data: &impl Serialize) {
        if let Err(error) = self.socket.emit(event, data) {
            tracing::debug!(engine = %self.handshake.worker, %error, event, "engine message dropped");
            self.is_stuck = true;
        }
    }

    /// Submits the reports that arrived before the end, then disconnects the leases of the jobs still held.
    async fn end(mut self, reason: EndReason, inbox: &mut Inbox) {
        tracing::info!(engine = %self.handshake.worker, ?reason, "engine disconnected");
        self.stop_claiming.send_replace(true);
        if self.claim.is_some() {
            let claimed = claimed(&mut self.claim).await;
            let jobs = self.hold_claimed(claimed);
            if reason != EndReason::Unauthorized && self.is_admitted().await {
                self.dispatch(&jobs);
            }
        }
        if reason != EndReason::Unauthorized {
            self.pending.extend(inbox.take_now(&self.handshake.worker));
            self.refuse_out_of_scope().await;
            while !self.pending.is_empty() {
                self.submit_round().await;
            }
        }
        if matches!(reason, EndReason::Replaced | EndReason::Unauthorized | EndReason::Stuck)
            && self.socket.clone().disconnect().is_err()
        {
            // The ping timeout closes it.
            tracing::debug!(engine = %self.handshake.worker, "engine connection not closed");
        }
        let held: Vec<(JobId, Fence)> = self.held.iter().map(|(job, held)| (*job, held.fence)).collect();
        for (job, _) in &held {
            self.drop_job(*job);
        }
        if reason == EndReason::Draining {
            return;
        }
        let worker = &self.handshake.worker;
        let by = self.handshake.caller.origin().as_worker(worker);
        let commands = held.into_iter().map(|(job, fence)| {
            let command = Command::Disconnect(Hold { job, worker: worker.clone(), fence });
            CommandEnvelope { by: by.clone(), key: None, command }
        });
        for result in self.app.runtime().submit_all(commands).await {
            if let Err(failure) = result {
                tracing::warn!(engine = %worker, %failure, "lease left to expire");
            }
        }
    }
}

/// The result of the running claim; pending forever if there is none.
async fn claimed(
    claim: &mut Option<JoinHandle<Result<CommandResult, Failure>>>,
) -> Result<CommandResult, Failure> {
    let Some(running) = claim else { return std::future::pending().await };
    let result = running.await;
    *claim = None;
    result.unwrap_or(Err(Failure::Stopped))
}

/// A job as it is pushed, with the payload unchanged.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dispatch<'a> {
    job_id: JobId,
    job_type: &'a TypeName,
    payload: &'a Json,
    attempt: u32,
    fence: Fence,
    lease_expires_at: Timestamp,
    correlation_id: Name,
    traceparent: Name,
}
