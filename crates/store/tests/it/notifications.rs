//! Notifications between nodes on PostgreSQL.

use tenure_store::ReadyJobs;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

fn ready(queue: &str, claimable: usize, next_run: Option<Timestamp>) -> ReadyJobs {
    ReadyJobs { queue: queue.into(), job_type: "so1".into(), claimable, next_run }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_tells_other_nodes_which_jobs_became_ready() {
    let nodes = stores::postgres().await;
    let (store, other) = (&nodes.store, &nodes.other);
    assert_eq!(other.remote_commit().await, None, "before it listened, anything may have happened");
    let in_queue = |queue: &str, when| Create { queue: Some(queue.into()), when, ..a_job("so1") };
    let later = When::In(Millis(3_600_000));
    let jobs =
        created(store, vec![in_queue("a", When::Now), in_queue("a", When::Now), in_queue("b", later)]).await;
    let expected = [ready("a", 2, None), ready("b", 0, Some(jobs[2].run_at))];
    assert_eq!(other.remote_commit().await.unwrap(), expected);
    take(store, "w1", any(), 1).await;
    assert_eq!(other.remote_commit().await.unwrap(), [], "a claim makes no job ready");
    submit(store, vec![pause_queue("a", true)]).await;
    submit(store, vec![pause_queue("a", false)]).await;
    assert_eq!(other.remote_commit().await, None, "the jobs of a resumed queue must be read");
}
