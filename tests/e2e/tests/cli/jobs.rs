//! `tenure job`, `explain` and `events`.

use serde_json::{Value, json};
use tenure_e2e::cli::{CliServer, expect_exit, transcript, wait_for_output};
use tenure_e2e::terminal::Terminal;
use tenure_e2e::{assert_fields, tenure};

use crate::start_server;

#[test]
fn jobs_are_listed_by_a_query() {
    let server = start_server();
    let id = server.create(&["hello", "-p", r#"{"order": {"no": 42}}"#, "--user", "ada"]);
    server.create(&["hello", "-p", r#"{"order": {"no": 43}}"#]);
    let query = ["job", "list", "state:queued,failed", "payload.order.no:42", "since:1h", "-o", "name"];
    assert_eq!(server.run_ok(&query), format!("{id}\n"));
    let refused = server.run(&["job", "list", "colour:red"]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not a key of the query"), "{refused:?}");
}

#[test]
fn a_job_is_created_listed_shown_and_cancelled() {
    let server = start_server();
    let id = server.create(&["hello", "-p", r#"{"name": "Ada"}"#, "--user", "ada", "--priority", "-3"]);
    assert_eq!(id.len(), 36);

    let list = server.run_ok(&["job", "list"]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with("JOB            TYPE   STATE   ATTEMPT  AGE"), "{list}");
    assert!(lines[1].starts_with(&format!("{}  hello  queued  1 ", &id[..13])), "{list}");
    let wide = server.run_ok(&["job", "list", "-o", "wide"]);
    assert!(wide.contains(&id) && wide.contains("distributed") && wide.contains("ada"), "{wide}");
    assert_eq!(server.run_ok(&["job", "list", "-o", "name"]), format!("{id}\n"));
    let answer = server.json(&["job", "list"]);
    assert_eq!((&answer["jobs"][0]["id"], &answer["next_cursor"]), (&json!(id), &Value::Null));
    let line: Value = serde_json::from_str(server.run_ok(&["job", "list", "-o", "jsonl"]).trim()).unwrap();
    assert_eq!(line, answer["jobs"][0]);

    let job = server.job(&id);
    assert_fields(&job, json!({ "payload": { "name": "Ada" }, "priority": -3, "user_id": "ada" }));
    let shown = server.run_ok(&["job", "get", &id]);
    assert!(shown.contains("state      queued (ready)\n"), "{shown}");

    let cancelled = server.run_ok(&["job", "cancel", &id, "--reason", "enough"]);
    assert!(cancelled.contains("state      cancelled (cancelled)\n"), "{cancelled}");
    let events = server.run_ok(&["job", "events", &id]);
    assert!(events.contains("job_cancelled") && events.lines().count() == 3, "{events}");
    let replayed = server.json(&["job", "replay", &id, "--seq", "1"]);
    assert_eq!(replayed["state"], "queued");
    let again = server.json(&["job", "retry", &id]);
    assert_fields(&again, json!({ "retry_of": id, "state": "queued" }));
    assert_eq!(server.run_ok(&["job", "list", "--retry-of", &id[..23], "-o", "name"]).lines().count(), 1);
}

#[test]
fn payloads_come_from_files_and_stdin() {
    let server = start_server();
    std::fs::write(server.path().join("payload.json"), "{\"from\": \"file\"}").unwrap();
    let id = server.create(&["hello", "-p", "@payload.json"]);
    assert_eq!(server.job(&id)["payload"], json!({ "from": "file" }));
    let mut shell = std::process::Command::new("sh");
    let script = format!("echo '[1]' | {} job create hello -p - -o json", tenure().display());
    let output = shell.args(["-c", &script]).env("TENURE_URL", server.url()).output().unwrap();
    let (created, _) = expect_exit(output, 0, script);
    assert_eq!(serde_json::from_str::<Value>(&created).unwrap()["payload"], json!([1]));
    server.run_expecting(7, &["job", "create", "hello", "-p", "{a"]);
    server.run_expecting(7, &["job", "create", "hello", "-p", r#"{"a": 1, "a": 2}"#]);
    server.run_expecting(5, &["job", "create", "hello", "-p", "@nowhere.json"]);
}

#[test]
fn lists_are_filtered_and_paged() {
    let server = start_server();
    let ids: Vec<String> = (0..5).map(|_| server.create(&["page", "--queue", "q"])).collect();
    server.create(&["other"]);
    let names = |args: &[&str]| -> Vec<String> {
        server.run_ok(&[&["job", "list", "-o", "name"], args].concat()).lines().map(str::to_owned).collect()
    };
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(names(&["--type", "page"]), newest_first);
    assert_eq!(names(&["--queue", "q", "--state", "queued", "--since", "1h", "-n", "1000"]), newest_first);
    assert_eq!(names(&["--type", "page", "--until", "1h"]), [""; 0]);
    assert_eq!(names(&["--type", "page", "-n", "2"]), newest_first[..2]);
    let first = server.json(&["job", "list", "--type", "page", "-n", "2"]);
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(names(&["--type", "page", "-n", "2", "--cursor", cursor]), newest_first[2..4]);
}

#[test]
fn a_unique_prefix_of_an_id_is_enough() {
    let server = start_server();
    let ids: Vec<String> = (0..3).map(|_| server.create(&["hello"])).collect();
    let mut prefixes = (8..36).map(|length| &ids[0][..length]).filter(|text| !text.ends_with('-'));
    let shortest = prefixes.find(|text| ids[1..].iter().all(|id| !id.starts_with(text))).unwrap();
    let short = format!("{}…{}", &ids[0][..8], &ids[0][32..]);
    for text in [shortest, &shortest.to_uppercase(), &ids[0], &ids[0].replace('-', ""), &short] {
        assert_eq!(server.job(text)["id"], json!(ids[0]), "{text}");
    }

    let (_, words) = server.outputs(6, &["job", "get", &ids[0][..4]]);
    assert!(ids.iter().all(|id| words.contains(id.as_str())), "every candidate is listed: {words}");
    assert!(words.contains("help: use a longer prefix"), "{words}");

    for nowhere in
        ["ffff", "0000", "00000000-0000-7000-8000-000000000000", "hello", "@last", "", "fffffffffffff"]
    {
        server.run_expecting(5, &["job", "get", nowhere]);
    }
}

#[test]
fn the_same_key_finds_the_same_job() {
    let server = start_server();
    let id = server.create(&["hello", "--idempotency-key", "once"]);
    let output = server.run(&["job", "create", "hello", "--idempotency-key", "once", "-o", "name"]);
    assert_eq!(transcript(&output), format!("{id}\n-- stderr\nthe job already exists\n-- exit 0\n"));
    server.run_expecting(6, &["job", "create", "hello", "-p", "[1]", "--idempotency-key", "once"]);
}

#[test]
fn a_waiting_job_is_explained() {
    let server = start_server();
    let id = server.create(&["hello"]);
    let words = server.run_ok(&["explain", &id]);
    for piece in [
        &format!("{}  hello  queued for ", &id[..13]),
        "waiting for   no worker waits for type hello in queue default",
        "claim → assigned",
        "by owner or operator",
        "try           tenure work hello -- COMMAND",
    ] {
        assert!(words.contains(piece), "{piece}: {words}");
    }
    assert_eq!(server.json(&["explain", &id])["state"], "queued");
    assert_eq!(server.run_ok(&["explain", &id, "-o", "name"]), "queued\n");
    server.run_ok(&["queue", "pause", "default"]);
    assert!(server.run_ok(&["explain", &id]).contains("queue default is paused"));
}

#[test]
fn jobs_that_match_a_filter_are_cancelled_retried_and_deleted() {
    let server = start_server();
    let hello = [server.create(&["hello"]), server.create(&["hello"])];
    let other = server.create(&["gated"]);
    server.run_expecting(2, &["job", "cancel"]);
    server.run_expecting(2, &["job", "cancel", &other, "--all"]);
    server.run_expecting(2, &["job", "cancel", "--filter", "type"]);
    server.run_expecting(7, &["job", "cancel", "--filter", "colour=red"]);
    assert_eq!(server.run_ok(&["job", "cancel", "--filter", "type=hello", "--dry-run"]), "2\n");
    assert_eq!(server.run_ok(&["job", "delete", "--all", "--dry-run"]), "3\n");
    let done = server.run_ok(&["job", "cancel", "--filter", "type=hello", "--filter", "created_after=1h"]);
    let mut ids: Vec<&str> = done.lines().collect();
    ids.reverse();
    assert_eq!(ids, hello, "newest first");
    let again = server.run_ok(&["job", "retry", "--filter", "outcome=cancelled", "-o", "name"]);
    assert_eq!(again.lines().count(), 2);
    server.run_expecting(6, &["job", "delete", &other]);
    assert_eq!(server.json(&["job", "delete", &hello[0]])["state"], "cancelled");
    server.run_expecting(5, &["job", "get", &hello[0]]);
    let refused = server.run_expecting(6, &["job", "delete", "--all"]);
    assert_eq!(refused.lines().next(), Some(hello[1].as_str()), "the finished one is deleted: {refused}");
    let erased = server.json(&["account", "erase", "ada", "--reason", "asked"]);
    assert_eq!(erased, json!({ "user_id": "ada", "deleted": 0, "unfinished": 0, "complete": true }));
}

#[test]
fn a_bulk_action_asks_first_on_a_terminal() {
    let server = start_server();
    let id = server.create(&["hello"]);
    for (answer, state, exit) in [("n\r", "queued", 1), ("y\r", "cancelled", 0)] {
        let mut command = server.command();
        command.args(["job", "cancel", "--filter", "type=hello"]);
        let terminal = Terminal::start(&command, (80, 10));
        terminal.wait_for("Cancel 1 job? [y/N]");
        terminal.press(answer);
        assert_eq!(terminal.wait_for_exit().code(), Some(exit));
        assert_eq!(server.job(&id)["state"], state);
    }
}

#[test]
fn signals_and_dead_letters_are_sent() {
    let server = start_server();
    let gated = server.create(&["gated"]);
    assert_eq!(server.json(&["job", "signal", &gated, "approve"])["state"], "done");
    server.run_expecting(6, &["job", "signal", &gated, "approve"]);
    let id = server.create(&["hello"]);
    let given =
        server.json(&["job", "dead-letter", &id, "--reason-code", "policy_violation", "--detail", "no"]);
    assert_eq!(given["outcome"], "dead");
}

#[test]
fn a_wait_ends_with_the_job_or_at_its_timeout() {
    let server = start_server();
    let id = server.create(&["gated"]);
    assert_eq!(server.run_expecting(8, &["job", "wait", &id, "--timeout", "50ms"]), "");
    let mut waiting = server.start_command(&["job", "wait", &id, "-o", "name"]);
    server.run_ok(&["job", "signal", &id, "approve"]);
    assert_eq!(waiting.wait().unwrap().code(), Some(0), "{}", waiting.output());
    assert_eq!(wait_for_output(&waiting, &id), id);
    let cancelled = server.create(&["gated"]);
    server.run_ok(&["job", "cancel", "--hard", &cancelled]);
    server.run_expecting(3, &["job", "wait", &cancelled]);
}

#[test]
fn the_journal_is_read_and_followed() {
    let server = start_server();
    let first = server.create(&["hello"]);
    server.run_ok(&["job", "cancel", &first]);
    let all = server.run_ok(&["events"]);
    assert!(all.contains("job_queued") && all.contains("queued → cancelled"), "{all}");
    let page = server.json(&["events", "-n", "1"]);
    assert_eq!(page["events"][0]["type"], "job_queued");
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = server.run_ok(&["events", "--after", cursor, "-o", "jsonl"]);
    assert_eq!(rest.lines().count(), 1);
    assert!(rest.contains("job_cancelled"), "{rest}");
    assert_eq!(server.run_ok(&["events", "--type", "job_cancelled", "-o", "name"]).lines().count(), 1);
    assert_eq!(server.run_ok(&["events", "--job", &first[..18], "-o", "name"]).lines().count(), 2);

    let following = server.start_command(&["events", "-f", "-o", "json"]);
    wait_for_output(&following, "following the journal after 2");
    let second = server.create(&["hello"]);
    let line: Value = serde_json::from_str(&wait_for_output(&following, "job_queued")).unwrap();
    assert_eq!(line["job_id"], json!(second), "it begins at the end");
    let told = server.json(&["job", "events", &second]);
    assert_eq!(line, told["events"][0], "live and stored are the same");
}

#[test]
fn a_long_list_is_continued_with_its_filters() {
    let server = CliServer::start(&[]);
    let ids: Vec<String> = ["a", "b", "a", "b"].iter().map(|kind| server.create(&[kind])).collect();
    let list = ["job", "list", "--type", "a", "-n", "1", "-o", "name"];
    let (first, hint) = server.outputs(0, &list);
    assert_eq!(first.trim(), ids[2]);
    let (_, cursor) = hint.trim().split_once("repeat this command with --cursor ").expect(&hint);
    let next = [list.as_slice(), &["--cursor", cursor]].concat();
    assert_eq!(server.run_ok(&next).trim(), ids[0], "the other type is left out");
}
