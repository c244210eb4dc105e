//! The facts of a command's result, and of what can be read from the tables.

use std::sync::Arc;

use tenure_core::event::{AuditLine, Signal};
use tenure_core::job::Lease;

use super::{ScriptRunner, Words};
use crate::prelude::*;
use crate::world::START;

/// The job in a result.
pub(super) fn job_of(result: &CommandResult) -> Option<JobId> {
    match result {
        Ok(CommandOutput::Job { job, .. }) => Some(job.id()),
        Ok(_) | Err(_) => None,
    }
}

/// The claimed jobs in a result.
pub(super) fn claimed(result: &CommandResult) -> &[Arc<Job>] {
    match result {
        Ok(CommandOutput::Claimed { jobs, .. }) => jobs,
        Ok(_) | Err(_) => &[],
    }
}

/// Seconds after the start.
fn seconds(at: Timestamp) -> String {
    format!("{}", (at.0 - START.0) as f64 / 1000.0)
}

fn optional(what: &str, at: Option<Timestamp>) -> String {
    format!("{what} {}", at.map_or_else(|| "never".to_owned(), seconds))
}

impl ScriptRunner {
    pub(super) fn facts(&self, result: &CommandResult) -> Vec<String> {
        match result {
            Err(refusal) => refused(refusal),
            Ok(CommandOutput::Job { job, replayed, ignored }) => {
                let mut facts = self.job_facts(job);
                facts.push(if *replayed { "replayed" } else { "not replayed" }.to_owned());
                facts.push(if *ignored { "ignored" } else { "not ignored" }.to_owned());
                facts
            }
            Ok(CommandOutput::Amended(job)) => {
                let mut facts = self.job_facts(job);
                facts.push("amended".to_owned());
                facts
            }
            Ok(CommandOutput::Claimed { jobs, replayed }) => {
                let mut facts: Vec<String> =
                    jobs.iter().map(|job| format!("{} {}", self.name_of(job.id()), job.state)).collect();
                let names: Vec<String> = jobs.iter().map(|job| self.name_of(job.id())).collect();
                facts.push(if names.is_empty() { "none".to_owned() } else { names.join(" > ") });
                facts.extend(jobs.iter().flat_map(|job| self.job_facts(job)));
                facts.extend(replayed.then(|| "replayed".to_owned()));
                facts
            }
            Ok(CommandOutput::Heartbeat { lease, cancel }) => {
                let mut facts = self.lease_facts(lease);
                facts.push(cancel_fact(*cancel));
                facts
            }
            Ok(CommandOutput::Logged(count)) => vec![format!("{count} lines")],
            Ok(CommandOutput::TakenIn { taken, refused, .. }) => {
                vec![format!("{taken} taken in"), format!("{} refused", refused.len())]
            }
            Ok(CommandOutput::Account(account)) => vec![
                format!("granted {}", account.granted),
                format!("reserved {}", account.reserved),
                format!("spent {}", account.spent),
                format!("available {}", account.available()),
            ],
            Ok(CommandOutput::Key { key, replayed }) => vec![
                format!("key {}", key.id),
                key.role.as_str().to_owned(),
                format!("user {}", key.user_id.as_deref().unwrap_or("none")),
                format!("by {}", key.created_by),
                if key.revoked_at.is_some() { "revoked" } else { "valid" }.to_owned(),
                if *replayed { "replayed" } else { "not replayed" }.to_owned(),
            ],
            Ok(CommandOutput::Asset { asset, replayed }) => vec![
                format!("asset of type {}", asset.asset_type),
                format!("user {}", asset.user_id.as_deref().unwrap_or("none")),
                if *replayed { "replayed" } else { "not replayed" }.to_owned(),
            ],
            Ok(CommandOutput::Automation { automation, .. }) => {
                vec![format!("{} {}", automation.id().0.as_str(), automation.id().1)]
            }
            Ok(CommandOutput::RequestBound { replayed, .. }) => {
                vec![if *replayed { "replayed" } else { "not replayed" }.to_owned()]
            }
            Ok(CommandOutput::Nothing) => vec!["nothing".to_owned()],
        }
    }

