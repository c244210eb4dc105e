//! Follows the journal: brings the memory of this node up to the present, which other nodes may have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenure_core::flow::{FlowRecord, FlowRecordKind};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Node;
use super::clock::{self, Reading};
use super::connection::{Connection, Params, Rows, Sent, Sql, answered};
use super::error::StatementFault;
use super::memory::{Followed, JobMemory};
use super::rows::{decoded, get, one};
use super::statements::{
    FLOW_RECORDS, HAS_RECORD, LAST_RECORD, LOAD_REFERENCED, NOW_BATCH, OPEN, OPEN_READY, TAIL, TAIL_CHANGES,
};
use super::tail::{JournalTail, TAIL_BYTES_MAX, TAIL_ROWS_MAX};
use crate::codec;
use crate::prelude::*;
use crate::{Result, records};

/// One snapshot for all statements.
const BEGIN: &str = "begin isolation level repeatable read, read only; set local statement_timeout = 8000";
/// The same for a node that starts, which may read many jobs.
const BEGIN_LONG: &str =
    "begin isolation level repeatable read, read only; set local statement_timeout = 600000";
/// Rows that are read at once when a node starts.
const OPEN_ROWS_MAX: i64 = 20_000;
/// Bytes of jobs that are read at once when a node starts, besides those of the last one.
const OPEN_BYTES_MAX: i64 = 8 << 20;

/// The present, besides jobs.
#[derive(Debug)]
pub(super) struct Present {
    pub(super) reading: Reading,
    pub(super) paused: BTreeSet<QueueName>,
    saved: i64,
    pruned: i64,
    /// The version of the records of flow control.
    flow: i64,
}

impl Present {
    /// A row of `now_batch`.
    pub(super) fn of(rows: &[Row]) -> Result<Self> {
        let row = one(rows, &NOW_BATCH)?;
        let paused: Vec<&str> = get(row, 4)?;
        let paused = paused.into_iter().map(Into::into).collect();
        Ok(Self {
            reading: Reading::of(row)?,
            paused,
            saved: get(row, 5)?,
            pruned: get(row, 6)?,
            flow: get(row, 7)?,
        })
    }
}

/// Requests for the end of the journal, which are already sent.
pub(super) struct TailRequests<'a> {
    events: Sent<'a, Rows>,
    changes: Sent<'a, Rows>,
}

impl<'a> TailRequests<'a> {
    pub(super) fn send(connection: &'a Connection, params: &'a Params<'a>) -> Self {
        Self { events: connection.send(&TAIL, params), changes: connection.send(&TAIL_CHANGES, params) }
    }

    pub(super) async fn receive(self) -> Result<JournalTail, StatementFault> {
        let (events, changes) = (self.events.await?, self.changes.await?);
        Ok(JournalTail::of(&events, &changes)?)
    }
}

/// How far a memory has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has every record.
    Present,
    /// There are more records.
    More,
    /// It cannot follow from its position: changes after it are pruned, or the database has lost records.
    Lost,
}

/// Whether the database has the last record of a memory. After a failover to a server that had not received every commit, it may not.
async fn is_known_here(connection: &Connection, followed: Followed) -> Result<bool, StatementFault> {
    let Some((position, job)) = followed.last else { return Ok(true) };
    let rows = connection.query(&HAS_RECORD, &[&position, &job.0]).await?;
    Ok(get(one(&rows, &HAS_RECORD)?, 0)?)
}

/// Applies records to the memory, after reading the jobs of which it has only the indexes, in the same snapshot or under the same
/// lock. `followed` is what the memory had before that began.
pub(super) async fn apply(
    connection: &Connection,
    node: &Node,
    followed: Followed,
    present: &Present,
    tail: JournalTail,
) -> Result<Progress, StatementFault> {
    let is_known = !connection.must_check_memory() || is_known_here(connection, followed).await?;
    if !is_known || followed.position < present.pruned {
        return Ok(Progress::Lost);
    }
    let incomplete = node.memory().as_ref().map(|memory| memory.only_indexed(&tail)).unwrap_or_default();
    let rows = jobs(connection, &incomplete).await?;
    let knows_flow = node.memory().as_ref().is_none_or(|memory| memory.flow >= present.flow);
    let records =
        if knows_flow { None } else { Some(flow_records(connection, FlowRecordKind::Level.as_str()).await?) };
    let mut memory = node.memory();
    let Some(memory) = memory.as_mut().filter(|memory| memory.position >= followed.position) else {
        return Ok(Progress::More);
    };
    if !incomplete.is_empty() && memory.position != followed.position {
        // Rows of this snapshot may be older than the memory now.
        return Ok(Progress::More);
    }
    take_rows(memory, incomplete, rows);
    let is_cut = memory.apply(tail);
    if is_cut {
        return Ok(Progress::More);
    }
    if let Some(records) = records.filter(|_| memory.flow < present.flow) {
        memory.live.open_flow(&records);
        memory.flow = present.flow;
    }
    memory.saved_until(present.saved);
    Ok(Progress::Present)
}

/// Completes jobs from their rows. One whose row cannot be read is not claimed.
fn take_rows(memory: &mut JobMemory, wanted: BTreeSet<JobId>, mut rows: BTreeMap<JobId, Arc<Job>>) {
    for id in wanted {
        match rows.remove(&id) {
            Some(job) => memory.put_complete(job),
            None => memory.exclude(id),
        }
    }
}

