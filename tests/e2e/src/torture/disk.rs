//! The disk: full, or failing to sync. As root the disk is a file system in memory; otherwise, and for the sync, a shim fails.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use tempfile::TempDir;

use super::load::Load;
use crate::{SeededRandom, Server, Setup, eventually};

/// Never used up: a full disk is one whose size is reduced to what is in use.
const DISK_BYTES: u64 = 4 << 30;
/// Free bytes of a full disk.
const FULL_DISK_BYTES: u64 = 64 << 10;
/// Reports that a full disk must still accept.
const REPORTS_WHILE_FULL: usize = 20;

pub(super) struct FaultyDisk {
    shim: TempDir,
    /// The data folder, if a file system is mounted there.
    mounted: Option<PathBuf>,
    /// Keeps the folder until the file system is unmounted.
    setup: Option<Setup>,
}

impl FaultyDisk {
    /// A disk for the data folder of this setup.
    pub(super) fn below(setup: Setup, as_root: bool) -> (Self, Setup) {
        let shim = tempfile::tempdir().unwrap();
        let library = xtask::shim::build(shim.path()).expect("the shim can be built");
        let mounted = as_root.then(|| mount(&setup.path("data")));
        let mut disk = Self { shim, mounted, setup: None };
        let env = [
            ("LD_PRELOAD", library.display().to_string()),
            ("TENURE_SHIM_SYNC_FLAG", disk.sync_flag().display().to_string()),
            ("TENURE_SHIM_FULL", disk.full_flag().display().to_string()),
        ];
        let setup = setup.env(env);
        disk.setup = Some(setup.clone());
        (disk, setup)
    }

    fn sync_flag(&self) -> PathBuf {
        self.shim.path().join("sync-fails")
    }

    fn full_flag(&self) -> PathBuf {
        self.shim.path().join("full")
    }

    /// The next sync fails, or the disk is full for a time.
    pub(super) async fn fail(&self, mut server: Server, load: &Load, random: &mut SeededRandom) -> Server {
        if random.below(2) == 0 {
            return self.fail_to_sync(server).await;
        }
        self.fill_and_free(&mut server, load).await;
        server
    }

    /// The outcome of the commit is unknown, so the server ends and reads the store again.
    async fn fail_to_sync(&self, mut server: Server) -> Server {
        File::create(self.sync_flag()).unwrap();
        let status = server.wait_for_exit().await;
        assert!(!status.success(), "a failed sync is a failure: {status}");
        server.restart_at_same_address().await
    }

    /// The disk is full until creations were refused, and on a real file system reports accepted. The server stays up.
    async fn fill_and_free(&self, server: &mut Server, load: &Load) {
        let state = load.state();
        let refused = || state.refused.creations.load(Ordering::Relaxed);
        let finished = || state.acknowledged.lock().unwrap().finished.len();
        self.fill().await;
        let before = refused();
        eventually("a full disk refuses creations", async || refused() > before).await;
        if self.mounted.is_some() {
            let enough = finished() + REPORTS_WHILE_FULL.min(state.backlog());
            eventually("a full disk accepts reports", async || finished() >= enough).await;
        }
        self.free();
        load.more(1).await;
        let created = || state.acknowledged.lock().unwrap().created.len();
        let before = created();
        eventually("a disk with free space accepts creations", async || created() > before).await;
        assert!(server.is_running(), "no restart is needed:\n{}", server.logs());
    }

    async fn fill(&self) {
        let Some(folder) = &self.mounted else {
            File::create(self.full_flag()).unwrap();
            return;
        };
        // Refused if the server has written more meanwhile.
        eventually("the disk is full", async || resize(folder, used_bytes(folder) + FULL_DISK_BYTES)).await;
    }

    fn free(&self) {
        match &self.mounted {
            Some(folder) => assert!(resize(folder, DISK_BYTES)),
            None => fs::remove_file(self.full_flag()).unwrap(),
        }
    }
}

impl Drop for FaultyDisk {
    fn drop(&mut self) {
        if let Some(folder) = &self.mounted {
            drop(Command::new("umount").arg("-l").arg(folder).status());
        }
    }
}

/// A file system in memory at this folder.
fn mount(at: &Path) -> PathBuf {
    fs::create_dir_all(at).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("size={DISK_BYTES}"), "tmpfs"]).arg(at);
    let output = mount.output().unwrap();
    assert!(output.status.success(), "root may mount: {}", String::from_utf8_lossy(&output.stderr));
    at.to_owned()
}

fn resize(folder: &Path, bytes: u64) -> bool {
    let mut mount = Command::new("mount");
    mount.args(["-o", &format!("remount,size={bytes}")]).arg(folder);
    mount.output().is_ok_and(|output| output.status.success())
}

fn used_bytes(folder: &Path) -> u64 {
    let output = Command::new("df").args(["-B1", "--output=used"]).arg(folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().nth(1).and_then(|line| line.trim().parse().ok()).expect("df prints a number")
}
