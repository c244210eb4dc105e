//! Text of users in messages.

pub(crate) use tenure_core::text::{did_you_mean, list};

use crate::secret::hide;

const CHARS_MAX: usize = 60;

/// The text on one line: passwords hidden, control characters escaped, cut after 60 characters.
pub(crate) fn printable(text: &str) -> String {
    let hidden = hide(text);
    let escape = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    let escaped: String = hidden.chars().take(CHARS_MAX).map(escape).collect();
    if hidden.chars().nth(CHARS_MAX).is_some() { format!("{escaped}…") } else { escaped }
}

/// `did you mean …?`, or all known names.
pub(crate) fn suggestion(name: &str, known: &[&str]) -> String {
    match did_you_mean(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("available: {}", list(known)),
    }
}
