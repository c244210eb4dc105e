//! A scratch PostgreSQL: a private, durable server on a free port, removed when it is dropped.
//!
//! The server belongs to a shell (`scratch.sh`) that reads from a pipe. The shell cleans up when the pipe closes, so the
//! server ends with this process even if it is killed. Debian's cluster is never used.
//!
//! Settings are PostgreSQL's defaults except for the number of connections, so measurements hold for users, too.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};

const VERSIONS: &str = "/usr/lib/postgresql";
const FOLDER_PREFIX: &str = "tenure-postgres-";
const CONNECTIONS_MAX: u32 = 200;
/// Another process may take the port before the server does.
const ATTEMPTS_MAX: u32 = 3;
/// A socket's path has at most 107 bytes, and PostgreSQL appends a file name to the folder.
const FOLDER_BYTES_MAX: usize = 80;

/// A running server. Dropping it stops the server and removes its folder.
#[derive(Debug)]
pub struct Scratch {
    shell: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
    programs: PathBuf,
    user: ServerUser,
    port: u16,
}

impl Scratch {
    /// Starts a new server with an empty database, and returns when it accepts connections.
    pub fn start() -> Result<Self> {
        let programs = programs().context("PostgreSQL is not installed: run `cargo xtask install`")?;
        let user = ServerUser::find()?;
        remove_stale_folders(&user, &programs);
        let mut attempt = 1;
        loop {
            match Self::start_once(&programs, &user) {
                Err(_) if attempt < ATTEMPTS_MAX => attempt += 1,
                result => return result,
            }
        }
    }

    fn start_once(programs: &Path, user: &ServerUser) -> Result<Self> {
        let folder = new_folder(user)?;
        let port = free_port()?;
        let mut shell = spawn_shell(&folder, port, programs, user).inspect_err(|_| {
            let _ = fs::remove_dir_all(&folder);
        })?;
        let commands = shell.stdin.take();
        let answers = BufReader::new(shell.stdout.take().context("stdout is not piped")?);
        let (programs, user) = (programs.to_path_buf(), user.clone());
        let mut scratch = Self { shell, commands, answers, folder, programs, user, port };
        scratch.answer("cannot start the scratch PostgreSQL")?;
        Ok(scratch)
    }

    /// The URL, as the superuser.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Environment for test programs: where the server is, and what is needed to start another one.
    pub fn env(&self) -> [(&'static str, String); 4] {
        [
            ("TENURE_TEST_POSTGRES", self.url()),
            ("TENURE_TEST_POSTGRES_DATA", self.folder.join("data").display().to_string()),
            ("TENURE_TEST_POSTGRES_BIN", self.programs.display().to_string()),
            ("TENURE_TEST_POSTGRES_USER", self.user.name.clone()),
        ]
    }

    /// Stops the server without a checkpoint, like a crash.
    pub fn crash(&mut self) -> Result<()> {
        self.send("crash", "cannot stop the scratch PostgreSQL")
    }

    /// Starts a crashed server again, with the same port and data.
    pub fn restart(&mut self) -> Result<()> {
        self.send("start", "cannot restart the scratch PostgreSQL")
    }

    /// The processes of the server: the first and those that it has started.
    pub fn processes(&self) -> Result<Vec<u32>> {
        let state = fs::read_to_string(self.folder.join("data/postmaster.pid"))?;
        let first: u32 = state.lines().next().unwrap_or_default().parse().context("no process id")?;
        let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children"))?;
        let children = children.split_whitespace().filter_map(|process| process.parse().ok());
        Ok(std::iter::once(first).chain(children).collect())
    }

    fn send(&mut self, command: &str, error: &str) -> Result<()> {
        let commands = self.commands.as_mut().context("the pipe is open until the server is dropped")?;
        writeln!(commands, "{command}")?;
        self.answer(error)
    }

    fn answer(&mut self, error: &str) -> Result<()> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.trim() == "done" {
            return Ok(());
        }
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        bail!("{error}\n{}", String::from_utf8_lossy(&log));
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The closed pipe makes the shell clean up; after it has ended, nothing is left.
        self.commands = None;
        let _ = self.shell.wait();
        // Where only root may write, the shell can empty the folder but not remove it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn spawn_shell(folder: &Path, port: u16, programs: &Path, user: &ServerUser) -> Result<Child> {
    let settings = format!(
        "listen_addresses = '127.0.0.1'\nport = {port}\nmax_connections = {CONNECTIONS_MAX}\n\
         unix_socket_directories = '{}'\n",
        folder.display()
    );
    for (name, text) in [("settings", settings.as_str()), ("scratch.sh", include_str!("scratch.sh"))] {
        fs::write(folder.join(name), text)?;
        user.owns(&folder.join(name))?;
    }
    user.runs(Command::new("sh"))
        .args([&folder.join("scratch.sh"), folder, programs])
        .current_dir(folder)
        // Ctrl-C ends this process only; the shell sees the closed pipe.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start sh")
}

/// The user of the server process: PostgreSQL refuses to run as root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUser {
    name: String,
    uid: u32,
    gid: u32,
    /// This process is root and switches to this user.
    is_other: bool,
}

