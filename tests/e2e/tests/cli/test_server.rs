//! `tenure test-server`: a server in memory whose clock moves only when it is asked to.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_e2e::cli::Folder;
use tenure_e2e::tenure;

/// A running test server.
struct TestServer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    url: String,
    begin: String,
}

impl TestServer {
    fn start(folder: &Folder) -> Self {
        let mut command = Command::new(tenure());
        command.arg("test-server").current_dir(folder.path()).env_remove("TENURE_KEY");
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let mut server = Self { process, input, output, url: String::new(), begin: String::new() };
        let first = server.line();
        first["url"].as_str().unwrap().clone_into(&mut server.url);
        first["now"].as_str().unwrap().clone_into(&mut server.begin);
        server
    }

    fn line(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a line and returns the answer.
    fn ask(&mut self, line: &str) -> Value {
        writeln!(self.input, "{line}").unwrap();
        self.line()
    }

    fn tenure(&self, arguments: &[&str]) -> Value {
        let output = Command::new(tenure())
            .args(arguments)
            .args(["-o", "json"])
            .env("TENURE_URL", &self.url)
            .env_remove("TENURE_KEY")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn the_clock_of_a_test_server_stands_still_until_a_line_moves_it() {
    let folder = Folder::new();
    folder.write("tenure.toml", "[types.slow]\nlifecycle = \"engine\"\n");
    let mut server = TestServer::start(&folder);
    let job = server.tenure(&["job", "create", "slow"]);
    assert_eq!(job["created_at"], json!(server.begin));
    assert!(server.ask("advance 29s")["now"].as_str().unwrap() > server.begin.as_str());
    let id = job["id"].as_str().unwrap();
    assert_eq!(server.tenure(&["job", "get", id])["state"], "queued");
    server.ask("advance 1s");
    // Nothing but a timer changes the job: it fires within a moment.
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.tenure(&["job", "get", id])["state"] != "failed" {
        assert!(Instant::now() < deadline, "an engine did not take it for 30 seconds");
    }
    for wrong in ["", "advance", "advance x", "advance -1s", "advance 11000d", "stop", "\u{fffd}"] {
        assert!(server.ask(wrong)["error"].is_string(), "{wrong:?}");
    }
    drop(server.input);
    assert!(server.process.wait().unwrap().success(), "it ends with its input");
    assert!(!folder.path().join("tenure-data").exists(), "nothing is stored");
}
