//! Socket.IO clients in JavaScript and Python, each in a child process that is controlled by JSON lines.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{Server, in_time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    JavaScript,
    Python,
}

/// A client. Its process is killed when dropped.
pub struct SocketClient {
    child: Child,
    stdin: ChildStdin,
    messages: mpsc::UnboundedReceiver<Value>,
    /// Messages that were received but not read by the test.
    unread: VecDeque<Value>,
    emitted: usize,
}

impl Drop for SocketClient {
    fn drop(&mut self) {
        self.kill();
    }
}

impl SocketClient {
    pub fn new(language: Language) -> Self {
        let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/src/socket");
        let missing = "the clients are installed: `cargo xtask install` installs them";
        let mut command = match language {
            Language::JavaScript => {
                let mut node = Command::new("node");
                node.env("SOCKET_CLIENT", xtask::peers::javascript().expect(missing));
                node.arg(format!("{scripts}/client.mjs"));
                node
            }
            Language::Python => {
                let mut python = Command::new(xtask::peers::python().expect(missing));
                python.arg(format!("{scripts}/client.py"));
                python
            }
        };
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect(missing);
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, messages) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        Self { child, stdin, messages, unread: VecDeque::new(), emitted: 0 }
    }

    /// A client in JavaScript that is connected to a namespace.
    pub async fn connected_to(server: &Server, namespace: &str, auth: &Value) -> Self {
        let mut client = Self::new(Language::JavaScript);
        client.connect(server, namespace, auth);
        client.connected().await;
        client
    }

    /// Connects to a namespace.
    pub fn connect(&mut self, server: &Server, namespace: &str, auth: &Value) {
        self.connect_by(server, namespace, auth, &["polling", "websocket"]);
    }

    /// Connects with these transports.
    pub fn connect_by(&mut self, server: &Server, namespace: &str, auth: &Value, transports: &[&str]) {
        self.connect_to(server.url(), namespace, auth, transports);
    }

    /// Connects to a server or a load balancer at this address.
    pub fn connect_to(&mut self, address: &str, namespace: &str, auth: &Value, transports: &[&str]) {
        let url = format!("{address}{namespace}");
        self.command(&json!({ "connect": { "url": url, "auth": auth, "transports": transports } }));
    }

    fn command(&mut self, command: &Value) {
        writeln!(self.stdin, "{command}").expect("the client reads");
        self.stdin.flush().expect("the client reads");
    }

    /// Emits events in this order; the number of the first.
    pub fn emit(&mut self, events: &[Value]) -> usize {
        self.command(&json!({ "emit": events }));
        self.emitted += events.len();
        self.emitted - events.len()
    }

    /// Emits one event and waits for its acknowledgement.
    pub async fn ask(&mut self, event: &str, data: Value) -> Value {
        let number = self.emit(&[json!([event, data])]);
        self.answer(number).await
    }

    /// Emits one event, which must be accepted.
    pub async fn report(&mut self, event: &str, data: Value) {
        self.report_all(&[json!([event, data])]).await;
    }

    /// Emits events in this order, all of which must be accepted.
    pub async fn report_all(&mut self, events: &[Value]) {
        let first = self.emit(events);
        for (index, event) in events.iter().enumerate() {
            assert_eq!(self.answer(first + index).await, json!({ "ok": true }), "{event}");
        }
    }

    /// Creates a job of this type and waits for its dispatch; both.
    pub async fn dispatched(&mut self, server: &Server, job_type: &str) -> (Value, Value) {
        let job = server.create(json!({ "type": job_type })).await;
        (job, self.event("job_dispatch").await)
    }

    /// Creates a job of this type, and accepts its dispatch; both.
    pub async fn running(&mut self, server: &Server, job_type: &str) -> (Value, Value) {
        let (job, dispatch) = self.dispatched(server, job_type).await;
        self.report("job_ack", lease_of(&dispatch)).await;
        (job, dispatch)
    }

    /// The acknowledgement of an event, by its number.
    pub async fn answer(&mut self, number: usize) -> Value {
        self.find(&format!("answer {number}"), |message| message["answer"] == number).await["data"].clone()
    }

    pub fn disconnect(&mut self) {
        self.command(&json!({ "disconnect": {} }));
    }

    /// Emits an event and disconnects at once.
    pub fn emit_and_disconnect(&mut self, event: &Value) {
        self.command(&json!({ "emit_and_disconnect": event }));
    }

    /// Ends the process, as a crash would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Stops the process: it reads nothing, and its connection stays open.
    pub fn suspend(&self) {
        kill_process(Pid::from_child(&self.child), Signal::STOP).expect("the client runs");
    }

    pub fn resume(&self) {
        kill_process(Pid::from_child(&self.child), Signal::CONT).expect("the client runs");
    }

    pub async fn connected(&mut self) {
        assert_eq!(self.connection().await, json!({ "connected": true }));
    }

    /// The reason for which the connection was refused.
    pub async fn refused(&mut self) -> String {
        let message = self.connection().await;
        message["connect_error"].as_str().unwrap_or_else(|| panic!("connected: {message}")).to_owned()
    }

    async fn connection(&mut self) -> Value {
        let is_result = |it: &Value| it["connected"] == true || it["connect_error"].is_string();
        self.find("connected or refused", is_result).await
    }

    pub async fn disconnected(&mut self) -> String {
        let message = self.find("disconnected", |message| message["disconnected"].is_string()).await;
        message["disconnected"].to_string()
    }

    /// The next event of this name.
    pub async fn event(&mut self, name: &str) -> Value {
        self.find(name, |message| message["event"] == name).await["data"].clone()
    }

    /// The next event of any name.
    pub async fn next_event(&mut self) -> (String, Value) {
        let mut found = self.find("any event", |message| message["event"].is_string()).await;
        (found["event"].as_str().unwrap().to_owned(), found["data"].take())
    }

    /// Events that were received and not read yet.
    pub fn unread_events(&mut self) -> Vec<Value> {
        while let Ok(message) = self.messages.try_recv() {
            self.unread.push_back(message);
        }
        self.unread.iter().filter(|message| message["event"].is_string()).cloned().collect()
    }

    /// Takes the first message for which the condition holds.
    async fn find(&mut self, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.unread.iter().position(&condition) {
            return self.unread.remove(index).unwrap();
        }
        loop {
            let received = in_time(what, self.messages.recv()).await;
            let Some(message) = received else {
                panic!("the client ended before: {what}; {:?}", self.unread)
            };
            if condition(&message) {
                return message;
            }
            self.unread.push_back(message);
        }
    }
}

