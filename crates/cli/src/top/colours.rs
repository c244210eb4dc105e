//! How states look: a word, a sign and a colour, so that no one of them is needed to tell states apart.

use ratatui::style::{Color, Modifier, Style};
use serde_json::Value;
use tenure_core::lifecycle::{Outcome, Phase};

/// Whether there are colours; there are signs and words in any case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Colours {
    shown: bool,
}

impl Colours {
    /// As `NO_COLOR` says (set, and not empty: no colour).
    pub(super) fn of_environment() -> Self {
        Self { shown: std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) }
    }

    #[cfg(test)]
    pub(super) fn all() -> Self {
        Self { shown: true }
    }

    #[cfg(test)]
    pub(super) fn none() -> Self {
        Self { shown: false }
    }

    /// A colour where there are colours.
    pub(super) fn of(self, colour: Color) -> Style {
        if self.shown { Style::new().fg(colour) } else { Style::new() }
    }

    /// What matters less.
    pub(super) fn faint(self) -> Style {
        if self.shown { Style::new().fg(Color::DarkGray) } else { Style::new().add_modifier(Modifier::DIM) }
    }

    /// What somebody should look at.
    pub(super) fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// A state by its role.
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

/// A job's phase, if it says one.
pub(super) fn phase_of(job: &Value) -> Option<Phase> {
    Phase::parse(job["phase"].as_str()?, job["outcome"].as_str())
}