impl ServerUser {
    pub fn find() -> Result<Self> {
        let accounts = fs::read_to_string("/etc/passwd")?;
        if !is_root()? {
            let process = fs::metadata("/proc/self")?;
            let (uid, gid) = (process.uid(), process.gid());
            let name = account(&accounts, |fields| fields[2] == uid.to_string()).map(|user| user.name);
            return Ok(Self { name: name.unwrap_or_default(), uid, gid, is_other: false });
        }
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| account(&accounts, |fields| fields[0] == *name))
            .context("PostgreSQL does not run as root, and neither the user postgres nor nobody exists")
    }

    /// Makes this user the owner of a path.
    pub fn owns(&self, path: &Path) -> Result<()> {
        if self.is_other {
            chown(path, Some(self.uid), Some(self.gid))?;
        }
        Ok(())
    }

    /// The command, run by this user.
    pub fn runs(&self, mut command: Command) -> Command {
        if self.is_other {
            command.uid(self.uid).gid(self.gid);
        }
        command
    }
}

fn account(accounts: &str, wanted: impl Fn(&[&str]) -> bool) -> Option<ServerUser> {
    let mut lines = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let fields = lines.find(|fields| fields.len() > 3 && wanted(fields))?;
    let (uid, gid) = (fields[2].parse().ok()?, fields[3].parse().ok()?);
    Some(ServerUser { name: fields[0].to_string(), uid, gid, is_other: true })
}

/// Whether this process runs as root.
pub fn is_root() -> Result<bool> {
    Ok(fs::metadata("/proc/self").context("/proc is not mounted")?.uid() == 0)
}

/// The folder with the programs of the newest installed server.
pub fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.flatten();
    let named = versions.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let programs = entry.path().join("bin");
        programs.join("initdb").is_file().then_some((version, programs))
    });
    named.max().map(|(_, programs)| programs)
}

/// A port that was free just now.
pub fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

/// The system's temporary folder, or `/tmp` if its name is too long for a socket or the server's user may not enter it.
fn temp_folder(user: &ServerUser) -> PathBuf {
    let folder = std::env::temp_dir();
    let is_open = |part: &Path| fs::metadata(part).is_ok_and(|data| data.mode() & 0o001 != 0);
    let fits = folder.as_os_str().len() <= FOLDER_BYTES_MAX;
    if fits && (!user.is_other || folder.ancestors().all(is_open)) { folder } else { PathBuf::from("/tmp") }
}

fn new_folder(user: &ServerUser) -> Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = temp_folder(user).join(format!("{FOLDER_PREFIX}{}-{number}", std::process::id()));
    fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    user.owns(&folder)?;
    Ok(folder)
}

/// Removes the folders of runs that were killed together with their shell. Each name contains the process id.
fn remove_stale_folders(user: &ServerUser, programs: &Path) {
    for entry in fs::read_dir(temp_folder(user)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(FOLDER_PREFIX) else { continue };
        let process = rest.split('-').next().unwrap_or(rest);
        if Path::new("/proc").join(process).exists() {
            continue;
        }
        // The server may still run. Stopping and removing fail for a folder of another user, which is ignored.
        let _ = user
            .runs(Command::new(programs.join("pg_ctl")))
            .args(["stop", "-m", "immediate", "-D"])
            .arg(entry.path().join("data"))
            .current_dir("/")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let _ = fs::remove_dir_all(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Option<Scratch> {
        if programs().is_none() {
            eprintln!("not run: PostgreSQL is not installed");
            return None;
        }
        Some(Scratch::start().unwrap())
    }

    fn query(scratch: &Scratch, statement: &str) -> String {
        let mut psql = Command::new(scratch.programs.join("psql"));
        let output = psql.args(["-X", "-q", "-A", "-t", "-c", statement, &scratch.url()]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_string()
    }

    #[test]
    fn committed_data_survives_a_crash_and_drop_removes_the_folder() {
        let Some(mut scratch) = start() else { return };
        assert_eq!(query(&scratch, "show fsync"), "on");
        assert_eq!(query(&scratch, "show max_connections"), "200");
        query(&scratch, "create table kept (it int); insert into kept values (7)");
        scratch.crash().unwrap();
        scratch.restart().unwrap();
        assert_eq!(query(&scratch, "select it from kept"), "7");
        let folder = scratch.folder.clone();
        assert!(folder.join("data").is_dir());
        drop(scratch);
        assert!(!folder.exists());
    }

    #[test]
    fn a_command_that_fails_returns_the_servers_log() {
        let Some(mut scratch) = start() else { return };
        let error = scratch.restart().unwrap_err().to_string();
        assert!(error.contains("cannot restart"), "{error}");
        assert!(error.contains("postmaster.pid"), "{error}");
    }

    #[test]
    fn accounts_are_found_by_name() {
        let accounts =
            "root:x:0:0::/:/bin/sh\nbroken\npostgres:x:101:104:,,,:/var/lib/postgresql:/bin/bash\n";
        let user = account(accounts, |fields| fields[0] == "postgres").unwrap();
        assert_eq!((user.uid, user.gid), (101, 104));
        assert!(account(accounts, |fields| fields[0] == "nobody").is_none());
    }
}
