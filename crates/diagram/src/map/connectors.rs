//! The lines of a map. Arrows to one state share a line; each segment of it is as wide as its busiest arrow and dashed
//! while only the clock triggers its arrows.

use std::fmt::Write as _;

use super::{MapRenderer, tenth};
use crate::layout::{Connector, Layout};
use crate::svg::{arrow_head, rounded};
use crate::values::MapStyle;
use crate::{Arrow, arrows};

type Point = (usize, usize);

/// The arrows that a segment carries, combined.
#[derive(Clone, Copy)]
struct Traffic {
    clock_only: bool,
    weight: f64,
    taken: bool,
}

impl Traffic {
    fn combined(self, other: Self) -> Self {
        Self {
            clock_only: self.clock_only && other.clock_only,
            weight: self.weight.max(other.weight),
            taken: self.taken || other.taken,
        }
    }

    fn classes(self, dashes: bool) -> String {
        // From `w0`, no traffic, to `w4`.
        let width = (self.weight.clamp(0.0, 1.0) * 4.0).ceil();
        let clock = if self.clock_only && dashes { " clock" } else { "" };
        format!("w{width:.0}{clock}{}", taken_class(self.taken))
    }
}

fn taken_class(taken: bool) -> &'static str {
    if taken { " taken" } else { "" }
}

/// A part of a line that carries the same arrows throughout.
struct Segment {
    points: Vec<Point>,
    traffic: Traffic,
    arrow_head: bool,
}

/// Where another connector joins a line.
struct Joint<'c, 'l> {
    /// The index of the leg, and the distance along it.
    position: (usize, usize),
    at: Point,
    other: &'c Connector<'l>,
}

impl MapRenderer<'_, '_> {
    /// All lines, with one fragment for each state that they lead to.
    pub(super) fn connectors(&mut self, layout: &Layout<'_>) {
        let arrows = arrows(self.lifecycle);
        for start in layout.connectors.iter().filter(|connector| connector.ends.is_none()) {
            let (x, y) = self.centre(start.points[0]);
            let traffic = Traffic { clock_only: false, weight: 0.0, taken: self.style == MapStyle::Path };
            let line = self.segment(&Segment { points: start.points.clone(), traffic, arrow_head: true });
            let _ = writeln!(
                self.out,
                "{line}<circle class=\"dot begin\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"><title>create</title></circle>"
            );
        }
        for state_box in &layout.boxes {
            let to = &state_box.state.name;
            let enters = |connector: &&Connector<'_>| connector.ends.is_some_and(|(_, end)| end.name == *to);
            let connectors: Vec<&Connector<'_>> = layout.connectors.iter().filter(enters).collect();
            let mut segments: Vec<Segment> =
                connectors.iter().flat_map(|it| self.segments(it, &connectors, &arrows)).collect();
            // Highlighted segments are drawn last, on top.
            segments.sort_by_key(|segment| segment.traffic.taken);
            let mut markup: String = segments.iter().map(|segment| self.segment(segment)).collect();
            for connector in &connectors {
                let Some(joint) = connector.joins else { continue };
                let (x, y) = self.centre(joint);
                let taken = taken_class(self.traffic(connector, &arrows).taken);
                let _ = write!(markup, "<circle class=\"dot{taken}\" cx=\"{x}\" cy=\"{y}\" r=\"2.4\"/>");
            }
            self.fragment(self.id(to.as_str(), "lines"), "g", "", markup);
        }
    }

    /// The traffic of the connector's arrow alone.
    fn traffic(&self, connector: &Connector<'_>, arrows: &[Arrow<'_>]) -> Traffic {
        let (from, to) = connector.ends.expect("only the line into the initial state has no ends");
        let values = self.values.arrow(&from.name, &to.name);
        let arrow = arrows.iter().find(|arrow| arrow.from.name == from.name && arrow.to.name == to.name);
        Traffic {
            clock_only: arrow.is_some_and(Arrow::is_clock_only),
            weight: values.weight.max(0.0),
            taken: values.taken && self.style == MapStyle::Path,
        }
    }

    /// A connector, cut where others join it.
    fn segments(
        &self,
        connector: &Connector<'_>,
        all: &[&Connector<'_>],
        arrows: &[Arrow<'_>],
    ) -> Vec<Segment> {
        let mut traffic = self.traffic(connector, arrows);
        let mut joints: Vec<Joint<'_, '_>> = Vec::new();
        for other in all {
            let Some(at) = other.joins else { continue };
            joints.extend(position(connector, at).map(|position| Joint { position, at, other }));
        }
        joints.sort_by_key(|joint| joint.position);
        let mut segments = Vec::new();
        let mut points = vec![connector.points[0]];
        let mut leg = 0;
        for Joint { position, at, other } in joints {
            points.extend(&connector.points[leg + 1..=position.0]);
            leg = position.0;
            if points.last() != Some(&at) {
                points.push(at);
            }
            if points.len() > 1 {
                let points = std::mem::replace(&mut points, vec![at]);
                segments.push(Segment { points, traffic, arrow_head: false });
            }
            let joining = self.segments(other, all, arrows);
            traffic = joining.last().map_or(traffic, |last| traffic.combined(last.traffic));
        }
        points.extend(&connector.points[leg + 1..]);
        segments.push(Segment { points, traffic, arrow_head: connector.arrow_head });
        segments
    }

    fn segment(&self, segment: &Segment) -> String {
        let mut points: Vec<(f64, f64)> = segment.points.iter().map(|cell| self.centre(*cell)).collect();
        let taken = taken_class(segment.traffic.taken);
        let mut head = String::new();
        if let ([.., before, end], true) = (&mut points[..], segment.arrow_head) {
            let (width, height) = self.scale.cell;
            let (corners, line_end) = arrow_head(*before, *end, (width, height - self.scale.overhang), 5.0);
            let [tip, left, right] = corners.map(|(x, y)| format!("{} {}", tenth(x), tenth(y)));
            *end = line_end;
            head = format!("<path class=\"head{taken}\" d=\"M{tip}L{left}L{right}Z\"/>");
        }
        for point in &mut points {
            *point = (tenth(point.0), tenth(point.1));
        }
        let d = rounded(&points);
        let line = format!("<path class=\"wire {}\" d=\"{d}\"/>", segment.traffic.classes(true));
        let flows = self.style != MapStyle::Path && segment.traffic.weight > 0.0;
        let flow = || format!("<path class=\"flow {}\" d=\"{d}\"/>", segment.traffic.classes(false));
        let flow = flows.then(flow).unwrap_or_default();
        format!("{line}{flow}{head}")
    }
}

/// Where a cell lies on a connector before its end: the index of the leg, and the distance along it.
fn position(connector: &Connector<'_>, at: Point) -> Option<(usize, usize)> {
    if connector.points.last() == Some(&at) {
        return None;
    }
    connector.points.windows(2).enumerate().find_map(|(leg, pair)| {
        let (from, to) = (pair[0], pair[1]);
        let between = |value: usize, a: usize, b: usize| (a.min(b)..=a.max(b)).contains(&value);
        let on = between(at.0, from.0, to.0) && between(at.1, from.1, to.1);
        on.then(|| (leg, at.0.abs_diff(from.0) + at.1.abs_diff(from.1)))
    })
}
