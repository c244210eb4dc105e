//! Answers have a limited size; what does not fit is cut, or follows at the cursor.

use serde_json::json;
use tenure_client::{NewJob, NewLine};
use tenure_e2e::column;
use tenure_e2e::mcp::ANSWER_BYTES_MAX;

use super::{sdk, session};
use crate::start_server;

#[tokio::test]
async fn a_list_that_does_not_fit_continues_at_its_cursor() {
    let server = start_server();
    let user = "u".repeat(250);
    let new = || {
        NewJob::new("idle", &json!({ "text": "x".repeat(9000) })).unwrap().user(&user).queue("q".repeat(250))
    };
    let created = sdk(&server).create_batch(&(0..90).map(|_| new()).collect::<Vec<_>>()).await.unwrap();
    let mut expected: Vec<_> = created.into_iter().map(|job| json!(job.unwrap().id)).collect();
    expected.reverse();
    let mut session = session(&server, &[]);
    let (jobs, pages) = session.pages("list_jobs", json!({ "limit": 100 }), "/jobs");
    assert_eq!(column(&json!(jobs), "id"), expected);
    assert!(pages > 1, "{pages}");
}

#[tokio::test]
async fn long_values_are_cut_and_say_so() {
    let server = start_server();
    let text = "\"é\\".repeat(40_000);
    let id = sdk(&server).enqueue(NewJob::new("idle", &json!({ "text": text })).unwrap()).await.unwrap().id;
    let mut session = session(&server, &[]);
    let (is_error, answer) = session.call("get_job", &json!({ "job": id }));
    assert!(!is_error && answer.len() > ANSWER_BYTES_MAX / 4, "as much as fits: {} bytes", answer.len());
    let shown = session.ok("get_job", &json!({ "job": id }));
    let payload = &shown["job"]["untrusted"]["payload"];
    assert!(payload["bytes"].as_u64().unwrap() > 200_000, "{payload}");
    assert!(payload["cut"].as_str().unwrap().starts_with(r#"{"text":"\"é\\"#), "{payload}");
    assert_eq!(shown["job"]["id"], id, "the other fields are whole");
}

#[tokio::test]
async fn a_long_log_continues_at_its_cursor() {
    let server = start_server();
    let id = server.create(&["idle"]);
    let text = |n: usize| format!("{n} {}", "y".repeat(1500));
    let line = |n: usize| NewLine { stream: None, level: None, text: text(n) };
    let lines: Vec<NewLine> = (1..=60).map(line).collect();
    sdk(&server).append_logs(&id, None, &lines).await.unwrap();
    let mut session = session(&server, &[]);
    let (lines, pages) = session.pages("job_logs", json!({ "job": id, "limit": 50 }), "/untrusted/lines");
    let expected: Vec<_> = (1..=60).map(|n| json!(text(n))).collect();
    assert_eq!(column(&json!(lines), "text"), expected);
    assert!(pages > 2, "{pages}");
}