/// A connected engine.
pub async fn engine(server: &Server, name: &str, types: &[&str], capacity: usize) -> SocketClient {
    engine_in(Language::JavaScript, server, name, types, capacity).await
}

/// A connected engine in this language.
pub async fn engine_in(
    language: Language,
    server: &Server,
    name: &str,
    types: &[&str],
    capacity: usize,
) -> SocketClient {
    let mut client = SocketClient::new(language);
    client.connect(server, "/engine", &json!({ "engineId": name, "jobTypes": types, "capacity": capacity }));
    client.connected().await;
    client
}

/// Number of engines that are connected to a node, from its metrics.
pub async fn engine_count(server: &Server) -> usize {
    let metrics = server.metrics_text().await;
    let count = metrics.lines().find_map(|line| line.strip_prefix("tenure_engines "));
    count.expect("the metric exists").parse().unwrap()
}

/// A connected front end.
pub async fn front_end(server: &Server, auth: &Value) -> SocketClient {
    SocketClient::connected_to(server, "/jobs", auth).await
}

/// The job and fence of a dispatch.
pub fn lease_of(dispatch: &Value) -> Value {
    json!({ "jobId": dispatch["jobId"], "fence": dispatch["fence"] })
}

/// The job and fence of a dispatch, with more fields.
pub fn lease_with(dispatch: &Value, more: Value) -> Value {
    let (mut lease, Value::Object(more)) = (lease_of(dispatch), more) else { panic!("more is an object") };
    lease.as_object_mut().unwrap().extend(more);
    lease
}
