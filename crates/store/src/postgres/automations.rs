//! Automations: loaded and written with a batch, listed, and found when due.

use std::collections::BTreeSet;

use tenure_core::automation::{Automation, AutomationId, AutomationKind};
use tenure_core::limits::AUTOMATIONS_MAX;
use tenure_core::working_set::WorkingSet;
use tokio_postgres::Row;

use super::Node;
use super::connection::Sql;
use super::read::rows_max;
use super::rows::{Param, get};
use super::statements::{AUTOMATIONS, DUE_AUTOMATIONS, INSERT_AUTOMATION, PUT_AUTOMATION, REMOVE_AUTOMATION};
use crate::StoreError;
use crate::codec::{automation, text};

impl Node {
    pub(super) async fn automations(&self, kind: AutomationKind) -> Result<Vec<Automation>, StoreError> {
        self.ask(&AUTOMATIONS, &[&kind.as_str(), &rows_max(AUTOMATIONS_MAX)])
            .await?
            .iter()
            .map(decoded)
            .collect()
    }

    pub(super) async fn due_automations(
        &self,
        kind: AutomationKind,
        limit: usize,
    ) -> Result<Vec<Automation>, StoreError> {
        let now = self.now().await?.at.0;
        let rows = self.ask(&DUE_AUTOMATIONS, &[&kind.as_str(), &now, &rows_max(limit)]).await?;
        rows.iter().map(decoded).collect()
    }
}

pub(super) fn decoded(row: &Row) -> Result<Automation, StoreError> {
    automation(get::<&str>(row, 0)?)
}

/// The statements for new, changed and removed automations.
pub(super) fn writes<'a>(
    set: &'a WorkingSet,
    found: &BTreeSet<AutomationId>,
) -> Vec<(&'static Sql, Vec<Param<'a>>)> {
    let (kept, gone): (Vec<&AutomationId>, Vec<_>) =
        set.changes.upserted.automations.iter().partition(|id| set.automations.contains_key(*id));
    let (old, new): (Vec<&AutomationId>, Vec<_>) = kept.into_iter().partition(|id| found.contains(*id));
    let mut writes = Vec::new();
    for (sql, ids) in [(&INSERT_AUTOMATION, new), (&PUT_AUTOMATION, old)] {
        if !ids.is_empty() {
            let rows = ids.iter().map(|id| &set.automations[*id]);
            let mut params = named(&ids);
            params.push(Box::new(rows.clone().map(|it| it.due_at().map(|at| at.0)).collect::<Vec<_>>()));
            params.push(Box::new(rows.map(text).collect::<Vec<_>>()));
            writes.push((sql, params));
        }
    }
    if !gone.is_empty() {
        writes.push((&REMOVE_AUTOMATION, named(&gone)));
    }
    writes
}

/// Kinds and ids as two columns.
fn named<'a>(ids: &[&'a AutomationId]) -> Vec<Param<'a>> {
    let kinds = ids.iter().map(|id| id.0.as_str()).collect::<Vec<_>>();
    vec![Box::new(kinds), Box::new(ids.iter().map(|id| id.1.as_str()).collect::<Vec<_>>())]
}
