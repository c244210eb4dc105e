//! Reads of both databases that are more than the statement of the same name with the arguments as its values.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

use tenure_core::limits::AUTOMATIONS_MAX;

use super::*;
use crate::list::Bound;
use crate::row::RowReader;

/// A statement in both dialects.
#[derive(Clone, Copy)]
pub(crate) struct Statement {
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

/// The file of that name of each database.
macro_rules! statement {
    ($name:literal) => {
        $crate::reads::Statement {
            sqlite: include_str!(concat!("sqlite/sql/", $name, ".sql")),
            postgres: include_str!(concat!("postgres/sql/", $name, ".sql")),
        }
    };
}
pub(crate) use statement;

#[derive(Clone, Copy)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    fn of(self, statement: &Statement) -> &'static str {
        match self {
            Self::Sqlite => statement.sqlite,
            Self::Postgres => statement.postgres,
        }
    }

    /// The placeholder for the n-th value.
    pub(crate) fn placeholder(self, n: usize) -> String {
        match self {
            Self::Sqlite => format!("?{n}"),
            Self::Postgres => format!("${n}"),
        }
    }
}

type Decode<T> = fn(&mut RowReader<'_>) -> Result<T>;

pub(crate) trait Database: Sync {
    const DIALECT: Dialect;

    fn now(&self) -> impl Future<Output = Result<Now>> + Send;

    /// Runs one statement outside of any transaction, and decodes its rows.
    fn rows<T: Send + 'static>(
        &self,
        sql: Cow<'static, str>,
        values: Vec<Bound>,
        decode: Decode<T>,
    ) -> impl Future<Output = Result<Vec<T>>> + Send;
}

/// The answer of a read: all rows, or the first.
pub(crate) trait FromRows<T> {
    fn from_rows(rows: Vec<T>) -> Self;
}

impl<T> FromRows<T> for Vec<T> {
    fn from_rows(rows: Self) -> Self {
        rows
    }
}

impl<T> FromRows<T> for Option<T> {
    fn from_rows(rows: Vec<T>) -> Self {
        rows.into_iter().next()
    }
}

/// Declares `answer(query)` of a database, in the file that is beside its folder `sql`.
macro_rules! answer_query {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $name:ident($($arg:ident: $type:ty),*) -> $output:ty [$($how:tt)+];
    )*) => {
        async fn answer(&self, query: Query) -> Result<QueryAnswer> {
            Ok(match query {
                $(Query::$variant { $($arg),* } => {
                    QueryAnswer::$variant(read_by!([$($how)+] self, $name($($arg),*)))
                })*
            })
        }
    };
}
pub(crate) use answer_query;

/// One answer: see `queries!`.
macro_rules! read_by {
    ([store] $database:expr, $name:ident($($arg:ident),*)) => {
        $database.$name($($arg),*).await?
    };
    ([function] $database:expr, $name:ident($($arg:ident),*)) => {
        $crate::reads::$name($database, $($arg),*).await?
    };
    ([statement $decode:path] $database:expr, $name:ident($($arg:ident),*)) => {{
        let sql = include_str!(concat!("sql/", stringify!($name), ".sql"));
        FromRows::from_rows($database.rows(sql.into(), vec![$($arg.into()),*], $decode).await?)
    }};
}
pub(crate) use read_by;

async fn query<D: Database, T: Send + 'static, A: FromRows<T>>(
    store: &D,
    statement: Statement,
    values: Vec<Bound>,
    decode: Decode<T>,
) -> Result<A> {
    store.rows(D::DIALECT.of(&statement).into(), values, decode).await.map(A::from_rows)
}

/// A listing: its first part from the file, and the rest from `list.rs`.
async fn listing<D: Database, T: Send + 'static>(
    store: &D,
    head: Statement,
    (rest, values): list::Rest,
    decode: Decode<T>,
) -> Result<Vec<T>> {
    let sql = format!("{}{rest}", D::DIALECT.of(&head).trim_end());
    store.rows(sql.into(), values, decode).await
}

pub(crate) async fn journal_end(store: &impl Database) -> Result<Position> {
    let last: Option<Position> = query(store, statement!("last_position"), vec![], row::value).await?;
    Ok(last.unwrap_or_default())
}

pub(crate) async fn list<D: Database>(store: &D, filter: JobFilter, page: Page) -> Result<Vec<Arc<Job>>> {
    listing(store, statement!("list"), list::jobs(&filter, page, D::DIALECT), codec::job).await
}

pub(crate) async fn nth_older(
    store: &impl Database,
    before: Option<JobId>,
    jobs: usize,
) -> Result<Option<JobId>> {
    query(store, statement!("nth_older"), vec![before.into(), (jobs - 1).into()], records::job_id).await
}

pub(crate) async fn dead_letters<D: Database>(
    store: &D,
    filter: DeadLetterFilter,
    page: Page,
) -> Result<Vec<DeadLetter>> {
    let rest = list::dead_letters(&filter, page, D::DIALECT);
    // With the type of its job.
    let listed = |row: &mut RowReader<'_>| {
        let letter = records::dead_letter(row)?;
        Ok(DeadLetter { job_type: Some(row.name()?), ..letter })
    };
    listing(store, statement!("dead_letters"), rest, listed).await
}

pub(crate) async fn account(store: &impl Database, user: UserId) -> Result<Account> {
    let found: Option<_> = query(store, statement!("account"), vec![user.into()], records::amounts).await?;
    Ok(found.unwrap_or_default())
}

pub(crate) async fn asset_garbage(store: &impl Database, limit: usize) -> Result<Vec<String>> {
    let now = store.now().await?.at;
    query(store, statement!("asset_garbage"), vec![now.into(), limit.into()], row::value).await
}

pub(crate) async fn has_expired(store: &impl Database) -> Result<bool> {
    let now = store.now().await?.at;
    let unseen_since = Timestamp(now.0 - limits::WORKER_UNSEEN_MS_MAX as i64);
    let values = vec![now.into(), unseen_since.into()];
    let found: Option<bool> = query(store, statement!("has_expired"), values, row::value).await?;
    Ok(found.unwrap_or_default())
}

pub(crate) async fn automations(store: &impl Database, kind: AutomationKind) -> Result<Vec<Automation>> {
    let values = vec![kind.as_str().into(), AUTOMATIONS_MAX.into()];
    query(store, statement!("automations"), values, records::automation).await
}

pub(crate) async fn due_automations(
    store: &impl Database,
    kind: AutomationKind,
    limit: usize,
) -> Result<Vec<Automation>> {
    let values = vec![kind.as_str().into(), store.now().await?.at.into(), limit.into()];
    query(store, statement!("due_automations"), values, records::automation).await
}

pub(crate) async fn workers(store: &impl Database) -> Result<Vec<WorkerRecord>> {
    query(store, statement!("workers"), vec![WORKERS_MAX.into()], records::worker).await
}

pub(crate) async fn statistics(
    store: &impl Database,
    resolution: Resolution,
    series: Series,
    from: Timestamp,
    before: Timestamp,
) -> Result<Vec<(Timestamp, PeriodCounts)>> {
    let (kind, name) = (series.kind().into(), series.name().into());
    let values = vec![resolution.as_str().into(), kind, name, from.into(), before.into()];
    query(store, statement!("statistics"), values, |row| Ok((row.get()?, records::period_counts(row)?))).await
}

pub(crate) async fn nodes(store: &impl Database) -> Result<Vec<NodeRecord>> {
    query(store, statement!("nodes"), vec![NODES_MAX.into()], records::node).await
}
