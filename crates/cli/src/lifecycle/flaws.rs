//! Prints flaws of a lifecycle file: the place, what is wrong there, and a suggestion.

use std::sync::Arc;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report};
use tenure_core::lifecycle::{Flaw, RuleId};
use tenure_core::text::{escaped, is_unsafe};

use super::source::Source;
use crate::output;

const WIDTH: usize = 100;
/// Longer lines are not quoted in a report.
const LINE_BYTES_MAX: usize = 400;

/// Prints every flaw to stderr.
pub(super) fn print(source: &Source) {
    let Err(flaws) = &source.lifecycle else { return };
    let named = Arc::new(NamedSource::new(escaped(&source.name), quotable(&source.text)));
    // Always in colour: the output stream removes colours where they are not shown.
    let handler =
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode()).with_width(WIDTH).with_links(false);
    for flaw in flaws {
        let code = match flaw.rule {
            RuleId::Syntax => flaw.rule.to_string(),
            rule => format!("{rule} {}", rule.title()),
        };
        let (message, help) = (escaped(&flaw.message), escaped(&flaw.help));
        let mut diagnostic = MietteDiagnostic::new(&*message).with_code(code).with_help(help);
        let report = if is_quotable(flaw, &source.text) {
            Report::new(diagnostic.with_labels(labels(flaw))).with_source_code(Arc::clone(&named))
        } else {
            if let Some(place) = flaw.locations.first() {
                let (line, column) = (place.line, place.column);
                diagnostic.message = format!("{message} ({}:{line}:{column})", escaped(&source.name));
            }
            Report::new(diagnostic)
        };
        let mut text = String::new();
        if handler.render_report(&mut text, report.as_ref()).is_err() {
            text = escaped(&format!("{}:{flaw}\n", source.name)).into_owned();
        }
        output::coloured_message(&text);
        output::message("");
    }
}

/// The text with a character of the same length for each that could control a terminal: places are byte offsets.
fn quotable(text: &str) -> String {
    let shown = |character: char| match character.len_utf8() {
        _ if matches!(character, '\n' | '\r' | '\t') || !is_unsafe(character) => character,
        1 => '?',
        2 => '¿',
        _ => '\u{fffd}',
    };
    text.chars().map(shown).collect()
}

/// Whether the lines around a flaw can be quoted.
fn is_quotable(flaw: &Flaw, text: &str) -> bool {
    flaw.locations.iter().all(|place| {
        let mut around = text.lines().skip(place.line.saturating_sub(2)).take(3);
        place.end <= text.len() && around.all(|line| line.len() <= LINE_BYTES_MAX)
    }) && !text.is_empty()
}

fn labels(flaw: &Flaw) -> impl Iterator<Item = LabeledSpan> {
    flaw.locations.iter().enumerate().map(|(nth, place)| {
        let (label, span) =
            (Some(escaped(&place.label).into_owned()), (place.start, place.end - place.start));
        if nth == 0 {
            LabeledSpan::new_primary_with_span(label, span)
        } else {
            LabeledSpan::new_with_span(label, span)
        }
    })
}
