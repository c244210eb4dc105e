//! What the machine says about this process and the database's: CPU time, memory; and scratch space.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failed;

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// CPU time of this process in microseconds; with the database's, that of every PostgreSQL process on the machine too.
pub(crate) fn cpu_us(with_database: bool) -> Result<u64, Failed> {
    let mut ticks = ticks(Path::new("/proc/self"))?;
    if !with_database {
        return Ok(ticks * 10_000);
    }
    for process in std::fs::read_dir("/proc")? {
        let path = process?.path();
        let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        if name.trim() == "postgres" {
            // One that has just ended has no time any more.
            ticks += self::ticks(&path).unwrap_or(0);
        }
    }
    Ok(ticks * 10_000)
}

/// User and system time in ticks of 10 ms: the 14th and 15th field, counted behind the name in brackets.
fn ticks(process: &Path) -> Result<u64, Failed> {
    let stat = std::fs::read_to_string(process.join("stat"))?;
    let (_, fields) = stat.rsplit_once(')').ok_or("a stat line has a name in brackets")?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut next =
        || fields.next().and_then(|field| field.parse::<u64>().ok()).ok_or("a stat line has its times");
    Ok(next()? + next()?)
}

pub(crate) fn resident_bytes() -> Result<u64, Failed> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("the status says VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<u64>()? * 1024)
}

/// A database of its own on the server of `url`, left for the server's end.
pub(crate) fn fresh_database(url: &str) -> Result<String, Failed> {
    let name = format!("bench_{}_{}", std::process::id(), std::time::UNIX_EPOCH.elapsed()?.as_millis());
    let made = Command::new("psql").args([url, "-qc", &format!("create database {name}")]).status()?;
    let (server, _) = url.rsplit_once('/').ok_or("a database URL ends with a database")?;
    if made.success() { Ok(format!("{server}/{name}")) } else { Err("psql could not make a database".into()) }
}

/// A folder that goes away with its holder. In the folder of the build, which is on a disk; temporary folders may not be.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Self, Failed> {
        let near = std::env::current_exe()?.parent().map(Path::to_path_buf).unwrap_or_default();
        let stamp = std::time::UNIX_EPOCH.elapsed()?.as_nanos();
        let path = near.join(format!("bench-{}-{stamp}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{} stays behind: {error}", self.0.display());
        }
    }
}
