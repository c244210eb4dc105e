//! The states of a map: a frame, a sign and a name, and figures, each in a place of its own.

use std::fmt::Write as _;

use super::super::super::{Outcome, Phase, State, Timeout};
use super::super::figures::{COUNT_MAX, StateFigures, fit};
use super::super::layout::Shape;
use super::super::svg::escaped;
use super::{AGE_MAX, Look, Map, SPENT_MAX, tenth};

/// From a box's edge to its text, in pixels.
const PAD: f64 = 11.0;
/// From the left of a sign to the name.
const SIGN: f64 = 18.0;

/// A box in pixels.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// How long a job may stay: `30s`.
pub(super) fn timeout(state: &State) -> Option<String> {
    match state.timeout {
        Timeout::After(span) => Some(format!("≤ {span}")),
        Timeout::Unsaid | Timeout::Never => None,
    }
}

impl Map<'_, '_> {
    /// A state: one link.
    pub(super) fn state(&mut self, shape: &Shape<'_>, href: &str) {
        let (state, figures) = (shape.state, self.figures.state(&shape.state.name));
        let title = self.id(state.name.as_str(), "title");
        let kind = state.phase.kind();
        let ends = if state.phase.is_final() { " final" } else { "" };
        let _ = writeln!(
            self.out,
            "<a class=\"state {kind}{ends}\" href=\"{}\" aria-labelledby=\"{title}\">",
            escaped(href)
        );
        self.piece(title, "title", "", escaped(&self.said(state, &figures)));
        let frame = self.frame(shape);
        self.piece(self.id(state.name.as_str(), "frame"), "g", "", self.framed(state, frame, &figures));
        match self.look {
            Look::Full if state.phase.is_final() => self.full_end(state, frame, &figures),
            Look::Full => self.full(state, frame, &figures),
            Look::Small => {
                let count = fit(figures.count.as_deref().unwrap_or("–"), COUNT_MAX);
                self.brief(state, frame, "count", &count);
            }
            Look::Path => {
                let spent = fit(figures.spent.as_deref().unwrap_or_default(), SPENT_MAX);
                self.brief(state, frame, "spent", &spent);
            }
        }
        self.out.push_str("</a>\n");
    }

    /// The state in a sentence, for those who hear it.
    fn said(&self, state: &State, figures: &StateFigures) -> String {
        let mut parts = Vec::new();
        if self.look == Look::Path {
            parts.extend(figures.spent.clone());
            parts.extend(figures.here.then(|| "the job is here".to_owned()));
        } else {
            let jobs = |count: &String| format!("{count} {}", if count == "1" { "job" } else { "jobs" });
            parts.extend(figures.count.as_ref().map(jobs));
            parts.extend(figures.oldest.as_ref().map(|age| format!("oldest {age}")));
            parts.extend(figures.late.then(|| "late".to_owned()));
            parts.extend(figures.p95.as_ref().map(|span| format!("p95 {span}")));
            parts.extend(figures.arriving.clone());
        }
        let name = match state.phase {
            Phase::Final(outcome) if state.name != outcome.as_str() => format!("{} ({outcome})", state.name),
            _ => state.name.to_string(),
        };
        if parts.is_empty() { name } else { format!("{name}: {}", parts.join(", ")) }
    }

    fn frame(&self, shape: &Shape<'_>) -> Frame {
        let (left, top) = self.centre((shape.x, shape.y));
        let (right, bottom) = self.centre((shape.x + shape.width - 1, shape.y + shape.height - 1));
        let over = if shape.state.phase.is_final() { self.scale.over.1 } else { self.scale.over.0 };
        Frame { left, top: top - over, width: right - left, height: bottom - top + 2.0 * over }
    }

    fn framed(&self, state: &State, frame: Frame, figures: &StateFigures) -> String {
        let path = self.look == Look::Path;
        let mut classes = String::from("box");
        for (class, holds) in [
            ("late", figures.late && !path),
            ("taken", figures.taken && path),
            ("here", figures.here && path),
        ] {
            if holds {
                let _ = write!(classes, " {class}");
            }
        }
        let mut inside = String::new();
        if figures.here && path {
            inside.push_str(&rect("ring", frame, -4.0, 11));
        }
        inside.push_str(&rect(&classes, frame, 0.0, 8));
        if state.phase.is_final() {
            inside.push_str(&rect("rim", frame, 3.0, 5));
        }
        inside
    }

    fn full(&mut self, state: &State, frame: Frame, figures: &StateFigures) {
        let (left, right) = (frame.left + PAD, frame.left + frame.width - PAD);
        self.name(state, (left, frame.top + 21.0));
        if let Some(timeout) = timeout(state) {
            self.text("note", (right, frame.top + 21.0), true, &timeout);
        }
        self.figure(state, "count", (left, frame.top + 47.0), false, &count(figures));
        let area = Frame { left, top: frame.top + 56.0, width: right - left, height: 20.0 };
        self.piece(self.id(state.name.as_str(), "trend"), "g", "", sparkline(&figures.trend, area));
        let late = if figures.late { "⚠ " } else { "" };
        let oldest = format!("{late}{}", age(figures.oldest.as_deref()));
        for (what, value, down) in [("oldest", oldest, 92.0), ("p95", age(figures.p95.as_deref()), 107.0)] {
            self.text("note", (left, frame.top + down), false, what);
            self.figure(state, what, (right, frame.top + down), true, &value);
        }
    }

