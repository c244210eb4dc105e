//! Credits: the ledger adds up to the accounts, `granted = available + reserved + spent`, nobody is overdrawn, and each
//! job's reservation is settled or refunded exactly once, by the state in which it ended.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::credit::{Account, LedgerLine, Movement};
use tenure_core::id::{JobId, Name};
use tenure_store::{MemoryStore, Store};

use crate::auditor::Violation;
use crate::auditor::track::Track;
use crate::cast::USERS;
use crate::ready;

/// What the ledger came to so far.
#[derive(Debug, Default)]
pub(super) struct Money {
    accounts: BTreeMap<Name, Sums>,
    /// How often each job's credits moved which way.
    moves: BTreeMap<JobId, Vec<Movement>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    row: u64,
    granted: u64,
    reserved: u64,
    spent: u64,
}

impl Money {
    /// Reads on in every ledger: what is wrong, and whose credits moved.
    pub(super) fn read(
        &mut self,
        store: &MemoryStore,
        tracks: &BTreeMap<JobId, Track>,
    ) -> (Vec<Violation>, BTreeSet<JobId>) {
        let (mut found, mut moved) = (Vec::new(), BTreeSet::new());
        for user in USERS.map(Name::from) {
            let after = self.accounts.entry(user.clone()).or_default().row;
            let lines = ready(store.ledger(user.clone(), after, usize::MAX)).unwrap_or_default();
            if lines.is_empty() {
                continue;
            }
            for (row, line) in lines {
                found.extend(self.take(row, &line, tracks));
                moved.extend(line.job_id);
            }
            let stored = ready(store.account(user.clone())).unwrap_or_default();
            found.extend(self.compare(&user, stored));
        }
        (found, moved)
    }

    fn take(&mut self, row: u64, line: &LedgerLine, tracks: &BTreeMap<JobId, Track>) -> Option<Violation> {
        let sums = self.accounts.entry(line.user_id.clone()).or_default();
        sums.row = row;
        let what = || format!("the ledger says {} {} for {}", line.kind.as_str(), line.amount, line.user_id);
        match line.kind {
            Movement::Grant => sums.granted += line.amount,
            Movement::Reserve => sums.reserved += line.amount,
            Movement::Settle | Movement::Refund => {
                let Some(left) = sums.reserved.checked_sub(line.amount) else {
                    return Some(Violation::new(7, line.job_id, what() + ", more than is reserved"));
                };
                sums.reserved = left;
                sums.spent += if line.kind == Movement::Settle { line.amount } else { 0 };
            }
        }
        let job = line.job_id?;
        let Some(track) = tracks.get(&job) else {
            return Some(Violation::new(7, Some(job), what() + ", of a job that never was"));
        };
        let moves = self.moves.entry(job).or_default();
        moves.push(line.kind);
        let lawful = lawful_moves(track);
        let fits = line.amount == track.kind.definition.cost;
        if fits && lawful.starts_with(moves) {
            return None;
        }
        let expected = lawful.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
        Some(track.breaks(7, what(), format!("{expected}, of {} each", track.kind.definition.cost)))
    }

    fn compare(&self, user: &Name, stored: Account) -> Option<Violation> {
        let sums = self.accounts.get(user).copied().unwrap_or_default();
        let own = Account { granted: sums.granted, reserved: sums.reserved, spent: sums.spent };
        if own != stored {
            let what = format!("{user} has {stored:?}, and the ledger adds up to {own:?}");
            return Some(Violation::new(7, None, what));
        }
        let overdrawn = own.reserved + own.spent > own.granted;
        overdrawn.then(|| Violation::new(7, None, format!("{user} is overdrawn: {own:?}")))
    }

    /// In the end every reservation was settled or refunded, and none is left.
    pub(super) fn check_the_end(&self, tracks: &BTreeMap<JobId, Track>) -> Vec<Violation> {
        let mut found = Vec::new();
        for track in tracks.values() {
            let moves = self.moves.get(&track.id()).map(Vec::as_slice).unwrap_or_default();
            let lawful = lawful_moves(track);
            if moves != lawful {
                found.push(track.breaks(7, format!("credits moved {moves:?}"), format!("{lawful:?}")));
            }
        }
        for (user, sums) in self.accounts.iter().filter(|(_, sums)| sums.reserved > 0) {
            let what = format!("{} credits of {user} are reserved for nobody", sums.reserved);
            found.push(Violation::new(10, None, what));
        }
        found
    }
}

/// How a job's credits may have moved by now.
fn lawful_moves(track: &Track) -> Vec<Movement> {
    let Some(credits) = track.kind.lifecycle.credits.as_ref().filter(|_| track.kind.definition.cost > 0)
    else {
        return Vec::new();
    };
    let mut moves = vec![Movement::Reserve];
    if track.phase.is_final() {
        let settles = credits.settle.contains(&track.state);
        moves.push(if settles { Movement::Settle } else { Movement::Refund });
    }
    moves
}
