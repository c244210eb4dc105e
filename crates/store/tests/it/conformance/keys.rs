//! Idempotency keys: one effect, however often and concurrently a command is submitted.

use std::collections::BTreeSet;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

pub(crate) async fn a_key_leads_to_one_job_under_concurrency(stores: TestStores) {
    submit(&stores.store, vec![grant("ann", 1000)]).await;
    let callers = stores.in_parallel(16, |_, store| async move {
        let mut got = Vec::new();
        for round in 0..5 {
            let key = key(&format!("k{round}"), 1);
            let creation = create(Create { user_id: Some("ann".into()), key, ..a_job("paid") });
            let result = submit_until_done(&store, &[creation]).await.remove(0);
            let Ok(CommandOutput::Job { job, replayed, .. }) = result else {
                panic!("the creation is valid")
            };
            got.push((round, job.id(), replayed));
        }
        got
    });
    let got = callers.await.concat();
    let first: Vec<_> = got.iter().filter(|(.., replayed)| !replayed).collect();
    assert_eq!(first.len(), 5, "each key created one job");
    let jobs: BTreeSet<_> = got.iter().map(|(round, id, _)| (round, id)).collect();
    assert_eq!(jobs.len(), 5, "all callers got the same one");
    assert_eq!(all_jobs(&stores.store).await.len(), 5);
    assert_eq!(stores.other.account("ann".into()).await.unwrap().reserved, 15, "each was charged once");
    assert_lawful(&stores.store).await;
}

pub(crate) async fn a_command_with_a_key_is_executed_once_under_concurrency(stores: TestStores) {
    let keyed = |command: CommandEnvelope| CommandEnvelope {
        key: Some(IdempotencyKey { key: "once".into(), fingerprint: [1; 32] }),
        ..command
    };
    one(&stores.store, keyed(grant("ann", 5))).await.unwrap();
    one(&stores.other, keyed(grant("ann", 5))).await.unwrap();
    assert_eq!(stores.store.account("ann".into()).await.unwrap().granted, 5);
    created(&stores.store, vec![a_job("so1"), a_job("so1")]).await;
    let request = || {
        let claim =
            Claim { worker: "w".into(), filter: any(), max: 1, request_id: Some("r1".into()), start: true };
        by("worker", Command::Claim(claim))
    };
    let first = claimed(one(&stores.store, request()).await);
    let again = claimed(one(&stores.other, request()).await);
    assert_eq!(first, again, "the same request gets the same job");
    assert_lawful(&stores.store).await;
}

pub(crate) async fn a_key_with_another_body_is_refused(stores: TestStores) {
    let first = created_one(&stores.store, Create { key: key("k", 1), ..a_job("so1") }).await;
    let other = one(&stores.other, create(Create { key: key("k", 2), ..a_job("so1") })).await;
    assert_eq!(other, Err(Refusal::IdempotencyMismatch("k".into())));
    let same = one(&stores.other, create(Create { key: key("k", 1), ..a_job("so1") })).await;
    assert!(matches!(same, Ok(CommandOutput::Job { job, replayed: true, .. }) if job == first));
    // Keys of another type are separate.
    created_one(&stores.store, Create { key: key("k", 2), ..a_job("pattern") }).await;
    assert_eq!(all_jobs(&stores.store).await.len(), 2);
}
