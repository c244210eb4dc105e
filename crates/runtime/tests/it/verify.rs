//! `verify` finds nothing in a sound store, and finds each of many corruptions.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use tenure_core::command::{AppendLog, Cancel, Command, NewLogLine};
use tenure_core::job::{CancelMode, Class};
use tenure_core::json::Json;
use tenure_core::lifecycle::Lifecycle;
use tenure_core::time::Millis;
use tenure_runtime::{Definitions, NewJob, Options, Runtime, TypeDefinition, verify};
use tenure_store::{SqliteStore, Store};

use crate::fixture::{a_job, claimed, created, envelope, fail, report, succeed};

/// Jobs in every kind of state, with logs and credits.
async fn fill(folder: &Path) {
    let mut picture = TypeDefinition::new("picture", "image");
    picture.cost = 2;
    picture.lease = Some(Millis::seconds(3600));
    picture.heartbeat = Some(Millis::seconds(3600));
    let types = vec![TypeDefinition::new("*", "distributed"), picture];
    let definitions = Definitions { lifecycles: Lifecycle::built_in(), types };
    let store = SqliteStore::open(folder).await.unwrap();
    let runtime = Runtime::start(store, definitions, Options::default()).await.unwrap();
    runtime
        .submit(envelope(Command::GrantCredits { user: "u1".into(), amount: 10, reason: None }))
        .await
        .unwrap()
        .unwrap();
    let now = Duration::ZERO;
    let picture = |n: u32| {
        let payload = Json::parse(&format!(r#"{{"prompt":"{n}"}}"#)).unwrap();
        NewJob { user_id: Some("u1".into()), ..NewJob::new("picture", payload) }
    };
    created(&runtime, picture(1)).await;
    report(&runtime, &claimed(&runtime, "w1", now).await.remove(0), succeed()).await.unwrap();
    created(&runtime, picture(2)).await;
    report(&runtime, &claimed(&runtime, "w1", now).await.remove(0), fail(Class::Permanent)).await.unwrap();
    created(&runtime, a_job("work")).await;
    report(&runtime, &claimed(&runtime, "w1", now).await.remove(0), fail(Class::Permanent)).await.unwrap();
    let cancelled = created(&runtime, a_job("work")).await;
    let cancel = Cancel { job: cancelled.id(), mode: CancelMode::Soft, reason: None };
    runtime.submit(envelope(Command::Cancel(cancel))).await.unwrap().unwrap();
    let line = |text: &str| NewLogLine { stream: "stdout".into(), level: "info".into(), text: text.into() };
    let lines = vec![line("one"), line("two")];
    let log = AppendLog { job: cancelled.id(), holder: None, lines };
    runtime.submit(envelope(Command::Log(log))).await.unwrap().unwrap();
    created(&runtime, a_job("work")).await;
    claimed(&runtime, "w2", now).await;
    created(&runtime, a_job("work")).await;
    runtime.stop().await;
}

/// The findings of `verify` for the store in a folder; errors on opening are findings too.
async fn findings(folder: &Path) -> Vec<String> {
    let store = SqliteStore::open_to_read(folder).await.unwrap();
    let mut found = Vec::new();
    if let Err(error) = verify(&store, |difference| found.push(difference.to_string())).await {
        found.push(error.to_string());
    }
    found
}

#[tokio::test]
async fn a_sound_store_has_no_findings_even_while_in_use() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path()).await;
    let in_use = SqliteStore::open(folder.path()).await.unwrap();
    assert_eq!(findings(folder.path()).await, Vec::<String>::new());
    let seen = verify(&in_use, |_| ()).await.unwrap();
    assert_eq!((seen.jobs, seen.accounts, seen.differences), (6, 1, 0));
    assert!(in_use.counts().await.unwrap().len() >= 5);
}

