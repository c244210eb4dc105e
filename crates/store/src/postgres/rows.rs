//! Reading rows of PostgreSQL, and sending the records of a batch as columns.

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use super::connection::Sql;
use crate::Result;
use crate::codec::{Interner, corrupt};
use crate::row::{AnyRow, ArrayElement as _, Column, ColumnWriter, RowReader};

/// A column of one of our statements: it exists and has the expected type.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|error| corrupt("column", column, &super::error::text(&error)))
}

/// The only row of a statement's result.
pub(super) fn one<'a>(rows: &'a [Row], sql: &Sql) -> Result<&'a Row> {
    rows.first().ok_or_else(|| corrupt("result of", name(sql), "it has no row"))
}

/// The name of a statement: its text begins with it.
fn name(sql: &Sql) -> &str {
    sql.text.trim_start_matches("-- ").split(':').next().unwrap_or_default()
}

/// Passes each row to `each`.
pub(super) fn for_each(
    rows: &[Row],
    names: &mut Interner,
    mut each: impl FnMut(&mut RowReader<'_>) -> Result<()>,
) -> Result<()> {
    rows.iter().try_for_each(|row| each(&mut RowReader::new(AnyRow::Postgres(row), names)))
}

/// Decodes each row.
pub(super) fn decoded<T>(
    rows: &[Row],
    mut decode: impl FnMut(&mut RowReader<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut names = Interner::default();
    rows.iter().map(|row| decode(&mut RowReader::new(AnyRow::Postgres(row), &mut names))).collect()
}

/// The number of columns of `jobs` before those of `job_states`.
pub(super) const SPEC_COLUMNS: usize = 17;

pub(super) type Param<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// The records of a batch as columns: one array per parameter of an `unnest`.
pub(super) struct ColumnArrays<'a, R> {
    pub(super) rows: Vec<R>,
    pub(super) params: Vec<Param<'a>>,
    pub(super) types: Vec<Type>,
}

impl<'a, R: Copy> ColumnArrays<'a, R> {
    /// `None` without records.
    pub(super) fn of(rows: impl IntoIterator<Item = R>, columns: impl FnOnce(&mut Self)) -> Option<Self> {
        let mut arrays = Self { rows: rows.into_iter().collect(), params: Vec::new(), types: Vec::new() };
        if arrays.rows.is_empty() {
            return None;
        }
        columns(&mut arrays);
        Some(arrays)
    }

    /// The statement for these records.
    pub(super) fn request(self, text: &'static str) -> Request<'a> {
        Request { sql: Sql { text, types: self.types.into() }, params: self.params }
    }
}

/// A statement and its parameters.
pub(super) struct Request<'a> {
    pub(super) sql: Sql,
    pub(super) params: Vec<Param<'a>>,
}

impl<'a, R: Copy> ColumnWriter<'a, R> for ColumnArrays<'a, R> {
    fn with<T: Column<'a>>(&mut self, value: impl Fn(R) -> T) -> &mut Self {
        let column: Vec<_> = self.rows.iter().map(|row| value(*row).into_postgres()).collect();
        self.params.push(Box::new(column));
        self.types.push(T::Postgres::ARRAY);
        self
    }
}

pub(super) fn borrowed<'b>(params: &'b [Param<'_>]) -> Vec<&'b (dyn ToSql + Sync)> {
    params.iter().map(|param| &**param as &(dyn ToSql + Sync)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::statements::{COMMIT_DONE, NOW};
    use super::*;

    #[test]
    fn a_result_without_a_row_names_its_statement() {
        for (sql, name) in [(&NOW, "now"), (&COMMIT_DONE, "commit_done")] {
            let error = one(&[], sql).unwrap_err().to_string();
            assert_eq!(error, format!("result of {name} is corrupt: it has no row"));
        }
    }
}
