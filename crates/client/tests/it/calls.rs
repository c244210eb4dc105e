//! Calls: requests, retries, and refusals.

use std::time::Duration;

use serde_json::json;
use tenure_client::{CancelMode, Client, Error, JobFilter, Method, NewJob, Page};

use crate::fake_server::{FakeServer, Reply, problem};

#[tokio::test]
async fn a_refusal_has_every_field_of_the_problem() {
    let mut body = problem(409, "invalid_transition");
    body["current_state"] = json!("succeeded");
    body["allowed"] = json!(["retry"]);
    let server = FakeServer::replies([Reply::Json(409, body)]);
    let error = server.client().cancel("j1", CancelMode::Hard, Some("enough")).await.unwrap_err();
    let Error::Refused(problem) = &error else { panic!("{error:?}") };
    assert_eq!((problem.status, problem.code(), problem.title.as_str()), (409, "invalid_transition", "No"));
    assert_eq!(problem.detail.as_deref(), Some("because"));
    assert_eq!(problem.extra["current_state"], "succeeded");
    assert_eq!(problem.extra["allowed"], json!(["retry"]));
    assert_eq!(error.to_string(), "invalid_transition: because");
    let [request] = &server.requests()[..] else { panic!("a refusal is not repeated") };
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/api/jobs/j1/cancel"));
    assert_eq!(request.body, json!({ "mode": "hard", "reason": "enough" }));
}

#[tokio::test]
async fn a_read_is_retried_while_the_server_is_down_or_overloaded() {
    let overloaded = Reply::With(503, "retry-after: 0\r\n", problem(503, "overloaded"));
    let found = Reply::Json(200, json!({ "id": "j1", "new": [1] }));
    let server = FakeServer::replies([Reply::Lost, overloaded, found]);
    assert_eq!(server.client().get("j1").await.unwrap().id, "j1");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_long_retry_after_is_returned_in_the_error() {
    let unavailable = Reply::With(503, "retry-after: 60\r\n", problem(503, "store_unavailable"));
    let error = FakeServer::replies([unavailable]).client().get("j1").await.unwrap_err();
    assert_eq!(error.code(), Some("store_unavailable"));
    assert_eq!(error.retry_after(), Some(Duration::from_mins(1)));
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_lost_creation_is_retried_with_the_same_key() {
    let server = FakeServer::replies([Reply::Lost, Reply::Json(202, json!({ "id": "j1" }))]);
    let new = NewJob::new("image", &json!({ "prompt": "a lake" })).unwrap().queue("gpu").priority(-3);
    let new =
        new.user("u1").max_attempts(2).delay(Duration::from_secs(5)).correlation("c").traceparent("00-t");
    let created = server.client().with_key("secret").create(new).await.unwrap();
    assert_eq!((created.job.id.as_str(), created.replayed), ("j1", false));
    let [first, second] = &server.requests()[..] else { panic!("sent twice") };
    assert!(first.header("idempotency-key").is_some_and(|key| key.len() >= 32));
    assert_eq!(first.header("idempotency-key"), second.header("idempotency-key"));
    assert_eq!(first.header("authorization"), Some("Bearer secret"));
    assert_eq!(first.header("traceparent"), Some("00-t"));
    let expected = json!({
        "type": "image", "payload": { "prompt": "a lake" }, "queue": "gpu", "priority": -3, "user_id": "u1",
        "max_attempts": 2, "delay": "5000ms", "correlation_id": "c",
    });
    assert_eq!((&first.body, &second.body), (&expected, &expected));
}

#[tokio::test]
async fn a_key_replaces_the_password_of_the_url() {
    let server = FakeServer::replies([(); 2].map(|()| Reply::Json(200, json!({ "id": "j1" }))));
    let url = server.url.replace("http://", "http://ann:secret@");
    let client = Client::new(&url).unwrap();
    client.get("j1").await.unwrap();
    client.with_key("k").get("j1").await.unwrap();
    let [without, with] = &server.requests()[..] else { panic!("two requests") };
    assert_eq!(without.header("authorization"), Some("Basic YW5uOnNlY3JldA=="));
    assert_eq!(with.header("authorization"), Some("Bearer k"));
}

#[tokio::test]
async fn a_given_key_is_sent_and_a_replayed_job_is_marked() {
    let replay = Reply::With(200, "idempotent-replayed: true\r\n", json!({ "id": "j1" }));
    let server = FakeServer::replies([replay]);
    let created = server.client().create(NewJob::new("image", &()).unwrap().key("order-42")).await.unwrap();
    assert!(created.replayed);
    assert_eq!(server.requests()[0].header("idempotency-key"), Some("order-42"));
}

#[tokio::test]
async fn without_a_key_a_lost_creation_is_not_retried() {
    let server = FakeServer::replies([Reply::Lost]);
    let new = NewJob::new("image", &()).unwrap().derived_key();
    assert!(matches!(server.client().create(new).await, Err(Error::Unreachable(_))));
    let [request] = &server.requests()[..] else { panic!("sent once") };
    assert_eq!(request.header("idempotency-key"), None);
}

#[tokio::test]
async fn who_needs_no_more_than_an_id_says_so() {
    let replay = Reply::With(200, "idempotent-replayed: true\r\n", json!({ "id": "j1", "replayed": true }));
    // The last is of a server that knows of no preference.
    let whole = json!({ "id": "j2", "state": "queued", "payload": null });
    let server = FakeServer::replies([replay, Reply::NoContent, Reply::Json(202, whole)]);
    let client = server.client();
    let new = || NewJob::new("image", &()).unwrap();
    let enqueued = client.enqueue(new().key("order-42")).await.unwrap();
    assert_eq!((enqueued.id.as_str(), enqueued.replayed), ("j1", true));
    client.send(Method::POST, "/api/jobs/j1/cancel", &json!({})).await.unwrap();
    let enqueued = client.enqueue(new()).await.unwrap();
    assert_eq!((enqueued.id.as_str(), enqueued.replayed), ("j2", false));
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.header("prefer") == Some("return=minimal")));
    assert_eq!(requests[0].header("idempotency-key"), Some("order-42"));
    assert_eq!(requests[0].body["type"], json!("image"));
}

