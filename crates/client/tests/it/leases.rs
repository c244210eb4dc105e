//! Leases: claimed, renewed, lost, and released.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{Fail, Job, Stop, Worker};
use tokio::sync::mpsc;

use crate::fake_server::{
    DEADLINE, FakeJobs, FakeServer, Reply, Request, Running, accept, claimed, job, no_jobs, problem,
    reported, reports, results, with,
};

/// Waits for a stop, sends its cause, and never ends.
async fn wait_for_stop(stop_sender: mpsc::UnboundedSender<Stop>, job: Job<Value>) -> Result<(), Fail> {
    stop_sender.send(job.stopped().await)?;
    std::future::pending().await
}

async fn next(stop_sender: &mut mpsc::UnboundedReceiver<Stop>) -> Stop {
    tokio::time::timeout(DEADLINE, stop_sender.recv()).await.unwrap().unwrap()
}

async fn nothing(_: Job<Value>) -> Result<(), Fail> {
    Ok(())
}

fn final_reports(requests: &[Request]) -> usize {
    ["succeed", "fail", "release", "cancel-confirm"].map(|verb| reports(requests, verb).len()).iter().sum()
}

#[tokio::test]
async fn a_claim_without_an_answer_is_retried_with_the_same_request_id() {
    let count = AtomicUsize::new(0);
    let server = FakeServer::start(move |request: Request| {
        let nth = request.is_claim().then(|| count.fetch_add(1, Ordering::SeqCst));
        async move {
            match nth {
                Some(0 | 1) => Reply::Lost,
                Some(2) => claimed(&[job("j1", "t", 60_000)]),
                Some(_) => no_jobs(&request).await,
                None => results(&request, |_| Ok(json!({}))),
            }
        }
    });
    let worker = Worker::new(server.client()).on("t", nothing).name("w1").queues(["q"]).slots(3);
    let worker = Running::start(worker);
    let requests = server.until(|requests| reported("succeed")(requests).map(|_| requests.to_vec())).await;
    worker.stop().await;
    let claims: Vec<_> = requests.iter().filter(|request| request.is_claim()).collect();
    let name = |nth: usize| claims[nth].body["request_id"].as_str().unwrap().to_owned();
    assert_eq!((name(0), name(1)), (name(1), name(2)));
    assert!(claims.get(3).is_none_or(|claim| claim.body["request_id"] != json!(name(0))));
    let first = &claims[0].body;
    let expected = json!({
        "worker": "w1", "types": ["t"], "queues": ["q"], "max": 3, "start": true, "wait": "20000ms",
        "request_id": name(0),
    });
    assert_eq!(*first, expected);
    // The start of a retried claim's lease is not known, so a heartbeat renews it.
    assert_eq!(reports(&requests, "heartbeat").len(), 1);
}

#[tokio::test]
async fn a_lease_of_unknown_age_is_renewed_before_its_job_starts() {
    // The first claim takes longer than half of the lease, so the lease may be nearly expired.
    let count = AtomicUsize::new(0);
    let server = FakeServer::start(move |request: Request| {
        let nth = request.is_claim().then(|| count.fetch_add(1, Ordering::SeqCst));
        async move {
            match nth {
                Some(0) => {
                    let never = std::future::pending::<()>();
                    let _ = tokio::time::timeout(Duration::from_millis(300), never).await;
                    claimed(&[job("lost", "t", 200), job("kept", "t", 200)])
                }
                Some(_) => no_jobs(&request).await,
                None => results(&request, |report| match report["job"].as_str() {
                    Some("lost") => Err(problem(409, "lease_conflict")),
                    _ => accept(report),
                }),
            }
        }
    });
    let worker = Running::start(Worker::new(server.client()).on("t", nothing).slots(2));
    let done = server.until(reported("succeed")).await;
    let second_claim = |requests: &[Request]| {
        requests.iter().filter(|request| request.is_claim()).nth(1).map(|claim| claim.body.clone())
    };
    let claim = server.until(second_claim).await;
    worker.stop().await;
    assert_eq!(done.len(), 1);
    assert_eq!(done[0]["job"], "kept");
    assert_eq!(claim["wait"], "200ms", "half of the shortest lease");
}

#[tokio::test(flavor = "current_thread")]
async fn heartbeats_continue_while_a_handler_blocks_its_thread() {
    let server = FakeJobs::start([job("j1", "t", 200)], accept);
    let blocks = with(Arc::new(server.watcher()), |watch, _| async move {
        // Far beyond the end of the lease, which is at the second heartbeat.
        watch(&|requests| reports(requests, "heartbeat").len() >= 5);
        Ok::<_, Fail>(())
    });
    let worker = Running::start(Worker::new(server.client()).on("t", blocks));
    server.until(reported("succeed")).await;
    worker.stop().await;
    let heartbeats = reports(&server.requests(), "heartbeat");
    assert_eq!(heartbeats[0], json!({ "job": "j1", "fence": 7, "verb": "heartbeat" }));
}

