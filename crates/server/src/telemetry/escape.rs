//! Text of unknown origin as part of a line: whatever could end the line, move the cursor, change the direction of
//! reading or hide is written as an escape.

use std::fmt::{self, Write};

/// A value longer than this is cut: a line must stay one that can be read.
pub(super) const VALUE_BYTES_MAX: usize = 8 * 1024;

/// Whether this must not reach a terminal or a file of lines as it is.
pub(super) fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}')
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
}

/// Passes text on with every unsafe letter escaped as Rust would write it, up to the bound.
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
        for letter in text.chars() {
            if self.left == 0 {
                return Ok(());
            }
            self.left = self.left.saturating_sub(letter.len_utf8());
            if is_unsafe(letter) {
                write!(self.out, "{}", letter.escape_default())?;
            } else {
                self.out.write_char(letter)?;
            }
            if self.left == 0 {
                self.out.write_char('…')?;
            }
        }
        Ok(())
    }
}
