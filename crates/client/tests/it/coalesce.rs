//! Concurrent creations of one client: which requests they become, and when they are repeated.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tenure_client::{Client, Error, NewJob};
use tokio::sync::watch;

use crate::fake_server::{FakeServer, Reply, Request, problem};

const BATCH: &str = "/api/jobs/batch";

fn job(n: usize) -> NewJob {
    NewJob::new("image", &json!({ "n": n })).unwrap()
}

/// The key and the number of each job of a request that creates jobs.
fn jobs(request: &Request) -> Vec<(String, u64)> {
    let number = |job: &Value| job["payload"]["n"].as_u64().unwrap();
    if request.path == BATCH {
        let jobs = request.body["jobs"].as_array().unwrap();
        let key = |job: &Value| job["idempotency_key"].as_str().unwrap_or_default().to_owned();
        return jobs.iter().map(|job| (key(job), number(job))).collect();
    }
    vec![(request.header("idempotency-key").unwrap_or_default().to_owned(), number(&request.body))]
}

/// A server with jobs by key. Its first answer is held until it is released; then `script` may replace an answer.
fn server(
    script: impl Fn(usize, &Request) -> Option<Reply> + Send + Sync + 'static,
) -> (FakeServer, watch::Sender<bool>) {
    let is_released = watch::Sender::new(false);
    let (stored, gate) = (Arc::<Mutex<HashMap<String, u64>>>::default(), is_released.clone());
    let (count, script) = (Arc::new(Mutex::new(0)), Arc::new(script));
    let server = FakeServer::start(move |request| {
        let (stored, script, mut gate) = (stored.clone(), script.clone(), gate.subscribe());
        let nth = {
            let mut count = count.lock().unwrap();
            *count += 1;
            *count
        };
        async move {
            if nth == 1 {
                gate.wait_for(|is_released| *is_released).await.unwrap();
            }
            let mut stored = stored.lock().unwrap();
            let mut store = |(key, n): (String, u64)| {
                let replayed = stored.insert(key, n).is_some();
                json!({ "id": format!("j{n}"), "replayed": replayed })
            };
            let answers: Vec<Value> = jobs(&request).into_iter().map(&mut store).collect();
            let reply = script(nth, &request);
            reply.unwrap_or_else(|| match &answers[..] {
                [answer] if request.path != BATCH => Reply::Json(202, answer.clone()),
                answers => {
                    let results: Vec<Value> = answers.iter().map(|answer| json!({ "ok": answer })).collect();
                    Reply::Json(200, json!({ "results": results }))
                }
            })
        }
    });
    (server, is_released)
}

/// Starts one creation, and when its request is there, the others; then releases the first answer.
async fn create(
    client: &Client,
    server: &FakeServer,
    is_released: &watch::Sender<bool>,
    others: Vec<NewJob>,
) -> Vec<tenure_client::Result<String>> {
    let one = |job: NewJob| {
        let client = client.clone();
        async move { client.create(job).await.map(|created| created.job.id) }
    };
    let release = async {
        server.until(|requests| (!requests.is_empty()).then_some(())).await;
        let (ids, ()) = tokio::join!(join_all(others.into_iter().map(&one)), async {
            // The others have been polled, and wait.
            is_released.send_replace(true);
        });
        ids
    };
    let (first, mut ids) = tokio::join!(one(job(0)), release);
    ids.insert(0, first);
    ids
}

fn ids(results: Vec<tenure_client::Result<String>>) -> Vec<String> {
    results.into_iter().map(Result::unwrap).collect()
}

