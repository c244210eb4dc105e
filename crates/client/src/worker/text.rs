//! Texts made fit for the protocol, which refuses what is too long and U+0000.

/// An error's message, a reason, a message of progress.
pub(super) const MESSAGE_BYTES_MAX: usize = 16 << 10;
/// A code or another name.
pub(super) const NAME_BYTES_MAX: usize = 255;
/// A line of a log.
pub(super) const LINE_BYTES_MAX: usize = 64 << 10;

/// The beginning of a text, of at most this many bytes.
pub(super) fn cut(text: &str, bytes_max: usize) -> String {
    clean(&text[..text.floor_char_boundary(bytes_max)])
}

/// A text in pieces of at most this many bytes; an empty one is one piece.
pub(super) fn pieces(mut text: &str, bytes_max: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    while text.len() > bytes_max {
        let (piece, rest) = text.split_at(text.floor_char_boundary(bytes_max));
        pieces.push(clean(piece));
        text = rest;
    }
    pieces.push(clean(text));
    pieces
}

fn clean(text: &str) -> String {
    // One letter for another of three bytes could make it longer than allowed; a question mark does not.
    text.replace('\0', "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!(cut("grün", 3), "gr");
        assert_eq!(cut("a\0b", 9), "a?b");
        assert_eq!(pieces("grün", 3), ["gr", "ün"]);
        assert_eq!(pieces("", 3), [""]);
    }
}
