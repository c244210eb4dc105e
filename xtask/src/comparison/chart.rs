//! The comparison as an SVG chart: a group of bars for each case that is a rate.

use std::fmt::Write as _;

const WIDTH: usize = 860;
const LABELS: usize = 150;
const BAR: usize = 18;
const HEADING: usize = 34;
/// Room for the number behind the longest bar.
const NUMBERS: usize = 80;

/// One group of bars: a case, and the rate of each system that was measured.
pub(super) struct Group {
    pub(super) title: String,
    pub(super) bars: Vec<Bar>,
}

pub(super) struct Bar {
    pub(super) system: &'static str,
    pub(super) rate: f64,
}

/// Bars of a group are to scale with each other, not with those of other groups.
pub(super) fn svg(groups: &[Group]) -> String {
    let height: usize = groups.iter().map(|group| HEADING + BAR * group.bars.len()).sum::<usize>() + BAR;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>Jobs per second</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    let mut top = 0;
    for group in groups {
        top += HEADING;
        let y = top - 8;
        writeln!(svg, "<text x=\"8\" y=\"{y}\" font-weight=\"600\">{}</text>", group.title)
            .expect("a string takes everything");
        let largest = group.bars.iter().map(|bar| bar.rate).fold(1.0, f64::max);
        for bar in &group.bars {
            put_bar(&mut svg, bar, largest, top);
            top += BAR;
        }
    }
    svg + "</svg>\n"
}

fn put_bar(svg: &mut String, bar: &Bar, largest: f64, top: usize) {
    let width = (WIDTH - LABELS - NUMBERS) as f64 * bar.rate / largest;
    let colour = if bar.system.starts_with("tenure") { "#2563eb" } else { "#94a3b8" };
    let (height, y, end) = (BAR - 4, top + BAR - 6, LABELS as f64 + width + 6.0);
    writeln!(
        svg,
        "<text x=\"8\" y=\"{y}\">{}</text>\
         <rect x=\"{LABELS}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{colour}\"/>\
         <text x=\"{end:.1}\" y=\"{y}\">{:.0}</text>",
        bar.system, bar.rate
    )
    .expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_of_a_group_has_the_full_width() {
        let bars = vec![Bar { system: "tenure embedded", rate: 50.0 }, Bar { system: "other", rate: 100.0 }];
        let svg = svg(&[Group { title: "steady".to_owned(), bars }]);
        let full = WIDTH - LABELS - NUMBERS;
        assert!(svg.contains(&format!("width=\"{full}.0\"")), "{svg}");
        assert!(svg.contains(&format!("width=\"{:.1}\"", full as f64 / 2.0)), "{svg}");
    }
}
