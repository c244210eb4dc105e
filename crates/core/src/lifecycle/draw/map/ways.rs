//! The lines of a map. Arrows to one state share a line, so that each stretch of it shows what goes along there: it is
//! dashed as long as only the clock acts, and as wide as the widest of them.

use std::fmt::Write as _;

use super::super::layout::{Sheet, Wire};
use super::super::svg::rounded;
use super::super::{Arrow, arrows};
use super::{Look, Map, tenth};

type Cell = (usize, usize);

/// What goes along a stretch of line.
#[derive(Clone, Copy)]
struct Load {
    clocks: bool,
    weight: f64,
    taken: bool,
}

impl Load {
    fn with(self, other: Self) -> Self {
        Self {
            clocks: self.clocks && other.clocks,
            weight: self.weight.max(other.weight),
            taken: self.taken || other.taken,
        }
    }

    fn classes(self, dashes: bool) -> String {
        // From `w0`, nothing, to `w4`.
        let width = (self.weight.clamp(0.0, 1.0) * 4.0).ceil();
        let clock = if self.clocks && dashes { " clock" } else { "" };
        let taken = if self.taken { " taken" } else { "" };
        format!("w{width:.0}{clock}{taken}")
    }
}

/// A part of a line with the same load all along.
struct Stretch {
    points: Vec<Cell>,
    load: Load,
    head: bool,
}

impl Map<'_, '_> {
    /// All lines, one piece for each state that they lead to.
    pub(super) fn ways(&mut self, sheet: &Sheet<'_>) {
        let known = arrows(self.lifecycle);
        for wire in sheet.wires.iter().filter(|wire| wire.ends.is_none()) {
            let (x, y) = self.centre(wire.points[0]);
            let load = Load { clocks: false, weight: 0.0, taken: self.look == Look::Path };
            let stretch = Stretch { points: wire.points.clone(), load, head: true };
            let line = self.stretch(&stretch);
            let _ = writeln!(
                self.out,
                "{line}<circle class=\"dot begin\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"><title>create</title></circle>"
            );
        }
        for shape in &sheet.boxes {
            let to = &shape.state.name;
            let leads = |wire: &&Wire<'_>| wire.ends.is_some_and(|(_, end)| end.name == *to);
            let wires: Vec<&Wire<'_>> = sheet.wires.iter().filter(leads).collect();
            let mut inside = String::new();
            let mut stretches: Vec<Stretch> =
                wires.iter().flat_map(|wire| self.stretches(wire, &wires, &known)).collect();
            // What is lit lies above what is not.
            stretches.sort_by_key(|stretch| stretch.load.taken);
            for stretch in &stretches {
                inside.push_str(&self.stretch(stretch));
            }
            for joint in wires.iter().filter_map(|wire| wire.joins.map(|at| (wire, at))) {
                let (x, y) = self.centre(joint.1);
                let taken = if self.own(joint.0, &known).taken { " taken" } else { "" };
                let _ = write!(inside, "<circle class=\"dot{taken}\" cx=\"{x}\" cy=\"{y}\" r=\"2.4\"/>");
            }
            let id = self.id(to.as_str(), "ways");
            self.piece(id, "g", "", inside);
        }
    }

    /// What the wire's own arrow brings.
    fn own(&self, wire: &Wire<'_>, known: &[Arrow<'_>]) -> Load {
        let (from, to) = wire.ends.expect("lines that lead to a state come from one");
        let figures = self.figures.arrow(&from.name, &to.name);
        let arrow = known.iter().find(|arrow| arrow.from.name == from.name && arrow.to.name == to.name);
        Load {
            clocks: arrow.is_some_and(Arrow::is_clocks),
            weight: figures.weight.max(0.0),
            taken: figures.taken && self.look == Look::Path,
        }
    }

    /// A wire, cut where others join it.
    fn stretches(&self, wire: &Wire<'_>, all: &[&Wire<'_>], known: &[Arrow<'_>]) -> Vec<Stretch> {
        let mut load = self.own(wire, known);
        let mut joints: Vec<(usize, usize, &Wire<'_>)> = Vec::new();
        for other in all {
            if let Some((leg, far)) = other.joins.and_then(|at| position(wire, at)) {
                joints.push((leg, far, other));
            }
        }
        joints.sort_by_key(|(leg, far, _)| (*leg, *far));
        let mut found = Vec::new();
        let mut points = vec![wire.points[0]];
        let mut leg_now = 0;
        for (leg, _, other) in joints {
            let at = other.joins.expect("only what joins is a joint");
            points.extend(&wire.points[leg_now + 1..=leg]);
            leg_now = leg;
            if points.last() != Some(&at) {
                points.push(at);
            }
            if points.len() > 1 {
                found.push(Stretch { points: std::mem::replace(&mut points, vec![at]), load, head: false });
            }
            let brought = self.stretches(other, all, known);
            load = brought.last().map_or(load, |last| load.with(last.load));
        }
        points.extend(&wire.points[leg_now + 1..]);
        found.push(Stretch { points, load, head: wire.arrow });
        found
    }

    fn stretch(&self, stretch: &Stretch) -> String {
        let mut points: Vec<(f64, f64)> = stretch.points.iter().map(|cell| self.centre(*cell)).collect();
        let taken = if stretch.load.taken { " taken" } else { "" };
        let mut head = String::new();
        if let ([.., before, end], true) = (&mut points[..], stretch.head) {
            let sideways = (before.1 - end.1).abs() < 0.5;
            // The tip touches the box, whose edge is in the next cell.
            let (along, across) = if sideways { ((1.0, 0.0), (0.0, 1.0)) } else { ((0.0, 1.0), (1.0, 0.0)) };
            let way = if sideways { self.scale.cell.0 } else { self.scale.cell.1 - self.scale.over.0 };
            let tip = (end.0 + along.0 * way, end.1 + along.1 * way);
            let corner = |side: f64| {
                (tip.0 - along.0 * 9.0 + across.0 * side, tip.1 - along.1 * 9.0 + across.1 * side)
            };
            let (left, right) = (corner(-5.0), corner(5.0));
            *end = (tip.0 - along.0 * 8.0, tip.1 - along.1 * 8.0);
            head = format!(
                "<path class=\"head{taken}\" d=\"M{} {}L{} {}L{} {}Z\"/>",
                tenth(tip.0),
                tenth(tip.1),
                tenth(left.0),
                tenth(left.1),
                tenth(right.0),
                tenth(right.1)
            );
        }
        for point in &mut points {
            *point = (tenth(point.0), tenth(point.1));
        }
        let d = rounded(&points);
        let wire = format!("<path class=\"wire {}\" d=\"{d}\"/>", stretch.load.classes(true));
        let flows = self.look != Look::Path && stretch.load.weight > 0.0;
        let flow = if flows {
            format!("<path class=\"flow {}\" d=\"{d}\"/>", stretch.load.classes(false))
        } else {
            String::new()
        };
        format!("{wire}{flow}{head}")
    }
}

/// Where a cell lies on a wire before its end: on which leg, and how far along it.
fn position(wire: &Wire<'_>, at: Cell) -> Option<(usize, usize)> {
    if wire.points.last() == Some(&at) {
        return None;
    }
    wire.points.windows(2).enumerate().find_map(|(leg, pair)| {
        let (from, to) = (pair[0], pair[1]);
        let between = |value: usize, a: usize, b: usize| (a.min(b)..=a.max(b)).contains(&value);
        let on = between(at.0, from.0, to.0) && between(at.1, from.1, to.1);
        on.then(|| (leg, at.0.abs_diff(from.0) + at.1.abs_diff(from.1)))
    })
}
