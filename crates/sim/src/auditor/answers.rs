//! What a node answered: it is in the journal (law 8), was said by someone who had the right to (law 4) before his time
//! was up (law 9), and happened once (law 7).

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_core::command::{Asked, Claim, Command, Hold, Report};
use tenure_core::decide::Done;
use tenure_core::id::{JobId, Name};
use tenure_core::job::{CancelMode, Job, Lease};
use tenure_core::lifecycle::Trigger;
use tenure_core::time::Timestamp;
use tenure_runtime::{Failure, NewJob};
use tenure_store::StoreError;

use crate::auditor::track::{Step, Track};
use crate::auditor::{Auditor, Violation};
use crate::network::{Reply, Request};

/// What was known when a node got a request.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    /// How far its job was.
    pub(super) seq: u32,
    /// The store's time.
    since: Timestamp,
    /// Which request it was.
    number: u64,
}

impl Auditor {
    /// Notes that a node has a request.
    pub(crate) fn before(&mut self, request: &Request, since: Timestamp) -> Before {
        self.read();
        let track = request.job().and_then(|job| self.tracks.get_mut(&job));
        let seq = track.map_or(0, |track| {
            track.in_flight += 1;
            track.seq
        });
        self.requests += 1;
        let number = self.requests;
        if let Request::Claim(claim, _) = request {
            self.waiting.insert(number, (claim.filter.clone(), since));
        }
        Before { seq, since, number }
    }

    /// Hears what came of it.
    pub(crate) fn heard(&mut self, before: &Before, request: &Request, reply: &Reply, now: Timestamp) {
        self.read();
        self.waiting.remove(&before.number);
        if let Some(track) = request.job().and_then(|job| self.tracks.get_mut(&job)) {
            track.in_flight = track.in_flight.saturating_sub(1);
        }
        let found = match (request, reply) {
            (_, None | Some(Err(Failure::Stopped))) => self.unsure(request, now),
            (_, Some(Err(Failure::Store(error)))) if matches!(**error, StoreError::OutcomeUnknown(_)) => {
                self.unsure(request, now)
            }
            // Anything else says that nothing was written.
            (_, Some(Err(_))) => None,
            (_, Some(Ok(Err(refusal)))) => self.refused(before, request, refusal),
            (Request::Create(new), Some(Ok(Ok(done)))) => self.created(before, new, done, now),
            (Request::Claim(claim, _), Some(Ok(Ok(done)))) => self.claimed(claim, done, before.since, now),
            (Request::Ask(asked), Some(Ok(Ok(done)))) => self.done(before, asked, done, now),
        };
        self.found.extend(found);
    }

    /// Nobody knows whether it was done: both are possible until the row is seen.
    fn unsure(&mut self, request: &Request, now: Timestamp) -> Option<Violation> {
        let Request::Ask(asked) = request else { return None };
        let (running, now_ms) = (now.0 - self.stopped, self.story.elapsed_ms());
        let track = self.tracks.get_mut(&asked.command.job()?)?;
        track.unsure_ms = Some(now_ms);
        match &asked.command {
            Command::Cancel(cancel) if cancel.mode == CancelMode::Soft && track.held.is_some() => {
                let grace = running + track.kind.policy.cancel_grace.0 as i64;
                if track.graces.contains(&None) {
                    track.graces.push(Some(grace));
                }
            }
            command => {
                let (worker, fence) = holder(command)?;
                if track.held.as_ref().is_some_and(|held| held.fence == fence && held.worker == worker) {
                    track.perhaps_beat(running);
                }
            }
        }
        None
    }

