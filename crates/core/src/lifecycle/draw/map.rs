//! The map: a lifecycle with numbers, as SVG for a page. It has no style of its own, only classes, and every piece that
//! changes has an id and room for whatever may come, so that a script replaces it and nothing moves.

mod boxes;
mod ways;

use std::fmt::Write as _;

use super::super::{Lifecycle, State};
use super::figures::{COUNT_MAX, Figures, Links, Look, fit};
use super::layout::{Ends, Room, Sheet, lay_out};
use super::svg::escaped;
use super::text;

impl Lifecycle {
    /// The map as an `<svg>` to be put into a page: states and arrows are links, colours and fonts are the page's.
    pub fn map(&self, look: Look, figures: &Figures, links: &Links<'_>) -> String {
        Map::draw(self, look, figures, links).out
    }

    /// Everything on that map that figures change: ids of elements, and what is inside each.
    pub fn map_pieces(&self, look: Look, figures: &Figures) -> Vec<(String, String)> {
        let nowhere = Links { state: &|_| String::new(), arrow: &|_, _| String::new() };
        Map::draw(self, look, figures, &nowhere).pieces
    }

    /// The map in characters: the picture of [`super::Format::Text`], with counts and ages in its boxes.
    pub fn map_text(&self, figures: &Figures) -> String {
        text::map(self, figures)
    }
}

/// The longest texts, in characters.
const AGE_MAX: usize = 10;
const RATE_MAX: usize = 9;
const SPENT_MAX: usize = 14;
/// Around the picture, in pixels.
const MARGIN: f64 = 14.0;

/// The measures of a look, in pixels.
struct Scale {
    /// One cell: the advance of a monospace letter, and a line of text.
    cell: (f64, f64),
    /// How far a box reaches over the middle of its outermost rows; a final one.
    over: (f64, f64),
}

impl Look {
    fn scale(self) -> Scale {
        match self {
            Self::Full => Scale { cell: (7.5, 18.0), over: (4.0, 4.0) },
            Self::Small => Scale { cell: (6.6, 15.0), over: (5.0, -2.0) },
            Self::Path => Scale { cell: (7.5, 18.0), over: (4.0, -3.0) },
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Small => "small",
            Self::Path => "path",
        }
    }

    /// The first letter of its ids, so that several looks may be on one page.
    fn prefix(self) -> char {
        match self {
            Self::Full => 'm',
            Self::Small => 's',
            Self::Path => 'p',
        }
    }

    fn room(self) -> Room<'static> {
        match self {
            Self::Full => Room { rows: 7, line: 3, lines: &full, labels: true, rate: RATE_MAX },
            Self::Small => Room { rows: 3, line: 1, lines: &small, labels: false, rate: 0 },
            Self::Path => Room { rows: 3, line: 1, lines: &path, labels: true, rate: 0 },
        }
    }
}

/// A sign, a name, and the timeout; or a name, a count and what arrives.
fn full(state: &State) -> Vec<String> {
    if state.phase.is_final() {
        return vec![named(state, 0), " ".repeat(COUNT_MAX + AGE_MAX + 1)];
    }
    let timeout = boxes::timeout(state).map_or(0, |text| text.chars().count() + 2);
    vec![named(state, timeout), " ".repeat(COUNT_MAX + AGE_MAX - 4)]
}

fn small(state: &State) -> Vec<String> {
    one_figure(state, COUNT_MAX)
}

fn path(state: &State) -> Vec<String> {
    one_figure(state, SPENT_MAX)
}

/// A sign and a name, and one figure below it or, in a final state, beside it.
fn one_figure(state: &State, longest: usize) -> Vec<String> {
    if state.phase.is_final() {
        vec![named(state, longest + 2)]
    } else {
        vec![named(state, 0), " ".repeat(longest)]
    }
}

fn named(state: &State, beside: usize) -> String {
    format!("** {}{}", state.name, " ".repeat(beside))
}

/// A map that is being drawn.
struct Map<'l, 'f> {
    lifecycle: &'l Lifecycle,
    look: Look,
    scale: Scale,
    figures: &'f Figures,
    out: String,
    pieces: Vec<(String, String)>,
}

