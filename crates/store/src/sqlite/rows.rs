//! Rows of SQLite: reading, writing, and the classification of errors.

use rusqlite::types::ToSqlOutput;
use rusqlite::{CachedStatement, Connection, ErrorCode, Params, Row};

use crate::codec::{Interner, corrupt};
use crate::row::{AnyRow, Column, ColumnWriter, RowReader};
use crate::sqlite::files::NAME;
use crate::{Result, StoreError};

/// Only a commit can have an unknown outcome; see `sqlite::write`.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly,
            ) => Self::Unavailable(error.to_string()),
            Some(ErrorCode::SystemIoFailure) => Self::OutcomeUnknown(error.to_string()),
            // Without a code: a value that Tenure cannot have written.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) | None => {
                corrupt("file", NAME, &error.to_string())
            }
            Some(_) => Self::Statement(error.to_string()),
        }
    }
}

pub(crate) fn get<'r, T: Column<'r>>(row: &'r Row<'r>, column: usize) -> Result<T> {
    let value = T::from_sqlite(row.get_ref(column)?);
    Ok(value.map_err(rusqlite::Error::from)?)
}

/// Passes each row of a statement to `each`.
pub(super) fn for_each(
    connection: &Connection,
    names: &mut Interner,
    sql: &str,
    values: impl Params,
    mut each: impl FnMut(&mut RowReader<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        each(&mut RowReader::new(AnyRow::Sqlite(row), names))?;
    }
    Ok(())
}

/// The decoded rows of a statement.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    mut decode: impl FnMut(&mut RowReader<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut found = Vec::new();
    for_each(connection, &mut Interner::default(), sql, values, |row| {
        found.push(decode(row)?);
        Ok(())
    })?;
    Ok(found)
}

/// The decoded row of a statement that finds at most one.
pub(super) fn first<T>(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    decode: impl FnOnce(&mut RowReader<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut names = Interner::default();
    rows.next()?.map(|row| decode(&mut RowReader::new(AnyRow::Sqlite(row), &mut names))).transpose()
}

/// Binds the columns of one record after another to a statement.
pub(super) struct RowWriter<'c, R> {
    statement: CachedStatement<'c>,
    row: R,
    next: usize,
    bound: rusqlite::Result<()>,
}

impl<'a, R: Copy> ColumnWriter<'a, R> for RowWriter<'_, R> {
    fn with<T: Column<'a>>(&mut self, value: impl Fn(R) -> T) -> &mut Self {
        self.next += 1;
        if self.bound.is_ok() {
            let value = value(self.row);
            let value = ToSqlOutput::Borrowed(value.to_sqlite());
            self.bound = self.statement.raw_bind_parameter(self.next, value);
        }
        self
    }
}

/// Executes a statement for each record, and passes the number of changed rows to `check`.
pub(super) fn put_each<'c, R: Copy>(
    connection: &'c Connection,
    sql: &str,
    rows: impl IntoIterator<Item = R>,
    columns: impl FnMut(&mut RowWriter<'c, R>),
    check: impl Fn(R, usize) -> Result<()>,
) -> Result<()> {
    bind_each(connection, sql, rows, columns, |row, statement| check(row, statement.raw_execute()?))
}

/// Runs a query for each key, and passes its rows to `take`.
pub(super) fn load_each<'c, K: Copy>(
    connection: &'c Connection,
    sql: &str,
    keys: impl IntoIterator<Item = K>,
    columns: impl FnMut(&mut RowWriter<'c, K>),
    mut take: impl FnMut(&mut RowReader<'_>) -> Result<()>,
) -> Result<()> {
    let mut names = Interner::default();
    bind_each(connection, sql, keys, columns, |_, statement| {
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            take(&mut RowReader::new(AnyRow::Sqlite(row), &mut names))?;
        }
        Ok(())
    })
}

/// Binds the columns of each record to a statement, and passes it to `run`.
fn bind_each<'c, R: Copy>(
    connection: &'c Connection,
    sql: &str,
    rows: impl IntoIterator<Item = R>,
    mut columns: impl FnMut(&mut RowWriter<'c, R>),
    mut run: impl FnMut(R, &mut CachedStatement<'c>) -> Result<()>,
) -> Result<()> {
    let mut rows = rows.into_iter();
    let Some(row) = rows.next() else { return Ok(()) };
    let statement = connection.prepare_cached(sql)?;
    let mut writer = RowWriter { statement, row, next: 0, bound: Ok(()) };
    loop {
        columns(&mut writer);
        std::mem::replace(&mut writer.bound, Ok(()))?;
        run(writer.row, &mut writer.statement)?;
        let Some(row) = rows.next() else { return Ok(()) };
        (writer.row, writer.next) = (row, 0);
    }
}