    /// Law 8: what is acknowledged is there.
    fn there(&self, job: &Job) -> Result<&Track, Violation> {
        let gone = |what: String| Violation::new(8, Some(job.id()), what);
        let track = self
            .tracks
            .get(&job.id())
            .ok_or_else(|| gone("acknowledged, and not in the journal".to_owned()))?;
        let step = (job.seq as usize).checked_sub(1).and_then(|index| track.steps.get(index));
        match step {
            Some(step) if step.to == job.state => Ok(track),
            Some(step) => {
                let what = format!("answered with {} at seq {}", job.state, job.seq);
                Err(track.breaks(8, what, step.to.to_string()))
            }
            None => {
                let what = format!("answered with {} at seq {}", job.state, job.seq);
                Err(track.breaks(8, what, format!("a journal that has it; it has {}", track.seq)))
            }
        }
    }

    fn created(&mut self, before: &Before, new: &NewJob, done: &Done, now: Timestamp) -> Option<Violation> {
        let Done::Job { job, replayed, .. } = done else { return Some(wrong_kind("create")) };
        let track = match self.there(job) {
            Ok(track) => track,
            Err(violation) => return Some(violation),
        };
        let spec = &track.spec;
        let same = spec.job_type == new.job_type && spec.user_id == new.user_id;
        let same_key = match &new.key {
            Some(given) => {
                spec.links.idempotency_key.as_ref() == Some(&given.key) && spec.payload == new.payload
            }
            None => true,
        };
        if !same || !same_key {
            return Some(track.breaks(
                7,
                "a creation was answered with this job",
                "the job that was asked for",
            ));
        }
        let ts = track.steps[0].ts;
        let fresh = (before.since..=now).contains(&ts);
        let late = !replayed && !fresh;
        late.then(|| {
            track.breaks(7, format!("a job of {ts} was answered as new at {now}"), "marked as a replay")
        })
    }

    fn claimed(&mut self, claim: &Claim, done: &Done, since: Timestamp, now: Timestamp) -> Option<Violation> {
        let Done::Claimed { jobs, replayed } = done else { return Some(wrong_kind("claim")) };
        let got: BTreeSet<(JobId, u64)> = jobs.iter().map(|job| (job.id(), job.fence.0)).collect();
        for job in jobs {
            if let Err(violation) = self.granted(claim, job, (!replayed).then_some((since, now))) {
                return Some(violation);
            }
        }
        let request_id = claim.request_id.clone().filter(|_| !got.is_empty())?;
        let first = self.keys.claims.entry((claim.worker.clone(), request_id)).or_insert_with(|| got.clone());
        let more = got.difference(first).next()?;
        let what = format!("{}'s repeated claim got a job that the first did not", claim.worker);
        Some(Violation { expected: Some(format!("only {first:?}")), ..Violation::new(7, Some(more.0), what) })
    }

    /// Law 4: a job was handed to the worker that asked, under the fence that the journal says.
    fn granted(
        &self,
        claim: &Claim,
        job: &Job,
        fresh: Option<(Timestamp, Timestamp)>,
    ) -> Result<(), Violation> {
        let track = self.there(job)?;
        let grants: Vec<&Step> = track.steps.iter().filter(|step| step.trigger == Trigger::Claim).collect();
        let grant = (job.fence.0 as usize).checked_sub(1).and_then(|index| grants.get(index));
        let lease = job.lease.as_ref().map(|lease| (lease.worker.clone(), lease.fence));
        if lease != Some((claim.worker.clone(), job.fence)) {
            return Err(track.breaks(
                4,
                format!("handed to {} with {lease:?}", claim.worker),
                "its own lease",
            ));
        }
        match (grant, fresh) {
            (None, _) => {
                Err(track.breaks(4, format!("handed out under fence {}", job.fence), "a claim event"))
            }
            (Some(step), Some((since, now))) if !(since..=now).contains(&step.ts) => {
                let what = format!("fence {} of {} was handed out anew at {now}", job.fence, step.ts);
                Err(track.breaks(4, what, "marked as a replay"))
            }
            (Some(_), _) => Ok(()),
        }
    }

