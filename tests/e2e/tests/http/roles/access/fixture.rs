//! Callers of every kind, and jobs in every phase that belong to some of them.

use serde_json::{Value, json};
use tenure_api::Right;
use tenure_e2e::*;

/// Leases that outlast the test; the jobs of `paged` also have a lifecycle API.
pub(super) const CONFIG: &str = r#"
[types.work]
lifecycle = "distributed"
lease = "4h"
heartbeat = "2h"
[types.paged]
lifecycle = "pattern"
lease = "4h"
heartbeat = "2h"
[assets]
store = "file:./objects"
"#;

/// The mount of the lifecycle that `paged` follows.
pub(super) const MOUNT: &str = "/jobs";

#[derive(Debug)]
pub(super) struct KnownCaller {
    pub(super) name: &'static str,
    pub(super) roles: &'static [&'static str],
    pub(super) user: Option<&'static str>,
    pub(super) scope: Scope,
    /// None for the caller without a key.
    pub(super) key: Option<String>,
}

/// The jobs that a key is limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Type(&'static str),
    User(&'static str),
}

impl Scope {
    pub(super) fn includes(self, job_type: &str, user: &str) -> bool {
        match self {
            Self::All => true,
            Self::Type(only) => only == job_type,
            Self::User(only) => only == user,
        }
    }

    fn json(self) -> Value {
        match self {
            Self::All => json!({}),
            Self::Type(only) => json!({ "types": [only] }),
            Self::User(only) => json!({ "user_id": only }),
        }
    }
}

/// The admin is the last.
const CALLERS: [(&str, &[&str], Option<&str>, Scope); 12] = [
    ("producer of u1", &["producer"], Some("u1"), Scope::All),
    ("producer of u2", &["producer"], Some("u2"), Scope::All),
    ("worker a", &["worker"], None, Scope::All),
    ("worker b", &["worker"], None, Scope::All),
    ("operator", &["operator"], None, Scope::All),
    ("viewer", &["viewer"], None, Scope::All),
    ("producer and worker of u1", &["producer", "worker"], Some("u1"), Scope::All),
    ("viewer and producer of u1", &["viewer", "producer"], Some("u1"), Scope::All),
    ("operator for work", &["operator"], None, Scope::Type("work")),
    ("viewer for u1", &["viewer"], None, Scope::User("u1")),
    ("producer of u2 for paged", &["producer"], Some("u2"), Scope::Type("paged")),
    ("admin", &["admin"], None, Scope::All),
];

/// A job, and what is expected of it.
#[derive(Debug)]
pub(super) struct KnownJob {
    pub(super) id: String,
    pub(super) job_type: &'static str,
    pub(super) user: &'static str,
    /// The name under which it is claimed, which is also its queue. Every caller knows it and uses it.
    pub(super) worker: String,
    /// The caller that holds it, or ended it.
    pub(super) holder: Option<&'static str>,
    /// The caller that had the last lease.
    pub(super) last_holder: Option<&'static str>,
    /// The last fence, 0 if it was never leased.
    pub(super) fence: u64,
    /// Part of its payload, its log, its result and its asset.
    pub(super) secret: String,
    pub(super) asset: String,
}

impl KnownCaller {
    /// Whether it has one of these roles.
    pub(super) fn has(&self, roles: &[&str]) -> bool {
        self.roles.iter().any(|role| roles.contains(role))
    }

    /// Whether one of its roles has a right. One to the whole system is not that of a key that is limited to some jobs.
    pub(super) fn has_right(&self, right: Right) -> bool {
        self.has(right.roles()) && (self.scope == Scope::All || !right.is_about_system())
    }

    /// Whether it sees the jobs of a type and user that it does not hold.
    pub(super) fn sees_jobs_of(&self, job_type: &str, user: &str) -> bool {
        let is_own = self.has(&["producer"]) && self.user == Some(user);
        self.scope.includes(job_type, user) && (self.has(&["operator", "viewer", "admin"]) || is_own)
    }

    /// Which jobs a caller sees, by http.md.
    pub(super) fn sees(&self, job: &KnownJob) -> bool {
        let holds = self.has(&["worker"]) && job.holder == Some(self.name);
        self.sees_jobs_of(job.job_type, job.user) || (holds && self.scope.includes(job.job_type, job.user))
    }

    /// Which jobs a caller changes without a lease.
    pub(super) fn changes(&self, job: &KnownJob) -> bool {
        let is_own = self.has(&["producer"]) && self.user == Some(job.user);
        self.scope.includes(job.job_type, job.user) && (self.has(&["operator", "admin"]) || is_own)
    }
}

/// What a worker does with a job after its creation.
const STORIES: [&[&str]; 6] =
    [&[], &["claim"], &["claim", "start"], &["claim", "succeed"], &["claim", "fail"], &["claim", "release"]];

