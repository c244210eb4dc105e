//! Awa on PostgreSQL, for `cargo xtask bench peers`.

#[path = "../cases.rs"]
mod cases;

use std::sync::Arc;
use std::time::Duration;

use awa::{Client, InsertOpts, JobArgs, JobResult, QueueConfig};
use cases::{Handler, System};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

#[derive(Clone, Serialize, Deserialize, JobArgs)]
struct PeerJob {
    text: String,
}

#[derive(Clone)]
struct Awa {
    pool: PgPool,
    worker: Arc<tokio::sync::OnceCell<Client>>,
}

/// A queue for each run, so that jobs of other runs do not count.
fn queue() -> String {
    format!("peer-{}", std::process::id())
}

fn job() -> PeerJob {
    PeerJob { text: "x".repeat(180) }
}

fn options() -> InsertOpts {
    InsertOpts { queue: queue(), ..InsertOpts::default() }
}

impl System for Awa {
    async fn add(&self) -> anyhow::Result<()> {
        awa::insert_with(&self.pool, &job(), options()).await?;
        Ok(())
    }

    async fn add_many(&self, jobs: usize) -> anyhow::Result<()> {
        let params = vec![awa::model::insert::params_with(&job(), options())?; jobs];
        awa::insert_many_copy_from_pool(&self.pool, &params).await?;
        Ok(())
    }

    async fn work(&self, slots: usize, handler: Handler) -> anyhow::Result<()> {
        let config = QueueConfig {
            max_workers: slots as u32,
            poll_interval: Duration::from_millis(50),
            ..QueueConfig::default()
        };
        let client = Client::builder(self.pool.clone())
            .queue(queue(), config)
            .register::<PeerJob, _, _>(move |_, _| {
                handler();
                async { Ok(JobResult::Completed) }
            })
            .build()?;
        client.start().await?;
        drop(self.worker.set(client));
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = PgPoolOptions::new().max_connections(32).connect(&std::env::var("PEER_URL")?).await?;
    awa::migrations::run(&pool).await?;
    cases::measure(Awa { pool, worker: Arc::default() }).await?;
    std::process::exit(0)
}
