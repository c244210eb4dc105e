//! Reports of a worker: batched, and retried until they are answered.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{Fail, Job, Stage, Worker};
use tokio::sync::{Barrier, Semaphore};

use crate::fake_server::{
    DEADLINE, FakeJobs, FakeServer, Reply, Request, Running, accept, claimed, job, no_jobs, problem,
    reported, reports, results, with,
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
        let jobs = claims.lock().unwrap().take_if(|_| request.is_claim());
        let nth = (!request.is_claim()).then(|| count.fetch_add(1, Ordering::SeqCst));
        let (open, answer) = (open.clone(), answer.clone());
        async move {
            match (nth, jobs) {
                (Some(nth), _) => {
                    if nth == 0 {
                        open.acquire().await.unwrap().forget();
                    }
                    answer(nth, request)
                }
                (None, Some(jobs)) => claimed(&jobs),
                (None, None) => no_jobs(&request).await,
            }
        }
    });
    (server, gate)
}

fn accept_all(request: &Request) -> Reply {
    // A worker reads only refusals.
    assert_eq!(request.header("prefer"), Some("return=minimal"));
    results(request, |_| Ok(json!({})))
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
    let context = (begin.clone(), done.clone(), Arc::new(Barrier::new(4)));
    let rest = with(context, |(begin, done, together), _| async move {
        begin.acquire().await?.forget();
        together.wait().await;
        done.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Fail>(())
    });
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
    let requests = server.requests();
    let sizes: Vec<usize> = requests.iter().map(|it| it.reports().len()).filter(|size| *size > 0).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 5);
    assert_eq!(sizes[0], 1, "a single report is sent at once");
    assert!(sizes.len() <= 3, "the rest is batched: {sizes:?}");
}

#[tokio::test]
async fn a_job_that_cannot_be_read_fails_alone() {
    let server = FakeServer::start(move |request: Request| async move {
        let is_first = !request.body["types"].is_null() && request.body["max"] == 3;
        match request.path.as_str() {
            "/api/claims" if is_first => {
                let jobs = ["j1", "j2", "j3"].map(|id| job(id, "t", 60_000).to_string());
                let text = jobs.join(",").replacen(r#"{"n":1}"#, r#"{"n":1e400}"#, 1);
                Reply::Text(200, format!(r#"{{"jobs":[{text}]}}"#))
            }
            "/api/claims" => no_jobs(&request).await,
            _ => accept_all(&request),
        }
    });
    let stopped = Arc::new(Semaphore::new(0));
    let wait = with(stopped.clone(), |stopped, _| async move {
        stopped.acquire().await?.forget();
        Ok::<_, Fail>(())
    });
    let worker = Running::start(Worker::new(server.client()).on("t", wait).slots(3).name("w1"));
    let failed = server.until(reported("fail")).await;
    assert_eq!(failed.len(), 1);
    assert_eq!((&failed[0]["job"], &failed[0]["fence"]), (&json!("j1"), &json!(7)));
    let error = &failed[0]["error"];
    assert_eq!((&error["code"], &error["class"]), (&json!("BAD_PAYLOAD"), &json!("permanent")));
    stopped.add_permits(2);
    server.until(|requests| (reports(requests, "succeed").len() == 2).then_some(())).await;
    worker.stop().await;
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
    let is_bad = |report: &Value| report["job"] == "bad";
    let jobs = ["bad", "j2", "j3"].map(|id| job(id, "t", 60_000));
    // The whole batch is refused while it contains the bad report.
    let (server, gate) = scripted(jobs.into(), move |_, request| {
        let bad = request.reports().iter().any(is_bad);
        if bad { Reply::Json(400, problem(400, "malformed")) } else { accept_all(&request) }
    });
    gate.add_permits(1);
    let handler = with(Arc::new(Barrier::new(3)), |together, _| async move {
        together.wait().await;
        Ok::<_, Fail>(())
    });
    let worker = Running::start(Worker::new(server.client()).on("t", handler).slots(3));
    let all = |requests: &[Request]| {
        let jobs: BTreeSet<_> = reports(requests, "succeed").iter().map(|it| it["job"].to_string()).collect();
        (jobs.len() == 3).then_some(())
    };
    server.until(all).await;
    worker.stop().await;
    let requests = server.requests();
    let accepted = requests.iter().filter(|request| !request.reports().iter().any(is_bad));
    assert_eq!(accepted.map(|request| request.reports().len()).sum::<usize>(), 2);
    assert!(!reports(&requests, "fail").is_empty(), "the bad report is sent as a failure");
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
    let by_job = |mut report: Value| {
        let parts = report.as_object_mut().unwrap();
        assert_eq!(parts.remove("fence"), Some(json!(7)));
        (parts.remove("job").unwrap().as_str().unwrap().to_owned(), report)
    };
    let sent: Value = every(&server.requests()).into_iter().map(by_job).collect();
    let expected: Value = serde_json::from_str(include_str!("results.json")).unwrap();
    assert_eq!(sent, expected);
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
    let sent = (appends.len(), progress.len());
    assert!(sent.0 + sent.1 < 100, "they are batched: {sent:?}");
    let position = |found: &dyn Fn(&Request) -> bool| requests.iter().rposition(found).unwrap();
    let last =
        |verb: &str| position(&|request| request.reports().iter().any(|report| report["verb"] == verb));
    assert!(position(&|request| request.path.ends_with("/logs")) < last("succeed"));
    assert!(last("progress") < last("succeed"));
}
