//! Parses events of engines: each is a command on one job that the engine holds, or a heartbeat for all of them.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tenure_api::Verb;
use tenure_api::request::{ErrorReport, Report};
use tenure_service::fields::require;

use crate::body;
use crate::http::reports;
use crate::prelude::*;
use crate::socket::unknown_event;

/// A parsed event.
pub(super) struct EngineMessage {
    pub(super) event: String,
    pub(super) request: Result<EngineRequest>,
}

pub(super) enum EngineRequest {
    /// A command on one job.
    Job(Command),
    /// Renew the leases of all held jobs.
    Heartbeat,
}

/// Events and their verbs in the HTTP API.
const VERBS: [(&str, Verb); 6] = [
    ("job_ack", Verb::Start),
    ("job_progress", Verb::Progress),
    ("job_complete", Verb::Succeed),
    ("job_failed", Verb::Fail),
    ("job_cancelled", Verb::CancelConfirm),
    ("job_release", Verb::Release),
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
    error: Option<ReportedError>,
    checkpoint: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeartbeatBody {}

impl EngineMessage {
    /// Parses an event as received: `["job_ack", { … }]`.
    pub(super) fn parse(text: Option<&RawValue>, worker: &WorkerId) -> Self {
        let (event, text) = (event_name(text), text.map_or("[]", RawValue::get));
        let request = request(&event, text, parts(text).get(1..).unwrap_or_default(), worker);
        Self { event, request }
    }
}

pub(super) fn event_name(text: Option<&RawValue>) -> String {
    let parts = parts(text.map_or("[]", RawValue::get));
    parts.first().and_then(|name| serde_json::from_str(name.get()).ok()).unwrap_or_default()
}

fn parts(text: &str) -> Vec<&RawValue> {
    serde_json::from_str(text).unwrap_or_default()
}

fn request(event: &str, text: &str, data: &[&RawValue], worker: &WorkerId) -> Result<EngineRequest> {
    body::check(text)?;
    require(!text.contains("\"_placeholder\""), "#", "binary data is not accepted")?;
    let verb = VERBS.iter().find(|(name, _)| *name == event).map(|(_, verb)| *verb);
    match (verb, data) {
        (None, []) if event == "heartbeat" => Ok(EngineRequest::Heartbeat),
        (None, [data]) if event == "heartbeat" => {
            body::parse::<HeartbeatBody>(data.get()).map(|_| EngineRequest::Heartbeat)
        }
        (Some(verb), [data]) => command(body::parse(data.get())?, verb, worker).map(EngineRequest::Job),
        (None, _) if event != "heartbeat" => Err(unknown_event(event)),
        _ => Err(Problem::malformed("#", "an event carries one object")),
    }
}

fn command(body: EventBody, verb: Verb, worker: &WorkerId) -> Result<Command> {
    let job = job_id(&body.job_id).ok_or_else(|| Problem::malformed("#/jobId", "is not a job id"))?;
    let report = Report {
        fence: Some(body.fence),
        progress: body.progress,
        message: body.message,
        result: body.result,
        error: body.error.map(|ReportedError(error)| error),
        checkpoint: body.checkpoint,
        ..Report::default()
    };
    reports::command(report, job, verb, Some(worker.clone()))
}

/// An error as an engine sends it: an object, or `CODE: message`.
struct ReportedError(ErrorReport);

impl<'de> Deserialize<'de> for ReportedError {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ObjectOrText;
        impl<'de> Visitor<'de> for ObjectOrText {
            type Value = ErrorReport;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object or \"CODE: message\"")
            }
            fn visit_str<E>(self, text: &str) -> Result<ErrorReport, E> {
                let (code, message) = reports::code_and_message(text);
                let (code, message) = (code.map(str::to_owned), Some(message.to_owned()));
                Ok(ErrorReport { code, message, ..ErrorReport::default() })
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<ErrorReport, A::Error> {
                ErrorReport::deserialize(MapAccessDeserializer::new(members))
            }
        }
        from.deserialize_any(ObjectOrText).map(Self)
    }
}
