//! Words about what someone wrote.

pub(super) use tenure_core::words::{did_you_mean, list};

/// A text that someone wrote, fit for one line: passwords hidden, control characters escaped, a long rest left out.
pub(super) fn shown(text: &str) -> String {
    let hidden = super::secret::hide(text);
    let escape = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    let escaped: String = hidden.chars().take(60).map(escape).collect();
    if hidden.chars().nth(60).is_some() { format!("{escaped}…") } else { escaped }
}
