//! Decoding of the SDK: the first line names what the rest is. An answer that was decoded is encoded and decoded to the same
//! value; events of a stream do not depend on the pieces in which they arrive, and those that the server writes are read.

#[path = "../../../../crates/client/src/follow/sse.rs"]
mod sse;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sse::{Reader, SentEvent};
use tenure_client::{
    Account, ApiKey, Asset, AuditLine, ClaimedJobs, DeadLetter, Event, Explanation, FinalStatus,
    HeartbeatAnswer, ItemResults, JobRecord, Lifecycle, LogLine, Problem, Queue, Schedule, Stats, Webhook,
    WorkerStatus,
};
use tenure_core::time::{Millis, Timestamp};
use tenure_service::sse::event;

pub(super) fn check(input: &[u8]) {
    let (name, body) = match input.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&input[..end], &input[end + 1..]),
        None => (&b"job"[..], input),
    };
    match name {
        b"stream" => check_stream(body),
        b"time" => check_times(body),
        b"account" => check_answer::<Account>(body),
        b"api_key" => check_answer::<ApiKey>(body),
        b"asset" => check_answer::<Asset>(body),
        b"audit" => check_answer::<AuditLine>(body),
        b"claimed" => check_answer::<ClaimedJobs>(body),
        b"dead_letter" => check_answer::<DeadLetter>(body),
        b"event" => check_answer::<Event>(body),
        b"explanation" => check_answer::<Explanation>(body),
        b"heartbeat" => check_answer::<HeartbeatAnswer>(body),
        b"items" => check_answer::<ItemResults<JobRecord>>(body),
        b"lifecycle" => check_answer::<Lifecycle>(body),
        b"log" => check_answer::<LogLine>(body),
        b"queue" => check_answer::<Queue>(body),
        b"schedule" => check_answer::<Schedule>(body),
        b"stats" => check_answer::<Stats>(body),
        b"status" => check_answer::<FinalStatus>(body),
        b"webhook" => check_answer::<Webhook>(body),
        b"worker" => check_answer::<WorkerStatus>(body),
        b"problem" => check_problem(body),
        _ => check_answer::<JobRecord>(body),
    }
}

/// What was decoded is encoded to what is decoded to the same value.
fn check_answer<T: DeserializeOwned + Serialize>(body: &[u8]) {
    let Ok(answer) = serde_json::from_slice::<T>(body) else { return };
    let written = serde_json::to_string(&answer).expect("an answer can be written");
    let again = serde_json::from_str::<T>(&written);
    let again = again.unwrap_or_else(|error| panic!("{error}: {written}"));
    let written_again = serde_json::to_string(&again).expect("an answer can be written");
    // A float may have another last digit after the first time.
    if !has_float(&written) {
        assert_eq!(written_again, written);
    }
}

fn has_float(text: &str) -> bool {
    fn find(value: &Value) -> bool {
        match value {
            Value::Number(number) => number.is_f64(),
            Value::Array(items) => items.iter().any(find),
            Value::Object(members) => members.values().any(find),
            _ => false,
        }
    }
    serde_json::from_str(text).is_ok_and(|value| find(&value))
}

/// A problem is read as it was sent, and can be shown.
fn check_problem(body: &[u8]) {
    let Ok(problem) = serde_json::from_slice::<Problem>(body) else { return };
    let sent: Value = serde_json::from_slice(body).expect("a problem is JSON");
    assert_eq!(
        (sent["code"].as_str(), sent["status"].as_u64()),
        (Some(problem.code()), Some(problem.status.into()))
    );
    assert!(problem.to_string().contains(problem.detail.as_deref().unwrap_or(problem.code())), "{problem}");
    check_answer::<Problem>(body);
}

fn check_stream(body: &[u8]) {
    let read = |piece_bytes: usize| {
        let mut reader = Reader::after(Some("0".to_owned()));
        let events: Vec<SentEvent> = body.chunks(piece_bytes).flat_map(|piece| reader.push(piece)).collect();
        (events, reader.retry_ms())
    };
    let whole = read(body.len().max(1));
    for piece_bytes in [1, 2, 3, 16] {
        assert_eq!(read(piece_bytes), whole, "in pieces of {piece_bytes} bytes");
    }
    // What the server writes about the same events is read as they were.
    for SentEvent { name, id, text } in whole.0 {
        let is_field = |text: &str| !text.contains(['\n', '\r', '\0']) && !text.starts_with(' ');
        let id = id.unwrap_or_default();
        if !is_field(&name) || !is_field(&id) {
            continue;
        }
        let sent = Reader::default().push(event(&name, &id, &text).as_bytes());
        let data = serde_json::to_string(&text).expect("a text can be written");
        let expected = SentEvent { name, id: Some(id), text: data };
        assert_eq!(sent, [expected]);
    }
}

/// Times and durations that were read are written as text that is read as the same.
fn check_times(body: &[u8]) {
    let Some(text) = super::text(body) else { return };
    if let Some(time) = Timestamp::parse(text) {
        assert_eq!(Timestamp::parse(&time.to_string()), Some(time), "{text} was read as {time}");
    }
    if let Some(span) = Millis::parse(text) {
        assert_eq!(Millis::parse(&span.to_string()), Some(span), "{text} was read as {span}");
    }
    if let Some(span) = tenure_api::span::parse(text) {
        assert_eq!(tenure_api::span::parse(&tenure_api::span::text(span)), Some(span), "{text}");
    }
}
