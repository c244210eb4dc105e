//! Scripts: a story as text, a line for each thing that happens.
//!
//! ```text
//! type work follows distributed max_attempts=2
//! 0    ann  create work a         => queued
//! 1    w1   claim                 => a assigned, fence 1
//! 61   -    history a             => job_queued@0 > job_claimed@1 > job_requeued@31
//! ```
//!
//! A line says when (in seconds), who (`w…` is a worker), what, and what comes of it: facts, each of which must be
//! among those that the answer tells. `-` only looks; it asks nothing, so that no clock is looked at either.

use std::collections::BTreeMap;

use tenure_core::api_key::Role;
use tenure_core::asset::{AssetId, NewAsset, Upload};
use tenure_core::command::{
    AppendLog, Cancel, Claim, ClaimFilter, Command, CommandEnvelope, Create, CreationKey, Hold,
    IdempotencyKey, NewKey, Report, Retry, Verb, When,
};
use tenure_core::dead_letter::ReasonCode;
use tenure_core::id::{Actor, Fence, JobId, Name};
use tenure_core::job::{CancelMode, Category, Class, JobError, Stage};
use tenure_core::job_type::JobType;
use tenure_core::json::Json;
use tenure_core::lifecycle::Jitter;
use tenure_core::time::{Millis, Timestamp};
use uuid::Uuid;

use crate::make::{a_job, a_type, catalog, job_id};
use crate::world::{DAWN, World};

mod facts;

/// Runs a script.
pub(crate) fn check(script: &str) {
    let mut stage =
        Stageplay { world: World::new(catalog()), names: BTreeMap::new(), fences: BTreeMap::new() };
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        stage.line(line);
    }
}

struct Stageplay {
    world: World,
    /// What the script calls its jobs.
    names: BTreeMap<String, JobId>,
    /// The fence that each worker was last handed for each job.
    fences: BTreeMap<(Name, JobId), Fence>,
}

/// The words of an action: plain ones in order, and those with a name.
struct Words<'a> {
    plain: Vec<&'a str>,
    named: BTreeMap<&'a str, &'a str>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        let (named, plain): (Vec<&str>, Vec<&str>) =
            text.split_whitespace().partition(|word| word.contains('='));
        Self { plain, named: named.iter().filter_map(|word| word.split_once('=')).collect() }
    }

    fn nth(&self, n: usize) -> &'a str {
        self.plain.get(n).unwrap_or_else(|| panic!("word {n} is missing in {:?}", self.plain))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.named.get(name).copied()
    }

    fn span(&self, name: &str) -> Option<Millis> {
        self.get(name).map(|text| Millis::parse(text).unwrap_or_else(|| panic!("{text} is not a span")))
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name).map(|text| text.parse().ok().unwrap_or_else(|| panic!("{text} is not a number")))
    }

    fn json(&self, name: &str) -> Option<Json> {
        self.get(name).map(|text| Json::parse(text).unwrap_or_else(|flaw| panic!("{text}: {flaw}")))
    }

    fn has(&self, word: &str) -> bool {
        self.plain.contains(&word)
    }
}

/// A moment, from seconds after the beginning.
fn moment(seconds: &str) -> Timestamp {
    let seconds: f64 = seconds.parse().unwrap_or_else(|_| panic!("{seconds} is not a time in seconds"));
    Timestamp(DAWN.0 + (seconds * 1000.0).round() as i64)
}

/// A digest of any text: the body that came with a key.
fn fingerprint(text: &str) -> [u8; 32] {
    Json::of(&text).digest()
}

