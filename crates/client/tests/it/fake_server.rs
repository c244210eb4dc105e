//! A scripted HTTP/1.1 server that records every request. It runs on a separate thread, so that a test that blocks its
//! runtime does not block the server.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tenure_client::Job;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};

/// Time limit of every wait.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn is_claim(&self) -> bool {
        self.path == "/api/claims"
    }

    /// The reports of a batch; none if it is another request.
    pub(crate) fn reports(&self) -> &[Value] {
        let is_batch = self.path == "/api/reports";
        self.body["reports"].as_array().filter(|_| is_batch).map_or(&[], Vec::as_slice)
    }
}

pub(crate) enum Reply {
    Json(u16, Value),
    /// JSON that a `Value` cannot represent.
    Text(u16, String),
    /// With more header lines.
    With(u16, &'static str, Value),
    /// An event stream in these pieces, each in a separate write; then the connection is closed.
    Pieces(Vec<Vec<u8>>),
    NoContent,
    /// The connection is closed without an answer.
    Lost,
}

/// A condition on the requests so far.
type Condition<'a> = &'a dyn Fn(&[Request]) -> bool;
type Script = Arc<dyn Fn(Request) -> BoxFuture<'static, Reply> + Send + Sync>;

pub(crate) struct FakeServer {
    pub(crate) url: String,
    seen: Arc<Seen>,
    shut_down: watch::Sender<bool>,
}

#[derive(Default)]
struct Seen {
    requests: Mutex<Vec<Request>>,
    count: watch::Sender<usize>,
    came: Condvar,
}

impl FakeServer {
    pub(crate) fn start<W>(script: impl Fn(Request) -> W + Send + Sync + 'static) -> Self
    where
        W: Future<Output = Reply> + Send + 'static,
    {
        let script: Script = Arc::new(move |request| Box::pin(script(request)));
        let (seen, shut_down) = (Arc::<Seen>::default(), watch::Sender::new(false));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (recorder, gone) = (seen.clone(), shut_down.subscribe());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(serve(listener, script, recorder, gone));
        });
        Self { url, seen, shut_down }
    }

    /// Sends these replies in order, then 404.
    pub(crate) fn replies(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect::<VecDeque<_>>());
        let absent = || Reply::Json(404, problem(404, "not_found"));
        Self::start(move |_| {
            let reply = replies.lock().unwrap().pop_front().unwrap_or_else(absent);
            async { reply }
        })
    }

    pub(crate) fn client(&self) -> tenure_client::Client {
        tenure_client::Client::new(&self.url).unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.requests.lock().unwrap().clone()
    }

    /// Closes every connection and accepts no more.
    pub(crate) fn shut_down(&self) {
        self.shut_down.send_replace(true);
    }

    /// Waits until `found` returns something for the requests so far.
    pub(crate) async fn until<T>(&self, found: impl Fn(&[Request]) -> Option<T>) -> T {
        let mut count = self.seen.count.subscribe();
        let look = async {
            loop {
                if let Some(it) = found(&self.requests()) {
                    return it;
                }
                count.changed().await.unwrap();
            }
        };
        let looked = tokio::time::timeout(DEADLINE, look).await;
        looked.unwrap_or_else(|_| panic!("not seen in time: {:#?}", self.requests()))
    }

    /// A blocking wait, for a test that must block its thread.
    pub(crate) fn watcher(&self) -> impl Fn(Condition<'_>) + Send + Sync + 'static {
        let seen = self.seen.clone();
        move |found| {
            let requests = seen.requests.lock().unwrap();
            let (_requests, waited) =
                seen.came.wait_timeout_while(requests, DEADLINE, |requests| !found(requests)).unwrap();
            assert!(!waited.timed_out(), "not seen in time");
        }
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.shut_down();
    }
}

async fn serve(
    listener: std::net::TcpListener,
    script: Script,
    seen: Arc<Seen>,
    mut gone: watch::Receiver<bool>,
) {
    let listener = TcpListener::from_std(listener).unwrap();
    let mut connections = tokio::task::JoinSet::new();
    let shutting_down = gone.wait_for(|gone| *gone);
    tokio::pin!(shutting_down);
    loop {
        tokio::select! {
            biased;
            _ = &mut shutting_down => return,
            Ok((stream, _)) = listener.accept() => {
                let (script, seen) = (script.clone(), seen.clone());
                connections.spawn(async move { drop(connection(stream, script, seen).await) });
            }
        }
    }
}

async fn connection(mut stream: TcpStream, script: Script, seen: Arc<Seen>) -> std::io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    while let Some(request) = read_request(&mut reader).await? {
        seen.requests.lock().unwrap().push(request.clone());
        seen.count.send_modify(|count| *count += 1);
        seen.came.notify_all();
        let (status, headers, body) = match script(request).await {
            Reply::Json(status, body) => (status, "", body.to_string()),
            Reply::Text(status, body) => (status, "", body),
            Reply::With(status, headers, body) => (status, headers, body.to_string()),
            Reply::NoContent => (204, "", String::new()),
            Reply::Lost => return Ok(()),
            Reply::Pieces(pieces) => {
                writer.write_all(b"HTTP/1.1 200 x\r\ncontent-type: text/event-stream\r\n\r\n").await?;
                for piece in pieces {
                    writer.write_all(&piece).await?;
                    writer.flush().await?;
                    tokio::task::yield_now().await;
                }
                return Ok(());
            }
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{headers}\r\n");
        writer.write_all(format!("{head}{body}").as_bytes()).await?;
    }
    Ok(())
}

