//! A store of an earlier version, which accepted numbers of any size.

use serde_json::json;
use tenure_core::json::Json;
use tenure_e2e::assert_fields;
use tenure_e2e::cli::CliServer;
use tenure_runtime::{Definitions, NewJob, Options, Runtime};
use tenure_store::Store;

/// A server whose store has a job with a number that readers cannot represent, and another job.
fn start_server() -> CliServer {
    let mut server = CliServer::start(&[]);
    server.stop();
    let data = server.path().join("data");
    let create = async {
        let store = Store::open(&data).await.unwrap();
        let runtime = Runtime::start(store, Definitions::default(), Options::default()).await.unwrap();
        for payload in [r#"{"n":1e400}"#, r#"{"n":1}"#] {
            runtime.create(NewJob::new("hello", Json::stored(payload))).await.unwrap().unwrap();
        }
        runtime.stop().await;
    };
    tokio::runtime::Runtime::new().unwrap().block_on(create);
    server.start_again();
    server
}

#[test]
fn a_job_with_an_unreadable_number_is_listed_and_shown() {
    let server = start_server();
    let ids = server.run_ok(&["job", "list", "-o", "name"]);
    let ids: Vec<&str> = ids.lines().collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    for id in ids {
        let table = server.run_ok(&["job", "list"]);
        assert!(table.contains(&id[..13]), "{table}");
        assert!(server.run_ok(&["job", "get", id]).contains("hello"));
        server.run_ok(&["job", "events", id]);
        server.run_ok(&["explain", id]);
    }
    assert!(server.run_ok(&["job", "list", "-o", "json"]).contains("1e400"), "as it is stored");
    server.run_ok(&["job", "list", "-o", "wide"]);
}

#[test]
fn a_worker_fails_a_job_that_it_cannot_read_and_runs_the_others() {
    let server = start_server();
    let _worker = server.work_with_script("hello", "echo result 1 >&3");
    let ids = server.run_ok(&["job", "list", "-o", "name"]);
    let ids: Vec<&str> = ids.lines().collect();
    // Newest first.
    assert_eq!(server.wait(0, ids[0])["result"], 1);
    server.run_expecting(3, &["job", "wait", ids[1]]);
    let shown = server.run_ok(&["job", "get", ids[1], "-o", "json"]);
    let job: serde_json::Value = serde_json::from_str(&shown.replace("1e400", "0")).unwrap();
    assert_fields(&job, json!({ "attempt": 1, "/error/code": "BAD_PAYLOAD", "/error/class": "permanent" }));
}

/// A server on a store that an earlier version has written, without that version's key.
fn start_on_earlier_store() -> CliServer {
    let mut server = CliServer::start(&[]);
    server.stop();
    let data = server.path().join("data");
    std::fs::remove_dir_all(&data).unwrap();
    std::fs::create_dir(&data).unwrap();
    let file = rusqlite::Connection::open(data.join("tenure.db")).unwrap();
    file.execute_batch(include_str!("../../../../crates/store/tests/earlier/sqlite.dump")).unwrap();
    file.execute("delete from api_keys", []).unwrap();
    drop(file);
    server.start_again();
    server
}

#[test]
fn a_server_of_this_version_continues_the_work_of_an_earlier_one() {
    let server = start_on_earlier_store();
    let data = server.path().join("data");
    let verify = || server.outputs(0, &["verify", "--data", data.to_str().unwrap()]).1;
    assert!(verify().contains("no difference"));
    let waiting = server.run_ok(&["job", "list", "--queue", "q1", "--phase", "ready", "-o", "name"]);
    assert_eq!(waiting.lines().count(), 6);
    let _worker = server.work(&["distributed", "--", "true"]);
    for id in waiting.lines() {
        assert_eq!(server.wait(0, id)["state"], "succeeded");
    }
    let held = server.run_ok(&["job", "list", "--worker", "w9", "--phase", "active", "-o", "name"]);
    assert_eq!(held.lines().count(), 4, "no lease was lost");
    assert!(server.run_ok(&["schedule", "list"]).contains("nightly"));
    assert!(verify().contains("no difference"));
}
