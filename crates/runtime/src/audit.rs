//! Periodic comparison of every account with its ledger, for the metric of credit imbalance. A pass takes longer as ledgers
//! grow, so metrics show the result of the last pass.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::Inner;

const PAGE_ACCOUNTS: usize = 200;
/// Pause between two pages, so that a long pass leaves capacity for commands.
const BETWEEN_PAGES: Duration = Duration::from_millis(100);

impl Inner {
    /// One pass over all accounts. The result is published at the end of the pass; a store failure ends the pass.
    pub(crate) async fn audit_credits(&self) {
        let (mut imbalance, mut after) = (0_u64, None);
        loop {
            let Ok(page) = self.store.scan_accounts(after, PAGE_ACCOUNTS).await else { return };
            let found = page.iter().map(|(_, account, sums)| account.imbalance(sums));
            imbalance = imbalance.saturating_add(found.fold(0, u64::saturating_add));
            let is_last = page.len() < PAGE_ACCOUNTS;
            after = page.into_iter().next_back().map(|(user, ..)| user);
            if is_last {
                break;
            }
            if !self.pause(BETWEEN_PAGES).await {
                return;
            }
        }
        if imbalance > 0 {
            let credits = imbalance;
            tracing::error!(credits, "accounts and ledger disagree; run `tenure verify` for details");
        }
        self.credits_imbalance.store(imbalance, Ordering::Relaxed);
    }
}