pub(super) struct Fixture {
    pub(super) nodes: Vec<Server>,
    pub(super) callers: Vec<KnownCaller>,
    pub(super) jobs: Vec<KnownJob>,
}

impl Fixture {
    pub(super) async fn create() -> Self {
        let mut one = Setup::new(Store::Postgres).await.config(CONFIG).start().await;
        let admin = one.use_admin_key().await;
        let unknown = KnownCaller { name: "no key", roles: &[], user: None, scope: Scope::All, key: None };
        let mut callers = vec![unknown];
        for (name, roles, user, scope) in CALLERS {
            let key = if name == "admin" {
                admin.clone()
            } else {
                let new = json!({ "roles": roles, "user_id": user, "scopes": scope.json() });
                let created = one.post("/api/keys", &new).await.expect(201);
                created["key"].as_str().unwrap().to_owned()
            };
            callers.push(KnownCaller { name, roles, user, scope, key: Some(key) });
        }
        let two = one.second_node().await;
        let mut made = Self { nodes: vec![one, two], callers, jobs: Vec::new() };
        for user in ["u1", "u2"] {
            for worker in ["worker a", "worker b"] {
                for job_type in ["work", "paged"] {
                    for story in STORIES {
                        made.add_job(user, worker, job_type, story).await;
                    }
                }
            }
        }
        made
    }

    fn key(&self, name: &str) -> &str {
        let found = self.callers.iter().find(|caller| caller.name == name).unwrap();
        found.key.as_deref().unwrap()
    }

    async fn add_job(
        &mut self,
        user: &'static str,
        worker: &'static str,
        job_type: &'static str,
        story: &[&str],
    ) {
        let number = self.jobs.len();
        let (secret, node) = (format!("secret-{number}-"), &self.nodes[number % 2]);
        let (payload, name) = (json!({ "secret": secret }), format!("w{number}"));
        let new = json!({ "type": job_type, "user_id": user, "payload": payload, "queue": name });
        let job = node.create(new).await;
        let upload = path(&job, "assets?asset_type=t");
        let asset = node.request("POST", &upload).bytes(secret.clone()).send().await.expect(201);
        node.call_ok(&job, "logs", &json!({ "lines": [{ "text": secret }] })).await;
        let mut known = KnownJob {
            id: id(&job).to_owned(),
            job_type,
            user,
            worker: name,
            holder: None,
            last_holder: None,
            fence: 0,
            secret,
            asset: id(&asset).to_owned(),
        };
        // The other worker has used the name of this one before, on the other node.
        let other = if worker == "worker a" { "worker b" } else { "worker a" };
        let claim = json!({ "worker": known.worker, "max": 1, "types": ["none"] });
        self.nodes[(number + 1) % 2].post_as(self.key(other), "/api/claims", &claim).await.expect(200);
        for verb in story {
            self.work(&mut known, worker, verb).await;
        }
        self.jobs.push(known);
    }

    /// A step of a worker's story.
    async fn work(&self, job: &mut KnownJob, worker: &'static str, verb: &str) {
        let (node, key) = (&self.nodes[self.jobs.len() % 2], self.key(worker));
        if verb == "claim" {
            let claim = json!({ "worker": job.worker, "max": 1, "queues": [job.worker], "wait": "30s" });
            let claimed = node.post_as(key, "/api/claims", &claim).await.expect(200);
            assert_eq!(claimed["jobs"][0]["id"], job.id);
            job.fence = claimed["jobs"][0]["lease"]["fence"].as_u64().unwrap();
            (job.holder, job.last_holder) = (Some(worker), Some(worker));
            return;
        }
        let more = match verb {
            "succeed" => json!({ "result": { "secret": job.secret } }),
            "fail" => json!({ "error": { "code": "X", "message": job.secret, "class": "permanent" } }),
            _ => json!({}),
        };
        let body = merged(json!({ "worker": job.worker, "fence": job.fence }), &more);
        let answer = node.post_as(key, &format!("/api/jobs/{}/{verb}", job.id), &body).await;
        // Not every lifecycle has every verb: then the job stays as it is.
        if answer.status == 200 && answer.body["phase"] == "ready" {
            job.holder = None;
        }
    }

    /// Everything that an effect on a job would change, as an admin sees it.
    pub(super) async fn everything(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for job in &self.jobs {
            let mut seen = Vec::new();
            for read in ["", "/events?telemetry=true", "/logs", "/assets"] {
                seen.push(self.nodes[0].read(&format!("/api/jobs/{}{read}", job.id)).await);
            }
            all.push(json!(seen));
        }
        let node = &self.nodes[0];
        all.push(json!(node.all_pages("/api/jobs?limit=500", "jobs").await.len()));
        all.push(node.read("/api/dead-letters?limit=500").await);
        all
    }
}
