//! Columns of both databases: the types that they store, rows that are read from the left, records that are written.

use std::sync::Arc;

use rusqlite::types::{FromSqlError, FromSqlResult, ValueRef};
use tokio_postgres::types::{FromSql, ToSql, Type};
use uuid::Uuid;

use crate::codec::Interner;
use crate::prelude::*;
use crate::{Result, postgres, sqlite};

/// A type of column, as each database stores it.
pub(crate) trait Column<'r>: Sized {
    type Postgres: FromSql<'r> + ToSql + ArrayElement + Sync + Send + 'r;
    fn from_postgres(value: Self::Postgres) -> Self;
    fn into_postgres(self) -> Self::Postgres;
    fn from_sqlite(value: ValueRef<'r>) -> FromSqlResult<Self>;
    fn to_sqlite(&self) -> ValueRef<'_>;
}

/// A type of PostgreSQL, of which the records of a batch are sent as an array.
pub(crate) trait ArrayElement {
    const ARRAY: Type;
}

macro_rules! array_elements {
    ($($type:ty: $array:ident;)+) => {
        $(impl ArrayElement for $type {
            const ARRAY: Type = Type::$array;
        })+
    };
}

array_elements! {
    &str: TEXT_ARRAY;
    String: TEXT_ARRAY;
    &[u8]: BYTEA_ARRAY;
    i32: INT4_ARRAY;
    i64: INT8_ARRAY;
    bool: BOOL_ARRAY;
    Uuid: UUID_ARRAY;
}

impl<T: ArrayElement> ArrayElement for Option<T> {
    const ARRAY: Type = T::ARRAY;
}

/// Each type with its type in PostgreSQL, the conversions from and to that, and those from and to a value of SQLite.
macro_rules! columns {
    ($($type:ty as $postgres:ty {
        |$stored:ident| $of_stored:expr, |$own:ident| $to_stored:expr;
        |$value:ident| $of_value:expr, |$this:ident| $to_value:expr
    })+) => {$(
        impl<'r> Column<'r> for $type {
            type Postgres = $postgres;

            fn from_postgres($stored: $postgres) -> Self {
                $of_stored
            }

            fn into_postgres(self) -> $postgres {
                let $own = self;
                $to_stored
            }

            fn from_sqlite($value: ValueRef<'r>) -> FromSqlResult<Self> {
                $of_value
            }

            fn to_sqlite(&self) -> ValueRef<'_> {
                let $this = self;
                $to_value
            }
        }
    )+};
}

/// Types that the driver of PostgreSQL supports.
macro_rules! plain_columns {
    ($($type:ty: |$value:ident| $of_value:expr, |$this:ident| $to_value:expr;)+) => {
        columns! {$($type as $type { |stored| stored, |own| own; |$value| $of_value, |$this| $to_value })+}
    };
}

/// Types that are stored as a number.
macro_rules! number_columns {
    ($($type:ty as $postgres:ty: |$number:ident| $wrap:expr, |$own:ident| $unwrap:expr;)+) => {
        columns! {$($type as $postgres {
            |stored| { let $number = i64::from(stored); $wrap }, |$own| $unwrap as $postgres;
            |value| value.as_i64().map(|$number| $wrap), |$own| ValueRef::Integer($unwrap as i64)
        })+}
    };
}

/// An `integer` of PostgreSQL, whose other numbers are `bigint`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Int4(pub(crate) i64);

impl From<Int4> for i64 {
    fn from(Int4(number): Int4) -> Self {
        number
    }
}

plain_columns! {
    &'r str: |value| value.as_str(), |text| ValueRef::Text(text.as_bytes());
    String: |value| value.as_str().map(str::to_owned), |text| ValueRef::Text(text.as_bytes());
    &'r [u8]: |value| value.as_blob(), |bytes| ValueRef::Blob(bytes);
    i64: |value| value.as_i64(), |number| ValueRef::Integer(*number);
    bool: |value| value.as_i64().map(|number| number != 0), |flag| ValueRef::Integer((*flag).into());
    Uuid: |value| Uuid::from_slice(value.as_blob()?).map_err(FromSqlError::other), |id| ValueRef::Blob(id.as_bytes());
}

columns! {
    u64 as i64 {
        |stored| stored as u64, |own| own as i64;
        |value| value.as_i64().map(|number| number as u64), |this| ValueRef::Integer(*this as i64)
    }
}

number_columns! {
    Int4 as i32: |number| Int4(number), |own| own.0;
    Timestamp as i64: |number| Timestamp(number), |own| own.0;
    Deadline as i64: |number| Deadline(number), |own| own.0;
    Fence as i64: |number| Fence(number as u64), |own| own.0;
    Position as i64: |number| Position(number as u64), |own| own.0;
}

impl<'r, T: Column<'r>> Column<'r> for Option<T> {
    type Postgres = Option<T::Postgres>;

    fn from_postgres(value: Self::Postgres) -> Self {
        value.map(T::from_postgres)
    }

    fn into_postgres(self) -> Self::Postgres {
        self.map(T::into_postgres)
    }

    fn from_sqlite(value: ValueRef<'r>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Null => Ok(None),
            value => T::from_sqlite(value).map(Some),
        }
    }

    fn to_sqlite(&self) -> ValueRef<'_> {
        self.as_ref().map_or(ValueRef::Null, T::to_sqlite)
    }
}

/// A row of either database.
#[derive(Clone, Copy)]
pub(crate) enum AnyRow<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

/// Reads a row column by column, from the left.
pub(crate) struct RowReader<'r> {
    row: AnyRow<'r>,
    next: usize,
    names: &'r mut Interner,
}

impl<'r> RowReader<'r> {
    pub(crate) fn new(row: AnyRow<'r>, names: &'r mut Interner) -> Self {
        Self { row, next: 0, names }
    }

    pub(crate) fn get<T: Column<'r>>(&mut self) -> Result<T> {
        let value = self.peek();
        self.next += 1;
        value
    }

    /// The next column, which is then read again.
    pub(crate) fn peek<T: Column<'r>>(&self) -> Result<T> {
        match self.row {
            AnyRow::Sqlite(row) => sqlite::get(row, self.next),
            AnyRow::Postgres(row) => postgres::get(row, self.next).map(T::from_postgres),
        }
    }

    /// A name that many rows share.
    pub(crate) fn name<T: From<Arc<str>>>(&mut self) -> Result<T> {
        let text = self.get()?;
        Ok(self.names.name(text))
    }

    pub(crate) fn optional_name<T: From<Arc<str>>>(&mut self) -> Result<Option<T>> {
        let text: Option<&str> = self.get()?;
        Ok(text.map(|text| self.names.name(text)))
    }

    /// A name that few rows share, which is not interned.
    pub(crate) fn text<T: From<&'r str>>(&mut self) -> Result<T> {
        self.get::<&str>().map(Into::into)
    }

    pub(crate) fn optional_text<T: From<&'r str>>(&mut self) -> Result<Option<T>> {
        Ok(self.get::<Option<&str>>()?.map(Into::into))
    }

    pub(crate) fn intern<T: From<Arc<str>>>(&mut self, text: &str) -> T {
        self.names.name(text)
    }
}

/// A row of one column.
pub(crate) fn value<T: for<'r> Column<'r>>(row: &mut RowReader<'_>) -> Result<T> {
    row.get()
}

/// Takes the columns of records `R` in the order of their statement.
pub(crate) trait ColumnWriter<'a, R: Copy> {
    fn with<T: Column<'a>>(&mut self, value: impl Fn(R) -> T) -> &mut Self;
}
