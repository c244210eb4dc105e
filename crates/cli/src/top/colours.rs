//! How states look: each has a word, a symbol and a colour, so that none of them is needed to tell states apart.

use ratatui::style::{Color, Modifier, Style};
use tenure_core::lifecycle::{Outcome, Phase};

/// Whether colours are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Colours {
    pub(super) shown: bool,
}

impl Colours {
    /// No colours if `NO_COLOR` is set and not empty.
    pub(super) fn of_environment() -> Self {
        Self { shown: std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) }
    }

    pub(super) fn of(self, colour: Color) -> Style {
        if self.shown { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn faint(self) -> Style {
        if self.shown { Style::new().fg(Color::DarkGray) } else { Style::new().add_modifier(Modifier::DIM) }
    }

    /// For problems.
    pub(super) fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn phase(self, phase: Phase) -> Style {
        match phase {
            Phase::Ready => self.of(Color::Blue),
            Phase::Held => self.of(Color::Cyan),
            Phase::Active => self.of(Color::Yellow),
            Phase::Waiting => self.of(Color::Magenta),
            Phase::Final(Outcome::Succeeded) => self.of(Color::Green),
            Phase::Final(Outcome::Partial) => self.of(Color::LightYellow),
            Phase::Final(Outcome::Failed | Outcome::Dead) => self.of(Color::Red),
            Phase::Final(Outcome::Cancelled | Outcome::Rejected) => self.faint(),
        }
    }
}
