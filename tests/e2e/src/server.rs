//! A running server and the calls that tests make most.

use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use rustix::process::{Pid, kill_process};
use serde_json::{Value, json};
use tenure_launcher::{ServerProcess, Signal};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::{DEADLINE, EventStream, Reply, Request, Setup, Store, eventually, path, rows};

/// A running server. It is killed when dropped.
pub struct Server {
    setup: Setup,
    process: ServerProcess,
    /// Sent with every request.
    key: Option<String>,
}

impl Server {
    pub(crate) fn new(setup: Setup, process: ServerProcess) -> Self {
        Self { setup, process, key: None }
    }

    pub async fn sqlite() -> Self {
        Setup::new(Store::Sqlite).await.start().await
    }

    pub async fn postgres() -> Self {
        Setup::new(Store::Postgres).await.start().await
    }

    pub async fn with(config: &str, store: Store) -> Self {
        Setup::new(store).await.config(config).start().await
    }

    fn key_of(mut self, key: Option<String>) -> Self {
        self.key = key;
        self
    }

    /// Another node on the same database.
    pub async fn second_node(&self) -> Self {
        assert_eq!(self.store(), Store::Postgres, "only PostgreSQL has several nodes");
        self.setup.clone().start().await.key_of(self.key.clone())
    }

    /// This server, and on PostgreSQL a second node.
    pub async fn with_second_node(self) -> Vec<Arc<Self>> {
        let second = if self.store() == Store::Postgres { Some(self.second_node().await) } else { None };
        [Some(self), second].into_iter().flatten().map(Arc::new).collect()
    }

    /// Creates a key and returns its text.
    pub async fn create_key(&self, role: &str, user: Option<&str>) -> String {
        let created = self.post("/api/keys", &json!({ "role": role, "user_id": user })).await.expect(201);
        created["key"].as_str().expect("a new key is shown").to_owned()
    }

    /// Creates an admin key, which closes the server, and uses it from now on.
    pub async fn use_admin_key(&mut self) -> String {
        let key = self.create_key("admin", None).await;
        self.use_key(Some(&key));
        key
    }

    /// Revokes a key.
    pub async fn revoke(&self, key: &str) -> Value {
        let id = key.split('_').nth(1).expect("a key is tn_ID_SECRET_CHECK");
        self.delete(&format!("/api/keys/{id}")).await.expect(200)
    }

    /// Grants credits to a user.
    pub async fn grant(&self, user: &str, credits: u64) {
        let body = json!({ "grant": credits, "reason": "test" });
        self.post(&format!("/api/accounts/{user}/credits"), &body).await.expect(200);
    }

    /// Granted, reserved, spent and available credits of a user.
    pub async fn account(&self, user: &str) -> [u64; 4] {
        let account = self.read(&format!("/api/accounts/{user}/credits")).await;
        ["granted", "reserved", "spent", "available"].map(|sum| account[sum].as_u64().unwrap())
    }

    /// Kills it and starts it on the same store at another port.
    pub async fn restart(self) -> Self {
        let Self { setup, process, key } = self;
        drop(process);
        setup.start().await.key_of(key)
    }

    /// Kills it and starts it on the same store at the same address.
    pub async fn restart_at_same_address(self) -> Self {
        let address = self.address().to_owned();
        let Self { setup, process, key } = self;
        drop(process);
        setup.start_at(&address).await.key_of(key)
    }

    pub fn url(&self) -> &str {
        self.process.url()
    }

    /// `host:port`.
    pub fn address(&self) -> &str {
        self.process.address()
    }

    pub fn store(&self) -> Store {
        self.setup.store()
    }

    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Sends this key with every request from now on.
    pub fn use_key(&mut self, key: Option<&str>) {
        self.key = key.map(str::to_owned);
    }

    /// Everything that it has logged.
    pub fn logs(&self) -> String {
        self.process.process().output()
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.process().id()
    }

    /// Kills it, as a crash would.
    pub fn kill(&mut self) {
        self.process.process_mut().kill().expect("the process can be killed");
    }

    /// Stops the process for a time, as a suspended machine does.
    pub async fn freeze(&self, span: Duration) {
        freeze(&[self.id()], span).await;
    }

    /// Whether it has not exited.
    pub fn is_running(&mut self) -> bool {
        self.process.process_mut().try_wait().unwrap().is_none()
    }

    pub fn signal_terminate(&self) {
        self.process.process().signal(Signal::TERM).expect("the process runs");
    }

