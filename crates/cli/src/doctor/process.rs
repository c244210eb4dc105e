//! The limit of open files, of the running server or of this process.

use std::fs;

use rustix::process::{Resource, getrlimit};

use super::{Finding, Status};

/// Files that are not connections: the store, its readers, logs, webhooks.
const OTHER_FILES: u64 = 128;
const UNLIMITED: u64 = u64::MAX;

pub(super) fn descriptors(connections: usize, server: Option<u32>) -> Finding {
    let needed = connections as u64 + OTHER_FILES;
    let limits = server.and_then(|id| Some((id, fs::read_to_string(format!("/proc/{id}/limits")).ok()?)));
    if let Some((id, limit)) = limits.and_then(|(id, limits)| Some((id, limit_of(&limits)?))) {
        return judge(needed, limit, &format!("of process {id}"));
    }
    // The server may be started with another limit, up to the hard one.
    let own = getrlimit(Resource::Nofile);
    let finding = judge(needed, own.maximum.unwrap_or(UNLIMITED), "at most for this user");
    match own.current {
        Some(soft) if soft < needed && finding.status == Status::Ok => {
            let found = format!("{soft} in this shell; {needed} are needed: see LimitNOFILE= of the unit");
            Finding::skipped("open files", found)
        }
        _ => finding,
    }
}

/// The soft limit in a file of `/proc`.
fn limit_of(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(UNLIMITED),
        number => number.parse().ok(),
    }
}

fn judge(needed: u64, limit: u64, whose: &str) -> Finding {
    let shown = if limit == UNLIMITED { "unlimited".to_owned() } else { limit.to_string() };
    let found = format!("{shown} {whose}; {needed} for limits.connections and the store");
    let action = "raise LimitNOFILE= of the unit (or `ulimit -n`), or lower limits.connections";
    Finding::wrong_if(limit < needed, "open files", found, action)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_another_process_is_read() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax processes  5  6  processes\nMax open files            1024                 524288               files\n";
        assert_eq!(limit_of(limits), Some(1024));
        assert_eq!(limit_of("Max open files  unlimited unlimited files"), Some(UNLIMITED));
        assert_eq!(limit_of("nothing"), None);
    }
}
