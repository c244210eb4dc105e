//! Tenure through its SDK, for `cargo xtask bench peers`.

mod cases;

use std::time::Duration;

use cases::{Handler, System};
use serde_json::{Value, json};
use tenure_client::{Client, Fail, Job, NewJob, Worker};

#[derive(Clone)]
struct Tenure(Client);

/// A type for each run, so that jobs of other runs do not count.
fn job_type() -> String {
    format!("peer-{}", std::process::id())
}

fn new_job() -> tenure_client::Result<NewJob> {
    NewJob::new(job_type(), &json!({ "text": "x".repeat(180) }))
}

impl System for Tenure {
    async fn add(&self) -> anyhow::Result<()> {
        self.0.enqueue(new_job()?).await?;
        Ok(())
    }

    async fn add_many(&self, jobs: usize) -> anyhow::Result<()> {
        let jobs: Vec<NewJob> = (0..jobs).map(|_| new_job()).collect::<Result<_, _>>()?;
        for result in self.0.create_batch(&jobs).await? {
            result.map_err(|problem| anyhow::anyhow!("{problem:?}"))?;
        }
        Ok(())
    }

    async fn work(&self, slots: usize, handler: Handler) -> anyhow::Result<()> {
        let handle = move |_: Job<Value>| {
            handler();
            async { Ok::<_, Fail>(Value::Null) }
        };
        let worker =
            Worker::new(self.0.clone()).on(job_type(), handle).slots(slots).wait(Duration::from_secs(20));
        tokio::spawn(worker.run_until(std::future::pending()));
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    cases::measure(Tenure(Client::new(&std::env::var("PEER_URL")?)?)).await?;
    std::process::exit(0)
}
