//! Compares every account with its ledger, again and again, a few accounts at a time: whoever watches money wants to know
//! before somebody runs `verify`. A ledger only grows, so a scrape must never wait for this.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_store::Store;

use crate::Inner;

/// Accounts in one page.
const PAGE_ACCOUNTS: usize = 200;
/// Between two pages, so that a long pass takes little from those who work.
const BETWEEN_PAGES: Duration = Duration::from_millis(100);

impl<S: Store> Inner<S> {
    /// One pass over all accounts. What it found counts when it is through; a store that does not answer ends it.
    pub(crate) async fn audit_credits(&self) {
        let (mut astray, mut after) = (0_u64, None);
        loop {
            let Ok(page) = self.store.scan_accounts(after, PAGE_ACCOUNTS).await else { return };
            let found = page.iter().map(|(_, account, sums)| account.imbalance(sums));
            astray = astray.saturating_add(found.fold(0, u64::saturating_add));
            let is_last = page.len() < PAGE_ACCOUNTS;
            after = page.into_iter().next_back().map(|(user, ..)| user);
            if is_last {
                break;
            }
            if !self.pause(BETWEEN_PAGES).await {
                return;
            }
        }
        if astray > 0 {
            tracing::error!(credits = astray, "accounts and ledger disagree; `tenure verify` says where");
        }
        self.credits_imbalance.store(astray, Ordering::Relaxed);
    }
}