#[tokio::test]
async fn a_lost_lease_stops_the_handler_and_nothing_is_reported() {
    let begun = Arc::new(AtomicBool::new(false));
    let is_begun = begun.clone();
    let handle_report = move |report: &Value| match report["verb"].as_str() {
        Some("heartbeat") if is_begun.load(Ordering::SeqCst) => Err(problem(409, "lease_conflict")),
        _ => Ok(json!({})),
    };
    let server = FakeJobs::start([job("j1", "t", 100)], handle_report);
    let (stop_sender, mut stopped) = mpsc::unbounded_channel();
    let handler = with((begun, stop_sender), |(begun, stop_sender), job| {
        begun.store(true, Ordering::SeqCst);
        wait_for_stop(stop_sender, job)
    });
    let worker = Running::start(Worker::new(server.client()).on("t", handler));
    assert_eq!(next(&mut stopped).await, Stop::LeaseLost);
    worker.stop().await;
    assert_eq!(final_reports(&server.requests()), 0);
}

#[tokio::test]
async fn a_revoked_lease_is_a_hard_cancel() {
    let handle_report = |report: &Value| match report["verb"].as_str() {
        Some("heartbeat") => {
            let mut problem = problem(409, "lease_conflict");
            problem["cause"] = "revoked".into();
            Err(problem)
        }
        _ => Ok(json!({})),
    };
    let server = FakeJobs::start([job("j1", "t", 100)], handle_report);
    let (stop_sender, mut stopped) = mpsc::unbounded_channel();
    let worker = Running::start(Worker::new(server.client()).on("t", with(stop_sender, wait_for_stop)));
    assert_eq!(next(&mut stopped).await, Stop::HardCancel);
    worker.stop().await;
    assert_eq!(final_reports(&server.requests()), 0);
}

#[tokio::test]
async fn a_worker_that_cannot_reach_the_server_stops_its_handlers() {
    let server = FakeJobs::start([job("j1", "t", 300)], accept);
    let (stop_sender, mut stopped) = mpsc::unbounded_channel();
    let worker = Running::start(Worker::new(server.client()).on("t", with(stop_sender, wait_for_stop)));
    server.until(reported("heartbeat")).await;
    assert!(stopped.try_recv().is_err(), "the handler runs while the server answers");
    server.shut_down();
    assert_eq!(next(&mut stopped).await, Stop::LeaseLost);
    worker.stop().await;
}

#[tokio::test]
async fn a_soft_cancel_is_passed_on_and_confirmed() {
    async fn saves(job: Job<Value>) -> Result<(), Fail> {
        assert_eq!(job.stopped().await, Stop::SoftCancel);
        // It may take a while.
        tokio::task::yield_now().await;
        assert_eq!((job.is_stopped(), job.stop_cause()), (true, Some(Stop::SoftCancel)));
        Err(Fail::cancelled().checkpoint(json!({ "at": 3 })))
    }
    let handle_report = |_: &Value| Ok(json!({ "lease": null, "cancel": "soft" }));
    let server = FakeJobs::start([job("j1", "t", 100)], handle_report);
    let worker = Running::start(Worker::new(server.client()).on("t", saves));
    let confirmed = server.until(reported("cancel-confirm")).await;
    worker.stop().await;
    let expected = json!({ "job": "j1", "fence": 7, "verb": "cancel-confirm", "checkpoint": { "at": 3 } });
    assert_eq!(confirmed, [expected]);
}

#[tokio::test]
async fn a_soft_cancel_becomes_a_hard_one() {
    let count = AtomicUsize::new(0);
    let handle_report = move |_: &Value| {
        let mode = if count.fetch_add(1, Ordering::SeqCst) == 0 { "soft" } else { "hard" };
        Ok(json!({ "lease": null, "cancel": mode }))
    };
    let server = FakeJobs::start([job("j1", "t", 100)], handle_report);
    let (stop_sender, mut stopped) = mpsc::unbounded_channel();
    let stubborn = with(stop_sender, |stop_sender, job| async move {
        stop_sender.send(job.stopped().await)?;
        stop_sender.send(job.stopped_at_least(Stop::HardCancel).await)?;
        std::future::pending::<Result<(), Fail>>().await
    });
    let worker = Running::start(Worker::new(server.client()).on("t", stubborn));
    assert_eq!(next(&mut stopped).await, Stop::SoftCancel);
    assert_eq!(next(&mut stopped).await, Stop::HardCancel);
    worker.stop().await;
    assert_eq!(final_reports(&server.requests()), 0);
}

