//! One connection, with prepared statements and pipelined requests.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, SimpleQueryMessage, Statement};

use super::error::{StatementFault, not_opened, text};
use super::options::DatabaseServer;
use super::schema::SchemaName;
use super::statements::{BEGIN, HOT};
use crate::StoreError;

/// A statement and the types of its parameters.
#[derive(Clone, Debug)]
pub(super) struct Sql {
    pub(super) text: &'static str,
    pub(super) types: Cow<'static, [Type]>,
}

pub(super) type Params<'a> = [&'a (dyn ToSql + Sync)];

/// Pending rows.
pub(super) type Rows = Result<Vec<Row>, StatementFault>;

/// Time limit for connecting; the TCP connection has a shorter one.
const OPEN_MAX: Duration = Duration::from_secs(5);
/// Time limit of an answer: longer than any limit of the server.
const ANSWER_MAX: Duration = Duration::from_secs(12);
/// Time limit of the server for a single statement.
const ONCE_MAX: Duration = Duration::from_secs(10);
/// Time for a request and its answer to travel.
const NETWORK_MAX: Duration = Duration::from_secs(2);
/// Time limit of a migration, or while another node migrates.
const LONG_ANSWER_MAX: Duration = Duration::from_mins(10);

#[derive(Debug)]
pub(super) struct Connection {
    client: Client,
    schema: SchemaName,
    /// `None` if statements cannot be prepared, as behind a pooler.
    prepared: Option<Mutex<Prepared>>,
    /// Whether the memory of this node is known to be a beginning of the journal of this server.
    memory_checked: AtomicBool,
}

/// Prepared statements and the server process that has them.
#[derive(Debug, Default)]
struct Prepared {
    statements: HashMap<usize, Statement>,
    process: Option<String>,
}

