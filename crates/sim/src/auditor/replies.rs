//! Checks replies: what a node acknowledges is in the journal (law 8), came from the lease's holder (law 4) before its
//! deadlines (law 9), and happened once (law 7).

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use tenure_core::job::Lease;

use crate::auditor::flow::check_answer;
use crate::auditor::job_model::{JobModel, LeaseModel, Transition};
use crate::auditor::{Auditor, Violation};
use crate::network::{Reply, Request};
use crate::prelude::*;

/// The state at the time at which a node got a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestStart {
    /// The job's last event.
    pub(super) seq: u32,
    /// The store's time.
    pub(super) at: Timestamp,
    request: u64,
    /// Events that had been read.
    pub(super) events: usize,
}

impl Auditor {
    pub(crate) fn begin_request(&mut self, request: &Request) -> RequestStart {
        self.read();
        let model = request.job().and_then(|job| self.models.get_mut(&job));
        let seq = model.map_or(0, |model| {
            model.in_flight += 1;
            model.seq
        });
        if let Some(schedule) = request.schedule() {
            self.read_automations();
            self.schedules.begin_change(schedule);
        }
        self.flow.begin_request(request);
        self.requests += 1;
        let number = self.requests;
        if let Request::Claim(claim, _) = request {
            self.waiting.insert(number, (claim.clone(), self.now));
        }
        RequestStart { seq, at: self.now, request: number, events: self.events_read.len() }
    }

    pub(crate) fn check_reply(&mut self, start: &RequestStart, request: &Request, reply: &Reply) {
        self.read();
        self.waiting.remove(&start.request);
        if let Some(schedule) = request.schedule() {
            self.read_automations();
            self.schedules.end_change(schedule, self.trace.elapsed_ms());
        }
        if let Some(model) = request.job().and_then(|job| self.models.get_mut(&job)) {
            model.in_flight = model.in_flight.saturating_sub(1);
        }
        let violation = match (request, reply) {
            (_, None | Some(Err(Failure::Stopped))) => self.outcome_unknown(request),
            (_, Some(Err(Failure::Store(error)))) if matches!(**error, StoreError::OutcomeUnknown(_)) => {
                self.outcome_unknown(request)
            }
            // After any other failure nothing was written. Rows of schedules are compared with the journal.
            (_, Some(Err(_))) | (Request::AddSchedule(..) | Request::ResumeSchedule(_), Some(Ok(Ok(_)))) => {
                None
            }
            (_, Some(Ok(Err(refusal)))) => self.check_refusal(start, request, refusal),
            (Request::Create(new), Some(Ok(Ok(output)))) => self.check_creation(start, new, output),
            (Request::Claim(claim, _), Some(Ok(Ok(output)))) => self.check_claim(start, claim, output),
            (Request::Amend(_, _, amendment), Some(Ok(Ok(output)))) => {
                self.check_amended(start, amendment, output)
            }
            (Request::Submit(envelope), Some(Ok(Ok(output)))) => self.check_output(start, envelope, output),
        };
        self.violations.extend(violation);
        if let (Request::Submit(envelope), Some(Ok(Ok(output)))) = (request, reply)
            && !matches!(output, CommandOutput::Job { replayed: true, .. })
        {
            let keys = |id: JobId| self.models.get(&id).map(JobModel::buckets).unwrap_or_default();
            let violation = self.flow.check_acknowledged(start.at, &envelope.command, keys, self.now);
            self.violations.extend(violation);
        }
        self.flow.end_request(request);
    }

    /// The command was executed or not: both are possible until the row is read.
    fn outcome_unknown(&mut self, request: &Request) -> Option<Violation> {
        let Request::Submit(envelope) = request else { return None };
        let (running, now_ms) = (self.running(), self.trace.elapsed_ms());
        let model = self.models.get_mut(&envelope.command.job()?)?;
        model.unknown_at_ms = Some(now_ms);
        match &envelope.command {
            Command::Cancel(cancel) if cancel.mode == CancelMode::Soft && model.held.is_some() => {
                let grace = running + model.kind.policy.cancel_grace.0 as i64;
                if model.graces.contains(&None) {
                    model.graces.push(Some(grace));
                }
            }
            command => {
                if model.is_held_by(&hold_of(command)?) {
                    model.perhaps_renew(running);
                }
            }
        }
        None
    }

