//! The screenshot in the README: a screen as SVG, light or dark as the reader prefers.

use std::fmt::Write as _;

use expect_test::expect_file;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;

use super::*;

/// A cell in pixels.
const CELL: (u32, u32) = (8, 18);
const MARGIN: u32 = 12;
const BYTES_MAX: usize = 60_000;

fn colour(cell: &Cell) -> &'static str {
    match cell.fg {
        Color::DarkGray => "f",
        Color::Red => "r",
        Color::Green => "g",
        Color::Yellow | Color::LightYellow => "y",
        Color::Blue => "u",
        Color::Magenta => "m",
        Color::Cyan => "c",
        _ => "i",
    }
}

/// Adjacent cells with the same style: the column of the first one, their text, and the style.
fn runs(buffer: &Buffer, y: u16) -> Vec<(u16, String, &Cell)> {
    let mut runs: Vec<(u16, String, &Cell)> = Vec::new();
    for x in 0..buffer.area.width {
        let cell = &buffer[(x, y)];
        match runs.last_mut() {
            Some((_, text, like)) if like.style() == cell.style() => text.push_str(cell.symbol()),
            _ => runs.push((x, cell.symbol().to_owned(), cell)),
        }
    }
    runs
}

fn svg(buffer: &Buffer) -> String {
    let (width, height) = (u32::from(buffer.area.width), u32::from(buffer.area.height));
    let (width, height) = (width * CELL.0 + 2 * MARGIN, height * CELL.1 + 2 * MARGIN);
    let style = include_str!("picture.css").replace('\n', "");
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"tenure top\">\n<style>{style}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"var(--paper)\" stroke=\"var(--faint)\"/>\n"
    );
    for y in 0..buffer.area.height {
        for (x, text, cell) in runs(buffer, y) {
            let (left, top) = (MARGIN + u32::from(x) * CELL.0, MARGIN + u32::from(y) * CELL.1);
            let is_reversed = cell.modifier.contains(Modifier::REVERSED);
            let colour = colour(cell);
            if is_reversed {
                let wide = text.chars().count() as u32 * CELL.0;
                let _ = writeln!(
                    out,
                    "<rect class=\"{colour}\" x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{}\"/>",
                    CELL.1
                );
            }
            let blank = text.len() - text.trim_start().len();
            if text.trim().is_empty() {
                continue;
            }
            let bold = if cell.modifier.contains(Modifier::BOLD) { " b" } else { "" };
            let class = if is_reversed { "v" } else { colour };
            let (x, y) = (left + blank as u32 * CELL.0, top + 13);
            let text = text.trim().replace('&', "&amp;").replace('<', "&lt;");
            let wide = text.chars().count() as u32 * CELL.0;
            let _ = writeln!(
                out,
                "<text class=\"{class}{bold}\" x=\"{x}\" y=\"{y}\" textLength=\"{wide}\">{text}</text>"
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

#[test]
fn the_screenshot_in_the_readme_is_current() {
    let mut it = driven(View::Map, "", (118, 34));
    it.answer(map_of("distributed")).press("↓↓");
    let picture = svg(&it.buffer(Colours { shown: true }));
    assert!(picture.len() < BYTES_MAX, "{}", picture.len());
    expect_file!["../../../../../docs/pictures/top.svg"].assert_eq(&picture);
}
