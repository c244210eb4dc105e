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
const STYLE: &str = include_str!("svg.css");

pub(crate) fn draw(lifecycle: &Lifecycle) -> String {
    let layout = lay_out(lifecycle, &PLAIN);
    let title = format!("{} v{}", lifecycle.name, lifecycle.version);
    let text_width = title.chars().count().max(lifecycle.about.chars().count()) as f64 * CELL_WIDTH;
    let width = (layout.width as f64 * CELL_WIDTH).max(text_width) + 2.0 * MARGIN;
    let height = layout.height as f64 * CELL_HEIGHT + TITLE_HEIGHT + 2.0 * MARGIN;
    let about = escaped(&lifecycle.about);
    let (title_y, about_y, style) = (MARGIN + 12.0, MARGIN + 31.0, STYLE.replace('\n', ""));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\">\n<title>{title}: {about}</title>\n<style>{style}</style>\n\
         <rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"{title_y}\">{title}</text>\n\
         <text class=\"about\" x=\"{MARGIN}\" y=\"{about_y}\">{about}</text>\n"
    );
    for connector in &layout.connectors {
        draw_connector(&mut out, connector);
    }
    if let Some(start) = layout.connectors.first().and_then(|connector| connector.points.first()) {
        let (x, y) = centre(*start);
        let dot = format!("class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"5\"");
        let _ = writeln!(out, "<circle {dot}><title>create</title></circle>");
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
    let rect = |kind: &str, inset: f64, radius: u32| {
        let (x, y, width, height) = (left + inset, top + inset, width - 2.0 * inset, height - 2.0 * inset);
        let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
        format!("<rect class=\"{kind} {class}\" {place} rx=\"{radius}\"/>\n")
    };
    out.push_str(&rect("box", 0.0, 7));
    if state.phase.is_final() {
        out.push_str(&rect("rim", 3.0, 5));
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
    if let ([.., before, end], true) = (&mut points[..], connector.arrow_head) {
        let (corners, line_end) = arrow_head(*before, *end, (CELL_WIDTH, CELL_HEIGHT), 4.5);
        let [tip, left, right] = corners.map(|(x, y)| format!("{x} {y}"));
        let _ = writeln!(out, "<path class=\"head\" d=\"M{tip}L{left}L{right}Z\"/>");
        *end = line_end;
    }
    let dashed = if connector.begins_attempt { " again" } else { "" };
    let _ = writeln!(out, "<path class=\"wire{dashed}\" d=\"{}\"/>", rounded(&points));
    if let Some(joins) = connector.joins {
        let (x, y) = centre(joins);
        let _ = writeln!(out, "<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"2.6\"/>");
    }
}

/// The tip and the other corners of an arrow head, and where its line ends. The tip touches the box, whose border is
/// `distance` beyond the last cell of the line, to the right or below.
pub(crate) fn arrow_head(
    before: (f64, f64),
    end: (f64, f64),
    distance: (f64, f64),
    half_width: f64,
) -> ([(f64, f64); 3], (f64, f64)) {
    if (before.1 - end.1).abs() < 0.5 {
        let (x, y) = (end.0 + distance.0, end.1);
        ([(x, y), (x - 9.0, y - half_width), (x - 9.0, y + half_width)], (x - 8.0, y))
    } else {
        let (x, y) = (end.0, end.1 + distance.1);
        ([(x, y), (x - half_width, y - 9.0), (x + half_width, y - 9.0)], (x, y - 8.0))
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
