//! The memory budget: calls that add work are refused before the process has no memory left, so that running work can end.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use crate::prelude::*;

/// A measurement is used for this long.
const MEASURE_INTERVAL: Duration = Duration::from_millis(50);
/// The share that stays free for work that is running.
const FREE_SHARE: usize = 5;
/// The share that bodies which are being processed may have. Each is in memory up to five times: as it was received,
/// parsed, queued, written and answered.
const BODIES_SHARE: usize = 16;
/// Smaller bodies do not count.
const COUNTED_BYTES_MIN: usize = 64 << 10;

pub(crate) struct Memory {
    bytes_max: AtomicUsize,
    /// Bytes of bodies that are being processed.
    bodies: AtomicUsize,
    /// Bytes of uploads, which may be slow: they have a separate share, so that they keep no other call from it.
    uploads: AtomicUsize,
    is_short: AtomicBool,
    measured_at: Mutex<Option<Instant>>,
    measure: fn() -> Option<usize>,
}

impl Memory {
    /// With the configured limit, or that of the control group or the machine.
    pub(crate) fn new(limit: Option<usize>) -> Arc<Self> {
        Arc::new(Self::with(bytes_max(limit), resident))
    }

    /// Bytes that the process may have.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// Changes the configured limit.
    pub(crate) fn set_limit(&self, limit: Option<usize>) {
        self.bytes_max.store(bytes_max(limit), Ordering::Relaxed);
    }

    fn with(bytes_max: usize, measure: fn() -> Option<usize>) -> Self {
        Self {
            bytes_max: AtomicUsize::new(bytes_max),
            bodies: AtomicUsize::new(0),
            uploads: AtomicUsize::new(0),
            is_short: AtomicBool::new(false),
            measured_at: Mutex::new(None),
            measure,
        }
    }

    /// Whether the process uses so much memory that it must not accept more work.
    pub(crate) fn is_short(&self) -> bool {
        // Another thread that measures now is not waited for.
        if let Ok(mut measured_at) = self.measured_at.try_lock()
            && measured_at.is_none_or(|at| at.elapsed() >= MEASURE_INTERVAL)
        {
            let used = (self.measure)().unwrap_or(0);
            let limit = self.bytes_max.load(Ordering::Relaxed);
            let is_short = used > limit - limit / FREE_SHARE;
            if is_short != self.is_short.swap(is_short, Ordering::Relaxed) {
                tracing::warn!(used, limit, is_short, "memory budget");
            }
            *measured_at = Some(Instant::now());
        }
        self.is_short.load(Ordering::Relaxed)
    }

    /// Counts a body until the result is dropped; `None` if too much is being processed. One body is always accepted, and
    /// calls that do not add work may have twice as much.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: usize, adds_work: bool) -> Option<BodyMemory> {
        let bytes = if bytes < COUNTED_BYTES_MIN { 0 } else { bytes };
        let bodies_max = self.bytes_max.load(Ordering::Relaxed) / BODIES_SHARE;
        let bodies_max = if adds_work { bodies_max } else { bodies_max.saturating_mul(2) };
        let fits = |bodies: usize| {
            (bytes == 0 || bodies == 0 || bodies + bytes <= bodies_max).then_some(bodies + bytes)
        };
        self.bodies.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(BodyMemory { memory: Arc::clone(self), bytes, is_upload: false })
    }

    /// The same for an upload, of which a few parts are in memory, once each.
    pub(crate) fn reserve_upload(self: &Arc<Self>, bytes: usize) -> Option<BodyMemory> {
        let uploads_max = (self.bytes_max.load(Ordering::Relaxed) / BODIES_SHARE).saturating_mul(2);
        let fits =
            |uploads: usize| (uploads == 0 || uploads + bytes <= uploads_max).then_some(uploads + bytes);
        self.uploads.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(BodyMemory { memory: Arc::clone(self), bytes, is_upload: true })
    }
}

/// Memory of a body that is being processed.
pub(crate) struct BodyMemory {
    memory: Arc<Memory>,
    bytes: usize,
    is_upload: bool,
}

impl Drop for BodyMemory {
    fn drop(&mut self) {
        let counted = if self.is_upload { &self.memory.uploads } else { &self.memory.bodies };
        counted.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The configured limit, or that of the control group or the machine.
fn bytes_max(limit: Option<usize>) -> usize {
    limit.or_else(detected).unwrap_or(usize::MAX)
}

/// Bytes of the process in memory, without mapped files.
fn resident() -> Option<usize> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "RssAnon:")
}

/// A line like `MemTotal:  16384 kB`.
fn kilobytes(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// The smaller of the limit of the control group and the memory of the machine.
fn detected() -> Option<usize> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemTotal:"));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|file| {
        fs::read_to_string(Path::new("/sys/fs/cgroup").join(file)).ok()?.trim().parse().ok()
    });
    limits.chain(machine).min()
}

/// The files that may contain a limit, of the process's groups and of those above: of version 2, whose line begins with
/// `0::`, or of the controller `memory` of version 1.
fn limit_files(groups: &str) -> Vec<String> {
    let of_group = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (folder, file) = match controllers {
            "" => ("", "memory.max"),
            names if names.split(',').any(|name| name == "memory") => ("memory/", "memory.limit_in_bytes"),
            _ => return None,
        };
        let groups = Path::new(path).ancestors().map(|group| group.display().to_string());
        let files = groups.map(move |group| {
            let group = group.trim_start_matches('/').to_owned();
            let separator = if group.is_empty() { "" } else { "/" };
            format!("{folder}{group}{separator}{file}")
        });
        Some(files.collect::<Vec<_>>())
    };
    groups.lines().filter_map(of_group).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_short_when_four_fifths_are_in_use() {
        assert!(!Memory::with(1000, || Some(800)).is_short());
        assert!(Memory::with(1000, || Some(801)).is_short());
        assert!(!Memory::with(usize::MAX, || None).is_short());
        assert!(resident().is_some_and(|bytes| bytes > 100_000));
    }

    #[test]
    fn bodies_are_counted_while_they_are_processed() {
        let memory = Arc::new(Memory::with(16 << 20, || None));
        let large = memory.reserve(9 << 20, true).expect("one is always accepted");
        assert!(memory.reserve(1 << 20, true).is_none());
        assert!(memory.reserve(1000, true).is_some(), "a small one does not count");
        drop(large);
        let half = memory.reserve(1 << 19, true).unwrap();
        let rest = memory.reserve(1 << 19, true).unwrap();
        assert!(memory.reserve(1 << 19, true).is_none());
        assert!(memory.reserve(1 << 19, false).is_some(), "reports have room that creations do not have");
        let upload = memory.reserve_upload(2 << 20).unwrap();
        assert!(memory.reserve_upload(1).is_none(), "uploads have a separate share");
        drop((half, rest, upload));
        assert_eq!(memory.uploads.load(Ordering::Relaxed), 0);
        assert_eq!(memory.bodies.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn limits_are_read_from_every_group_above() {
        let unified = "0::/system.slice/tenure.service\n";
        let files = ["system.slice/tenure.service/memory.max", "system.slice/memory.max", "memory.max"];
        assert_eq!(limit_files(unified), files);
        let split = "12:cpu,cpuacct:/a\n5:memory:/docker/b\n";
        let files = ["docker/b/", "docker/", ""].map(|path| format!("memory/{path}memory.limit_in_bytes"));
        assert_eq!(limit_files(split), files);
        assert_eq!(kilobytes("MemTotal:       16384 kB\n", "MemTotal:"), Some(16 << 20));
    }
}
