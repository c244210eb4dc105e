//! A line chart of the last hour, as SVG.

use maud::{Markup, html};

const WIDTH: usize = 600;
const HEIGHT: usize = 120;

/// A named line with a value for each minute, the newest last.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) class: &'a str,
    pub(crate) values: &'a [u64],
}

/// Lines on one scale, with a legend.
pub(crate) fn lines(title: &str, lines: &[Line<'_>]) -> Markup {
    let highest = lines.iter().flat_map(|line| line.values).copied().max().unwrap_or(0).max(1);
    let last = |values: &[u64]| values.last().copied().unwrap_or(0);
    let current = lines.iter().map(|line| format!("{} {} in this minute", last(line.values), line.name));
    let current = current.collect::<Vec<_>>().join(", ");
    html! {
        svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
            aria-label=(format!("{title} per minute in the last hour: {current}")) {
            @for part in 1..4 { line.grid x1="0" x2=(WIDTH) y1=(HEIGHT * part / 4) y2=(HEIGHT * part / 4) {} }
            @for line in lines {
                polyline class=(line.class) points=(points(line.values, highest)) {}
            }
        }
        p.legend {
            @for line in lines { span class=(line.class) { "— " (line.name) } " " }
            span.quiet { "last hour, peak " (crate::format::count(highest)) " per minute" }
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
