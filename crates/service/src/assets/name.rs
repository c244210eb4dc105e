//! What an object is called: `user/job/asset/name`. The ids are ours; what a caller chose is never taken for a path.

use std::fmt::Write as _;

use tenure_core::asset::AssetId;
use tenure_core::id::{JobId, Name, UserId};

/// Bytes of a file name. A file system's 255, less what is put behind it while it is written.
pub const NAME_BYTES_MAX: usize = 240;
/// Bytes of the part that tells whose it is.
const USER_BYTES_MAX: usize = 64;

/// Why a text is no file name; `None` if it is one.
pub fn flaw(name: &str) -> Option<String> {
    if name.is_empty() || encoded(name).len() > NAME_BYTES_MAX {
        return Some(format!("must have 1 to {NAME_BYTES_MAX} bytes"));
    }
    if name.contains(|c: char| c.is_control() || matches!(c, '/' | '\\')) || name == "." || name == ".." {
        return Some("must be a file's name: no path, no control characters".to_owned());
    }
    None
}

/// `#` and what it is written with, which the folder needs for itself.
fn encoded(name: &str) -> String {
    name.replace('%', "%25").replace('#', "%23")
}

/// Where an object is.
pub fn storage_path(user: Option<&UserId>, job: JobId, asset: AssetId, name: &str) -> String {
    format!("{}/{job}/{asset}/{}", user_part(user), encoded(name))
}

/// Recognizable, and no more: the ids tell objects apart.
fn user_part(user: Option<&UserId>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._@+-".contains(c) { c } else { '_' };
    let part: String = user.map_or("", Name::as_str).chars().take(USER_BYTES_MAX).map(plain).collect();
    if part.trim_matches('.').is_empty() { "_".to_owned() } else { part }
}

/// The file name at the end of an object's path.
pub fn name_of(storage_path: &str) -> String {
    let last = storage_path.rsplit('/').next().unwrap_or_default();
    last.replace("%23", "#").replace("%25", "%")
}

/// For a browser: to be saved, never shown, under this name.
pub fn disposition(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() && !"\"\\;%".contains(c) { c } else { '_' };
    let fallback: String = name.chars().map(plain).collect();
    let mut exact = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            exact.push(char::from(byte));
        } else {
            write!(exact, "%{byte:02X}").expect("a string takes everything");
        }
    }
    format!("attachment; filename=\"{fallback}\"; filename*=UTF-8''{exact}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_lead_elsewhere_are_refused() {
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        let bad = ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "..\\x", "a\0b", "a\nb", "a\u{7f}"];
        for name in bad.into_iter().chain([long.as_str()]) {
            assert!(flaw(name).is_some(), "{name:?}");
        }
        for name in ["a", "a.png", "...", "a b.txt", "ü.txt", "C:", "a#1", "100%.txt", "-rf", "~", "con"] {
            assert_eq!(flaw(name), None, "{name:?}");
        }
    }

    #[test]
    fn a_path_keeps_the_name_and_never_more_of_the_user_than_fits() {
        let id = uuid::Uuid::nil();
        let path = |user: Option<&str>, name: &str| {
            storage_path(user.map(Into::into).as_ref(), JobId(id), AssetId(id), name)
        };
        for name in ["a.png", "a#1", "100%23.txt", "ü.txt", "a%b#c"] {
            assert_eq!(name_of(&path(Some("ann"), name)), name);
        }
        for (user, part) in [
            (Some("ann@example.org"), "ann@example.org"),
            (Some("../../etc"), ".._.._etc"),
            (Some(".."), "_"),
            (Some("ü/ü"), "___"),
            (None, "_"),
        ] {
            assert_eq!(path(user, "x"), format!("{part}/{id}/{id}/x"));
        }
        assert!(path(Some(&"u".repeat(255)), "x").len() < 200);
    }

    #[test]
    fn a_name_does_not_break_out_of_its_header() {
        assert_eq!(disposition("a.png"), "attachment; filename=\"a.png\"; filename*=UTF-8''a.png");
        assert_eq!(
            disposition("ü\"; x=\"<.html"),
            "attachment; filename=\"____x=_<.html\"; filename*=UTF-8''%C3%BC%22%3B%20x%3D%22%3C.html"
        );
    }
}
