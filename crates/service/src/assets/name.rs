//! Storage paths of asset contents: `user/job/asset/name`. Text from callers is never used as a path.

use tenure_core::asset::AssetId;

use crate::links::encode;
use crate::prelude::*;

/// Bytes of a file name: a file system's 255, less the suffix of a file that is being written.
pub const NAME_BYTES_MAX: usize = 240;
const USER_BYTES_MAX: usize = 64;

/// Why a text is not a valid file name, if it is not.
pub fn flaw(name: &str) -> Option<String> {
    if name.is_empty() || escape(name).len() > NAME_BYTES_MAX {
        return Some(format!("must have 1 to {NAME_BYTES_MAX} bytes"));
    }
    if name.contains(|c: char| c.is_control() || matches!(c, '/' | '\\')) || name == "." || name == ".." {
        return Some("must be a file name without path separators and control characters".to_owned());
    }
    None
}

/// Characters with a meaning for the local object store: `#`, and `:` and `|`, which make a drive letter of `C:`. `%`
/// comes first, because it begins the others' escapes.
const ESCAPES: [(char, &str); 4] = [('%', "%25"), ('#', "%23"), (':', "%3A"), ('|', "%7C")];

fn escape(name: &str) -> String {
    ESCAPES.iter().fold(name.to_owned(), |name, (from, to)| name.replace(*from, to))
}

pub fn storage_path(user: Option<&UserId>, job: JobId, asset: AssetId, name: &str) -> String {
    format!("{}/{job}/{asset}/{}", user_part(user), escape(name))
}

/// For readability only: the ids make the path unique.
fn user_part(user: Option<&UserId>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._@+-".contains(c) { c } else { '_' };
    let part: String = user.map_or("", UserId::as_str).chars().take(USER_BYTES_MAX).map(plain).collect();
    if part.trim_matches('.').is_empty() { "_".to_owned() } else { part }
}

/// The file name at the end of a storage path.
pub fn file_name(storage_path: &str) -> String {
    let last = storage_path.rsplit('/').next().unwrap_or_default();
    ESCAPES.iter().rev().fold(last.to_owned(), |name, (to, from)| name.replace(from, &to.to_string()))
}

/// Makes a browser save the content under this name.
pub fn content_disposition(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() && !"\"\\;%".contains(c) { c } else { '_' };
    let fallback: String = name.chars().map(plain).collect();
    format!("attachment; filename=\"{fallback}\"; filename*=UTF-8''{}", encode(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_path_parts_are_refused() {
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
    fn a_path_keeps_the_name_and_a_bounded_part_of_the_user() {
        let id = uuid::Uuid::nil();
        let path = |user: Option<&str>, name: &str| {
            storage_path(user.map(Into::into).as_ref(), JobId(id), AssetId(id), name)
        };
        for name in ["a.png", "a#1", "100%23.txt", "ü.txt", "a%b#c", "C:", "c|", "%3A", "12:30.txt"] {
            assert_eq!(file_name(&path(Some("ann"), name)), name);
        }
        assert_eq!(file_name("ann/1/2/12:30.txt"), "12:30.txt", "paths of earlier versions are not escaped");
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
    fn a_name_cannot_inject_header_parameters() {
        assert_eq!(content_disposition("a.png"), "attachment; filename=\"a.png\"; filename*=UTF-8''a.png");
        assert_eq!(
            content_disposition("ü\"; x=\"<.html"),
            "attachment; filename=\"____x=_<.html\"; filename*=UTF-8''%C3%BC%22%3B%20x%3D%22%3C.html"
        );
    }
}
