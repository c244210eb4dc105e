//! Lines that cannot be forged, and spans that arrive where the caller's trace is.

mod collector;

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing::{error, info, info_span, subscriber::with_default};

use super::*;
use collector::Collector;

/// What a job would write to be taken for Tenure itself, to paint the screen, or to hide.
const FORGED: &str = "a\n2026-01-01T00:00:00Z  INFO tenure: all is well\r\n\u{1b}[2Jb\u{85}\u{9b}31mc\u{2028}d\u{202e}e\u{7f}\u{0}\u{7}\u{200b}f";

#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is written while `work` runs.
fn written(format: Format, filter: &str, colour: bool, work: impl FnOnce()) -> String {
    let page = Page::default();
    let settings = TelemetrySettings { format, filter: filter.into(), otlp_endpoint: None };
    let shown = page.clone();
    let (subscriber, _) = subscriber(&settings, colour, move || shown.clone()).unwrap();
    with_default(subscriber, work);
    let bytes = page.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn say_forged() {
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
    let text = written(Format::Text, "info", false, say_forged);
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.ends_with('\n'));
    let inside = text.trim_end_matches('\n');
    assert!(!inside.contains(escape::is_unsafe), "{text:?}");
    assert!(inside.contains("\\n2026-01-01T00:00:00Z  INFO tenure: all is well"), "{text}");
}

#[test]
fn no_value_can_forge_a_line_of_json() {
    let text = written(Format::Json, "info", false, say_forged);
    assert_eq!(text.lines().count(), 1, "{text}");
    let inside = text.strip_suffix('\n').unwrap();
    assert!(!inside.contains(escape::is_unsafe), "{text:?}");
    let line: Value = serde_json::from_str(inside).unwrap();
    assert_eq!(line["message"], FORGED, "a reader gets back what was written");
    assert_eq!(line["text"], FORGED);
    assert_eq!(line["level"], "ERROR");
    assert_eq!(line["spans"][0]["path"], FORGED);
}

#[test]
fn colours_are_ours_and_never_a_values() {
    let painted = written(Format::Text, "info", true, say_forged);
    assert!(painted.contains('\u{1b}'), "{painted:?}");
    assert!(!painted.contains("\u{1b}[2J") && painted.contains("\\u{1b}[2J"), "{painted:?}");
    assert_eq!(painted.lines().count(), 1, "{painted:?}");
}

#[test]
fn a_long_value_is_cut() {
    let text = written(Format::Text, "info", false, || info!(text = %"x".repeat(1 << 20), "after"));
    assert!(text.len() < escape::VALUE_BYTES_MAX + 200, "{}", text.len());
    assert!(text.contains('…') && text.contains("after"), "{text}");
}

#[test]
fn a_line_says_what_and_with_which_values() {
    let text = written(Format::Text, "info", false, || {
        let _inside = info_span!("request", method = "GET").entered();
        info!(job = 7, state = %"queued", "claimed");
    });
    assert!(text.contains(" INFO request{method=\"GET\"}: "), "{text}");
    assert!(text.contains("tests: claimed job=7 state=queued\n"), "{text}");
}

#[test]
fn the_filter_decides_what_is_said() {
    let say = || {
        info!("low");
        error!("high");
    };
    assert!(written(Format::Text, "info", false, say).contains("low"));
    let text = written(Format::Text, "error", false, say);
    assert!(!text.contains("low") && text.contains("high"), "{text}");
    assert_eq!(written(Format::Text, "off", false, say), "");
}

#[test]
fn settings_that_cannot_be_kept_are_refused() {
    let settings = |filter: &str, endpoint: Option<&str>| TelemetrySettings {
        filter: filter.into(),
        otlp_endpoint: endpoint.map(String::from),
        ..TelemetrySettings::default()
    };
    for (settings, expected) in [
        (settings("tenure=loud", None), "the log filter \"tenure=loud\""),
        (settings("info", Some("127.0.0.1:4318")), "otel.endpoint \"127.0.0.1:4318\""),
        (settings("info", Some("ftp://127.0.0.1")), "only http and https"),
    ] {
        let flaw = start(&settings).map(|_| ()).unwrap_err();
        assert!(flaw.contains(expected), "{flaw}");
    }
}