    /// Law 8: an acknowledged job is in the journal.
    pub(super) fn journaled(&self, job: &Job) -> Result<&JobModel, Violation> {
        let missing = || Violation::new(8, Some(job.id()), "acknowledged, but not in the journal".to_owned());
        let model = self.models.get(&job.id()).ok_or_else(missing)?;
        let step = (job.seq as usize).checked_sub(1).and_then(|index| model.steps.get(index));
        let what = || format!("answered with {} at seq {}", job.state, job.seq);
        match step {
            Some(step) if step.to == job.state => Ok(model),
            Some(step) => Err(model.violation(8, what(), step.to.to_string())),
            None => Err(model.violation(8, what(), format!("an event; the last one is {}", model.seq))),
        }
    }

    fn check_creation(
        &self,
        start: &RequestStart,
        new: &NewJob,
        output: &CommandOutput,
    ) -> Option<Violation> {
        let (job, replayed, is_amended) = match output {
            CommandOutput::Job { job, replayed, .. } => (job, *replayed, false),
            CommandOutput::Amended(job) => (job, true, true),
            _ => return Some(wrong_output("create")),
        };
        let model = match self.journaled(job) {
            Ok(model) => model,
            Err(violation) => return Some(violation),
        };
        let spec = &model.spec;
        let same_user = spec.user_id == new.user_id || model.keys.unique.is_some();
        let same = spec.job_type == new.job_type && same_user;
        let is_unique = model.keys.unique.is_some();
        let same_key = is_unique
            || new.key.as_ref().is_none_or(|key| {
                spec.links.idempotency_key.as_ref() == Some(&key.key) && spec.payload == new.payload
            });
        if !same || !same_key {
            return Some(model.violation(7, "a creation was answered with this job", "the requested job"));
        }
        if is_unique && new.key.is_none() {
            let violation = check_answer(model, new, job, is_amended);
            if violation.is_some() {
                return violation;
            }
        }
        let (ts, now) = (model.steps[0].ts, self.now);
        let fresh = (start.at..=now).contains(&ts);
        let what = format!("a job of {ts} was answered as new at {now}");
        (!replayed && !fresh).then(|| model.violation(7, what, "marked as a replay"))
    }

    fn check_claim(
        &mut self,
        start: &RequestStart,
        claim: &Claim,
        output: &CommandOutput,
    ) -> Option<Violation> {
        let CommandOutput::Claimed { jobs, replayed } = output else { return Some(wrong_output("claim")) };
        let got: BTreeSet<(JobId, u64)> = jobs.iter().map(|job| (job.id(), job.fence.0)).collect();
        for job in jobs {
            if let Err(violation) = self.check_grant(claim, job, (!replayed).then_some(start.at..=self.now)) {
                return Some(violation);
            }
        }
        let request_id = claim.request_id.clone().filter(|_| !got.is_empty())?;
        let first = self.keys.claims.entry((claim.worker.clone(), request_id)).or_insert_with(|| got.clone());
        let more = got.difference(first).next()?;
        let what = format!("{}'s repeated claim got a job that the first did not", claim.worker);
        Some(Violation { expected: Some(format!("only {first:?}")), ..Violation::new(7, Some(more.0), what) })
    }

    /// Law 4: a claimed job has a lease of this worker with the fence of its claim event, which happened in this period
    /// unless the reply is a replay.
    fn check_grant(
        &self,
        claim: &Claim,
        job: &Job,
        period: Option<RangeInclusive<Timestamp>>,
    ) -> Result<(), Violation> {
        let model = self.journaled(job)?;
        let grants: Vec<&Transition> =
            model.steps.iter().filter(|step| step.trigger == Trigger::Claim).collect();
        let grant = (job.fence.0 as usize).checked_sub(1).and_then(|index| grants.get(index));
        let lease = job.lease.as_ref().map(|lease| (lease.worker.clone(), lease.fence));
        if lease != Some((claim.worker.clone(), job.fence)) {
            let what = format!("granted to {} with {lease:?}", claim.worker);
            return Err(model.violation(4, what, "a lease of this worker"));
        }
        match (grant, period) {
            (None, _) => {
                Err(model.violation(4, format!("granted with fence {}", job.fence), "a claim event"))
            }
            (Some(step), Some(period)) if !period.contains(&step.ts) => {
                let (fence, ts, end) = (job.fence, step.ts, period.end());
                let what = format!("fence {fence} of {ts} was granted as new at {end}");
                Err(model.violation(4, what, "marked as a replay"))
            }
            (Some(_), _) => Ok(()),
        }
    }