    /// Facts read from the tables.
    pub(super) fn look(&mut self, words: &Words<'_>) -> Vec<String> {
        let tables = &self.world.tables;
        match words.nth(0) {
            "account" => self.facts(&Ok(CommandOutput::Account(tables.accounts[words.nth(1)]))),
            "audit" => {
                vec![join(tables.audit.iter().map(|line| format!("{} by {}", line.action, line.actor)))]
            }
            "changes" => {
                let shown = |line: &AuditLine| {
                    let details = line
                        .details
                        .as_ref()
                        .expect("every new line has them")
                        .to_value()
                        .expect("details are JSON");
                    let text =
                        |value: &serde_json::Value| value.to_string().replace('"', "").replace(',', ";");
                    let (before, after) = (text(&details["before"]), text(&details["after"]));
                    format!("{} with {}: {before} to {after}", line.action, text(&details["credential"]))
                };
                tables.audit.iter().map(shown).collect()
            }
            "workers" => {
                let shown = |seen: &WorkerRecord| {
                    let credential = seen.credential.as_deref().unwrap_or("nothing");
                    let by = seen.connection.map(|it| format!(" by {}", it.as_u128())).unwrap_or_default();
                    format!("{} with {credential}@{}{by}", seen.name, seconds(seen.seen_at))
                };
                vec![join(tables.workers.values().map(shown))]
            }
            "garbage" => {
                let shown = |(path, due): (&String, &Timestamp)| format!("{path}@{}", seconds(*due));
                vec![join(tables.garbage.iter().map(shown))]
            }
            "ledger" => {
                let lines = tables.ledger.iter().filter(|line| line.user_id == words.nth(1));
                vec![join(lines.map(|line| format!("{} {}", line.kind.as_str(), line.amount)))]
            }
            "gone" => {
                let id = self.named(words.nth(1));
                let left = [
                    tables.jobs.contains_key(&id),
                    tables.events.contains_key(&id),
                    tables.logs.contains_key(&id),
                    tables.dead_letters.contains_key(&id),
                ];
                vec![if left.contains(&true) { "there" } else { "gone" }.to_owned()]
            }
            "compensation" => {
                let first = Some(self.named(words.nth(1)));
                let found = tables.jobs.values().find(|job| job.spec.links.compensates == first).cloned();
                let Some(found) = found else { return vec!["none".to_owned()] };
                self.names.insert(words.get("as").expect("a name for it").to_owned(), found.id());
                self.job_facts(&found)
            }
            what => self.look_at(what, self.named(words.nth(1))),
        }
    }

    fn look_at(&self, what: &str, id: JobId) -> Vec<String> {
        let tables = &self.world.tables;
        match what {
            "see" => self.job_facts(&tables.jobs[&id]),
            "history" => {
                let shown = |event: &Event| format!("{}@{}", event.name, seconds(event.ts));
                vec![join(tables.events[&id].iter().map(shown))]
            }
            "credentials" => {
                let shown = |event: &Event| event.facts.credential.as_deref().unwrap_or("-").to_owned();
                vec![join(tables.events[&id].iter().map(shown))]
            }
            "actors" => vec![join(tables.events[&id].iter().map(|event| event.actor.to_string()))],
            "causes" => {
                let cause = |cause: Option<&Name>| cause.map_or_else(|| "-".to_owned(), Name::to_string);
                vec![join(tables.events[&id].iter().map(|event| cause(event.cause.as_ref())))]
            }
            "assets" => {
                let shown = |asset: &Asset| {
                    let end = asset.discarded_at.map(|at| format!(" discarded@{}", seconds(at)));
                    format!("{}@{}{}", asset.asset_type, seconds(asset.created_at), end.unwrap_or_default())
                };
                vec![join(tables.assets_of(id).iter().map(shown))]
            }
            "log" => vec![join(tables.logs[&id].iter().map(|line| format!("{} {}", line.n, line.text)))],
            "telemetry" => {
                let lines = tables.telemetry.iter().filter(|line| line.job_id == id);
                let shown = |signal: &Signal| match signal {
                    Signal::JobHeartbeat => "heartbeat".to_owned(),
                    Signal::JobLeaseRenewed => "renewed".to_owned(),
                    Signal::JobProgress { progress, .. } => format!("progress {progress}"),
                };
                vec![join(lines.map(|line| format!("{}@{}", shown(&line.signal), seconds(line.ts))))]
            }
            "letter" => self.letter_facts(id),
            other => panic!("there is no {other} to read"),
        }
    }

