//! All records of all jobs, page by page, for `verify`. A record that cannot be read is reported, not skipped.

use std::collections::HashMap;

use tenure_core::limits::PAGE_BYTES_MAX;
use tenure_core::working_set::JobChanges;
use tokio_postgres::Row;
use uuid::Uuid;

use super::connection::Connection;
use super::memory::{SaveLimit, Saving};
use super::read::{Reader, rows_max};
use super::rows::{SPEC_COLUMNS, decoded, get};
use super::statements::{
    ORPHANS, SCAN, SCAN_ACCOUNTS, SCAN_DEAD_LETTERS, SCAN_EVENTS, SCAN_LEDGER, SCAN_LOGS,
};
use super::*;
use crate::codec::corrupt;

/// Jobs whose other records are read at once.
const PORTION_JOBS: usize = 250;

/// The other records of a page of jobs.
#[derive(Default)]
struct Around {
    /// Of the events, about.
    bytes: usize,
    events: HashMap<Uuid, Vec<Result<Event>>>,
    dead_letters: HashMap<Uuid, Result<DeadLetter>>,
    ledger: HashMap<Uuid, Vec<LedgerLine>>,
    logs: HashMap<Uuid, (u64, u64)>,
}

impl Reader<'_> {
    pub(super) async fn scan(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Scanned>> {
        let after = after.map_or(Uuid::nil(), |id| id.0);
        let (rows, ids, mut around) = self.saved_page(after, limit).await?;
        let scanned = |(row, id): (&Row, Uuid)| {
            let record = around.record(id, job(row, id)).map_err(|error| error.to_string());
            Scanned { id: JobId(id), record }
        };
        Ok(rows.iter().zip(ids).map(scanned).collect())
    }

    /// A page of jobs with their other records. The rows of unfinished jobs follow the journal, and the records of a running system are
    /// consistent only as long as no batch commits: so the rest is saved and the page is read under the journal's lock.
    async fn saved_page(&self, after: Uuid, limit: usize) -> Result<(Vec<Row>, Vec<Uuid>, Around)> {
        transact::save_all(self.node).await?;
        let all = SaveLimit { all: true, jobs_max: usize::MAX };
        let (connection, loaded, saving) = loop {
            let Some((mut connection, loaded)) = transact::begin(self.node, &Reads::default()).await? else {
                continue;
            };
            match transact::saving(self.node, loaded.position, all, &JobChanges::default()) {
                Some(saving) => break (connection, loaded, saving),
                None => transact::roll_back(&mut connection).await?,
            }
        };
        match page(&connection, &saving, after, limit).await {
            Ok(page) => {
                transact::commit(connection).await?;
                if let Some(memory) = self.node.memory().as_mut() {
                    memory.saved(&saving, loaded.position);
                }
                Ok(page)
            }
            Err(fault) => Err(transact::give_up(connection, fault).await.into()),
        }
    }

    pub(super) async fn scan_accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<AccountSums>> {
        let after = after.unwrap_or_else(|| "".into());
        let mut found: Vec<AccountSums> = Vec::new();
        let rows = self.ask(&SCAN_ACCOUNTS, &[&after.as_str(), &rows_max(limit)]).await?;
        decoded(&rows, |row| {
            let user: &str = row.get()?;
            let amounts: [Option<u64>; 3] = [row.get()?, row.get()?, row.get()?];
            if found.last().is_none_or(|(last, ..)| *last != user) {
                let [granted, reserved, spent] = amounts.map(Option::unwrap_or_default);
                found.push((user.into(), Account { granted, reserved, spent }, Vec::new()));
            }
            if let (Some(_), Some((.., sums))) = (row.peek::<Option<&str>>()?, found.last_mut()) {
                sums.push((records::movement(row, user)?, row.get()?));
            }
            Ok(())
        })?;
        Ok(found)
    }

    pub(super) async fn orphans(&self, limit: usize) -> Result<Vec<String>> {
        decoded(&self.ask(&ORPHANS, &[&rows_max(limit)]).await?, |row| {
            let (table, id): (&str, Uuid) = (row.get()?, row.get()?);
            Ok(match table {
                "jobs without job_states" => format!("job {id} has no row in job_states"),
                table => format!("{table} has rows of job {id}, which does not exist"),
            })
        })
    }
}

async fn page(
    connection: &Connection,
    saving: &Saving,
    after: Uuid,
    limit: usize,
) -> Result<(Vec<Row>, Vec<Uuid>, Around), StatementFault> {
    write::save(connection, saving).await?;
    let bytes_max = PAGE_BYTES_MAX as i64;
    let mut rows = connection.query(&SCAN, &[&after, &rows_max(limit), &bytes_max]).await?;
    let mut ids = rows.iter().map(|row| get(row, 0)).collect::<Result<Vec<Uuid>>>()?;
    let (mut around, mut read) = (Around::default(), 0);
    for portion in ids.chunks(PORTION_JOBS) {
        read += portion.len();
        if around.read(connection, portion).await? >= PAGE_BYTES_MAX {
            break;
        }
    }
    rows.truncate(read);
    ids.truncate(read);
    Ok((rows, ids, around))
}

impl Around {
    /// Adds the other records of some jobs. Returns the bytes of all events so far, about.
    async fn read(&mut self, connection: &Connection, ids: &[Uuid]) -> Result<usize, StatementFault> {
        let around = self;
        let events = connection.query(&SCAN_EVENTS, &[&ids]).await?;
        around.bytes += events.iter().map(Row::raw_size_bytes).sum::<usize>();
        decoded(&events, |row| {
            around.events.entry(row.peek()?).or_default().push(codec::event(row));
            Ok(())
        })?;
        let letters = connection.query(&SCAN_DEAD_LETTERS, &[&ids]).await?;
        around.dead_letters.extend(decoded(&letters, |row| Ok((row.get()?, records::dead_letter(row))))?);
        for (_, line) in decoded(&connection.query(&SCAN_LEDGER, &[&ids]).await?, records::ledger_line)? {
            let job = line.job_id.expect("the statement finds lines by their jobs");
            around.ledger.entry(job.0).or_default().push(line);
        }
        let logs = connection.query(&SCAN_LOGS, &[&ids]).await?;
        around.logs.extend(decoded(&logs, |row| Ok((row.get()?, (row.get()?, row.get()?))))?);
        Ok(around.bytes)
    }

    fn record(&mut self, id: Uuid, job: Result<Arc<Job>>) -> Result<Record> {
        let events = self.events.remove(&id).unwrap_or_default();
        Ok(Record {
            job: job?,
            events: events.into_iter().collect::<Result<_, _>>()?,
            dead_letter: self.dead_letters.remove(&id).transpose()?,
            ledger: self.ledger.remove(&id).unwrap_or_default(),
            logs: self.logs.get(&id).copied().unwrap_or_default(),
        })
    }
}

/// A job, if it has a state row.
fn job(row: &Row, id: Uuid) -> Result<Arc<Job>> {
    let missing = || corrupt("job_states", id, "the row is not there");
    get::<Option<&str>>(row, SPEC_COLUMNS)?.ok_or_else(missing)?;
    decoded(std::slice::from_ref(row), codec::job)?.pop().ok_or_else(missing)
}
