//! `tenure dead`, `queue`, `worker`, `account` and `key`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_e2e::cli::expect_exit;
use tenure_e2e::{assert_fields, rows};

use crate::fake_server::FakeServer;
use crate::start_server;

#[test]
fn dead_letters_are_listed_redriven_and_dismissed() {
    let server = start_server();
    let dead = |detail: &str| {
        let id = server.create(&["hello"]);
        server.run_ok(&["job", "dead-letter", &id, "--reason-code", "policy_violation", "--detail", detail]);
        id
    };
    let (first, second) = (dead("one"), dead("two"));
    let list = server.run_ok(&["dead", "list"]);
    assert!(list.starts_with("JOB "), "{list}");
    assert!(list.contains("policy_violation") && list.lines().count() == 3, "{list}");
    assert_eq!(server.run_ok(&["dead", "list", "--reason-code", "timeout", "-o", "name"]), "");
    assert!(server.run_ok(&["dead", "get", &first]).contains("policy_violation"));
    assert_eq!(server.json(&["dead", "get", &first])["job_id"], json!(first));

    let created = server.run_ok(&["dead", "redrive", &first]).trim().to_owned();
    assert_eq!(server.job(&created)["retry_of"], json!(first));
    let dismissed = server.json(&["dead", "dismiss", &second, "--reason", "the customer left"]);
    assert_eq!(dismissed["dismissed_reason"], "the customer left");
    assert_eq!(server.run_ok(&["dead", "list", "--dismissed", "-o", "name"]), format!("{second}\n"));
    let afterwards = server.json(&["dead", "get", &second]);
    assert_eq!(afterwards["dismissed_reason"], "the customer left");
    let third = dead("three");
    let answer = server.json(&["dead", "redrive", "--all", "--type", "hello", "--max-per-second", "50"]);
    let results = rows(&answer["results"]);
    assert!(results.iter().any(|result| result["ok"]["retry_of"] == json!(third)), "{answer:#}");
    let alive = server.create(&["hello"]);
    server.run_expecting(5, &["dead", "get", &alive]);
    server.run_expecting(6, &["dead", "redrive", &alive]);
}

#[test]
fn a_redrive_of_more_than_one_call_continues_at_the_cursor() {
    let results = |ids: &[&str]| -> Vec<Value> {
        ids.iter().map(|id| json!({ "job_id": "dead", "ok": { "id": id } })).collect()
    };
    let refused = json!({ "job_id": "dead", "error": { "code": "unknown_type", "status": 422 } });
    let last = [results(&["c"]), vec![refused]].concat();
    let server = FakeServer::answers(vec![
        json!({ "redriven": 2, "results": results(&["a", "b"]), "next_cursor": "next" }),
        json!({ "redriven": 1, "results": last, "next_cursor": null }),
    ]);
    let begun = Instant::now();
    let arguments = ["dead", "redrive", "--all", "--type", "index", "--max-per-second", "10"];
    let (stdout, stderr) = expect_exit(server.run(&arguments), 6, arguments);
    assert_eq!(stdout, "a\nb\nc\n");
    assert!(stderr.ends_with("3 redriven, 1 refused\n"), "{stderr}");
    assert!(begun.elapsed() >= Duration::from_millis(200), "two jobs of the first call take 200 ms");
    let [first, second] = &server.requests()[..] else { panic!("two calls: {:?}", server.requests()) };
    assert_eq!(first.target, "POST /api/dead-letters/redrive");
    assert_eq!((&first.body["cursor"], &second.body["cursor"]), (&Value::Null, &json!("next")));
    assert_eq!(first.body["filter"], second.body["filter"]);
}

