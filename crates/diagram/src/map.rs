//! The map: a lifecycle with live values, as SVG for a page.
//!
//! It is styled by the page through classes. Every element that changes has an id and a fixed size, so a script can
//! replace its contents without moving anything else.

mod boxes;
mod connectors;

use std::fmt::Write as _;

pub use boxes::symbol_path;

use tenure_core::lifecycle::{Lifecycle, State};

use crate::layout::{Ends, Layout, LayoutOptions, lay_out};
use crate::svg::escaped;
use crate::values::{COUNT_MAX, MapLinks, MapStyle, MapValues, fit};

/// An element of a map that changes with the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The id of the element.
    pub id: String,
    /// Its inner markup.
    pub markup: String,
}

/// The map as an `<svg>` to embed in a page: states and arrows are links, colours and fonts come from the page.
pub fn map_svg(lifecycle: &Lifecycle, style: MapStyle, values: &MapValues, links: &MapLinks<'_>) -> String {
    MapRenderer::draw(lifecycle, style, values, links).out
}

/// The elements of [`map_svg`] that depend on the values.
pub fn map_fragments(lifecycle: &Lifecycle, style: MapStyle, values: &MapValues) -> Vec<Fragment> {
    let no_links = MapLinks { state: &|_| String::new(), arrow: &|_, _| String::new() };
    MapRenderer::draw(lifecycle, style, values, &no_links).fragments
}

/// The longest texts, in characters.
const AGE_MAX: usize = 10;
const RATE_MAX: usize = 9;
const SPENT_MAX: usize = 14;
/// Around the picture, in pixels.
const MARGIN: f64 = 14.0;

/// What distinguishes a style. Measures are in pixels.
struct Scale {
    class: &'static str,
    /// The first letter of its ids, so that maps of several styles can be on one page.
    id_prefix: char,
    /// One cell: the advance of a monospace letter, and a line of text.
    cell: (f64, f64),
    /// How far a box extends beyond the centres of its first and last row.
    overhang: f64,
    /// The same for a final box.
    final_overhang: f64,
}

impl MapStyle {
    fn scale(self) -> Scale {
        let (class, id_prefix, cell, overhang, final_overhang) = match self {
            Self::Full => ("full", 'm', (7.5, 18.0), 4.0, 4.0),
            Self::Small => ("small", 's', (6.6, 15.0), 5.0, -2.0),
            Self::Path => ("path", 'p', (7.5, 18.0), 4.0, -3.0),
        };
        Scale { class, id_prefix, cell, overhang, final_overhang }
    }

    fn layout_options(self) -> LayoutOptions<'static> {
        match self {
            Self::Full => {
                LayoutOptions { rows: 7, line: 3, lines: &full_lines, labels: true, rate: RATE_MAX }
            }
            Self::Small => LayoutOptions { rows: 3, line: 1, lines: &small_lines, labels: false, rate: 0 },
            Self::Path => LayoutOptions { rows: 3, line: 1, lines: &path_lines, labels: true, rate: 0 },
        }
    }
}

/// Space for a symbol, a name and a timeout over a count; in a final state, for a count and arrivals.
fn full_lines(state: &State) -> Vec<String> {
    if state.phase.is_final() {
        return vec![name_line(state, 0), " ".repeat(COUNT_MAX + AGE_MAX + 1)];
    }
    let timeout = boxes::timeout(state).map_or(0, |text| text.chars().count() + 2);
    vec![name_line(state, timeout), " ".repeat(COUNT_MAX + AGE_MAX - 4)]
}

fn small_lines(state: &State) -> Vec<String> {
    one_value_lines(state, COUNT_MAX)
}

fn path_lines(state: &State) -> Vec<String> {
    one_value_lines(state, SPENT_MAX)
}

/// Space for a symbol and a name, with one value below or, in a final state, beside them.
fn one_value_lines(state: &State, longest: usize) -> Vec<String> {
    if state.phase.is_final() {
        vec![name_line(state, longest + 2)]
    } else {
        vec![name_line(state, 0), " ".repeat(longest)]
    }
}

fn name_line(state: &State, padding: usize) -> String {
    format!("** {}{}", state.name, " ".repeat(padding))
}

struct MapRenderer<'l, 'f> {
    lifecycle: &'l Lifecycle,
    style: MapStyle,
    scale: Scale,
    values: &'f MapValues,
    out: String,
    fragments: Vec<Fragment>,
}

