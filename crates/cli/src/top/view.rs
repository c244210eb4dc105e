//! Draws the model: two lines above, the body, one line below.

mod map;
mod table;

use ratatui::Frame;
use ratatui::layout::Constraint::{Length, Max, Min};
use ratatui::layout::{Flex, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use tenure_core::text::is_unsafe;
use tenure_diagram::symbol;

use super::colours::Colours;
use super::keys;
use super::model::{Connection, PaneKind, Top, VIEWS};
use super::pane::{Body, Pane, Subject, headings};
use crate::args::View;
use crate::show::short;

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

pub(super) fn draw(frame: &mut Frame, top: &Top, colours: Colours) {
    let [head, title, body, foot] =
        Layout::vertical([Length(1), Length(1), Min(0), Length(1)]).areas(frame.area());
    frame.render_widget(both_ends(tabs(top, colours), connection(top, colours), head), head);
    frame.render_widget(titles(top, colours), title);
    draw_body(frame, body, top, colours);
    draw_foot(frame, foot, top, colours);
    if let Some(from) = top.help {
        draw_help(frame, top, from, colours);
    }
    hide_unsafe(frame);
}

/// Replaces what could control the terminal, whichever widget drew it.
fn hide_unsafe(frame: &mut Frame) {
    for cell in &mut frame.buffer_mut().content {
        if cell.symbol().contains(is_unsafe) {
            cell.set_symbol("\u{fffd}");
        }
    }
}

/// One line with text at both ends; where they overlap, the left one is cut.
fn both_ends<'l>(left: Line<'l>, right: Line<'l>, area: Rect) -> Line<'l> {
    let room = usize::from(area.width).saturating_sub(right.width());
    let mut spans = Vec::new();
    let mut used = 0;
    for span in left.spans {
        if used + span.width() > room {
            break;
        }
        used += span.width();
        spans.push(span);
    }
    spans.push(Span::raw(" ".repeat(room - used)));
    spans.extend(right.spans);
    Line::from(spans)
}

fn tabs<'l>(top: &Top, colours: Colours) -> Line<'l> {
    let mut spans = vec![Span::styled("tenure ", BOLD)];
    for (nth, (view, name)) in VIEWS.iter().enumerate() {
        let label = format!(" {} {name} ", nth + 1);
        spans.push(Span::styled(label, tab_style(*view == top.view(), colours)));
    }
    Line::from(spans)
}

/// The style of a tab that may be the open one.
fn tab_style(is_open: bool, colours: Colours) -> Style {
    if is_open { BOLD.add_modifier(Modifier::REVERSED) } else { colours.faint() }
}

fn connection<'l>(top: &Top, colours: Colours) -> Line<'l> {
    let server = top.server.trim_start_matches("http://").trim_start_matches("https://").to_owned();
    let (mark, style) = match &top.connection {
        _ if top.paused => ("‖ paused".to_owned(), colours.of(Color::Yellow)),
        Connection::Connecting => ("○ connecting".to_owned(), colours.faint()),
        Connection::Live => ("● live".to_owned(), colours.of(Color::Green)),
        Connection::Lost { since, .. } => {
            let since = since.to_string();
            (format!("○ disconnected since {}", since.get(11..19).unwrap_or_default()), colours.bad())
        }
    };
    let server = Span::styled(server, colours.faint());
    Line::from(vec![Span::raw(" "), server, Span::styled(format!("  {mark}"), style)])
}

/// The title of the page, its filter, and the number of rows.
fn titles<'l>(top: &Top, colours: Colours) -> Line<'l> {
    let pane = top.pane();
    let mut spans = vec![Span::styled(title(&pane.page), BOLD)];
    spans.extend(pane.subject.iter().flat_map(|subject| state(subject, colours)));
    if !pane.filter.is_empty() {
        spans.push(Span::styled(format!("  /{}", pane.filter), colours.of(Color::Cyan)));
    }
    match &pane.body {
        Body::Rows(rows) if pane.loaded => {
            let more = if rows.more { "+" } else { "" };
            spans.push(Span::styled(format!("  {}{more}", rows.shown.len()), colours.faint()));
            if !rows.marks.is_empty() {
                spans.push(Span::styled(format!("  {} marked", rows.marks.len()), colours.of(Color::Yellow)));
            }
            if rows.newer > 0 {
                spans.push(Span::styled(format!("  {} newer (n)", rows.newer), colours.of(Color::Green)));
            }
        }
        Body::Text(text) if matches!(pane.page, PaneKind::Log(_)) => {
            let follows = if text.is_following() { "  following" } else { "  scrolled back (G follows)" };
            spans.push(Span::styled(follows, colours.faint()));
        }
        Body::Map(map) => {
            let about = map.lifecycle.iter().map(|it| format!("  {} v{}: {}", it.name, it.version, it.about));
            spans.extend(about.map(|about| Span::styled(about, colours.faint())));
        }
        Body::Rows(_) | Body::Text(_) => {}
    }
    if let Connection::Lost { message, .. } = &top.connection {
        spans.push(Span::styled(format!("  {}", crate::show::plain(message)), colours.bad()));
    }
    Line::from(spans)
}

fn title(page: &PaneKind) -> String {
    match page {
        PaneKind::View(View::Map) => "Lifecycles".to_owned(),
        PaneKind::View(View::Jobs) => "Jobs".to_owned(),
        PaneKind::View(View::Dead) => "Dead letters".to_owned(),
        PaneKind::View(View::Workers) => "Workers".to_owned(),
        PaneKind::View(View::Log) => "Journal".to_owned(),
        PaneKind::View(View::Queues) => "Queues".to_owned(),
        PaneKind::Job(job) => format!("Job {}", short(job)),
        PaneKind::Explain(job) => format!("Job {}: why is it here?", short(job)),
        PaneKind::History(job) => format!("Job {}: history", short(job)),
        PaneKind::Log(job) => format!("Job {}: log", short(job)),
    }
}

fn state<'l>(subject: &Subject, colours: Colours) -> [Span<'l>; 2] {
    let word = format!("  {} {}", symbol(subject.phase), subject.state);
    [Span::raw(format!("  {}", subject.job_type)), Span::styled(word, colours.phase(subject.phase))]
}

