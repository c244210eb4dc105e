//! A server of the bench's own: this binary again, as a child, on a store of its own.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::halves::Halves;

pub(super) struct OwnServer {
    child: Child,
    url: String,
}

impl OwnServer {
    /// On the server's half, if the machine is shared out.
    pub(super) async fn start(data: &Path, halves: Option<&Halves>) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .env_clear()
            .env("TENURE_LOG_FILTER", "warn")
            .current_dir(data.parent().context("the store is in a folder")?)
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = match halves {
            Some(halves) => halves.for_server(|| command.spawn())?,
            None => command.spawn()?,
        };
        let stderr = child.stderr.take().context("stderr was asked for")?;
        let mut lines = BufReader::new(stderr).lines();
        let first = lines.next_line().await?.context("the server ended at once")?;
        let url = first.split(' ').find(|word| word.starts_with("http://"));
        let url = url.with_context(|| format!("the server says: {first}"))?.to_owned();
        // Whatever else it says is passed on.
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                crate::output::words(&line);
            }
        });
        Ok(Self { child, url })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Ends it as an operator would.
    pub(super) async fn stop(mut self) -> Result<()> {
        if let Some(pid) = self.child.id().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        }
        let ended = tokio::time::timeout(Duration::from_secs(10), self.child.wait()).await;
        if !ended.context("the server did not end in 10 s")??.success() {
            bail!("the server did not end well");
        }
        Ok(())
    }
}

/// What a process has in memory.
pub(super) fn resident_bytes(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 =
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).context("no VmRSS")?;
    Ok(kib * 1024)
}
