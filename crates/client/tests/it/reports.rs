//! Reports of a worker: batched, and retried until they are answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{Fail, Job, Stage, Worker};
use tokio::sync::{Barrier, Semaphore};

use crate::fake_server::{
    DEADLINE, FakeJobs, FakeServer, Reply, Request, Running, accept, job, problem, reported, reports,
};

async fn nothing(_: Job<Value>) -> Result<(), Fail> {
    Ok(())
}

/// A server that hands out these jobs once, and answers the reports by a script.
fn scripted(
    jobs: Vec<Value>,
    answer: impl Fn(usize, Request) -> Reply + Send + Sync + 'static,
) -> (FakeServer, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let (open, count) = (gate.clone(), AtomicUsize::new(0));
    let claims = std::sync::Mutex::new(Some(jobs));
    let answer = Arc::new(answer);
    let server = FakeServer::start(move |request| {
        let jobs = if request.path == "/api/claims" { claims.lock().unwrap().take() } else { None };
        let is_report = request.path == "/api/reports";
        let nth = if is_report { count.fetch_add(1, Ordering::SeqCst) } else { 0 };
        let (open, answer) = (open.clone(), answer.clone());
        async move {
            match jobs {
                Some(jobs) => Reply::Json(200, json!({ "jobs": jobs })),
                None if is_report => {
                    if nth == 0 {
                        open.acquire().await.unwrap().forget();
                    }
                    answer(nth, request)
                }
                None if request.body.get("wait").is_some() => std::future::pending().await,
                None => Reply::Json(200, json!({ "jobs": [] })),
            }
        }
    });
    (server, gate)
}

fn accept_all(request: &Request) -> Reply {
    // A worker reads only refusals.
    assert_eq!(request.header("prefer"), Some("return=minimal"));
    let count = request.body["reports"].as_array().unwrap().len();
    Reply::Json(200, json!({ "results": vec![json!({ "ok": {} }); count] }))
}

#[tokio::test]
async fn a_report_is_retried_until_it_has_a_final_answer() {
    let (server, gate) = scripted(vec![job("j1", "t", 60_000)], |nth, request| match nth {
        0 => Reply::Lost,
        1 => Reply::With(503, "retry-after: 0\r\n", problem(503, "overloaded")),
        2 => Reply::Json(200, json!({ "results": [{ "error": problem(503, "store_unavailable") }] })),
        _ => accept_all(&request),
    });
    gate.add_permits(1);
    let worker = Running::start(Worker::new(server.client()).on("t", nothing).name("w1"));
    server.until(|requests| (reports(requests, "succeed").len() == 4).then_some(())).await;
    worker.stop().await;
    let sent = reports(&server.requests(), "succeed");
    assert_eq!(sent, vec![json!({ "job": "j1", "fence": 7, "verb": "succeed" }); 4]);
}