impl Connection {
    /// Connects; prepares statements if `keeps` is true.
    pub(super) async fn open(server: &DatabaseServer, keeps: bool) -> Result<Self, StoreError> {
        let seconds = OPEN_MAX.as_secs();
        let silent = |_| {
            StoreError::Unavailable(format!("the server did not accept the connection within {seconds} s"))
        };
        let opened =
            tokio::time::timeout(OPEN_MAX, server.config.connect(server.tls())).await.map_err(silent)?;
        let (client, driver) = opened.map_err(|error| not_opened(&error))?;
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(error = text(&error), "database connection closed");
            }
        });
        Ok(Self {
            client,
            schema: server.schema.clone(),
            prepared: keeps.then(Mutex::default),
            memory_checked: AtomicBool::new(false),
        })
    }

    /// Whether the memory has to be compared with the journal, because this connection may be to another server than the last. True
    /// once.
    pub(super) fn must_check_memory(&self) -> bool {
        !self.memory_checked.swap(true, Ordering::Relaxed)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs several statements without parameters.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), StatementFault> {
        answered(async { Ok(self.client.batch_execute(sql).await?) }).await
    }

    /// Opens a transaction on the tables of Tenure's schema.
    pub(super) async fn begin(&self, sql: &str) -> Result<(), StatementFault> {
        self.batch(&self.schema.transaction(sql)).await
    }

    /// Prepares the statements of every batch in one transaction, which is one server process even behind a pooler.
    pub(super) async fn warm_up(&self) -> Result<(), StatementFault> {
        let is_cold = |prepared: &Mutex<Prepared>| locked(prepared).process.is_none();
        if !self.prepared.as_ref().is_some_and(is_cold) {
            return Ok(());
        }
        self.send_begin(BEGIN).await?;
        self.prepare(&HOT).await?;
        self.batch("commit").await
    }

    /// Prepares missing statements, so that later requests need no extra round trip.
    pub(super) async fn prepare(&self, statements: &[&Sql]) -> Result<(), StatementFault> {
        let Some(prepared) = &self.prepared else { return Ok(()) };
        let known = |sql: &Sql| locked(prepared).statements.contains_key(&key(sql));
        let missing: Vec<&Sql> = statements.iter().copied().filter(|sql| !known(sql)).collect();
        let sent: Vec<_> =
            missing.iter().map(|sql| Sent::new(self.client.prepare_typed(sql.text, &sql.types))).collect();
        for (sql, sent) in missing.into_iter().zip(sent) {
            let statement = sent.await?;
            locked(prepared).statements.insert(key(sql), statement);
        }
        Ok(())
    }

    /// Queries in a transaction that `begin` opens; the server ends it after `most`. One round trip.
    pub(super) async fn query_within(
        &self,
        most: Duration,
        begin: &str,
        sql: &str,
        params: &Params<'_>,
        types: &[Type],
    ) -> Rows {
        let begin = begin_within(most, &self.schema.transaction(begin));
        let work = async {
            let begin = self.send_batch(&begin);
            let rows = Sent::new(self.ask_once(sql, params, types));
            let commit = self.send_batch("commit");
            begin.await?;
            let rows = rows.await?;
            commit.await?;
            Ok(rows)
        };
        answered_within(most + NETWORK_MAX, work).await
    }

    /// Queries within a transaction, with the longer time limit and without a prepared statement.
    pub(super) async fn query_long(&self, sql: &Sql, params: &Params<'_>) -> Rows {
        answered_within(LONG_ANSWER_MAX, self.ask_once(sql.text, params, &sql.types)).await
    }

    /// Like [`Connection::batch`], with the longer time limit.
    pub(super) async fn batch_long(&self, sql: &str) -> Result<(), StatementFault> {
        answered_within(LONG_ANSWER_MAX, async { Ok(self.client.batch_execute(sql).await?) }).await
    }

    /// Queries in a separate transaction, where a prepared statement may belong to another server process.
    pub(super) async fn query_once(&self, sql: &Sql, params: &Params<'_>) -> Rows {
        self.query_within(ONCE_MAX, "begin", sql.text, params, &sql.types).await
    }

    /// Queries within a transaction.
    pub(super) async fn query(&self, sql: &Sql, params: &Params<'_>) -> Rows {
        self.prepare(&[sql]).await?;
        answered(self.ask(sql, params)).await
    }

    /// Sends a query without waiting for earlier ones. Answers arrive in order, so they must be awaited in order.
    pub(super) fn send<'a>(&'a self, sql: &'a Sql, params: &'a Params<'a>) -> Sent<'a, Rows> {
        Sent::new(self.ask(sql, params))
    }

    /// Like [`Connection::send`], for `begin.sql`. [`StatementFault::Moved`] if a different server process answers than the one with
    /// our prepared statements: other answers of the pipeline must then not be used.
    pub(super) fn send_begin<'a>(&'a self, sql: &'a str) -> Sent<'a, Result<(), StatementFault>> {
        Sent::new(async {
            let process =
                self.client.simple_query(&self.schema.transaction(sql)).await?.iter().find_map(|message| {
                    match message {
                        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                        _ => None,
                    }
                });
            let Some(prepared) = &self.prepared else { return Ok(()) };
            let mut prepared = locked(prepared);
            if prepared.process.is_some() && prepared.process != process {
                return Err(StatementFault::Moved);
            }
            prepared.process = process;
            Ok(())
        })
    }

    /// Like [`Connection::send`], for the beginning of a transaction on the tables of Tenure's schema.
    pub(super) fn send_transaction<'a>(&'a self, sql: &'a str) -> Sent<'a, Result<(), StatementFault>> {
        Sent::new(async { Ok(self.client.batch_execute(&self.schema.transaction(sql)).await?) })
    }

    /// Like [`Connection::send`], for statements without parameters.
    pub(super) fn send_batch<'a>(&'a self, sql: &'a str) -> Sent<'a, Result<(), StatementFault>> {
        Sent::new(async { Ok(self.client.batch_execute(sql).await?) })
    }

    /// Uses the prepared statement if there is one.
    pub(super) async fn ask(&self, sql: &Sql, params: &Params<'_>) -> Rows {
        let statement =
            self.prepared.as_ref().and_then(|prepared| locked(prepared).statements.get(&key(sql)).cloned());
        match statement {
            Some(statement) => Ok(self.client.query(&statement, params).await?),
            None => self.ask_once(sql.text, params, &sql.types).await,
        }
    }

    /// Uses an unprepared statement.
    pub(super) async fn ask_once(&self, sql: &str, params: &Params<'_>, types: &[Type]) -> Rows {
        let typed: Vec<_> = params.iter().copied().zip(types.iter().cloned()).collect();
        Ok(self.client.query_typed(sql, &typed).await?)
    }
}

/// Statements are static, so their address identifies them.
fn key(sql: &Sql) -> usize {
    sql.text.as_ptr() as usize
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Applies a time limit to `work`.
pub(super) async fn answered<T>(
    work: impl Future<Output = Result<T, StatementFault>>,
) -> Result<T, StatementFault> {
    answered_within(ANSWER_MAX, work).await
}

/// `begin` with a time limit for each statement of the transaction.
pub(super) fn begin_within(most: Duration, begin: &str) -> String {
    format!("{begin}; set local statement_timeout = {}", most.as_millis())
}

pub(super) async fn answered_within<T>(
    most: Duration,
    work: impl Future<Output = Result<T, StatementFault>>,
) -> Result<T, StatementFault> {
    let silent = |_| Err(StatementFault::Lost(format!("no answer within {} s", most.as_secs())));
    tokio::time::timeout(most, work).await.unwrap_or_else(silent)
}

/// A request that is already sent. The driver sends on the first poll, so this polls once.
pub(super) struct Sent<'a, T> {
    future: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
    early: Option<T>,
}

impl<'a, T> Sent<'a, T> {
    pub(super) fn new(future: impl Future<Output = T> + Send + 'a) -> Self {
        let mut future: Pin<Box<dyn Future<Output = T> + Send + 'a>> = Box::pin(future);
        let early = match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        };
        Self { future, early }
    }
}

impl<T: Unpin> Future for Sent<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        match this.early.take() {
            Some(answer) => Poll::Ready(answer),
            None => this.future.as_mut().poll(context),
        }
    }
}