    fn check_output(
        &mut self,
        start: &RequestStart,
        envelope: &CommandEnvelope,
        output: &CommandOutput,
    ) -> Option<Violation> {
        if let CommandOutput::Job { job, .. } = output
            && let Err(violation) = self.journaled(job)
        {
            return Some(violation);
        }
        let violation = self.check_key(envelope, output);
        if violation.is_some() || matches!(output, CommandOutput::Job { replayed: true, .. }) {
            return violation;
        }
        match (&envelope.command, output) {
            (Command::Report(report), CommandOutput::Job { job, .. }) => {
                self.check_report(start, report, job)
            }
            (Command::Heartbeat(hold), CommandOutput::Heartbeat { lease, .. }) => {
                self.check_heartbeat(hold, lease)
            }
            (Command::Progress { hold, .. }, CommandOutput::Job { ignored, .. }) => {
                self.check_renewal(hold, !ignored || self.is_live(hold))
            }
            (Command::Upload(_), CommandOutput::Nothing)
            | (Command::AddAsset(_), CommandOutput::Asset { .. }) => {
                self.check_renewal(&hold_of(&envelope.command)?, true)
            }
            (Command::Log(_), CommandOutput::Logged(_)) => {
                let hold = hold_of(&envelope.command)?;
                self.check_renewal(&hold, self.is_live(&hold))
            }
            (Command::Cancel(cancel), CommandOutput::Job { job, .. })
                if cancel.mode == CancelMode::Soft && job.phase.is_leased() =>
            {
                self.check_cancel(job)
            }
            (Command::Cancel(_), CommandOutput::Job { job, .. }) => {
                self.check_transition(start, job, &Trigger::Cancel)
            }
            (Command::DeadLetter { .. }, CommandOutput::Job { job, .. }) => {
                self.check_transition(start, job, &Trigger::DeadLetter)
            }
            (Command::Signal { name, .. }, CommandOutput::Job { job, .. }) => {
                self.check_transition(start, job, &Trigger::Signal(name.clone()))
            }
            (Command::Retry(retry), CommandOutput::Job { job, .. }) => {
                let links = job.spec.links.retry_of == Some(retry.job) && job.id() != retry.job;
                let over = self.models.get(&retry.job).is_some_and(|model| model.phase.is_final());
                let what =
                    format!("a retry was answered with job {} of {:?}", job.id(), job.spec.links.retry_of);
                (!links || !over).then(|| Violation::new(2, Some(retry.job), what))
            }
            _ => None,
        }
    }

    /// Law 7: a command with the same key is executed once.
    fn check_key(&mut self, envelope: &CommandEnvelope, output: &CommandOutput) -> Option<Violation> {
        let (verb, key) = (envelope.command.verb(), envelope.key.as_ref()?.key.clone());
        let job = envelope.command.job()?;
        let again = !self.keys.verbs.insert((verb, job, key.clone()));
        let replayed = !matches!(output, CommandOutput::Job { replayed: false, .. });
        let what = format!("{verb} with key {key} was executed again");
        (again && !replayed).then(|| Violation::new(7, Some(job), what))
    }

    /// An accepted report caused a transition, and came from the holder.
    fn check_report(&self, start: &RequestStart, report: &Report, job: &Job) -> Option<Violation> {
        let model = self.models.get(&report.job)?;
        let trigger = report.verb.trigger();
        let holder = report.holder.clone();
        let steps = &model.steps[start.seq as usize..job.seq as usize];
        let own = steps.iter().filter(|step| step.trigger == trigger && !step.by_clock);
        let Some(step) = own.clone().find(|step| step.holder == holder).or_else(|| own.clone().next()) else {
            return Some(model.violation(5, format!("{trigger} was acknowledged"), "an event"));
        };
        if step.holder != holder {
            let what = format!("{trigger} of {} was accepted", describe_holder(holder.as_ref()));
            let expected = format!("only from {}", describe_holder(step.holder.as_ref()));
            return Some(model.violation(4, what, expected));
        }
        let in_time = (start.at..=self.now).contains(&step.ts);
        let what = format!("{trigger} of {} was accepted at {}", step.ts, self.now);
        (!in_time).then(|| model.violation(9, what, "the time at which it was decided"))
    }