#[tokio::test]
async fn concurrent_creations_travel_together_and_each_has_its_own_key() {
    let (server, is_released) = server(|_, _| None);
    let client = server.client().with_key("secret");
    let others = vec![job(1), job(2).key("order-42"), job(3)];
    let results = create(&client, &server, &is_released, others).await;
    assert_eq!(ids(results), ["j0", "j1", "j2", "j3"]);
    let [first, second] = &server.requests()[..] else { panic!("{:?}", server.requests()) };
    assert_eq!((first.path.as_str(), second.path.as_str()), ("/api/jobs", BATCH));
    assert!(first.header("idempotency-key").is_some_and(|key| key.len() >= 32));
    assert_eq!((second.header("idempotency-key"), second.header("prefer")), (None, None));
    assert_eq!(second.header("authorization"), Some("Bearer secret"));
    let sent = jobs(second);
    assert_eq!(sent.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(sent[1].0, "order-42");
    assert!(sent[0].0.len() >= 32 && sent[0].0 != sent[2].0, "{sent:?}");
}

#[tokio::test]
async fn without_coalescing_each_creation_is_a_separate_request() {
    let (server, is_released) = server(|_, _| None);
    is_released.send_replace(true);
    let client = server.client().coalesce(false);
    let created = join_all((0..5).map(|n| client.create(job(n)))).await;
    assert!(created.iter().all(Result::is_ok));
    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    assert!(requests.iter().all(|request| request.path == "/api/jobs"));
}

#[tokio::test]
async fn a_lost_batch_is_repeated_with_the_same_keys() {
    let (server, is_released) = server(|nth, _| (nth == 2).then_some(Reply::Lost));
    let results = create(&server.client(), &server, &is_released, vec![job(1), job(2), job(3)]).await;
    assert_eq!(ids(results), ["j0", "j1", "j2", "j3"]);
    let requests = server.requests();
    let mut repeated: Vec<_> = requests[2..].iter().flat_map(jobs).collect();
    repeated.sort_by_key(|(_, n)| *n);
    assert_eq!(repeated, jobs(&requests[1]), "each once more, under the same key");
}

#[tokio::test]
async fn only_the_jobs_without_a_definite_answer_are_repeated() {
    let (server, is_released) = server(|nth, _| {
        let mut overloaded = problem(503, "overloaded");
        overloaded["retry_after"] = json!("0s");
        let results = json!([{ "ok": { "id": "j1" } }, { "error": overloaded }, { "error": problem(422, "unknown_type") }]);
        (nth == 2).then(|| Reply::Json(200, json!({ "results": results })))
    });
    let results = create(&server.client(), &server, &is_released, vec![job(1), job(2), job(3)]).await;
    assert_eq!(results[1].as_ref().unwrap(), "j1");
    assert_eq!(results[2].as_ref().unwrap(), "j2");
    assert_eq!(results[3].as_ref().unwrap_err().code(), Some("unknown_type"));
    let [_, batch, again] = &server.requests()[..] else { panic!("{:?}", server.requests()) };
    assert_eq!((again.path.as_str(), jobs(again)), ("/api/jobs", vec![jobs(batch)[1].clone()]));
}

#[tokio::test]
async fn a_long_retry_after_of_a_job_in_a_batch_is_returned_in_its_error() {
    let (server, is_released) = server(|nth, _| {
        let mut unavailable = problem(503, "store_unavailable");
        unavailable["retry_after"] = json!("1m");
        let results = json!([{ "ok": { "id": "j1" } }, { "error": unavailable }]);
        (nth == 2).then(|| Reply::Json(200, json!({ "results": results })))
    });
    let results = create(&server.client(), &server, &is_released, vec![job(1), job(2)]).await;
    let Err(Error::Refused(problem)) = &results[2] else { panic!("{results:?}") };
    assert_eq!(problem.retry_after.map(|pause| pause.as_secs()), Some(60));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_batch_that_is_refused_as_a_whole_is_sent_job_by_job() {
    let (server, is_released) =
        server(|_, request| (request.path == BATCH).then(|| Reply::Json(413, problem(413, "too_large"))));
    let results = create(&server.client(), &server, &is_released, vec![job(1), job(2)]).await;
    assert_eq!(ids(results), ["j0", "j1", "j2"]);
    let requests = server.requests();
    let paths: Vec<&str> = requests.iter().map(|request| request.path.as_str()).collect();
    assert_eq!(paths, ["/api/jobs", BATCH, "/api/jobs", "/api/jobs"]);
    let mut alone: Vec<_> = requests[2..].iter().flat_map(jobs).collect();
    alone.sort_by_key(|(_, n)| *n);
    assert_eq!(alone, jobs(&requests[1]));
}

#[tokio::test]
async fn jobs_that_a_batch_cannot_carry_travel_alone() {
    let (server, is_released) = server(|_, _| None);
    let large = NewJob::new("image", &json!({ "n": 4, "text": "x".repeat(300 << 10) })).unwrap();
    let others = vec![job(1).traceparent("00-t"), job(2).derived_key(), large, job(5), job(6)];
    let results = create(&server.client(), &server, &is_released, others).await;
    assert_eq!(ids(results), ["j0", "j1", "j2", "j4", "j5", "j6"]);
    let requests = server.requests();
    let batches: Vec<Vec<u64>> = requests
        .iter()
        .filter(|request| request.path == BATCH)
        .map(|request| jobs(request).into_iter().map(|(_, n)| n).collect())
        .collect();
    assert_eq!(batches, [[5, 6]]);
    let traced = requests.iter().find(|request| request.header("traceparent").is_some()).unwrap();
    assert_eq!(jobs(traced)[0].1, 1);
}

#[tokio::test]
async fn jobs_of_another_key_or_another_kind_of_answer_are_not_in_one_batch() {
    let (server, is_released) = server(|_, _| None);
    is_released.send_replace(true);
    let client = server.client();
    let keyed = client.clone().with_key("secret");
    let created = join_all((0..2).map(|n| client.create(job(n))));
    let enqueued = join_all((2..4).map(|n| client.enqueue(job(n))));
    let others = join_all((4..6).map(|n| keyed.create(job(n))));
    let (created, enqueued, others) = tokio::join!(created, enqueued, others);
    assert!(created.iter().chain(&others).all(Result::is_ok) && enqueued.iter().all(Result::is_ok));
    let mut batches: Vec<_> = server
        .requests()
        .iter()
        .map(|request| {
            let numbers: Vec<u64> = jobs(request).into_iter().map(|(_, n)| n).collect();
            (numbers, request.header("prefer").is_some(), request.header("authorization").is_some())
        })
        .collect();
    batches.sort();
    let expected = [(vec![0, 1], false, false), (vec![2, 3], true, false), (vec![4, 5], false, true)];
    assert_eq!(batches, expected);
}

#[tokio::test]
async fn a_batch_of_keyed_jobs_is_repeated_and_one_with_a_derived_key_is_not() {
    let (server, is_released) = server(|nth, _| (nth != 2).then_some(Reply::Lost));
    is_released.send_replace(true);
    let client = server.client();
    let created = client.create_batch(&[job(1).key("a"), job(2)]).await.unwrap();
    assert_eq!(created[1].as_ref().unwrap().id, "j2");
    let requests = server.requests();
    assert_eq!(jobs(&requests[0]), jobs(&requests[1]));
    assert_eq!(jobs(&requests[0])[0].0, "a");
    assert_eq!(requests[0].header("idempotency-key"), None);
    let derived = [job(3).derived_key()];
    assert!(matches!(client.create_batch(&derived).await, Err(Error::Unreachable(_))));
}