#[tokio::test]
async fn a_batch_answers_for_each_job() {
    let results = json!({ "results": [{ "ok": { "id": "j1" } }, { "error": problem(422, "unknown_type") }] });
    let server = FakeServer::replies([Reply::Json(200, results), Reply::Json(200, json!({ "results": [] }))]);
    let jobs = [NewJob::new("image", &()).unwrap(), NewJob::new("nonsense", &()).unwrap()];
    let results = server.client().create_batch(&jobs).await.unwrap();
    assert_eq!(results[0].as_ref().unwrap().id, "j1");
    assert_eq!(results[1].as_ref().unwrap_err().code(), "unknown_type");
    // An answer with too few results is an error.
    assert!(matches!(server.client().create_batch(&jobs).await, Err(Error::Protocol(_))));
    let traced = [NewJob::new("image", &()).unwrap().traceparent("00-t")];
    assert!(matches!(server.client().create_batch(&traced).await, Err(Error::Protocol(_))));
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_list_has_its_filter_and_its_cursor() {
    let answer = json!({ "jobs": [{ "id": "j2" }, { "id": "j1" }], "next_cursor": "abc" });
    let server = FakeServer::replies([Reply::Json(200, answer)]);
    let filter = JobFilter {
        job_type: Some("a b&c".into()),
        user_id: Some("ü".into()),
        created_after: Some("2026-01-01T00:00:00.000Z".into()),
        ..JobFilter::default()
    };
    let page = Page { limit: Some(2), cursor: Some("x=".into()) };
    let listing = server.client().list(&filter, &page).await.unwrap();
    assert_eq!(listing.rows.iter().map(|job| job.id.as_str()).collect::<Vec<_>>(), ["j2", "j1"]);
    assert_eq!(listing.next_cursor.as_deref(), Some("abc"));
    let path = &server.requests()[0].path;
    let parts = "type=a%20b%26c user_id=%C3%BC created_after=2026-01-01T00%3A00%3A00.000Z cursor=x%3D";
    assert!(parts.split(' ').all(|part| path.contains(part)), "{path}");
}

#[tokio::test]
async fn unknown_fields_of_a_job_are_ignored() {
    let job = serde_json::from_str(include_str!("job.json")).unwrap();
    let server = FakeServer::replies([Reply::Json(200, job)]);
    let job = server.client().get("0198").await.unwrap();
    assert_eq!((job.job_type.as_str(), job.progress, job.seq), ("index", Some(40.0), 3));
    assert_eq!(job.lease.as_ref().map(|lease| lease.fence), Some(2));
    assert_eq!(job.error.map(|error| error.text), Some("X: m".into()));
    assert_eq!(job.cancel_requested.and_then(|request| request.mode), Some(CancelMode::Soft));
}

#[tokio::test]
async fn raw_calls_send_any_body_and_a_lost_post_is_not_retried() {
    let server = FakeServer::replies([Reply::Json(200, json!([1])), Reply::NoContent, Reply::Lost]);
    let client = server.client();
    assert_eq!(client.call(Method::GET, "/api/x?y=1", None).await.unwrap(), json!([1]));
    assert_eq!(client.call(Method::DELETE, "/api/keys/k", None).await.unwrap(), json!(null));
    let lost = client.call(Method::POST, "/api/x", Some(&json!({ "a": 1 }))).await;
    assert!(matches!(lost, Err(Error::Unreachable(_))));
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn an_unreachable_server_and_an_invalid_url_are_errors() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::new(&url).unwrap();
    assert_eq!(format!("{}/", client.url()), url);
    assert!(matches!(client.get("j1").await, Err(Error::Unreachable(_))));
    assert!(matches!(Client::new("nowhere"), Err(Error::Protocol(_))));
    assert!(matches!(Client::new("ftp://x"), Err(Error::Protocol(_))));
}

#[tokio::test]
async fn an_answer_without_a_problem_is_not_a_refusal() {
    let html = || Reply::Json(502, json!("<html>"));
    let server = FakeServer::replies([html(), html(), html(), html(), Reply::Json(400, json!("?"))]);
    let client = server.client();
    assert!(matches!(client.get("j1").await, Err(Error::Unreachable(_))));
    assert!(matches!(client.get("j1").await, Err(Error::Protocol(_))));
}
