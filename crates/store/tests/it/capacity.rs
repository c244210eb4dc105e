//! Stores with very many waiting jobs: the memory that they need when they are opened.

use std::path::Path;

use rusqlite::Connection;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores;

/// Bytes of memory for a waiting job of which only the indexes are in memory: 64 of what they need of it, 24 of its place in the
/// claim order, and a third for vectors that are not full.
const WAITING_BYTES_MAX: u64 = 120;

/// Copies the only job of a store `count` times, with ids that follow its own.
const COPIES: &str = "
    create temporary table copies as
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {count})
        select n, unhex(substr(hex(id), 1, 16) || printf('%016X', n)) as copy from numbers, (select id from jobs limit 1);
    insert into job_states select c.copy, state, phase, outcome, seq, attempt, retry_count, fence, run_at, timeout_at, due_at, clock_at,
        updated_at, claimed_at, started_at, completed_at, entered, worker, lease, last_lease, error, result, checkpoint, progress,
        cancel, log_count, lifecycle, amended from (select * from job_states limit 1) cross join copies c order by c.n;
    insert into jobs select c.copy, type, lifecycle, lifecycle_version, queue, user_id, priority, max_attempts, cost, payload,
        created_at, correlation_id, traceparent, idempotency_key, retry_of, compensates, flow
        from (select * from jobs limit 1) cross join copies c order by c.n;
    delete from job_states where id not in (select copy from copies);
    delete from jobs where id not in (select copy from copies);";

async fn fill(folder: &Path, count: u64) {
    let store = stores::open(folder).await;
    created_one(&store, a_job("distributed")).await;
    drop(store);
    let file = Connection::open(folder.join("tenure.db")).unwrap();
    file.execute_batch("pragma synchronous = off; pragma temp_store = memory").unwrap();
    file.execute_batch(&format!("begin; {} commit;", COPIES.replace("{count}", &count.to_string()))).unwrap();
}

/// A line of `/proc/self/status`, in bytes.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Opens a store and claims a job. Returns by how much the memory of this process has grown, at its peak and at the end.
async fn opened(folder: &Path) -> (Store, u64, u64) {
    // The peak is counted again from here.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory("VmRSS:");
    let store = stores::open(folder).await;
    assert_eq!(take(&store, "w1", any(), 1).await.len(), 1);
    (store, memory("VmHWM:") - before, memory("VmRSS:") - before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_job_needs_little_memory_also_while_a_store_is_opened() {
    let (few, many) = (stores::a_folder(), stores::a_folder());
    let (few_jobs, many_jobs) = (150_000, 520_000);
    fill(few.path(), few_jobs).await;
    fill(many.path(), many_jobs).await;
    // What is not proportional to the jobs is the same in both: page caches are full.
    let (_few, few_peak, few_bytes) = opened(few.path()).await;
    let (_many, many_peak, many_bytes) = opened(many.path()).await;
    let for_each = |few: u64, many: u64| many.saturating_sub(few) / (many_jobs - few_jobs);
    let (peak, bytes) = (for_each(few_peak, many_peak), for_each(few_bytes, many_bytes));
    eprintln!("{peak} bytes for each job at the peak, then {bytes}");
    assert!(peak <= WAITING_BYTES_MAX && bytes <= WAITING_BYTES_MAX, "{peak} at the peak, then {bytes}");
}