    fn done(&mut self, before: &Before, asked: &Asked, done: &Done, now: Timestamp) -> Option<Violation> {
        if let Done::Job { job, .. } = done
            && let Err(violation) = self.there(job)
        {
            return Some(violation);
        }
        let found = self.once(asked, done);
        if found.is_some() || matches!(done, Done::Job { replayed: true, .. }) {
            return found;
        }
        let running = now.0 - self.stopped;
        match (&asked.command, done) {
            (Command::Report(report), Done::Job { job, .. }) => self.reported(before, report, job, now),
            (Command::Heartbeat(hold), Done::Beat { lease, .. }) => self.beaten(hold, lease, running),
            (Command::Progress(hold, ..), Done::Job { ignored, .. }) => {
                let live = !ignored || self.is_live(hold);
                self.sounded(hold, live, running)
            }
            (Command::Log(log), Done::Logged(_)) => {
                let (worker, fence) = log.holder.clone()?;
                let hold = Hold { job: log.job, worker, fence };
                let live = self.is_live(&hold);
                self.sounded(&hold, live, running)
            }
            (Command::Cancel(cancel), Done::Job { job, .. }) => {
                let soft = cancel.mode == CancelMode::Soft && job.phase.is_leased();
                if soft {
                    self.asked_to_stop(job, running)
                } else {
                    self.moved(before, job, &Trigger::Cancel)
                }
            }
            (Command::DeadLetter(..), Done::Job { job, .. }) => self.moved(before, job, &Trigger::DeadLetter),
            (Command::Signal(_, name, _), Done::Job { job, .. }) => {
                self.moved(before, job, &Trigger::Signal(name.clone()))
            }
            (Command::Retry(retry), Done::Job { job, .. }) => {
                let links = job.spec.links.retry_of == Some(retry.job) && job.id() != retry.job;
                let over = self.tracks.get(&retry.job).is_some_and(|track| track.phase.is_final());
                let what =
                    format!("a retry was answered with job {} of {:?}", job.id(), job.spec.links.retry_of);
                (!links || !over).then(|| Violation::new(2, Some(retry.job), what))
            }
            _ => None,
        }
    }

    /// Law 7: with the same key, once.
    fn once(&mut self, asked: &Asked, done: &Done) -> Option<Violation> {
        let (verb, key) = (asked.command.verb(), asked.key.as_ref()?.key.clone());
        let job = asked.command.job()?;
        let again = !self.keys.verbs.insert((verb, job, key.clone()));
        let replayed = !matches!(done, Done::Job { replayed: false, .. });
        let what = format!("{verb} with key {key} was done again");
        (again && !replayed).then(|| Violation::new(7, Some(job), what))
    }

    /// An accepted report moved the job, and was its holder's.
    fn reported(
        &self,
        before: &Before,
        report: &Report,
        job: &Arc<Job>,
        now: Timestamp,
    ) -> Option<Violation> {
        let track = self.tracks.get(&report.job)?;
        let trigger = report.verb.trigger();
        let holder = report.holder.as_ref().map(|(worker, fence)| (worker.clone(), fence.0));
        let steps = &track.steps[before.seq as usize..job.seq as usize];
        let own = steps.iter().filter(|step| step.trigger == trigger && !step.by_clock);
        let Some(step) = own.clone().find(|step| step.holder == holder).or_else(|| own.clone().next()) else {
            return Some(track.breaks(5, format!("{trigger} was acknowledged"), "an event of it"));
        };
        if step.holder != holder {
            let what = format!("{trigger} of {} was accepted", named(holder.as_ref()));
            return Some(track.breaks(4, what, format!("only from {}", named(step.holder.as_ref()))));
        }
        let in_time = (before.since..=now).contains(&step.ts);
        let what = format!("{trigger} of {} was accepted at {now}", step.ts);
        (!in_time).then(|| track.breaks(9, what, "the time at which it was decided"))
    }

    fn is_live(&self, hold: &Hold) -> bool {
        let held = self.tracks.get(&hold.job).and_then(|track| track.held.as_ref());
        held.is_some_and(|held| held.fence == hold.fence.0 && held.worker == hold.worker)
    }

