//! `tenure verify`.

use std::path::Path;

use tenure_core::json::Json;
use tenure_e2e::cli::{Folder, exit_code, transcript};
use tenure_runtime::{Definitions, NewJob, Options, Runtime};
use tenure_store::Store;

async fn running(folder: &Path) -> Runtime {
    let store = Store::open(&folder.join("tenure-data")).await.unwrap();
    let runtime = Runtime::start(store, Definitions::default(), Options::default()).await.unwrap();
    runtime.create(NewJob::new("work", Json::parse("{}").unwrap())).await.unwrap().unwrap();
    runtime
}

#[tokio::test]
async fn a_consistent_store_has_no_difference_while_in_use() {
    let folder = Folder::new();
    let runtime = running(folder.path()).await;
    let output = folder.run("verify");
    assert_eq!(transcript(&output), "-- stderr\n1 jobs, 1 events and 0 accounts: no difference\n-- exit 0\n");
    runtime.stop().await;
}

#[tokio::test]
async fn a_difference_is_a_line_and_exit_code_1() {
    let folder = Folder::new();
    running(folder.path()).await.stop().await;
    let file = rusqlite::Connection::open(folder.path().join("tenure-data/tenure.db")).unwrap();
    file.execute("update job_states set attempt = 7", []).unwrap();
    drop(file);
    let (line, _) = folder.outputs(1, "verify -o jsonl");
    let difference = "attempt is 7 in the row and 1 by its history";
    assert!(line.contains(r#""law":6"#) && line.contains(difference), "{line}");
}

#[tokio::test]
async fn a_flag_goes_before_the_variables() {
    let folder = Folder::new();
    running(folder.path()).await.stop().await;
    let unreachable = "postgres://postgres@127.0.0.1:1/none";
    let verify = |arguments: &[&str]| {
        let mut command = folder.command();
        command.env("TENURE_DATABASE_URL", unreachable).env("TENURE_DATA", "nowhere");
        exit_code(&command.arg("verify").args(arguments).output().unwrap())
    };
    assert_eq!(verify(&["--data", "tenure-data"]), 0);
    assert_eq!(verify(&["--database-url", "postgres://postgres@127.0.0.1:2/none"]), 9);
    assert_eq!(verify(&[]), 9);
    assert_eq!(verify(&["--data", "tenure-data", "--database-url", unreachable]), 2);
    let by_folder = folder.command().env("TENURE_DATA", "nowhere").arg("verify").output().unwrap();
    assert_eq!(exit_code(&by_folder), 5);
}

#[test]
fn a_store_that_cannot_be_opened_has_another_exit_code() {
    let folder = Folder::new();
    folder.outputs(5, "verify --data nowhere");
    // A folder without a store.
    folder.outputs(1, "verify --data .");
    folder.write("tenure.db", "this is not a database, however long it may be".repeat(100));
    assert!(folder.outputs(1, "verify --data .").1.contains("not a database"));
    folder.outputs(9, "verify --database-url postgres://postgres@127.0.0.1:1/none");
}
