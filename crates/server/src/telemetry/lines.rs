//! The two formats of log lines.

use std::fmt::Write as _;
use std::io::{self, Write};

use tenure_core::text::escaped_json;
use tracing::Subscriber;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::escape::Escaped;

pub(super) fn text<S, W>(colour: bool, writer: W) -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let fields = debug_fn(|out: &mut Writer<'_>, field: &Field, value: &dyn std::fmt::Debug| {
        if field.name() != "message" {
            write!(out, "{}=", field.name())?;
        }
        write!(Escaped::new(out), "{value:?}")
    });
    fmt::layer().with_ansi(colour).fmt_fields(fields.delimited(" ")).with_writer(writer)
}

/// The JSON encoder escapes ASCII control characters; the writer escapes the others.
pub(super) fn json<S, W>(writer: W) -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = fmt::layer().json().flatten_event(true).with_current_span(false).with_ansi(false);
    layer.with_writer(EscapingJson(writer))
}

struct EscapingJson<W>(W);

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for EscapingJson<W> {
    type Writer = JsonLine<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        JsonLine(self.0.make_writer())
    }
}

/// Receives whole lines. Outside strings, JSON contains no escaped character except the final newline.
struct JsonLine<W>(W);

impl<W: Write> Write for JsonLine<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(escaped_json(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