/// The records of flow control except those of one kind.
async fn flow_records(connection: &Connection, kind: &str) -> Result<Vec<FlowRecord>, StatementFault> {
    Ok(decoded(&connection.query_long(&FLOW_RECORDS, &[&kind]).await?, records::flow_record)?)
}

/// Jobs by their rows. Those that cannot be read are logged and left out.
pub(super) async fn jobs(
    connection: &Connection,
    ids: &BTreeSet<JobId>,
) -> Result<BTreeMap<JobId, Arc<Job>>, StatementFault> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    let rows = connection.query(&LOAD_REFERENCED, &[&ids]).await?;
    let mut found = BTreeMap::new();
    for row in &rows {
        match decoded(std::slice::from_ref(row), codec::job) {
            Ok(job) => found.extend(job.into_iter().map(|job| (job.id(), job))),
            Err(error) => tracing::error!(%error, "job not readable"),
        }
    }
    Ok(found)
}

/// Brings the memory up to a moment after the call. Every read of unfinished jobs begins with it.
pub(super) async fn catch_up(node: &Node) -> Result<Present, StatementFault> {
    loop {
        let Some(followed) = node.followed() else {
            open(node).await?;
            continue;
        };
        let mut connection = node.readers.lookups.get().await?;
        let params: &Params<'_> = &[&followed.position, &TAIL_ROWS_MAX, &TAIL_BYTES_MAX];
        let (present, tail) = answered(async {
            let begin = connection.send_transaction(BEGIN);
            let now = connection.send(&NOW_BATCH, &[]);
            let tail = TailRequests::send(&connection, params);
            begin.await?;
            Ok((Present::of(&now.await?)?, tail.receive().await?))
        })
        .await?;
        let applied = apply(&connection, node, followed, &present, tail).await?;
        connection.batch("commit").await?;
        if present.reading.is_outage() {
            clock::count_outage(&connection, present.reading).await?;
            connection.release();
            continue;
        }
        connection.release();
        drop(connection);
        match applied {
            Progress::Present => {
                let reading = node.clock.seen(present.reading);
                return Ok(Present { reading, ..present });
            }
            Progress::More => {}
            Progress::Lost => open_again(node).await?,
        }
    }
}

/// Replaces a memory that cannot follow the journal. Of several calls one does, so that the jobs are not in memory more than twice.
pub(super) async fn open_again(node: &Node) -> Result<(), StatementFault> {
    let lost = node.followed();
    let _opening = node.opening.lock().await;
    if node.followed() == lost {
        tracing::info!("unfinished jobs read again; journal records after this node's position missing");
        *node.memory() = Some(read_memory(node).await?);
    }
    Ok(())
}

/// Reads the unfinished jobs, unless another call does so meanwhile.
async fn open(node: &Node) -> Result<(), StatementFault> {
    let _opening = node.opening.lock().await;
    if node.followed().is_none() {
        *node.memory() = Some(read_memory(node).await?);
    }
    Ok(())
}

/// The unfinished jobs, from their rows and from the journal after the saved position.
async fn read_memory(node: &Node) -> Result<JobMemory, StatementFault> {
    let mut connection = node.readers.lookups.get().await?;
    connection.begin(BEGIN_LONG).await?;
    let present = Present::of(&connection.query_long(&NOW_BATCH, &[]).await?)?;
    let mut memory = JobMemory::new(present.saved);
    memory.limit_memory(node.process_bytes.load(Ordering::Relaxed));
    open_rows(&connection, &OPEN_READY, &[], |row| {
        for ready in decoded(std::slice::from_ref(row), records::ready_job)? {
            memory.live.put_ready(ready);
        }
        Ok(())
    })
    .await?;
    open_rows(&connection, &OPEN, &[&OPEN_BYTES_MAX], |row| {
        for job in decoded(std::slice::from_ref(row), codec::job)? {
            memory.live.put(job);
        }
        Ok(())
    })
    .await?;
    loop {
        let params: &Params<'_> = &[&memory.position, &TAIL_ROWS_MAX, &TAIL_BYTES_MAX];
        let (events, changes) = (
            connection.query_long(&TAIL, params).await?,
            connection.query_long(&TAIL_CHANGES, params).await?,
        );
        let tail = JournalTail::of(&events, &changes)?;
        let incomplete = memory.only_indexed(&tail);
        let rows = jobs(&connection, &incomplete).await?;
        take_rows(&mut memory, incomplete, rows);
        if !memory.apply(tail) {
            break;
        }
    }
    if memory.last.is_none() {
        for row in &connection.query_long(&LAST_RECORD, &[]).await? {
            memory.last = Some((get(row, 0)?, JobId(get(row, 1)?)));
        }
    }
    memory.live.open_flow(&flow_records(&connection, "").await?);
    memory.flow = present.flow;
    connection.batch("commit").await?;
    connection.release();
    Ok(memory)
}

/// Passes each row of `open` or `open_ready` to `take`. One that cannot be read is logged and left out.
async fn open_rows(
    connection: &Connection,
    sql: &Sql,
    more_params: &Params<'_>,
    mut take: impl FnMut(&Row) -> Result<()>,
) -> Result<(), StatementFault> {
    let ready = Phase::Ready.as_str();
    let mut after = Uuid::nil();
    loop {
        let params: &Params<'_> = &[&ready, &after, &OPEN_ROWS_MAX];
        let rows = connection.query_long(sql, &[params, more_params].concat()).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in &rows {
            after = get(row, 0)?;
            if let Err(error) = take(row) {
                tracing::error!(job = %JobId(after), %error, "unfinished job not readable");
            }
        }
    }
}