impl Stageplay {
    fn line(&mut self, line: &str) {
        if let Some(declared) = line.strip_prefix("type ") {
            let made = self.job_type(&Words::of(declared));
            return self.world.catalog.add_type(made).expect("it can be in force");
        }
        let (action, wanted) = line.split_once("=>").unwrap_or((line, ""));
        let (when, rest) = action.trim().split_once(' ').expect("a line begins with its time");
        let (who, what) = rest.trim().split_once(' ').expect("then says who, and then what");
        let at = moment(when);
        assert!(self.world.now.at <= at, "time never runs backwards: {line}");
        if who == "outage" {
            // The span until this line's time was an outage.
            let span = Millis::parse(what.trim()).expect("how long it was");
            self.world.now.at = Timestamp(at.0 - span.0 as i64);
            return self.world.outage(span);
        }
        self.world.now.at = at;
        let words = Words::of(what);
        let told = if who == "-" { self.look(&words) } else { self.act(who, &words) };
        for fact in wanted.split(',').map(str::trim).filter(|fact| !fact.is_empty()) {
            assert!(
                told.iter().any(|each| each == fact),
                "{line}\n  `{fact}` is not among: {}",
                told.join(", ")
            );
        }
    }

    fn act(&mut self, who: &str, words: &Words<'_>) -> Vec<String> {
        let command = self.command(who, words);
        let named_here = words.get("as").or_else(|| (words.nth(0) == "create").then(|| words.nth(2)));
        let body = words.get("body").unwrap_or("the same");
        let given = words.get("key").filter(|_| words.nth(0) != "create");
        let key = given.map(|key| IdempotencyKey { key: key.into(), fingerprint: fingerprint(body) });
        let by = if is_worker(who) { Actor::worker(&who.into()) } else { Actor::from(who) };
        let answer = self.world.ask(&CommandEnvelope { by, key, command });
        if let (Some(name), Some(id)) = (named_here, facts::job_of(&answer)) {
            self.names.insert(name.to_owned(), id);
        }
        for job in facts::claimed(&answer) {
            self.fences.insert((who.into(), job.id()), job.fence);
        }
        self.told(&answer)
    }

    fn command(&mut self, who: &str, words: &Words<'_>) -> Command {
        match words.nth(0) {
            "create" => Command::Create(Box::new(self.creation(words))),
            "claim" => Command::Claim(claim(who, words)),
            "heartbeat" => Command::Heartbeat(self.hold(who, words)),
            "progress" => {
                let percent = words.nth(2).parse().expect("how far it is");
                Command::Progress(self.hold(who, words), percent, words.get("message").map(str::to_owned))
            }
            "log" => {
                let lines =
                    words.plain[2..].iter().map(|text| ("stdout".into(), "info".into(), (*text).to_owned()));
                let holder = self.holder(who, words);
                Command::Log(AppendLog { job: self.job(words), holder, lines: lines.collect() })
            }
            "upload" => {
                let holder = self.holder(who, words);
                let (storage_path, goes_on) = (words.nth(2).to_owned(), words.has("on"));
                Command::Upload(Upload { job: self.job(words), holder, storage_path, goes_on })
            }
            "asset" => Command::AddAsset(Box::new(self.asset(who, words))),
            "cancel" => {
                let mode = if words.has("hard") { CancelMode::Hard } else { CancelMode::Soft };
                Command::Cancel(Cancel {
                    job: self.job(words),
                    mode,
                    reason: words.get("why").map(str::to_owned),
                })
            }
            "dead-letter" => {
                let reason = ReasonCode::parse(words.nth(2)).expect("a reason code");
                Command::DeadLetter(self.job(words), reason, "given up".to_owned())
            }
            "signal" => Command::Signal(self.job(words), words.nth(2).into(), words.json("note")),
            "retry" => Command::Retry(Retry { job: self.job(words), id: self.next_id(), when: When::Now }),
            "disconnect" => Command::Disconnect(self.hold(who, words)),
            "dismiss" => Command::Dismiss(self.job(words), "seen".to_owned()),
            "pause" => Command::Pause(words.nth(1).into(), true),
            "resume" => Command::Pause(words.nth(1).into(), false),
            "grant" => Command::Grant(words.nth(1).into(), words.nth(2).parse().expect("how many"), None),
            "add-key" => Command::AddKey(Box::new(NewKey {
                id: words.nth(1).into(),
                role: Role::parse(words.nth(2)).expect("a role"),
                user_id: words.get("user").map(Name::from),
                digest: fingerprint(words.get("secret").unwrap_or(words.nth(1))),
            })),
            "revoke-key" => Command::RevokeKey(words.nth(1).into()),
            "seen" => Command::WorkersSeen(words.plain[1..].iter().map(|word| heard(word)).collect()),
            "seat" => {
                let connection = Uuid::from_u128(words.nth(2).parse().expect("a number"));
                Command::BindWorkerConnection(who.into(), words.nth(1).into(), connection)
            }
            "sweep" => Command::Sweep(self.job(words)),
            "purge" => Command::Purge(self.job(words)),
            "prune" => Command::Prune,
            verb => {
                let holder = self.holder(who, words).filter(|_| words.get("fence") != Some("none"));
                Command::Report(Box::new(Report { job: self.job(words), holder, verb: said(verb, words) }))
            }
        }
    }