fn draw_body(frame: &mut Frame, area: Rect, top: &Top, colours: Colours) {
    let pane = top.pane();
    if let Some(message) = &pane.refusal {
        let lines: Vec<Line> = message.lines().map(|line| Line::styled(line, colours.bad())).collect();
        frame.render_widget(Paragraph::new(lines).wrap(ratatui::widgets::Wrap { trim: true }), area);
        return;
    }
    match &pane.body {
        Body::Map(map) => map::draw(frame, area, map, colours),
        Body::Rows(rows) if rows.shown.is_empty() => draw_empty(frame, area, pane, colours),
        Body::Rows(rows) => table::draw(frame, area, rows, &headings(&pane.page), colours),
        Body::Text(text) => {
            let shown = text.shown(area.width.into(), area.height.into());
            let lines: Vec<Line> = shown.into_iter().map(Line::raw).collect();
            frame.render_widget(Paragraph::new(lines), area);
        }
    }
}

/// Explains an empty page.
fn draw_empty(frame: &mut Frame, area: Rect, pane: &Pane, colours: Colours) {
    let message = match &pane.page {
        _ if !pane.loaded => "",
        _ if !pane.filter.is_empty() => "No rows match the filter. Press esc to remove it.",
        PaneKind::View(View::Jobs) => "No jobs yet. Create one with `tenure run TYPE`.",
        PaneKind::View(View::Dead) => "No dead letters.",
        PaneKind::View(View::Workers) => "No workers. Start one with `tenure work TYPE -- COMMAND`.",
        PaneKind::View(View::Log) => "No recent events. New events appear here.",
        _ => "Nothing yet.",
    };
    frame.render_widget(Paragraph::new(Line::styled(message, colours.faint())), area);
}

fn draw_foot(frame: &mut Frame, area: Rect, top: &Top, colours: Colours) {
    let line = if let Some(prompt) = &top.prompt {
        let mut spans = vec![Span::styled(format!("{}{}", prompt.sign, prompt.text), BOLD), Span::raw("▏")];
        spans.push(match &prompt.flaw {
            Some(flaw) => Span::styled(format!("  {flaw}"), colours.bad()),
            None if prompt.sign == '/' => {
                Span::styled("  state:failed type:image, or words", colours.faint())
            }
            None => {
                let names = VIEWS.map(|(_, name)| name).join(" ");
                Span::styled(format!("  {names}"), colours.faint())
            }
        });
        Line::from(spans)
    } else if let Some(action) = &top.question {
        let keys = Span::styled(format!("  {}", action.keys()), BOLD);
        Line::from(vec![Span::styled(action.question(), colours.bad()), keys])
    } else if let Some(note) = &top.note {
        Line::styled(crate::show::plain(note), BOLD)
    } else {
        footer(top, area.width.into(), colours)
    };
    frame.render_widget(line, area);
}

/// As many keys as fit; help and quit always.
fn footer<'l>(top: &Top, width: usize, colours: Colours) -> Line<'l> {
    let spans_of = |key: &keys::Key| {
        [Span::styled(key.label, BOLD), Span::styled(format!(" {}  ", key.short), colours.faint())]
    };
    let shown = keys::of(&top.pane().page).filter(|key| !key.short.is_empty());
    let (last, others): (Vec<_>, Vec<_>) = shown.partition(|key| matches!(key.label, "?" | "q"));
    let last: Vec<Span> = last.into_iter().flat_map(spans_of).collect();
    let mut room = width.saturating_sub(last.iter().map(Span::width).sum());
    let mut spans = Vec::new();
    for pair in others.into_iter().map(spans_of) {
        let wide: usize = pair.iter().map(Span::width).sum();
        if wide > room {
            break;
        }
        room -= wide;
        spans.extend(pair);
    }
    spans.extend(last);
    Line::from(spans)
}

fn draw_help(frame: &mut Frame, top: &Top, from: u16, colours: Colours) {
    let line = |key: &'static keys::Key| {
        let label = format!("{:>10}  ", key.label);
        Line::from(vec![Span::styled(label, BOLD), Span::styled(key.long, colours.faint())])
    };
    let lines: Vec<Line> = keys::of(&top.pane().page).map(line).collect();
    let [area] = Layout::horizontal([Max(72)]).flex(Flex::Center).areas(frame.area());
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let [area] = Layout::vertical([Max(height)]).flex(Flex::Center).areas(area);
    let hidden = height.saturating_sub(area.height);
    let title = if hidden > from { " Keys (↓ for more) " } else { " Keys " };
    frame.render_widget(Clear, area);
    let text = Paragraph::new(lines).block(Block::bordered().title(title)).scroll((from.min(hidden), 0));
    frame.render_widget(text, area);
}
