//! How the model looks: two lines above, the body, a line below. Nothing is remembered here.

mod map;
mod table;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use serde_json::Value;

use super::colours::{Colours, phase_of};
use super::keys;
use super::leaf::{Body, Leaf, titled};
use super::model::{Live, Page, Top, VIEWS};
use crate::args::View;
use crate::show::text;

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame, top: &Top, colours: Colours) {
    let [head, title, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(both_ends(tabs(top, colours), live(top, colours), head), head);
    frame.render_widget(titles(top, colours), title);
    draw_body(frame, body, top, colours);
    draw_foot(frame, foot, top, colours);
    if let Some(from) = top.help {
        draw_help(frame, (top, from), colours);
    }
}

/// One line from both ends; where they would meet, the right one stays whole.
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
        let is_here = *view == top.view();
        spans.push(Span::styled(
            label,
            if is_here { BOLD.add_modifier(Modifier::REVERSED) } else { colours.faint() },
        ));
    }
    Line::from(spans)
}

fn live<'l>(top: &Top, colours: Colours) -> Line<'l> {
    let server = top.server.trim_start_matches("http://").trim_start_matches("https://").to_owned();
    let (mark, style) = match &top.live {
        _ if top.paused => ("‖ paused".to_owned(), colours.of(Color::Yellow)),
        Live::Unheard => ("○ asking".to_owned(), colours.faint()),
        Live::Now => ("● live".to_owned(), colours.of(Color::Green)),
        Live::Away(since, _) => {
            let since = since.to_string();
            (format!("○ not live since {}", since.get(11..19).unwrap_or_default()), colours.bad())
        }
    };
    Line::from(vec![
        Span::raw(" "),
        Span::styled(server, colours.faint()),
        Span::styled(format!("  {mark}"), style),
    ])
}

/// What is shown, which of it, and what is not shown yet.
fn titles<'l>(top: &Top, colours: Colours) -> Line<'l> {
    let leaf = top.leaf();
    let mut spans = vec![Span::styled(titled_page(&leaf.page), BOLD)];
    spans.extend(state(&leaf.subject, colours));
    if !leaf.filter.is_empty() {
        spans.push(Span::styled(format!("  /{}", leaf.filter), colours.of(Color::Cyan)));
    }
    match &leaf.body {
        Body::Rows(rows) if leaf.heard => {
            let more = if rows.more { "+" } else { "" };
            spans.push(Span::styled(format!("  {}{more}", rows.shown.len()), colours.faint()));
            if !rows.marks.is_empty() {
                spans.push(Span::styled(format!("  {} marked", rows.marks.len()), colours.of(Color::Yellow)));
            }
            if rows.newer > 0 {
                spans.push(Span::styled(format!("  {} newer: n", rows.newer), colours.of(Color::Green)));
            }
        }
        Body::Text(text) if matches!(leaf.page, Page::Log(_)) => {
            let follows = if text.is_following() { "  follows" } else { "  held: G follows" };
            spans.push(Span::styled(follows, colours.faint()));
        }
        Body::Map(map) => {
            let about =
                map.lifecycle.as_ref().map(|it| format!("  {} v{}: {}", it.name, it.version, it.about));
            spans.push(Span::styled(about.unwrap_or_default(), colours.faint()));
        }
        Body::Rows(_) | Body::Text(_) => {}
    }
    if let Live::Away(_, why) = &top.live {
        spans.push(Span::styled(format!("  {}", crate::show::plain(why)), colours.bad()));
    }
    Line::from(spans)
}

fn titled_page(page: &Page) -> String {
    match page {
        Page::View(View::Map) => "Map".to_owned(),
        Page::View(View::Jobs) => "Jobs".to_owned(),
        Page::View(View::Dead) => "Dead letters".to_owned(),
        Page::View(View::Workers) => "Workers".to_owned(),
        Page::View(View::Log) => "Journal".to_owned(),
        Page::Job(job) => titled(job),
        Page::Explain(job) => format!("why {} is where it is", titled(job)),
        Page::History(job) => format!("history of {}", titled(job)),
        Page::Log(job) => format!("log of {}", titled(job)),
    }
}

/// A job's type and state.
fn state<'l>(job: &Value, colours: Colours) -> Vec<Span<'l>> {
    let Some(phase) = phase_of(job) else { return Vec::new() };
    let word = format!("  {} {}", phase.sign(), text(&job["state"]));
    vec![Span::raw(format!("  {}", text(&job["type"]))), Span::styled(word, colours.phase(phase))]
}