    /// A worker speaks under its lease; anybody else does not.
    fn holder(&self, who: &str, words: &Words<'_>) -> Option<(Name, Fence)> {
        is_worker(who).then(|| self.hold(who, words)).map(|hold| (hold.worker, hold.fence))
    }

    fn asset(&self, who: &str, words: &Words<'_>) -> NewAsset {
        let path = words.get("path").map(str::to_owned);
        NewAsset {
            id: AssetId(job_id(self.world.tables.assets.len() as u128 + 10_000).0),
            job: self.job(words),
            holder: self.holder(who, words),
            asset_type: words.nth(2).into(),
            url: words.get("url").unwrap_or("https://example.org/").to_owned(),
            stored: path.is_some(),
            storage_path: path,
            file_size: words.get("size").map(|size| size.parse().expect("a size")),
        }
    }

    fn job(&self, words: &Words<'_>) -> JobId {
        self.named(words.nth(1))
    }

    fn named(&self, name: &str) -> JobId {
        *self.names.get(name).unwrap_or_else(|| panic!("the script has no job {name}"))
    }

    fn next_id(&self) -> JobId {
        job_id(self.names.len() as u128 + 1)
    }

    /// The fence that is said, or the one that this worker was handed last, or one that was never granted.
    fn hold(&self, who: &str, words: &Words<'_>) -> Hold {
        let (job, worker) = (self.job(words), Name::from(who));
        let said = if words.get("fence") == Some("none") { None } else { words.number("fence").map(Fence) };
        let handed = self.fences.get(&(worker.clone(), job)).copied();
        Hold { job, worker, fence: said.or(handed).unwrap_or(Fence(99)) }
    }

    fn creation(&self, words: &Words<'_>) -> Create {
        let body = words.get("body").unwrap_or("the same");
        let given = |key: &str| {
            CreationKey::Given(IdempotencyKey { key: key.into(), fingerprint: fingerprint(body) })
        };
        let derived = |digest: &str| CreationKey::Derived {
            digest: fingerprint(digest),
            by_minute: !words.has("timeless"),
            about_minute: self.world.now.at.minute(),
        };
        let given = words.get("key").map(given).or_else(|| words.get("derived").map(derived));
        let when = words.get("at").map(|at| When::At(moment(at)));
        let user = words.get("user").unwrap_or("u1");
        Create {
            id: self.next_id(),
            lifecycle: words.get("lifecycle").map(Name::from),
            payload: words.json("payload").unwrap_or_else(Json::null),
            user_id: Some(user.into()).filter(|_| user != "nobody"),
            queue: words.get("queue").map(Name::from),
            priority: words.number("priority"),
            max_attempts: words.number("max_attempts"),
            when: when.or_else(|| words.span("delay").map(When::In)).unwrap_or(When::Now),
            key: given.unwrap_or(CreationKey::None),
            ..a_job(0, words.nth(1))
        }
    }

