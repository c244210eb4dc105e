//! A scratch bucket: an S3 server (moto) on a free port with an empty bucket, removed when it is dropped.
//!
//! The server belongs to a shell that reads from a pipe, so it ends with this process.

use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{http, python, scratch};

/// Pinned: another version may behave differently.
const MOTO: &str = "moto[server]==5.1.22";
const SCRIPT: &str =
    "\"$0\" -H 127.0.0.1 -p \"$1\" >/dev/null 2>&1 & server=$!; cat >/dev/null; kill \"$server\"; wait";
const START_MAX: Duration = Duration::from_mins(2);

/// A running server with one bucket. Dropping it stops the server.
#[derive(Debug)]
pub struct Bucket {
    shell: Child,
    pipe: Option<ChildStdin>,
    port: u16,
}

/// Installs the server if it is missing.
pub fn install() -> Result<()> {
    program().map(drop)
}

fn program() -> Result<PathBuf> {
    Ok(python::with("moto", &[MOTO])?.with_file_name("moto_server"))
}

impl Bucket {
    pub const NAME: &str = "scratch";

    /// Starts a server and creates the bucket.
    pub fn start() -> Result<Self> {
        let program = program()?;
        let port = scratch::free_port()?;
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT]).arg(program).arg(port.to_string()).stdin(Stdio::piped());
        let mut shell = shell.spawn().context("cannot start sh")?;
        let pipe = shell.stdin.take();
        let bucket = Self { shell, pipe, port };
        let start = Instant::now();
        while bucket.request("PUT", &format!("/{}", Self::NAME)).is_err() {
            if start.elapsed() > START_MAX {
                bail!("cannot start the scratch bucket");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(bucket)
    }

    /// Environment for programs that use the bucket.
    pub fn env(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "scratch".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "scratch-secret".to_owned()),
        ]
    }

    /// The keys of all objects.
    pub fn objects(&self) -> Result<Vec<String>> {
        let answer = self.request("GET", &format!("/{}?list-type=2", Self::NAME))?;
        let keys = answer.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
        Ok(keys.map(|(key, _)| key.to_owned()).collect())
    }

    fn request(&self, method: &str, path: &str) -> Result<String> {
        http::request(("127.0.0.1", self.port), method, path, "", "")
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // The closed pipe ends the shell.
        let _ = self.shell.wait();
    }
}
