//! The dashboard: how long its pages take on a store with many jobs, compared with the read of one row, and pages that
//! are kept open while something else is measured.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt as _, copy, sink};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::embedded::Embedded;
use super::{start_server, stop_server};

/// Every page; `{id}` is a job.
const PAGES: [&str; 21] = [
    "/ui",
    "/ui/lifecycles",
    "/ui/lifecycles/distributed",
    "/ui/lifecycles/distributed?view=rules",
    "/ui/jobs",
    "/ui/jobs?lifecycle=distributed&state=queued",
    "/ui/jobs?lifecycle=distributed&state=succeeded",
    "/ui/jobs?type=bench",
    "/ui/jobs/{id}",
    "/ui/errors",
    "/ui/types",
    "/ui/workers",
    "/ui/queues",
    "/ui/schedules",
    "/ui/webhooks",
    "/ui/resources",
    "/ui/accounts",
    "/ui/events",
    "/ui/events?lifecycle=distributed&to=succeeded",
    "/ui/audit",
    "/ui/system",
];
/// The call that pages are compared with.
const ONE_ROW: &str = "/api/jobs/{id}";
/// Requests for each address.
const ROUNDS: usize = 50;

/// How long requests for an address took.
pub(super) struct PageTime {
    pub(super) address: String,
    pub(super) p50: Duration,
    pub(super) worst: Duration,
}

/// Times the read of one row, then every page, on a store with this many jobs: half finished, half waiting.
pub(super) async fn with_jobs(jobs: usize, folder: &Path) -> Result<Vec<PageTime>> {
    let data = folder.join("pages");
    let embedded = Embedded::open(&data).await?;
    embedded.fill_finished(jobs / 2).await?;
    embedded.fill_waiting(jobs - jobs / 2).await?;
    embedded.close().await;
    let server = start_server(&data)?;
    let mut caller = Caller::connect(server.url()).await?;
    // A finished job: unfinished ones are in memory, so no row would be read.
    let listed: Listed = serde_json::from_slice(&caller.get("/api/jobs?limit=1&outcome=succeeded").await?)?;
    let id = &listed.jobs.first().context("the store has no finished job")?.id;
    let mut times = Vec::new();
    for address in [ONE_ROW].iter().chain(&PAGES) {
        let address = address.replace("{id}", id);
        times.push(caller.time(&address).await?);
    }
    stop_server(server)?;
    Ok(times)
}

/// Opens this many live pages; dropping the result closes them.
pub(super) async fn open(url: &str, pages: usize) -> Result<JoinSet<()>> {
    let plain = PAGES.iter().filter(|page| !page.contains('{'));
    let mut connections = JoinSet::new();
    for page in plain.cycle().take(pages) {
        let mut caller = Caller::connect(url).await?;
        caller.request(page, "text/event-stream").await?;
        connections.spawn(async move { drop(copy(&mut caller.stream, &mut sink()).await) });
    }
    Ok(connections)
}

#[derive(Deserialize)]
struct Listed {
    jobs: Vec<tenure_api::JobRecord>,
}

/// One connection with one request at a time.
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

    async fn time(&mut self, address: &str) -> Result<PageTime> {
        let mut spans = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            self.get(address).await?;
            spans.push(start.elapsed());
        }
        spans.sort_unstable();
        Ok(PageTime { address: address.to_owned(), p50: spans[ROUNDS / 2], worst: spans[ROUNDS - 1] })
    }

    async fn get(&mut self, address: &str) -> Result<Vec<u8>> {
        let length = self.request(address, "*/*").await?.context("the response has no length")?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok(body)
    }

    /// Sends a request and reads the head of the response; returns the length of the body, if the server states it.
    async fn request(&mut self, address: &str, accept: &str) -> Result<Option<usize>> {
        let request = format!("GET {address} HTTP/1.1\r\nhost: {}\r\naccept: {accept}\r\n\r\n", self.host);
        self.stream.write_all(request.as_bytes()).await?;
        let (mut line, mut length) = (String::new(), None);
        self.stream.read_line(&mut line).await?;
        if !line.starts_with("HTTP/1.1 200 ") {
            bail!("{address}: {line}");
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
