//! `tenure backup` and `tenure restore`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tenure_e2e::cli::{Folder, expect_exit, poll, start, transcript};
use tenure_e2e::{Server, Setup, Store, eventually, tenure};

/// Runs `tenure` without blocking the tasks of the test.
async fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(tenure());
    command.args(arguments);
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Backs up a server's store, restores it for another setup, and returns that.
async fn restored_elsewhere(server: &Server) -> Setup {
    let (setup, backup) = (Setup::new(Store::Sqlite).await, server.setup().path("tenure.backup"));
    let (from, to) = (server.setup().path("data"), setup.path("data"));
    let output = run(&["backup", "--data", text(&from), "--to", text(&backup)]).await;
    expect_exit(output, 0, "backup");
    expect_exit(run(&["restore", text(&backup), "--data", text(&to)]).await, 0, "restore");
    setup
}

/// Creates, claims and finishes jobs until it is stopped.
async fn load(server: Arc<Server>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        server
            .create(json!({ "type": "work", "queue": "load", "payload": { "text": "x".repeat(2000) } }))
            .await;
        let claim = json!({ "worker": "w1", "queues": ["load"], "max": 1, "start": true });
        for job in server.claim(claim).await {
            server.succeed(&job).await;
        }
    }
}

#[tokio::test]
async fn a_backup_under_load_is_restored_elsewhere_and_works() {
    let server = Arc::new(Server::sqlite().await);
    let waiting = server.create(json!({ "type": "work", "queue": "waiting", "payload": { "n": 7 } })).await;
    let stop = Arc::new(AtomicBool::new(false));
    let loads: Vec<_> = (0..4).map(|_| tokio::spawn(load(Arc::clone(&server), Arc::clone(&stop)))).collect();
    let finished = async || server.list("queue=load&phase=final&limit=100").await.len();
    eventually("many jobs have finished", async || finished().await >= 50).await;
    let setup = restored_elsewhere(&server).await;
    stop.store(true, Ordering::Relaxed);
    for load in loads {
        load.await.unwrap();
    }
    setup.verify();
    let mode = |name: &str| fs::metadata(setup.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("data"), mode("data/tenure.db")), (0o700, 0o600));
    let backup = fs::metadata(server.setup().path("tenure.backup")).unwrap();
    assert_eq!(backup.permissions().mode() & 0o777, 0o600);

    let restored = setup.clone().start().await;
    assert_eq!(restored.job(&waiting).await["payload"], json!({ "n": 7 }));
    let claim = json!({ "worker": "w2", "queues": ["waiting"], "max": 1, "start": true });
    let claimed = restored.claim(claim).await.remove(0);
    assert_eq!(claimed["id"], waiting["id"]);
    restored.succeed(&claimed).await;
    // The recorded time of the restore is in whole seconds, rounded up: a job that is created before it counts as one of the backup.
    let fence_of_new_job = async || {
        let new = restored.create(json!({ "type": "work", "queue": "new" })).await;
        let claim = json!({ "worker": "w2", "queues": ["new"], "max": 1, "start": true });
        let claimed = restored.claim(claim).await.remove(0);
        assert_eq!(claimed["id"], new["id"]);
        claimed["lease"]["fence"].as_u64().unwrap()
    };
    eventually("a job that is not one of the backup starts with fence 1", async || {
        fence_of_new_job().await == 1
    })
    .await;
    assert!(restored.list("queue=load&limit=500").await.len() >= 50, "jobs of the load are in the backup");
    setup.verify();
}

#[tokio::test]
async fn a_fence_that_was_granted_after_the_backup_is_not_granted_again() {
    let server = Server::sqlite().await;
    server.create(json!({ "type": "work" })).await;
    let setup = restored_elsewhere(&server).await;
    let lost = server.claim_one().await;
    let restored = setup.start().await;
    let refused = restored.report(&lost, "succeed", json!({})).await.expect(409);
    assert_eq!(refused["code"], "invalid_transition", "no worker holds the job");
    let granted = restored.claim_one().await;
    assert_eq!(granted["id"], lost["id"]);
    let fence = |job: &Value| job["lease"]["fence"].as_u64().unwrap();
    assert!(fence(&granted) > fence(&lost));
    assert!(fence(&granted) < 1 << 53, "JavaScript reads it exactly");
    // The same worker, with the lease that the restored store never granted.
    let refused = restored.report(&lost, "succeed", json!({})).await.expect(409);
    assert_eq!(refused["code"], "lease_conflict");
    restored.succeed(&granted).await;
    restored.setup().verify();
}

#[tokio::test]
async fn a_lease_and_a_key_of_the_backup_are_valid_after_a_restore() {
    let config = "[types.work]\nlifecycle = \"distributed\"\nlease = \"2s\"\nheartbeat = \"1s\"\n";
    let server = Server::with(config, Store::Sqlite).await;
    let create = |server: &Server| {
        server.request("POST", "/api/jobs").header("idempotency-key", "k1").json(&json!({ "type": "work" }))
    };
    let job = create(&server).send().await.expect(202);
    let held = server.claim_one().await;
    let setup = restored_elsewhere(&server).await.config(config);
    // Longer than the lease, in which the restored store is not open.
    eventually("the lease ends where it was granted", async || server.job(&job).await["lease"].is_null())
        .await;
    let restored = setup.start().await;
    assert_eq!(create(&restored).send().await.expect(200)["id"], job["id"], "a replay");
    restored.succeed(&held).await;
}

#[tokio::test]
async fn a_store_without_a_server_is_backed_up_and_a_backup_of_a_restored_store_restored() {
    let mut server = Server::sqlite().await;
    let job = server.create(json!({ "type": "work" })).await;
    server.kill();
    let first = restored_elsewhere(&server).await.start().await;
    let claimed = first.claim_one().await;
    let second = restored_elsewhere(&first).await.start().await;
    assert_eq!(second.job(&job).await["lease"]["fence"], claimed["lease"]["fence"]);
    second.succeed(&claimed).await;
}

