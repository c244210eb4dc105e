//! Standing orders: loaded and written with a batch, listed, and found when they are due.

use std::collections::BTreeSet;

use tenure_core::order::{Order, OrderId, OrderKind};
use tenure_core::working_set::WorkingSet;
use tokio_postgres::Row;

use super::Node;
use super::connection::Sql;
use super::read::rows_max;
use super::rows::{Param, get};
use super::statements::{DUE_ORDERS, INSERT_ORDER, ORDERS, PUT_ORDER, REMOVE_ORDER};
use crate::StoreError;
use crate::codec::{order, text};

impl Node {
    pub(super) async fn orders(&self, kind: OrderKind, limit: usize) -> Result<Vec<Order>, StoreError> {
        self.ask(&ORDERS, &[&kind.as_str(), &rows_max(limit)]).await?.iter().map(decoded).collect()
    }

    pub(super) async fn due_orders(&self, kind: OrderKind, limit: usize) -> Result<Vec<Order>, StoreError> {
        let now = self.now().await?.at.0;
        let rows = self.ask(&DUE_ORDERS, &[&kind.as_str(), &now, &rows_max(limit)]).await?;
        rows.iter().map(decoded).collect()
    }
}

/// A row with a body.
pub(super) fn decoded(row: &Row) -> Result<Order, StoreError> {
    order(get::<&str>(row, 0)?)
}

/// The statements that write what `set` changed: new ones, changed ones, and those that are gone.
pub(super) fn writes<'a>(
    set: &'a WorkingSet,
    found: &BTreeSet<OrderId>,
) -> Vec<(&'static Sql, Vec<Param<'a>>)> {
    let (kept, gone): (Vec<&OrderId>, Vec<_>) =
        set.changes.orders.iter().partition(|id| set.orders.contains_key(*id));
    let (old, new): (Vec<&OrderId>, Vec<_>) = kept.into_iter().partition(|id| found.contains(*id));
    let mut writes = Vec::new();
    for (sql, ids) in [(&INSERT_ORDER, new), (&PUT_ORDER, old)] {
        if !ids.is_empty() {
            let rows = ids.iter().map(|id| &set.orders[*id]);
            let mut params = named(&ids);
            params.push(Box::new(rows.clone().map(|it| it.due_at().map(|at| at.0)).collect::<Vec<_>>()));
            params.push(Box::new(rows.map(text).collect::<Vec<_>>()));
            writes.push((sql, params));
        }
    }
    if !gone.is_empty() {
        writes.push((&REMOVE_ORDER, named(&gone)));
    }
    writes
}

/// Kinds and names, as two columns.
fn named<'a>(ids: &[&'a OrderId]) -> Vec<Param<'a>> {
    let kinds = ids.iter().map(|id| id.0.as_str()).collect::<Vec<_>>();
    vec![Box::new(kinds), Box::new(ids.iter().map(|id| id.1.as_str()).collect::<Vec<_>>())]
}
