//! The network between clients and nodes: requests and replies are delayed, lost or duplicated. The auditor checks each
//! reply at the node: it counts as acknowledged even if it is lost on the way back.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::decide::CommandResult;
use tenure_core::schedule::{Plan, Schedule};
use tenure_runtime::{Amendment, Runtime};
use tokio::time::sleep;

use crate::cluster::{Cluster, Node, RunningNode};
use crate::planted_bugs::{self, Bug};
use crate::prelude::*;
use crate::ready;
use crate::rng::Rng;

#[derive(Clone, Debug)]
pub(crate) enum Request {
    Create(NewJob),
    /// The actor, the job, and its new values.
    Amend(&'static str, JobId, Amendment),
    /// A claim, and how long it waits for work.
    Claim(Claim, Duration),
    AddSchedule(Name, Box<Plan>),
    /// Resumes the schedule with this id, at its next time.
    ResumeSchedule(Name),
    Submit(CommandEnvelope),
}

/// A node's answer; `None` if it crashed or the network lost it.
pub(crate) type Reply = Option<Result<CommandResult, Failure>>;

impl Request {
    pub(crate) fn job(&self) -> Option<JobId> {
        match self {
            Self::Create(_) | Self::Claim(..) | Self::AddSchedule(..) | Self::ResumeSchedule(_) => None,
            Self::Amend(_, job, _) => Some(*job),
            Self::Submit(envelope) => envelope.command.job(),
        }
    }