async fn read_request(
    reader: &mut BufReader<tokio::net::tcp::ReadHalf<'_>>,
) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        let values: &mut String = headers.entry(name.to_lowercase()).or_default();
        let separator = if values.is_empty() { "" } else { ", " };
        values.extend([separator, value]);
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Some(Request { method, path, headers, body }))
}

pub(crate) fn problem(status: u16, code: &str) -> Value {
    json!({ "type": format!("/problems/{code}"), "title": "No", "status": status, "detail": "because", "code": code })
}

/// A claimed job with a lease of this heartbeat and ten times its length.
pub(crate) fn job(id: &str, job_type: &str, heartbeat_ms: u64) -> Value {
    let (heartbeat, ttl) = (format!("{heartbeat_ms}ms"), format!("{}ms", heartbeat_ms * 10));
    json!({
        "id": id, "type": job_type, "lifecycle": "distributed", "attempt": 1, "payload": { "n": 1 },
        "lease": { "fence": 7, "expires_at": "", "heartbeat": heartbeat, "ttl": ttl },
    })
}

/// The answer to one report.
type ReportHandler = Box<dyn Fn(&Value) -> Result<Value, Value> + Send + Sync>;

/// A fake server for workers: hands out jobs, and answers each report.
pub(crate) struct FakeJobs {
    jobs: Mutex<VecDeque<Value>>,
    handle_report: ReportHandler,
}

impl FakeJobs {
    pub(crate) fn start(
        jobs: impl IntoIterator<Item = Value>,
        handle_report: impl Fn(&Value) -> Result<Value, Value> + Send + Sync + 'static,
    ) -> FakeServer {
        let jobs = Mutex::new(jobs.into_iter().collect());
        let fake = Arc::new(Self { jobs, handle_report: Box::new(handle_report) });
        FakeServer::start(move |request| fake.clone().reply(request))
    }

    pub(crate) async fn reply(self: Arc<Self>, request: Request) -> Reply {
        match request.path.as_str() {
            "/api/claims" => self.claim(&request).await,
            "/api/reports" => results(&request, &self.handle_report),
            path if path.ends_with("/logs") => Reply::Json(200, json!({})),
            _ => Reply::Json(404, problem(404, "not_found")),
        }
    }

    async fn claim(&self, request: &Request) -> Reply {
        let take = || {
            let mut jobs = self.jobs.lock().unwrap();
            let count = jobs.len().min(request.body["max"].as_u64().unwrap() as usize);
            jobs.drain(..count).collect::<Vec<_>>()
        };
        let jobs = take();
        if jobs.is_empty() { no_jobs(request).await } else { claimed(&jobs) }
    }
}

/// The answer to a claim that gets these jobs.
pub(crate) fn claimed(jobs: &[Value]) -> Reply {
    Reply::Json(200, json!({ "jobs": jobs }))
}

/// An idle server's answer to a claim: no jobs, or nothing as long as the claim waits.
pub(crate) async fn no_jobs(claim: &Request) -> Reply {
    if claim.body.get("wait").is_some() { std::future::pending().await } else { claimed(&[]) }
}

/// The answer to a batch of reports, each handled alone.
pub(crate) fn results(batch: &Request, handle: impl Fn(&Value) -> Result<Value, Value>) -> Reply {
    let result = |report| match handle(report) {
        Ok(answer) => json!({ "ok": answer }),
        Err(problem) => json!({ "error": problem }),
    };
    let results: Vec<Value> = batch.reports().iter().map(result).collect();
    Reply::Json(200, json!({ "results": results }))
}

/// Accepts every report and heartbeat.
#[allow(clippy::unnecessary_wraps, reason = "the signature of a report handler")]
pub(crate) fn accept(_: &Value) -> Result<Value, Value> {
    Ok(json!({ "lease": null, "cancel": null }))
}

/// All reports with this verb, in order.
pub(crate) fn reports(requests: &[Request], verb: &str) -> Vec<Value> {
    requests.iter().flat_map(Request::reports).filter(|report| report["verb"] == verb).cloned().collect()
}

/// All reports with this verb, once there are any.
pub(crate) fn reported(verb: &str) -> impl Fn(&[Request]) -> Option<Vec<Value>> {
    move |requests| Some(reports(requests, verb)).filter(|reports| !reports.is_empty())
}

/// A handler that gets a clone of this context with each job.
pub(crate) fn with<C: Clone, W>(
    context: C,
    handler: impl Fn(C, Job<Value>) -> W,
) -> impl Fn(Job<Value>) -> W {
    move |job| handler(context.clone(), job)
}

/// A worker that runs beside the test until it is stopped.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    end: tokio::task::JoinHandle<tenure_client::Result<()>>,
}

impl Running {
    pub(crate) fn start(worker: tenure_client::Worker) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let end = tokio::spawn(worker.run_until(async { drop(stopped.await) }));
        Self { stop, end }
    }

    /// Stops it, and returns a future that waits for its end.
    pub(crate) fn stop(self) -> impl Future<Output = ()> {
        drop(self.stop);
        async { tokio::time::timeout(DEADLINE, self.end).await.unwrap().unwrap().unwrap() }
    }
}