    fn full_end(&mut self, state: &State, frame: Frame, figures: &StateFigures) {
        let (left, right) = (frame.left + PAD, frame.left + frame.width - PAD);
        let middle = frame.top + frame.height / 2.0;
        self.name(state, (left, middle - 4.0));
        self.figure(state, "count", (left, middle + 14.0), false, &count(figures));
        let arriving = fit(figures.arriving.as_deref().unwrap_or_default(), AGE_MAX);
        self.figure(state, "arriving", (right, middle + 14.0), true, &arriving);
    }

    /// A name and one figure: below each other, or in one line where the job is over.
    fn brief(&mut self, state: &State, frame: Frame, what: &str, figure: &str) {
        let (left, right) = (frame.left + PAD, frame.left + frame.width - PAD);
        let middle = frame.top + frame.height / 2.0;
        if state.phase.is_final() {
            self.name(state, (left, middle + 4.0));
            self.figure(state, what, (right, middle + 4.0), true, figure);
        } else {
            self.name(state, (left, middle - 4.0));
            self.figure(state, what, (left, middle + 13.0), false, figure);
        }
    }

    fn name(&mut self, state: &State, (x, y): (f64, f64)) {
        let size = if self.look == Look::Small { 0.88 } else { 1.0 };
        let _ = writeln!(
            self.out,
            "<path class=\"sign\" transform=\"translate({} {}) scale({size})\" d=\"{}\"/>",
            tenth(x),
            tenth(y - 10.0 * size),
            sign(state.phase)
        );
        self.text("name", (x + SIGN * size, y), false, state.name.as_str());
    }

    fn text(&mut self, class: &str, (x, y): (f64, f64), end: bool, text: &str) {
        let _ = writeln!(self.out, "<text{}>{}</text>", place(class, (x, y), end), escaped(text));
    }

    fn figure(&mut self, state: &State, what: &str, at: (f64, f64), end: bool, text: &str) {
        self.piece(self.id(state.name.as_str(), what), "text", &place(what, at, end), escaped(text));
    }
}

fn place(class: &str, (x, y): (f64, f64), end: bool) -> String {
    let anchor = if end { " text-anchor=\"end\"" } else { "" };
    format!(" class=\"{class}\" x=\"{}\" y=\"{}\"{anchor}", tenth(x), tenth(y))
}

fn count(figures: &StateFigures) -> String {
    fit(figures.count.as_deref().unwrap_or("–"), COUNT_MAX)
}

fn age(text: Option<&str>) -> String {
    fit(text.unwrap_or("–"), AGE_MAX)
}

fn rect(class: &str, frame: Frame, inset: f64, radius: u32) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{radius}\"/>",
        tenth(frame.left + inset),
        tenth(frame.top + inset),
        tenth(frame.width - 2.0 * inset),
        tenth(frame.height - 2.0 * inset)
    )
}

/// The trend as a line from zero to its highest value, and the area below it.
fn sparkline(trend: &[f64], area: Frame) -> String {
    if trend.len() < 2 {
        return String::new();
    }
    let height = |value: &f64| if value.is_finite() { value.max(0.0) } else { 0.0 };
    let highest = trend.iter().map(height).fold(1.0, f64::max);
    let step = area.width / (trend.len() - 1) as f64;
    let bottom = area.top + area.height;
    let mut line = String::new();
    for (nth, value) in trend.iter().enumerate() {
        let y = bottom - height(value) / highest * (area.height - 2.0);
        let to = if nth == 0 { 'M' } else { 'L' };
        let _ = write!(line, "{to}{} {}", tenth(area.left + step * nth as f64), tenth(y));
    }
    let (left, right, bottom) = (tenth(area.left), tenth(area.left + area.width), tenth(bottom));
    format!(
        "<path class=\"area\" d=\"{line}L{right} {bottom}L{left} {bottom}Z\"/><path class=\"trend\" d=\"{line}\"/>"
    )
}

/// The sign of a phase as a line, 12 pixels wide and high: fonts rarely have them all.
fn sign(phase: Phase) -> &'static str {
    match phase {
        // A clock.
        Phase::Ready => "M11 6A5 5 0 1 1 1 6A5 5 0 1 1 11 6ZM6 3V6.2L8.2 7.6",
        // A key.
        Phase::Held => "M7 4A3 3 0 1 1 1 4A3 3 0 1 1 7 4ZM6.2 6.2L11 11M9 9L10.6 7.4",
        // To play.
        Phase::Active => "M3 1.5L10.5 6L3 10.5Z",
        // To pause.
        Phase::Waiting => "M3.5 1.5V10.5M8.5 1.5V10.5",
        Phase::Final(Outcome::Succeeded) => "M1.5 6.5L4.8 9.8L10.5 2.5",
        Phase::Final(Outcome::Partial) => "M11 6A5 5 0 1 1 1 6A5 5 0 1 1 11 6ZM6 1V11M3.6 2.6V9.4",
        Phase::Final(Outcome::Failed) => "M2 2L10 10M10 2L2 10",
        Phase::Final(Outcome::Cancelled) => "M11 6A5 5 0 1 1 1 6A5 5 0 1 1 11 6ZM2.5 2.5L9.5 9.5",
        Phase::Final(Outcome::Rejected) => "M1.5 1.5H10.5V10.5H1.5ZM4 4L8 8M8 4L4 8",
        Phase::Final(Outcome::Dead) => "M6 1V11M2.5 4H9.5",
    }
}
