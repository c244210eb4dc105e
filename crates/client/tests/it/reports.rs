//! What a worker says about its jobs: each once, together where they can be, until there is an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{Fail, Job, Stage, Worker};
use tokio::sync::{Barrier, Semaphore};

use crate::server::{DEADLINE, Fake, Reply, Request, Running, Server, job, problem, reported, reports, yes};

async fn nothing(_: Job<Value>) -> Result<(), Fail> {
    Ok(())
}

/// A server that gives out these jobs once, and answers the reports by a script of its own.
fn scripted(
    jobs: Vec<Value>,
    answer: impl Fn(usize, Request) -> Reply + Send + Sync + 'static,
) -> (Server, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let (open, count) = (gate.clone(), AtomicUsize::new(0));
    let claims = std::sync::Mutex::new(Some(jobs));
    let answer = Arc::new(answer);
    let server = Server::start(move |request| {
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

fn all_taken(request: &Request) -> Reply {
    // A worker looks at refusals alone.
    assert_eq!(request.header("prefer"), Some("return=minimal"));
    let count = request.body["reports"].as_array().unwrap().len();
    Reply::Json(200, json!({ "results": vec![json!({ "ok": {} }); count] }))
}

#[tokio::test]
async fn a_report_is_sent_until_it_has_a_definite_answer() {
    let (server, gate) = scripted(vec![job("j1", "t", 60_000)], |nth, request| match nth {
        0 => Reply::Lost,
        1 => Reply::With(503, "retry-after: 0\r\n", problem(503, "overloaded")),
        2 => Reply::Json(200, json!({ "results": [{ "error": problem(503, "store_unavailable") }] })),
        _ => all_taken(&request),
    });
    gate.add_permits(1);
    let worker = Running::start(Worker::new(server.client()).on("t", nothing).name("w1"));
    server.until(|requests| (reports(requests, "succeed").len() == 4).then_some(())).await;
    worker.stop().await;
    let sent = reports(&server.requests(), "succeed");
    assert_eq!(sent, vec![json!({ "job": "j1", "fence": 7, "verb": "succeed" }); 4]);
}

#[tokio::test]
async fn reports_gather_while_one_is_under_way() {
    let jobs =
        ["j1", "j2", "j3", "j4", "j5"].map(|id| job(id, if id == "j1" { "first" } else { "rest" }, 60_000));
    let (server, gate) = scripted(jobs.into(), |_, request| all_taken(&request));
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
    // Only now is the first report answered.
    gate.add_permits(1);
    worker.stop().await;
    let sizes: Vec<usize> = server
        .requests()
        .iter()
        .filter(|request| request.path == "/api/reports")
        .map(|request| request.body["reports"].as_array().unwrap().len())
        .collect();
    assert_eq!(sizes.iter().sum::<usize>(), 5);
    assert_eq!(sizes[0], 1, "a single report goes at once");
    assert!(sizes.len() <= 3, "the rest go together: {sizes:?}");
}

#[tokio::test]
async fn a_refused_result_becomes_a_failure_and_a_lost_lease_nothing() {
    let judge = |report: &Value| match (report["job"].as_str(), report["verb"].as_str()) {
        (Some("large"), Some("succeed")) => Err(problem(413, "too_large")),
        (Some("lost"), _) => Err(problem(409, "lease_conflict")),
        _ => Ok(json!({})),
    };
    let server = Fake::start([job("large", "t", 60_000), job("lost", "t", 60_000)], judge);
    let worker = Running::start(Worker::new(server.client()).on("t", nothing).slots(2));
    let failed = server.until(reported("fail")).await;
    worker.stop().await;
    assert_eq!(failed.len(), 1);
    assert_eq!((&failed[0]["job"], &failed[0]["error"]["code"]), (&json!("large"), &json!("REPORT_REFUSED")));
    assert_eq!(failed[0]["error"]["class"], "permanent");
    assert_eq!(reports(&server.requests(), "succeed").len(), 2);
}

#[tokio::test]
async fn one_bad_report_does_not_hold_up_the_others() {
    let jobs = ["bad", "j2", "j3"].map(|id| job(id, "t", 60_000));
    // The whole batch is refused as long as the bad one is in it.
    let (server, gate) = scripted(jobs.into(), |_, request| {
        let bad = request.body["reports"].as_array().unwrap().iter().any(|report| report["job"] == "bad");
        if bad { Reply::Json(400, problem(400, "malformed")) } else { all_taken(&request) }
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
    let taken = requests.iter().filter(|request| request.path == "/api/reports").filter(|request| {
        request.body["reports"].as_array().unwrap().iter().all(|report| report["job"] != "bad")
    });
    let taken: usize = taken.map(|request| request.body["reports"].as_array().unwrap().len()).sum();
    assert_eq!(taken, 2);
    assert!(!reports(&requests, "fail").is_empty(), "the bad one was tried as a failure");
}

impl Running {
    /// Stops once this many successes were sent, counting repeats once.
    async fn stop_after(self, server: &Server, count: usize) {
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
    unreachable!("a payload that does not decode reaches no handler")
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
async fn each_way_to_end_is_told_as_it_was_meant() {
    let names = ["ok", "panic", "question", "transient", "permanent", "reject", "release", "partial"];
    let mut jobs: Vec<Value> = names.map(|id| job(id, "ends", 60_000)).into();
    jobs.push(job("unreadable", "unreadable", 60_000));
    let server = Fake::start(jobs, yes);
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
async fn lines_and_progress_come_before_the_last_word() {
    async fn talks(job: Job<Value>) -> Result<(), Fail> {
        for n in 0..100_u8 {
            job.log(format!("line {n}"));
            job.progress(n, "on");
        }
        job.log_to("stderr", "error", "last\0");
        job.progress(200, "");
        Ok(())
    }
    let server = Fake::start([job("j1", "t", 60_000)], yes);
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
        "they go together: {} and {}",
        appends.len(),
        progress.len()
    );
    let place = |found: &dyn Fn(&Request) -> bool| requests.iter().rposition(found).unwrap();
    let last_word = place(&|request| !reports(std::slice::from_ref(request), "succeed").is_empty());
    assert!(place(&|request| request.path.ends_with("/logs")) < last_word);
    assert!(place(&|request| !reports(std::slice::from_ref(request), "progress").is_empty()) < last_word);
}
