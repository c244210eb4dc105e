//! Checks credits: the ledger adds up to the accounts, `granted = available + reserved + spent`, no account is overdrawn,
//! and each job's reservation is settled or refunded exactly once, by its final state.

use std::collections::{BTreeMap, BTreeSet};

use crate::auditor::Violation;
use crate::auditor::job_model::JobModel;
use crate::fixtures::USERS;
use crate::prelude::*;
use crate::ready;

#[derive(Debug, Default)]
pub(super) struct CreditModel {
    accounts: BTreeMap<UserId, AccountModel>,
    /// The movements of each job's credits.
    moves: BTreeMap<JobId, Vec<Movement>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct AccountModel {
    row: u64,
    granted: u64,
    reserved: u64,
    spent: u64,
}

impl CreditModel {
    /// Reads new lines of every ledger: violations, and the jobs whose credits moved.
    pub(super) fn read(
        &mut self,
        store: &Store,
        models: &BTreeMap<JobId, JobModel>,
    ) -> (Vec<Violation>, BTreeSet<JobId>) {
        let (mut violations, mut moved) = (Vec::new(), BTreeSet::new());
        for user in USERS.map(UserId::from) {
            let after = self.accounts.entry(user.clone()).or_default().row;
            let lines = ready(store.ledger(user.clone(), after, usize::MAX)).unwrap_or_default();
            if lines.is_empty() {
                continue;
            }
            for (row, line) in lines {
                violations.extend(self.apply(row, &line, models));
                moved.extend(line.job_id);
            }
            let stored = ready(store.account(user.clone())).unwrap_or_default();
            violations.extend(self.compare(&user, stored));
        }
        (violations, moved)
    }

    fn apply(
        &mut self,
        row: u64,
        line: &LedgerLine,
        models: &BTreeMap<JobId, JobModel>,
    ) -> Option<Violation> {
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
        let Some(model) = models.get(&job) else {
            return Some(Violation::new(7, Some(job), what() + ", of an unknown job"));
        };
        let moves = self.moves.entry(job).or_default();
        moves.push(line.kind);
        let expected = expected_moves(model);
        let fits = line.amount == model.kind.definition.cost;
        if fits && expected.starts_with(moves) {
            return None;
        }
        let expected = expected.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ");
        Some(model.violation(7, what(), format!("{expected}, of {} each", model.kind.definition.cost)))
    }

    fn compare(&self, user: &UserId, stored: Account) -> Option<Violation> {
        let sums = self.accounts.get(user).copied().unwrap_or_default();
        let own = Account { granted: sums.granted, reserved: sums.reserved, spent: sums.spent };
        if own != stored {
            let what = format!("{user} has {stored:?}, and the ledger adds up to {own:?}");
            return Some(Violation::new(7, None, what));
        }
        let overdrawn = own.reserved + own.spent > own.granted;
        overdrawn.then(|| Violation::new(7, None, format!("{user} is overdrawn: {own:?}")))
    }

    /// In the end every reservation is settled or refunded.
    pub(super) fn check_end(&self, models: &BTreeMap<JobId, JobModel>) -> Vec<Violation> {
        let mut violations = Vec::new();
        for model in models.values() {
            let moves = self.moves.get(&model.id()).map(Vec::as_slice).unwrap_or_default();
            let expected = expected_moves(model);
            if moves != expected {
                let what = format!("credits moved {moves:?}");
                violations.push(model.violation(7, what, format!("{expected:?}")));
            }
        }
        for (user, sums) in self.accounts.iter().filter(|(_, sums)| sums.reserved > 0) {
            let what = format!("{} credits of {user} are reserved for no job", sums.reserved);
            violations.push(Violation::new(10, None, what));
        }
        violations
    }
}

/// The movements that a job's state requires.
fn expected_moves(model: &JobModel) -> Vec<Movement> {
    let costs = model.kind.definition.cost > 0;
    let Some(credits) = model.kind.lifecycle.credits.as_ref().filter(|_| costs) else { return Vec::new() };
    let mut moves = vec![Movement::Reserve];
    if model.phase.is_final() {
        let settles = credits.settle.contains(&model.state);
        moves.push(if settles { Movement::Settle } else { Movement::Refund });
    }
    moves
}
