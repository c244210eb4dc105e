//! Hides passwords in settings, messages, quoted lines and `Debug` output.

use std::fmt;

const HIDDEN: &str = "***";

/// A database URL that prints without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The URL with its password, for connecting.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hide(&self.0))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

/// Hides the password of each URL and the value of each parameter with a secret. Errs towards hiding too much: a quoted
/// line may be malformed in any way.
pub(crate) fn hide(text: &str) -> String {
    hide_parameters(&hide_user_infos(text))
}

/// `scheme://user:password@`: from the first colon to the last `@` before the closing quote. Without a colon, the user of
/// a database has a name, and any other is a token.
fn hide_user_infos(text: &str) -> String {
    let mut hidden = String::new();
    let mut rest = text;
    while let Some(slashes) = rest.find("://") {
        let (before, after) = rest.split_at(slashes + 3);
        hidden.push_str(before);
        let end = match quote_before(&before[..slashes]) {
            Some(quote) => after.find(quote).unwrap_or(after.len()),
            None => after.len(),
        };
        let url = &after[..end];
        let is_database = ["postgres", "postgresql"].iter().any(|scheme| before[..slashes].ends_with(scheme));
        let shown = match url.rfind('@').map(|at| url.split_at(at)) {
            Some((user, host)) => match user.find(':') {
                Some(colon) => format!("{}{HIDDEN}{host}", &user[..=colon]),
                None if is_database => url.to_owned(),
                None => format!("{HIDDEN}{host}"),
            },
            None => url.to_owned(),
        };
        hidden.push_str(&shown);
        rest = &after[end..];
    }
    hidden + rest
}

/// The quote before a URL's scheme.
fn quote_before(before: &str) -> Option<char> {
    let scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    before.trim_end_matches(scheme).chars().next_back().filter(|c| matches!(c, '"' | '\''))
}

/// Words in the names of parameters whose values are secrets.
const SECRET_NAMES: [&str; 6] = ["password", "passwd", "secret", "token", "key", "signature"];

/// `?password=…`, `password=…` and other parameters with a secret.
fn hide_parameters(text: &str) -> String {
    let mut hidden = String::new();
    let mut rest = text;
    while let Some(equals) = rest.find('=') {
        let (before, after) = rest.split_at(equals + 1);
        hidden.push_str(before);
        rest = after;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let name = before[..equals].rsplit(|c| !is_name(c)).next().unwrap_or_default().to_ascii_lowercase();
        if !SECRET_NAMES.iter().any(|word| name.contains(word)) {
            continue;
        }
        let ends = |c: char| c == '&' || c == '"' || c.is_whitespace();
        let end = match after.strip_prefix('\'') {
            Some(quoted) => quoted.find('\'').map_or(after.len(), |end| end + 2),
            None => after.find(ends).unwrap_or(after.len()),
        };
        if end > 0 {
            hidden.push_str(HIDDEN);
        }
        rest = &after[end..];
    }
    hidden + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_in_every_notation() {
        for (text, shown) in [
            ("postgres://ada:s3cret@db:5432/tenure", "postgres://ada:***@db:5432/tenure"),
            ("postgres://ada:p@ss/w:rd@db/tenure", "postgres://ada:***@db/tenure"),
            ("postgres://ada@db/tenure", "postgres://ada@db/tenure"),
            ("postgres://db:5432/tenure", "postgres://db:5432/tenure"),
            (
                "postgres://db/tenure?user=ada&password=s3cret&x=1",
                "postgres://db/tenure?user=ada&password=***&x=1",
            ),
            ("host=db Password='a b' user=ada", "host=db Password=*** user=ada"),
            ("url = \"postgres://a:b'c@d\" # \"x\"", "url = \"postgres://a:***@d\" # \"x\""),
            ("url = \"postgres://a:b c@d", "url = \"postgres://a:***@d"),
            ("url = postgres://a:b@d", "url = postgres://a:***@d"),
            ("\"http://a:b@c\", \"http://d:e@f\"", "\"http://a:***@c\", \"http://d:***@f\""),
            ("s3://AKIA:s3cret@bucket/prefix", "s3://AKIA:***@bucket/prefix"),
            ("https://t0ken@collector:4318/v1", "https://***@collector:4318/v1"),
            ("https://issuer/keys?api_key=s3cret&x=1", "https://issuer/keys?api_key=***&x=1"),
            (
                "https://b/o?X-Amz-Signature=abc&X-Amz-Security-Token=d",
                "https://b/o?X-Amz-Signature=***&X-Amz-Security-Token=***",
            ),
            ("host=db sslpassword=x port=1", "host=db sslpassword=*** port=1"),
            ("nothing = to hide", "nothing = to hide"),
            ("nothing to hide", "nothing to hide"),
        ] {
            assert_eq!(hide(text), shown);
        }
    }

    #[test]
    fn debug_output_of_a_url_hides_its_password() {
        let url = DatabaseUrl::new("postgres://ada:s3cret@db/tenure");
        assert_eq!(format!("{url:?}"), "DatabaseUrl(postgres://ada:***@db/tenure)");
        assert_eq!(url.reveal(), "postgres://ada:s3cret@db/tenure");
    }
}