#[tokio::test]
async fn a_worker_that_drains_lets_its_handlers_finish() {
    let server = FakeJobs::start([job("j1", "t", 60_000)], accept);
    let (begun, mut beginning) = mpsc::unbounded_channel();
    let go = Arc::new(tokio::sync::Semaphore::new(0));
    let slow = with((begun, go.clone()), |(begun, gate), _| async move {
        begun.send(())?;
        gate.acquire().await?.forget();
        Ok::<_, Fail>("done")
    });
    let worker = Running::start(Worker::new(server.client()).on("t", slow).slots(1));
    beginning.recv().await.unwrap();
    let ended = worker.stop();
    go.add_permits(1);
    ended.await;
    let requests = server.requests();
    assert_eq!(reports(&requests, "succeed")[0]["result"], "done");
    let claims = requests.iter().filter(|request| request.is_claim());
    assert_eq!(claims.count(), 1, "no slot, no claim");
}

#[tokio::test]
async fn handlers_that_take_too_long_to_drain_are_released() {
    let server = FakeJobs::start([job("saves", "t", 60_000), job("stubborn", "t", 60_000)], accept);
    let (stop_sender, mut stopped) = mpsc::unbounded_channel();
    let begun = Arc::new(tokio::sync::Barrier::new(3));
    let handler = with((stop_sender, begun.clone()), |(stop_sender, both), job| async move {
        both.wait().await;
        stop_sender.send(job.stopped().await)?;
        if job.id == "stubborn" {
            std::future::pending::<()>().await;
        }
        Err::<(), _>(Fail::release().checkpoint(1))
    });
    let worker = Worker::new(server.client()).on("t", handler).slots(2).drain(Duration::from_millis(1));
    let worker = Running::start(worker);
    begun.wait().await;
    worker.stop().await;
    assert_eq!((next(&mut stopped).await, next(&mut stopped).await), (Stop::Shutdown, Stop::Shutdown));
    let released = reports(&server.requests(), "release");
    let of = |id: &str| released.iter().find(|report| report["job"] == id).unwrap();
    assert_eq!(of("saves")["checkpoint"], 1);
    assert_eq!(*of("stubborn"), json!({ "job": "stubborn", "fence": 7, "verb": "release" }));
}

#[tokio::test]
async fn jobs_of_an_unanswered_claim_are_released() {
    let server = FakeServer::start(|request: Request| async move {
        if !request.is_claim() {
            results(&request, |_| Ok(json!({})))
        } else if request.body.get("wait").is_some() {
            std::future::pending().await
        } else {
            claimed(&[job("j1", "t", 60_000)])
        }
    });
    let worker = Running::start(Worker::new(server.client()).on("t", nothing));
    server.until(|requests| requests.first().map(drop)).await;
    worker.stop().await;
    let requests = server.requests();
    assert_eq!(requests[0].body["request_id"], requests[1].body["request_id"]);
    assert_eq!(reports(&requests, "release"), [json!({ "job": "j1", "fence": 7, "verb": "release" })]);
}

#[tokio::test]
async fn a_worker_without_a_valid_key_returns_an_error() {
    let server = FakeServer::replies([Reply::Json(401, problem(401, "unauthenticated"))]);
    let worker = Worker::new(server.client()).on("t", async |job: Job<Value>| Ok(job.payload));
    let error = worker.run_until(std::future::pending()).await.unwrap_err();
    assert_eq!(error.code(), Some("unauthenticated"));
    let idle = Worker::new(server.client()).run_until(std::future::pending()).await;
    assert!(idle.is_err(), "a worker needs a handler");
}

#[tokio::test]
async fn a_worker_that_is_dropped_stops_its_handlers() {
    let server = FakeJobs::start([job("j1", "t", 60_000)], accept);
    let (stop_sender, mut stopped) = mpsc::unbounded_channel();
    let begun = Arc::new(AtomicBool::new(false));
    let handler = with((begun.clone(), stop_sender), |(begun, stop_sender), job| async move {
        begun.store(true, Ordering::SeqCst);
        stop_sender.send(job.stopped().await)?;
        Err::<(), _>(Fail::release())
    });
    let running = Worker::new(server.client()).on("t", handler).run_until(std::future::pending());
    let begins = async {
        while !begun.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        ended = running => panic!("{ended:?}"),
        () = begins => {}
    }
    assert_eq!(next(&mut stopped).await, Stop::Shutdown);
    server.until(reported("release")).await;
}
