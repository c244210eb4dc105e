//! The folder of an attempt: private, removed after it, and the only place whose files can become assets.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, open, openat};
use rustix::io::Errno;

use crate::output;

/// A killed process can still finish a system call that adds a file.
const REMOVE_TRIES: usize = 5;

/// The folder exists until this is dropped.
#[derive(Debug)]
pub(super) struct JobFolder {
    path: PathBuf,
    /// Opened at its creation. Assets are opened relative to it, whatever its path refers to by then.
    opened: OwnedFd,
}

impl JobFolder {
    pub(super) fn create() -> io::Result<Self> {
        let mut settings = tempfile::Builder::new();
        let folder = settings.prefix("tenure-job-").permissions(Permissions::from_mode(0o700)).tempdir()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = open(folder.path(), flags, Mode::empty())?;
        Ok(Self { path: folder.keep(), opened })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file of this folder: no symbolic link on the way, a regular file, and no second name elsewhere. What was
    /// opened is checked, not what the path refers to before or afterwards.
    pub(super) fn open(&self, file: &Path) -> Result<File, String> {
        let names = self.names(file).ok_or("it is not inside the job's folder, TENURE_JOB_DIR")?;
        let (name, folders) = names.split_last().ok_or("it is the job's folder itself")?;
        let common = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = self.opened.try_clone().map_err(|error| error.to_string())?;
        for folder in folders {
            at = openat(&at, *folder, common | OFlags::DIRECTORY, Mode::empty()).map_err(explain)?;
        }
        // Without NONBLOCK, opening a FIFO waits for its writer.
        let flags = common | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = openat(&at, *name, flags, Mode::empty()).map_err(explain)?;
        let found = fstat(&opened).map_err(explain)?;
        if !FileType::from_raw_mode(found.st_mode).is_file() {
            return Err("it is not a regular file".to_owned());
        }
        if found.st_nlink > 1 {
            return Err("it is a hard link; store a copy".to_owned());
        }
        Ok(opened.into())
    }

    /// The names on the way from this folder to a file; `None` if the path leads elsewhere.
    fn names<'f>(&self, file: &'f Path) -> Option<Vec<&'f OsStr>> {
        let inside = file.strip_prefix(&self.path).unwrap_or(file);
        let parts = inside.components().filter(|part| *part != Component::CurDir);
        let name = |part| if let Component::Normal(name) = part { Some(name) } else { None };
        parts.map(name).collect()
    }
}

fn explain(error: Errno) -> String {
    match error {
        Errno::LOOP => "it is a symbolic link".to_owned(),
        Errno::NOTDIR => "its path is not a folder, or a symbolic link".to_owned(),
        other => io::Error::from(other).to_string(),
    }
}

impl Drop for JobFolder {
    /// Removes the folder. Symbolic links in it are removed and not followed.
    fn drop(&mut self) {
        let mut removed = Ok(());
        for _ in 0..REMOVE_TRIES {
            removed = std::fs::remove_dir_all(&self.path);
            match &removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {}
                _ => return,
            }
        }
        if let Err(error) = removed {
            output::message(&format!("cannot remove {}: {error}", self.path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, mkfifoat};

    use super::*;

    fn refusal(folder: &JobFolder, file: &str) -> String {
        folder.open(Path::new(file)).unwrap_err()
    }

    fn content(folder: &JobFolder, file: impl AsRef<Path>) -> String {
        let mut text = String::new();
        folder.open(file.as_ref()).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn files_of_the_folder_are_opened_by_relative_and_absolute_path() {
        let folder = JobFolder::create().unwrap();
        std::fs::create_dir(folder.path().join("out")).unwrap();
        std::fs::write(folder.path().join("out/a b.txt"), "made").unwrap();
        for file in ["out/a b.txt", "./out/./a b.txt", "out//a b.txt"] {
            assert_eq!(content(&folder, file), "made", "{file}");
        }
        assert_eq!(content(&folder, folder.path().join("out/a b.txt")), "made");
    }

    #[test]
    fn nothing_outside_of_the_folder_is_opened() {
        let (folder, elsewhere) = (JobFolder::create().unwrap(), JobFolder::create().unwrap());
        let secret = elsewhere.path().join("secret");
        std::fs::write(&secret, "secret").unwrap();
        std::fs::write(folder.path().join("own"), "own").unwrap();
        symlink(&secret, folder.path().join("link")).unwrap();
        symlink(elsewhere.path(), folder.path().join("folder")).unwrap();
        symlink("own", folder.path().join("inner")).unwrap();
        std::fs::hard_link(&secret, folder.path().join("hard")).unwrap();
        let name = elsewhere.path().file_name().unwrap().to_str().unwrap();
        let up = format!("../{name}/secret");
        let inside = folder.path().join(&up);
        for (file, expected) in [
            (secret.to_str().unwrap(), "not inside"),
            ("/etc/hostname", "not inside"),
            (&up, "not inside"),
            (inside.to_str().unwrap(), "not inside"),
            ("own/..", "not inside"),
            ("link", "symbolic link"),
            ("inner", "symbolic link"),
            ("folder/secret", "symbolic link"),
            ("hard", "hard link"),
            ("", "the job's folder itself"),
            (".", "the job's folder itself"),
        ] {
            let refused = refusal(&folder, file);
            assert!(refused.contains(expected), "{file}: {refused}");
        }
    }

    #[test]
    fn only_regular_files_are_opened_and_a_fifo_does_not_block() {
        let folder = JobFolder::create().unwrap();
        mkfifoat(CWD, folder.path().join("fifo"), Mode::RWXU).unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        for file in ["fifo", "folder"] {
            assert!(refusal(&folder, file).contains("not a regular file"), "{file}");
        }
        refusal(&folder, "socket");
    }

    #[test]
    fn a_folder_that_was_replaced_is_not_used() {
        let (folder, elsewhere) = (JobFolder::create().unwrap(), JobFolder::create().unwrap());
        std::fs::write(folder.path().join("a"), "own").unwrap();
        std::fs::write(elsewhere.path().join("a"), "secret").unwrap();
        let moved = elsewhere.path().join("moved");
        std::fs::rename(folder.path(), &moved).unwrap();
        symlink(elsewhere.path(), folder.path()).unwrap();
        assert_eq!(content(&folder, "a"), "own");
        let path = folder.path().to_owned();
        drop(folder);
        assert!(path.symlink_metadata().is_err(), "the link is removed");
        assert!(elsewhere.path().join("a").exists(), "and not followed");
    }

    #[test]
    fn the_folder_is_private_and_removed_with_its_content() {
        let folder = JobFolder::create().unwrap();
        let path = folder.path().to_owned();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        std::fs::write(path.join("a/b/c"), "").unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
