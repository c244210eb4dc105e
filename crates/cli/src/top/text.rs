//! Scrollable text: a job, its explanation, its log. Long lines are wrapped at the edge of the screen.

use ratatui::text::Span;

use super::rows::Move;

/// Log lines that are kept.
const LINES_MAX: usize = 5000;

#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    pub(super) lines: Vec<String>,
    /// The first line on the screen, counted after wrapping; `None` follows the end.
    at: Option<usize>,
}

impl Text {
    /// Shown from the beginning.
    pub(super) fn new() -> Self {
        Self { lines: Vec::new(), at: Some(0) }
    }

    /// Shown at its end as it grows.
    pub(super) fn following() -> Self {
        Self::default()
    }

    pub(super) fn is_following(&self) -> bool {
        self.at.is_none()
    }

    /// Appends lines and drops the oldest ones beyond the limit.
    pub(super) fn extend(&mut self, lines: impl IntoIterator<Item = String>) {
        self.lines.extend(lines);
        let over = self.lines.len().saturating_sub(LINES_MAX);
        self.lines.drain(..over);
    }

    pub(super) fn step(&mut self, to: Move, (width, height): (usize, usize)) {
        let (end, page) = (self.end(width, height), height.max(2) - 1);
        let at = self.at.unwrap_or(end).min(end);
        let at = match to {
            Move::Up => at.saturating_sub(1),
            Move::Down => at + 1,
            Move::PageUp => at.saturating_sub(page),
            Move::PageDown => at + page,
            Move::First => 0,
            Move::Last => end,
        };
        // At the end, text that grows is followed.
        self.at = Some(at).filter(|at| *at < end);
    }

    /// The lines on the screen.
    pub(super) fn shown(&self, width: usize, height: usize) -> Vec<String> {
        let at = self.at.unwrap_or(usize::MAX).min(self.end(width, height));
        self.wrapped(width).skip(at).take(height).collect()
    }

    fn end(&self, width: usize, height: usize) -> usize {
        self.wrapped(width).count().saturating_sub(height)
    }

    fn wrapped(&self, width: usize) -> impl Iterator<Item = String> {
        self.lines.iter().flat_map(move |line| wrap(line, width.max(1)))
    }
}

fn wrap(line: &str, width: usize) -> Vec<String> {
    if line.len() <= width {
        return vec![line.to_owned()];
    }
    let (mut parts, mut room) = (vec![String::new()], width);
    for letter in line.chars() {
        let wide = if letter.is_ascii() { 1 } else { Span::raw(letter.to_string()).width() };
        if wide > room {
            parts.push(String::new());
            room = width;
        }
        room = room.saturating_sub(wide);
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_and_the_end_is_followed() {
        let mut text = Text::following();
        text.extend(["one".to_owned(), "twothree".to_owned(), "日本語".to_owned()]);
        assert_eq!(text.shown(5, 9), ["one", "twoth", "ree", "日本", "語"]);
        assert_eq!(text.shown(5, 2), ["日本", "語"]);
        text.step(Move::Up, (5, 2));
        text.extend(["four".to_owned()]);
        assert_eq!(text.shown(5, 2), ["ree", "日本"]);
        text.step(Move::Last, (5, 2));
        text.extend(["five".to_owned()]);
        assert_eq!(text.shown(5, 2), ["four", "five"]);
        assert_eq!(text.shown(0, 1), ["e"]);
    }
}
