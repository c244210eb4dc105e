//! All records of all jobs for `verify`, page by page, one snapshot per page.

use std::sync::Arc;

use rusqlite::{Connection, params};
use tenure_core::limits::PAGE_BYTES_MAX;

use crate::codec::Interner;
use crate::prelude::*;
use crate::row::{AnyRow, RowReader};
use crate::sqlite::load;
use crate::sqlite::rows::all;
use crate::{AccountSums, Result, Scanned, codec, records, row};

pub(super) fn jobs(connection: &Connection, after: Option<JobId>, limit: usize) -> Result<Vec<Scanned>> {
    // One snapshot, so that the records of a running system are consistent.
    let snapshot = connection.unchecked_transaction()?;
    let after = after.map_or_else(Vec::new, |JobId(id)| id.as_bytes().to_vec());
    let mut statement = snapshot.prepare_cached(include_str!("sql/scan.sql"))?;
    let mut rows = statement.query(params![after, limit as i64])?;
    let (mut found, mut bytes, mut names) = (Vec::new(), 0, Interner::default());
    while bytes < PAGE_BYTES_MAX
        && let Some(row) = rows.next()?
    {
        let mut row = RowReader::new(AnyRow::Sqlite(row), &mut names);
        let id = JobId(row.peek()?);
        let record = codec::job(&mut row).and_then(|job| record(&snapshot, job));
        bytes += record.as_ref().map_or(0, Record::bytes);
        found.push(Scanned { id, record: record.map_err(|error| error.to_string()) });
    }
    Ok(found)
}

fn record(connection: &Connection, job: Arc<Job>) -> Result<Record> {
    let id = job.id();
    let bytes = id.0.as_bytes().as_slice();
    let ledger = all(connection, include_str!("sql/ledger_of_job.sql"), [bytes], records::ledger_line)?;
    let mut logs = connection.prepare_cached(include_str!("sql/log_count.sql"))?;
    let count = |row: &rusqlite::Row<'_>, column| row.get::<_, i64>(column).map(|count| count as u64);
    Ok(Record {
        events: all(connection, include_str!("sql/scan_events.sql"), [bytes], codec::event)?,
        dead_letter: load::dead_letter(connection, id)?,
        ledger: ledger.into_iter().map(|(_, line)| line).collect(),
        logs: logs.query_row([bytes], |row| Ok((count(row, 0)?, count(row, 1)?)))?,
        job,
    })
}

pub(super) fn accounts(
    connection: &Connection,
    after: Option<&UserId>,
    limit: usize,
) -> Result<Vec<AccountSums>> {
    let snapshot = connection.unchecked_transaction()?;
    let values = params![after.map_or("", UserId::as_str), limit as i64];
    let users = all(&snapshot, include_str!("sql/scan_accounts.sql"), values, records::user)?;
    let with_sums = |user: UserId| {
        let sums = all(&snapshot, include_str!("sql/ledger_sums.sql"), [user.as_str()], |row| {
            Ok((records::movement(row, &user)?, row.get()?))
        })?;
        Ok((user.clone(), load::account(&snapshot, &user)?.unwrap_or_default(), sums))
    };
    users.into_iter().map(with_sums).collect()
}

pub(super) fn orphans(connection: &Connection, limit: usize) -> Result<Vec<String>> {
    let mut found: Vec<String> = all(connection, "pragma integrity_check(10)", [], row::value)?;
    found.retain(|line| line != "ok");
    found.extend(all(connection, include_str!("sql/orphans.sql"), [limit as i64], |row| {
        let (table, id): (&str, uuid::Uuid) = (row.get()?, row.get()?);
        Ok(format!("{table}: rows of job {id}, which is not whole"))
    })?);
    Ok(found)
}
