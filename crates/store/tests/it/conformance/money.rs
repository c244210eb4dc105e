//! Credits: never overdrawn, and every movement has a ledger line.

use tenure_core::credit::Movement;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

fn paid() -> Create {
    Create { user_id: Some("ann".into()), ..a_job("paid") }
}

pub(crate) async fn a_balance_is_never_overdrawn_under_concurrency(stores: TestStores) {
    // Enough for ten jobs at 3 credits each.
    submit(&stores.store, vec![grant("ann", 32)]).await;
    let made = stores.in_parallel(12, |_, store| async move {
        let mut made = 0;
        for _ in 0..4 {
            match submit_until_done(&store, &[create(paid())]).await.remove(0) {
                Ok(_) => made += 1,
                Err(Refusal::InsufficientCredits { cost: 3, .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        made
    });
    assert_eq!(made.await.iter().sum::<u32>(), 10);
    let account = stores.other.account("ann".into()).await.unwrap();
    assert_eq!((account.granted, account.reserved, account.spent), (32, 30, 0));
    assert_eq!(stores.store.ledger("ann".into(), 0, 100).await.unwrap().len(), 11);
    assert_lawful(&stores.store).await;
}

pub(crate) async fn a_ledger_is_read_in_pages(stores: TestStores) {
    let store = &stores.store;
    submit(store, vec![grant("ann", 10), grant("bob", 4)]).await;
    let job = created_one(store, paid()).await;
    let held = take(store, "w1", any(), 1).await;
    one(store, succeed(&hold(&held[0]))).await.unwrap();
    let whole = stores.other.ledger("ann".into(), 0, 10).await.unwrap();
    let kinds: Vec<_> = whole.iter().map(|(_, line)| (line.kind, line.amount, line.job_id)).collect();
    assert_eq!(
        kinds,
        [
            (Movement::Grant, 10, None),
            (Movement::Reserve, 3, Some(job.id())),
            (Movement::Settle, 3, Some(job.id())),
        ]
    );
    assert_eq!(whole[0].1.reason.as_deref(), Some("a gift"));
    assert!(whole.is_sorted_by(|a, b| a.0 < b.0));
    assert_eq!(store.ledger("ann".into(), whole[0].0, 1).await.unwrap(), whole[1..2]);
    assert_eq!(store.ledger("unknown".into(), 0, 10).await.unwrap(), []);
    let newest_first: Vec<_> = whole.iter().rev().cloned().collect();
    assert_eq!(store.ledger_before("ann".into(), u64::MAX, 10).await.unwrap(), newest_first);
    assert_eq!(store.ledger_before("ann".into(), whole[2].0, 1).await.unwrap(), whole[1..2]);
    let accounts = store.accounts(None, 10).await.unwrap();
    assert_eq!(accounts.iter().map(|(user, _)| user.as_str()).collect::<Vec<_>>(), ["ann", "bob"]);
    assert_eq!(accounts[0].1, store.account("ann".into()).await.unwrap());
    assert_eq!(store.accounts(Some("ann".into()), 10).await.unwrap(), accounts[1..]);
    assert_eq!(store.accounts(None, 1).await.unwrap(), accounts[..1]);
    assert_eq!(store.account("unknown".into()).await.unwrap(), tenure_core::credit::Account::default());
    assert_eq!(store.account("ann".into()).await.unwrap().spent, 3);
}

pub(crate) async fn accounts_are_scanned_with_their_sums(stores: TestStores) {
    let store = &stores.store;
    let users = ["Zoe", "ann", "bob", "\u{e9}mile"];
    submit(store, users.iter().map(|user| grant(user, 7)).collect()).await;
    submit(store, vec![create(paid()), grant("ann", 1)]).await;
    let held = take(store, "w1", any(), 1).await;
    one(store, fail(&hold(&held[0]), Class::Permanent)).await.unwrap();
    let found = scan_all_accounts(&stores.other, 2).await;
    assert_eq!(
        found.iter().map(|(user, ..)| user.as_str()).collect::<Vec<_>>(),
        users,
        "in the order of their bytes"
    );
    let (_, account, sums) = &found[1];
    assert_eq!(account.available(), 8);
    let sum = |kind| sums.iter().filter(|(of, _)| *of == kind).map(|(_, amount)| amount).sum::<u64>();
    assert_eq!(
        [Movement::Grant, Movement::Reserve, Movement::Settle, Movement::Refund].map(sum),
        [8, 3, 0, 3]
    );
}
