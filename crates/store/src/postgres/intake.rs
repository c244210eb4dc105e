//! The intake of a PostgreSQL database: table, functions and role, and the pages that nodes read. `tenure intake install` creates the
//! same in the database of an application.

use std::time::Duration;

use tenure_core::intake::IntakePlace;
use tokio_postgres::Row;

use super::connection::{Connection, Sql};
use super::error::StatementFault;
use super::pool::Pool;
use super::read::rows_max;
use super::rows::{get, one};
use super::schema::SchemaName;
use super::statements::{INTAKE_INSTALLED, INTAKE_PAGE};
use crate::Result;
use crate::codec::corrupt;
use crate::intake::{
    CommittedRequest, EnqueueRequest, INTAKE_BYTES_MAX, INTAKE_ROWS_MAX, IntakeCursor, IntakePage,
    RequestKind, Snapshot,
};
use crate::prelude::*;

/// The comment on the table that the last file of [`INSTALL`] writes.
const VERSION: &str = "tenure intake 1";

/// Creates table and functions, in this order.
const INSTALL: [&str; 6] = [
    include_str!("intake/now_table.sql"),
    include_str!("intake/now_new_id.sql"),
    include_str!("intake/enqueue.sql"),
    include_str!("intake/cancel.sql"),
    include_str!("intake/signal.sql"),
    include_str!("intake/rights.sql"),
];
/// Time limit of a page.
const PAGE_MAX: Duration = Duration::from_secs(10);
/// Time limit of a page that begins with the oldest request: it passes the dead rows of all requests since the beginning of the
/// oldest snapshot.
const FIRST_PAGE_MAX: Duration = Duration::from_mins(2);
const ROLE: &str = include_str!("intake/role.sql");

/// The SQL that creates the intake, for an administrator.
pub(super) fn script(schema: &SchemaName) -> String {
    let create = format!("create schema if not exists {};\n", schema.quoted());
    create + &INSTALL.iter().chain([&ROLE]).map(|part| named(part, schema)).collect::<Vec<_>>().join("\n")
}

/// A script of the default schema for another.
fn named(script: &str, schema: &SchemaName) -> String {
    script.replace("\"tenure\"", &schema.quoted()).replace("tenure_producer", &schema.producer())
}

/// Creates what is missing, within a transaction on the schema. Without the right to create roles, everything but the role.
pub(super) async fn install(connection: &Connection, schema: &SchemaName) -> Result<(), StatementFault> {
    let (producer, name) = (schema.producer(), schema.as_str());
    let rows = connection.query_long(&INTAKE_INSTALLED, &[&producer, &name]).await?;
    let row = one(&rows, &INTAKE_INSTALLED)?;
    let (version, has_role): (Option<String>, bool) = (get(row, 0)?, get(row, 1)?);
    if version.as_deref() != Some(VERSION) {
        for part in INSTALL {
            connection.batch_long(&named(part, schema)).await?;
        }
        connection.batch(&schema.search_path()).await?;
    }
    if !has_role {
        connection.batch("savepoint role").await?;
        if let Err(fault) = connection.batch(&named(ROLE, schema)).await {
            let StatementFault::Failed(error) = fault else { return Err(fault) };
            connection.batch("rollback to savepoint role").await?;
            tracing::warn!(
                role = producer,
                %error,
                "role for producers not created: run the SQL of \"tenure intake install --print\" as an administrator"
            );
        }
    }
    Ok(())
}

/// The requests after a cursor.
pub(super) async fn page(pool: &Pool, cursor: &IntakeCursor) -> Result<IntakePage> {
    let IntakePlace { transaction, number } = cursor.after();
    let mut connection = pool.get().await?;
    let params: &super::connection::Params<'_> = &[
        &cursor.settled.end,
        &cursor.settled.running,
        &transaction,
        &number,
        &rows_max(INTAKE_ROWS_MAX),
        &rows_max(INTAKE_BYTES_MAX),
    ];
    let most = if cursor.is_first() { FIRST_PAGE_MAX } else { PAGE_MAX };
    let Sql { text, types } = &INTAKE_PAGE;
    let rows = connection.query_within(most, "begin", text, params, types).await?;
    connection.release();
    let snapshot: &str = get(one(&rows, &INTAKE_PAGE)?, 0)?;
    let snapshot = Snapshot::parse(snapshot).ok_or_else(|| corrupt("intake", snapshot, "not a snapshot"))?;
    if snapshot.end < cursor.settled.end {
        // Another server, which has not seen these transactions.
        return Ok(IntakePage { requests: Vec::new(), next: IntakeCursor::default() });
    }
    let requests = rows.iter().filter_map(|row| request(row).transpose()).collect::<Result<Vec<_>>>()?;
    let next = cursor.advance(snapshot, &requests);
    Ok(IntakePage { requests, next })
}

/// `None` for the row of an empty page.
fn request(row: &Row) -> Result<Option<CommittedRequest>> {
    let Some(transaction) = get(row, 1)? else { return Ok(None) };
    let (name, body): (String, Option<String>) = (get(row, 8)?, get(row, 9)?);
    let kind = match get(row, 3)? {
        "enqueue" => RequestKind::Enqueue(Box::new(EnqueueRequest {
            job_type: name,
            payload: body.unwrap_or_else(|| "{}".to_owned()),
            idempotency_key: get(row, 10)?,
            queue: get(row, 11)?,
            priority: get(row, 12)?,
            run_at: get::<Option<i64>>(row, 13)?.map(Timestamp),
            user_id: get(row, 14)?,
            correlation_id: get(row, 15)?,
        })),
        "cancel" => RequestKind::Cancel { hard: name == "hard", reason: body },
        _ => RequestKind::Signal { name, note: body },
    };
    Ok(Some(CommittedRequest {
        place: IntakePlace { transaction, number: get(row, 2)? },
        job: JobId(get(row, 4)?),
        receipt: JobId(get(row, 5)?),
        requested_by: get(row, 6)?,
        requested_at: Timestamp(get(row, 7)?),
        kind,
    }))
}
