//! The digest of a JSON text: its parts in canonical order, keys sorted and numbers as written. One pass finds the parts, and
//! each part is hashed once.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// Where a key or value is in the text.
#[derive(Clone, Copy)]
struct Part {
    begin: u32,
    /// The end in the text; for an object or array, the number of the part that follows it.
    end: u32,
}

/// The member `without` of the outermost object is left out.
pub(super) fn digest(text: &str, without: Option<&str>) -> [u8; 32] {
    let (mut hash, parts) = (Sha256::new(), parts_of(text));
    PartWalk { text, parts: &parts, without }.visit(0, &mut |part| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    });
    hash.finalize().into()
}

/// The keys and values of a valid text, in its order.
fn parts_of(text: &str) -> Vec<Part> {
    let offset = |at: usize| u32::try_from(at).expect("a body has at most 1 GiB");
    let (mut parts, mut open, mut at) = (Vec::new(), Vec::new(), 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let begin = at;
        at += 1;
        match bytes[begin] {
            b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => continue,
            b'}' | b']' => {
                let opened: usize = open.pop().expect("a Json is valid JSON");
                let end = offset(parts.len());
                let container: &mut Part = &mut parts[opened];
                container.end = end;
                continue;
            }
            b'{' | b'[' => open.push(parts.len()),
            b'"' => {
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            _ => {
                let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
                at += bytes[at..].iter().position(is_end).unwrap_or(bytes.len() - at);
            }
        }
        parts.push(Part { begin: offset(begin), end: offset(at) });
    }
    parts
}

struct PartWalk<'t> {
    text: &'t str,
    parts: &'t [Part],
    without: Option<&'t str>,
}

impl<'t> PartWalk<'t> {
    fn first_byte(&self, index: usize) -> u8 {
        self.text.as_bytes()[self.parts[index].begin as usize]
    }

    /// The number of the part that follows a value.
    fn after(&self, index: usize) -> usize {
        match self.first_byte(index) {
            b'{' | b'[' => self.parts[index].end as usize,
            _ => index + 1,
        }
    }

    fn raw(&self, index: usize) -> &'t str {
        let Part { begin, end } = self.parts[index];
        &self.text[begin as usize..end as usize]
    }

    fn string(&self, index: usize) -> Cow<'t, str> {
        let raw = self.raw(index);
        if raw.contains('\\') {
            Cow::Owned(serde_json::from_str(raw).expect("a Json is valid JSON"))
        } else {
            Cow::Borrowed(&raw[1..raw.len() - 1])
        }
    }

    /// Visits a value in canonical order. Recursive: a Json is at most 64 levels deep.
    fn visit(&self, index: usize, to: &mut impl FnMut(&[u8])) {
        let (mut next, end) = (index + 1, self.after(index));
        match self.first_byte(index) {
            b'{' => {
                let mut members = Vec::new();
                while next < end {
                    members.push((self.string(next), next + 1));
                    next = self.after(next + 1);
                }
                if index == 0 {
                    members.retain(|(key, _)| self.without != Some(&**key));
                }
                members.sort_unstable();
                to(b"{");
                for (key, value) in members {
                    to(key.as_bytes());
                    self.visit(value, to);
                }
                to(b"}");
            }
            b'[' => {
                to(b"[");
                while next < end {
                    self.visit(next, to);
                    next = self.after(next);
                }
                to(b"]");
            }
            b'"' => {
                to(b"\"");
                to(self.string(index).as_bytes());
            }
            _ => to(self.raw(index).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        let mut parts = Vec::new();
        let found = parts_of(text);
        PartWalk { text, parts: &found, without: None }
            .visit(0, &mut |part| parts.push(String::from_utf8_lossy(part).into_owned()));
        parts.join(" ")
    }

    #[test]
    fn parts_are_visited_in_canonical_order() {
        for (text, expected) in [
            (" 1.50 ", "1.50"),
            ("[]", "[ ]"),
            (r#"{"b":[1 , {"z":null,"a":"x y"}],"a":{}}"#, r#"{ a { } b [ 1 { a " x y z null } ] }"#),
            (r#"["\u0061\"]","b"]"#, r#"[ " a"] " b ]"#),
            (r#"{"\u0062":1,"a":"\\"}"#, "{ a \" \\ b 1 }"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    /// Stores have digests of earlier requests.
    #[test]
    fn a_digest_does_not_change_between_versions() {
        let found = digest(r#"{"b":[true,"x",{"d":"\u00e9","c":1.0}],"a":null}"#, None);
        let found = found.chunks(16).map(|part| u128::from_be_bytes(part.try_into().unwrap()));
        let expected = [0xef52_cc19_394c_8f9e_9677_43f0_078c_bdb8, 0x9d3b_8ee5_7078_7e58_23f7_0259_8a7b_33f3];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
