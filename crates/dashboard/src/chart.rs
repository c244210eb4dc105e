//! A small chart: lines over the last hour, without a script.

use maud::{Markup, html};

const WIDTH: usize = 600;
const HEIGHT: usize = 120;

/// A line: what it is called, its class, and a value for each minute, the newest last.
pub(crate) type Line<'a> = (&'a str, &'a str, &'a [u64]);

/// Lines on one scale, with what the highest point stands for.
pub(crate) fn lines(title: &str, lines: &[Line<'_>]) -> Markup {
    let highest = lines.iter().flat_map(|(_, _, values)| *values).copied().max().unwrap_or(0).max(1);
    let last = |values: &[u64]| values.last().copied().unwrap_or(0);
    let told: Vec<String> =
        lines.iter().map(|(name, _, values)| format!("{} {name} in this minute", last(values))).collect();
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
            aria-label=(format!("{title}, minute by minute for an hour: {}", told.join(", "))) {
            @for part in 1..4 { line.grid x1="0" x2=(WIDTH) y1=(HEIGHT * part / 4) y2=(HEIGHT * part / 4) {} }
            @for (_, class, values) in lines {
                polyline class=(class) points=(points(values, highest)) {}
            }
        }
        p.legend {
            @for (name, class, _) in lines { span class=(class) { "— " (name) } " " }
            span.quiet { "an hour, at most " (crate::format::count(highest)) " a minute" }
        }
    }
}

fn points(values: &[u64], highest: u64) -> String {
    let steps = values.len().saturating_sub(1).max(1);
    let point = |(at, value): (usize, &u64)| {
        let (x, y) =
            (at * WIDTH / steps, HEIGHT as f64 - *value as f64 * (HEIGHT - 4) as f64 / highest as f64 - 2.0);
        format!("{x},{y:.1} ")
    };
    values.iter().enumerate().map(point).collect()
}
