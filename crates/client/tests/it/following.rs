//! Following jobs and events: chunks, broken connections, and the end.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{Error, EventFilter, Follow, FoundJob};

use crate::fake_server::{FakeServer, Reply, Request, problem};

fn log(n: u64, text: &str) -> String {
    let line = json!({ "n": n, "stream": "stdout", "level": "info", "text": text });
    format!("id: {n}\nevent: log\ndata: {line}\n\n")
}

fn last_event_ids(requests: &[Request]) -> Vec<Option<&str>> {
    requests.iter().map(|request| request.header("last-event-id")).collect()
}

const STATUS: &str = "id: end\r\nevent: status\r\ndata: {\"state\":\"done\",\"outcome\":\"succeeded\",\r\n\
                      data: \"output\":{\"n\":1}}\r\n\r\n";

#[tokio::test]
async fn a_broken_stream_resumes_where_it_stopped() {
    let first =
        format!("retry: 1\n: hello\n\n{}{}id: 3\nevent: log\ndata: {{\"n\"", log(1, "one"), log(2, "zwölf"));
    let bytes = first.into_bytes().chunks(3).map(<[u8]>::to_vec).collect();
    let second = format!("{}{STATUS}", log(3, "three")).into_bytes();
    let server = FakeServer::replies([Reply::Pieces(bytes), Reply::Lost, Reply::Pieces(vec![second])]);
    let mut following = server.client().follow("j1");
    let mut lines = Vec::new();
    let state = loop {
        match following.next().await.unwrap().unwrap() {
            Follow::Log(line) => lines.push((line.n, line.text)),
            Follow::Status { state, outcome, output } => break (state, outcome, output),
        }
    };
    let expected = [(1, "one"), (2, "zwölf"), (3, "three")].map(|(n, text)| (n, text.to_owned()));
    assert_eq!(lines, expected);
    assert_eq!(state, ("done".to_owned(), Some("succeeded".to_owned()), json!({ "n": 1 })));
    assert!(following.next().await.is_none());
    let requests = server.requests();
    assert_eq!(last_event_ids(&requests), [None, Some("2"), Some("2")]);
    assert_eq!(requests[0].path, "/api/jobs/j1/stream");
    assert_eq!(requests[0].header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn a_204_ends_the_stream() {
    let server = FakeServer::replies([Reply::NoContent]);
    let mut following = server.client().follow("j1");
    assert!(following.next().await.is_none());
    assert!(following.next().await.is_none());
    assert_eq!(server.requests().len(), 1);
}

/// Closed without an event, or refused for now.
fn without_events(count: usize) -> impl Iterator<Item = Reply> {
    (0..count).map(|n| match n % 2 {
        0 => Reply::Pieces(vec![b"retry: 1\n: quiet\n\n".to_vec()]),
        _ => Reply::With(503, "retry-after: 0\r\n", problem(503, "overloaded")),
    })
}

fn status() -> Reply {
    Reply::Pieces(vec![STATUS.as_bytes().to_vec()])
}

#[tokio::test]
async fn a_stream_without_events_is_opened_again_and_again() {
    let server = FakeServer::replies(without_events(20).chain([status()]));
    let followed = server.client().follow("j1").next().await.unwrap().unwrap();
    assert!(matches!(followed, Follow::Status { .. }), "{followed:?}");
    assert_eq!(server.requests().len(), 21);
}

#[tokio::test]
async fn wait_returns_the_finished_job_or_times_out() {
    let job = Reply::Json(200, json!({ "id": "j1", "state": "done" }));
    let server = FakeServer::replies(without_events(4).chain([status(), job]));
    assert_eq!(server.client().wait("j1", None).await.unwrap().state, "done");
    let server = FakeServer::start(|_| std::future::pending::<Reply>());
    let error = server.client().wait("j1", Some(Duration::from_millis(10))).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error:?}");
    assert_eq!(error.to_string(), "the job did not finish within 10ms");
}

/// The request `r1` in SQL with this phase and more members.
fn request_in_sql(phase: &str, more: (&str, Value)) -> Reply {
    let mut request = json!({ "id": "r1", "type": "t", "queue": null, "state": null, "phase": phase });
    request[more.0] = more.1;
    Reply::Json(200, request)
}

#[tokio::test]
async fn a_merged_request_whose_job_is_gone_or_hidden_is_not_found() {
    let missing = || Reply::Json(404, problem(404, "not_found"));
    let hidden = FakeServer::replies([missing(), request_in_sql("merged", ("user_id", json!("u")))]);
    assert_eq!(hidden.client().wait("r1", None).await.unwrap_err().code(), Some("not_found"));
    let merged = || request_in_sql("merged", ("job_id", json!("j2")));
    let gone = FakeServer::replies([missing(), merged(), missing(), merged()]);
    assert_eq!(gone.client().wait("r1", None).await.unwrap_err().code(), Some("not_found"));
}

#[tokio::test]
async fn a_request_in_sql_is_waited_for_as_the_job_that_answers_it() {
    let no_stream = Reply::Json(404, problem(404, "not_found"));
    let pending = request_in_sql("intake", ("user_id", json!("u1")));
    let merged = request_in_sql("merged", ("job_id", json!("j2")));
    let job = Reply::Json(200, json!({ "id": "j2", "state": "done" }));
    let server = FakeServer::replies([no_stream, pending, merged, status(), job]);
    assert_eq!(server.client().wait("r1", None).await.unwrap().id, "j2");
    let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    let (stream, request) = ("/api/jobs/r1/stream", "/api/jobs/r1");
    assert_eq!(paths, [stream, request, request, "/api/jobs/j2/stream", "/api/jobs/j2"]);
}

#[tokio::test]
async fn a_refused_request_in_sql_is_an_error_of_wait_and_readable() {
    let refused = || request_in_sql("refused", ("problem", problem(422, "validation_failed")));
    let server = FakeServer::replies([Reply::Json(404, problem(404, "not_found")), refused()]);
    let error = server.client().wait("r1", None).await.unwrap_err();
    assert_eq!(error.code(), Some("validation_failed"));
    let job = FakeServer::replies([refused()]).client().get("r1").await.unwrap();
    assert_eq!((job.state.as_str(), job.phase.as_str()), ("", "refused"));
    assert_eq!(job.error.unwrap().code, "validation_failed");
    let found = FakeServer::replies([refused()]).client().find("r1").await.unwrap();
    assert_eq!(found.refusal().unwrap().status, 422);
    assert!(matches!(found, FoundJob::Request(_)), "{found:?}");
}

#[tokio::test]
async fn an_unknown_job_cannot_be_followed() {
    let server = FakeServer::replies([Reply::Json(404, problem(404, "not_found"))]);
    let mut following = server.client().follow("j1");
    let error = following.next().await.unwrap().unwrap_err();
    assert_eq!(error.code(), Some("not_found"));
    assert!(following.next().await.is_none());
}

#[tokio::test]
async fn the_journal_is_followed_from_a_cursor() {
    let event = |cursor, seq| {
        format!("id: {cursor}\ndata: {}\n\n", json!({ "job_id": "j1", "seq": seq, "type": "x" }))
    };
    let first = format!("retry: 1\n{}", event("a1", 1)).into_bytes();
    let second = format!("{}{}", event("a2", 2), event("a3", 3)).into_bytes();
    let server = FakeServer::replies([Reply::Pieces(vec![first]), Reply::Pieces(vec![second])]);
    let filter = EventFilter { job_id: Some("j1".into()), ..EventFilter::default() };
    let mut events = server.client().events(Some("a0"), &filter).unwrap();
    for (seq, expected) in [(1, "a1"), (2, "a2"), (3, "a3")] {
        let (event, cursor) = events.next().await.unwrap();
        assert_eq!((event.seq, cursor.as_str()), (Some(seq), expected));
    }
    assert!(matches!(events.next().await, Err(Error::Refused(_))), "the script has ended");
    let requests = server.requests();
    assert_eq!(last_event_ids(&requests), ["a0", "a1", "a3"].map(Some));
    assert_eq!(requests[0].path, "/api/events?job_id=j1");
}
