//! Prints flaws of a lifecycle file: the place, what is wrong there, and a suggestion.

use std::sync::Arc;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report};
use tenure_core::lifecycle::{Flaw, RuleId};

use super::source::Source;
use crate::output;

const WIDTH: usize = 100;
/// Longer lines are not quoted in a report.
const LINE_BYTES_MAX: usize = 400;

/// Prints every flaw to stderr.
pub(super) fn print(source: &Source) {
    let Err(flaws) = &source.lifecycle else { return };
    let named = Arc::new(NamedSource::new(&source.name, source.text.clone()));
    // Always in colour: the output stream removes colours where they are not shown.
    let handler =
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode()).with_width(WIDTH).with_links(false);
    for flaw in flaws {
        let code = match flaw.rule {
            RuleId::Syntax => flaw.rule.to_string(),
            rule => format!("{rule} {}", rule.title()),
        };
        let mut diagnostic = MietteDiagnostic::new(&flaw.message).with_code(code).with_help(&flaw.help);
        let report = if is_quotable(flaw, &source.text) {
            Report::new(diagnostic.with_labels(labels(flaw))).with_source_code(Arc::clone(&named))
        } else {
            if let Some(place) = flaw.locations.first() {
                let (line, column) = (place.line, place.column);
                diagnostic.message = format!("{} ({}:{line}:{column})", flaw.message, source.name);
            }
            Report::new(diagnostic)
        };
        let mut text = String::new();
        if handler.render_report(&mut text, report.as_ref()).is_err() {
            text = format!("{}:{flaw}\n", source.name);
        }
        output::message(&text);
        output::message("");
    }
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
        let (label, span) = (Some(place.label.clone()), (place.start, place.end - place.start));
        if nth == 0 {
            LabeledSpan::new_primary_with_span(label, span)
        } else {
            LabeledSpan::new_with_span(label, span)
        }
    })
}
