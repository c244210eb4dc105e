//! How a server stops: on a signal, killed, refused at start, or without its store.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tenure_e2e::{Process, Server, Setup, Store, eventually, id, in_time, path, rows};
use tokio::task::JoinSet;
use xtask::scratch::Scratch;

use crate::nodes::{Fleet, verify};

/// Time limit for a server to stop.
const STOP: Duration = Duration::from_secs(10);

const CONFIG: &str = "[types.plain]\nlifecycle = \"distributed\"\nlease = \"5m\"\nheartbeat = \"1m\"\n";

/// Calls that the server has acknowledged.
#[derive(Default)]
struct Acknowledged {
    created: Mutex<BTreeSet<String>>,
    finished: Mutex<BTreeSet<String>>,
}

/// Producers and workers that run until the server no longer answers.
fn load(server: &Server, round: u32, done: &Arc<Acknowledged>) -> JoinSet<()> {
    let fleet = Fleet::of(&[server]);
    let mut tasks = JoinSet::new();
    for producer in 0..4 {
        let (fleet, done) = (Arc::clone(&fleet), Arc::clone(done));
        tasks.spawn(async move {
            for n in 0.. {
                let (key, body) =
                    (format!("p{round}-{producer}-{n}"), json!({ "type": "plain", "payload": n }));
                let Some((status, job)) = fleet.try_post("/api/jobs", &key, &body).await else { return };
                assert_eq!(status, 202, "{job}");
                done.created.lock().unwrap().insert(id(&job).to_owned());
            }
        });
    }
    for worker in 0..3 {
        let (fleet, done) = (Arc::clone(&fleet), Arc::clone(done));
        tasks.spawn(async move {
            for n in 0.. {
                let claim = json!({ "worker": format!("w{worker}"), "max": 5, "start": true, "wait": "1s" });
                let key = format!("w{round}-{worker}-{n}");
                let Some((_, claimed)) = fleet.try_post("/api/claims", &key, &claim).await else { return };
                for job in rows(&claimed["jobs"]) {
                    let hold = json!({ "worker": format!("w{worker}"), "fence": job["lease"]["fence"] });
                    let path = format!("/api/jobs/{}/succeed", id(job));
                    let Some((status, job)) = fleet.try_post(&path, id(job), &hold).await else { return };
                    assert_eq!(status, 200, "{job}");
                    done.finished.lock().unwrap().insert(id(&job).to_owned());
                }
            }
        });
    }
    tasks
}

async fn until_there_is_much(done: &Acknowledged) {
    eventually("some jobs are finished", async || done.finished.lock().unwrap().len() >= 50).await;
}

async fn ends(tasks: JoinSet<()>) {
    in_time("every client notices the end", tasks.join_all()).await;
}

/// Everything that was acknowledged is stored.
async fn nothing_is_lost(server: &Server, done: &Acknowledged) {
    let created = done.created.lock().unwrap().clone();
    let finished = done.finished.lock().unwrap().clone();
    for id in &created {
        let job = server.read(&format!("/api/jobs/{id}")).await;
        assert!(!finished.contains(id) || job["state"] == "succeeded", "{job}");
    }
    verify(server).await;
}

#[tokio::test]
async fn a_stopping_server_finishes_open_requests() {
    let mut server = Server::with(CONFIG, Store::Sqlite).await;
    let done = Arc::new(Acknowledged::default());
    let tasks = load(&server, 0, &done);
    until_there_is_much(&done).await;
    let waiting = json!({ "worker": "patient", "types": ["nothing"], "wait": "60s" });
    let mut patient = JoinSet::new();
    for _ in 0..3 {
        let claim = server.request("POST", "/api/claims").json(&waiting);
        patient.spawn(async move { claim.try_send().await });
    }
    let delayed = server.create(json!({ "type": "plain", "delay": "1h" })).await;
    let stream = server.stream(&path(&delayed, "stream"), None).await;
    let feed = server.stream("/api/events?after=latest", None).await;
    let names = async || server.column("/api/workers", "name").await;
    eventually("the claims wait", async || names().await.contains(&json!("patient"))).await;
    let asked_at = Instant::now();
    server.signal_terminate();
    while let Some(answer) = patient.join_next().await {
        let reply = answer.unwrap().expect("who waits is answered");
        assert!(reply.header("retry-after").is_some());
        reply.problem(503, "overloaded");
    }
    assert_eq!(stream.rest().await, []);
    feed.rest().await;
    let status = server.wait_for_exit().await;
    assert!(asked_at.elapsed() < STOP, "it took {:?}", asked_at.elapsed());
    assert_eq!(status.code(), Some(0), "{}", server.logs());
    ends(tasks).await;
    let server = server.restart().await;
    server.job(&delayed).await;
    nothing_is_lost(&server, &done).await;
}

