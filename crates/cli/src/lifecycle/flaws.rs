//! Flaws as people see them: the place in the file, what is wrong there, and what would mend it.

use std::fmt;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use tenure_core::lifecycle::{Flaw, RuleId};

use super::source::Source;
use crate::output;

/// Columns that a report may take.
const WIDTH: usize = 100;
/// A longer line is not shown: it would drown what is said about it.
const LINE_BYTES_MAX: usize = 400;

/// Tells of every flaw, on stderr.
pub(super) fn tell(source: &Source) {
    let Err(flaws) = &source.lifecycle else { return };
    let named = NamedSource::new(&source.name, source.text.clone());
    // Always in colour: the stream takes it out where it would not be seen.
    let handler =
        GraphicalReportHandler::new_themed(GraphicalTheme::unicode()).with_width(WIDTH).with_links(false);
    for flaw in flaws {
        let report = Report { flaw, source: &named, shown: is_shown(flaw, &source.text), name: &source.name };
        let mut text = String::new();
        if handler.render_report(&mut text, &report).is_err() {
            text = format!("{}:{flaw}\n", source.name);
        }
        output::words(&text);
        output::words("");
    }
}

/// Whether the lines around a flaw can be shown.
fn is_shown(flaw: &Flaw, text: &str) -> bool {
    flaw.places.iter().all(|place| {
        place.end <= text.len()
            && text
                .lines()
                .skip(place.line.saturating_sub(2))
                .take(3)
                .all(|line| line.len() <= LINE_BYTES_MAX)
    }) && !text.is_empty()
}

/// A flaw in the shape that the renderer wants.
#[derive(Debug)]
struct Report<'a> {
    flaw: &'a Flaw,
    source: &'a NamedSource<String>,
    shown: bool,
    name: &'a str,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.flaw.message)?;
        match self.flaw.places.first().filter(|_| !self.shown) {
            Some(place) => write!(f, " ({}:{}:{})", self.name, place.line, place.column),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Report<'_> {}

impl Diagnostic for Report<'_> {
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
        self.shown.then_some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if !self.shown {
            return None;
        }
        let labels = self.flaw.places.iter().enumerate().map(|(nth, place)| {
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
