//! The coalescer with a transport whose answers the test gives.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::*;

type Results = Result<Vec<Result<String, Problem>>>;

/// A request that waits for the test's answer.
struct Request {
    /// The jobs of a batch; empty if the request has one job.
    batch: Vec<Value>,
    keys: Vec<String>,
    reply: oneshot::Sender<Results>,
}

impl Request {
    /// Answers each job with its key.
    fn accept(self) {
        let answers = self.keys.iter().map(|key| Ok(format!("answer to {key}"))).collect();
        self.reply.send(Ok(answers)).unwrap();
    }
}

#[derive(Clone)]
struct Fake(mpsc::UnboundedSender<Request>);

impl Fake {
    fn new() -> (Self, mpsc::UnboundedReceiver<Request>) {
        let (sender, requests) = mpsc::unbounded_channel();
        (Self(sender), requests)
    }

    async fn ask(&self, batch: Vec<Value>, keys: Vec<String>) -> Results {
        let (reply, answer) = oneshot::channel();
        self.0.send(Request { batch, keys, reply }).unwrap();
        answer.await.unwrap()
    }
}

impl Transport<String> for Fake {
    async fn single(&self, job: &KeyedJob) -> Result<String> {
        let answer = self.ask(Vec::new(), vec![job.key.clone()]).await?.remove(0);
        answer.map_err(Error::Refused)
    }

    async fn batch(&self, body: Bytes, count: usize) -> Results {
        let body: Value = serde_json::from_slice(&body).unwrap();
        let jobs = body["jobs"].as_array().unwrap().clone();
        assert_eq!(jobs.len(), count);
        let key = |job: &Value| job["idempotency_key"].as_str().unwrap().to_owned();
        let keys = jobs.iter().map(key).collect();
        self.ask(jobs, keys).await
    }
}

fn problem(status: u16) -> Problem {
    let (code, title) = ("some_code".to_owned(), String::new());
    Problem { status, code, title, detail: None, retry_after: None, extra: Map::new() }
}