const REMOTE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Runs `work` with traces to this endpoint and then shuts down.
fn traced(endpoint: &str, work: impl FnOnce()) -> Result<(), String> {
    let settings = TelemetrySettings {
        filter: "info".into(),
        otlp_endpoint: Some(endpoint.into()),
        ..TelemetrySettings::default()
    };
    let (subscriber, traces) = subscriber(&settings, false, io::sink)?;
    with_default(subscriber, work);
    Guard { traces }.shutdown()
}

#[test]
fn a_span_arrives_as_a_child_of_the_callers() {
    let collector = Collector::open();
    traced(&collector.endpoint, || {
        let span = info_span!("create job");
        set_parent(&span, REMOTE);
        let _inside = span.entered();
        info!("done");
    })
    .unwrap();
    let arrived = collector.next();
    assert_eq!(arrived.path, "/v1/traces");
    assert_eq!(arrived.content_type, "application/x-protobuf");
    let parent = TraceContext::parse(REMOTE).unwrap();
    assert!(arrived.has(&[&[0x0a, 16], &parent.trace_id.to_be_bytes()[..]].concat()), "the trace id");
    assert!(arrived.has(&[&[0x22, 8], &parent.parent_id.to_be_bytes()[..]].concat()), "the parent's id");
    assert!(arrived.has(b"create job"));
    assert!(arrived.has(b"service.name") && arrived.has(b"tenure"));
}

#[test]
fn a_flawed_traceparent_leaves_the_span_a_trace_of_its_own() {
    let collector = Collector::open();
    let flawed = REMOTE.to_uppercase();
    traced(&collector.endpoint, || {
        let span = info_span!("alone");
        set_parent(&span, &flawed);
        drop(span.entered());
    })
    .unwrap();
    let arrived = collector.next();
    let parent = TraceContext::parse(REMOTE).unwrap();
    assert!(arrived.has(b"alone") && !arrived.has(&parent.trace_id.to_be_bytes()));
}

#[test]
fn what_a_span_begets_belongs_to_the_same_trace() {
    let collector = Collector::open();
    traced(&collector.endpoint, || {
        let span = info_span!("request");
        set_parent(&span, REMOTE);
        let written = TraceContext::parse(&traceparent_of(&span).unwrap()).unwrap();
        let parent = TraceContext::parse(REMOTE).unwrap();
        assert_eq!(written.trace_id, parent.trace_id);
        assert_ne!(written.parent_id, parent.parent_id);
        assert_eq!(written.flags & 1, 1, "it is recorded");
    })
    .unwrap();
    assert!(collector.next().has(b"request"));
}

#[test]
fn without_an_endpoint_nothing_is_traced_and_nothing_breaks() {
    written(Format::Text, "info", false, || {
        let span = info_span!("request");
        set_parent(&span, REMOTE);
        assert_eq!(traceparent_of(&span), None);
    });
}

#[tokio::test]
async fn traces_begin_and_end_inside_an_async_runtime() {
    let collector = Collector::open();
    traced(&collector.endpoint, || drop(info_span!("inside").entered())).unwrap();
    assert!(collector.next().has(b"inside"));
}

#[test]
fn a_collector_that_is_not_there_does_not_hold_up_the_end() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let begun = std::time::Instant::now();
    let _unsent = traced(&format!("http://{nobody}"), || drop(info_span!("lost").entered()));
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
}

#[test]
fn telemetry_is_started_once() {
    let settings = TelemetrySettings { filter: "off".into(), ..TelemetrySettings::default() };
    let first = start(&settings);
    assert!(start(&settings).is_err(), "a second start says so");
    first.unwrap().shutdown().unwrap();
}