fn draw_body(frame: &mut Frame, area: Rect, top: &Top, colours: Colours) {
    let leaf = top.leaf();
    if let Some(sentence) = &leaf.refused {
        let lines: Vec<Line> = sentence.lines().map(|line| Line::styled(line, colours.bad())).collect();
        frame.render_widget(Paragraph::new(lines).wrap(ratatui::widgets::Wrap { trim: true }), area);
        return;
    }
    match &leaf.body {
        Body::Map(map) => map::draw(frame, area, map, colours),
        Body::Rows(rows) if rows.shown.is_empty() => draw_empty(frame, area, leaf, colours),
        Body::Rows(rows) => table::draw(frame, area, (rows, super::leaf::list(&leaf.page)), colours),
        Body::Text(text) => {
            let shown = text.shown(area.width.into(), area.height.into());
            let lines: Vec<Line> = shown.into_iter().map(Line::raw).collect();
            frame.render_widget(Paragraph::new(lines), area);
        }
    }
}

/// Why there is nothing, and what would change that.
fn draw_empty(frame: &mut Frame, area: Rect, leaf: &Leaf, colours: Colours) {
    let sentence = match &leaf.page {
        _ if !leaf.heard => "",
        _ if !leaf.filter.is_empty() => "Nothing matches the filter; esc removes it.",
        Page::View(View::Jobs) => "No jobs yet: `tenure run TYPE` makes one.",
        Page::View(View::Dead) => "No dead letters: no job was given up.",
        Page::View(View::Workers) => "No worker was heard: `tenure work TYPE -- COMMAND` is one.",
        Page::View(View::Log) => "Nothing happened lately; what happens appears here.",
        _ => "Nothing yet.",
    };
    frame.render_widget(Paragraph::new(Line::styled(sentence, colours.faint())), area);
}

fn draw_foot(frame: &mut Frame, area: Rect, top: &Top, colours: Colours) {
    let line = if let Some(prompt) = &top.prompt {
        let mut spans = vec![Span::styled(format!("{}{}", prompt.sign, prompt.text), BOLD), Span::raw("▏")];
        let hint = if prompt.sign == '/' {
            "  state:failed type:image, or words"
        } else {
            "  map jobs dead workers log"
        };
        spans.push(match &prompt.flaw {
            Some(flaw) => Span::styled(format!("  {flaw}"), colours.bad()),
            None => Span::styled(hint, colours.faint()),
        });
        Line::from(spans)
    } else if let Some(act) = &top.question {
        let (question, keys) = act.question();
        Line::from(vec![Span::styled(question, colours.bad()), Span::styled(format!("  {keys}"), BOLD)])
    } else if let Some(note) = &top.note {
        Line::styled(crate::show::plain(note), BOLD)
    } else {
        footer(top, area.width.into(), colours)
    };
    frame.render_widget(line, area);
}

/// As many keys as fit; the way to the others, and out, always.
fn footer<'l>(top: &Top, width: usize, colours: Colours) -> Line<'l> {
    let said = |key: &keys::Key| {
        [Span::styled(key.label, BOLD), Span::styled(format!(" {}  ", key.short), colours.faint())]
    };
    let shown = keys::of(&top.leaf().page).filter(|key| !key.short.is_empty());
    let (last, others): (Vec<_>, Vec<_>) = shown.partition(|key| matches!(key.label, "?" | "q"));
    let last: Vec<Span> = last.into_iter().flat_map(said).collect();
    let mut room = width.saturating_sub(last.iter().map(Span::width).sum());
    let mut spans = Vec::new();
    for pair in others.into_iter().map(said) {
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

fn draw_help(frame: &mut Frame, (top, from): (&Top, u16), colours: Colours) {
    let lines: Vec<Line> = keys::of(&top.leaf().page)
        .map(|key| {
            let label = format!("{:>10}  ", key.label);
            Line::from(vec![Span::styled(label, BOLD), Span::styled(key.long, colours.faint())])
        })
        .collect();
    let [area] =
        Layout::horizontal([Constraint::Max(72)]).flex(ratatui::layout::Flex::Center).areas(frame.area());
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let [area] = Layout::vertical([Constraint::Max(height)]).flex(ratatui::layout::Flex::Center).areas(area);
    let hidden = height.saturating_sub(area.height);
    let title = if hidden > from { " keys that work here: ↓ for more " } else { " keys that work here " };
    frame.render_widget(Clear, area);
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title(title)).scroll((from.min(hidden), 0)),
        area,
    );
}