#[test]
fn queues_are_paused_and_resumed() {
    let server = start_server();
    server.create(&["hello", "--queue", "pictures"]);
    let row = || {
        let list = server.run_ok(&["queue", "list"]);
        let row = list.lines().find(|line| line.starts_with("pictures")).unwrap();
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(row(), "pictures no 1 0 0");
    assert_eq!(server.json(&["queue", "pause", "pictures"]), json!({ "name": "pictures", "paused": true }));
    assert_eq!(row(), "pictures yes 1 0 0");
    assert_eq!(server.run_ok(&["queue", "resume", "pictures"]), "queue   pictures\npaused  no\n");
    assert_eq!(row(), "pictures no 1 0 0");
    server.run_ok(&["queue", "pause", "a queue/with signs?"]);
    assert!(server.run_ok(&["queue", "list", "-o", "name"]).contains("a queue/with signs?\n"));
}

#[test]
fn accounts_are_granted_credits() {
    let server = start_server();
    server.run_ok(&["account", "grant", "ada", "100", "--reason", "invoice 17"]);
    let id = server.create(&["paid", "--user", "ada", "-p", r#"{"prompt": "a lake"}"#]);
    let account = server.json(&["account", "get", "ada"]);
    assert_fields(&account, json!({ "granted": 100, "reserved": 5, "available": 95 }));
    assert!(server.run_ok(&["account", "get", "ada"]).contains("available  95\n"));
    let wide = server.run_ok(&["account", "get", "ada", "-o", "wide"]);
    assert!(wide.contains("invoice 17") && wide.contains(&id), "{wide}");
    assert_eq!(server.run_ok(&["account", "get", "ada", "-o", "name"]), "ada\n");
}

#[test]
fn the_whole_ledger_is_shown() {
    let page = |reasons: &[&str], next: Option<&str>| {
        let line =
            |reason: &&str| json!({ "id": 1, "ts": "", "kind": "grant", "amount": 1, "reason": reason });
        let ledger: Vec<Value> = reasons.iter().map(line).collect();
        json!({ "granted": 3, "reserved": 0, "spent": 0, "available": 3, "ledger": ledger, "next_cursor": next })
    };
    let server = FakeServer::answers(vec![page(&["first", "second"], Some("2")), page(&["third"], None)]);
    let arguments = ["account", "get", "ada", "-o", "wide"];
    let (stdout, _) = expect_exit(server.run(&arguments), 0, arguments);
    let lines: Vec<&str> = stdout.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert!(lines.ends_with(&["REASON", "first", "second", "third"]), "{stdout}");
    let targets: Vec<String> = server.requests().into_iter().map(|request| request.target).collect();
    let path = "GET /api/accounts/ada/credits";
    assert_eq!(targets, [format!("{path}?limit=500"), format!("{path}?cursor=2&limit=500")]);
}

#[test]
fn workers_are_listed_with_what_they_hold() {
    let server = start_server();
    let _worker = server.work(&["hello", "--name", "w1", "--", "sleep", "600"]);
    let id = server.create_running(&["hello"]);
    let list = server.run_ok(&["worker", "list", "-o", "wide"]);
    let row = list.lines().find(|line| line.starts_with("w1 ")).unwrap();
    assert!(row.contains(&id), "{list}");
    assert_eq!(server.run_ok(&["worker", "list", "-o", "name"]), "w1\n");
    assert_eq!(server.json(&["worker", "list"])["workers"][0]["holds"][0]["job_id"], json!(id));
}

#[test]
fn keys_are_shown_once_and_revoked() {
    let mut server = start_server();
    server.run_expecting(7, &["key", "create", "--role", "viewer"]);
    let answer: Value = server.json(&["key", "create", "--role", "admin"]);
    server.key = Some(answer["key"].as_str().unwrap().to_owned());
    let viewer: Value = server.json(&["key", "create", "--role", "viewer"]);
    let id = viewer["id"].as_str().unwrap();
    let list = server.run_ok(&["key", "list"]);
    assert!(list.contains(id) && list.contains("viewer"), "{list}");
    assert!(!list.contains("tn_"), "a secret is not shown again: {list}");
    let key = viewer["key"].as_str().unwrap();
    server.run_ok(&["job", "list", "--key", key]);
    let revoked = server.json(&["key", "revoke", &id[..8]]);
    assert!(revoked["revoked_at"].is_string(), "{revoked}");
    server.run_expecting(4, &["job", "list", "--key", key]);
    server.run_expecting(5, &["key", "revoke", "nothing"]);
}

#[test]
fn a_key_is_read_from_a_file() {
    let mut server = start_server();
    let admin = server.create_key(&["--role", "admin"]);
    let file = server.path().join("admin.key");
    std::fs::write(&file, format!("{admin}\n")).unwrap();
    let file = file.display().to_string();
    server.run_expecting(4, &["job", "list"]);
    server.run_ok(&["job", "list", "--key-file", &file]);
    let by_variable = server.command().env("TENURE_KEY_FILE", &file).args(["job", "list"]).output().unwrap();
    assert!(by_variable.status.success(), "{by_variable:?}");
    // A flag goes before a variable.
    server.key = Some("nonsense".to_owned());
    server.run_ok(&["job", "list", "--key-file", &file]);
    let (_, stderr) = server.outputs(2, &["job", "list", "--key-file", "nothing.key"]);
    assert!(stderr.contains("cannot read the key file nothing.key"), "{stderr}");
    server.run_expecting(2, &["job", "list", "--key-file", &file, "--key", &admin]);
}

#[test]
fn a_key_has_roles_scopes_and_an_expiry_and_is_rotated() {
    let mut server = start_server();
    server.key = Some(server.create_key(&["--role", "admin"]));
    let arguments = "--role producer --role worker --user ada --name farm --type resize --queue pictures \
        --worker-name ci-* --priority 0..10 --expires 30d";
    let arguments: Vec<&str> = ["key", "create"].into_iter().chain(arguments.split_whitespace()).collect();
    let created = server.json(&arguments);
    assert_eq!(created["roles"], json!(["producer", "worker"]));
    let scopes = json!({
        "types": ["resize"], "queues": ["pictures"], "user_id": null, "worker": "ci-*", "priority_min": 0,
        "priority_max": 10,
    });
    assert_eq!(created["scopes"], scopes);
    assert!(created["expires_at"].is_string());
    let list = server.run_ok(&["key", "list", "-o", "wide"]);
    for shown in ["farm", "producer,worker", "type=resize queue=pictures worker=ci-* priority=0..10"] {
        assert!(list.contains(shown), "{shown}: {list}");
    }
    let (first, id) = (created["key"].as_str().unwrap(), created["id"].as_str().unwrap());
    let (second, message) = server.outputs(0, &["key", "rotate", &id[..8], "--overlap", "5m"]);
    assert!(message.contains("earlier secrets are valid until"), "{message}");
    server.run_ok(&["job", "list", "--key", first]);
    server.run_ok(&["job", "list", "--key", second.trim()]);
    server.run_ok(&["key", "rotate", id, "--overlap", "0s"]);
    server.run_expecting(4, &["job", "list", "--key", first]);
    server.run_expecting(4, &["job", "list", "--key", second.trim()]);
    server.run_expecting(2, &["key", "create", "--role", "viewer", "--priority", "5"]);
}
