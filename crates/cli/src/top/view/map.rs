//! Draws the lifecycle view: a diagram, and below it a table of the states with their numbers.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tenure_core::lifecycle::State;
use tenure_core::text::grouped;
use tenure_diagram::{StateValues, map_text, symbol};

use super::super::colours::Colours;
use super::super::map::LifecycleMap;
use super::{BOLD, tab_style};

/// The most notes that are shown above the diagram.
const ATTENTION_MAX: usize = 3;
/// The fewest lines of the table, and of a diagram; a shorter one is not drawn.
const TABLE_MIN: u16 = 4;
const DIAGRAM_MIN: u16 = 6;

pub(super) fn draw(frame: &mut Frame, area: Rect, map: &LifecycleMap, colours: Colours) {
    let mut above = vec![lifecycles(map, colours)];
    let notes: Vec<String> = map.attention().chain(map.refusal.clone()).collect();
    let shown = notes.iter().take(ATTENTION_MAX);
    above.extend(shown.map(|note| Line::styled(format!("! {note}"), colours.bad())));
    if notes.len() > ATTENTION_MAX {
        let more = format!("  +{} more; the dashboard lists all", notes.len() - ATTENTION_MAX);
        above.push(Line::styled(more, colours.bad()));
    }
    let lines = above.len() as u16;
    let [head, rest] = Layout::vertical([Constraint::Length(lines), Constraint::Min(0)]).areas(area);
    frame.render_widget(Paragraph::new(above), head);
    let Some(lifecycle) = &map.lifecycle else { return };
    let drawn = map_text(lifecycle, &map.values());
    let diagram: Vec<&str> = drawn.lines().collect();
    let states = lifecycle.by_rank();
    let wanted = states.len() as u16 + 1;
    let height = diagram.len() as u16 + 1;
    let table = wanted.min(rest.height.saturating_sub(height).max(TABLE_MIN));
    let [drawing, table] = if rest.height.saturating_sub(table) < DIAGRAM_MIN {
        [Rect::ZERO, rest]
    } else {
        let drawing = height.min(rest.height - table);
        Layout::vertical([Constraint::Length(drawing), Constraint::Length(table)]).areas(rest)
    };
    draw_diagram(frame, drawing, &diagram, &states, map.cursor, colours);
    draw_table(frame, table, map, &states, colours);
}

fn lifecycles<'l>(map: &LifecycleMap, colours: Colours) -> Line<'l> {
    let spans = map.names.iter().map(|(name, count)| {
        let label = format!(" {name} {} ", grouped(*count));
        Span::styled(label, tab_style(map.selected.as_ref() == Some(name), colours))
    });
    spans.collect()
}

/// Column, line and width of a state's symbol and name in the diagram.
fn place(diagram: &[&str], state: &State) -> Option<(u16, u16, u16)> {
    let label: Vec<char> = format!("{} {}", symbol(state.phase), state.name).chars().collect();
    diagram.iter().enumerate().find_map(|(y, line)| {
        let letters: Vec<char> = line.chars().collect();
        let x = letters.windows(label.len()).position(|window| window == label)?;
        let end = letters.get(x + label.len()).copied().unwrap_or(' ');
        (!end.is_alphanumeric() && end != '_').then_some((x as u16, y as u16, label.len() as u16))
    })
}

fn draw_diagram(
    frame: &mut Frame,
    area: Rect,
    diagram: &[&str],
    states: &[&State],
    cursor: usize,
    colours: Colours,
) {
    let width = diagram.iter().map(|line| line.chars().count()).max().unwrap_or(0) as u16;
    let selected = states.get(cursor).and_then(|state| place(diagram, state)).unwrap_or_default();
    // Scrolled so that the whole box of the selected state is visible.
    let right = selected.0 + room(diagram, (selected.0, selected.1)) + 2;
    let left = right.saturating_sub(area.width).min(width.saturating_sub(area.width));
    let top =
        (selected.1 + 3).saturating_sub(area.height).min((diagram.len() as u16).saturating_sub(area.height));
    let lines: Vec<Line> = diagram.iter().map(|line| Line::styled(*line, colours.faint())).collect();
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
        let Some((x, y, width)) = place(diagram, state) else { continue };
        let here = if at == cursor { Modifier::REVERSED } else { Modifier::empty() };
        // The count is below the name; in final states beside it.
        let below = u16::from(!state.phase.is_final());
        paint((x, y + below, room(diagram, (x, y + below))), plain);
        paint((x, y, width), plain.patch(colours.phase(state.phase)).add_modifier(here));
    }
}

/// Columns from here to the edge of the box.
fn room(diagram: &[&str], (x, y): (u16, u16)) -> u16 {
    let letters = diagram.get(usize::from(y)).copied().unwrap_or_default().chars();
    letters.skip(x.into()).position(|letter| "│║├┤".contains(letter)).unwrap_or(0) as u16
}

fn draw_table(frame: &mut Frame, area: Rect, map: &LifecycleMap, states: &[&State], colours: Colours) {
    let values = map.values();
    let name = states.iter().map(|state| state.name.as_str().len()).max().unwrap_or(0).max(5) + 2;
    let times = if map.stats.is_some() { "   OLDEST     P95    ARRIVING" } else { "" };
    let heading = format!("  {:name$}  {:>11}{times}", "STATE", "JOBS");
    let height = usize::from(area.height).saturating_sub(1);
    let offset = (map.cursor + 1).saturating_sub(height);
    let mut lines = vec![Line::styled(heading, BOLD.patch(colours.faint()))];
    let unknown = StateValues::default();
    lines.extend(states.iter().enumerate().skip(offset).take(height).map(|(at, state)| {
        let values = values.states.get(&state.name).unwrap_or(&unknown);
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
        let cursor = if at == map.cursor { "▸ " } else { "  " };
        let word = format!("{} {}", symbol(state.phase), state.name);
        let mut spans = vec![
            Span::raw(cursor),
            Span::styled(format!("{word:name$}  "), colours.phase(state.phase)),
            Span::styled(format!("{:>11}", shown(&values.count)), BOLD),
        ];
        if map.stats.is_some() {
            let [oldest, p95, arriving] = [&values.oldest, &values.p95, &values.arriving].map(shown);
            spans.push(Span::raw(format!("  {oldest:>7}  {p95:>6}  {arriving:>10}")));
        }
        let line = Line::from(spans);
        if at == map.cursor { line.patch_style(Style::new().add_modifier(Modifier::REVERSED)) } else { line }
    }));
    frame.render_widget(Paragraph::new(lines), area);
}
