//! Escapes characters that could end a log line, move the cursor, change the text direction or be invisible.

use std::fmt::{self, Write};

use tenure_core::text::is_unsafe;

/// Longer values are cut.
pub(super) const VALUE_BYTES_MAX: usize = 8 * 1024;

/// Writes text with unsafe characters escaped as in Rust, up to the limit.
pub(super) struct Escaped<'a> {
    out: &'a mut dyn Write,
    left: usize,
}

impl<'a> Escaped<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, left: VALUE_BYTES_MAX }
    }
}

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if self.left == 0 {
                return Ok(());
            }
            self.left = self.left.saturating_sub(character.len_utf8());
            if is_unsafe(character) {
                write!(self.out, "{}", character.escape_default())?;
            } else {
                self.out.write_char(character)?;
            }
            if self.left == 0 {
                self.out.write_char('…')?;
            }
        }
        Ok(())
    }
}
