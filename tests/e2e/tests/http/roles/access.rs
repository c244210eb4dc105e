//! Random callers, jobs, calls and nodes: a caller that may not see or change a job never gets its payload or its fence, and
//! has no effect on it. The calls come from the table of the API, so a new call that names a job takes part.

mod fixture;

use fixture::{Fixture, KnownCaller, KnownJob, MOUNT, Scope};
use serde_json::{Value, json};
use tenure_api::call::{Body, Call};
use tenure_api::{CallId, Method, Right};
use tenure_e2e::socket::SocketClient;
use tenure_e2e::*;

/// Random requests of one run.
const REQUESTS: usize = 1500;
/// Engines of random callers.
const ENGINES: usize = 20;

/// The names in the braces of a path.
fn names(call: &Call) -> impl Iterator<Item = &'static str> {
    call.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

/// Whether the path of a call names a job.
fn names_a_job(call: &Call) -> bool {
    names(call).any(|name| name == "job") || call.path.starts_with("/api/jobs/{id}")
}

/// A request of a caller about a job.
#[derive(Debug)]
struct Attempt {
    call: CallId,
    /// Presents the worker's name and the fence.
    as_worker: bool,
    method: &'static str,
    path: String,
    body: Option<Value>,
    /// The body is content, not JSON.
    is_content: bool,
}

impl Attempt {
    /// A call of the table with its example as body, about this job.
    fn new(call: CallId, job: &KnownJob, random: &mut SeededRandom) -> Self {
        let (table, as_worker) = (call.call(), call.verb().is_some() || random.below(2) == 0);
        let values: Vec<&str> = names(table)
            .map(|name| match name {
                "id" | "job" => job.id.as_str(),
                "asset" => job.asset.as_str(),
                _ => "approve",
            })
            .collect();
        // The fence of the lease, or one that was never granted.
        let fence = if random.below(4) == 0 { job.fence + 7 } else { job.fence };
        let mut body = match table.body {
            Body::None => None,
            Body::Empty => Some(json!({})),
            Body::Json(_, text) | Body::OptionalJson(_, text) | Body::JsonOrContent(_, text) => {
                Some(serde_json::from_str(text).expect("an example is JSON"))
            }
        };
        let takes_worker = call.verb().is_some()
            || matches!(call, CallId::AppendJobLogs | CallId::AddJobAsset)
            || body.as_ref().is_some_and(|body: &Value| body.get("worker").is_some());
        let as_worker = as_worker && takes_worker;
        if let Some(Value::Object(body)) = &mut body {
            body.remove("worker");
            body.remove("fence");
            if as_worker {
                body.extend([("worker".to_owned(), json!(job.worker)), ("fence".to_owned(), json!(fence))]);
            }
        }
        let mut path = table.path_of(&values);
        let is_content = call == CallId::AddJobAsset && random.below(2) == 0;
        if is_content {
            let holder =
                if as_worker { format!("&worker={}&fence={fence}", job.worker) } else { String::new() };
            path = format!("{path}?asset_type=t{holder}");
        }
        if job.job_type == "paged" && table.method == Method::Get && random.below(3) == 0 {
            path = path.replace("/api/jobs", MOUNT);
        }
        Self { call, as_worker, method: table.method.as_str(), path, body, is_content }
    }

    /// Whether http.md and model.md permit it.
    fn is_permitted(&self, caller: &KnownCaller, job: &KnownJob) -> bool {
        let access = self.call.call().access;
        let reads = access.allows(|right| matches!(right, Right::ReadJobs | Right::ReadDeadLetters));
        access.allows(|right| caller.has_right(right))
            && match (self.as_worker, self.call) {
                // Only the credential that claimed the job acts under its lease, and no operator. After the lease, its last
                // holder still adds logs and may repeat its last report.
                (true, _) => job.last_holder == Some(caller.name),
                (false, _) if reads => caller.sees(job),
                // Without a lease: the owner, operators and admins; a worker never.
                (false, _) => caller.changes(job),
            }
    }

    async fn send(&self, node: &Server, caller: &KnownCaller, key: Option<&str>) -> Reply {
        let mut request = node.request(self.method, &self.path);
        request = request.key(caller.key.as_deref().unwrap_or("nothing"));
        if let Some(key) = key {
            request = request.idempotent(key);
        }
        match &self.body {
            Some(body) if self.is_content => request.bytes(body.to_string()).send().await,
            Some(body) => request.json(body).send().await,
            None => request.send().await,
        }
    }
}

