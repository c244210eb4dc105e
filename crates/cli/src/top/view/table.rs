//! Draws rows in columns, each as wide as its widest cell.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tenure_diagram::symbol;

use super::super::colours::Colours;
use super::super::rows::Rows;
use super::BOLD;
use crate::show;

pub(super) fn draw(frame: &mut Frame, area: Rect, rows: &Rows, headings: &[&str], colours: Colours) {
    let mut cells: Vec<Vec<String>> = rows.shown.iter().map(|row| row.cells.clone()).collect();
    show::shorten(headings, &mut cells);
    let state = headings.iter().position(|heading| *heading == "STATE");
    for (row, cells) in rows.shown.iter().zip(&mut cells) {
        if let (Some(state), Some(phase)) = (state, row.phase) {
            cells[state] = format!("{} {}", symbol(phase), cells[state]);
        }
    }
    let widths = widths(headings, &cells);
    let height = usize::from(area.height).saturating_sub(1);
    let heading = headings.iter().zip(&widths).map(|(heading, width)| format!("{heading:width$}  "));
    let heading = Line::styled(format!("  {}", heading.collect::<String>()), BOLD.patch(colours.faint()));
    let shown = rows.shown.iter().zip(&cells).enumerate().skip(rows.offset).take(height);
    let lines = shown.map(|(at, (row, cells))| {
        let (is_selected, is_gone) = (rows.cursor == Some(at), rows.gone.contains(&row.id));
        let cursor = if is_selected { '▸' } else { ' ' };
        let mark = match () {
            () if rows.marks.contains(&row.id) => '●',
            () if is_gone => '~',
            () => ' ',
        };
        let mut line = Line::from(vec![Span::raw(format!("{cursor}{mark}"))]);
        let styled = state.zip(row.phase.map(|phase| colours.phase(phase)));
        line.extend(spans(cells, &widths, styled));
        let line = if is_gone { line.patch_style(colours.faint()) } else { line };
        if is_selected { line.patch_style(Style::new().add_modifier(Modifier::REVERSED)) } else { line }
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

/// The cells of a row, one of which may have a style.
fn spans<'l>(cells: &'l [String], widths: &[usize], styled: Option<(usize, Style)>) -> Vec<Span<'l>> {
    let mut spans = Vec::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let style = styled.filter(|(at, _)| *at == column).map(|(_, style)| style).unwrap_or_default();
        let room = " ".repeat(width.saturating_sub(Span::raw(cell).width()) + 2);
        spans.extend([Span::styled(cell, style), Span::raw(room)]);
    }
    spans
}
