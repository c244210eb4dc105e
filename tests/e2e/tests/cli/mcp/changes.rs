//! Tools that change something.

use serde_json::{Value, json};
use tenure_e2e::assert_fields;

use super::{CHANGING, dead_job, session};
use crate::start_server;

#[test]
fn jobs_are_redriven_retried_and_cancelled() {
    let server = start_server();
    let (dead, idle) = (dead_job(&server), server.create(&["idle"]));
    let mut session = session(&server, &["--allow-changes"]);
    let redriven = session.ok("redrive_dead_letters", &json!({ "jobs": [dead, idle], "max_per_second": 10 }));
    assert_eq!(redriven["redriven"], 1, "{redriven}");
    let new = redriven["results"][0]["new_job_id"].as_str().unwrap();
    assert_eq!(server.job(new)["retry_of"], dead.as_str());
    assert!(redriven["results"][1]["code"].is_string(), "refused, because it is not dead: {redriven}");
    let (is_error, text) = session.call("redrive_dead_letters", &json!({ "jobs": [idle] }));
    assert!(is_error, "nothing was redriven: {text}");

    let cancelled =
        session.ok("cancel_job", &json!({ "job": idle, "mode": "hard", "reason": "asked by the user" }));
    assert_fields(&cancelled["job"], json!({ "id": idle, "outcome": "cancelled" }));
    let history = session.ok("job_history", &json!({ "job": idle }));
    assert_eq!(history["events"][1]["untrusted"]["cause"], "asked by the user", "{history}");
    assert_eq!(
        session.error("cancel_job", &json!({ "job": idle, "mode": "now" }))["code"],
        "invalid_arguments"
    );

    let retried = session.ok("retry_job", &json!({ "job": idle }));
    assert_fields(&retried["new_job"], json!({ "retry_of": idle, "state": "queued" }));
    let unfinished = session.error("retry_job", &json!({ "job": retried["new_job"]["id"] }));
    assert_fields(
        &unfinished,
        json!({ "code": "invalid_transition", "status": 409, "current_state": "queued" }),
    );
}

#[test]
fn a_queue_is_paused_and_resumed() {
    let server = start_server();
    let mut session = session(&server, &["--allow-changes"]);
    let is_paused = || {
        let queues = server.json(&["queue", "list"]);
        queues["queues"]
            .as_array()
            .unwrap()
            .iter()
            .any(|queue| queue["name"] == "a/b" && queue["paused"] == true)
    };
    let paused = session.ok("pause_queue", &json!({ "queue": "a/b" }));
    assert_fields(&paused["queue"], json!({ "paused": true, "/untrusted/name": "a/b" }));
    assert!(is_paused());
    assert_eq!(session.ok("resume_queue", &json!({ "queue": "a/b" }))["queue"]["paused"], false);
    assert!(!is_paused());
}

#[test]
fn a_viewer_key_may_read_and_changes_nothing() {
    let mut server = start_server();
    let (dead, idle) = (dead_job(&server), server.create(&["idle"]));
    server.key = Some(server.create_key(&["--role", "admin"]));
    let admin = server.key.clone();
    server.key = Some(server.create_key(&["--role", "viewer"]));
    let mut session = session(&server, &["--allow-changes"]);
    assert_eq!(session.ok("list_dead_letters", &json!({}))["dead_letters"][0]["job_id"], dead.as_str());
    for tool in CHANGING.split_whitespace() {
        let arguments: Value = match tool {
            "redrive_dead_letters" => json!({ "jobs": [dead] }),
            "retry_job" => json!({ "job": dead }),
            "cancel_job" => json!({ "job": idle }),
            _ => json!({ "queue": "default" }),
        };
        let error = session.error(tool, &arguments);
        assert_fields(&error, json!({ "code": "forbidden", "status": 403 }));
    }
    server.key = admin;
    assert_eq!(server.job(&idle)["state"], "queued");
    assert_eq!(server.json(&["job", "list"])["jobs"].as_array().unwrap().len(), 2, "there is no new job");
}
