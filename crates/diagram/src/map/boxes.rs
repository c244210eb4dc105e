//! The state boxes of a map: a frame, a symbol, a name and values, each at a fixed position.

use std::fmt::Write as _;

use tenure_core::lifecycle::{Outcome, Phase, State, Timeout};

use super::{AGE_MAX, MapRenderer, SPENT_MAX, tenth};
use crate::layout::StateBox;
use crate::phase_class;
use crate::svg::escaped;
use crate::values::{COUNT_MAX, MapStyle, StateValues, fit};

/// From the edge of a box to its text, in pixels.
const PADDING: f64 = 11.0;
/// From the left of a symbol to the name.
const SYMBOL_WIDTH: f64 = 18.0;

/// A rectangle in pixels.
#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// Where a text is attached to its position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Start,
    End,
}

/// The timeout of a state as shown in its box: `≤ 30s`.
pub(super) fn timeout(state: &State) -> Option<String> {
    match state.timeout {
        Timeout::After(span) => Some(format!("≤ {span}")),
        Timeout::Unset | Timeout::Never => None,
    }
}

impl Frame {
    /// The left and right edge of its text.
    fn text_edges(self) -> (f64, f64) {
        (self.left + PADDING, self.left + self.width - PADDING)
    }

    fn middle(self) -> f64 {
        self.top + self.height / 2.0
    }
}

impl MapRenderer<'_, '_> {
    /// A state, as one link.
    pub(super) fn state(&mut self, state_box: &StateBox<'_>, href: &str) {
        let (state, values) = (state_box.state, self.values.state(&state_box.state.name));
        let title = self.id(state.name.as_str(), "title");
        let (class, href) = (phase_class(state.phase), escaped(href));
        let class = if state.phase.is_final() { format!("{class} final") } else { class.to_owned() };
        let _ = writeln!(self.out, "<a class=\"state {class}\" href=\"{href}\" aria-labelledby=\"{title}\">");
        self.fragment(title, "title", "", escaped(&self.title(state, &values)));
        let frame = self.frame(state_box);
        self.fragment(self.id(state.name.as_str(), "frame"), "g", "", self.framed(state, frame, &values));
        match self.style {
            MapStyle::Full if state.phase.is_final() => self.full_final(state, frame, &values),
            MapStyle::Full => self.full(state, frame, &values),
            MapStyle::Small => self.one_value(state, frame, "count", &count(&values)),
            MapStyle::Path => {
                let spent = fit(values.spent.as_deref().unwrap_or_default(), SPENT_MAX);
                self.one_value(state, frame, "spent", &spent);
            }
        }
        self.out.push_str("</a>\n");
    }

    /// The state in a sentence, for screen readers.
    fn title(&self, state: &State, values: &StateValues) -> String {
        let mut parts = Vec::new();
        if self.style == MapStyle::Path {
            parts.extend(values.spent.clone());
            parts.extend(values.here.then(|| "the job is here".to_owned()));
        } else {
            let jobs = |count: &String| format!("{count} {}", if count == "1" { "job" } else { "jobs" });
            parts.extend(values.count.as_ref().map(jobs));
            parts.extend(values.oldest.as_ref().map(|age| format!("oldest {age}")));
            parts.extend(values.late.then(|| "late".to_owned()));
            parts.extend(values.p95.as_ref().map(|span| format!("p95 {span}")));
            parts.extend(values.arriving.clone());
        }
        let name = match state.phase {
            Phase::Final(outcome) if state.name != outcome.as_str() => format!("{} ({outcome})", state.name),
            _ => state.name.to_string(),
        };
        if parts.is_empty() { name } else { format!("{name}: {}", parts.join(", ")) }
    }

    fn frame(&self, state_box: &StateBox<'_>) -> Frame {
        let edges = state_box.edges();
        let ((left, top), (right, bottom)) =
            (self.centre((edges.0, edges.1)), self.centre((edges.2, edges.3)));
        let is_final = state_box.state.phase.is_final();
        let overhang = if is_final { self.scale.final_overhang } else { self.scale.overhang };
        Frame { left, top: top - overhang, width: right - left, height: bottom - top + 2.0 * overhang }
    }

    fn framed(&self, state: &State, frame: Frame, values: &StateValues) -> String {
        let path = self.style == MapStyle::Path;
        let mut classes = String::from("box");
        for (class, holds) in
            [("late", values.late && !path), ("taken", values.taken && path), ("here", values.here && path)]
        {
            if holds {
                let _ = write!(classes, " {class}");
            }
        }
        let mut inside = String::new();
        if values.here && path {
            inside.push_str(&rect("ring", frame, -4.0, 11));
        }
        inside.push_str(&rect(&classes, frame, 0.0, 8));
        if state.phase.is_final() {
            inside.push_str(&rect("rim", frame, 3.0, 5));
        }
        inside
    }

    fn full(&mut self, state: &State, frame: Frame, values: &StateValues) {
        let (left, right) = frame.text_edges();
        self.name(state, (left, frame.top + 21.0));
        if let Some(timeout) = timeout(state) {
            self.text("note", (right, frame.top + 21.0), Anchor::End, &timeout);
        }
        self.value(state, "count", (left, frame.top + 47.0), Anchor::Start, &count(values));
        let area = Frame { left, top: frame.top + 56.0, width: right - left, height: 20.0 };
        self.fragment(self.id(state.name.as_str(), "trend"), "g", "", sparkline(&values.trend, area));
        let late = if values.late { "⚠ " } else { "" };
        let oldest = format!("{late}{}", age(values.oldest.as_deref()));
        for (what, value, down) in [("oldest", oldest, 92.0), ("p95", age(values.p95.as_deref()), 107.0)] {
            self.text("note", (left, frame.top + down), Anchor::Start, what);
            self.value(state, what, (right, frame.top + down), Anchor::End, &value);
        }
    }

