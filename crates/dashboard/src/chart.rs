//! Charts as SVG: lines over time with axes, and sparklines. The unfinished minute or step is not drawn.

use maud::{Markup, html};
use tenure_core::time::{Millis, Timestamp};
use tenure_stats::Mark;

use crate::format::{count, span};
use crate::time_range::Zone;

const WIDTH: usize = 600;
const HEIGHT: usize = 120;
/// Parts of the axis of time.
const PARTS: usize = 4;
const DAY: Millis = Millis::seconds(86_400);
/// Marks that are listed below a chart; all are drawn.
const LISTED_MARKS: usize = 8;

/// What the values of a chart are.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Jobs,
    Milliseconds,
}

/// The steps of a chart.
pub(crate) struct Axis<'a> {
    pub(crate) from: Timestamp,
    pub(crate) step: Millis,
    pub(crate) steps: usize,
    pub(crate) zone: Zone,
    /// Deploys and actions of operators, the newest first.
    pub(crate) marks: &'a [Mark],
}

/// A named line with a value for each step. `None` leaves a gap.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) class: &'a str,
    pub(crate) values: Vec<Option<u64>>,
}

/// The values of full minutes.
pub(crate) fn full_minutes(values: &[u64]) -> &[u64] {
    values.split_last().map_or(values, |(_, full)| full)
}

impl Unit {
    fn shown(self, value: u64) -> String {
        match self {
            Self::Jobs => count(value),
            Self::Milliseconds => span(Millis(value)),
        }
    }
}

impl Axis<'_> {
    fn start(&self, step: usize) -> Timestamp {
        self.from + Millis(self.step.0 * step as u64)
    }

    /// With the day where the axis has several, and without the time where steps are days.
    fn label(&self, at: Timestamp) -> String {
        let length = self.step.0 * self.steps as u64;
        if length <= DAY.0 { self.zone.time(at) } else { self.zone.day(at, self.step < DAY) }
    }

    /// `11-18 14:05 to 14:10 UTC`.
    fn step_name(&self, step: usize) -> String {
        let (from, until) = (self.start(step), self.start(step + 1));
        let until = if self.step < DAY {
            self.zone.time(until)
        } else {
            self.zone.day(until, self.zone.minutes % 60 != 0)
        };
        format!(
            "{} to {until} {}",
            self.zone.day(from, self.step < DAY || self.zone.minutes % 60 != 0),
            self.zone.name()
        )
    }
}

/// Lines on one scale, with axes, a legend, a tooltip for each step, and marks.
pub(crate) fn over_time(title: &str, unit: Unit, axis: &Axis<'_>, lines: &[Line<'_>]) -> Markup {
    let highest =
        rounded_up(lines.iter().flat_map(|line| &line.values).flatten().copied().max().unwrap_or(0));
    let shown = |line: &Line<'_>, step: usize| {
        let value = line.values.get(step).copied().flatten();
        format!("{} {}", value.map_or_else(|| "no".to_owned(), |value| unit.shown(value)), line.name)
    };
    let at = |step: usize| lines.iter().map(|line| shown(line, step)).collect::<Vec<_>>().join(", ");
    let last = axis.steps.saturating_sub(1);
    let about = format!(
        "{title} from {} to {} {}; in the last step: {}",
        axis.zone.day(axis.from, true),
        axis.zone.day(axis.start(axis.steps), true),
        axis.zone.name(),
        at(last)
    );
    html! {
        div.plot {
            span.axis-y { span { (unit.shown(highest)) } span { (unit.shown(highest / 2)) } span { "0" } }
            svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(about) {
                @for part in 0..=2 { line.grid x1="0" x2=(WIDTH) y1=(HEIGHT * part / 2) y2=(HEIGHT * part / 2) {} }
                @for line in lines {
                    @for points in runs(&line.values, highest) { polyline class=(line.class) points=(points) {} }
                }
                @for step in 0..axis.steps {
                    rect.hit x=(step * WIDTH / axis.steps) width=(WIDTH / axis.steps + 1) y="0" height=(HEIGHT) {
                        title { (axis.step_name(step)) ": " (at(step)) }
                    }
                }
                @for mark in axis.marks { @if let Some(x) = place(axis, mark.at) {
                    line.mark x1=(x) x2=(x) y1="0" y2=(HEIGHT) { title { (mark_text(axis, mark)) } }
                } }
            }
            span.axis-x { @for part in 0..=PARTS { span { (axis.label(axis.start(axis.steps * part / PARTS))) } } }
        }
        p.legend {
            @for line in lines { span class=(line.class) { span.swatch aria-hidden="true" {} (line.name) } " " }
            span.quiet { (axis.zone.name()) }
        }
        @if !axis.marks.is_empty() {
            ul.marks aria-label="Deploys and actions of operators" { @for mark in axis.marks.iter().take(LISTED_MARKS) { li { (mark_text(axis, mark)) } } }
        }
    }
}

/// Where a time is on the axis.
fn place(axis: &Axis<'_>, at: Timestamp) -> Option<u64> {
    let length = axis.step.0 * axis.steps as u64;
    let after = (at - axis.from).0;
    (at >= axis.from && after <= length && length > 0).then(|| after * WIDTH as u64 / length)
}

