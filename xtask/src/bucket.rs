//! A scratch bucket: a server that speaks S3 (moto), on a free port, with nothing in it, gone when it is dropped.
//!
//! The server belongs to a shell that waits on a pipe from us, so the end of this process is its end.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{python, scratch};

/// Another version may speak otherwise: raise it on purpose.
const MOTO: &str = "moto[server]==5.1.22";
const SCRIPT: &str =
    "\"$0\" -H 127.0.0.1 -p \"$1\" >/dev/null 2>&1 & server=$!; cat >/dev/null; kill \"$server\"; wait";
const START_MAX: Duration = Duration::from_mins(2);

/// A running server with one bucket. Dropping it stops the server.
#[derive(Debug)]
pub struct Bucket {
    keeper: Child,
    pipe: Option<ChildStdin>,
    port: u16,
}

/// Installs the server, if it is missing.
pub fn install() -> Result<()> {
    program().map(drop)
}

fn program() -> Result<PathBuf> {
    Ok(python::with("moto", &[MOTO])?.with_file_name("moto_server"))
}

impl Bucket {
    /// The name of its bucket.
    pub const NAME: &str = "scratch";

    /// Starts a server, and returns when its bucket is there.
    pub fn start() -> Result<Self> {
        let program = program()?;
        let port = scratch::free_port()?;
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT]).arg(program).arg(port.to_string()).stdin(Stdio::piped());
        let mut keeper = shell.spawn().context("there is no shell")?;
        let pipe = keeper.stdin.take();
        let bucket = Self { keeper, pipe, port };
        let began = Instant::now();
        while !bucket.ask("PUT", &format!("/{}", Self::NAME)).is_ok_and(|answer| answer.contains(" 200 ")) {
            if began.elapsed() > START_MAX {
                bail!("the scratch bucket does not start");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(bucket)
    }

    /// What a program is told that is to use it.
    pub fn env(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "scratch".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "scratch-secret".to_owned()),
        ]
    }

    /// The names of its objects.
    pub fn objects(&self) -> Result<Vec<String>> {
        let answer = self.ask("GET", &format!("/{}?list-type=2", Self::NAME))?;
        let keys = answer.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
        Ok(keys.map(|(key, _)| key.to_owned()).collect())
    }

    fn ask(&self, method: &str, path: &str) -> Result<String> {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port))?;
        socket.set_read_timeout(Some(Duration::from_secs(30)))?;
        let ask = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            self.port
        );
        socket.write_all(ask.as_bytes())?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // The shell has heard it, and ends.
        let _ = self.keeper.wait();
    }
}
