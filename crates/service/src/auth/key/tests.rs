//! The form of keys, and which texts are not keys.

use std::collections::HashSet;

use super::*;

#[test]
fn an_issued_key_is_parsed() {
    let issued = IssuedKey::random();
    let presented = PresentedKey::parse(issued.text.reveal()).unwrap();
    assert_eq!(presented.id, issued.id);
    assert!(is_same_digest(&issued.digest, &presented.digest));
}

#[test]
fn the_form_is_the_documented_one() {
    let issued = IssuedKey::random();
    let parts: Vec<&str> = issued.text.reveal().split('_').collect();
    assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [2, 12, 64, 8]);
    assert_eq!((parts[0], parts[1]), ("tn", issued.id.as_str()));
    assert!(issued.text.reveal().chars().all(|letter| matches!(letter, '0'..='9' | 'a'..='z' | '_')));
}

#[test]
fn keys_are_unique() {
    let issued: Vec<IssuedKey> = (0..200).map(|_| IssuedKey::random()).collect();
    assert_eq!(issued.iter().map(|key| &key.id).collect::<HashSet<_>>().len(), 200);
    assert_eq!(issued.iter().map(|key| key.digest).collect::<HashSet<_>>().len(), 200);
}

#[test]
fn every_changed_character_fails_the_check() {
    let text = IssuedKey::random().text.reveal().to_string();
    for at in 0..text.len() {
        let other = if text.as_bytes()[at] == b'7' { "8" } else { "7" };
        let mistyped = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        assert_eq!(PresentedKey::parse(&mistyped), None, "{at}");
    }
}

#[test]
fn other_texts_are_not_parsed() {
    let text = IssuedKey::random().text.reveal().to_string();
    let (body, _) = text.rsplit_once('_').unwrap();
    let checked = |body: &str| format!("{body}_{}", check_of(body));
    let invalid = [
        String::new(),
        "_".into(),
        "tn___".into(),
        "tn_é_é_é".into(),
        body.into(),
        text.to_uppercase(),
        format!(" {text}"),
        format!("{text}\n"),
        text[..text.len() - 1].into(),
        checked("tn_0123456789ab_"),
        checked("tn_0123456789ab_00"),
        checked(&format!("tn_0123456789ab_{}", "é".repeat(32))),
        checked(&format!("tn_0123456789ab_{}", "F".repeat(64))),
        checked(&format!("tn_0123456789ab_{}", "f".repeat(65))),
        checked(&format!("tn_0123456789a!_{}", "f".repeat(64))),
        checked(&format!("xx_0123456789ab_{}", "f".repeat(64))),
        "a".repeat(1 << 20),
    ];
    for text in invalid {
        assert_eq!(PresentedKey::parse(&text), None, "{text:.100}");
    }
}

#[test]
fn debug_output_hides_the_key() {
    let issued = IssuedKey::random();
    let printed = format!("{issued:?}");
    let secret = issued.text.reveal().split('_').nth(2).unwrap();
    assert!(printed.contains("KeyText(hidden)") && !printed.contains(secret), "{printed}");
}

#[test]
fn another_secret_has_another_digest() {
    let (one, other) = (IssuedKey::random(), IssuedKey::random());
    assert!(!is_same_digest(&one.digest, &other.digest));
    let mut nearly = one.digest;
    nearly[31] ^= 1;
    assert!(!is_same_digest(&one.digest, &nearly));
}
