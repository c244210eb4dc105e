//! A new database for each measurement, and what its server counts.

use std::process::{Child, Command, Stdio};
use std::time::UNIX_EPOCH;

use anyhow::{Context as _, Result, ensure};

/// A database that a measurement has created. It is not dropped.
#[derive(Debug)]
pub(super) struct Database(String);

/// What the server has counted since the database was created.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    /// Bytes of the write-ahead log.
    pub(super) wal_bytes: u64,
    /// Rows that were updated or deleted: each leaves a dead one behind.
    pub(super) dead_rows: u64,
}

const COUNTED: &str = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, \
    (select coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint from pg_stat_user_tables)";
const PIN: &str =
    "begin isolation level repeatable read; select count(*) from pg_class; select pg_sleep(86400)";

impl Database {
    pub(super) fn create(server: &str) -> Result<Self> {
        let name = format!("bench_{}_{}", std::process::id(), UNIX_EPOCH.elapsed()?.as_millis());
        psql(server, &format!("create database {name}"))?;
        let (server, _) =
            server.rsplit_once('/').context("the database URL does not end with a database name")?;
        Ok(Self(format!("{server}/{name}")))
    }

    pub(super) fn url(&self) -> &str {
        &self.0
    }

    /// Sessions report to the server's counters at most once a second.
    pub(super) fn counted(&self) -> Result<Counted> {
        let text = psql(&self.0, COUNTED)?;
        let (wal, rows) = text.trim().split_once('|').context("psql printed no counters")?;
        Ok(Counted { wal_bytes: wal.parse()?, dead_rows: rows.parse()? })
    }

    /// Holds a snapshot until the result is dropped, as a backup or a report does.
    pub(super) fn pin_snapshot(&self) -> Result<Snapshot> {
        let mut command = command(&self.0, PIN);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(Snapshot(command.spawn().context("psql cannot be started")?))
    }
}

pub(super) struct Snapshot(Child);

impl Drop for Snapshot {
    fn drop(&mut self) {
        drop(self.0.kill().and_then(|()| self.0.wait()));
    }
}

fn command(url: &str, sql: &str) -> Command {
    let mut command = Command::new("psql");
    command.args([url, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command", sql]);
    command
}

fn psql(url: &str, sql: &str) -> Result<String> {
    let output = command(url, sql).output().context("psql cannot be started")?;
    ensure!(output.status.success(), "psql: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