impl<'l, 'f> Map<'l, 'f> {
    fn draw(lifecycle: &'l Lifecycle, look: Look, figures: &'f Figures, links: &Links<'_>) -> Self {
        let sheet = lay_out(lifecycle, &look.room());
        let mut map =
            Self { lifecycle, look, scale: look.scale(), figures, out: String::new(), pieces: Vec::new() };
        map.open(&sheet);
        map.ways(&sheet);
        for shape in &sheet.boxes {
            map.state(shape, &(links.state)(&shape.state.name));
        }
        for arrow in super::arrows(lifecycle).iter().filter(|_| look.room().labels) {
            let href = (links.arrow)(&arrow.from.name, &arrow.to.name);
            map.arrow(&sheet, arrow.ends(), &href);
        }
        map.out.push_str("</svg>\n");
        map
    }

    fn open(&mut self, sheet: &Sheet<'_>) {
        let width = sheet.width as f64 * self.scale.cell.0 + 2.0 * MARGIN;
        let height = sheet.height as f64 * self.scale.cell.1 + 2.0 * MARGIN;
        let title = format!("{} v{}", self.lifecycle.name, self.lifecycle.version);
        let what = if self.look == Look::Path { "the way of the job" } else { "live map" };
        let _ = writeln!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"map {}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"group\" aria-label=\"{}: {what}\">",
            self.look.class(),
            escaped(&title)
        );
    }

    /// The middle of a cell.
    fn centre(&self, (x, y): (usize, usize)) -> (f64, f64) {
        let (width, height) = self.scale.cell;
        (MARGIN + (x as f64 + 0.5) * width, MARGIN + (y as f64 + 0.5) * height)
    }

    fn id(&self, of: &str, what: &str) -> String {
        format!("{}-{}-{of}-{what}", self.look.prefix(), self.lifecycle.name)
    }

    /// Writes an element that changes, and remembers what is inside it.
    fn piece(&mut self, id: String, element: &str, attributes: &str, inside: String) {
        let _ = write!(self.out, "<{element} id=\"{id}\"{attributes}>{inside}</{element}>");
        if element != "tspan" {
            self.out.push('\n');
        }
        self.pieces.push((id, inside));
    }

    /// What an arrow stands for, and its rate: one link.
    fn arrow(&mut self, sheet: &Sheet<'_>, ends: Ends<'_>, href: &str) {
        let same = |other: Ends<'_>| other.0.name == ends.0.name && other.1.name == ends.1.name;
        let mut labels: Vec<_> = sheet.labels.iter().filter(|label| same(label.ends)).collect();
        labels.sort_by_key(|label| label.y);
        let of = format!("{}-{}", ends.0.name, ends.1.name);
        let figures = self.figures.arrow(&ends.0.name, &ends.1.name);
        let about = self.id(&of, "about");
        let _ =
            writeln!(self.out, "<a class=\"arrow\" href=\"{}\" aria-labelledby=\"{about}\">", escaped(href));
        let rules: Vec<&str> = labels.iter().map(|label| label.text.as_str()).collect();
        let said = match (&figures.rate, figures.taken) {
            (Some(rate), _) if self.look == Look::Full => format!(": {rate}"),
            (_, true) if self.look == Look::Path => ": taken".to_owned(),
            _ => String::new(),
        };
        let said = format!("{} to {} by {}{said}", ends.0.name, ends.1.name, rules.join(", "));
        self.piece(about, "title", "", escaped(&said));
        let rate = figures.rate.map_or_else(String::new, |rate| escaped(&fit(&rate, RATE_MAX)));
        let place = sheet.rates.iter().find(|rate| same(rate.ends));
        for (nth, label) in labels.iter().enumerate() {
            let (x, y) = self.centre((label.x, label.y));
            let text = escaped(&label.text);
            let _ = write!(
                self.out,
                "<text class=\"on\" x=\"{}\" y=\"{}\">{text}",
                tenth(x - self.scale.cell.0 / 2.0),
                y + 4.0
            );
            if nth == 0 && place.is_some_and(|place| !place.middle) {
                self.piece(self.id(&of, "rate"), "tspan", " class=\"rate\" dx=\"8\"", rate.clone());
            }
            self.out.push_str("</text>\n");
        }
        if let Some(place) = place.filter(|place| place.middle) {
            let (x, y) = self.centre((place.x, place.y));
            let x = tenth(x - self.scale.cell.0 / 2.0);
            let place = format!(" class=\"rate\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\"", y + 2.0);
            self.piece(self.id(&of, "rate"), "text", &place, rate);
        }
        self.out.push_str("</a>\n");
    }
}

/// Rounded to a tenth of a pixel.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
