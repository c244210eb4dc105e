//! The intake in the database of an application. Its requests are removed after the store has judged them; until then their ids keep
//! them from being judged twice.

use tenure_core::intake::IntakePlace;

use super::intake;
use super::options::Options;
use super::pool::Pool;
use super::schema::SchemaName;
use super::statements::REMOVE_INTAKE;
use crate::Result;
use crate::intake::{IntakeCursor, IntakePage};

/// Connections to the database of an application.
const CONNECTIONS_MAX: usize = 2;

#[derive(Clone, Debug)]
pub struct Outbox {
    pool: Pool,
    schema: SchemaName,
    database: String,
}

impl Outbox {
    /// The intake in a schema of the database behind a `postgres://` URL. Does not connect yet.
    pub fn new(url: &str, schema: &str) -> Result<Self> {
        let Options { server, .. } = Options::parse(url, schema)?;
        let schema = server.schema.clone();
        let database = server.config.get_dbname().or(server.config.get_user()).unwrap_or_default().to_owned();
        Ok(Self { pool: Pool::new(server, false, CONNECTIONS_MAX), schema, database })
    }

    /// The name of the database.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// Creates table, functions and role, as far as they are missing.
    pub async fn install(&self) -> Result<()> {
        let mut connection = self.pool.get().await?;
        let schema = &self.schema;
        connection.begin("begin").await?;
        connection.batch(&format!("create schema if not exists {}", schema.quoted())).await?;
        intake::install(&connection, schema).await?;
        connection.batch("commit").await?;
        connection.release();
        Ok(())
    }

    /// The requests after a cursor.
    pub async fn page(&self, cursor: &IntakeCursor) -> Result<IntakePage> {
        intake::page(&self.pool, cursor).await
    }

    /// Removes requests that are judged.
    pub async fn remove(&self, places: impl IntoIterator<Item = IntakePlace>) -> Result<()> {
        let (transactions, numbers): (Vec<i64>, Vec<i64>) =
            places.into_iter().map(|place| (place.transaction, place.number)).unzip();
        let mut connection = self.pool.get().await?;
        connection.query_once(&REMOVE_INTAKE, &[&transactions, &numbers]).await?;
        connection.release();
        Ok(())
    }
}

/// The SQL that [`Outbox::install`] runs, for an administrator.
pub fn intake_script(schema: &str) -> Result<String> {
    SchemaName::parse(schema).map(|schema| intake::script(&schema))
}
