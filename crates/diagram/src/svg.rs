//! A standalone SVG image: no script, no embedded font, light or dark as the viewer prefers.

use std::fmt::Write as _;

use tenure_core::lifecycle::Lifecycle;

use crate::layout::{Connector, StateBox, lay_out};
use crate::{PLAIN, note, phase_class, rule_label};

/// One cell in pixels: the advance of a 12.5 px monospace letter, and a line of text.
const CELL_WIDTH: f64 = 7.5;
const CELL_HEIGHT: f64 = 18.0;
const MARGIN: f64 = 16.0;
const TITLE_HEIGHT: f64 = 44.0;
const CORNER_RADIUS: f64 = 6.0;

/// Literal colours, because CSS variables are not supported outside browsers.
const STYLE: &str = "\
text{font:12.5px ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',monospace;fill:#1f2430}\
.title{font-size:15px;font-weight:700}.name{font-weight:700}.note,.on{font-size:11.5px;font-weight:400}\
.about,.note,.on{fill:#5c6470}.bg{fill:#fff}\
.box{fill:#f4f6fa;stroke-width:1.5}.rim{fill:none;stroke-width:1}\
.wire{fill:none;stroke:#7b8494;stroke-width:1.4}.again{stroke-dasharray:5 4}.head,.dot{fill:#7b8494}\
.halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
.ready{stroke:#2563eb}.held{stroke:#b45309}.active{stroke:#7c3aed}.waiting{stroke:#0e7490}\
.succeeded{stroke:#15803d}.partial{stroke:#a16207}.failed,.dead{stroke:#b91c1c}.cancelled,.rejected{stroke:#6b7280}\
@media(prefers-color-scheme:dark){text{fill:#e8ebf0}.about,.note,.on{fill:#9aa3b2}.bg{fill:#14171d}.box{fill:#1e232c}\
.wire{stroke:#7d8799}.head,.dot{fill:#7d8799}.halo{stroke:#14171d}\
.ready{stroke:#60a5fa}.held{stroke:#f59e0b}.active{stroke:#a78bfa}.waiting{stroke:#22d3ee}\
.succeeded{stroke:#4ade80}.partial{stroke:#facc15}.failed,.dead{stroke:#f87171}.cancelled,.rejected{stroke:#9ca3af}}";

pub(crate) fn draw(lifecycle: &Lifecycle) -> String {
    let layout = lay_out(lifecycle, &PLAIN);
    let title = format!("{} v{}", lifecycle.name, lifecycle.version);
    let text_width = title.chars().count().max(lifecycle.about.chars().count()) as f64 * CELL_WIDTH;
    let width = (layout.width as f64 * CELL_WIDTH).max(text_width) + 2.0 * MARGIN;
    let height = layout.height as f64 * CELL_HEIGHT + TITLE_HEIGHT + 2.0 * MARGIN;
    let about = escaped(&lifecycle.about);
    let (title_y, about_y) = (MARGIN + 12.0, MARGIN + 31.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\">\n<title>{title}: {about}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"{title_y}\">{title}</text>\n\
         <text class=\"about\" x=\"{MARGIN}\" y=\"{about_y}\">{about}</text>\n"
    );
    for connector in &layout.connectors {
        draw_connector(&mut out, connector);
    }
    if let Some(start) = layout.connectors.first().and_then(|connector| connector.points.first()) {
        let (x, y) = centre(*start);
        let _ = writeln!(
            out,
            "<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"5\"><title>create</title></circle>"
        );
    }
    for state_box in &layout.boxes {
        draw_box(&mut out, lifecycle, state_box);
    }
    for label in &layout.labels {
        let (x, y) = (MARGIN + label.x as f64 * CELL_WIDTH, centre((label.x, label.y)).1 + 4.0);
        let text = escaped(&label.text);
        let _ = writeln!(out, "<text class=\"on halo\" x=\"{x}\" y=\"{y}\">{text}</text>");
    }
    out.push_str("</svg>\n");
    out
}

fn centre((x, y): (usize, usize)) -> (f64, f64) {
    (MARGIN + (x as f64 + 0.5) * CELL_WIDTH, MARGIN + TITLE_HEIGHT + (y as f64 + 0.5) * CELL_HEIGHT)
}

fn draw_box(out: &mut String, lifecycle: &Lifecycle, state_box: &StateBox<'_>) {
    let state = state_box.state;
    let edges = state_box.edges();
    let ((left, top), (right, bottom)) = (centre((edges.0, edges.1)), centre((edges.2, edges.3)));
    // Final boxes are stacked closely, so they are drawn a little less high.
    let (top, bottom) = if state.phase.is_final() { (top + 3.0, bottom - 3.0) } else { (top, bottom) };
    let (width, height) = (right - left, bottom - top);
    let class = phase_class(state.phase);
    let mut title = format!("{}: {}, rank {}", state.name, note(state), state.rank);
    for rule in lifecycle.rules_from(state.name.as_str()) {
        let _ = write!(title, "\n{} → {} ({})", rule_label(rule), rule.to, rule.event);
    }
    let _ = writeln!(out, "<g><title>{}</title>", escaped(&title));
    let _ = writeln!(
        out,
        "<rect class=\"box {class}\" x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"7\"/>"
    );
    if state.phase.is_final() {
        let _ = writeln!(
            out,
            "<rect class=\"rim {class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\"/>",
            left + 3.0,
            top + 3.0,
            width - 6.0,
            height - 6.0
        );
    }
    for (row, line) in state_box.lines.iter().enumerate() {
        let (x, y) = centre((state_box.x + 2, state_box.y + 1 + row));
        let x = x - CELL_WIDTH / 2.0;
        let class = if row == 0 { "name" } else { "note" };
        let text = match line.split_once(" · ") {
            // The outcome of a final state, beside its name in a lighter style.
            Some((name, outcome)) if row == 0 => {
                format!("{} <tspan class=\"note\">· {}</tspan>", escaped(name), escaped(outcome))
            }
            Some(_) | None => escaped(line),
        };
        let _ = writeln!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{}\">{text}</text>", y + 4.0);
    }
    out.push_str("</g>\n");
}

fn draw_connector(out: &mut String, connector: &Connector<'_>) {
    let mut points: Vec<(f64, f64)> = connector.points.iter().map(|point| centre(*point)).collect();
    let last = points.len() - 1;
    let (before, end) = (points[last - 1], points[last]);
    let sideways = (before.1 - end.1).abs() < 0.5;
    if connector.arrow_head {
        // The head reaches the border of the box, half a cell beyond the last point.
        let tip = if sideways { (end.0 + CELL_WIDTH, end.1) } else { (end.0, end.1 + CELL_HEIGHT) };
        points[last] = if sideways { (tip.0 - 8.0, tip.1) } else { (tip.0, tip.1 - 8.0) };
        let (a, b) = if sideways {
            ((tip.0 - 9.0, tip.1 - 4.5), (tip.0 - 9.0, tip.1 + 4.5))
        } else {
            ((tip.0 - 4.5, tip.1 - 9.0), (tip.0 + 4.5, tip.1 - 9.0))
        };
        let _ = writeln!(
            out,
            "<path class=\"head\" d=\"M{} {}L{} {}L{} {}Z\"/>",
            tip.0, tip.1, a.0, a.1, b.0, b.1
        );
    }
    let dashed = if connector.begins_attempt { " again" } else { "" };
    let _ = writeln!(out, "<path class=\"wire{dashed}\" d=\"{}\"/>", rounded(&points));
    if let Some(joins) = connector.joins {
        let (x, y) = centre(joins);
        let _ = writeln!(out, "<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"2.6\"/>");
    }
}

/// A path with rounded corners.
pub(crate) fn rounded(points: &[(f64, f64)]) -> String {
    let mut path = format!("M{} {}", points[0].0, points[0].1);
    for three in points.windows(3) {
        let (enter, leave) = (towards(three[1], three[0]), towards(three[1], three[2]));
        let _ =
            write!(path, "L{} {}Q{} {} {} {}", enter.0, enter.1, three[1].0, three[1].1, leave.0, leave.1);
    }
    let end = points[points.len() - 1];
    let _ = write!(path, "L{} {}", end.0, end.1);
    path
}

/// The point at which rounding starts: on the way from a corner to another point.
fn towards(corner: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (other.0 - corner.0, other.1 - corner.1);
    let length = dx.hypot(dy).max(1.0);
    let step = CORNER_RADIUS.min(length / 2.0);
    (corner.0 + dx / length * step, corner.1 + dy / length * step)
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
