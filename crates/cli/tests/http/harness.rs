//! Servers to test against: the real binary on a store of its own, and what it takes to talk to it.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, timeout};
use tokio_postgres::NoTls;
use xtask::scratch::Scratch;

/// How long a test waits for anything.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// Which store a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

/// Runs a test on both stores.
pub(crate) async fn both(test: impl AsyncFn(Server)) {
    both_set(&[], test).await;
}

/// Runs a test on both stores, with a `tenure.toml`.
pub(crate) async fn both_with(config: &str, test: impl AsyncFn(Server)) {
    both_set(&[("tenure.toml", config)], test).await;
}

/// Runs a test on both stores, with these files in the server's folder. Whatever it did, no law is broken afterwards.
pub(crate) async fn both_set(files: &[(&str, &str)], test: impl AsyncFn(Server)) {
    for store in [Store::Sqlite, Store::Postgres] {
        let setup = Setup::new(store).await;
        let setup = files.iter().fold(setup, |setup, (name, text)| setup.file(name, text));
        let left = setup.again();
        test(setup.start().await).await;
        left.verify();
    }
}

/// Waits until a condition holds.
pub(crate) async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    let poll = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if condition().await {
                return;
            }
        }
    };
    in_time(what, poll).await;
}

/// Waits for a future, but not for ever.
pub(crate) async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.unwrap_or_else(|_| panic!("waited {DEADLINE:?} in vain: {what}"))
}

/// What a server is started with.
pub(crate) struct Setup {
    store: Store,
    database: Option<String>,
    folder: Arc<TempDir>,
    client: Client,
    env: Vec<(&'static str, String)>,
}

impl Setup {
    /// A fresh store, an empty folder.
    pub(crate) async fn new(store: Store) -> Self {
        let database = if store == Store::Postgres { Some(a_database().await) } else { None };
        let folder = tempfile::Builder::new().prefix("tenure-http-").tempdir().unwrap();
        let (folder, client, env) = (Arc::new(folder), client().build().unwrap(), Vec::new());
        Self { store, database, folder, client, env }
    }

    /// Another server on that database, which may be one of a PostgreSQL of the test's own.
    pub(crate) fn on_database(url: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("tenure-http-").tempdir().unwrap();
        let client = client().build().unwrap();
        let (database, folder, env) = (Some(url.to_owned()), Arc::new(folder), Vec::new());
        Self { store: Store::Postgres, database, folder, client, env }
    }

    /// The same store and the same files, for another node or for later.
    pub(crate) fn again(&self) -> Self {
        let Self { store, database, folder, client, env } = self;
        let (database, folder, client) = (database.clone(), Arc::clone(folder), client.clone());
        Self { store: *store, database, folder, client, env: env.clone() }
    }

    /// What `tenure verify` is told about the store.
    pub(crate) fn store_flags(&self) -> [String; 2] {
        match &self.database {
            Some(url) => ["--database-url".to_owned(), url.clone()],
            None => ["--data".to_owned(), self.data().display().to_string()],
        }
    }

    /// Folds every history of the store and checks every law.
    #[track_caller]
    pub(crate) fn verify(&self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.env_clear().current_dir(self.folder.path()).arg("verify").args(self.store_flags());
        let told = command.output().expect("the binary is there");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(told.status.success(), "tenure verify:\n{}{}", text(&told.stdout), text(&told.stderr));
    }

    /// The configuration.
    pub(crate) fn config(self, toml: &str) -> Self {
        self.file("tenure.toml", toml)
    }