fn mark_text(axis: &Axis<'_>, mark: &Mark) -> String {
    format!("{}: {} by {}", axis.zone.day(mark.at, true), mark.text, mark.actor)
}

/// The next number with one digit that is not zero, and even, so that half of it is whole.
fn rounded_up(highest: u64) -> u64 {
    let magnitude = 10_u64.saturating_pow(highest.max(1).ilog10());
    [2, 4, 6, 8, 10]
        .map(|digit| magnitude.saturating_mul(digit))
        .into_iter()
        .find(|next| *next >= highest)
        .unwrap_or(highest)
}

/// The points of each run of values without a gap, each value in the middle of its step. A single value is drawn as a short line.
fn runs(values: &[Option<u64>], highest: u64) -> Vec<String> {
    let width = WIDTH as f64 / values.len().max(1) as f64;
    let point = |x: f64, value: u64| format!("{x:.1},{:.1} ", y(value, highest));
    let mut runs = Vec::new();
    let mut at = 0;
    for run in values.chunk_by(|a, b| a.is_some() == b.is_some()) {
        let middle = |step: usize| (step as f64 + 0.5) * width;
        let points: Vec<(f64, u64)> =
            (at..).zip(run).filter_map(|(step, value)| Some((middle(step), (*value)?))).collect();
        match points[..] {
            [] => {}
            [(x, value)] => runs.push(point(x - width / 4.0, value) + &point(x + width / 4.0, value)),
            _ => runs.push(points.iter().map(|(x, value)| point(*x, *value)).collect::<Vec<_>>().concat()),
        }
        at += run.len();
    }
    runs
}

fn y(value: u64, highest: u64) -> f64 {
    HEIGHT as f64 - value as f64 * (HEIGHT - 4) as f64 / highest as f64 - 2.0
}

fn points(values: &[u64], highest: u64) -> String {
    let steps = values.len().saturating_sub(1).max(1);
    let point = |(at, value): (usize, &u64)| format!("{},{:.1} ", at * WIDTH / steps, y(*value, highest));
    values.iter().enumerate().map(point).collect()
}

/// A small line without axes over minutes, of which the last is unfinished. The number beside it says what matters.
pub(crate) fn sparkline(values: &[u64], class: &str) -> Markup {
    spark(full_minutes(values), class)
}

/// A small line without axes over finished steps.
pub(crate) fn spark(values: &[u64], class: &str) -> Markup {
    let highest = values.iter().copied().max().unwrap_or(0).max(1);
    html! {
        svg class=(format!("spark {class}")) viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" aria-hidden="true" {
            polyline points=(points(values, highest)) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unfinished_minute_is_not_drawn() {
        let drawn = |values: &[u64]| sparkline(values, "").into_string();
        assert_eq!(drawn(&[1, 2, 9]), drawn(&[1, 2, 0]));
    }

    fn axis(step: Millis, steps: usize, marks: &[Mark]) -> Axis<'_> {
        let from = Timestamp::parse("2026-11-18T20:00:00Z").unwrap();
        Axis { from, step, steps, zone: Zone { minutes: 120 }, marks }
    }

    #[test]
    fn a_chart_has_axes_units_tooltips_and_marks() {
        let at = Timestamp::parse("2026-11-18T20:07:00Z").unwrap();
        let marks = [Mark { at, text: "paused queue mail".to_owned(), actor: "ann".into() }];
        let lines =
            [Line { name: "p95", class: "held", values: vec![Some(1500), None, Some(90_000), Some(10)] }];
        let chart = over_time("Wait", Unit::Milliseconds, &axis(Millis::seconds(300), 4, &marks), &lines)
            .into_string();
        for piece in [
            "<span>1 m 40 s</span><span>50 s</span><span>0</span>",
            "<span>22:00</span><span>22:05</span><span>22:10</span><span>22:15</span><span>22:20</span>",
            "<title>11-18 22:00 to 22:05 UTC+02:00: 1.5 s p95</title>",
            "<title>11-18 22:05 to 22:10 UTC+02:00: no p95</title>",
            "Wait from 11-18 22:00 to 11-18 22:20 UTC+02:00; in the last step: 10 ms p95",
            "<line class=\"mark\" x1=\"210\"",
            "<li>11-18 22:07: paused queue mail by ann</li>",
        ] {
            assert!(chart.contains(piece), "{piece} is not in {chart}");
        }
        assert_eq!(chart.matches("<polyline").count(), 2, "a gap divides the line");
    }

    #[test]
    fn steps_of_days_have_no_times() {
        let axis = axis(DAY, 2, &[]);
        assert_eq!(
            (axis.label(axis.start(1)), axis.step_name(0)),
            ("11-19".to_owned(), "11-18 to 11-19 UTC+02:00".to_owned())
        );
    }

    #[test]
    fn the_scale_ends_with_a_round_number() {
        let ends = [0, 1, 3, 9, 10, 11, 47, 1204].map(rounded_up);
        assert_eq!(ends, [2, 2, 4, 10, 20, 20, 60, 2000]);
        assert_eq!(rounded_up(u64::MAX), u64::MAX);
    }
}
