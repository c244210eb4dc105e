//! A client of `tenure mcp`: the real binary, whose input and output are pipes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::DEADLINE;

/// The limit of every answer, as the documentation states it.
pub const ANSWER_BYTES_MAX: usize = 32 * 1024;

/// A running `tenure mcp`. Dropping it kills the process.
pub struct McpSession {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    last_id: u64,
}

/// What a process that has ended left.
pub struct McpEnd {
    pub exit: Option<i32>,
    /// Messages that were not received before.
    pub messages: Vec<Value>,
    pub stderr: String,
}

impl McpSession {
    /// Starts the command without sending anything.
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut errors = child.stderr.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if sender.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).unwrap();
            text
        });
        Self { child, input, lines, stderr: Some(stderr), last_id: 0 }
    }

    /// Starts the command and initializes the session.
    pub fn initialized(command: Command) -> Self {
        let mut session = Self::start(command);
        session.initialize();
        session
    }

    /// The result of `initialize`.
    pub fn initialize(&mut self) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        let answer = self.request("initialize", &params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        answer["result"].clone()
    }

    /// Sends a line.
    pub fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// The next message.
    #[track_caller]
    pub fn receive(&self) -> Value {
        message(&self.lines.recv_timeout(DEADLINE).expect("an answer of a binary with the feature mcp"))
    }

    /// The answer to a request.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request.to_string());
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The tools, as the protocol lists them.
    pub fn tools(&mut self) -> Vec<Value> {
        self.request("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone()
    }

    /// The text of an answer, and whether it is an error.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let answer = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"));
        assert!(text.len() <= ANSWER_BYTES_MAX, "{tool} answers with {} bytes", text.len());
        (result["isError"] == json!(true), text.to_owned())
    }

    /// The JSON of an answer without an error.
    #[track_caller]
    pub fn ok(&mut self, tool: &str, arguments: &Value) -> Value {
        let (is_error, text) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {text}");
        message(&text)
    }

    /// The error of an answer.
    #[track_caller]
    pub fn error(&mut self, tool: &str, arguments: &Value) -> Value {
        let (is_error, text) = self.call(tool, arguments);
        assert!(is_error, "{tool}: {text}");
        message(&text)["error"].clone()
    }

    /// Every row of a list, page by page, and the number of pages.
    #[track_caller]
    pub fn pages(&mut self, tool: &str, mut arguments: Value, rows: &str) -> (Vec<Value>, usize) {
        let (mut all, mut pages) = (Vec::new(), 0);
        loop {
            let page = self.ok(tool, &arguments);
            let found = page.pointer(rows).and_then(Value::as_array);
            all.extend(found.unwrap_or_else(|| panic!("no {rows}: {page}")).clone());
            pages += 1;
            if page["next_cursor"].is_null() {
                return (all, pages);
            }
            arguments["cursor"] = page["next_cursor"].clone();
        }
    }

    /// Ends the input and waits for the process.
    pub fn end(mut self) -> McpEnd {
        drop(self.input.take());
        let messages = std::iter::from_fn(|| self.lines.recv_timeout(DEADLINE).ok());
        let messages = messages.map(|line| message(&line)).collect();
        let exit = self.child.wait().unwrap().code();
        let stderr = self.stderr.take().expect("it is taken once").join().unwrap();
        McpEnd { exit, messages, stderr }
    }
}

impl Drop for McpSession {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Everything on stdout is JSON.
#[track_caller]
fn message(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("not JSON ({error}): {line:?}"))
}
