//! Reading rows of PostgreSQL, and sending the records of a batch as columns.

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql};

use crate::Result;
use crate::codec::{Interner, corrupt};
use crate::row::{AnyRow, Column, ColumnWriter, RowReader};

/// A column of one of our statements: it exists and has the expected type.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|error| corrupt("column", column, &super::error::text(&error)))
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
pub(super) const SPEC_COLUMNS: usize = 16;

pub(super) type Param<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// The records of a batch as columns: one array per parameter of an `unnest`.
pub(super) struct ColumnArrays<'a, R> {
    pub(super) rows: Vec<R>,
    pub(super) params: Vec<Param<'a>>,
}

impl<'a, R: Copy> ColumnWriter<'a, R> for ColumnArrays<'a, R> {
    fn with<T: Column<'a>>(&mut self, value: impl Fn(R) -> T) -> &mut Self {
        let column: Vec<_> = self.rows.iter().map(|row| value(*row).into_postgres()).collect();
        self.params.push(Box::new(column));
        self
    }
}

pub(super) fn borrowed<'b>(params: &'b [Param<'_>]) -> Vec<&'b (dyn ToSql + Sync)> {
    params.iter().map(|param| &**param as &(dyn ToSql + Sync)).collect()
}