    /// The schedule that it changes.
    pub(crate) fn schedule(&self) -> Option<&Name> {
        match self {
            Self::Create(_) | Self::Claim(..) | Self::Amend(..) => None,
            Self::AddSchedule(id, _) | Self::ResumeSchedule(id) => Some(id),
            Self::Submit(envelope) => match &envelope.command {
                Command::AddSchedule(new) => Some(&new.id),
                Command::ChangeSchedule { id, .. } => Some(id),
                _ => None,
            },
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Create(new) => {
                let user = new.user_id.as_ref().map_or("no user", |user| user.as_str());
                let key = new.key.as_ref().map_or("no key", |key| key.key.as_str());
                format!("{user}: create {} ({key})", new.job_type)
            }
            Self::Amend(by, _, amendment) => format!("{by}: amend to {amendment:?}"),
            Self::Claim(claim, wait) => format!(
                "{}: claim up to {}{}, waiting {} ms",
                claim.worker,
                claim.max,
                if claim.start { " and start" } else { "" },
                wait.as_millis()
            ),
            Self::AddSchedule(id, plan) => format!("operator: add schedule {id}, {}", plan.cron),
            Self::ResumeSchedule(id) => format!("operator: resume schedule {id}"),
            Self::Submit(envelope) => describe(envelope),
        }
    }
}

const OPERATOR: &str = "operator:root";

async fn find_schedule(runtime: &Runtime, id: &Name) -> Result<Option<Schedule>, StoreError> {
    let rows = runtime.store().automations(AutomationKind::Schedule).await?;
    Ok(rows.into_iter().find_map(|row| match row {
        Automation::Schedule(schedule) if schedule.id == *id => Some(schedule),
        _ => None,
    }))
}

fn describe(envelope: &CommandEnvelope) -> String {
    let verb = envelope.command.verb();
    let key = envelope.key.as_ref().map(|key| format!(" (key {})", key.key)).unwrap_or_default();
    let text = match &envelope.command {
        Command::Report(report) => match &report.holder {
            Some(Holder { worker, fence }) => format!("{worker}, fence {fence}: {verb}"),
            None => format!("{}: {verb}", envelope.by),
        },
        Command::Heartbeat(hold) | Command::Progress { hold, .. } | Command::Disconnect(hold) => {
            format!("{}, fence {}: {verb}", hold.worker, hold.fence)
        }
        Command::Cancel(cancel) => format!("{}: cancel ({:?})", envelope.by, cancel.mode),
        Command::Signal { name, .. } => format!("{}: signal {name}", envelope.by),
        Command::AddSchedule(new) => format!("{}: add schedule {} from {}", envelope.by, new.id, new.next_at),
        Command::ChangeSchedule { id, change } => format!("{}: schedule {id}: {change:?}", envelope.by),
        Command::ChangeResource { resource, change } => format!("{}: {resource}: {change:?}", envelope.by),
        Command::ResumeSequence(id) => format!("{}: resume sequence {id}", envelope.by),
        Command::GrantCredits { user, amount, .. } => format!("{}: grant {amount} to {user}", envelope.by),
        Command::Log(log) => match &log.holder {
            Some(Holder { worker, fence }) => format!("{worker}, fence {fence}: log"),
            None => format!("{}: log", envelope.by),
        },
        _ => format!("{}: {verb}", envelope.by),
    };
    text + &key
}

fn describe_reply(cluster: &Cluster, reply: &Reply) -> String {
    match reply {
        None => "the node crashed".to_owned(),
        Some(Err(failure)) => format!("not decided: {failure}"),
        Some(Ok(Err(refusal))) => match refusal {
            Refusal::InvalidTransition { current_state, trigger, .. } => {
                format!("refused: no rule for {trigger} in {current_state}")
            }
            Refusal::LeaseConflict { cause, .. } => format!("refused: lease conflict ({cause})"),
            other => format!("refused: {other}"),
        },
        Some(Ok(Ok(output))) => match output {
            CommandOutput::Job { job, replayed, ignored } => {
                let how = match (replayed, ignored) {
                    (true, _) => ", a replay",
                    (false, true) => ", ignored",
                    (false, false) => "",
                };
                format!("job {} is {}, seq {}{how}", cluster.trace.label(job.id()), job.state, job.seq)
            }
            CommandOutput::Amended(job) => {
                format!("job {} is amended, seq {}", cluster.trace.label(job.id()), job.seq)
            }
            CommandOutput::Claimed { jobs, replayed } => {
                let one =
                    |job: &Arc<Job>| format!("job {} fence {}", cluster.trace.label(job.id()), job.fence);
                let all: Vec<String> = jobs.iter().map(one).collect();
                format!("[{}]{}", all.join(", "), if *replayed { ", a replay" } else { "" })
            }
            CommandOutput::Heartbeat { lease, cancel } => {
                let how = if cancel.is_some() { ", cancel requested" } else { "" };
                format!("renewed until {}{how}", lease.expires().0 % 1_000_000_000)
            }
            CommandOutput::TakenIn { taken, .. } => format!("{taken} requests"),
            CommandOutput::Logged(count) => format!("{count} lines"),
            CommandOutput::Account(account) => format!("{account:?}"),
            CommandOutput::Automation { automation, replayed } => {
                let how = if *replayed { ", a replay" } else { "" };
                format!("{} is due at {:?}{how}", automation.id().1, automation.due_at())
            }
            CommandOutput::Asset { asset, .. } => format!("asset {:?}", asset.storage_path),
            CommandOutput::RequestBound { first_at, .. } => format!("bound at {first_at}"),
            CommandOutput::Nothing => "done".to_owned(),
            // No command of the workload has this output.
            other @ CommandOutput::Key { .. } => format!("{other:?}"),
        },
    }
}

impl Cluster {
    /// Sends a request through the network.
    pub(crate) async fn send(self: &Rc<Self>, rng: &mut Rng, request: Request) -> Reply {
        let plan = &self.plan;
        let while_faulty = |percent: u64| if self.faults_ended() { 0 } else { percent };
        let timeout = Duration::from_millis(rng.between(200, 2000));
        let delay =
            if rng.percent(while_faulty(plan.delayed_requests)) { rng.between(500, 15_000) } else { 0 };
        sleep(Duration::from_millis(rng.between(0, 30) + delay)).await;
        if rng.percent(while_faulty(plan.lost_requests)) {
            self.trace.record(request.job(), format!("{}: request lost", request.describe()));
            sleep(timeout).await;
            return None;
        }
        if rng.percent(while_faulty(plan.duplicated_requests)) {
            let (cluster, duplicate, after) = (Rc::clone(self), request.clone(), rng.between(0, 6000));
            let mut rng = rng.fork();
            tokio::task::spawn_local(async move {
                sleep(Duration::from_millis(after)).await;
                cluster.deliver(&mut rng, duplicate, " (duplicate)").await;
            });
        }
        let reply = self.deliver(rng, request.clone(), "").await;
        sleep(Duration::from_millis(rng.between(0, 30))).await;
        if rng.percent(while_faulty(plan.lost_replies)) {
            self.trace.record(request.job(), format!("{}: reply lost", request.describe()));
            sleep(timeout).await;
            return None;
        }
        reply
    }

