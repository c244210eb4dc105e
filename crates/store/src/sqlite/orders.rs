//! Standing orders: loaded and written with a batch, listed, and found when they are due.

use rusqlite::{Connection, OptionalExtension as _, Params, params};
use tenure_core::order::{Order, OrderId, OrderKind};
use tenure_core::time::Timestamp;
use tenure_core::working_set::{Reads, WorkingSet};

use crate::StoreError;
use crate::codec::{order, text};
use crate::sqlite::Writer;
use crate::sqlite::read::all;
use crate::sqlite::rows::fault;

pub(super) fn orders(
    connection: &Connection,
    kind: OrderKind,
    limit: usize,
) -> Result<Vec<Order>, StoreError> {
    decoded(connection, include_str!("sql/orders.sql"), (kind.as_str(), limit as i64))
}

pub(super) fn due(
    connection: &Connection,
    (kind, now): (OrderKind, Timestamp),
    limit: usize,
) -> Result<Vec<Order>, StoreError> {
    decoded(connection, include_str!("sql/due_orders.sql"), (kind.as_str(), now.0, limit as i64))
}

fn decoded(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<Order>, StoreError> {
    all(connection, sql, params, |row| order(&row.get::<_, String>(0).map_err(fault)?))
}

fn one(connection: &Connection, (kind, id): &OrderId) -> Result<Option<Order>, StoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/order.sql")).map_err(fault)?;
    let found = statement.query_row((kind.as_str(), id.as_str()), |row| row.get::<_, String>(0));
    found.optional().map_err(fault)?.map(|body| order(&body)).transpose()
}

impl Writer {
    pub(super) fn load_orders(&self, reads: &Reads, set: &mut WorkingSet) -> Result<(), StoreError> {
        for id in &reads.orders {
            set.orders.extend(one(&self.connection, id)?.map(|order| (id.clone(), order)));
        }
        Ok(())
    }

    pub(super) fn write_orders(&self, set: &WorkingSet) -> Result<(), StoreError> {
        for id in &set.changes.orders {
            let (kind, name) = (id.0.as_str(), id.1.as_str());
            let done = if let Some(order) = set.orders.get(id) {
                let row = params![kind, name, order.due_at().map(|at| at.0), text(order)];
                self.statement(include_str!("sql/put_order.sql"))?.execute(row)
            } else {
                self.statement(include_str!("sql/remove_order.sql"))?.execute((kind, name))
            };
            done.map_err(fault)?;
        }
        Ok(())
    }
}