    fn is_live(&self, hold: &Hold) -> bool {
        self.models.get(&hold.job).is_some_and(|model| model.is_held_by(hold))
    }

    /// An accepted heartbeat came from the holder, in time, and returns the new expiry.
    fn check_heartbeat(&mut self, hold: &Hold, lease: &Lease) -> Option<Violation> {
        let violation = self.check_renewal(hold, true);
        let model = self.models.get(&hold.job)?;
        let returned = (lease.ends.0, lease.beat_by.0);
        let held = model.held.as_ref().filter(|held| !held.ends.contains(&returned));
        violation.or_else(|| {
            let what = format!("the heartbeat returned {returned:?}");
            held.map(|held| model.violation(9, what, format!("{:?}", held.ends)))
        })
    }

    /// A renewing command was accepted; `live` says whether it counted as the current holder's.
    fn check_renewal(&mut self, hold: &Hold, live: bool) -> Option<Violation> {
        let (is_live, running) = (self.is_live(hold), self.running());
        let model = self.models.get_mut(&hold.job)?;
        let (worker, fence) = (&hold.worker, hold.fence);
        if !live {
            let what = format!("{worker} with fence {fence} was accepted");
            let unknown = !model.was_held_by(hold) && !is_live;
            return unknown.then(|| model.violation(4, what, "a lease conflict"));
        }
        // Another command of the same batch may have ended the lease right after.
        let just_ended = model.was_held_by(hold) && model.updated_at.0 - self.stopped == running;
        if !is_live {
            let what = format!("{worker} with fence {fence} was accepted as the holder");
            let holder = model.held.as_ref().map(LeaseModel::holder);
            let expected = format!("only {}", describe_holder(holder.as_ref()));
            return (!just_ended).then(|| model.violation(4, what, expected));
        }
        let late = model.deadlines().into_iter().find(|one| one.latest <= running);
        model.renew(running);
        let what = format!("a command of {worker} was accepted at {running}");
        late.map(|late| model.violation(9, what, format!("{} first, at {}", late.what, late.latest)))
    }

    fn check_cancel(&mut self, job: &Job) -> Option<Violation> {
        let running = self.running();
        let model = self.models.get_mut(&job.id())?;
        let grace = running + model.kind.policy.cancel_grace.0 as i64;
        if model.held.is_some() {
            model.graces.iter_mut().for_each(|one| *one = Some(one.unwrap_or(grace)));
        }
        let hard_at = job.cancel.as_ref().map(|cancel| cancel.hard_at.0);
        let known = model.held.is_none() || model.graces.contains(&hard_at);
        let what = format!("the cancel becomes hard at {hard_at:?}");
        (!known).then(|| model.violation(9, what, format!("{:?}", model.graces)))
    }

    /// An accepted trigger caused a transition.
    fn check_transition(&self, start: &RequestStart, job: &Job, trigger: &Trigger) -> Option<Violation> {
        let model = self.models.get(&job.id())?;
        let steps = &model.steps[(start.seq as usize).min(job.seq as usize)..job.seq as usize];
        let caused = steps.iter().any(|step| step.trigger == *trigger);
        (!caused).then(|| model.violation(5, format!("{trigger} was acknowledged"), "an event"))
    }
}

/// The lease that a command refers to.
pub(super) fn hold_of(command: &Command) -> Option<Hold> {
    let hold = |job, Holder { worker, fence }| Hold { job, worker, fence };
    match command {
        Command::Report(report) => report.holder.clone().map(|holder| hold(report.job, holder)),
        Command::Heartbeat(it) | Command::Progress { hold: it, .. } => Some(it.clone()),
        Command::Log(log) => log.holder.clone().map(|holder| hold(log.job, holder)),
        Command::Upload(upload) => upload.holder.clone().map(|holder| hold(upload.job, holder)),
        Command::AddAsset(new) => new.holder.clone().map(|holder| hold(new.job, holder)),
        _ => None,
    }
}

fn describe_holder(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "no holder".to_owned(), |it| format!("{} with fence {}", it.worker, it.fence))
}

fn wrong_output(verb: &str) -> Violation {
    Violation::new(8, None, format!("{verb} returned another kind of output"))
}
