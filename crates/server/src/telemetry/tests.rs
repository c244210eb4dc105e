//! Log lines cannot be forged, and spans belong to the caller's trace.

#![allow(clippy::unwrap_used, reason = "fixtures may panic")]

mod collector;

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing::{error, info, info_span, subscriber::with_default};

use super::*;
use collector::{Collector, ReceivedRequest};

/// Text that would forge a log line, control a terminal, or be invisible.
const FORGED: &str = "a\n2026-01-01T00:00:00Z  INFO tenure: all is well\r\n\u{1b}[2Jb\u{85}\u{9b}31mc\u{2028}d\u{202e}e\u{7f}\u{0}\u{7}\u{200b}f";

#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log while `work` runs.
fn log_of(format: LogFormat, filter: &str, colour: bool, work: impl FnOnce()) -> String {
    let buffer = LogBuffer::default();
    let log = LogConfig { format, filter: filter.into() };
    let writer = buffer.clone();
    let (subscriber, ..) = subscriber(&log, None, colour, move || writer.clone()).unwrap();
    with_default(subscriber, work);
    let bytes = buffer.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn log_forged() {
    #[derive(Debug)]
    struct Raw;
    impl std::fmt::Display for Raw {
        fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str(FORGED)
        }
    }
    impl std::error::Error for Raw {}

    let span = info_span!("request", path = %FORGED, user = FORGED);
    let _inside = span.enter();
    let cause: &dyn std::error::Error = &Raw;
    error!(text = FORGED, shown = %Raw, debug = ?FORGED, cause, "{FORGED}");
}

#[test]
fn no_value_can_forge_a_line_of_text() {
    let text = log_of(LogFormat::Text, "info", false, log_forged);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.ends_with('\n'));
    let inside = text.trim_end_matches('\n');
    assert!(!inside.contains(tenure_core::text::is_unsafe), "{text:?}");
    assert!(inside.contains("\\n2026-01-01T00:00:00Z  INFO tenure: all is well"), "{text}");
}

#[test]
fn no_value_can_forge_a_line_of_json() {
    let text = log_of(LogFormat::Json, "info", false, log_forged);
    assert_eq!(text.lines().count(), 1, "{text}");
    let inside = text.strip_suffix('\n').unwrap();
    assert!(!inside.contains(tenure_core::text::is_unsafe), "{text:?}");
    let line: Value = serde_json::from_str(inside).unwrap();
    assert_eq!(line["message"], FORGED, "parsing restores the text");
    assert_eq!(line["text"], FORGED);
    assert_eq!(line["level"], "ERROR");
    assert_eq!(line["spans"][0]["path"], FORGED);
}

#[test]
fn values_cannot_add_colours() {
    let painted = log_of(LogFormat::Text, "info", true, log_forged);
    assert!(painted.contains('\u{1b}'), "{painted:?}");
    assert!(!painted.contains("\u{1b}[2J") && painted.contains("\\u{1b}[2J"), "{painted:?}");
    assert_eq!(painted.lines().count(), 1, "{painted:?}");
}

#[test]
fn a_long_value_is_cut() {
    let text = log_of(LogFormat::Text, "info", false, || info!(text = %"x".repeat(1 << 20), "after"));
    assert!(text.len() < escape::VALUE_BYTES_MAX + 200, "{}", text.len());
    assert!(text.contains('…') && text.contains("after"), "{text}");
}

#[test]
fn a_line_has_a_message_and_fields() {
    let text = log_of(LogFormat::Text, "info", false, || {
        let _inside = info_span!("request", method = "GET").entered();
        info!(job = 7, state = %"queued", "claimed");
    });
    assert!(text.contains(" INFO request{method=\"GET\"}: "), "{text}");
    assert!(text.contains("tests: claimed job=7 state=queued\n"), "{text}");
}

