//! What the operating system reports: cores, CPU time, resident memory.

use std::path::Path;

use anyhow::{Context as _, Result};

pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// CPU time of this process in microseconds, optionally with that of every PostgreSQL process on the machine.
pub(super) fn cpu_us(with_postgres: bool) -> Result<u64> {
    let mut ticks = ticks(Path::new("/proc/self"))?;
    if with_postgres {
        for process in std::fs::read_dir("/proc")? {
            let path = process?.path();
            let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
            if name.trim() == "postgres" {
                // A process that has just ended has no times any more.
                ticks += self::ticks(&path).unwrap_or(0);
            }
        }
    }
    Ok(ticks * 10_000)
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
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 =
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).context("no VmRSS")?;
    Ok(kib * 1024)
}
