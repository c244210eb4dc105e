//! Credits: accounts, reservations, and a ledger line for every movement.
//!
//! `granted = available + reserved + spent`, always: `available` is what is left of the other three and is never stored.

use crate::id::{JobId, Name};
use crate::time::Timestamp;

/// What a user has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// All that was ever granted.
    pub granted: u64,
    /// Held for jobs that are not finished.
    pub reserved: u64,
    /// Gone.
    pub spent: u64,
}

/// A movement of credits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerLine {
    /// When.
    pub ts: Timestamp,
    /// Whose.
    pub user_id: Name,
    /// Which way.
    pub kind: Movement,
    /// How many.
    pub amount: u64,
    /// For which job; `None` for a grant.
    pub job_id: Option<JobId>,
    /// Why.
    pub reason: Option<String>,
}

/// Which way credits move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Movement {
    /// From outside into the account.
    Grant,
    /// From available to reserved.
    Reserve,
    /// From reserved to spent.
    Settle,
    /// From reserved back to available.
    Refund,
}

impl Movement {
    /// Its name in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Grant => "grant",
            Self::Reserve => "reserve",
            Self::Settle => "settle",
            Self::Refund => "refund",
        }
    }

    /// By its name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Grant, Self::Reserve, Self::Settle, Self::Refund]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

impl Account {
    /// What may still be reserved.
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
