//! Texts as words of a command line: what a page or an answer tells people to type does what it says, whatever a name has
//! in it.

/// One word of a POSIX shell: as it is where it is plain, quoted where it is not.
pub fn shell_quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+=,".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_is_a_command() {
        for plain in ["index", "image.generate", "a/b:c@d+e=f,g_1"] {
            assert_eq!(shell_quote(plain), plain);
        }
        assert_eq!(shell_quote("two words; rm -rf ~"), "'two words; rm -rf ~'");
        assert_eq!(shell_quote("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_quote(""), "''");
        assert_eq!(shell_quote("--all"), "'--all'");
    }
}
