//! Server-sent events.

use serde_json::Value;

use crate::in_time;

/// An open event stream.
pub struct EventStream {
    pub(crate) response: reqwest::Response,
    unread: String,
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    pub event: String,
    pub id: String,
    pub data: Value,
}

impl EventStream {
    pub(crate) fn new(response: reqwest::Response) -> Self {
        Self { response, unread: String::new() }
    }

    /// The next event, without comments; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<SseEvent> {
        loop {
            if let Some(end) = self.unread.find("\n\n") {
                let block: String = self.unread.drain(..end + 2).collect();
                if let Some(event) = parse(&block) {
                    return Some(event);
                }
                continue;
            }
            let chunk = in_time("the next event", self.response.chunk()).await.ok()??;
            self.unread.push_str(std::str::from_utf8(&chunk).expect("whole characters in a chunk"));
        }
    }

    /// All events up to the end of the stream.
    pub async fn rest(mut self) -> Vec<SseEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

fn parse(block: &str) -> Option<SseEvent> {
    let field = |name: &str| -> Option<String> {
        let lines = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let values: Vec<&str> = lines.map(|value| value.strip_prefix(' ').unwrap_or(value)).collect();
        (!values.is_empty()).then(|| values.join("\n"))
    };
    let data = field("data")?;
    let data = serde_json::from_str(&data).unwrap_or(Value::String(data));
    Some(SseEvent { event: field("event").unwrap_or_default(), id: field("id").unwrap_or_default(), data })
}
