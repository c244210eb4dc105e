//! A Socket.IO client in a process of its own, on strings.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::harness::{Server, in_time};

/// Whose client it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    JavaScript,
    Python,
}

/// A client. Its process ends with it.
pub(crate) struct Peer {
    child: Child,
    told: ChildStdin,
    said: mpsc::UnboundedReceiver<Value>,
    /// What it said that nobody has asked for yet.
    heard: VecDeque<Value>,
    /// Events that it was told to emit.
    emitted: usize,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Peer {
    pub(crate) fn new(language: Language) -> Self {
        let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/socket");
        let missing = "the clients are installed: `cargo xtask install` does it";
        let mut command = match language {
            Language::JavaScript => {
                let mut node = Command::new("node");
                node.env("SOCKET_CLIENT", xtask::peers::javascript().expect(missing));
                node.arg(format!("{scripts}/peer.mjs"));
                node
            }
            Language::Python => {
                let mut python = Command::new(xtask::peers::python().expect(missing));
                python.arg(format!("{scripts}/peer.py"));
                python
            }
        };
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect(missing);
        let (told, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (tell, said) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        Self { child, told, said, heard: VecDeque::new(), emitted: 0 }
    }

    /// Connects to a namespace.
    pub(crate) fn connect(&mut self, server: &Server, namespace: &str, auth: &Value) {
        self.connect_by(server, namespace, auth, &["polling", "websocket"]);
    }

    /// The same with these transports.
    pub(crate) fn connect_by(&mut self, server: &Server, namespace: &str, auth: &Value, by: &[&str]) {
        let url = format!("{}{namespace}", server.url());
        self.tell(&json!({ "connect": { "url": url, "auth": auth, "transports": by } }));
    }

    fn tell(&mut self, what: &Value) {
        writeln!(self.told, "{what}").expect("it listens");
        self.told.flush().expect("it listens");
    }

    /// Emits events at once, in this order; the number of the first.
    pub(crate) fn emit(&mut self, events: &[Value]) -> usize {
        self.tell(&json!({ "emit": events }));
        self.emitted += events.len();
        self.emitted - events.len()
    }

    /// Emits one event and waits for its answer.
    pub(crate) async fn ask(&mut self, event: &str, data: Value) -> Value {
        let number = self.emit(&[json!([event, data])]);
        self.answer(number).await
    }

    /// The answer to an event, by its number.
    pub(crate) async fn answer(&mut self, number: usize) -> Value {
        self.find(&format!("answer {number}"), |it| it["answer"] == number).await["data"].clone()
    }

    /// Disconnects.
    pub(crate) fn leave(&mut self) {
        self.tell(&json!({ "leave": {} }));
    }

    /// Emits an event and disconnects at once.
    pub(crate) fn emit_and_leave(&mut self, event: &Value) {
        self.tell(&json!({ "emit_and_leave": event }));
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Lets it stand still: it reads nothing more, and its connection stays; or lets it go on.
    pub(crate) fn stand_still(&self, still: bool) {
        let id = rustix::process::Pid::from_child(&self.child);
        let signal = if still { rustix::process::Signal::STOP } else { rustix::process::Signal::CONT };
        rustix::process::kill_process(id, signal).expect("it is there");
    }

    pub(crate) async fn connected(&mut self) {
        let what =
            self.find("connected", |it| it["connected"] == true || it["connect_error"].is_string()).await;
        assert_eq!(what, json!({ "connected": true }));
    }

    /// Why it was not let in.
    pub(crate) async fn refused(&mut self) -> String {
        let what =
            self.find("refused", |it| it["connected"] == true || it["connect_error"].is_string()).await;
        what["connect_error"].as_str().unwrap_or_else(|| panic!("it was let in: {what}")).to_owned()
    }

    pub(crate) async fn disconnected(&mut self) -> String {
        self.find("disconnected", |it| it["disconnected"].is_string()).await["disconnected"].to_string()
    }

    /// The next event of this name.
    pub(crate) async fn event(&mut self, name: &str) -> Value {
        self.find(name, |it| it["event"] == name).await["data"].clone()
    }

    /// The next event, whatever it is called.
    pub(crate) async fn next_event(&mut self) -> (String, Value) {
        let mut found = self.find("any event", |it| it["event"].is_string()).await;
        (found["event"].as_str().unwrap().to_owned(), found["data"].take())
    }

    /// Events that have come and that nobody has asked for.
    pub(crate) fn unasked(&mut self) -> Vec<Value> {
        while let Ok(said) = self.said.try_recv() {
            self.heard.push_back(said);
        }
        self.heard.iter().filter(|it| it["event"].is_string()).cloned().collect()
    }

    /// The first thing that it says, or has said, of which something holds.
    async fn find(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        if let Some(index) = self.heard.iter().position(&is) {
            return self.heard.remove(index).unwrap();
        }
        loop {
            let said = in_time(what, self.said.recv()).await;
            let said =
                said.unwrap_or_else(|| panic!("the client ended before: {what}; left: {:?}", self.heard));
            if is(&said) {
                return said;
            }
            self.heard.push_back(said);
        }
    }
}

/// An engine that is connected.
pub(crate) async fn engine(server: &Server, name: &str, types: &[&str], capacity: usize) -> Peer {
    engine_in(Language::JavaScript, server, name, (types, capacity)).await
}

/// The same, in this language.
pub(crate) async fn engine_in(
    language: Language,
    server: &Server,
    name: &str,
    (types, capacity): (&[&str], usize),
) -> Peer {
    let mut peer = Peer::new(language);
    peer.connect(server, "/engine", &json!({ "engineId": name, "jobTypes": types, "capacity": capacity }));
    peer.connected().await;
    peer
}

/// A front end that is connected.
pub(crate) async fn front_end(server: &Server, auth: &Value) -> Peer {
    let mut peer = Peer::new(Language::JavaScript);
    peer.connect(server, "/jobs", auth);
    peer.connected().await;
    peer
}

/// The job and fence of a dispatch.
pub(crate) fn hold(dispatch: &Value) -> Value {
    json!({ "jobId": dispatch["jobId"], "fence": dispatch["fence"] })
}

/// The same, with more.
pub(crate) fn hold_and(dispatch: &Value, more: Value) -> Value {
    let (mut hold, Value::Object(more)) = (hold(dispatch), more) else { panic!("more is an object") };
    hold.as_object_mut().unwrap().extend(more);
    hold
}

/// What is answered when all is well.
pub(crate) fn ok() -> Value {
    json!({ "ok": true })
}