    /// Hands a request to a running node, and its reply to the auditor.
    pub(crate) async fn deliver(self: &Rc<Self>, rng: &mut Rng, request: Request, how: &str) -> Reply {
        let up: Vec<&Node> = self.nodes.iter().filter(|node| node.running().is_some()).collect();
        if up.is_empty() {
            sleep(Duration::from_millis(200)).await;
            return None;
        }
        let node = rng.pick(&up);
        let running = node.running()?;
        self.tally.borrow_mut().commands += 1;
        let start = self.audit(|auditor| auditor.begin_request(&request));
        let reply = self.decide(running, request.clone()).await;
        let text = format!("{}{how} → {}: {}", request.describe(), node.name, describe_reply(self, &reply));
        self.record(&request, &reply, &text);
        self.audit(|auditor| auditor.check_reply(&start, &request, &reply));
        reply
    }

    /// Records the line for every job of the request and the reply.
    fn record(&self, request: &Request, reply: &Reply, text: &str) {
        let mut jobs: Vec<JobId> = match reply {
            Some(Ok(Ok(CommandOutput::Job { job, .. } | CommandOutput::Amended(job)))) => vec![job.id()],
            Some(Ok(Ok(CommandOutput::Claimed { jobs, .. }))) => jobs.iter().map(|job| job.id()).collect(),
            _ => Vec::new(),
        };
        if let Some(job) = request.job().filter(|job| !jobs.contains(job)) {
            jobs.insert(0, job);
        }
        if jobs.is_empty() {
            self.trace.record(None, format!("  {text}"));
        }
        for job in jobs {
            self.trace.record(Some(job), text.to_owned());
        }
    }

    async fn decide(&self, running: RunningNode, request: Request) -> Reply {
        let RunningNode { runtime, crash } = running;
        let work = async {
            match request {
                Request::Create(new) => runtime.create(new).await,
                Request::Claim(claim, wait) => runtime.claim(claim, wait).await,
                Request::Amend(by, id, amendment) => match runtime.store().job(id).await {
                    Ok(Some(job)) => runtime.amend(by.into(), &job, amendment).await,
                    Ok(None) => Ok(Err(Refusal::NotFound { what: "job", name: id.to_string() })),
                    Err(error) => Err(error.into()),
                },
                Request::AddSchedule(id, plan) => runtime.add_schedule(OPERATOR.into(), id, *plan).await,
                Request::ResumeSchedule(id) => match find_schedule(&runtime, &id).await {
                    Ok(Some(schedule)) => runtime.resume_schedule(OPERATOR.into(), &schedule, None).await,
                    Ok(None) => Ok(Err(Refusal::NotFound { what: "schedule", name: id.to_string() })),
                    Err(error) => Err(error.into()),
                },
                Request::Submit(mut envelope) => {
                    if let Command::Retry(retry) = envelope.command {
                        envelope.command = Command::Retry(Retry { id: runtime.new_id(), ..retry });
                    }
                    runtime.submit(self.with_bug(envelope)).await
                }
            }
        };
        tokio::select! {
            biased;
            () = crash.wait() => None,
            answer = work => Some(answer),
        }
    }

    fn with_bug(&self, envelope: CommandEnvelope) -> CommandEnvelope {
        if self.bug != Some(Bug::NoFenceCheck) {
            return envelope;
        }
        let job = envelope.command.job().and_then(|id| ready(self.store.handle().job(id)).ok().flatten());
        planted_bugs::as_the_holder(envelope, job.as_deref())
    }
}
