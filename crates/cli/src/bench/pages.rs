//! The dashboard under load: how long its pages take with many jobs in the store, beside the read of one row; and how
//! many of them can be open.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, copy, sink};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::embedded::Embedded;
use super::own_server::OwnServer;

/// Every page, with `{id}` for a job.
const PAGES: [&str; 16] = [
    "/ui",
    "/ui/lifecycles",
    "/ui/lifecycles/distributed",
    "/ui/lifecycles/distributed?view=rules",
    "/ui/jobs",
    "/ui/jobs?lifecycle=distributed&state=queued",
    "/ui/jobs?lifecycle=distributed&state=succeeded",
    "/ui/jobs?type=bench",
    "/ui/jobs/{id}",
    "/ui/dead-letters",
    "/ui/workers",
    "/ui/queues",
    "/ui/accounts",
    "/ui/events",
    "/ui/events?lifecycle=distributed&to=succeeded",
    "/ui/system",
];
/// What a page is held against.
const ONE_ROW: &str = "/api/jobs/{id}";
/// How often each is asked for.
const ROUNDS: usize = 50;

/// How long an address took: in the middle, and at worst.
pub(super) struct Taken {
    pub(super) address: String,
    pub(super) p50: Duration,
    pub(super) worst: Duration,
}

/// The read of one row, then every page, on a store with so many jobs: half of them finished, half waiting.
pub(super) async fn with_jobs(jobs: usize, folder: &Path) -> Result<Vec<Taken>> {
    let data = folder.join("pages");
    let embedded = Embedded::open(&data).await?;
    embedded.fill(jobs).await?;
    embedded.close().await;
    let server = OwnServer::start(&data, None).await?;
    let mut caller = Caller::connect(server.url()).await?;
    // A finished one: those that are not are in memory, and no row is read.
    let listed: Value = serde_json::from_slice(&caller.get("/api/jobs?limit=1&outcome=succeeded").await?)?;
    let id = listed["jobs"][0]["id"].as_str().context("the store has jobs")?.to_owned();
    let mut taken = Vec::new();
    for address in [ONE_ROW].iter().chain(&PAGES) {
        let address = address.replace("{id}", &id);
        taken.push(caller.time(&address).await?);
    }
    server.stop().await?;
    Ok(taken)
}

/// Opens so many pages and keeps them true; they close when the crowd is dropped.
pub(super) async fn open(url: &str, pages: usize) -> Result<JoinSet<()>> {
    let plain = PAGES.iter().filter(|page| !page.contains('{'));
    let mut crowd = JoinSet::new();
    for page in plain.cycle().take(pages) {
        let mut caller = Caller::connect(url).await?;
        caller.ask(page, "text/event-stream").await?;
        // What is told is read, as a browser does.
        crowd.spawn(async move { drop(copy(&mut caller.stream, &mut sink()).await) });
    }
    Ok(crowd)
}

/// One connection that asks one thing after the other.
struct Caller {
    stream: BufReader<TcpStream>,
    host: String,
}

impl Caller {
    async fn connect(url: &str) -> Result<Self> {
        let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let stream = TcpStream::connect(&host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), host })
    }

    async fn time(&mut self, address: &str) -> Result<Taken> {
        let mut spans = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            self.get(address).await?;
            spans.push(begun.elapsed());
        }
        spans.sort_unstable();
        Ok(Taken { address: address.to_owned(), p50: spans[ROUNDS / 2], worst: spans[ROUNDS - 1] })
    }

    async fn get(&mut self, address: &str) -> Result<Vec<u8>> {
        let length = self.ask(address, "*/*").await?.context("an answer has a length")?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok(body)
    }

    /// Sends a request, and reads the head of its answer; says how long the body is, if that is known.
    async fn ask(&mut self, address: &str, accept: &str) -> Result<Option<usize>> {
        let request = format!("GET {address} HTTP/1.1\r\nhost: {}\r\naccept: {accept}\r\n\r\n", self.host);
        self.stream.write_all(request.as_bytes()).await?;
        let (mut line, mut length) = (String::new(), None);
        self.stream.read_line(&mut line).await?;
        if !line.starts_with("HTTP/1.1 200 ") {
            bail!("{address} is answered with {line}");
        }
        loop {
            line.clear();
            self.stream.read_line(&mut line).await?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().ok();
                }
                Some(_) => {}
                None => return Ok(length),
            }
        }
    }
}