    /// A file beside the configuration.
    pub(crate) fn file(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    /// Variables of the server's environment.
    pub(crate) fn env(mut self, env: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.env.extend(env);
        self
    }

    /// Asks with a client that believes other certificates, or speaks HTTP/2 alone.
    pub(crate) fn client(mut self, client: Client) -> Self {
        self.client = client;
        self
    }

    /// The command that would start it.
    pub(crate) fn command(&self, listen: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.env_clear().env("NO_COLOR", "1").current_dir(self.folder.path());
        command.envs(self.env.iter().cloned());
        command.args(["serve", "--listen", listen]);
        if let Some(url) = &self.database {
            command.args(["--database-url", url]);
        } else {
            command.arg("--data").arg(self.data());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// A path beside the configuration.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts it, and returns when it listens.
    pub(crate) async fn start(self) -> Server {
        let (process, url) = Process::start(self.command("127.0.0.1:0")).await.unwrap_or_else(|said| {
            panic!("it does not listen:\n{said}");
        });
        Server { setup: self, process, url, key: None }
    }

    /// Starts it where another one was. Somebody's connection may have taken the port meanwhile: then it is waited for.
    pub(crate) async fn start_at(self, address: &str) -> Server {
        let mut ticks = tokio::time::interval(Duration::from_millis(200));
        let (process, url) = in_time("its address is free again", async {
            loop {
                ticks.tick().await;
                if let Ok(started) = Process::start(self.command(address)).await {
                    return started;
                }
            }
        })
        .await;
        Server { setup: self, process, url, key: None }
    }
}

/// A client without proxies and pools that outlive a server.
pub(crate) fn client() -> reqwest::ClientBuilder {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().timeout(Duration::from_mins(1))
}

/// The process and what it says.
struct Process {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Process {
    /// The process and where it listens, or what it said instead.
    async fn start(mut command: Command) -> Result<(Self, String), String> {
        let mut child = command.spawn().expect("the binary is there");
        let stderr = child.stderr.take().expect("stderr is piped");
        let said = Arc::new(Mutex::new(String::new()));
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let hears = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                {
                    let mut said = hears.lock().unwrap();
                    said.push_str(&line);
                    said.push('\n');
                }
                if let Some(url) = line.split(" · ").nth(1).filter(|part| part.starts_with("http")) {
                    let _ = tell.send(url.to_owned());
                }
            }
        });
        let url = timeout(DEADLINE, told.recv()).await.ok().flatten();
        let process = Self { child, said };
        match url {
            Some(url) => Ok((process, url)),
            None => Err(process.said.lock().unwrap().clone()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("-- the server said:\n{}", self.said.lock().unwrap());
        }
    }
}

/// A running server. It is killed when it is dropped.
pub(crate) struct Server {
    setup: Setup,
    process: Process,
    url: String,
    /// In whose name it is asked.
    key: Option<String>,
}

impl Server {
    pub(crate) async fn sqlite() -> Self {
        Setup::new(Store::Sqlite).await.start().await
    }

    pub(crate) async fn postgres() -> Self {
        Setup::new(Store::Postgres).await.start().await
    }

    pub(crate) async fn with(config: &str, store: Store) -> Self {
        Setup::new(store).await.config(config).start().await
    }

    /// Another node on the same database.
    pub(crate) async fn second_node(&self) -> Self {
        assert_eq!(self.setup.store, Store::Postgres, "only PostgreSQL has several nodes");
        let mut server = self.setup.again().start().await;
        server.key.clone_from(&self.key);
        server
    }

    /// The same again, after it ended: same store, same configuration, another port.
    pub(crate) async fn start_again(self) -> Self {
        let Self { setup, process, key, .. } = self;
        drop(process);
        let mut server = setup.start().await;
        server.key = key;
        server
    }

    /// The same again at the same address, after it was killed.
    pub(crate) async fn rise_again(self) -> Self {
        let address = self.address().to_owned();
        let Self { setup, process, key, .. } = self;
        drop(process);
        let mut server = setup.start_at(&address).await;
        server.key = key;
        server
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// `host:port`.
    pub(crate) fn address(&self) -> &str {
        self.url.split_once("://").expect("an address has a scheme").1
    }

    pub(crate) fn store(&self) -> Store {
        self.setup.store
    }

    /// What `tenure verify` is told about the store.
    pub(crate) fn store_flags(&self) -> [String; 2] {
        self.setup.store_flags()
    }

    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// From now on every request carries this key.
    pub(crate) fn use_key(&mut self, key: Option<&str>) {
        self.key = key.map(str::to_owned);
    }

    /// Everything that it has written to stderr.
    pub(crate) fn said(&self) -> String {
        self.process.said.lock().unwrap().clone()
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.child.id()
    }

    /// Ends it as a crash would.
    pub(crate) fn kill9(&mut self) {
        self.process.child.kill().expect("it can be killed");
        self.process.child.wait().expect("it ends");
    }

    /// Asks it to stop.
    pub(crate) fn signal_terminate(&self) {
        let id = rustix::process::Pid::from_child(&self.process.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("it is there");
    }

    /// Asks it to stop, and waits for its end.
    pub(crate) async fn terminate(&mut self) -> ExitStatus {
        self.signal_terminate();
        self.ended().await
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let child = Mutex::new(&mut self.process.child);
        eventually("the server ends", async || child.lock().unwrap().try_wait().unwrap().is_some()).await;
        child.into_inner().unwrap().wait().unwrap()
    }

    /// A request, to be filled and sent.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.setup.client.request(method, format!("{}{path}", self.url));
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        Request { builder: request, what: path.to_owned() }
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.request("GET", path).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.request("POST", path).json(body).send().await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.request("DELETE", path).send().await
    }

    /// A new job.
    pub(crate) async fn create(&self, body: Value) -> Value {
        self.post("/api/jobs", &body).await.expect(202)
    }

    /// The job as it is.
    pub(crate) async fn job(&self, job: &Value) -> Value {
        self.get(&path(job, "")).await.expect(200)
    }

    /// What a claim gets.
    pub(crate) async fn claim(&self, body: Value) -> Vec<Value> {
        let answer = self.post("/api/claims", &body).await.expect(200);
        answer["jobs"].as_array().expect("a claim is answered with jobs").clone()
    }

    /// The one job that worker `w1` gets, started.
    pub(crate) async fn take(&self) -> Value {
        let jobs = self.claim(json!({ "worker": "w1", "max": 1, "start": true })).await;
        jobs.into_iter().next().expect("there is a job to take")
    }

    /// What a worker says of a job that it has claimed.
    pub(crate) async fn report(&self, job: &Value, verb: &str, more: Value) -> Reply {
        let mut body = json!({ "worker": job["worker"], "fence": job["lease"]["fence"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.post(&path(job, verb), &body).await
    }

    /// A new job that is finished.
    pub(crate) async fn finished(&self, body: Value) -> Value {
        let job = self.create(body).await;
        let taken = self.take().await;
        assert_eq!(taken["id"], job["id"], "no other job was waiting");
        self.report(&taken, "succeed", json!({})).await.expect(200)
    }

    /// Every event of the journal, by pages of the largest size.
    pub(crate) async fn journal(&self) -> Vec<Value> {
        let (mut events, mut after) = (Vec::new(), "0".to_owned());
        loop {
            let page = self.get(&format!("/api/events?limit=500&after={after}")).await.expect(200);
            let rows = page["events"].as_array().unwrap();
            if rows.is_empty() {
                return events;
            }
            events.extend(rows.iter().cloned());
            page["next_cursor"].as_str().expect("a feed always goes on").clone_into(&mut after);
        }
    }

    /// An event stream, from the start or after an id.
    pub(crate) async fn stream(&self, path: &str, last_id: Option<&str>) -> Sse {
        let mut request = self.request("GET", path).header("accept", "text/event-stream");
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let response = request.open().await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["content-type"], "text/event-stream", "{path}");
        Sse { response, text: String::new() }
    }

    /// Writes bytes to a connection of their own and reads until it closes, or until nothing has come for a second
    /// after something had.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut socket = TcpStream::connect(self.address()).await.unwrap();
        let _ = socket.write_all(bytes).await;
        let (mut heard, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            let patience = if heard.is_empty() { DEADLINE } else { Duration::from_secs(1) };
            match timeout(patience, socket.read(&mut buffer)).await {
                Ok(Ok(count)) if count > 0 => heard.extend_from_slice(&buffer[..count]),
                _ => return String::from_utf8_lossy(&heard).into_owned(),
            }
        }
    }
}

/// The path of a job, or of a call on it.
pub(crate) fn path(job: &Value, call: &str) -> String {
    let id = job["id"].as_str().expect("a job has an id");
    if call.is_empty() { format!("/api/jobs/{id}") } else { format!("/api/jobs/{id}/{call}") }
}

/// The names of an object's members, in order of the alphabet.
pub(crate) fn members(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Words in order of the alphabet.
pub(crate) fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words
}

/// One member of each row.
pub(crate) fn column(rows: &Value, member: &str) -> Vec<Value> {
    rows.as_array().expect("rows").iter().map(|row| row[member].clone()).collect()
}

/// Milliseconds since the epoch of a time as the protocol writes it.
pub(crate) fn millis(time: &Value) -> i64 {
    let text = time.as_str().expect("a time");
    let part = |range: std::ops::Range<usize>| text[range].parse::<i64>().expect("digits");
    let (year, month, day) = (part(0..4), part(5..7), part(8..10));
    // Years begin in March here, so that a leap day is the last.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    (((days * 24 + part(11..13)) * 60 + part(14..16)) * 60 + part(17..19)) * 1000 + part(20..23)
}

/// A request that is being made.
pub(crate) struct Request {
    builder: reqwest::RequestBuilder,
    what: String,
}

impl Request {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.builder = self.builder.header(name, value);
        self
    }

    /// Takes the place of the server's key.
    pub(crate) fn key(mut self, key: &str) -> Self {
        let bearer = format!("Bearer {key}").parse().unwrap();
        self.builder = self.builder.headers(HeaderMap::from_iter([(reqwest::header::AUTHORIZATION, bearer)]));
        self
    }

    pub(crate) fn idempotent(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    pub(crate) fn json(mut self, body: &Value) -> Self {
        self.builder = self.builder.header("content-type", "application/json").body(body.to_string());
        self
    }

    /// Bytes as they are, without a content type.
    pub(crate) fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.builder = self.builder.body(body.into());
        self
    }

    /// The answer without its body.
    pub(crate) async fn open(self) -> reqwest::Response {
        let Self { builder, what } = self;
        in_time(&what, builder.send()).await.unwrap_or_else(|error| panic!("{what}: {error:?}"))
    }

    pub(crate) async fn send(self) -> Reply {
        let what = self.what.clone();
        self.try_send().await.unwrap_or_else(|error| panic!("{what}: {error:?}"))
    }

    /// For servers that may be going away.
    pub(crate) async fn try_send(self) -> Result<Reply, reqwest::Error> {
        let Self { builder, what } = self;
        let whole = async {
            let response = builder.send().await?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let text = response.text().await?;
            let body = serde_json::from_str(&text).unwrap_or(Value::Null);
            Ok(Reply { what: what.clone(), status, headers, text, body })
        };
        timeout(DEADLINE * 2, whole).await.unwrap_or_else(|_| panic!("no answer: {what}"))
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    what: String,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    /// The body, if it is JSON.
    pub(crate) body: Value,
}

impl Reply {
    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}: {}", self.what, self.text);
        self.body
    }

    /// A problem of this status and code, with all that a problem has.
    #[track_caller]
    pub(crate) fn problem(self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}: {}", self.what, self.text);
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.what);
        let body = &self.body;
        assert_eq!(body["code"], code, "{}: {}", self.what, self.text);
        assert_eq!(body["type"], format!("/problems/{code}"), "{}", self.text);
        assert_eq!(body["status"], status, "{}", self.text);
        let path = self.what.split('?').next().unwrap_or_default();
        assert_eq!(body["instance"], path, "{}", self.text);
        for member in ["title", "detail"] {
            assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{member}: {}", self.text);
        }
        self.body
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// An open event stream.
pub(crate) struct Sse {
    response: reqwest::Response,
    text: String,
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) event: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Sse {
    /// The next event, comments left out; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| -> Option<String> {
                    let lines = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                    let values: Vec<&str> =
                        lines.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect();
                    (!values.is_empty()).then(|| values.join("\n"))
                };
                let Some(data) = field("data") else { continue };
                let data = serde_json::from_str(&data).unwrap_or(Value::String(data));
                let (event, id) = (field("event").unwrap_or_default(), field("id").unwrap_or_default());
                return Some(Heard { event, id, data });
            }
            let chunk = in_time("the next event", self.response.chunk()).await.ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).expect("whole characters in a chunk"));
        }
    }

    /// Everything up to the end of the stream.
    pub(crate) async fn rest(mut self) -> Vec<Heard> {
        let mut heard = Vec::new();
        while let Some(event) = self.next().await {
            heard.push(event);
        }
        heard
    }
}

