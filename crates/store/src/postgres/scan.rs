//! All records of all jobs, page by page, for `verify`. A record that cannot be read is reported, not skipped.

use std::collections::HashMap;
use std::sync::Arc;

use tenure_core::credit::{Account, LedgerLine, Movement};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::event::Event;
use tenure_core::fold::Record;
use tenure_core::id::{JobId, UserId};
use tenure_core::job::Job;
use tokio_postgres::Row;
use uuid::Uuid;

use super::Node;
use super::read::rows_max;
use super::rows::{self, SPEC_COLUMNS, get};
use super::statements::{
    LOAD_DEAD_LETTERS, ORPHANS, SCAN, SCAN_ACCOUNTS, SCAN_EVENTS, SCAN_LEDGER, SCAN_LOGS,
};
use crate::codec::{Interner, corrupt};
use crate::{Scanned, StoreError};

/// The sums of a ledger by kind.
type Sums = Vec<(Movement, u64)>;

/// The other records of a page of jobs.
#[derive(Default)]
struct Around {
    events: HashMap<Uuid, Vec<Result<Event, StoreError>>>,
    dead_letters: HashMap<Uuid, Result<DeadLetter, StoreError>>,
    ledger: HashMap<Uuid, Vec<LedgerLine>>,
    logs: HashMap<Uuid, (u64, u64)>,
}

impl Node {
    pub(super) async fn scan(&self, after: Option<JobId>, limit: usize) -> Result<Vec<Scanned>, StoreError> {
        let after = after.map_or(Uuid::nil(), |id| id.0);
        let jobs = self.ask(&SCAN, &[&after, &rows_max(limit)]).await?;
        let ids = jobs.iter().map(|row| get(row, 0)).collect::<Result<Vec<Uuid>, _>>()?;
        let mut names = Interner::default();
        let mut around = self.around(&ids, &mut names).await?;
        let scanned = |(row, id): (&Row, &Uuid)| {
            let record = around.record(*id, job(row, &mut names));
            Scanned { id: JobId(*id), record: record.map_err(|error| error.to_string()) }
        };
        Ok(jobs.iter().zip(&ids).map(scanned).collect())
    }

    async fn around(&self, ids: &[Uuid], names: &mut Interner) -> Result<Around, StoreError> {
        let mut around = Around::default();
        for row in &self.ask(&SCAN_EVENTS, &[&ids]).await? {
            around.events.entry(get(row, 0)?).or_default().push(rows::event(row, names));
        }
        for row in &self.ask(&LOAD_DEAD_LETTERS, &[&ids]).await? {
            around.dead_letters.insert(get(row, 0)?, rows::dead_letter(get(row, 1)?));
        }
        for row in &self.ask(&SCAN_LEDGER, &[&ids]).await? {
            let (_, line) = rows::ledger_line(row)?;
            around.ledger.entry(get(row, 5)?).or_default().push(line);
        }
        for row in &self.ask(&SCAN_LOGS, &[&ids]).await? {
            around.logs.insert(get(row, 0)?, (get::<i64>(row, 1)? as u64, get::<i64>(row, 2)? as u64));
        }
        Ok(around)
    }

    pub(super) async fn scan_accounts(
        &self,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<(UserId, Account, Sums)>, StoreError> {
        let after = after.unwrap_or_else(|| "".into());
        let mut found: Vec<(UserId, Account, Sums)> = Vec::new();
        for row in &self.ask_long(&SCAN_ACCOUNTS, &[&after.as_str(), &rows_max(limit)]).await? {
            let user: &str = get(row, 0)?;
            if found.last().is_none_or(|(last, ..)| *last != user) {
                let has_account = get::<Option<i64>>(row, 1)?.is_some();
                let account = if has_account { rows::amounts(row, 1)? } else { Account::default() };
                found.push((user.into(), account, Vec::new()));
            }
            if let (Some(kind), Some((.., sums))) = (get::<Option<&str>>(row, 4)?, found.last_mut()) {
                let kind = Movement::parse(kind).ok_or_else(|| corrupt("ledger", user, "kind"))?;
                sums.push((kind, get::<i64>(row, 5)? as u64));
            }
        }
        Ok(found)
    }

    pub(super) async fn orphans(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        let orphan = |row: &Row| {
            let (table, id) = (get::<&str>(row, 0)?, get::<Uuid>(row, 1)?);
            Ok(match table {
                "jobs without job_states" => format!("job {id} has no row in job_states"),
                table => format!("{table} has rows of job {id}, which does not exist"),
            })
        };
        self.ask_long(&ORPHANS, &[&rows_max(limit)]).await?.iter().map(orphan).collect()
    }
}

impl Around {
    fn record(&mut self, id: Uuid, job: Result<Arc<Job>, StoreError>) -> Result<Record, StoreError> {
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
fn job(row: &Row, names: &mut Interner) -> Result<Arc<Job>, StoreError> {
    match get::<Option<&str>>(row, SPEC_COLUMNS)? {
        Some(_) => rows::job(row, names),
        None => Err(corrupt("job_states", get::<Uuid>(row, 0)?, "the row is not there")),
    }
}
