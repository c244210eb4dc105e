//! Scenarios as text, one line for each step.
//!
//! ```text
//! type work follows distributed max_attempts=2
//! 0    ann  create work a         => queued
//! 1    w1   claim                 => a assigned, fence 1
//! 61   -    history a             => job_queued@0 > job_claimed@1 > job_requeued@31
//! ```
//!
//! A line has a time in seconds, an actor (`w…` is a worker, `w1@k1` one that presents the credential `k1`), a command, and
//! after `=>` facts that must be true of the result. The actor `-` only reads the tables; no command is submitted, so no clock is swept either.

use std::collections::BTreeMap;

use tenure_core::asset::{NewAsset, Upload};
use tenure_core::command::WorkerSighting;
use uuid::Uuid;

use crate::make::{a_job, a_type, catalog, job_id};
use crate::prelude::*;
use crate::world::{START, World};

mod facts;

/// Runs a script.
pub(crate) fn check(script: &str) {
    let mut runner =
        ScriptRunner { world: World::new(catalog()), names: BTreeMap::new(), fences: BTreeMap::new() };
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        runner.line(line);
    }
}

struct ScriptRunner {
    world: World,
    /// The names of jobs in the script.
    names: BTreeMap<String, JobId>,
    /// The last fence that each worker received for each job.
    fences: BTreeMap<(WorkerId, JobId), Fence>,
}

/// The words of a step: positional ones, and `name=value` pairs.
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

    fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
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

/// A time, from seconds after the start.
fn moment(seconds: &str) -> Timestamp {
    let seconds: f64 = seconds.parse().unwrap_or_else(|_| panic!("{seconds} is not a time in seconds"));
    Timestamp(START.0 + (seconds * 1000.0).round() as i64)
}

/// The digest of a request body that came with a key.
fn fingerprint(text: &str) -> [u8; 32] {
    Json::of(&text).digest()
}

impl ScriptRunner {
    fn line(&mut self, line: &str) {
        if let Some(declared) = line.strip_prefix("type ") {
            let made = self.job_type(&Words::of(declared));
            return self.world.catalog.add_type(made).expect("the type is valid");
        }
        let (action, wanted) =
            line.split_once("=>").map_or((line, None), |(action, facts)| (action, Some(facts)));
        let (when, rest) = action.trim().split_once(' ').expect("a line begins with its time");
        let (actor, what) = rest.trim().split_once(' ').expect("then comes the actor, then the command");
        let at = moment(when);
        assert!(self.world.now.at <= at, "time never runs backwards: {line}");
        if actor == "outage" {
            // The outage ends at the time of this line.
            let span = Millis::parse(what.trim()).expect("the length of the outage");
            self.world.now.at = Timestamp(at.0 - span.0 as i64);
            return self.world.outage(span);
        }
        self.world.now.at = at;
        let words = Words::of(what);
        let facts = if actor == "-" { self.look(&words) } else { self.act(actor, &words) };
        for fact in wanted.iter().flat_map(|facts| facts.split(',')).map(str::trim) {
            let holds = facts.iter().any(|each| each == fact);
            assert!(holds, "{line}\n  `{fact}` is not among: {}", facts.join(", "));
        }
    }

    fn act(&mut self, actor: &str, words: &Words<'_>) -> Vec<String> {
        let (actor, credential) =
            actor.split_once('@').map_or((actor, None), |(actor, it)| (actor, Some(it)));
        let command = self.command(actor, words);
        let named_here = words.get("as").or_else(|| (words.nth(0) == "create").then(|| words.nth(2)));
        let body = words.get("body").unwrap_or("the same");
        let given = words.get("key").filter(|_| words.nth(0) != "create");
        let key = given.map(|key| IdempotencyKey { key: key.into(), fingerprint: fingerprint(body) });
        let by = if is_worker(actor) { Actor::worker(&actor.into()) } else { Actor::from(actor) };
        let by = CommandOrigin { credential: credential.map(Name::from), ..by.into() };
        let result = self.world.submit(&CommandEnvelope { by, key, command });
        if let (Some(name), Some(id)) = (named_here, facts::job_of(&result)) {
            self.names.insert(name.to_owned(), id);
        }
        for job in facts::claimed(&result) {
            self.fences.insert((actor.into(), job.id()), job.fence);
        }
        self.facts(&result)
    }

