//! PostgreSQL: crashing servers, cut connections, poolers, concurrent nodes, and settings that would lose work.

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use crate::child::{Acknowledged, assert_kept};
use crate::conformance;
use crate::fixture::*;
use crate::prelude::*;
use crate::stores::{self, ask, connect};

/// Work from several tasks until it is stopped; every error must be retryable.
pub(super) struct Load {
    acknowledged: Arc<Mutex<Acknowledged>>,
    count: Arc<AtomicUsize>,
    stop: tokio::sync::watch::Sender<bool>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    pub(super) fn start(nodes: &[Store]) -> Self {
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let (acknowledged, count) = (Arc::<Mutex<Acknowledged>>::default(), Arc::<AtomicUsize>::default());
        let tasks = (0..6).map(|n| {
            let (store, stopped) = (nodes[n % nodes.len()].clone(), stopped.clone());
            let (acknowledged, count) = (Arc::clone(&acknowledged), Arc::clone(&count));
            tokio::spawn(async move {
                let mut random = Random(n as u64);
                while !*stopped.borrow() {
                    for job in a_round(&store, &format!("w{n}"), &mut random).await {
                        let mut acknowledged = acknowledged.lock().unwrap();
                        let last = acknowledged.entry(job.id()).or_default();
                        *last = job.seq.max(*last);
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        });
        Self { tasks: tasks.collect(), acknowledged, count, stop }
    }

    /// Waits until this many more transitions were acknowledged.
    pub(super) async fn more(&self, many: usize) {
        let before = self.count.load(Ordering::Relaxed);
        until("work continues", async || (self.count.load(Ordering::Relaxed) >= before + many).then_some(()))
            .await;
    }

    pub(super) async fn end(self) -> Acknowledged {
        self.stop.send(true).expect("the tasks listen");
        for task in self.tasks {
            task.await.expect("every error was one after which it may be tried again");
        }
        Arc::try_unwrap(self.acknowledged).expect("the tasks have ended").into_inner().unwrap()
    }
}

async fn a_round(store: &Store, worker: &str, random: &mut Random) -> Vec<Arc<Job>> {
    let size = 1 + random.below(3);
    let creations = (0..size).map(|_| create(a_job(random.pick(&["so1", "eager", "saga"])))).collect();
    let mut changed = retryable(try_submit(store, creations).await);
    let held = retryable(try_submit(store, vec![claim(worker, any(), size as u32)]).await);
    let reports = held.iter().map(|job| match random.below(3) {
        0 => fail(&hold(job), Class::Transient),
        _ => succeed(&hold(job)),
    });
    let ended = retryable(try_submit(store, reports.collect()).await);
    changed.extend(held);
    changed.extend(ended);
    changed
}

/// The jobs of the results; none after a retryable error.
fn retryable(result: Result<Vec<CommandResult>, StoreError>) -> Vec<Arc<Job>> {
    let jobs = |done| match done {
        CommandOutput::Job { job, .. } => vec![job],
        CommandOutput::Claimed { jobs, .. } => jobs,
        _ => Vec::new(),
    };
    match result {
        // A lease may be lost to an outage that was not counted yet; that is an result, not a fault.
        Ok(results) => results.into_iter().flatten().flat_map(jobs).collect(),
        Err(error) => {
            assert!(error.is_retryable(), "{error:?}");
            Vec::new()
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_under_load_loses_nothing_acknowledged() {
    let mut server = stores::a_server();
    let url = stores::database_on(&server.url(), "crashing").await;
    let (one_node, other_node) = (connect(&url).await, connect(&url).await);
    let load = Load::start(&[one_node.clone(), other_node]);
    for _ in 0..5 {
        load.more(60).await;
        server.crash().expect("our own server can be stopped");
        let away = one_node.counts().await;
        assert!(matches!(away, Err(StoreError::Unavailable(_))), "{away:?}");
        server.restart().expect("our own server starts again");
    }
    load.more(60).await;
    let acknowledged = load.end().await;
    assert_kept(&one_node, &acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeatedly_cut_connections_lose_nothing_acknowledged() {
    let url = stores::a_database().await;
    let (one_node, other_node) = (connect(&url).await, connect(&url).await);
    let load = Load::start(&[one_node.clone(), other_node]);
    for _ in 0..25 {
        load.more(15).await;
        let cut = "select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()";
        assert!(!ask(&url, cut).await.is_empty());
    }
    load.more(30).await;
    let acknowledged = load.end().await;
    assert_kept(&one_node, &acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_start_together_on_an_empty_database_migrate_it_once() {
    let url = stores::a_database().await;
    let nodes = (0..6).map(|_| {
        let url = url.clone();
        tokio::spawn(async move { connect(&url).await })
    });
    for node in nodes.collect::<Vec<_>>() {
        created_one(&node.await.expect("each of them starts"), a_job("so1")).await;
    }
    let numbers = ask(&url, "select number from migrations order by number").await;
    let numbers: BTreeSet<_> = numbers.into_iter().map(|mut row| row.remove(0)).collect();
    assert!(numbers.contains(&Some("1".to_owned())));
    assert_eq!(ask(&url, "select count(*) from clock").await[0][0].as_deref(), Some("1"));
}

#[tokio::test]
async fn a_newer_schema_and_an_edited_migration_are_refused() {
    let url = stores::a_database().await;
    drop(connect(&url).await);
    ask(&url, "insert into migrations values (99, 'from the future')").await;
    let refused = Store::connect(&url).await;
    assert!(matches!(refused, Err(StoreError::SchemaAhead { found: 99, .. })), "{refused:?}");
    ask(&url, "delete from migrations where number = 99; update migrations set checksum = 'edited' where number = 1").await;
    let refused = Store::connect(&url).await;
    assert!(matches!(refused, Err(StoreError::MigrationChanged(1))), "{refused:?}");
}

#[tokio::test]
async fn a_server_that_would_lose_acknowledged_work_is_refused() {
    let server = stores::a_server();
    let url = stores::database_on(&server.url(), "unsafe").await;
    for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
        ask(&url, &format!("alter system set {setting} = off")).await;
        ask(&url, "select pg_reload_conf()").await;
        until("the setting is in force", async || {
            (ask(&url, &format!("show {setting}")).await[0][0].as_deref() == Some("off")).then_some(())
        })
        .await;
        let refused = Store::connect(&url).await;
        assert!(
            matches!(&refused, Err(StoreError::Unsafe(why)) if why.contains(setting)),
            "{setting}: {refused:?}"
        );
        ask(&url, &format!("alter system reset {setting}")).await;
        ask(&url, "select pg_reload_conf()").await;
        until("the setting is gone", async || {
            (ask(&url, &format!("show {setting}")).await[0][0].as_deref() == Some("on")).then_some(())
        })
        .await;
    }
    connect(&url).await;
}

/// While one batch is decided, another node writes the key that it is about to write.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_conflict_is_decided_again_on_the_current_data() {
    let url = stores::a_database().await;
    let (slow, fast) = (connect(&url).await, connect(&url).await);
    let keyed = || create(Create { key: key("k", 1), ..a_job("so1") });
    let (judging, is_judging) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let commands = [keyed()];
    let slow_node = slow.clone();
    let batch = tokio::spawn(async move {
        slow_node
            .transact(Reads::of(&commands), move |set, now| {
                if counted.fetch_add(1, Ordering::Relaxed) == 0 {
                    judging.send(()).expect("the test waits for this");
                    tokio::task::block_in_place(|| may_go.recv()).expect("the test says so");
                }
                decide_batch(set, &CATALOG, &commands, now)
            })
            .await
    });
    tokio::task::spawn_blocking(move || is_judging.recv()).await.unwrap().expect("the first judge is called");
    let first = job_of(one(&fast, keyed()).await);
    go.send(()).expect("the judge waits for this");
    let result = batch.await.unwrap().expect("the batch is judged again").remove(0);
    assert!(matches!(result, Ok(CommandOutput::Job { job, replayed: true, .. }) if job.id() == first.id()));
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(all_jobs(&slow).await.len(), 1);
}

/// An hour without a running node does not count against leases, whichever node notices it first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_not_shortened_while_no_node_runs() {
    let url = stores::a_database().await;
    let (one_node, other_node) = (connect(&url).await, connect(&url).await);
    let job = created_one(&one_node, a_job("distributed")).await;
    take(&one_node, "w1", any(), 1).await;
    let before = one_node.now().await.unwrap();
    // As if everything had happened an hour ago.
    ask(&url, "update clock set alive_at = alive_at - 3600000").await;
    drop(one_node);
    let (again, other) = tokio::join!(other_node.now(), other_node.transact(Reads::default(), |_, now| now));
    for after in [again.unwrap(), other.unwrap(), other_node.now().await.unwrap()] {
        assert!(before.at <= after.at);
        let stopped = after.stopped.0 - before.stopped.0;
        assert!((3_600_000..3_660_000).contains(&stopped), "counted once: {stopped}");
    }
    assert_eq!(other_node.due(9).await.unwrap().jobs, []);
    let held = other_node.job(job.id()).await.unwrap().unwrap();
    one(&other_node, succeed(&hold(&held))).await.expect("its worker is still its owner");
    assert_lawful(&other_node).await;
}

/// A pooler that gives each transaction whichever connection is free.
struct Pooler {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Pooler {
    fn start(server: &str) -> Self {
        let places = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"];
        let program = places.iter().find(|place| Path::new(place).exists());
        let program = program.expect("PgBouncer is not installed: `cargo xtask install` does it");
        let folder = stores::a_folder();
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port is free").port();
        let at = server
            .rsplit_once('@')
            .and_then(|(_, rest)| rest.split_once('/'))
            .expect("user, host, port, database")
            .0;
        let (host, server_port) = at.split_once(':').expect("host and port");
        let settings = format!(
            "[databases]\n* = host={host} port={server_port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 3\n"
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, settings).expect("there is room for the settings");
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = Command::new(program);
        command.arg("-q").arg(&file);
        if xtask::scratch::is_root().expect("/proc is mounted") {
            command.args(["-u", "nobody"]);
        }
        Self { process: command.spawn().expect("PgBouncer starts"), port, _folder: folder }
    }

    /// A new database on the server, through the pooler.
    async fn database(&self) -> String {
        let url = stores::a_database().await;
        let (_, name) = url.rsplit_once('/').expect("a database's address ends with its name");
        format!("postgres://postgres@127.0.0.1:{}/{name}?prepared=off", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop((self.process.kill(), self.process.wait()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_through_a_pooler_that_moves_transactions() {
    let pooler = Pooler::start(&stores::a_database().await);
    until("the pooler listens", async || TcpStream::connect(("127.0.0.1", pooler.port)).ok()).await;
    let stores = async || stores::two_nodes(&pooler.database().await).await;
    conformance::the_changes_of_a_batch_are_stored(stores().await).await;
    conformance::records_of_every_kind_pass_verify(stores().await).await;
    conformance::concurrent_claims_share_the_jobs(stores().await).await;
    conformance::a_key_leads_to_one_job_under_concurrency(stores().await).await;
    conformance::a_balance_is_never_overdrawn_under_concurrency(stores().await).await;
    conformance::a_follower_sees_every_event_in_one_order(stores().await).await;
    conformance::a_listing_contains_what_its_filter_admits(stores().await).await;
    conformance::a_purged_job_leaves_only_ledger_and_audit_lines(stores().await).await;
}
