//! The two forms of a line.

use std::fmt::Write as _;
use std::io::{self, Write};

use tracing::Subscriber;
use tracing::field::Field;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::escape::{Escaped, is_unsafe};

/// Lines for people.
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

/// Lines for machines. JSON escapes the oldest control characters by itself; the writer sees to the others.
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

/// Takes whole lines, as the layer writes them. Outside of strings JSON has no letter that is escaped here but the
/// newline at the end.
struct JsonLine<W>(W);

impl<W: Write> Write for JsonLine<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let unsafe_inside = |letter: char| letter != '\n' && is_unsafe(letter);
        if text.contains(unsafe_inside) {
            let mut escaped = String::with_capacity(text.len() + 64);
            for letter in text.chars() {
                if unsafe_inside(letter) {
                    write!(escaped, "\\u{:04x}", u32::from(letter)).map_err(io::Error::other)?;
                } else {
                    escaped.push(letter);
                }
            }
            self.0.write_all(escaped.as_bytes())?;
        } else {
            self.0.write_all(line)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
