//! Between callers and nodes: requests and answers that are late, lost or doubled. Where a request meets a node, the
//! auditor listens: what a node answers is acknowledged, whether or not the answer arrives.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::command::{Asked, Claim, Command, Retry};
use tenure_core::decide::{Answer, Done};
use tenure_core::id::JobId;
use tenure_core::job::Job;
use tenure_core::refusal::Refusal;
use tenure_runtime::{Failure, NewJob};
use tenure_store::Store;
use tokio::time::sleep;

use crate::chance::Chance;
use crate::ready;
use crate::sabotage::{self, Bug};
use crate::world::{Running, World};

/// What is sent.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// A new job.
    Create(NewJob),
    /// Work for a worker, which waits this long.
    Claim(Claim, Duration),
    /// Anything else.
    Ask(Asked),
}

/// What comes back from a node; `None` if it died meanwhile.
pub(crate) type Reply = Option<Result<Answer, Failure>>;

impl Request {
    /// The job that it is about.
    pub(crate) fn job(&self) -> Option<JobId> {
        match self {
            Self::Create(_) | Self::Claim(..) => None,
            Self::Ask(asked) => asked.command.job(),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Create(new) => {
                let user = new.user_id.as_ref().map_or("nobody", |user| user.as_str());
                let key = new.key.as_ref().map_or("no key", |given| given.key.as_str());
                format!("{user}: create {} ({key})", new.job_type)
            }
            Self::Claim(claim, wait) => format!(
                "{}: claim up to {}{}, waiting {} ms",
                claim.worker,
                claim.max,
                if claim.start { " and start" } else { "" },
                wait.as_millis()
            ),
            Self::Ask(asked) => describe(asked),
        }
    }
}

fn describe(asked: &Asked) -> String {
    let verb = asked.command.verb();
    let key = asked.key.as_ref().map(|given| format!(" (key {})", given.key)).unwrap_or_default();
    let said = match &asked.command {
        Command::Report(report) => match &report.holder {
            Some((worker, fence)) => format!("{worker}, fence {fence}: {verb}"),
            None => format!("{}: {verb}", asked.by),
        },
        Command::Heartbeat(hold) | Command::Progress(hold, ..) | Command::Disconnect(hold) => {
            format!("{}, fence {}: {verb}", hold.worker, hold.fence)
        }
        Command::Cancel(cancel) => format!("{}: cancel ({:?})", asked.by, cancel.mode),
        Command::Signal(_, name, _) => format!("{}: signal {name}", asked.by),
        Command::Grant(user, amount, _) => format!("{}: grant {amount} to {user}", asked.by),
        Command::Log(log) => match &log.holder {
            Some((worker, fence)) => format!("{worker}, fence {fence}: log"),
            None => format!("{}: log", asked.by),
        },
        _ => format!("{}: {verb}", asked.by),
    };
    said + &key
}

fn describe_reply(world: &World, reply: &Reply) -> String {
    match reply {
        None => "the node died".to_owned(),
        Some(Err(failure)) => format!("not decided: {failure}"),
        Some(Ok(Err(refusal))) => match refusal {
            Refusal::InvalidTransition { current_state, trigger, .. } => {
                format!("refused: {trigger} does not lead out of {current_state}")
            }
            Refusal::LeaseConflict { cause, .. } => format!("refused: lease conflict ({cause})"),
            other => format!("refused: {other}"),
        },
        Some(Ok(Ok(done))) => match done {
            Done::Job { job, replayed, ignored } => {
                let how = if *replayed {
                    ", a replay"
                } else if *ignored {
                    ", ignored"
                } else {
                    ""
                };
                format!("job {} is {}, seq {}{how}", world.story.label(job.id()), job.state, job.seq)
            }
            Done::Claimed { jobs, replayed } => {
                let one = |job: &Arc<Job>| format!("job {} fence {}", world.story.label(job.id()), job.fence);
                let all: Vec<String> = jobs.iter().map(one).collect();
                format!("[{}]{}", all.join(", "), if *replayed { ", a replay" } else { "" })
            }
            Done::Beat { lease, cancel } => format!(
                "heard, until {}{}",
                lease.expires().0 % 1_000_000_000,
                if cancel.is_some() { ", cancel asked" } else { "" }
            ),
            Done::Logged(count) => format!("{count} lines"),
            Done::Account(account) => format!("{account:?}"),
            Done::Key { key, .. } => format!("key {} for {}", key.id, key.role.as_str()),
            Done::Asset { asset, .. } => format!("asset {}", asset.id),
            Done::Order { order, .. } => format!("{} {}", order.id().0.as_str(), order.id().1),
            Done::Nothing => "done".to_owned(),
        },
    }
}