    fn letter_facts(&self, id: JobId) -> Vec<String> {
        let Some(letter) = self.world.tables.dead_letters.get(&id) else { return vec!["none".to_owned()] };
        vec![
            letter.reason_code.as_str().to_owned(),
            format!("attempts {}", letter.attempts),
            format!("owner {}", letter.last_owner.as_deref().unwrap_or("none")),
            optional("lease until", letter.last_lease_expires_at),
            format!("error {}", letter.last_error.as_ref().map_or("none", |error| error.code.as_str())),
            if letter.dismissed.is_some() { "dismissed" } else { "not dismissed" }.to_owned(),
            format!("at {}", seconds(letter.created_at)),
        ]
    }

    fn name_of(&self, id: JobId) -> String {
        self.names
            .iter()
            .find(|(_, named)| **named == id)
            .map_or_else(|| id.to_string(), |(name, _)| name.clone())
    }

    fn at(&self, deadline: Deadline) -> String {
        seconds(self.world.now.calendar(deadline))
    }

    fn lease_facts(&self, lease: &Lease) -> Vec<String> {
        vec![
            format!("held by {}", lease.worker),
            format!("bound to {}", lease.credential.as_deref().unwrap_or("nothing")),
            format!("expires {}", self.at(lease.expires())),
            format!("lease until {}", self.at(lease.ends)),
        ]
    }

    fn job_facts(&self, job: &Job) -> Vec<String> {
        let error = job.output.error.as_deref();
        let clock =
            |what: &str, at: Option<Deadline>| optional(what, at.map(|at| self.world.now.calendar(at)));
        let mut facts = vec![
            self.name_of(job.id()),
            job.state.to_string(),
            format!("type {}", job.spec.job_type),
            format!("lifecycle {}", job.spec.lifecycle.name),
            format!("queue {}", job.spec.queue),
            format!("priority {}", job.spec.priority),
            format!("max_attempts {}", job.spec.max_attempts),
            format!("seq {}", job.seq),
            format!("attempt {}", job.attempt),
            format!("retry_count {}", job.retry_count),
            format!("fence {}", job.fence),
            format!("worker {}", job.worker().map_or("none", WorkerId::as_str)),
            format!("error {}", error.map_or("none", |error| error.code.as_str())),
            error
                .map_or_else(|| "category none".to_owned(), |error| format!("category {:?}", error.category)),
            error.map_or_else(|| "class none".to_owned(), |error| format!("class {:?}", error.class)),
            format!("progress {}", job.output.progress.as_ref().map_or(0.0, |progress| progress.percent)),
            format!("result {}", job.output.result.as_ref().map_or("none", |json| json.as_str())),
            format!("checkpoint {}", job.output.checkpoint.as_ref().map_or("none", |json| json.as_str())),
            format!("run_at {}", seconds(job.run_at)),
            optional("claimed", job.times.claimed_at),
            optional("started", job.times.started_at),
            optional("completed", job.times.completed_at),
            clock("timeout", job.clocks.timeout),
            clock("due", job.clocks.due),
            clock("hard", job.cancel.as_ref().map(|cancel| cancel.hard_at)),
            cancel_fact(job.cancel.as_ref().map(|cancel| cancel.mode)),
        ];
        facts.extend(job.spec.links.retry_of.map(|first| format!("retry of {}", self.name_of(first))));
        facts.extend(job.spec.links.compensates.map(|first| format!("compensates {}", self.name_of(first))));
        facts.extend(job.lease.iter().flat_map(|lease| self.lease_facts(lease)));
        facts
    }
}

fn cancel_fact(mode: Option<CancelMode>) -> String {
    match mode {
        None => "no cancel",
        Some(CancelMode::Soft) => "cancel soft",
        Some(CancelMode::Hard) => "cancel hard",
    }
    .to_owned()
}

fn refused(refusal: &Refusal) -> Vec<String> {
    let code = refusal.code().to_owned();
    match refusal {
        Refusal::LeaseConflict { cause, .. } => vec![format!("{code} {cause}"), code],
        Refusal::InvalidTransition { current_state, trigger, allowed, .. } => {
            let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(" ") };
            vec![format!("{code} {trigger} from {current_state}"), format!("allowed {allowed}"), code]
        }
        Refusal::InsufficientCredits { cost, available } => vec![code, format!("{cost} of {available}")],
        _ => vec![code],
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" > ")
}
