//! On a map with the longest possible values, no text overlaps another text, a line or the border of its box.

use tenure_diagram::MapStyle;

use super::maps::{each_map, longest, map};
use super::svg::tags;

#[derive(Debug)]
struct Area {
    text: String,
    /// From left to right.
    x: (f64, f64),
    /// From top to bottom.
    y: (f64, f64),
}

impl Area {
    fn overlaps(&self, other: &Self) -> bool {
        let overlap = |one: (f64, f64), other: (f64, f64)| one.0 < other.1 && other.0 < one.1;
        overlap(self.x, other.x) && overlap(self.y, other.y)
    }

    fn contains(&self, other: &Self) -> bool {
        let contains = |outer: (f64, f64), inner: (f64, f64)| outer.0 < inner.0 && inner.1 < outer.1;
        contains(self.x, other.x) && contains(self.y, other.y)
    }
}

#[derive(Default)]
struct Areas {
    texts: Vec<Area>,
    boxes: Vec<Area>,
    /// Every leg of every line.
    lines: Vec<Area>,
}

impl Areas {
    fn of(svg: &str, style: MapStyle) -> Self {
        let mut found = Self::default();
        let mut in_final = false;
        for tag in tags(svg) {
            let class = tag.attribute("class");
            let text = svg[tag.after..].split('<').next().unwrap().to_owned();
            let width = || width(&text, class, style, in_final);
            match tag.name {
                "a" => in_final = class.contains("final"),
                "rect" if class.starts_with("box") => {
                    let side = |start, length| (tag.number(start), tag.number(start) + tag.number(length));
                    let (x, y) = (side("x", "width"), side("y", "height"));
                    found.boxes.push(Area { text: "a box".to_owned(), x, y });
                }
                "text" => {
                    let (x, y, width) = (tag.number("x"), tag.number("y"), width());
                    let left = match tag.attribute("text-anchor") {
                        "end" => x - width,
                        "middle" => x - width / 2.0,
                        _ => x,
                    };
                    let large = class == "count" && style == MapStyle::Full && !in_final;
                    let top = y - if large { 15.5 } else { 9.5 };
                    found.texts.push(Area { text, x: (left, left + width), y: (top, y + 2.5) });
                }
                "tspan" => {
                    let last = found.texts.last_mut().unwrap();
                    last.x.1 += tag.number("dx") + width();
                    last.text = format!("{} {text}", last.text);
                }
                "path" if class.starts_with("wire") => found.lines.extend(legs(tag.attribute("d"))),
                _ => {}
            }
        }
        found
    }
}

/// The greatest possible width of a text, by the sizes in the dashboard's `map.css`.
fn width(text: &str, class: &str, style: MapStyle, in_final: bool) -> f64 {
    let size = match (class, style) {
        ("count", MapStyle::Full) if in_final => 13.0,
        ("count", MapStyle::Full) => 21.0,
        ("count", _) => 12.5,
        (_, MapStyle::Small) => 11.0,
        ("name", _) => 12.5,
        ("spent", _) => 13.0,
        ("oldest" | "p95" | "arriving", _) => 12.0,
        ("note" | "on" | "rate", _) => 11.5,
        other => panic!("a text of unknown size: {other:?}"),
    };
    let letter = |char| match char {
        _ if ["name", "note", "on"].contains(&class) => 0.6,
        ' ' | ',' | '.' | '/' | '…' => 0.32,
        'm' | '⚠' => 0.95,
        _ => 0.6,
    };
    text.chars().map(letter).sum::<f64>() * size
}

fn legs(path: &str) -> Vec<Area> {
    let numbers: Vec<f64> =
        path.split(['M', 'L', 'Q', ' ']).filter_map(|number| number.parse().ok()).collect();
    let points: Vec<&[f64]> = numbers.chunks(2).collect();
    let side = |a: f64, b: f64| (a.min(b) - 2.0, a.max(b) + 2.0);
    let leg = |pair: &[&[f64]]| {
        let (x, y) = (side(pair[0][0], pair[1][0]), side(pair[0][1], pair[1][1]));
        Area { text: "a line".to_owned(), x, y }
    };
    points.windows(2).map(leg).collect()
}

#[test]
fn no_text_overlaps_another_or_a_line_or_leaves_its_box() {
    for (lifecycle, style) in each_map() {
        let Areas { texts, boxes, lines } = Areas::of(&map(&lifecycle, style, &longest(&lifecycle)), style);
        assert!(texts.len() >= 2 * boxes.len() && lines.len() > boxes.len());
        let name = format!("{} {style:?}", lifecycle.name);
        for (index, text) in texts.iter().enumerate() {
            for other in &texts[index + 1..] {
                assert!(!text.overlaps(other), "{name}: {text:?} overlaps {other:?}");
            }
            // Lines begin and end behind the boxes.
            for line in lines.iter().filter(|_| !boxes.iter().any(|frame| text.overlaps(frame))) {
                assert!(!text.overlaps(line), "{name}: {text:?} overlaps {line:?}");
            }
            for frame in boxes.iter().filter(|frame| text.overlaps(frame)) {
                assert!(frame.contains(text), "{name}: {text:?} leaves {frame:?}");
            }
        }
    }
}
