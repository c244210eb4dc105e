//! Text helpers: escapes for terminals and logs, thousands separators, spelling suggestions, and lists.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character could end a line, move the cursor of a terminal, change the text direction or be invisible.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{61c}' | '\u{180e}')
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// Text for a terminal: unsafe characters are escaped as in Rust, except line breaks and tabs.
pub fn escaped(text: &str) -> Cow<'_, str> {
    replace_unsafe(text, |character, to| to.extend(character.escape_default()))
}

/// JSON for a terminal: unsafe characters in its strings are escaped as in JSON. A valid text has others than line breaks
/// and tabs nowhere else.
pub fn escaped_json(text: &str) -> Cow<'_, str> {
    replace_unsafe(text, |character, to| {
        // All of them are in the basic plane: one code unit each.
        let _ = write!(to, "\\u{:04x}", u32::from(character));
    })
}

fn replace_unsafe(text: &str, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    let is_replaced = |character: char| !matches!(character, '\n' | '\t') && is_unsafe(character);
    if !text.contains(is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut to = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        if is_replaced(character) {
            escape(character, &mut to);
        } else {
            to.push(character);
        }
    }
    Cow::Owned(to)
}

/// A number with thousands separators: `1,204`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The candidate closest to `word`, if it is close enough. The threshold grows with the length.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= (word.chars().count().max(candidate.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance with insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // A much longer name is not a misspelling, and the table below is quadratic.
    if a.len().abs_diff(b.len()) > a.len().min(b.len()) {
        return usize::MAX;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        rows[i][0] = i;
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

/// `a, b and c`.
pub fn list<S: AsRef<str>>(words: &[S]) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// The type of a TOML value as messages name it.
pub fn toml_type(value: &toml::de::DeValue<'_>) -> &'static str {
    use toml::de::DeValue;
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that would control a terminal or be invisible.
    const HOSTILE: &str = "a\u{1b}[2J\u{9b}31m\u{85}b\u{202e}c\u{2066}d\u{200b}e\u{7f}";

    #[test]
    fn unsafe_characters_are_escaped_and_others_kept() {
        assert_eq!(escaped(HOSTILE), r"a\u{1b}[2J\u{9b}31m\u{85}b\u{202e}c\u{2066}d\u{200b}e\u{7f}");
        for text in ["", "a\tb\nc", "größer → 日本語 🎉 مرحبا"] {
            assert_eq!(escaped(text), text);
            assert_eq!(escaped_json(text), text);
        }
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let json = serde_json::to_string(&[HOSTILE]).unwrap();
        let escaped = escaped_json(&json);
        assert!(!escaped.contains(is_unsafe), "{escaped:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&escaped).unwrap(), [HOSTILE]);
    }

    #[test]
    fn slips_are_found_and_other_words_are_not() {
        let states = ["queued", "running", "failed", "in_review"];
        for (word, meant) in [
            ("runing", Some("running")),
            ("qeueud", Some("queued")),
            ("RUNNING", Some("running")),
            ("inreview", Some("in_review")),
            ("done", None),
            ("", None),
            ("a", None),
        ] {
            assert_eq!(did_you_mean(word, states), meant, "{word}");
        }
        assert_eq!(did_you_mean("rol", ["role", "outcome"]), Some("role"));
        assert_eq!(did_you_mean("retires", ["retry"]), None);
    }
}
