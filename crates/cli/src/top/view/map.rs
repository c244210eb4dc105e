//! The map: the lifecycle's picture, and under it every state with its numbers.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tenure_core::lifecycle::{Figures, State, StateFigures};
use tenure_core::words::grouped;

use super::super::colours::Colours;
use super::super::map::Map;
use super::BOLD;

/// Things to look at that are told at most.
const ATTENTION_MAX: usize = 3;
/// Lines of the table that are always there, and of a picture that is worth it.
const TABLE_MIN: u16 = 4;
const PICTURE_MIN: u16 = 6;

pub(super) fn draw(frame: &mut Frame, area: Rect, map: &Map, colours: Colours) {
    let mut above = vec![lifecycles(map, colours)];
    let notes = map.attention().into_iter().chain(map.refused.clone());
    above.extend(notes.take(ATTENTION_MAX).map(|note| Line::styled(format!("! {note}"), colours.bad())));
    let lines = above.len() as u16;
    let [head, rest] = Layout::vertical([Constraint::Length(lines), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(above), head);
    let Some(lifecycle) = &map.lifecycle else { return };
    let figures = map.figures();
    let drawn = lifecycle.map_text(&figures);
    let picture: Vec<&str> = drawn.lines().collect();
    let states = lifecycle.by_rank();
    let wanted = states.len() as u16 + 1;
    let height = picture.len() as u16 + 1;
    let table = wanted.min(rest.height.saturating_sub(height).max(TABLE_MIN));
    let [drawing, table] = if rest.height.saturating_sub(table) < PICTURE_MIN {
        [Rect::ZERO, rest]
    } else {
        let drawing = height.min(rest.height - table);
        Layout::vertical([Constraint::Length(drawing), Constraint::Length(table)]).areas(rest)
    };
    draw_picture(frame, drawing, (&picture, &states, map.cursor), colours);
    draw_table(frame, table, (map, &states, &figures), colours);
}

fn lifecycles<'l>(map: &Map, colours: Colours) -> Line<'l> {
    let spans = map.names.iter().map(|(name, count)| {
        let label = format!(" {name} {} ", grouped(*count));
        let is_here = map.is_chosen(name);
        Span::styled(label, if is_here { BOLD.add_modifier(Modifier::REVERSED) } else { colours.faint() })
    });
    spans.collect()
}

/// Where a state's sign and name stand in the picture: column, line, and how wide they are.
fn place(picture: &[&str], state: &State) -> Option<(u16, u16, u16)> {
    let piece: Vec<char> = format!("{} {}", state.phase.sign(), state.name).chars().collect();
    picture.iter().enumerate().find_map(|(y, line)| {
        let letters: Vec<char> = line.chars().collect();
        let x = letters.windows(piece.len()).position(|window| window == piece)?;
        let end = letters.get(x + piece.len()).copied().unwrap_or(' ');
        (!end.is_alphanumeric() && end != '_').then_some((x as u16, y as u16, piece.len() as u16))
    })
}

fn draw_picture(
    frame: &mut Frame,
    area: Rect,
    (picture, states, cursor): (&[&str], &[&State], usize),
    colours: Colours,
) {
    let width = picture.iter().map(|line| line.chars().count()).max().unwrap_or(0) as u16;
    let chosen = states.get(cursor).and_then(|state| place(picture, state)).unwrap_or_default();
    // As much to the side as it takes to see the whole box of the state under the cursor.
    let right = chosen.0 + room(picture, (chosen.0, chosen.1)) + 2;
    let left = right.saturating_sub(area.width).min(width.saturating_sub(area.width));
    let top =
        (chosen.1 + 3).saturating_sub(area.height).min((picture.len() as u16).saturating_sub(area.height));
    let lines: Vec<Line> = picture.iter().map(|line| Line::styled(*line, colours.faint())).collect();
    frame.render_widget(Paragraph::new(lines).scroll((top, left)), area);
    let plain = Style::new().fg(Color::Reset).remove_modifier(Modifier::DIM).add_modifier(Modifier::BOLD);
    let mut paint = |(x, y, width): (u16, u16, u16), style: Style| {
        for x in x..x + width {
            let (Some(x), Some(y)) = (x.checked_sub(left), y.checked_sub(top)) else { continue };
            let position = Position::new(area.x.saturating_add(x), area.y.saturating_add(y));
            if area.contains(position)
                && let Some(cell) = frame.buffer_mut().cell_mut(position)
            {
                cell.set_style(style);
            }
        }
    };
    for (at, state) in states.iter().enumerate() {
        let Some((x, y, width)) = place(picture, state) else { continue };
        let here = if at == cursor { Modifier::REVERSED } else { Modifier::empty() };
        // Its count is below its name, or beside it.
        let below = u16::from(!state.phase.is_final());
        paint((x, y + below, room(picture, (x, y + below))), plain);
        paint((x, y, width), plain.patch(colours.phase(state.phase)).add_modifier(here));
    }
}

/// Columns from here to the edge of the box.
fn room(picture: &[&str], (x, y): (u16, u16)) -> u16 {
    let letters = picture.get(usize::from(y)).copied().unwrap_or_default().chars();
    letters.skip(x.into()).position(|letter| "│║├┤".contains(letter)).unwrap_or(0) as u16
}

fn draw_table(
    frame: &mut Frame,
    area: Rect,
    (map, states, figures): (&Map, &[&State], &Figures),
    colours: Colours,
) {
    let name = states.iter().map(|state| state.name.as_str().len()).max().unwrap_or(0).max(5) + 2;
    let times = if map.has_times() { "   OLDEST     P95    ARRIVING" } else { "" };
    let heading = format!("  {:name$}  {:>11}{times}", "STATE", "JOBS");
    let height = usize::from(area.height).saturating_sub(1);
    let offset = (map.cursor + 1).saturating_sub(height);
    let mut lines = vec![Line::styled(heading, BOLD.patch(colours.faint()))];
    let unknown = StateFigures::default();
    lines.extend(states.iter().enumerate().skip(offset).take(height).map(|(at, state)| {
        let figures = figures.states.get(&state.name).unwrap_or(&unknown);
        let said = |figure: &Option<String>| figure.clone().unwrap_or_else(|| "–".to_owned());
        let cursor = if at == map.cursor { "▸ " } else { "  " };
        let word = format!("{} {}", state.phase.sign(), state.name);
        let mut spans = vec![
            Span::raw(cursor),
            Span::styled(format!("{word:name$}  "), colours.phase(state.phase)),
            Span::styled(format!("{:>11}", said(&figures.count)), BOLD),
        ];
        if map.has_times() {
            let [oldest, p95, arriving] = [&figures.oldest, &figures.p95, &figures.arriving].map(said);
            spans.push(Span::raw(format!("  {oldest:>7}  {p95:>6}  {arriving:>10}")));
        }
        let line = Line::from(spans);
        if at == map.cursor { line.patch_style(Style::new().add_modifier(Modifier::REVERSED)) } else { line }
    }));
    frame.render_widget(Paragraph::new(lines), area);
}