    fn full_final(&mut self, state: &State, frame: Frame, values: &StateValues) {
        let (left, right) = frame.text_edges();
        self.name(state, (left, frame.middle() - 4.0));
        self.value(state, "count", (left, frame.middle() + 14.0), Anchor::Start, &count(values));
        let arriving = fit(values.arriving.as_deref().unwrap_or_default(), AGE_MAX);
        self.value(state, "arriving", (right, frame.middle() + 14.0), Anchor::End, &arriving);
    }

    /// A name and one value: on two lines, or on one in a final state.
    fn one_value(&mut self, state: &State, frame: Frame, what: &str, value: &str) {
        let (left, right) = frame.text_edges();
        if state.phase.is_final() {
            self.name(state, (left, frame.middle() + 4.0));
            self.value(state, what, (right, frame.middle() + 4.0), Anchor::End, value);
        } else {
            self.name(state, (left, frame.middle() - 4.0));
            self.value(state, what, (left, frame.middle() + 13.0), Anchor::Start, value);
        }
    }

    fn name(&mut self, state: &State, (x, y): (f64, f64)) {
        let size = if self.style == MapStyle::Small { 0.88 } else { 1.0 };
        let place = format!("translate({} {}) scale({size})", tenth(x), tenth(y - 10.0 * size));
        let path = symbol_path(state.phase);
        let _ = writeln!(self.out, "<path class=\"sign\" transform=\"{place}\" d=\"{path}\"/>");
        self.text("name", (x + SYMBOL_WIDTH * size, y), Anchor::Start, state.name.as_str());
    }

    fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let _ = writeln!(self.out, "<text{}>{}</text>", text_attributes(class, at, anchor), escaped(text));
    }

    fn value(&mut self, state: &State, what: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let id = self.id(state.name.as_str(), what);
        self.fragment(id, "text", &text_attributes(what, at, anchor), escaped(text));
    }
}

fn text_attributes(class: &str, (x, y): (f64, f64), anchor: Anchor) -> String {
    let anchor = if anchor == Anchor::End { " text-anchor=\"end\"" } else { "" };
    format!(" class=\"{class}\" x=\"{}\" y=\"{}\"{anchor}", tenth(x), tenth(y))
}

fn count(values: &StateValues) -> String {
    fit(values.count.as_deref().unwrap_or("–"), COUNT_MAX)
}

fn age(text: Option<&str>) -> String {
    fit(text.unwrap_or("–"), AGE_MAX)
}

fn rect(class: &str, frame: Frame, inset: f64, radius: u32) -> String {
    let [x, y] = [frame.left + inset, frame.top + inset].map(tenth);
    let [width, height] = [frame.width - 2.0 * inset, frame.height - 2.0 * inset].map(tenth);
    let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
    format!("<rect class=\"{class}\" {place} rx=\"{radius}\"/>")
}

/// The trend as a line, scaled to its highest value, and the area below it.
fn sparkline(trend: &[f64], area: Frame) -> String {
    if trend.len() < 2 {
        return String::new();
    }
    let height = |value: &f64| if value.is_finite() { value.max(0.0) } else { 0.0 };
    let highest = trend.iter().map(height).fold(1.0, f64::max);
    let step = area.width / (trend.len() - 1) as f64;
    let bottom = area.top + area.height;
    let mut line = String::new();
    for (index, value) in trend.iter().enumerate() {
        let y = bottom - height(value) / highest * (area.height - 2.0);
        let to = if index == 0 { 'M' } else { 'L' };
        let _ = write!(line, "{to}{} {}", tenth(area.left + step * index as f64), tenth(y));
    }
    let (left, right, bottom) = (tenth(area.left), tenth(area.left + area.width), tenth(bottom));
    format!(
        "<path class=\"area\" d=\"{line}L{right} {bottom}L{left} {bottom}Z\"/><path class=\"trend\" d=\"{line}\"/>"
    )
}

/// The symbol of a phase as a 12 by 12 pixel path, because few fonts contain all of [`crate::symbol`].
pub fn symbol_path(phase: Phase) -> &'static str {
    match phase {
        // A clock.
        Phase::Ready => "M11 6A5 5 0 1 1 1 6A5 5 0 1 1 11 6ZM6 3V6.2L8.2 7.6",
        // A key.
        Phase::Held => "M7 4A3 3 0 1 1 1 4A3 3 0 1 1 7 4ZM6.2 6.2L11 11M9 9L10.6 7.4",
        // Play.
        Phase::Active => "M3 1.5L10.5 6L3 10.5Z",
        // Pause.
        Phase::Waiting => "M3.5 1.5V10.5M8.5 1.5V10.5",
        Phase::Final(Outcome::Succeeded) => "M1.5 6.5L4.8 9.8L10.5 2.5",
        Phase::Final(Outcome::Partial) => "M11 6A5 5 0 1 1 1 6A5 5 0 1 1 11 6ZM6 1V11M3.6 2.6V9.4",
        Phase::Final(Outcome::Failed) => "M2 2L10 10M10 2L2 10",
        Phase::Final(Outcome::Cancelled) => "M11 6A5 5 0 1 1 1 6A5 5 0 1 1 11 6ZM2.5 2.5L9.5 9.5",
        Phase::Final(Outcome::Rejected) => "M1.5 1.5H10.5V10.5H1.5ZM4 4L8 8M8 4L4 8",
        Phase::Final(Outcome::Dead) => "M6 1V11M2.5 4H9.5",
    }
}