/// A corruption, the SQL that causes it, and a word that the finding must contain.
const CORRUPTIONS: [(&str, &str, &str); 31] = [
    (
        "a state",
        "update job_states set state = 'queued' where state = 'running'",
        "state is queued in the row",
    ),
    (
        "a state that is not declared",
        "update job_states set state = 'flying' where state = 'failed'",
        "no state flying",
    ),
    ("a phase", "update job_states set phase = 'ready' where state = 'running'", "corrupt"),
    ("an outcome", "update job_states set outcome = 'succeeded' where state = 'failed'", "phase is"),
    ("a sequence number", "update job_states set seq = 9 where state = 'running'", "seq is 9"),
    ("an attempt", "update job_states set attempt = 2 where state = 'running'", "attempt is 2"),
    ("a retry count", "update job_states set retry_count = 7 where state = 'failed'", "retry_count is 7"),
    ("a fence", "update job_states set fence = 0 where state = 'running'", "fence is 0"),
    ("a run_at", "update job_states set run_at = run_at + 1 where state = 'queued'", "run_at is"),
    (
        "a clock",
        "update job_states set clock_at = clock_at + 1 where state = 'running'",
        "clock_at is not the first",
    ),
    (
        "a lost lease",
        "update job_states set lease = null, clock_at = null, worker = null where state = 'running'",
        "without a lease",
    ),
    ("an unreadable lease", "update job_states set lease = '{}' where state = 'running'", "lease"),
    ("a holder", "update job_states set worker = 'w9' where state = 'running'", "worker is not the present"),
    (
        "an end without a time",
        "update job_states set completed_at = null where state = 'succeeded' or state = 'completed'",
        "completed_at is None",
    ),
    ("an error", "update job_states set error = null where state = 'failed'", "without an error"),
    ("a result", "update job_states set result = '{\"ok\":false}' where state = 'completed'", "result is"),
    ("an entry time", "update job_states set entered = 'queued=1' where state = 'queued'", "times is"),
    ("a missing event", "delete from events where seq = 2 and to_state = 'cancelled'", "seq is 2"),
    ("a gap", "delete from events where seq = 2 and to_state = 'assigned'", "event 3 follows event 1"),
    (
        "an event out of order in time",
        "update events set ts = 1 where seq = 3 and to_state = 'running'",
        "earlier than the one before",
    ),
    (
        "an undeclared transition",
        "update events set to_state = 'succeeded' where seq = 2 and to_state = 'assigned'",
        "no rule leads",
    ),
    ("unreadable facts", "update events set facts = '{}x' where seq = 3", "facts of event"),
    ("a missing dead letter", "delete from dead_letters", "there is no dead letter"),
    ("an account", "update accounts set spent = spent - 1, reserved = reserved + 1", "its ledger adds up to"),
    ("a missing ledger line", "delete from ledger where kind = 'settle'", "settle lines"),
    (
        "a job without its row",
        "delete from jobs where id in (select id from job_states where state = 'cancelled')",
        "which is not whole",
    ),
    (
        "a doubled ledger line",
        "insert into ledger (ts, user_id, kind, amount, job_id, reason) select ts, user_id, kind, amount, job_id, reason from ledger where kind = 'refund'",
        "refund lines",
    ),
    ("a log line gone", "delete from logs where n = 1", "log lines"),
    ("a lifecycle gone", "delete from lifecycles where name = 'image'", "is not in the store"),
    (
        "a lifecycle edited",
        "update lifecycles set source = 'name = 1' where name = 'image'",
        "fails its check",
    ),
    (
        "an event after the end",
        "insert into events select 9999, job_id, seq + 1, name, \"trigger\", to_state, 'queued', attempt, ts, actor, cause, facts from events where to_state = 'failed' and seq = 4",
        "leaves the final state",
    ),
];

#[tokio::test]
async fn each_corruption_is_found() {
    let sound = tempfile::tempdir().unwrap();
    fill(sound.path()).await;
    for (what, sql, word) in CORRUPTIONS {
        let folder = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(sound.path()).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
        let file = Connection::open(folder.path().join("tenure.db")).unwrap();
        let changed = file.execute(sql, []).unwrap();
        assert!(changed > 0, "{what}: the statement changed nothing");
        drop(file);
        let found = findings(folder.path()).await;
        assert!(
            found.iter().any(|line| line.contains(word)),
            "{what}: no finding contains {word:?}: {found:#?}"
        );
    }
}
