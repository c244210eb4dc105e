//! What the operating system reports: cores, CPU time, resident memory.

use std::path::Path;

use anyhow::{Context as _, Result};

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// CPU time in microseconds.
#[derive(Clone, Copy)]
pub(super) struct CpuTime {
    pub(super) node: u64,
    /// Of every PostgreSQL process on the machine.
    pub(super) database: u64,
}

pub(super) fn cpu_time() -> Result<CpuTime> {
    let mut database = 0;
    for process in std::fs::read_dir("/proc")? {
        let path = process?.path();
        let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        if name.trim() == "postgres" {
            // A process that has just ended has no times any more.
            database += ticks(&path).unwrap_or(0);
        }
    }
    Ok(CpuTime { node: ticks(Path::new("/proc/self"))? * 10_000, database: database * 10_000 })
}

/// Bytes that this process has written to files.
pub(super) fn written_bytes() -> Result<u64> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let bytes = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok());
    bytes.context("no write_bytes")
}

/// User and system time in ticks of 10 ms: fields 14 and 15, counted from the name in parentheses.
fn ticks(process: &Path) -> Result<u64> {
    let stat = std::fs::read_to_string(process.join("stat"))?;
    let (_, fields) = stat.rsplit_once(')').context("no name in the stat line")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut next = || fields.next().and_then(|field| field.parse::<u64>().ok()).context("no times in stat");
    Ok(next()? + next()?)
}

pub(super) fn resident_bytes(pid: u32) -> Result<u64> {
    memory(pid, "VmRSS:")
}

/// The most that was resident so far.
pub(super) fn peak_bytes(pid: u32) -> Result<u64> {
    memory(pid, "VmHWM:")
}

fn memory(pid: u32, field: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    Ok(kib.with_context(|| format!("no {field}"))? * 1024)
}