    /// Writes files beside the configuration file, sends SIGHUP, and waits until the log says that the configuration was
    /// reloaded, or why not.
    pub async fn reload_with(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            std::fs::write(self.setup.path(name), text).unwrap();
        }
        let ends = ["configuration reloaded", "configuration reload failed"];
        let count = || ends.map(|end| self.logs().matches(end).count()).into_iter().sum::<usize>();
        let before = count();
        self.process.process().signal(Signal::HUP).expect("the process runs");
        eventually("the configuration is reloaded or refused", async || count() > before).await;
    }

    /// Sends SIGTERM and waits for the exit.
    pub async fn terminate(&mut self) -> ExitStatus {
        self.signal_terminate();
        self.wait_for_exit().await
    }

    pub async fn wait_for_exit(&mut self) -> ExitStatus {
        let process = Mutex::new(self.process.process_mut());
        let exited = || process.lock().unwrap().try_wait().unwrap();
        eventually("the server exits", async || exited().is_some()).await;
        exited().unwrap()
    }

    /// A request, to be completed and sent.
    pub fn request(&self, method: &str, path: &str) -> Request {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut builder = self.setup.http_client().request(method, format!("{}{path}", self.url()));
        if let Some(key) = &self.key {
            builder = builder.bearer_auth(key);
        }
        Request { builder, path: path.to_owned() }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.request("GET", path).send().await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.request("POST", path).json(body).send().await
    }

    pub async fn get_as(&self, key: &str, path: &str) -> Reply {
        self.request("GET", path).key(key).send().await
    }

    pub async fn post_as(&self, key: &str, path: &str, body: &Value) -> Reply {
        self.request("POST", path).key(key).json(body).send().await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.request("DELETE", path).send().await
    }

    /// The body of a GET that succeeds.
    pub async fn read(&self, path: &str) -> Value {
        self.get(path).await.expect(200)
    }

    /// A POST to a job, such as `cancel`.
    pub async fn call(&self, job: &Value, call: &str, body: &Value) -> Reply {
        self.post(&path(job, call), body).await
    }

    /// Creates a job.
    pub async fn create(&self, body: Value) -> Value {
        self.post("/api/jobs", &body).await.expect(202)
    }

    /// The current job.
    pub async fn job(&self, job: &Value) -> Value {
        self.read(&path(job, "")).await
    }

    /// The jobs that a claim returns.
    pub async fn claim(&self, body: Value) -> Vec<Value> {
        rows(&self.post("/api/claims", &body).await.expect(200)["jobs"]).to_vec()
    }

    /// Claims and starts one job as worker `w1`.
    pub async fn claim_one(&self) -> Value {
        let jobs = self.claim(json!({ "worker": "w1", "max": 1, "start": true })).await;
        jobs.into_iter().next().expect("a job is ready")
    }

    /// A worker's report on a job that it has claimed.
    pub async fn report(&self, job: &Value, verb: &str, more: Value) -> Reply {
        let mut body = json!({ "worker": job["worker"], "fence": job["lease"]["fence"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.call(job, verb, &body).await
    }

    /// Reports a success without a result.
    pub async fn succeed(&self, job: &Value) -> Value {
        self.report(job, "succeed", json!({})).await.expect(200)
    }

    /// Creates a job and finishes it.
    pub async fn create_finished(&self, body: Value) -> Value {
        let job = self.create(body).await;
        let claimed = self.claim_one().await;
        assert_eq!(claimed["id"], job["id"], "no other job was ready");
        self.succeed(&claimed).await
    }

    /// All rows of a list, page by page; `field` is their name in the answer.
    pub async fn all_pages(&self, path: &str, field: &str) -> Vec<Value> {
        let (mut all, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.read(&format!("{path}{cursor}")).await;
            all.extend_from_slice(rows(&page[field]));
            let Some(next) = page["next_cursor"].as_str() else { return all };
            cursor = format!("&cursor={next}");
        }
    }

    /// The jobs that a query finds.
    pub async fn list(&self, query: &str) -> Vec<Value> {
        rows(&self.read(&format!("/api/jobs?{query}")).await["jobs"]).to_vec()
    }

    /// Every event of the journal, in pages of the largest size.
    pub async fn journal(&self) -> Vec<Value> {
        let (mut events, mut after) = (Vec::new(), "0".to_owned());
        loop {
            let page = self.read(&format!("/api/events?limit=500&after={after}")).await;
            if rows(&page["events"]).is_empty() {
                return events;
            }
            events.extend_from_slice(rows(&page["events"]));
            page["next_cursor"].as_str().expect("the journal has no last page").clone_into(&mut after);
        }
    }

    /// An event stream, from the beginning or after an id.
    pub async fn stream(&self, path: &str, last_id: Option<&str>) -> EventStream {
        let mut request = self.request("GET", path).header("accept", "text/event-stream");
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let response = request.open().await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream", "{path}");
        EventStream::new(response)
    }

    /// Writes bytes to a new connection and reads until it closes, or until one second passes after the last byte.
    pub async fn raw(&self, bytes: &[u8]) -> String {
        let mut socket = TcpStream::connect(self.address()).await.unwrap();
        let _ = socket.write_all(bytes).await;
        let (mut received, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let limit = if received.is_empty() { DEADLINE } else { Duration::from_secs(1) };
            match timeout(limit, socket.read(&mut buffer)).await {
                Ok(Ok(count)) if count > 0 => received.extend_from_slice(&buffer[..count]),
                _ => return String::from_utf8_lossy(&received).into_owned(),
            }
        }
    }
}

/// Stops processes for a time.
pub(crate) async fn freeze(processes: &[u32], span: Duration) {
    let signal_all = |signal| {
        for process in processes {
            let process = Pid::from_raw(*process as i32).expect("a process has a number");
            // A connection's process of a database may have ended.
            let _ = kill_process(process, signal);
        }
    };
    signal_all(Signal::STOP);
    tokio::time::sleep(span).await; // tidy: a fault that takes time
    signal_all(Signal::CONT);
}
