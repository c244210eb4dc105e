//! Power cuts: a disk that loses everything that was not flushed.
//!
//! As root, ext4 is on a loop device on a file that nbdfuse shows of nbdkit, and nbdkit holds writes in memory until they are
//! flushed. A cut is `kill -9` of nbdkit. Otherwise a shim copies each file of the store when it is synced, and after a cut
//! only these copies are left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tenure_launcher::Process;

use crate::{Server, Setup, eventually};

const IMAGE_BYTES: u64 = 4 << 30;
const BLOCK_BYTES: usize = 4096;

/// The disk below the data folder of a setup.
pub(super) struct PowerDisk {
    kind: Kind,
    data: PathBuf,
    /// Image, socket and mount point of nbdfuse; or the shim and its copies.
    folder: TempDir,
    /// Keeps the folder until the file system is unmounted.
    setup: Option<Setup>,
}

enum Kind {
    Device(Option<Device>),
    /// Copies of synced files.
    Copies,
}

/// The running programs of a mounted disk.
struct Device {
    nbdkit: Process,
    nbdfuse: Process,
    path: String,
}

impl PowerDisk {
    /// A disk for the data folder of this setup; on a real file system if this process is root.
    pub(super) async fn below(setup: Setup, is_real: bool, without_sync: bool) -> (Self, Setup) {
        let folder = tempfile::tempdir().unwrap();
        let data = setup.path("data");
        fs::create_dir_all(&data).unwrap();
        fs::create_dir(folder.path().join("copies")).unwrap();
        let library = xtask::shim::build(folder.path()).expect("the shim can be built");
        let mut env = vec![("LD_PRELOAD", library.display().to_string())];
        if without_sync {
            env.push(("TENURE_SHIM_SYNC_NONE", "1".to_owned()));
        }
        let kind = if is_real {
            Kind::Device(None)
        } else {
            env.push(("TENURE_SHIM_COPIES", folder.path().join("copies").display().to_string()));
            Kind::Copies
        };
        let is_shimmed = without_sync || !is_real;
        let setup = if is_shimmed { setup.env(env) } else { setup };
        let mut disk = Self { kind, data, folder, setup: Some(setup.clone()) };
        if is_real {
            disk.format();
            disk.connect().await;
            disk.lose_unsynced_writes().await;
        }
        (disk, setup)
    }

    /// Cuts the power of the disk, then of the server, and starts both again.
    pub(super) async fn cut(&mut self, mut server: Server) -> Server {
        self.disconnect(|| server.kill()).await;
        self.connect().await;
        server.restart_at_same_address().await
    }

    fn format(&self) {
        let image = self.folder.path().join("image");
        fs::File::create(&image).and_then(|file| file.set_len(IMAGE_BYTES)).unwrap();
        run(Command::new("mkfs.ext4").arg("-q").arg(&image));
        fs::create_dir(self.folder.path().join("nbd")).unwrap();
    }

    async fn connect(&mut self) {
        let folder = self.folder.path();
        let Kind::Device(device) = &mut self.kind else {
            restore(&folder.join("copies"), &self.data);
            return;
        };
        let (socket, file) = (folder.join("socket"), folder.join("nbd/disk"));
        let mut nbdkit = Command::new("nbdkit");
        nbdkit.args(["--exit-with-parent", "--foreground", "--filter=cache", "--unix"]).arg(&socket);
        nbdkit.arg("file").arg(folder.join("image")).arg("cache=writeback");
        let nbdkit = Process::start(nbdkit).expect("nbdkit is installed");
        eventually("nbdkit listens", async || socket.exists()).await;
        let mut nbdfuse = Command::new("nbdfuse");
        nbdfuse.arg(&file).arg("--unix").arg(&socket);
        let nbdfuse = Process::start(nbdfuse).expect("nbdfuse is installed");
        eventually("nbdfuse shows the disk", async || file.exists()).await;
        let path = run(Command::new("losetup").args(["--find", "--show"]).arg(&file));
        run(Command::new("mount").arg(&path).arg(&self.data));
        *device = Some(Device { nbdkit, nbdfuse, path });
    }

    /// Cuts the power of the disk, calls `power_off` and removes what is left of both.
    async fn disconnect(&mut self, power_off: impl FnOnce()) {
        let Kind::Device(device) = &mut self.kind else { return power_off() };
        let mut device = device.take().expect("the disk is connected");
        device.nbdkit.kill().expect("nbdkit can be killed");
        power_off();
        let is_unmounted = async || Command::new("umount").arg(&self.data).output().unwrap().status.success();
        eventually("the file system is unmounted", is_unmounted).await;
        run(Command::new("losetup").args(["--detach", &device.path]));
        drop(Command::new("umount").arg("--lazy").arg(self.folder.path().join("nbd")).output());
        drop(device.nbdfuse.kill());
        fs::remove_file(self.folder.path().join("socket")).unwrap();
    }

    /// Proves that a cut loses what was not flushed, also if the device has received it, and nothing else.
    async fn lose_unsynced_writes(&mut self) {
        let (kept, lost) = (self.data.join("kept"), self.data.join("lost"));
        fs::write(&kept, [b'a'; BLOCK_BYTES]).unwrap();
        run(Command::new("sync").arg("--file-system").arg(&kept));
        fs::write(&lost, [b'b'; BLOCK_BYTES]).unwrap();
        // Written to the device, which has not flushed it.
        let mut direct = Command::new("dd");
        direct.args(["if=/dev/zero", "bs=4096", "count=1", "oflag=direct", "conv=notrunc", "status=none"]);
        run(direct.arg(format!("of={}", kept.display())));
        self.disconnect(|| ()).await;
        self.connect().await;
        assert_eq!(fs::read(&kept).unwrap(), [b'a'; BLOCK_BYTES], "the flushed block, not the later one");
        let left = fs::read(&lost).unwrap_or_default();
        assert!(left.is_empty(), "the disk kept a file that was not synced");
        fs::remove_file(&kept).unwrap();
        drop(fs::remove_file(&lost));
    }
}

impl Drop for PowerDisk {
    fn drop(&mut self) {
        if let Kind::Device(Some(device)) = &mut self.kind {
            drop(Command::new("umount").arg("--lazy").arg(&self.data).output());
            drop(Command::new("losetup").args(["--detach", &device.path]).output());
            drop(Command::new("umount").arg("--lazy").arg(self.folder.path().join("nbd")).output());
            drop((device.nbdfuse.kill(), device.nbdkit.kill()));
        }
        self.setup = None;
    }
}

/// Replaces the files of the store by the copies that were made when they were synced.
fn restore(copies: &Path, data: &Path) {
    let files = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for file in files(data).filter(|path| path.to_string_lossy().contains("tenure.db")) {
        fs::remove_file(file).unwrap();
    }
    for copy in files(copies).filter(|path| path.extension().is_none_or(|end| end != "part")) {
        fs::copy(&copy, data.join(copy.file_name().unwrap())).unwrap();
    }
}

/// Runs a command that must succeed, and returns what it prints.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    text(&output.stdout)
}
