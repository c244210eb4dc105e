//! Rows in columns: as many columns as fit, each as wide as it must be.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use serde_json::Value;

use super::super::colours::{Colours, phase_of};
use super::super::rows::Rows;
use super::BOLD;
use crate::show::{self, List};

pub(super) fn draw(frame: &mut Frame, area: Rect, (rows, list): (&Rows, &List), colours: Colours) {
    let columns: Vec<_> = list.columns.iter().collect();
    let headings: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
    let mut cells = show::cells(&columns, &rows.shown);
    show::shorten(&headings, &mut cells);
    let state = headings.iter().position(|heading| *heading == "STATE");
    for (row, cells) in rows.shown.iter().zip(&mut cells) {
        if let (Some(state), Some(phase)) = (state, phase_of(row)) {
            cells[state] = format!("{} {}", phase.sign(), cells[state]);
        }
    }
    let widths = widths(&headings, &cells);
    let height = usize::from(area.height).saturating_sub(1);
    let heading = headings.iter().zip(&widths).map(|(heading, width)| format!("{heading:width$}  "));
    let heading = Line::styled(format!("  {}", heading.collect::<String>()), BOLD.patch(colours.faint()));
    let shown = rows.shown.iter().zip(&cells).enumerate().skip(rows.offset).take(height);
    let lines = shown.map(|(at, (row, cells))| {
        let line = line(row, cells, (rows, &widths, state), colours);
        if rows.cursor == Some(at) {
            line.patch_style(Style::new().add_modifier(Modifier::REVERSED))
        } else {
            line
        }
    });
    frame.render_widget(Paragraph::new(std::iter::once(heading).chain(lines).collect::<Vec<_>>()), area);
}

fn widths(headings: &[&str], cells: &[Vec<String>]) -> Vec<usize> {
    let width = |(column, heading): (usize, &&str)| {
        let widest = cells.iter().map(|row| Span::raw(&row[column]).width()).max().unwrap_or(0);
        widest.max(heading.len())
    };
    headings.iter().enumerate().map(width).collect()
}

fn line<'l>(
    row: &Value,
    cells: &'l [String],
    (rows, widths, state): (&Rows, &[usize], Option<usize>),
    colours: Colours,
) -> Line<'l> {
    let is_here = rows.current().is_some_and(|current| rows.named(current) == rows.named(row));
    let is_gone = rows.is_gone(row);
    let mark = match () {
        () if rows.marks.contains(&rows.named(row)) => '●',
        () if is_gone => '~',
        () => ' ',
    };
    let mut spans = vec![Span::raw(format!("{}{mark}", if is_here { '▸' } else { ' ' }))];
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let style = match phase_of(row) {
            Some(phase) if Some(column) == state => colours.phase(phase),
            _ => Style::new(),
        };
        let room = " ".repeat(width.saturating_sub(Span::raw(cell).width()) + 2);
        spans.push(Span::styled(cell, style));
        spans.push(Span::raw(room));
    }
    let line = Line::from(spans);
    if is_gone { line.patch_style(colours.faint()) } else { line }
}