/// Chance that can be had again: by the seed in `TENURE_TEST_SEED`, or else by one that the test's output names.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new() -> Self {
        let given = std::env::var("TENURE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let since = std::time::UNIX_EPOCH.elapsed().expect("it is past 1970");
            u64::from(since.subsec_nanos()) ^ since.as_secs()
        });
        println!("TENURE_TEST_SEED={seed}");
        Self(seed)
    }

    /// A number below this one (SplitMix64).
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// A new, empty database on the server of this run.
pub(crate) async fn a_database() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("tenure_http_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let url = postgres_url();
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("the server is there");
    let driver = tokio::spawn(connection);
    client.batch_execute(&format!("create database {name}")).await.expect("a new database");
    drop(client);
    driver.await.expect("the driver does not panic").ok();
    let (server, _) = url.rsplit_once('/').expect("the server's address names a database");
    format!("{server}/{name}")
}

/// The server that `cargo xtask test` started, or one of this process's own. It ends with this process.
fn postgres_url() -> String {
    static OWN: LazyLock<Mutex<Scratch>> = LazyLock::new(|| {
        Mutex::new(Scratch::start().expect("PostgreSQL is installed: `cargo xtask install` does it"))
    });
    std::env::var("TENURE_TEST_POSTGRES").unwrap_or_else(|_| OWN.lock().unwrap().url())
}