#[test]
fn the_filter_selects_lines() {
    let lines = || {
        info!("low");
        error!("high");
    };
    assert!(log_of(LogFormat::Text, "info", false, lines).contains("low"));
    let text = log_of(LogFormat::Text, "error", false, lines);
    assert!(!text.contains("low") && text.contains("high"), "{text}");
    assert_eq!(log_of(LogFormat::Text, "off", false, lines), "");
}

#[test]
fn invalid_settings_are_refused() {
    for (filter, endpoint, expected) in [
        ("tenure=loud", None, "log.filter \"tenure=loud\""),
        ("info", Some("127.0.0.1:4318"), "otel.endpoint \"127.0.0.1:4318\""),
        ("info", Some("ftp://127.0.0.1"), "use http or https"),
    ] {
        let log = LogConfig { filter: filter.into(), ..LogConfig::default() };
        let otel = endpoint.map(|endpoint| OtelConfig { endpoint: endpoint.into() });
        let error = start(&log, otel.as_ref()).map(|_| ()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

const REMOTE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Runs `work` with traces exported to this endpoint, then shuts down.
fn traced(endpoint: &str, work: impl FnOnce()) -> Result<(), String> {
    let otel = OtelConfig { endpoint: endpoint.into() };
    let (subscriber, filter, traces) = subscriber(&LogConfig::default(), Some(&otel), false, io::sink)?;
    with_default(subscriber, work);
    Telemetry { traces, filter }.shutdown()
}

/// What a collector receives while `work` runs.
fn exported(work: impl FnOnce()) -> ReceivedRequest {
    let collector = Collector::open();
    traced(&collector.endpoint, work).unwrap();
    collector.next()
}

#[test]
fn a_span_is_a_child_of_the_callers_span() {
    let arrived = exported(|| {
        let span = info_span!("create job");
        set_parent(&span, REMOTE);
        let _inside = span.entered();
        info!("done");
    });
    assert_eq!(arrived.path, "/v1/traces");
    assert_eq!(arrived.content_type, "application/x-protobuf");
    let parent = TraceContext::parse(REMOTE).unwrap();
    assert!(arrived.has(&[&[0x0a, 16], &parent.trace_id.to_be_bytes()[..]].concat()), "the trace id");
    assert!(arrived.has(&[&[0x22, 8], &parent.parent_id.to_be_bytes()[..]].concat()), "the parent's id");
    assert!(arrived.has(b"create job"));
    assert!(arrived.has(b"service.name") && arrived.has(b"tenure"));
}

/// `kind` of a span, in OTLP.
const SERVER: [u8; 2] = [0x30, 2];
const CONSUMER: [u8; 2] = [0x30, 5];
/// The status of a span without a message: an error.
const ERROR: [u8; 4] = [0x7a, 2, 0x18, 2];

#[test]
fn a_request_has_the_attributes_of_the_conventions() {
    let request = |status: u16| {
        exported(|| {
            let span =
                new_request_span(&Method::POST, Some("/api/jobs/{id}/succeed"), "/api/jobs/7/succeed", true);
            span.in_scope(|| info!("handled"));
            end_request(&span, StatusCode::from_u16(status).unwrap());
        })
    };
    let refused = request(409);
    assert!(refused.has(b"POST /api/jobs/{id}/succeed") && refused.has(&SERVER));
    for attribute in
        ["http.request.method", "http.route", "http.response.status_code", "url.path", "url.scheme"]
    {
        assert!(refused.has(attribute.as_bytes()), "{attribute}");
    }
    assert!(!refused.has(&ERROR) && !refused.has(b"error.type"), "a refusal is no error of the server");
    let failed = request(503);
    assert!(failed.has(&ERROR) && failed.has(b"error.type") && failed.has(b"503"));
}

#[test]
fn a_route_that_is_found_late_is_the_name_of_the_span() {
    let arrived = exported(|| {
        let span = new_request_span(&Method::GET, None, "/image/jobs/7", false);
        span.in_scope(|| info!("handled"));
        set_route(&span, &Method::GET, "/image/jobs/{id}");
    });
    assert!(arrived.has(b"GET /image/jobs/{id}"));
}

#[test]
fn a_method_that_a_caller_invented_is_not_part_of_a_span() {
    let arrived = exported(|| {
        let invented = Method::from_bytes(b"INVENTED").unwrap();
        drop(new_request_span(&invented, Some("/api/jobs"), "/api/jobs", false).entered());
    });
    assert!(arrived.has(b"HTTP /api/jobs") && arrived.has(b"_OTHER") && !arrived.has(b"INVENTED"));
}

#[test]
fn an_attempt_is_a_child_of_the_job_and_has_the_id_that_was_announced() {
    let collector = Collector::open();
    let parent = TraceContext::parse(REMOTE).unwrap();
    let context = TraceContext { parent_id: 0x1234_5678_9abc_def0, ..parent };
    let provider = traces::open(&collector.endpoint).unwrap();
    let start = std::time::SystemTime::UNIX_EPOCH;
    let attempt = attempts::AttemptSpan {
        name: "process q".to_owned(),
        parent,
        context,
        start,
        end: start + std::time::Duration::from_secs(1),
        attributes: vec![("messaging.destination.name", "q".to_owned())],
        error: Some("out of blue".to_owned()),
    };
    traces::export_to(&opentelemetry::trace::TracerProvider::tracer(&provider, "tenure"), attempt);
    traces::shut_down(provider).unwrap();
    let arrived = collector.next();
    assert!(arrived.has(&[&[0x12, 8], &context.parent_id.to_be_bytes()[..]].concat()), "its own id");
    assert!(arrived.has(&[&[0x22, 8], &parent.parent_id.to_be_bytes()[..]].concat()), "the parent's id");
    assert!(arrived.has(&CONSUMER) && arrived.has(b"process q") && arrived.has(b"out of blue"));
}

#[test]
fn an_invalid_traceparent_starts_a_new_trace() {
    let arrived = exported(|| {
        let span = info_span!("alone");
        set_parent(&span, &REMOTE.to_uppercase());
        drop(span.entered());
    });
    let parent = TraceContext::parse(REMOTE).unwrap();
    assert!(arrived.has(b"alone") && !arrived.has(&parent.trace_id.to_be_bytes()));
}

#[test]
fn children_of_a_span_belong_to_the_same_trace() {
    let arrived = exported(|| {
        let span = info_span!("request");
        set_parent(&span, REMOTE);
        let child = TraceContext::parse(&traceparent_of(&span).unwrap()).unwrap();
        let parent = TraceContext::parse(REMOTE).unwrap();
        assert_eq!(child.trace_id, parent.trace_id);
        assert_ne!(child.parent_id, parent.parent_id);
        assert_eq!(child.flags & 1, 1, "it is recorded");
    });
    assert!(arrived.has(b"request"));
}

#[test]
fn without_an_endpoint_nothing_is_traced() {
    log_of(LogFormat::Text, "info", false, || {
        let span = info_span!("request");
        set_parent(&span, REMOTE);
        assert_eq!(traceparent_of(&span), None);
    });
}

#[tokio::test]
async fn traces_work_inside_an_async_runtime() {
    assert!(exported(|| drop(info_span!("inside").entered())).has(b"inside"));
}

#[test]
fn an_unreachable_collector_does_not_block_the_shutdown() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let begun = std::time::Instant::now();
    let _unsent = traced(&format!("http://{unused}"), || drop(info_span!("lost").entered()));
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
}

#[test]
fn telemetry_is_started_once() {
    let log = LogConfig { filter: "off".into(), ..LogConfig::default() };
    let first = start(&log, None);
    assert!(start(&log, None).is_err(), "a second start fails");
    first.unwrap().shutdown().unwrap();
}
