//! All records of all jobs for `verify`, page by page, one snapshot per page.

use std::sync::Arc;

use rusqlite::{Connection, params};
use tenure_core::credit::Movement;
use tenure_core::fold::Record;
use tenure_core::id::{JobId, UserId};
use tenure_core::job::Job;

use crate::codec::Interner;
use crate::sqlite::load;
use crate::sqlite::read::{all, history};
use crate::sqlite::rows::{fault, ledger_line, uuid};
use crate::{Scanned, StoreError};

pub(super) fn jobs(
    connection: &Connection,
    after: Option<JobId>,
    limit: usize,
) -> Result<Vec<Scanned>, StoreError> {
    // One snapshot, so that the records of a running system are consistent.
    let snapshot = connection.unchecked_transaction().map_err(fault)?;
    let mut names = Interner::default();
    let after = after.map_or_else(Vec::new, |JobId(id)| id.as_bytes().to_vec());
    let found = all(&snapshot, include_str!("sql/scan.sql"), params![after, limit as i64], |row| {
        Ok((JobId(uuid(row, 0).map_err(fault)?), load::decode(row, &mut names)))
    })?;
    let scanned = |(id, job): (JobId, Result<Job, StoreError>)| {
        let record = job.and_then(|job| record(&snapshot, job)).map_err(|error| error.to_string());
        Scanned { id, record }
    };
    Ok(found.into_iter().map(scanned).collect())
}

fn record(connection: &Connection, job: Job) -> Result<Record, StoreError> {
    let id = job.id();
    let bytes = id.0.as_bytes().as_slice();
    let ledger_sql = include_str!("sql/ledger_of_job.sql");
    let ledger = all(connection, ledger_sql, [bytes], |row| Ok(ledger_line(row).map_err(fault)?.1))?;
    let mut logs = connection.prepare_cached(include_str!("sql/log_count.sql")).map_err(fault)?;
    let logs =
        logs.query_row([bytes], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64)));
    Ok(Record {
        events: history(connection, id)?,
        dead_letter: load::dead_letter(connection, id)?,
        ledger,
        logs: logs.map_err(fault)?,
        job: Arc::new(job),
    })
}

pub(super) fn accounts(
    connection: &Connection,
    after: Option<&UserId>,
    limit: usize,
) -> Result<Vec<crate::AccountSums>, StoreError> {
    let snapshot = connection.unchecked_transaction().map_err(fault)?;
    let after = after.map_or("", UserId::as_str);
    let users = all(&snapshot, include_str!("sql/scan_accounts.sql"), params![after, limit as i64], |row| {
        row.get::<_, String>(0).map(Into::into).map_err(fault)
    })?;
    let with_sums = |user: UserId| {
        let sums = all(&snapshot, include_str!("sql/ledger_sums.sql"), [user.as_str()], |row| {
            let kind: String = row.get(0).map_err(fault)?;
            let kind =
                Movement::parse(&kind).ok_or_else(|| crate::codec::corrupt("ledger", &user, "kind"))?;
            Ok((kind, row.get::<_, i64>(1).map_err(fault)? as u64))
        })?;
        Ok((user.clone(), load::account(&snapshot, &user)?.unwrap_or_default(), sums))
    };
    users.into_iter().map(with_sums).collect()
}

pub(super) fn orphans(connection: &Connection, limit: usize) -> Result<Vec<String>, StoreError> {
    let mut found =
        all(connection, "pragma integrity_check(10)", [], |row| row.get::<_, String>(0).map_err(fault))?;
    found.retain(|line| line != "ok");
    found.extend(all(connection, include_str!("sql/orphans.sql"), [limit as i64], |row| {
        let (table, id): (String, _) = (row.get(0).map_err(fault)?, uuid(row, 1).map_err(fault)?);
        Ok(format!("{table}: rows of job {id}, which is not whole"))
    })?);
    Ok(found)
}
