//! Translation in both directions, with the built-in lifecycle APIs and invented ones.

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure_core::lifecycle::Lifecycle;

use super::{FieldNames, UNKNOWN};

fn field_names(fields: &[(&str, &str)]) -> FieldNames {
    let owned = |(field, name): &(&str, &str)| ((*field).to_owned(), (*name).to_owned());
    FieldNames::new(&fields.iter().map(owned).collect::<Vec<_>>())
}

fn built_in(name: &str) -> FieldNames {
    let lifecycle = Lifecycle::built_in().into_iter().find(|it| it.name == name).unwrap();
    FieldNames::new(&lifecycle.api.unwrap().fields)
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn translated(names: &FieldNames, canonical: &str) -> String {
    names.job(&raw(canonical)).get().to_owned()
}

fn canonical(names: &FieldNames, sent: &str, takes: &[&str]) -> String {
    names.canonical(&raw(sent), takes).get().to_owned()
}

/// Runs the cases of one section of `cases.txt`.
fn check(section: &str) {
    let (_, cases) = include_str!("cases.txt").split_once(&format!("## {section}\n")).unwrap();
    let (mut api, mut takes, mut made) = (FieldNames::default(), Vec::new(), String::new());
    for line in cases.lines().take_while(|line| !line.is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap();
        match word {
            "api" => api = api_of(rest),
            "takes" => takes = rest.split(' ').collect(),
            "job" => made = translated(&api, rest),
            "sent" => made = canonical(&api, rest, &takes),
            "is" => assert_eq!(made, rest.replace("UNKNOWN", &UNKNOWN.to_string())),
            _ => assert_eq!(word, "#", "{line}"),
        }
    }
}

/// A built-in API by its lifecycle, or one with these fields.
fn api_of(text: &str) -> FieldNames {
    let fields: Option<Vec<_>> = text.split(' ').map(|field| field.split_once('=')).collect();
    fields.map_or_else(|| built_in(text), |fields| field_names(&fields))
}

#[test]
fn a_job_has_the_names_of_the_api_in_the_canonical_order() {
    check("a_job_has_the_names_of_the_api_in_the_canonical_order");
}

#[test]
fn a_part_and_its_whole_both_appear() {
    check("a_part_and_its_whole_both_appear");
}

#[test]
fn a_name_that_is_given_away_is_the_other_thing() {
    check("a_name_that_is_given_away_is_the_other_thing");
}

#[test]
fn what_is_no_object_stays_as_it_is() {
    check("what_is_no_object_stays_as_it_is");
}

#[test]
fn a_request_is_canonical() {
    check("a_request_is_canonical");
}

#[test]
fn a_part_beside_its_whole_is_unknown() {
    check("a_part_beside_its_whole_is_unknown");
}

#[test]
fn a_canonical_name_that_was_renamed_is_unknown() {
    check("a_canonical_name_that_was_renamed_is_unknown");
    let api = built_in("engine");
    assert_eq!(api.pointer(&format!("#/{UNKNOWN}type")), "#/type");
    let detail = format!("unknown field `{UNKNOWN}type`, expected one of `type`, `payload`, `user_id`");
    assert_eq!(api.detail(&detail), "unknown field `type`, expected one of `jobType`, `payload`, `userId`");
}

#[test]
fn an_error_s_text_is_its_code_and_its_message() {
    check("an_error_s_text_is_its_code_and_its_message");
    assert_eq!(built_in("pattern").pointer("#/error/text"), "#/error_message");
}

#[test]
fn an_event_carries_the_fields_that_it_names() {
    let api = built_in("engine");
    let job = raw(r#"{"id":"a","worker":"w","entered":{},"error":{"text":"BAD: m"},"duration_ms":5}"#);
    let fields = ["id", "worker", "entered.failed", "error.text", "duration_ms", "seq", "lease.fence"];
    let picked = api.pick(&job, &fields.map(str::to_owned));
    assert_eq!(
        picked.get(),
        r#"{"jobId":"a","engineId":"w","failedAt":null,"error":"BAD: m","duration":5,"seq":null,"lease.fence":null}"#
    );
}

#[test]
fn pointers_have_the_names_of_the_api() {
    let api = field_names(&[
        ("payload", "request"),
        ("payload.size.w", "w/h"),
        ("state", "status"),
        ("run_at", "runAt"),
    ]);
    for (canonical, here) in [
        ("#", "#"),
        ("#/payload", "#/request"),
        ("#/payload/prompt/0", "#/request/prompt/0"),
        ("#/payload/state", "#/request/state"),
        ("#/payload/size/w/0", "#/w~1h/0"),
        ("#/queue", "#/queue"),
        ("?state", "?status"),
        ("#/filter/state", "#/filter/status"),
    ] {
        assert_eq!(api.pointer(canonical), here);
    }
    assert_eq!(api.detail("run_at and delay exclude each other"), "runAt and delay exclude each other");
    assert_eq!(api.detail("the state of things, expected `state`"), "the state of things, expected `state`");
    assert_eq!(api.detail("missing field `state`"), "missing field `status`");
    assert_eq!(api.canonical_name("status", &["state"]), "state");
    assert_eq!(api.canonical_name("limit", &["state"]), "limit");
}

const FIELDS: [&str; 6] = ["id", "type", "payload", "result", "user_id", "worker"];

/// Any JSON, with numbers that no float can hold.
fn any_json() -> impl Strategy<Value = String> {
    let number = prop_oneof!["-?[1-9][0-9]{0,40}", "[1-9]\\.[0-9]{1,30}", "[1-9]e[1-9][0-9]{2}"];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        number,
        any::<String>().prop_map(|text| Value::from(text).to_string()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::btree_map(any::<String>(), inner, 0..4).prop_map(|members| {
                let one = |(key, value): (String, String)| format!("{}:{value}", Value::from(key));
                format!("{{{}}}", members.into_iter().map(one).collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn there_and_back_nothing_is_lost(
        values in prop::collection::vec(any_json(), FIELDS.len()),
        names in prop::collection::hash_set("[a-zA-Z~/\" ]{1,8}", FIELDS.len()),
        named in prop::collection::vec(any::<bool>(), FIELDS.len()),
    ) {
        prop_assume!(names.iter().all(|name| !FIELDS.contains(&name.as_str())));
        let fields: Vec<(String, String)> = FIELDS.iter().zip(names).zip(named).filter(|(_, named)| *named)
            .map(|((field, name), _)| ((*field).to_owned(), name)).collect();
        let api = FieldNames::new(&fields);
        let one = |(field, value): (&&str, &String)| format!("{}:{value}", json!(field));
        let members: Vec<String> = FIELDS.iter().zip(&values).map(one).collect();
        let whole = format!("{{{}}}", members.join(","));
        let here = translated(&api, &whole);
        for (field, name) in &fields {
            let members = super::members(serde_json::from_str(&here).unwrap()).unwrap();
            prop_assert!(members.iter().any(|(member, _)| member == name));
            prop_assert!(members.iter().all(|(member, _)| member != field));
        }
        prop_assert_eq!(canonical(&api, &here, &FIELDS), whole);
    }
}