    fn command(&mut self, actor: &str, words: &Words<'_>) -> Command {
        match words.nth(0) {
            "create" => Command::Create(Box::new(self.creation(words))),
            "claim" => Command::Claim(claim(actor, words)),
            "heartbeat" => Command::Heartbeat(self.hold(actor, words)),
            "progress" => Command::Progress {
                hold: self.hold(actor, words),
                percent: words.nth(2).parse().expect("a percentage"),
                message: words.text("message"),
            },
            "log" => {
                let lines = words.plain[2..].iter().map(|text| NewLogLine {
                    stream: "stdout".into(),
                    level: "info".into(),
                    text: (*text).to_owned(),
                });
                let holder = self.holder(actor, words);
                Command::Log(AppendLog { job: self.job(words), holder, lines: lines.collect() })
            }
            "upload" => {
                let holder = self.holder(actor, words);
                let (storage_path, continues) = (words.nth(2).to_owned(), words.has("on"));
                Command::Upload(Upload { job: self.job(words), holder, storage_path, continues })
            }
            "asset" => Command::AddAsset(Box::new(self.asset(actor, words))),
            "cancel" => {
                let mode = if words.has("hard") { CancelMode::Hard } else { CancelMode::Soft };
                Command::Cancel(Cancel { job: self.job(words), mode, reason: words.text("why") })
            }
            "dead-letter" => {
                let reason = ReasonCode::parse(words.nth(2)).expect("a reason code");
                Command::DeadLetter { job: self.job(words), reason, detail: "given up".to_owned() }
            }
            "signal" => Command::Signal {
                job: self.job(words),
                name: words.nth(2).into(),
                payload: words.json("note"),
            },
            "retry" => Command::Retry(Retry { job: self.job(words), id: self.next_id(), when: When::Now }),
            "disconnect" => Command::Disconnect(self.hold(actor, words)),
            "dismiss" => Command::DismissDeadLetter { job: self.job(words), reason: "seen".to_owned() },
            "sweep" => Command::Sweep(self.job(words)),
            "purge" => Command::Purge(self.job(words)),
            "prune" => Command::Prune,
            verb => operator_command(actor, words).unwrap_or_else(|| {
                let holder = self.holder(actor, words).filter(|_| words.get("fence") != Some("none"));
                Command::Report(Box::new(Report { job: self.job(words), holder, verb: report(verb, words) }))
            }),
        }
    }

    /// The lease of a worker; other actors have none.
    fn holder(&self, actor: &str, words: &Words<'_>) -> Option<Holder> {
        is_worker(actor).then(|| self.hold(actor, words)).map(Hold::holder)
    }

