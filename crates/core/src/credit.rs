//! Credits: accounts, reservations, and a ledger line for every movement.
//!
//! Always `granted = available + reserved + spent`; `available` is computed and never stored.

use crate::id::{JobId, UserId};
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub granted: u64,
    /// Held for unfinished jobs.
    pub reserved: u64,
    pub spent: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerLine {
    pub ts: Timestamp,
    pub user_id: UserId,
    pub kind: Movement,
    pub amount: u64,
    /// `None` for a grant.
    pub job_id: Option<JobId>,
    pub reason: Option<String>,
}

named! {
    /// The direction of a movement of credits.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Movement {
        /// From outside into the account.
        Grant = "grant",
        /// From available to reserved.
        Reserve = "reserve",
        /// From reserved to spent.
        Settle = "settle",
        /// From reserved back to available.
        Refund = "refund",
    }
}

/// The sum of all movements of one kind.
fn sum(sums: &[(Movement, u64)], kind: Movement) -> u64 {
    sums.iter().filter(|(of, _)| *of == kind).map(|(_, amount)| amount).sum()
}

impl Account {
    /// The account that a ledger sums up to; `None` if it refunds more than it reserved.
    pub fn added_up(sums: &[(Movement, u64)]) -> Option<Self> {
        let spent = sum(sums, Movement::Settle);
        let reserved = sum(sums, Movement::Reserve).checked_sub(spent + sum(sums, Movement::Refund))?;
        Some(Self { granted: sum(sums, Movement::Grant), reserved, spent })
    }

    /// The difference between the account and its ledger, plus any overdraft. Differences add up and never cancel, so
    /// zero means that the account is exactly as its ledger says.
    pub fn imbalance(self, sums: &[(Movement, u64)]) -> u64 {
        let Self { granted, reserved, spent } = self;
        let (settled, reserves) = (sum(sums, Movement::Settle), sum(sums, Movement::Reserve));
        let given_back = settled + sum(sums, Movement::Refund);
        let astray = granted.abs_diff(sum(sums, Movement::Grant))
            + spent.abs_diff(settled)
            + (reserved + given_back).abs_diff(reserves);
        astray + (reserved + spent).saturating_sub(granted)
    }

    pub fn available(self) -> u64 {
        let taken = self.reserved + self.spent;
        self.granted.checked_sub(taken).expect("no account is overdrawn: every reservation was checked")
    }

    /// The account after a movement; `None` if it would be overdrawn.
    pub fn moved(self, kind: Movement, amount: u64) -> Option<Self> {
        let Self { granted, reserved, spent } = self;
        match kind {
            Movement::Grant => Some(Self { granted: granted.checked_add(amount)?, reserved, spent }),
            Movement::Reserve if amount <= self.available() => {
                Some(Self { granted, reserved: reserved + amount, spent })
            }
            Movement::Reserve => None,
            Movement::Settle => {
                Some(Self { granted, reserved: reserved.checked_sub(amount)?, spent: spent + amount })
            }
            Movement::Refund => Some(Self { granted, reserved: reserved.checked_sub(amount)?, spent }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEDGER: [(Movement, u64); 4] =
        [(Movement::Grant, 10), (Movement::Reserve, 6), (Movement::Settle, 3), (Movement::Refund, 1)];
    const RIGHT: Account = Account { granted: 10, reserved: 2, spent: 3 };

    #[test]
    fn an_account_is_what_its_ledger_adds_up_to() {
        assert_eq!(Account::added_up(&LEDGER), Some(RIGHT));
        assert_eq!(RIGHT.imbalance(&LEDGER), 0);
        assert_eq!(Account::default().imbalance(&[]), 0);
        assert_eq!(Account::added_up(&[(Movement::Refund, 1)]), None);
    }

    #[test]
    fn every_credit_astray_counts_and_none_cancels_another() {
        assert_eq!(Account { spent: 5, reserved: 0, ..RIGHT }.imbalance(&LEDGER), 4, "moved without a line");
        assert_eq!(Account { granted: 11, ..RIGHT }.imbalance(&LEDGER), 1);
        assert_eq!(RIGHT.imbalance(&[(Movement::Refund, 1)]), 10 + 3 + 3, "more given back than reserved");
        let overdrawn = [(Movement::Grant, 1), (Movement::Reserve, 4)];
        assert_eq!(Account { granted: 1, reserved: 4, spent: 0 }.imbalance(&overdrawn), 3);
    }
}
