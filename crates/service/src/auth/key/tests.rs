//! Keys: their form, what is kept of them, and what is not one.

use std::collections::HashSet;

use super::*;

#[test]
fn what_was_issued_is_recognised() {
    let issued = Issued::new();
    let presented = Presented::parse(issued.text.reveal()).unwrap();
    assert_eq!(presented.id, issued.id);
    assert!(same(&issued.digest, &presented.digest));
}

#[test]
fn the_form_is_the_one_that_scanners_look_for() {
    let issued = Issued::new();
    let parts: Vec<&str> = issued.text.reveal().split('_').collect();
    assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [2, 12, 64, 8]);
    assert_eq!((parts[0], parts[1]), ("tn", issued.id.as_str()));
    assert!(issued.text.reveal().chars().all(|letter| matches!(letter, '0'..='9' | 'a'..='z' | '_')));
}

#[test]
fn no_two_keys_are_alike() {
    let issued: Vec<Issued> = (0..200).map(|_| Issued::new()).collect();
    assert_eq!(issued.iter().map(|key| &key.id).collect::<HashSet<_>>().len(), 200);
    assert_eq!(issued.iter().map(|key| key.digest).collect::<HashSet<_>>().len(), 200);
}

#[test]
fn every_changed_character_is_noticed_offline() {
    let text = Issued::new().text.reveal().to_string();
    for at in 0..text.len() {
        let other = if text.as_bytes()[at] == b'7' { "8" } else { "7" };
        let mistyped = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        assert_eq!(Presented::parse(&mistyped), None, "{at}");
    }
}

#[test]
fn what_is_not_a_key_is_not_parsed() {
    let text = Issued::new().text.reveal().to_string();
    let (body, _) = text.rsplit_once('_').unwrap();
    let checked = |body: &str| format!("{body}_{}", check_of(body));
    let flawed = [
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
    for text in flawed {
        assert_eq!(Presented::parse(&text), None, "{text:.100}");
    }
}

#[test]
fn printing_a_key_does_not_show_it() {
    let issued = Issued::new();
    let printed = format!("{issued:?}");
    let secret = issued.text.reveal().split('_').nth(2).unwrap();
    assert!(printed.contains("Secret(hidden)") && !printed.contains(secret), "{printed}");
}

#[test]
fn another_secret_under_the_same_id_is_not_the_same() {
    let (one, other) = (Issued::new(), Issued::new());
    assert!(!same(&one.digest, &other.digest));
    let mut nearly = one.digest;
    nearly[31] ^= 1;
    assert!(!same(&one.digest, &nearly));
}