#[tokio::test]
async fn reports_are_batched_while_one_is_in_flight() {
    let jobs =
        ["j1", "j2", "j3", "j4", "j5"].map(|id| job(id, if id == "j1" { "first" } else { "rest" }, 60_000));
    let (server, gate) = scripted(jobs.into(), |_, request| accept_all(&request));
    let (begin, done) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (wait, count, together) = (begin.clone(), done.clone(), Arc::new(Barrier::new(4)));
    let rest = move |_: Job<Value>| {
        let (wait, count, together) = (wait.clone(), count.clone(), together.clone());
        async move {
            wait.acquire().await?.forget();
            together.wait().await;
            count.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Fail>(())
        }
    };
    let worker = Worker::new(server.client()).on("first", nothing).on("rest", rest).slots(5);
    let worker = Running::start(worker);
    server.until(reported("succeed")).await;
    begin.add_permits(4);
    let finish = async {
        while done.load(Ordering::SeqCst) < 4 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, finish).await.unwrap();
    // The first report is answered only now.
    gate.add_permits(1);
    worker.stop().await;
    let sizes: Vec<usize> = server
        .requests()
        .iter()
        .filter(|request| request.path == "/api/reports")
        .map(|request| request.body["reports"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes.iter().sum::<usize>(), 5);
    assert_eq!(sizes[0], 1, "a single report is sent at once");
    assert!(sizes.len() <= 3, "the rest is batched: {sizes:?}");
}

#[tokio::test]
async fn a_refused_result_becomes_a_failure_and_a_lost_lease_nothing() {
    let handle_report = |report: &Value| match (report["job"].as_str(), report["verb"].as_str()) {
        (Some("large"), Some("succeed")) => Err(problem(413, "too_large")),
        (Some("lost"), _) => Err(problem(409, "lease_conflict")),
        _ => Ok(json!({})),
    };
    let server = FakeJobs::start([job("large", "t", 60_000), job("lost", "t", 60_000)], handle_report);
    let worker = Running::start(Worker::new(server.client()).on("t", nothing).slots(2));
    let failed = server.until(reported("fail")).await;
    worker.stop().await;
    assert_eq!(failed.len(), 1);
    assert_eq!((&failed[0]["job"], &failed[0]["error"]["code"]), (&json!("large"), &json!("REPORT_REFUSED")));
    assert_eq!(failed[0]["error"]["class"], "permanent");
    assert_eq!(reports(&server.requests(), "succeed").len(), 2);
}

#[tokio::test]
async fn one_bad_report_does_not_block_the_others() {
    let jobs = ["bad", "j2", "j3"].map(|id| job(id, "t", 60_000));
    // The whole batch is refused while it contains the bad report.
    let (server, gate) = scripted(jobs.into(), |_, request| {
        let bad = request.body["reports"].as_array().unwrap().iter().any(|report| report["job"] == "bad");
        if bad { Reply::Json(400, problem(400, "malformed")) } else { accept_all(&request) }
    });
    gate.add_permits(1);
    let together = Arc::new(Barrier::new(3));
    let handler = move |_: Job<Value>| {
        let together = together.clone();
        async move {
            together.wait().await;
            Ok::<_, Fail>(())
        }
    };
    Running::start(Worker::new(server.client()).on("t", handler).slots(3)).stop_after(&server, 3).await;
    let requests = server.requests();
    let accepted = requests.iter().filter(|request| request.path == "/api/reports").filter(|request| {
        request.body["reports"].as_array().unwrap().iter().all(|report| report["job"] != "bad")
    });
    let accepted: usize = accepted.map(|request| request.body["reports"].as_array().unwrap().len()).sum();
    assert_eq!(accepted, 2);
    assert!(!reports(&requests, "fail").is_empty(), "the bad report is sent as a failure");
}

impl Running {
    /// Stops when this many jobs were reported as succeeded.
    async fn stop_after(self, server: &FakeServer, count: usize) {
        let all = |requests: &[Request]| {
            let sent = reports(requests, "succeed");
            let jobs: std::collections::BTreeSet<_> =
                sent.iter().map(|report| report["job"].as_str()).collect();
            (jobs.len() == count).then_some(())
        };
        server.until(all).await;
        self.stop().await;
    }
}

#[derive(serde::Deserialize)]
struct Never {
    #[allow(dead_code)]
    missing: String,
}

async fn unreadable(_: Job<Never>) -> Result<(), Fail> {
    unreachable!("a payload that cannot be decoded is not passed to the handler")
}

async fn ends(job: Job<Value>) -> Result<Value, Fail> {
    Err(match job.id.as_str() {
        "ok" => return Ok(json!({ "fence": job.fence, "attempt": job.attempt, "type": job.job_type })),
        "panic" => panic!("oh no"),
        "question" => "x".parse::<u8>().map(|_| Fail::release())?,
        "transient" => Fail::transient("BUSY", "later")
            .stage(Stage::Fetch)
            .details(json!({ "a": 1 }))
            .retry_after(Duration::from_secs(3)),
        "permanent" => Fail::permanent("GONE", "for good").reason_code("policy_violation"),
        "reject" => Fail::reject("not ours"),
        "release" => Fail::release().checkpoint(json!([4])).delay(Duration::from_millis(20)),
        _ => Fail::partial("HALF", "one of two").result(json!([1])),
    })
}

#[tokio::test]
async fn each_result_of_a_handler_is_reported() {
    let names = ["ok", "panic", "question", "transient", "permanent", "reject", "release", "partial"];
    let mut jobs: Vec<Value> = names.map(|id| job(id, "ends", 60_000)).into();
    jobs.push(job("unreadable", "unreadable", 60_000));
    let server = FakeJobs::start(jobs, accept);
    let worker = Worker::new(server.client()).on("ends", ends).on("unreadable", unreadable).slots(9);
    let worker = Running::start(worker);
    let verbs = ["succeed", "fail", "reject", "release", "partial"];
    let every = |requests: &[Request]| verbs.map(|verb| reports(requests, verb)).concat();
    server.until(|requests| (every(requests).len() == 9).then_some(())).await;
    worker.stop().await;
    let all = every(&server.requests());
    let of = |id: &str| {
        let mut report = all.iter().find(|report| report["job"] == id).unwrap().clone();
        let parts = report.as_object_mut().unwrap();
        parts.remove("job");
        assert_eq!(parts.remove("fence"), Some(json!(7)));
        report
    };
    let fail = |error: Value| json!({ "verb": "fail", "error": error });
    assert_eq!(
        of("ok"),
        json!({ "verb": "succeed", "result": { "fence": 7, "attempt": 1, "type": "ends" } })
    );
    let panic = json!({ "code": "HANDLER_PANIC", "message": "oh no", "class": "transient", "stage": "exec" });
    assert_eq!(of("panic"), fail(panic));
    assert_eq!(of("question")["error"]["code"], "ERROR");
    let busy = json!({ "code": "BUSY", "message": "later", "class": "transient", "stage": "fetch", "details": { "a": 1 } });
    assert_eq!(of("transient"), json!({ "verb": "fail", "error": busy, "retry_after": "3000ms" }));
    let gone = json!({ "code": "GONE", "message": "for good", "class": "permanent", "reason_code": "policy_violation" });
    assert_eq!(of("permanent"), fail(gone));
    assert_eq!(of("reject"), json!({ "verb": "reject", "reason": "not ours" }));
    assert_eq!(of("release"), json!({ "verb": "release", "checkpoint": [4], "delay": "20ms" }));
    assert_eq!((&of("partial")["result"], &of("partial")["error"]["code"]), (&json!([1]), &json!("HALF")));
    let unreadable = of("unreadable");
    assert_eq!(unreadable["error"]["code"], "BAD_PAYLOAD");
    assert_eq!(
        (&unreadable["error"]["class"], &unreadable["error"]["stage"]),
        (&json!("permanent"), &json!("input"))
    );
}

#[tokio::test]
async fn log_lines_and_progress_are_sent_before_the_final_report() {
    async fn talks(job: Job<Value>) -> Result<(), Fail> {
        for n in 0..100_u8 {
            job.log(format!("line {n}"));
            job.progress(n, "on");
        }
        job.log_to("stderr", "error", "last\0");
        job.progress(200, "");
        Ok(())
    }
    let server = FakeJobs::start([job("j1", "t", 60_000)], accept);
    let worker = Running::start(Worker::new(server.client()).on("t", talks).name("w1"));
    server.until(reported("succeed")).await;
    worker.stop().await;
    let requests = server.requests();
    let appends: Vec<_> = requests.iter().filter(|request| request.path == "/api/jobs/j1/logs").collect();
    let lines: Vec<Value> =
        appends.iter().flat_map(|request| request.body["lines"].as_array().unwrap().clone()).collect();
    assert_eq!(lines.len(), 101);
    assert_eq!(lines[7], json!({ "stream": "stdout", "level": "info", "text": "line 7" }));
    assert_eq!(lines[100], json!({ "stream": "stderr", "level": "error", "text": "last?" }));
    assert_eq!((&appends[0].body["worker"], &appends[0].body["fence"]), (&json!("w1"), &json!(7)));
    let progress = reports(&requests, "progress");
    assert_eq!(progress.last().unwrap()["progress"], 100);
    assert!(
        appends.len() + progress.len() < 100,
        "they are batched: {} and {}",
        appends.len(),
        progress.len()
    );
    let position = |found: &dyn Fn(&Request) -> bool| requests.iter().rposition(found).unwrap();
    let final_report = position(&|request| !reports(std::slice::from_ref(request), "succeed").is_empty());
    assert!(position(&|request| request.path.ends_with("/logs")) < final_report);
    assert!(
        position(&|request| !reports(std::slice::from_ref(request), "progress").is_empty()) < final_report
    );
}