impl World {
    /// Sends a request through the network; `None` if no answer came.
    pub(crate) async fn ask(self: &Rc<Self>, chance: &mut Chance, request: Request) -> Reply {
        let climate = &self.climate;
        let storm = |times: u64| if self.is_healed() { 0 } else { times };
        let patience = Duration::from_millis(chance.between(200, 2000));
        let late = if chance.percent(storm(climate.delayed)) { chance.between(500, 15_000) } else { 0 };
        sleep(Duration::from_millis(chance.between(0, 30) + late)).await;
        if chance.percent(storm(climate.lost_requests)) {
            self.story.tell(request.job(), format!("{}: lost on the way", request.describe()));
            sleep(patience).await;
            return None;
        }
        if chance.percent(storm(climate.doubled)) {
            let (world, again, after) = (Rc::clone(self), request.clone(), chance.between(0, 6000));
            let mut chance = chance.fork();
            tokio::task::spawn_local(async move {
                sleep(Duration::from_millis(after)).await;
                world.deliver(&mut chance, again, " (doubled)").await;
            });
        }
        let reply = self.deliver(chance, request.clone(), "").await;
        sleep(Duration::from_millis(chance.between(0, 30))).await;
        if chance.percent(storm(climate.lost_answers)) {
            self.story.tell(request.job(), format!("{}: its answer is lost", request.describe()));
            sleep(patience).await;
            return None;
        }
        reply
    }

    /// Hands a request to a node that runs, with the auditor listening.
    async fn deliver(self: &Rc<Self>, chance: &mut Chance, request: Request, how: &str) -> Reply {
        let up: Vec<usize> =
            (0..self.nodes.len()).filter(|index| self.nodes[*index].running().is_some()).collect();
        if up.is_empty() {
            sleep(Duration::from_millis(200)).await;
            return None;
        }
        let node = &self.nodes[chance.pick(&up)];
        let running = node.running()?;
        self.tally.borrow_mut().commands += 1;
        let (mut before, since) = (None, self.now());
        self.audit(|auditor| before = Some(auditor.before(&request, since)));
        let reply = self.decide(running, request.clone()).await;
        let text = format!("{}{how} → {}: {}", request.describe(), node.name, describe_reply(self, &reply));
        self.tell(&request, &reply, &text);
        let now = self.now();
        if let Some(before) = before {
            self.audit(|auditor| auditor.heard(&before, &request, &reply, now));
        }
        reply
    }

    /// Tells the line under every job that it is about.
    fn tell(&self, request: &Request, reply: &Reply, text: &str) {
        let answered: Vec<JobId> = match reply {
            Some(Ok(Ok(Done::Job { job, .. }))) => vec![job.id()],
            Some(Ok(Ok(Done::Claimed { jobs, .. }))) => jobs.iter().map(|job| job.id()).collect(),
            _ => Vec::new(),
        };
        match request.job() {
            Some(job) if !answered.contains(&job) => self.story.tell(Some(job), text.to_owned()),
            Some(_) | None => {}
        }
        if answered.is_empty() && request.job().is_none() {
            self.story.tell(None, format!("  {text}"));
        }
        for job in answered {
            self.story.tell(Some(job), text.to_owned());
        }
    }

    async fn decide(&self, running: Running, request: Request) -> Reply {
        let Running { runtime, death } = running;
        let work = async {
            match request {
                Request::Create(new) => runtime.create(new).await,
                Request::Claim(claim, wait) => runtime.claim(claim, wait).await,
                Request::Ask(mut asked) => {
                    if let Command::Retry(retry) = asked.command {
                        asked.command = Command::Retry(Retry { id: runtime.new_id(), ..retry });
                    }
                    runtime.submit(self.sabotaged(asked)).await
                }
            }
        };
        tokio::select! {
            biased;
            () = death.wait() => None,
            answer = work => Some(answer),
        }
    }

    fn sabotaged(&self, asked: Asked) -> Asked {
        if self.bug != Some(Bug::NoFenceCheck) {
            return asked;
        }
        let job = asked.command.job().and_then(|id| ready(self.store.job(id)).ok().flatten());
        sabotage::as_the_holder(asked, job.as_deref())
    }
}