    /// An accepted heartbeat was the holder's, in time, and tells the new expiry.
    fn beaten(&mut self, hold: &Hold, lease: &Lease, running: i64) -> Option<Violation> {
        let found = self.sounded(hold, true, running);
        let track = self.tracks.get(&hold.job)?;
        let told = (lease.ends.0, lease.beat_by.0);
        let held = track.held.as_ref().filter(|held| !held.ends.contains(&told));
        found.or_else(|| {
            let what = format!("the heartbeat was told {told:?}");
            held.map(|held| track.breaks(9, what, format!("{:?}", held.ends)))
        })
    }

    /// A sign of life was accepted: `live` says that it counted as the present holder's.
    fn sounded(&mut self, hold: &Hold, live: bool, running: i64) -> Option<Violation> {
        let is_live = self.is_live(hold);
        let track = self.tracks.get_mut(&hold.job)?;
        let (worker, fence) = (&hold.worker, hold.fence);
        if !live {
            let was = track.ended.as_ref().is_some_and(|end| end.fence == fence.0 && end.worker == *worker);
            let what = format!("{worker} with fence {fence} was listened to");
            return (!was && !is_live).then(|| track.breaks(4, what, "a lease conflict"));
        }
        // Another command of the same batch may have ended the lease right after.
        let just_ended =
            track.ended.as_ref().is_some_and(|end| end.fence == fence.0 && end.worker == *worker)
                && track.updated_at.0 - self.stopped == running;
        if !is_live {
            let what = format!("{worker} with fence {fence} was taken for the holder");
            let holder = track.held.as_ref().map(|held| (held.worker.clone(), held.fence));
            return (!just_ended).then(|| track.breaks(4, what, format!("only {}", named(holder.as_ref()))));
        }
        let late = track.deadlines().into_iter().find(|one| one.latest <= running);
        track.beat(running);
        let what = format!("{worker} was heard at {running}");
        late.map(|late| track.breaks(9, what, format!("{} first, at {}", late.what, late.latest)))
    }

    fn asked_to_stop(&mut self, job: &Job, running: i64) -> Option<Violation> {
        let track = self.tracks.get_mut(&job.id())?;
        let grace = running + track.kind.policy.cancel_grace.0 as i64;
        if track.held.is_some() {
            track.graces.iter_mut().for_each(|one| *one = Some(one.unwrap_or(grace)));
        }
        let told = job.cancel.as_ref().map(|cancel| cancel.hard_at.0);
        let known = track.held.is_none() || track.graces.contains(&told);
        let what = format!("the cancel becomes hard at {told:?}");
        (!known).then(|| track.breaks(9, what, format!("{:?}", track.graces)))
    }

    /// An accepted trigger moved the job.
    fn moved(&self, before: &Before, job: &Job, trigger: &Trigger) -> Option<Violation> {
        let track = self.tracks.get(&job.id())?;
        let steps = &track.steps[(before.seq as usize).min(job.seq as usize)..job.seq as usize];
        let moved = steps.iter().any(|step| step.trigger == *trigger);
        (!moved).then(|| track.breaks(5, format!("{trigger} was acknowledged"), "an event of it"))
    }
}

/// Who a command says that he is.
fn holder(command: &Command) -> Option<(Name, u64)> {
    match command {
        Command::Report(report) => report.holder.clone().map(|(worker, fence)| (worker, fence.0)),
        Command::Heartbeat(hold) | Command::Progress(hold, ..) => Some((hold.worker.clone(), hold.fence.0)),
        Command::Log(log) => log.holder.clone().map(|(worker, fence)| (worker, fence.0)),
        _ => None,
    }
}

fn named(holder: Option<&(Name, u64)>) -> String {
    holder.map_or_else(|| "nobody".to_owned(), |(worker, fence)| format!("{worker} with fence {fence}"))
}

fn wrong_kind(verb: &str) -> Violation {
    Violation::new(8, None, format!("{verb} was answered with something else"))
}