    fn job_type(&self, words: &Words<'_>) -> JobType {
        let lifecycle = self.world.catalog.newest(words.nth(2)).expect("a lifecycle");
        let mut made = a_type(words.nth(0), lifecycle);
        let policy = &mut made.policy;
        policy.max_attempts = words.number("max_attempts").unwrap_or(policy.max_attempts);
        policy.lease = words.span("lease").unwrap_or(policy.lease);
        policy.heartbeat = words.span("heartbeat").unwrap_or(policy.heartbeat);
        policy.cancel_grace = words.span("cancel_grace").unwrap_or(policy.cancel_grace);
        policy.backoff.base = words.span("base").unwrap_or(policy.backoff.base);
        policy.backoff.max = words.span("max").unwrap_or(policy.backoff.max);
        policy.backoff.jitter = match words.get("jitter") {
            None | Some("none") => Jitter::None,
            Some("full") => Jitter::Full,
            Some("equal") => Jitter::Equal,
            Some(other) => panic!("{other} is not a jitter"),
        };
        made.cost = words.number("cost").unwrap_or(0);
        made.priority = words.number("priority").unwrap_or(0);
        made.queue = words.get("queue").unwrap_or("default").into();
        made.compensate_with = words.get("compensate_with").map(Name::from);
        made.payload_bytes_max = words.number("payload_bytes_max").unwrap_or(made.payload_bytes_max);
        let timeout =
            |(name, _): (&&str, &&str)| Some((name.strip_prefix("timeout.")?.into(), words.span(name)?));
        made.timeouts = words.named.iter().filter_map(timeout).collect();
        made
    }
}

fn is_worker(who: &str) -> bool {
    who.starts_with('w')
}

/// `w1`, or `w1:k1` for one that came with a credential.
fn heard(word: &str) -> (Name, Option<Name>) {
    word.split_once(':').map_or_else(|| (word.into(), None), |(name, key)| (name.into(), Some(key.into())))
}

fn claim(who: &str, words: &Words<'_>) -> Claim {
    let list = |name| words.get(name).map(|text: &str| text.split('+').map(Name::from).collect());
    Claim {
        worker: who.into(),
        filter: ClaimFilter { types: list("types"), queues: list("queues") },
        max: words.number("max").unwrap_or(1),
        request_id: words.get("request").map(Name::from),
        start: words.has("start"),
    }
}

/// A worker's verb, with what it carries.
fn said(verb: &str, words: &Words<'_>) -> Verb {
    let (result, checkpoint) = (words.json("result"), words.json("checkpoint"));
    let error = words.get("code").map(|_| error(words));
    match verb {
        "start" => Verb::Start,
        "succeed" => Verb::Succeed { result, error },
        "partial" => Verb::Partial { result, error },
        "fail" => Verb::Fail { error: self::error(words), retry_after: words.span("retry_after") },
        "reject" => Verb::Reject { reason: "unfit".to_owned() },
        "release" => Verb::Release { checkpoint, delay: words.span("delay") },
        "cancel-confirm" => Verb::CancelConfirm { checkpoint, result },
        other => panic!("nobody can {other}"),
    }
}

/// `BROKEN` and transient, unless the words say otherwise.
fn error(words: &Words<'_>) -> JobError {
    let parsed = |name| words.get(name).map(|text| format!("\"{text}\""));
    let class: Option<Class> = parsed("class").map(|text| serde_json::from_str(&text).expect("a class"));
    let stage: Option<Stage> = parsed("stage").map(|text| serde_json::from_str(&text).expect("a stage"));
    JobError {
        class: class.unwrap_or(Class::Transient),
        stage,
        reason_code: words.get("reason").and_then(ReasonCode::parse),
        ..JobError::own(words.get("code").unwrap_or("BROKEN"), "it broke", Category::Engine)
    }
}
