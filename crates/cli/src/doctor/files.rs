//! The folder of the embedded store: its permissions, its disk, the store in it, and the process that uses it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

use super::{Finding, common};

/// Below this, or below a tenth of the disk, new jobs may soon be refused.
const FREE_BYTES_MIN: u64 = 1 << 30;

const RIGHT_USER: &str =
    "run this command as the user of the server, or give the folder to that user with chown";

/// The findings, and the id of the server's process if one runs.
pub(super) fn check(folder: &Path) -> (Vec<Finding>, Option<u32>) {
    if !folder.exists() {
        let found = format!("{} does not exist: the first start creates it", folder.display());
        return (vec![Finding::skipped("store", found), parent_space(folder)], None);
    }
    if let Err(error) = fs::read_dir(folder) {
        let finding = Finding::wrong("store", format!("{}: {error}", folder.display()), RIGHT_USER);
        return (vec![finding, parent_space(folder)], None);
    }
    let mut findings = vec![permissions(folder), writable(folder), free_space("free space", folder)];
    if folder.join("tenure.db").exists() {
        match tenure_store::inspect_folder(folder) {
            Ok(inspection) => findings.extend(common(&inspection)),
            Err(error) => {
                let action = "look closer with `tenure verify`; if the file is damaged, restore a backup with `tenure restore`";
                findings.push(Finding::wrong("store", error.to_string(), action));
            }
        }
    } else {
        findings.push(Finding::skipped("store", "the folder has no store yet: the first start creates it"));
    }
    (findings, server(folder))
}

/// Files of the store and the folder are for its user alone.
fn permissions(folder: &Path) -> Finding {
    let names = ["tenure.db", "tenure.db-wal", "tenure.db-shm", "tenure.lock", "tenure.reserve", "assets"];
    let paths = std::iter::once(folder.to_owned()).chain(names.map(|name| folder.join(name)));
    let open = paths.filter_map(|path| {
        let mode = fs::metadata(&path).ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| format!("{} has mode {mode:04o}", path.display()))
    });
    let open: Vec<String> = open.collect();
    if open.is_empty() {
        return Finding::ok("permissions", "only the owner can read the store");
    }
    let action = format!("chmod -R go= {}", folder.display());
    Finding::wrong("permissions", open.join(", "), action)
}

fn writable(folder: &Path) -> Finding {
    let shown = folder.display();
    let is_read_only = statvfs(folder).is_ok_and(|disk| disk.f_flag.contains(StatVfsMountFlags::RDONLY));
    let database = folder.join("tenure.db");
    let is_denied = access(folder, Access::WRITE_OK | Access::EXEC_OK).is_err()
        || (database.exists() && access(&database, Access::READ_OK | Access::WRITE_OK).is_err());
    if is_read_only {
        return Finding::wrong("writable", format!("{shown} is on a read-only disk"), "mount it read-write");
    }
    let found = if is_denied { format!("this user may not write to {shown}") } else { format!("{shown}") };
    Finding::wrong_if(is_denied, "writable", found, RIGHT_USER)
}

/// The disk of the nearest folder that exists.
fn parent_space(folder: &Path) -> Finding {
    let existing = folder.ancestors().find(|parent| parent.is_dir()).unwrap_or(Path::new("."));
    free_space("free space", existing)
}

pub(super) fn free_space(check: &'static str, folder: &Path) -> Finding {
    match statvfs(folder) {
        Ok(disk) => space(check, disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize),
        Err(error) => Finding::wrong(
            check,
            format!("{}: {error}", folder.display()),
            "create the folder, or correct the path",
        ),
    }
}

fn space(check: &'static str, free: u64, total: u64) -> Finding {
    let found = format!("{} MiB of {} MiB free", free >> 20, total >> 20);
    let action = "free disk space, or move the store to a larger disk: on a full one new jobs are refused";
    Finding::wrong_if(free < FREE_BYTES_MIN || free < total / 10, check, found, action)
}

/// The process that has locked the folder, if it runs.
fn server(folder: &Path) -> Option<u32> {
    let id: u32 = fs::read_to_string(folder.join("tenure.lock")).ok()?.trim().parse().ok()?;
    let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
    (name.trim() == "tenure").then_some(id)
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn little_free_space_is_wrong_by_bytes_and_by_share() {
        let status = |free: u64, total: u64| space("disk", free << 30, total << 30).status;
        assert_eq!(status(0, 5), Status::Wrong, "less than a GiB");
        assert_eq!(status(9, 100), Status::Wrong, "less than a tenth");
        assert_eq!((status(1, 5), status(10, 100)), (Status::Ok, Status::Ok));
    }
}