#[tokio::test]
async fn existing_files_and_folders_that_are_not_empty_are_refused() {
    let folder = Folder::new();
    folder.outputs(5, "backup --to b --data nowhere");
    folder.outputs(1, "backup --to b --data lifecycles");
    drop(tenure_store::Store::open(&folder.path().join("tenure-data")).await.unwrap());
    folder.write("taken", "x");
    assert!(folder.outputs(6, "backup --to taken").1.contains("taken exists"));
    std::os::unix::fs::symlink("elsewhere", folder.path().join("link")).unwrap();
    folder.outputs(6, "backup --to link");
    folder.outputs(5, "backup --to no/such/folder");
    folder.outputs(0, "backup --to b");
    assert!(folder.outputs(6, "restore b --data lifecycles").1.contains("lifecycles is not empty"));
    assert!(folder.outputs(6, "restore b --data tenure-data").1.contains("not empty"));
    folder.outputs(5, "restore nowhere --data new");
    let (_, printed) = folder.outputs(0, "restore b --data new");
    assert_eq!(printed, "0 jobs, 0 events and 0 accounts: no difference\nb restored to new\n");
    assert_eq!(names(&folder.path().join("new")), ["tenure.db"]);
    assert_eq!(part_file(folder.path()), None);
}

/// The names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_damaged_backup_is_refused_and_nothing_is_restored() {
    let folder = Folder::new();
    drop(tenure_store::Store::open(&folder.path().join("tenure-data")).await.unwrap());
    folder.outputs(0, "backup --to b");
    let backup = fs::read(folder.path().join("b")).unwrap();
    let refuse = |bytes: &[u8], why: &str| {
        folder.write("damaged", bytes);
        let output = folder.run("restore damaged --data new");
        assert!(
            output.status.code() == Some(7) && transcript(&output).contains(why),
            "{}",
            transcript(&output)
        );
        assert_eq!(names(&folder.path().join("new")), [""; 0]);
    };
    for length in [0, 100, 4096, backup.len() - 4096, backup.len() - 1] {
        refuse(&backup[..length], "incomplete");
    }
    refuse(&[&backup[..], &[0; 4096]].concat(), "incomplete");
    refuse(&fs::read(folder.path().join("tenure-data/tenure.db")).unwrap(), "another kind of file");
    for at in [0, 100, backup.len() / 2, backup.len() - 4097, backup.len() - 4096 + 30] {
        let mut changed = backup.clone();
        changed[at] ^= 1;
        refuse(&changed, "has changed");
    }
    let shorter = [&backup[..4096], &backup[8192..]].concat();
    refuse(&shorter, "has changed");
}

#[tokio::test]
async fn a_store_with_a_difference_is_not_restored() {
    let server = Server::sqlite().await;
    server.create(json!({ "type": "work" })).await;
    let setup = server.setup().clone();
    drop(server);
    let file = rusqlite::Connection::open(setup.database_file()).unwrap();
    file.execute("update job_states set attempt = 7", []).unwrap();
    drop(file);
    let (data, backup, new) = (setup.path("data"), setup.path("b"), setup.path("new"));
    expect_exit(run(&["backup", "--data", text(&data), "--to", text(&backup)]).await, 0, "backup");
    let (found, _) = expect_exit(run(&["restore", text(&backup), "--data", text(&new)]).await, 1, "restore");
    assert!(found.contains("attempt is 7 in the row and 1 by its history"), "{found}");
    assert_eq!(names(&new), [""; 0]);
}

#[tokio::test]
async fn a_corrupt_store_is_not_backed_up() {
    let folder = Folder::new();
    let data = folder.path().join("tenure-data");
    drop(tenure_store::Store::open(&data).await.unwrap());
    let mut bytes = fs::read(data.join("tenure.db")).unwrap();
    let half = bytes.len() / 2 / 4096 * 4096;
    bytes[half..half + 8192].fill(0xff);
    fs::write(data.join("tenure.db"), bytes).unwrap();
    let (_, printed) = folder.outputs(1, "backup --to b");
    assert!(printed.contains("corrupt"), "{printed}");
    assert_eq!(names(folder.path()), ["lifecycles", "tenure-data"]);
}

/// The name of a backup that is being written, or nothing.
fn part_file(folder: &Path) -> Option<String> {
    names(folder).into_iter().find(|name| Path::new(name).extension().is_some_and(|it| it == "part"))
}

#[tokio::test]
async fn a_killed_backup_leaves_no_file_that_looks_complete() {
    let server = Server::sqlite().await;
    let setup = server.setup().clone();
    let body = json!({ "type": "work", "payload": { "text": "x".repeat(500_000) } });
    for _ in 0..40 {
        server.create(body.clone()).await;
    }
    let (data, backup) = (setup.path("data"), setup.path("b"));
    let mut command = Command::new(tenure());
    command.args(["backup", "--data", text(&data), "--to", text(&backup)]);
    let mut process = start(command);
    let folder = setup.path("");
    let part = poll("the backup is being written", || part_file(&folder));
    process.kill().unwrap();
    process.wait().unwrap();
    if backup.exists() {
        // It finished first, so it is complete.
        expect_exit(run(&["restore", text(&backup), "--data", text(&setup.path("new"))]).await, 0, "restore");
        return;
    }
    let part = folder.join(part);
    expect_exit(run(&["restore", text(&part), "--data", text(&setup.path("new"))]).await, 7, "restore");
    expect_exit(run(&["backup", "--data", text(&data), "--to", text(&backup)]).await, 0, "backup");
}
