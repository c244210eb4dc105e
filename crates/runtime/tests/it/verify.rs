//! `verify` finds nothing in a sound store, and finds each of many corruptions.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use tenure_core::command::{AppendLog, Cancel, NewLogLine};
use tenure_core::job::CancelMode;
use tenure_runtime::verify;

use crate::fixture::{a_job, claimed, created, fail, report, submitted, succeed};
use crate::prelude::*;

/// Jobs in every kind of state, with logs and credits.
async fn fill(folder: &Path) {
    let hour = Some(Millis::seconds(3600));
    let picture =
        TypeDefinition { cost: 2, lease: hour, heartbeat: hour, ..TypeDefinition::new("picture", "image") };
    let types = vec![TypeDefinition::new("*", "distributed"), picture];
    let definitions = Definitions { types, ..Definitions::default() };
    let store = Store::open(folder).await.unwrap();
    let runtime = Runtime::start(store, definitions, Options::default()).await.unwrap();
    submitted(&runtime, Command::GrantCredits { user: "u1".into(), amount: 10, reason: None }).await;
    let now = Duration::ZERO;
    let report_next = async |verb| {
        let job = claimed(&runtime, "w1", now).await.remove(0);
        report(&runtime, &job, verb).await.unwrap();
    };
    let picture = |n: u32| {
        let payload = Json::parse(&format!(r#"{{"prompt":"{n}"}}"#)).unwrap();
        NewJob { user_id: Some("u1".into()), ..NewJob::new("picture", payload) }
    };
    created(&runtime, picture(1)).await;
    report_next(succeed()).await;
    created(&runtime, picture(2)).await;
    report_next(fail(Class::Permanent)).await;
    created(&runtime, a_job("work")).await;
    report_next(fail(Class::Permanent)).await;
    let cancelled = created(&runtime, a_job("work")).await;
    let cancel = Cancel { job: cancelled.id(), mode: CancelMode::Soft, reason: None };
    submitted(&runtime, Command::Cancel(cancel)).await;
    let line = |text: &str| NewLogLine { stream: "stdout".into(), level: "info".into(), text: text.into() };
    let lines = vec![line("one"), line("two")];
    submitted(&runtime, Command::Log(AppendLog { job: cancelled.id(), holder: None, lines })).await;
    created(&runtime, a_job("work")).await;
    claimed(&runtime, "w2", now).await;
    created(&runtime, a_job("work")).await;
    runtime.stop().await;
}

/// The findings of `verify` for the store in a folder; errors on opening are findings too.
async fn findings(folder: &Path) -> Vec<String> {
    let store = Store::open_to_read(folder).await.unwrap();
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
    let in_use = Store::open(folder.path()).await.unwrap();
    assert_eq!(findings(folder.path()).await, Vec::<String>::new());
    let seen = verify(&in_use, |_| ()).await.unwrap();
    assert_eq!((seen.jobs, seen.accounts, seen.differences), (6, 1, 0));
    assert!(in_use.counts().await.unwrap().len() >= 5);
}

/// Each line: a corruption, the SQL that causes it, and a word that the finding must contain.
const CORRUPTIONS: &str = include_str!("corruptions.txt");

#[tokio::test]
async fn each_corruption_is_found() {
    let sound = tempfile::tempdir().unwrap();
    fill(sound.path()).await;
    for line in CORRUPTIONS.lines() {
        let [what, sql, word] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let folder = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(sound.path()).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
        let file = Connection::open(folder.path().join("tenure.db")).unwrap();
        assert!(file.execute(sql, []).unwrap() > 0, "{what}: the statement changed nothing");
        drop(file);
        let found = findings(folder.path()).await;
        let is_found = found.iter().any(|line| line.contains(word));
        assert!(is_found, "{what}: no finding contains {word:?}: {found:#?}");
    }
}
