//! Servers and workers are killed at random while ten thousand jobs run on two nodes. No job steps back, has two owners
//! or is lost, and history and state agree.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_client::{Client, Fail, Job, Worker};
use tenure_e2e::{SeededRandom, Server, Setup, Store, assert_fields, id, rows};

use crate::promises::distributed::check_history;

const CONFIG: &str = r#"
[types.chore]
lifecycle = "distributed"
lease = "1s"
heartbeat = "300ms"
max_attempts = 8
backoff = { base = "10ms", factor = 2.0, max = "200ms", jitter = "full" }
"#;

const JOBS: usize = 10_000;
/// In each round jobs are created, and a process is killed while they run.
const ROUNDS: usize = 20;
const WORKERS: usize = 4;
const URL: &str = "TENURE_TEST_WORKER_OF";
/// Time limit of the whole test on a slow machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// The outcome of a job by its number and attempt: mostly success, and everything else. It takes long enough that a killed
/// worker holds some jobs.
async fn chore(job: Job<Value>) -> Result<Value, Fail> {
    let _ = tokio::time::timeout(Duration::from_millis(20), std::future::pending::<()>()).await;
    match (job.payload["n"].as_u64().unwrap_or_default() + 7 * u64::from(job.attempt)) % 25 {
        0 => Err(Fail::transient("BAD_LUCK", "perhaps next time")),
        1 => Err(Fail::permanent("NO_USE", "it will never work")),
        2 => Err(Fail::release()),
        n => Ok(json!(n)),
    }
}

/// Not a test: the chaos test starts this program as a worker, which runs until it is killed or its parent exits.
#[tokio::test]
async fn worker_process_of_the_chaos_test() {
    let Ok(url) = std::env::var(URL) else { return };
    let parent = tokio::task::spawn_blocking(|| drop(std::io::stdin().read(&mut [0])));
    let worker = Worker::new(Client::new(&url).unwrap()).on("chore", chore).slots(32);
    let gone = async { drop(parent.await) };
    worker.wait(Duration::from_secs(1)).run_until(gone).await.unwrap();
}

/// A worker process. It is killed when dropped.
struct Hand(Child);

impl Hand {
    fn start(url: &str) -> Self {
        let own = std::env::current_exe().expect("a program knows itself");
        let mut command = Command::new(own);
        command.args(["--exact", "chaos::worker_process_of_the_chaos_test", "--nocapture"]).env(URL, url);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("a program can start itself"))
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

/// Number of open jobs.
async fn left(server: &Server) -> usize {
    let queues = server.read("/api/queues").await;
    let depth = |queue: &Value| ["ready", "running", "waiting"].map(|what| queue[what].as_u64().unwrap());
    rows(&queues["queues"]).iter().flat_map(depth).sum::<u64>() as usize
}

/// Waits until at most this many are open.
async fn wait_for_left(server: &Server, most: usize) {
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    let wait = async {
        while left(server).await > most {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("the jobs are finished");
}

/// Each round creates jobs, waits until a random part of them is done, and kills a worker; every third round or so, a
/// server too.
async fn kill_at_random(nodes: &mut Vec<Server>, chance: &mut SeededRandom) {
    let mut hands: Vec<Hand> = (0..WORKERS).map(|n| Hand::start(nodes[n % 2].url())).collect();
    let mut servers_killed = 0;
    for round in 0..ROUNDS {
        let wave = JOBS / ROUNDS;
        let jobs = (0..wave).map(|n| json!({ "type": "chore", "payload": { "n": round * wave + n } }));
        nodes[chance.below(2)].post_ok("/api/jobs/batch", &json!({ "jobs": jobs.collect::<Vec<_>>() })).await;
        let undone = wave / 4 + chance.below(wave / 2);
        wait_for_left(&nodes[0], undone).await;
        let victim = chance.below(WORKERS);
        hands[victim] = Hand::start(nodes[chance.below(2)].url());
        if chance.below(3) == 0 || round == ROUNDS / 2 {
            let mut server = nodes.remove(chance.below(2));
            server.kill();
            nodes.push(server.restart_at_same_address().await);
            servers_killed += 1;
        }
    }
    println!("{ROUNDS} workers and {servers_killed} servers were killed");
    wait_for_left(&nodes[0], 0).await;
}

#[tokio::test]
async fn ten_thousand_jobs_survive_servers_and_workers_that_are_killed_at_random() {
    let mut chance = SeededRandom::new();
    let first = Setup::new(Store::Postgres).await.config(CONFIG).start().await;
    let mut nodes = vec![first.second_node().await, first];
    kill_at_random(&mut nodes, &mut chance).await;
    let histories = nodes[0].histories().await;
    let jobs = nodes[1].all_pages("/api/jobs?limit=500", "jobs").await;
    assert_eq!((jobs.len(), histories.len()), (JOBS, JOBS), "none is lost, none is doubled");
    for job in &jobs {
        let history = &histories[id(job)];
        check_history(history);
        assert_eq!(job["seq"].as_u64(), Some(history.len() as u64), "an event for each transition: {job}");
        assert_fields(job, json!({ "phase": "final", "lease": null }));
        let ends = history.iter().filter(|event| event["payload"]["phase"] == "final").count();
        assert_eq!(ends, 1, "it ends once: {history:?}");
    }
    let lost = histories.values().flatten().filter(|event| event["trigger"] == "lease_expired").count();
    println!("{lost} leases were lost");
    nodes[0].setup().verify();
}
