//! Metrics of the process, under the names that Prometheus' clients share. They are read from `/proc`; on systems without it
//! there are none.

use std::fs;

use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// Linux counts times of processes in hundredths of a second, whatever its timer does.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug, PartialEq)]
struct Process {
    resident_bytes: u64,
    virtual_bytes: u64,
    cpu_seconds: f64,
    /// Since 1970.
    start_seconds: f64,
    open_files: u64,
    open_files_max: Option<u64>,
}

/// The current values.
pub(super) fn registry() -> Registry {
    let mut registry = Registry::default();
    let Some(it) = read() else { return registry };
    let to = &mut registry;
    let cpu = ConstCounter::new(it.cpu_seconds);
    to.register("process_cpu_seconds", "CPU time of this process, user and system", cpu);
    let mut gauge = |name: &str, help: &str, value: f64| to.register(name, help, ConstGauge::new(value));
    gauge("process_resident_memory_bytes", "Resident memory of this process", it.resident_bytes as f64);
    gauge("process_virtual_memory_bytes", "Virtual memory of this process", it.virtual_bytes as f64);
    gauge("process_start_time_seconds", "When this process started, in seconds since 1970", it.start_seconds);
    gauge("process_open_fds", "Open file descriptors of this process", it.open_files as f64);
    if let Some(max) = it.open_files_max {
        gauge("process_max_fds", "Limit of open file descriptors of this process", max as f64);
    }
    registry
}

fn read() -> Option<Process> {
    let file = |name: &str| fs::read_to_string(format!("/proc/{name}")).ok();
    // Reading the folder opens one more.
    let open_files = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as u64;
    let open_files_max = file("self/limits").as_deref().and_then(max_open_files);
    let (resident_bytes, virtual_bytes) = memory(&file("self/status")?)?;
    let (cpu_ticks, start_ticks) = times(&file("self/stat")?)?;
    let start_seconds = boot_time(&file("stat")?)? + start_ticks as f64 / TICKS_PER_SECOND;
    let cpu_seconds = cpu_ticks as f64 / TICKS_PER_SECOND;
    Some(Process { resident_bytes, virtual_bytes, cpu_seconds, start_seconds, open_files, open_files_max })
}

/// Resident and virtual bytes in `status`.
fn memory(status: &str) -> Option<(u64, u64)> {
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
    };
    Some((bytes("VmRSS")?, bytes("VmSize")?))
}

/// Ticks of CPU time, and ticks from the boot to the start, in `stat` of a process. Its second field is the program's name in
/// parentheses, which may contain spaces and parentheses.
fn times(stat: &str) -> Option<(u64, u64)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // The first field of the rest is the third of the line.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some((number(14)? + number(15)?, number(22)?))
}

/// The time of the boot in `stat` of the system, in seconds since 1970.
fn boot_time(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

/// The soft limit in `limits`; `None` if there is no limit.
fn max_open_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_process_are_read() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 2000 0 0 0 150 50 0 0 20 0 9 0 3600 1000 200 18446744073709551615 1";
        assert_eq!(times(stat), Some((200, 3600)));
        assert_eq!(boot_time("cpu 1 2\nbtime 1700000000\nprocesses 5\n"), Some(1_700_000_000.0));
        assert_eq!(memory("Name:\ttenure\nVmSize:\t  2048 kB\nVmRSS:\t 1024 kB\n"), Some((1 << 20, 2 << 20)));
        assert_eq!(
            max_open_files(
                "Limit x\nMax open files            1024                 524288               files \n"
            ),
            Some(1024)
        );
        assert_eq!(
            max_open_files("Max open files            unlimited            unlimited            files \n"),
            None
        );
        assert_eq!(times("broken"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_read() {
        let this = read().unwrap();
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        assert!(this.resident_bytes > 1 << 20 && this.virtual_bytes >= this.resident_bytes, "{this:?}");
        assert!(this.start_seconds > 1e9 && this.start_seconds <= now + 2.0, "{this:?}");
        assert!(this.open_files >= 3 && this.cpu_seconds >= 0.0, "{this:?}");
    }
}