fn job_of(key: &str, payload: &str) -> Arc<KeyedJob> {
    let body = format!(r#"{{"type":"t","payload":"{payload}"}}"#).into();
    Arc::new(KeyedJob { body, key: key.to_owned() })
}

type Call = JoinHandle<Option<Result<String>>>;

/// Calls on one coalescer.
#[derive(Clone)]
struct Calls {
    coalescer: Coalescer<String>,
    transport: Fake,
}

impl Calls {
    fn new() -> (Self, mpsc::UnboundedReceiver<Request>) {
        let (transport, requests) = Fake::new();
        (Self { coalescer: Coalescer::default(), transport }, requests)
    }

    fn start(&self, job: Arc<KeyedJob>) -> Call {
        let Self { coalescer, transport } = self.clone();
        tokio::spawn(async move { coalescer.send(&transport, &job).await })
    }

    /// Starts one call after the other, and returns when all of them wait.
    async fn wait_in_line(&self, jobs: impl IntoIterator<Item = Arc<KeyedJob>>) -> Vec<Call> {
        let mut calls = Vec::new();
        for job in jobs {
            let before = self.waiting();
            calls.push(self.start(job));
            while self.waiting() == before {
                tokio::task::yield_now().await;
            }
        }
        calls
    }

    /// One call in flight, whose request is returned, and these, which wait.
    async fn behind_one(
        &self,
        requests: &mut mpsc::UnboundedReceiver<Request>,
        keys: &[&str],
    ) -> (Call, Request, Vec<Call>) {
        let first = self.start(job_of("first", "x"));
        let request = requests.recv().await.unwrap();
        let waiting = self.wait_in_line(keys.iter().map(|key| job_of(key, "x"))).await;
        (first, request, waiting)
    }

    fn waiting(&self) -> usize {
        self.coalescer.state().waiting.len()
    }
}

async fn answer(call: Call) -> String {
    call.await.unwrap().unwrap().unwrap()
}

#[tokio::test]
async fn a_call_that_finds_nothing_in_flight_leaves_at_once_in_an_ordinary_request() {
    let (calls, mut requests) = Calls::new();
    for key in ["a", "b"] {
        let call = calls.start(job_of(key, "x"));
        let request = requests.recv().await.unwrap();
        assert_eq!((request.batch.len(), &request.keys[..]), (0, &[key.to_owned()][..]));
        request.accept();
        assert_eq!(answer(call).await, format!("answer to {key}"));
    }
}

#[tokio::test]
async fn calls_that_come_meanwhile_leave_together_with_the_next_request() {
    let (calls, mut requests) = Calls::new();
    let (first, request, waiting) = calls.behind_one(&mut requests, &["a", "b", "c"]).await;
    assert!(requests.try_recv().is_err(), "one request is in flight");
    request.accept();
    assert_eq!(answer(first).await, "answer to first");
    let request = requests.recv().await.unwrap();
    assert_eq!(request.keys, ["a", "b", "c"]);
    assert_eq!(request.batch[1], json!({ "idempotency_key": "b", "type": "t", "payload": "x" }));
    request.accept();
    for (call, key) in waiting.into_iter().zip(["a", "b", "c"]) {
        assert_eq!(answer(call).await, format!("answer to {key}"));
    }
}

#[tokio::test]
async fn each_caller_gets_its_own_answer_or_its_own_problem() {
    let (calls, mut requests) = Calls::new();
    let (_first, request, waiting) = calls.behind_one(&mut requests, &["a", "b", "c"]).await;
    request.accept();
    let request = requests.recv().await.unwrap();
    let results = vec![Ok("job a".to_owned()), Err(problem(422)), Err(problem(503))];
    request.reply.send(Ok(results)).unwrap();
    let mut seen = Vec::new();
    for call in waiting {
        let answer = call.await.unwrap().unwrap();
        seen.push(answer.map_err(|error| error.problem().unwrap().status));
    }
    assert_eq!(seen, [Ok("job a".to_owned()), Err(422), Err(503)]);
}

#[tokio::test]
async fn a_caller_that_is_gone_before_its_request_is_left_out() {
    let (calls, mut requests) = Calls::new();
    let (_first, request, mut waiting) = calls.behind_one(&mut requests, &["a", "b", "c"]).await;
    let gone = waiting.remove(1);
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    request.accept();
    let request = requests.recv().await.unwrap();
    assert_eq!(request.keys, ["a", "c"]);
    request.accept();
    for (call, key) in waiting.into_iter().zip(["a", "c"]) {
        assert_eq!(answer(call).await, format!("answer to {key}"));
    }
}

#[tokio::test]
async fn callers_that_are_gone_during_their_request_do_not_affect_the_others() {
    let (calls, mut requests) = Calls::new();
    let (first, request, mut waiting) = calls.behind_one(&mut requests, &["a", "b"]).await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    request.accept();
    let request = requests.recv().await.unwrap();
    let gone = waiting.remove(0);
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    request.accept();
    assert_eq!(answer(waiting.remove(0)).await, "answer to b");
}

#[tokio::test]
async fn a_caller_that_stops_polling_does_not_delay_the_others() {
    let (calls, mut requests) = Calls::new();
    let job = job_of("first", "x");
    let mut first = pin!(calls.coalescer.send(&calls.transport, &job));
    assert!(matches!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
    requests.recv().await.unwrap().accept();
    let second = calls.start(job_of("second", "x"));
    requests.recv().await.unwrap().accept();
    assert_eq!(answer(second).await, "answer to second");
    assert_eq!(first.await.unwrap().unwrap(), "answer to first");
}

#[tokio::test]
async fn a_batch_is_limited_in_jobs_and_in_bytes() {
    let (calls, mut requests) = Calls::new();
    let (_first, request, _) = calls.behind_one(&mut requests, &[]).await;
    let large = "x".repeat(BATCH_BYTES_MAX / 3);
    let mut jobs: Vec<_> = (0..4).map(|n| job_of(&format!("large{n}"), &large)).collect();
    jobs.extend((0..=BATCH_JOBS_MAX).map(|n| job_of(&n.to_string(), "x")));
    let _waiting = calls.wait_in_line(jobs).await;
    request.accept();
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < BATCH_JOBS_MAX + 5 {
        let request = requests.recv().await.unwrap();
        sizes.push(request.keys.len());
        request.accept();
    }
    assert_eq!(sizes, [2, BATCH_JOBS_MAX, 3]);
}

#[tokio::test]
async fn a_job_over_the_limit_of_a_batch_does_not_take_others_with_it() {
    let (calls, mut requests) = Calls::new();
    let (_first, request, _) = calls.behind_one(&mut requests, &[]).await;
    let huge = job_of("huge", &"x".repeat(BATCH_BYTES_MAX));
    let _waiting = calls.wait_in_line([job_of("a", "x"), huge, job_of("b", "x"), job_of("c", "x")]).await;
    request.accept();
    for keys in [&["a"][..], &["huge"], &["b", "c"]] {
        let request = requests.recv().await.unwrap();
        assert_eq!(request.keys, keys);
        request.accept();
    }
}

#[tokio::test]
async fn a_job_of_a_batch_that_is_malformed_is_sent_alone() {
    let (calls, mut requests) = Calls::new();
    let (_first, request, mut waiting) = calls.behind_one(&mut requests, &["a", "b"]).await;
    request.accept();
    let malformed = Problem { code: "malformed".to_owned(), ..problem(400) };
    requests.recv().await.unwrap().reply.send(Ok(vec![Err(malformed), Ok("done".to_owned())])).unwrap();
    assert!(waiting.remove(0).await.unwrap().is_none(), "an older server may accept it alone");
    assert_eq!(waiting.remove(0).await.unwrap().unwrap().unwrap(), "done");
}

#[tokio::test]
async fn jobs_of_a_batch_that_is_refused_as_a_whole_are_sent_alone() {
    let (calls, mut requests) = Calls::new();
    for error in [Error::Refused(problem(400)), Error::Refused(problem(500)), Error::Protocol("x".into())] {
        let (_first, request, waiting) = calls.behind_one(&mut requests, &["a", "b"]).await;
        request.accept();
        requests.recv().await.unwrap().reply.send(Err(error)).unwrap();
        for call in waiting {
            assert!(call.await.unwrap().is_none());
        }
    }
    let (_first, request, waiting) = calls.behind_one(&mut requests, &["a", "b", "c"]).await;
    request.accept();
    let mut too_large = problem(413);
    too_large.extra.insert("limit".into(), json!(150));
    requests.recv().await.unwrap().reply.send(Err(Error::Refused(too_large))).unwrap();
    for call in waiting {
        assert!(call.await.unwrap().is_none());
    }
    let (_first, request, _waiting) = calls.behind_one(&mut requests, &["a", "b", "c"]).await;
    request.accept();
    assert_eq!(requests.recv().await.unwrap().keys, ["a", "b"], "the limit of the server is kept");
}

#[tokio::test]
async fn an_error_that_each_job_would_have_got_alone_is_the_answer_to_each() {
    let (calls, mut requests) = Calls::new();
    let refused = [401, 403, 429, 503].map(|status| Error::Refused(problem(status)));
    for error in refused.into_iter().chain([Error::Unreachable("gone".into())]) {
        let (_first, request, waiting) = calls.behind_one(&mut requests, &["a", "b"]).await;
        request.accept();
        requests.recv().await.unwrap().reply.send(Err(error.clone())).unwrap();
        for call in waiting {
            assert_eq!(call.await.unwrap().unwrap().unwrap_err().to_string(), error.to_string());
        }
    }
}

#[test]
fn when_the_runtime_that_sends_shuts_down_the_callers_of_another_one_send_alone() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (ending, lasting) = (runtime(), runtime());
    let (calls, mut requests) = Calls::new();
    let first = {
        let _entered = ending.enter();
        calls.start(job_of("first", "x"))
    };
    let request = lasting.block_on(requests.recv()).unwrap();
    let mut waiting = lasting.block_on(calls.wait_in_line([job_of("second", "x")]));
    drop(ending);
    assert!(lasting.block_on(first).unwrap_err().is_cancelled());
    assert!(lasting.block_on(waiting.remove(0)).unwrap().is_none());
    drop(request);
    let third = {
        let _entered = lasting.enter();
        calls.start(job_of("third", "x"))
    };
    lasting.block_on(requests.recv()).unwrap().accept();
    assert_eq!(lasting.block_on(answer(third)), "answer to third");
}

#[test]
fn a_batch_has_each_body_unchanged_and_its_key() {
    let (one, other) = (Bytes::from(r#"{"type":"t","payload":1.50}"#), Bytes::from(r#"{"type":"u"}"#));
    let jobs = [(&one, Some("a\"b")), (&other, None)];
    let expected = r#"{"jobs":[{"idempotency_key":"a\"b","type":"t","payload":1.50},{"type":"u"}]}"#;
    assert_eq!(batch_body(jobs.into_iter()), expected);
    assert_eq!(batch_body([].into_iter()), r#"{"jobs":[]}"#);
}