/// Checks that a refusal shows nothing but what the caller sent.
fn assert_shows_nothing(attempt: &Attempt, caller: &KnownCaller, job: &KnownJob, reply: &Reply) {
    let what = format!("{} {attempt:?} {job:?}: {} {}", caller.name, reply.status, reply.text);
    assert!((400..500).contains(&reply.status), "{what}");
    assert!(!reply.text.contains(&job.secret), "{what}");
    assert!(reply.body.get("lease").is_none() && reply.body.get("payload").is_none(), "{what}");
    let sent = attempt.body.as_ref().and_then(|body| body.get("fence")).cloned();
    let shown = reply.body.get("fence").filter(|fence| !fence.is_null()).cloned();
    assert!(shown.is_none() || shown == sent || attempt.is_content, "{what}");
}

/// The part of a job that shows whether anything happened to it.
async fn state_of(node: &Server, job: &KnownJob) -> Value {
    node.read(&format!("/api/jobs/{}", job.id)).await
}

#[tokio::test]
async fn no_caller_gets_more_than_it_may_on_any_node_and_interface() {
    let fixture = Fixture::create().await;
    let mut random = SeededRandom::new();
    let before = fixture.everything().await;
    random_requests(&fixture, &mut random).await;
    lists(&fixture).await;
    reports_and_redrives(&fixture).await;
    erasures(&fixture).await;
    engine_messages(&fixture, &mut random).await;
    assert_eq!(fixture.everything().await, before, "no refused call had an effect");
    front_ends(&fixture, &mut random).await;
    fixture.nodes[0].setup().verify();
}

/// Every call that names a job; one that is permitted is only sent if it reads.
async fn random_requests(fixture: &Fixture, random: &mut SeededRandom) {
    let calls: Vec<CallId> = CallId::ALL.iter().copied().filter(|id| names_a_job(id.call())).collect();
    assert!(calls.len() >= 26, "{calls:?}");
    let (mut refused, mut permitted) = (0, 0);
    for index in 0..REQUESTS {
        // Each call in turn, so that none is left out by chance.
        let call = calls[index % calls.len()];
        let caller = &fixture.callers[random.below(fixture.callers.len())];
        let job = &fixture.jobs[random.below(fixture.jobs.len())];
        let node = &fixture.nodes[random.below(2)];
        let attempt = Attempt::new(call, job, random);
        if attempt.is_permitted(caller, job) {
            // The stream of an unfinished job has no end.
            if attempt.method == "GET" && call != CallId::StreamJob {
                let reply = attempt.send(node, caller, None).await;
                assert_eq!(reply.status, 200, "{} {attempt:?}: {}", caller.name, reply.text);
                permitted += 1;
            }
            continue;
        }
        let was = state_of(&fixture.nodes[0], job).await;
        // Few keys, so that they repeat.
        let key = (attempt.method == "POST" && random.below(3) == 0).then(|| format!("k{}", random.below(2)));
        let reply = attempt.send(node, caller, key.as_deref()).await;
        assert_shows_nothing(&attempt, caller, job, &reply);
        let is = state_of(&fixture.nodes[0], job).await;
        assert_eq!(is, was, "{} {attempt:?}: {}", caller.name, reply.text);
        refused += 1;
    }
    assert!(refused > REQUESTS / 4 && permitted > REQUESTS / 20, "{refused} refused, {permitted} permitted");
}

/// Calls that name no job show only jobs that the caller sees.
async fn lists(fixture: &Fixture) {
    let is_read = |id: &&CallId| id.call().method == Method::Get && names(id.call()).next().is_none();
    for call in CallId::ALL.iter().filter(is_read) {
        for caller in &fixture.callers {
            for node in &fixture.nodes {
                let query = if *call == CallId::ListJobs { "?limit=500" } else { "" };
                let request = node.request("GET", &format!("{}{query}", call.call().path));
                let reply = request.key(caller.key.as_deref().unwrap_or("nothing")).send().await;
                for job in fixture.jobs.iter().filter(|job| !caller.sees(job)) {
                    let shown = reply.text.contains(&job.secret) || reply.text.contains(&job.id);
                    assert!(!shown, "{} {call:?} {job:?}: {}", caller.name, reply.text);
                }
            }
        }
    }
}

