//! A worker in twelve lines: counts the words of a text. `TENURE_URL` and `TENURE_KEY` name the server and the API key.

use tenure_client::{Client, Fail, Job, Result, Worker};

#[derive(serde::Deserialize)]
struct Text {
    text: String,
}

async fn count(job: Job<Text>) -> Result<usize, Fail> {
    job.log("counting");
    Ok(job.payload.text.split_whitespace().count())
}

#[tokio::main]
async fn main() -> Result<()> {
    Worker::new(Client::from_env()?).on("count_words", count).slots(8).run().await
}