impl<'l, 'f> MapRenderer<'l, 'f> {
    fn draw(lifecycle: &'l Lifecycle, style: MapStyle, values: &'f MapValues, links: &MapLinks<'_>) -> Self {
        let options = style.layout_options();
        let layout = lay_out(lifecycle, &options);
        let (out, fragments) = (String::new(), Vec::new());
        let mut map = Self { lifecycle, style, scale: style.scale(), values, out, fragments };
        map.open(&layout);
        map.connectors(&layout);
        for state_box in &layout.boxes {
            map.state(state_box, &(links.state)(&state_box.state.name));
        }
        for arrow in crate::arrows(lifecycle).iter().filter(|_| options.labels) {
            let href = (links.arrow)(&arrow.from.name, &arrow.to.name);
            map.arrow(&layout, arrow.ends(), &href);
        }
        map.out.push_str("</svg>\n");
        map
    }

    fn open(&mut self, layout: &Layout<'_>) {
        let width = layout.width as f64 * self.scale.cell.0 + 2.0 * MARGIN;
        let height = layout.height as f64 * self.scale.cell.1 + 2.0 * MARGIN;
        let title = format!("{} v{}", self.lifecycle.name, self.lifecycle.version);
        let what = if self.style == MapStyle::Path { "path of the job" } else { "live map" };
        let _ = writeln!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"map {}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"group\" aria-label=\"{}: {what}\">",
            self.scale.class,
            escaped(&title)
        );
    }

    /// The centre of a cell in pixels.
    fn centre(&self, (x, y): (usize, usize)) -> (f64, f64) {
        let (width, height) = self.scale.cell;
        (MARGIN + (x as f64 + 0.5) * width, MARGIN + (y as f64 + 0.5) * height)
    }

    fn id(&self, of: &str, what: &str) -> String {
        format!("{}-{}-{of}-{what}", self.scale.id_prefix, self.lifecycle.name)
    }

    /// Writes an element that depends on the values and records it as a fragment.
    fn fragment(&mut self, id: String, element: &str, attributes: &str, markup: String) {
        let _ = write!(self.out, "<{element} id=\"{id}\"{attributes}>{markup}</{element}>");
        if element != "tspan" {
            self.out.push('\n');
        }
        self.fragments.push(Fragment { id, markup });
    }

    /// The labels of an arrow and its rate, as one link.
    fn arrow(&mut self, layout: &Layout<'_>, ends: Ends<'_>, href: &str) {
        let same = |other: Ends<'_>| other.0.name == ends.0.name && other.1.name == ends.1.name;
        let labels: Vec<_> = layout.labels.iter().filter(|label| same(label.ends)).collect();
        let of = format!("{}-{}", ends.0.name, ends.1.name);
        let values = self.values.arrow(&ends.0.name, &ends.1.name);
        let (about, href) = (self.id(&of, "about"), escaped(href));
        let _ = writeln!(self.out, "<a class=\"arrow\" href=\"{href}\" aria-labelledby=\"{about}\">");
        let rules: Vec<&str> = labels.iter().map(|label| label.text.as_str()).collect();
        let suffix = match (&values.rate, values.taken) {
            (Some(rate), _) if self.style == MapStyle::Full => format!(": {rate}"),
            (_, true) if self.style == MapStyle::Path => ": taken".to_owned(),
            _ => String::new(),
        };
        let title = format!("{} to {} by {}{suffix}", ends.0.name, ends.1.name, rules.join(", "));
        self.fragment(about, "title", "", escaped(&title));
        let rate = values.rate.map_or_else(String::new, |rate| escaped(&fit(&rate, RATE_MAX)));
        let rate_label = layout.rates.iter().find(|rate| same(rate.ends));
        let left = |x: f64, scale: &Scale| tenth(x - scale.cell.0 / 2.0);
        for (index, label) in labels.iter().enumerate() {
            let (x, y) = self.centre((label.x, label.y));
            let (x, y, text) = (left(x, &self.scale), y + 4.0, escaped(&label.text));
            let _ = write!(self.out, "<text class=\"on\" x=\"{x}\" y=\"{y}\">{text}");
            if index == 0 && rate_label.is_some_and(|found| !found.centred) {
                self.fragment(self.id(&of, "rate"), "tspan", " class=\"rate\" dx=\"8\"", rate.clone());
            }
            self.out.push_str("</text>\n");
        }
        if let Some(found) = rate_label.filter(|found| found.centred) {
            let (x, y) = self.centre((found.x, found.y));
            let (x, y) = (left(x, &self.scale), y + 2.0);
            let attributes = format!(" class=\"rate\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\"");
            self.fragment(self.id(&of, "rate"), "text", &attributes, rate);
        }
        self.out.push_str("</a>\n");
    }
}

/// Rounded to a tenth of a pixel.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