/// Calls whose bodies name jobs.
async fn reports_and_redrives(fixture: &Fixture) {
    let ids: Vec<&str> = fixture.jobs.iter().map(|job| job.id.as_str()).collect();
    for caller in &fixture.callers {
        let key = caller.key.as_deref().unwrap_or("nothing");
        for (index, job) in fixture.jobs.iter().enumerate().filter(|(_, job)| job.holder != Some(caller.name))
        {
            let report = json!({ "job": job.id, "fence": job.fence, "verb": "succeed" });
            let reports = json!({ "worker": job.worker, "reports": [report] });
            let reply = fixture.nodes[index % 2].post_as(key, "/api/reports", &reports).await;
            let is_refused = reply.status >= 400 || reply.body["results"][0].get("error").is_some();
            let what = format!("{} {job:?}: {}", caller.name, reply.text);
            assert!(is_refused && !reply.text.contains(&job.secret), "{what}");
        }
        if !caller.has(&["operator", "admin"]) {
            let node = &fixture.nodes[0];
            let redrive = node.post_as(key, "/api/dead-letters/redrive", &json!({ "ids": ids })).await;
            assert!((400..500).contains(&redrive.status), "{}", redrive.text);
        }
    }
}

/// Only callers with a right to the whole system erase users.
async fn erasures(fixture: &Fixture) {
    let call = CallId::EraseUser.call();
    for caller in fixture.callers.iter().filter(|caller| !call.access.allows(|right| caller.has_right(right)))
    {
        for (user, node) in ["u1", "u2"].into_iter().zip(&fixture.nodes) {
            let key = caller.key.as_deref().unwrap_or("nothing");
            let reply = node.post_as(key, &call.path_of(&[user]), &json!({ "reason": "x" })).await;
            assert!([401, 403].contains(&reply.status), "{}: {}", caller.name, reply.text);
        }
    }
}

/// Engines with the name of another worker report on its jobs.
async fn engine_messages(fixture: &Fixture, random: &mut SeededRandom) {
    for _ in 0..ENGINES {
        let job = &fixture.jobs[random.below(fixture.jobs.len())];
        let caller = &fixture.callers[random.below(fixture.callers.len())];
        // The engine asks for a type that is in the scope of no limited key.
        if job.last_holder == Some(caller.name) || caller.scope != Scope::All {
            continue;
        }
        let mut engine = SocketClient::new(socket::Language::JavaScript);
        let auth =
            json!({ "token": caller.key, "engineId": job.worker, "jobTypes": ["none"], "capacity": 1 });
        engine.connect(&fixture.nodes[random.below(2)], "/engine", &auth);
        if !caller.has(&["worker", "operator", "admin"]) {
            engine.refused().await;
            continue;
        }
        engine.connected().await;
        let events = json!({
            "job_ack": {}, "job_progress": { "progress": 10 }, "job_complete": {}, "job_failed": { "error": "X: y" },
            "job_cancelled": {}, "job_release": {},
        });
        for (event, more) in events.as_object().unwrap() {
            let message = merged(json!({ "jobId": job.id, "fence": job.fence }), more);
            let answer = engine.ask(event, message).await;
            assert!(answer["error"].is_object(), "{} {event} {job:?}: {answer}", caller.name);
            assert!(!answer.to_string().contains(&job.secret), "{answer}");
        }
        engine.report("heartbeat", json!({})).await;
        assert!(engine.unread_events().is_empty(), "{} got a job of another", caller.name);
    }
}

/// Front ends receive only events of jobs that they see.
async fn front_ends(fixture: &Fixture, random: &mut SeededRandom) {
    let mut connected = Vec::new();
    for caller in fixture.callers.iter().filter(|caller| caller.key.is_some()) {
        let node = &fixture.nodes[random.below(2)];
        connected.push((caller, socket::front_end(node, &json!({ "token": caller.key })).await));
    }
    let (admin, node) = (fixture.callers.last().unwrap(), &fixture.nodes[random.below(2)]);
    let key = admin.key.as_deref().unwrap();
    let mut made = Vec::new();
    for user in ["u1", "u2"] {
        let new = json!({ "type": "work", "user_id": user, "queue": "front" });
        let job = node.post_as(key, "/api/jobs", &new).await.expect(202);
        node.post_as(key, &path(&job, "cancel"), &json!({})).await.expect(200);
        made.push((id(&job).to_owned(), user));
    }
    for (caller, client) in &mut connected {
        for (job, _) in made.iter().filter(|(_, user)| caller.sees_jobs_of("work", user)) {
            for _ in ["created", "cancelled"] {
                let (_, event) = client.next_event().await;
                assert_eq!(event["id"], *job, "{}: {event}", caller.name);
            }
        }
        assert!(client.unread_events().is_empty(), "{} sees more than its jobs", caller.name);
    }
}
