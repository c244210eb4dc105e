//! Prints flaws of a lifecycle file: the place, what is wrong there, and a suggestion.

use std::fmt;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use tenure_core::lifecycle::{Flaw, RuleId};

use super::source::Source;
use crate::output;

const WIDTH: usize = 100;
/// Longer lines are not quoted in a report.
const LINE_BYTES_MAX: usize = 400;

/// Prints every flaw to stderr.
pub(super) fn print(source: &Source) {
    let Err(flaws) = &source.lifecycle else { return };
    let named = NamedSource::new(&source.name, source.text.clone());
    // Always in colour: the output stream removes colours where they are not shown.
    let handler =
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode()).with_width(WIDTH).with_links(false);
    for flaw in flaws {
        let report =
            FlawReport { flaw, source: &named, quoted: is_quotable(flaw, &source.text), name: &source.name };
        let mut text = String::new();
        if handler.render_report(&mut text, &report).is_err() {
            text = format!("{}:{flaw}\n", source.name);
        }
        output::message(&text);
        output::message("");
    }
}

/// Whether the lines around a flaw can be quoted.
fn is_quotable(flaw: &Flaw, text: &str) -> bool {
    flaw.locations.iter().all(|place| {
        place.end <= text.len()
            && text
                .lines()
                .skip(place.line.saturating_sub(2))
                .take(3)
                .all(|line| line.len() <= LINE_BYTES_MAX)
    }) && !text.is_empty()
}

/// A flaw as the renderer expects it.
#[derive(Debug)]
struct FlawReport<'a> {
    flaw: &'a Flaw,
    source: &'a NamedSource<String>,
    quoted: bool,
    name: &'a str,
}

impl fmt::Display for FlawReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.flaw.message)?;
        match self.flaw.locations.first().filter(|_| !self.quoted) {
            Some(place) => write!(f, " ({}:{}:{})", self.name, place.line, place.column),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FlawReport<'_> {}

impl Diagnostic for FlawReport<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let rule = self.flaw.rule;
        Some(if rule == RuleId::Syntax {
            Box::new(rule)
        } else {
            Box::new(format!("{rule} {}", rule.title()))
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.flaw.help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.quoted.then_some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if !self.quoted {
            return None;
        }
        let labels = self.flaw.locations.iter().enumerate().map(|(nth, place)| {
            let (label, span) = (Some(place.label.clone()), (place.start, place.end - place.start));
            if nth == 0 {
                LabeledSpan::new_primary_with_span(label, span)
            } else {
                LabeledSpan::new_with_span(label, span)
            }
        });
        Some(Box::new(labels))
    }
}