#[tokio::test]
async fn a_killed_server_has_lost_nothing_that_it_acknowledged() {
    let mut server = Server::with(CONFIG, Store::Sqlite).await;
    let done = Arc::new(Acknowledged::default());
    for round in 1..=3 {
        let before = done.finished.lock().unwrap().len();
        let fresh = Arc::new(Acknowledged::default());
        let tasks = load(&server, round, &fresh);
        until_there_is_much(&fresh).await;
        server.kill();
        ends(tasks).await;
        done.created.lock().unwrap().extend(fresh.created.lock().unwrap().iter().cloned());
        done.finished.lock().unwrap().extend(fresh.finished.lock().unwrap().iter().cloned());
        assert!(done.finished.lock().unwrap().len() > before, "round {round} did something");
        server = server.restart().await;
        nothing_is_lost(&server, &done).await;
    }
}

#[tokio::test]
async fn a_second_signal_changes_nothing() {
    let mut server = Server::sqlite().await;
    server.signal_terminate();
    server.signal_terminate();
    assert_eq!(server.wait_for_exit().await.code(), Some(0), "{}", server.logs());
}

/// Runs a command that must exit in time; its exit code and its output.
async fn output(command: Command) -> (Option<i32>, String) {
    let run = || {
        let mut process = Process::start(command).unwrap();
        (process.wait().unwrap().code(), process.output())
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test]
async fn one_folder_has_one_server() {
    let mut server = Server::sqlite().await;
    let (code, stderr) = output(server.setup().command("127.0.0.1:0")).await;
    assert_ne!(code, Some(0), "{stderr}");
    assert!(stderr.contains("is in use by process"), "{stderr}");
    assert!(!stderr.contains("panicked") && stderr.lines().count() <= 3, "{stderr}");
    server.read("/readyz").await;
    server.kill();
    let server = server.restart().await;
    server.read("/readyz").await;
}

#[tokio::test]
async fn an_open_server_does_not_listen_on_public_addresses() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let setup = Setup::new(Store::Sqlite).await;
        let (code, stderr) = output(setup.command(address)).await;
        assert_eq!(code, Some(7), "{stderr}");
        assert!(stderr.contains("loopback") && stderr.contains("tenure key create"), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

#[tokio::test]
async fn a_server_with_a_key_may_listen_on_public_addresses() {
    let mut server = Server::sqlite().await;
    server.create_key("admin", None).await;
    assert_eq!(server.terminate().await.code(), Some(0));
    let command = server.setup().command("0.0.0.0:0");
    let start = || {
        let mut process = Process::start(command).unwrap();
        (process.wait_for_line(|line| Some(line.to_owned())), process.try_wait().unwrap())
    };
    let (first, exit) = tokio::task::spawn_blocking(start).await.unwrap();
    let first = first.expect("a first line");
    assert!(first.contains("http://0.0.0.0:") && first.contains("API keys required"), "{first}");
    assert_eq!(exit, None);
}

#[tokio::test]
async fn an_address_in_use_is_reported() {
    let server = Server::sqlite().await;
    let setup = Setup::new(Store::Sqlite).await;
    let (code, stderr) = output(setup.command(server.address())).await;
    assert_ne!(code, Some(0), "{stderr}");
    assert!(stderr.contains(server.address()), "{stderr}");
}

#[tokio::test]
async fn a_server_whose_commands_are_not_committed_is_not_ready() {
    let server = Server::sqlite().await;
    server.read("/readyz").await;
    let file = rusqlite::Connection::open(server.setup().database_file()).unwrap();
    // Blocks all other writers.
    file.execute_batch("begin immediate").unwrap();
    let mut producers = JoinSet::new();
    for producer in 0..8 {
        let fleet = Fleet::of(&[&server]);
        producers.spawn(async move {
            for n in 0.. {
                fleet.try_post("/api/jobs", &format!("p{producer}-{n}"), &json!({ "type": "plain" })).await;
            }
        });
    }
    eventually("it is not ready", async || server.get("/readyz").await.body["code"] == "overloaded").await;
    server.read("/healthz").await;
    file.execute_batch("rollback").unwrap();
    eventually("it is ready again", async || server.get("/readyz").await.status == 200).await;
}

/// Changes a database server in a thread that may block.
async fn without_blocking(
    mut scratch: Scratch,
    change: impl FnOnce(&mut Scratch) + Send + 'static,
) -> Scratch {
    let changed = tokio::task::spawn_blocking(move || {
        change(&mut scratch);
        scratch
    });
    changed.await.unwrap()
}

#[tokio::test]
async fn a_server_without_its_database_is_not_ready_until_it_returns() {
    let scratch = tokio::task::spawn_blocking(|| Scratch::start().unwrap()).await.unwrap();
    let server = Setup::on_database(&scratch.url()).config(CONFIG).start().await;
    let before = server.create(json!({ "type": "plain" })).await;
    server.read("/readyz").await;
    let scratch = without_blocking(scratch, |scratch| scratch.crash().unwrap()).await;
    eventually("it is not ready", async || server.get("/readyz").await.status == 503).await;
    for reply in [
        server.get("/readyz").await,
        server.get(&path(&before, "")).await,
        server.post("/api/jobs", &json!({ "type": "plain" })).await,
        server.post("/api/claims", &json!({ "worker": "w1" })).await,
    ] {
        assert!(reply.header("retry-after").is_some(), "{reply:?}");
        reply.problem(503, "store_unavailable");
    }
    server.read("/healthz").await;
    let scratch = without_blocking(scratch, |scratch| scratch.restart().unwrap()).await;
    eventually("it is ready again", async || server.get("/readyz").await.status == 200).await;
    let created = async || server.post("/api/jobs", &json!({ "type": "plain" })).await.status == 202;
    eventually("it works again", created).await;
    server.job(&before).await;
    verify(&server).await;
    drop(server);
    tokio::task::spawn_blocking(move || drop(scratch)).await.unwrap();
}

#[tokio::test]
async fn a_server_that_starts_before_its_database_waits_for_it() {
    let mut scratch = tokio::task::spawn_blocking(|| Scratch::start().unwrap()).await.unwrap();
    let setup = Setup::on_database(&scratch.url()).config(CONFIG);
    scratch = without_blocking(scratch, |scratch| scratch.crash().unwrap()).await;
    let command = setup.command("127.0.0.1:0");
    let wait_for = |process: Process, text: &'static str| {
        tokio::task::spawn_blocking(move || {
            let found = process.wait_for_line(|line| line.contains(text).then_some(()));
            assert!(found.is_some(), "{}", process.output());
            process
        })
    };
    let server = Process::start(command).unwrap();
    let server = wait_for(server, "database not available; waiting").await.unwrap();
    scratch = without_blocking(scratch, |scratch| scratch.restart().unwrap()).await;
    let server = wait_for(server, "http://127.0.0.1:").await.unwrap();
    drop(server);
    tokio::task::spawn_blocking(move || drop(scratch)).await.unwrap();
}

#[tokio::test]
async fn a_database_that_refuses_the_server_ends_it() {
    let scratch = tokio::task::spawn_blocking(|| Scratch::start().unwrap()).await.unwrap();
    let url = scratch.url().replace("/postgres", "/none");
    for url in [url.clone(), format!("{}?sslmode=require", scratch.url())] {
        let (code, stderr) = output(Setup::on_database(&url).command("127.0.0.1:0")).await;
        assert_eq!(code, Some(9), "{stderr}");
        assert!(stderr.contains("the database refused the connection"), "{stderr}");
    }
    tokio::task::spawn_blocking(move || drop(scratch)).await.unwrap();
}

/// Longer than the lease and two heartbeats.
const FREEZE: Duration = Duration::from_secs(4);

#[tokio::test]
async fn a_lease_survives_a_frozen_server() {
    const CONFIG: &str = "[types.plain]\nlifecycle = \"distributed\"\nlease = \"2s\"\nheartbeat = \"1s\"\n";
    for store in [Store::Sqlite, Store::Postgres] {
        let server = Server::with(CONFIG, store).await;
        server.create(json!({ "type": "plain" })).await;
        let claim = json!({ "worker": "w1", "start": true });
        let claimed = server.post("/api/claims", &claim).await.expect(200);
        let job = &rows(&claimed["jobs"])[0];
        server.freeze(FREEZE).await;
        let report = json!({ "worker": "w1", "fence": job["lease"]["fence"] });
        let reported = server.call(job, "succeed", &report).await.expect(200);
        assert_eq!(reported["state"], "succeeded", "{store:?}");
    }
}
