//! What an engine says, parsed once: each event is a verb on a job that it holds, or the beat of all its leases.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tenure_core::command::Command;
use tenure_core::id::Name;
use tenure_core::json::Json;

use crate::body::{self, Object};
use crate::http::reports::{ErrorBody, ReportBody};
use crate::problem::Problem;
use crate::query::job_id;
use crate::socket::no_such_event;

/// An event and what it asks.
pub(super) struct Said {
    pub(super) event: String,
    pub(super) asks: Result<Asks, Problem>,
}

/// What an event asks.
pub(super) enum Asks {
    /// A word on one job.
    Verb(Command),
    /// To keep every lease alive.
    Heartbeat,
}

/// Events and the verbs that they are.
const VERBS: [(&str, &str); 6] = [
    ("job_ack", "start"),
    ("job_progress", "progress"),
    ("job_complete", "succeed"),
    ("job_failed", "fail"),
    ("job_cancelled", "cancel-confirm"),
    ("job_release", "release"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventBody {
    #[serde(rename = "jobId")]
    job_id: String,
    fence: u64,
    progress: Option<f64>,
    message: Option<String>,
    result: Option<Box<RawValue>>,
    error: Option<ErrorSaid>,
    checkpoint: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Said {
    /// Reads an event as it came: `["job_ack", { … }]`.
    pub(super) fn read(text: Option<&RawValue>, worker: &Name) -> Self {
        let (event, text) = (Self::name(text), text.map_or("[]", RawValue::get));
        let asks = asks(&event, text, parts(text).get(1..).unwrap_or_default(), worker);
        Self { event, asks }
    }

    /// The event's name.
    pub(super) fn name(text: Option<&RawValue>) -> String {
        let parts = parts(text.map_or("[]", RawValue::get));
        parts.first().and_then(|name| serde_json::from_str(name.get()).ok()).unwrap_or_default()
    }
}

fn parts(text: &str) -> Vec<&RawValue> {
    serde_json::from_str(text).unwrap_or_default()
}

fn asks(event: &str, text: &str, data: &[&RawValue], worker: &Name) -> Result<Asks, Problem> {
    Json::check(text).map_err(|flaw| Problem::malformed("#", flaw.to_string()))?;
    if text.contains("\"_placeholder\"") {
        return Err(Problem::malformed("#", "binary data is not taken"));
    }
    let verb = VERBS.iter().find(|(name, _)| *name == event).map(|(_, verb)| *verb);
    match (verb, data) {
        (None, []) if event == "heartbeat" => Ok(Asks::Heartbeat),
        (None, [data]) if event == "heartbeat" => body::parse::<Nothing>(data.get()).map(|_| Asks::Heartbeat),
        (Some(verb), [data]) => command(body::parse(data.get())?, verb, worker).map(Asks::Verb),
        (None, _) if event != "heartbeat" => Err(no_such_event(event)),
        _ => Err(Problem::malformed("#", "an event carries one object")),
    }
}

fn command(said: EventBody, verb: &str, worker: &Name) -> Result<Command, Problem> {
    let job = job_id(&said.job_id).ok_or_else(|| Problem::malformed("#/jobId", "is not a job's id"))?;
    let report = ReportBody {
        fence: Some(said.fence),
        progress: said.progress,
        message: said.message,
        result: said.result,
        error: said.error.map(|ErrorSaid(error)| Object(error)),
        checkpoint: said.checkpoint,
        ..ReportBody::default()
    };
    report.command(job, verb, Some(worker.clone()))
}

/// An error as an engine tells it: an object, or `CODE: message`.
struct ErrorSaid(ErrorBody);

impl<'de> Deserialize<'de> for ErrorSaid {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Shapes;
        impl<'de> Visitor<'de> for Shapes {
            type Value = ErrorBody;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or \"CODE: message\"")
            }
            fn visit_str<E>(self, text: &str) -> Result<ErrorBody, E> {
                Ok(ErrorBody::of_text(text))
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<ErrorBody, A::Error> {
                ErrorBody::deserialize(MapAccessDeserializer::new(members))
            }
        }
        from.deserialize_any(Shapes).map(Self)
    }
}