    fn asset(&self, actor: &str, words: &Words<'_>) -> NewAsset {
        let path = words.get("path").map(str::to_owned);
        NewAsset {
            id: AssetId(job_id(self.world.tables.assets.len() as u128 + 10_000).0),
            job: self.job(words),
            holder: self.holder(actor, words),
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

    /// The fence in the script, or the last one of this worker, or one that was never granted.
    fn hold(&self, actor: &str, words: &Words<'_>) -> Hold {
        let (job, worker) = (self.job(words), WorkerId::from(actor));
        let given = if words.get("fence") == Some("none") { None } else { words.number("fence").map(Fence) };
        let last = self.fences.get(&(worker.clone(), job)).copied();
        Hold { job, worker, fence: given.or(last).unwrap_or(Fence(99)) }
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
            lifecycle: words.get("lifecycle").map(Into::into),
            payload: words.json("payload").unwrap_or_else(Json::null),
            user_id: Some(user.into()).filter(|_| user != "none"),
            queue: words.get("queue").map(Into::into),
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
        let jitter = words.get("jitter").map(|text| Jitter::parse(text).expect("a jitter"));
        policy.backoff.jitter = jitter.unwrap_or(Jitter::None);
        made.cost = words.number("cost").unwrap_or(0);
        made.priority = words.number("priority").unwrap_or(0);
        made.queue = words.get("queue").unwrap_or("default").into();
        made.compensate_with = words.get("compensate_with").map(Into::into);
        made.payload_bytes_max = words.number("payload_bytes_max").unwrap_or(made.payload_bytes_max);
        let timeout =
            |(name, _): (&&str, &&str)| Some((name.strip_prefix("timeout.")?.into(), words.span(name)?));
        made.timeouts = words.named.iter().filter_map(timeout).collect();
        made
    }
}

fn is_worker(actor: &str) -> bool {
    actor.starts_with('w')
}

/// `w1`, or `w1:k1` with a credential.
fn sighting(word: &str) -> WorkerSighting {
    let (worker, credential) = word.split_once(':').map_or((word, None), |(worker, key)| (worker, Some(key)));
    WorkerSighting { worker: worker.into(), credential: credential.map(Name::from) }
}

/// A command that is not on a job; `None` for a verb of a worker.
fn operator_command(actor: &str, words: &Words<'_>) -> Option<Command> {
    Some(match words.nth(0) {
        "pause" => Command::PauseQueue { queue: words.nth(1).into(), paused: true },
        "resume" => Command::PauseQueue { queue: words.nth(1).into(), paused: false },
        "grant" => Command::GrantCredits {
            user: words.nth(1).into(),
            amount: words.nth(2).parse().expect("how many"),
            reason: None,
        },
        "add-key" => Command::AddKey(Box::new(NewKey::new(
            words.nth(1),
            Role::parse(words.nth(2)).expect("a role"),
            words.get("user").map(Into::into),
            fingerprint(words.get("secret").unwrap_or(words.nth(1))),
        ))),
        "revoke-key" => Command::RevokeKey(words.nth(1).into()),
        "seen" => Command::WorkersSeen(words.plain[1..].iter().map(|word| sighting(word)).collect()),
        "bind-worker-connection" => {
            let connection = Uuid::from_u128(words.nth(2).parse().expect("a number"));
            Command::BindWorkerConnection {
                worker: actor.into(),
                credential: words.nth(1).into(),
                connection,
            }
        }
        _ => return None,
    })
}

fn claim(actor: &str, words: &Words<'_>) -> Claim {
    fn list<T: for<'a> From<&'a str>>(words: &Words<'_>, name: &str) -> Option<Vec<T>> {
        words.get(name).map(|text| text.split('+').map(T::from).collect())
    }
    Claim {
        worker: actor.into(),
        filter: ClaimFilter { types: list(words, "types"), queues: list(words, "queues") },
        max: words.number("max").unwrap_or(1),
        request_id: words.get("request").map(Into::into),
        start: words.has("start"),
    }
}

/// The report of a worker.
fn report(verb: &str, words: &Words<'_>) -> Verb {
    let (result, checkpoint) = (words.json("result"), words.json("checkpoint"));
    let error = words.get("code").map(|_| error(words));
    match verb {
        "start" => Verb::Start,
        "succeed" => Verb::Succeed { result, error },
        "partial" => Verb::Partial { result, error },
        "fail" => {
            Verb::Fail { error: self::error(words), retry_after: words.span("retry_after"), pause: None }
        }
        "reject" => Verb::Reject { reason: "unfit".to_owned() },
        "release" => Verb::Release { checkpoint, delay: words.span("delay"), pause: None },
        "cancel-confirm" => Verb::CancelConfirm { checkpoint, result },
        other => panic!("there is no command {other}"),
    }
}

/// `BROKEN` and transient, unless given otherwise.
fn error(words: &Words<'_>) -> JobError {
    let class = words.get("class").map(|text| Class::parse(text).expect("a class"));
    JobError {
        class: class.unwrap_or(Class::Transient),
        stage: words.get("stage").map(|text| Stage::parse(text).expect("a stage")),
        reason_code: words.get("reason").and_then(ReasonCode::parse),
        ..JobError::own(words.get("code").unwrap_or("BROKEN"), "it broke", Category::Engine)
    }
}
