//! Callers of every kind, and jobs in every phase that belong to some of them.

use serde_json::{Value, json};
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
    pub(super) role: &'static str,
    pub(super) user: Option<&'static str>,
    /// None for the caller without a key.
    pub(super) key: Option<String>,
}

const CALLERS: [(&str, &str, Option<&str>); 7] = [
    ("producer of u1", "producer", Some("u1")),
    ("producer of u2", "producer", Some("u2")),
    ("worker a", "worker", None),
    ("worker b", "worker", None),
    ("operator", "operator", None),
    ("viewer", "viewer", None),
    ("admin", "admin", None),
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
    /// Which jobs a caller sees, by http.md.
    pub(super) fn sees(&self, job: &KnownJob) -> bool {
        match self.role {
            "producer" => self.user == Some(job.user),
            "worker" => job.holder == Some(self.name),
            "operator" | "viewer" | "admin" => true,
            _ => false,
        }
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
        let mut callers = vec![KnownCaller { name: "no key", role: "none", user: None, key: None }];
        for (name, role, user) in CALLERS {
            let key = if role == "admin" { admin.clone() } else { one.create_key(role, user).await };
            callers.push(KnownCaller { name, role, user, key: Some(key) });
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
