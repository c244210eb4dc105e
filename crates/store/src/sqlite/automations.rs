//! Automations: loaded and written with a batch, listed, and found when due.

use rusqlite::{Connection, OptionalExtension as _, Params, params};
use tenure_core::automation::{Automation, AutomationId, AutomationKind};
use tenure_core::time::Timestamp;
use tenure_core::working_set::{Reads, WorkingSet};

use crate::StoreError;
use crate::codec::{automation, text};
use crate::sqlite::Writer;
use crate::sqlite::read::all;
use crate::sqlite::rows::fault;

pub(super) fn automations(
    connection: &Connection,
    kind: AutomationKind,
    limit: usize,
) -> Result<Vec<Automation>, StoreError> {
    decoded(connection, include_str!("sql/automations.sql"), (kind.as_str(), limit as i64))
}

pub(super) fn due(
    connection: &Connection,
    kind: AutomationKind,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<Automation>, StoreError> {
    decoded(connection, include_str!("sql/due_automations.sql"), (kind.as_str(), now.0, limit as i64))
}

fn decoded(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<Automation>, StoreError> {
    all(connection, sql, params, |row| automation(&row.get::<_, String>(0).map_err(fault)?))
}

fn one(connection: &Connection, (kind, id): &AutomationId) -> Result<Option<Automation>, StoreError> {
    let mut statement = connection.prepare_cached(include_str!("sql/automation.sql")).map_err(fault)?;
    let found = statement.query_row((kind.as_str(), id.as_str()), |row| row.get::<_, String>(0));
    found.optional().map_err(fault)?.map(|body| automation(&body)).transpose()
}

impl Writer {
    pub(super) fn load_automations(&self, reads: &Reads, set: &mut WorkingSet) -> Result<(), StoreError> {
        for id in &reads.automations {
            set.automations.extend(one(&self.connection, id)?.map(|automation| (id.clone(), automation)));
        }
        Ok(())
    }

    pub(super) fn write_automations(&self, set: &WorkingSet) -> Result<(), StoreError> {
        for id in &set.changes.upserted.automations {
            let (kind, name) = (id.0.as_str(), id.1.as_str());
            let done = if let Some(automation) = set.automations.get(id) {
                let row = params![kind, name, automation.due_at().map(|at| at.0), text(automation)];
                self.statement(include_str!("sql/put_automation.sql"))?.execute(row)
            } else {
                self.statement(include_str!("sql/remove_automation.sql"))?.execute((kind, name))
            };
            done.map_err(fault)?;
        }
        Ok(())
    }
}
