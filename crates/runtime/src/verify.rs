//! `verify`: folds every history of a store and checks every law, page by page, so that memory use does not depend on the
//! number of jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::fold::{self, Difference};
use tenure_store::Scanned;

use crate::prelude::*;

const PAGE_JOBS: usize = 1000;
const ORPHANS_MAX: usize = 1000;

/// Counts of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub jobs: u64,
    /// Including unnumbered notes.
    pub events: u64,
    pub accounts: u64,
    pub differences: u64,
}

/// Verifies a store, which may be in use, and reports each difference as it is found.
pub async fn verify(store: &Store, mut report: impl FnMut(&Difference)) -> Result<Verified, StoreError> {
    let (mut seen, mut differences) = (Verified::default(), 0);
    let mut say = |difference: Difference| {
        differences += 1;
        report(&difference);
    };
    let lifecycles = lifecycles(store, &mut say).await?;
    verify_jobs(store, &lifecycles, &mut seen, &mut say).await?;
    verify_accounts(store, &mut seen, &mut say).await?;
    for what in store.orphans(ORPHANS_MAX).await? {
        say(Difference { job: None, law: 6, what });
    }
    Ok(Verified { differences, ..seen })
}

type Lifecycles = BTreeMap<LifecycleRef, Arc<Lifecycle>>;

async fn lifecycles(store: &Store, say: &mut impl FnMut(Difference)) -> Result<Lifecycles, StoreError> {
    let mut found = Lifecycles::new();
    for (key, source) in store.lifecycles().await? {
        match Lifecycle::parse(&source) {
            Ok(lifecycle) if lifecycle.name == key.name && lifecycle.version == key.version => {
                found.insert(key, Arc::new(lifecycle));
            }
            Ok(_) | Err(_) => {
                let LifecycleRef { name, version } = &key;
                let what = format!("lifecycle {name} version {version} of the store fails its check");
                say(Difference { job: None, law: 1, what });
            }
        }
    }
    Ok(found)
}

async fn verify_jobs(
    store: &Store,
    lifecycles: &Lifecycles,
    seen: &mut Verified,
    say: &mut impl FnMut(Difference),
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.scan(after, PAGE_JOBS).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id);
        for Scanned { id, record } in page {
            seen.jobs += 1;
            let found = match record {
                Ok(record) => {
                    seen.events += record.events.len() as u64;
                    fold::verify(&record, lifecycles.get(&record.job.spec.lifecycle).map(Arc::as_ref))
                }
                Err(what) => vec![Difference { job: Some(id), law: 6, what }],
            };
            found.into_iter().for_each(&mut *say);
        }
    }
}

async fn verify_accounts(
    store: &Store,
    seen: &mut Verified,
    say: &mut impl FnMut(Difference),
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = store.scan_accounts(after, PAGE_JOBS).await?;
        let Some((last, ..)) = page.last() else { return Ok(()) };
        after = Some(last.clone());
        for (user, account, sums) in page {
            seen.accounts += 1;
            let found = fold::verify_account(&user, account, &sums);
            found.into_iter().for_each(&mut *say);
        }
    }
}
