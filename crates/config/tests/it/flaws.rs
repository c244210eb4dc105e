//! What is reported about a flawed configuration file.

use std::fs;

use crate::fixture::{Fixture, check};

#[test]
fn unknown_keys_are_reported_with_a_suggestion() {
    check("unknown_keys");
}

#[test]
fn invalid_values_are_reported_together() {
    check("invalid_values");
    check("invalid_urls");
}

#[test]
fn unknown_keywords_are_reported() {
    check("unknown_keywords");
    check("jwt");
    check("tls");
}

#[test]
fn values_out_of_range_are_reported() {
    check("values_out_of_range");
    check("body_smaller_than_payload");
}

#[test]
fn tables_of_the_wrong_type_and_incomplete_tables_are_reported() {
    check("tables_of_wrong_type");
    check("incomplete_tables");
}

#[test]
fn flaws_of_unique_keys_are_reported() {
    check("unique");
}

#[test]
fn a_syntax_error_is_the_only_flaw() {
    check("syntax_error");
    check("duplicate_key");
    let fixture = Fixture::empty();
    fs::write(fixture.path("tenure.toml"), [0xff, 0xfe]).unwrap();
    fixture.check_error("not_utf8");
}

#[test]
fn webhook_settings_are_loaded() {
    let fixture = Fixture::new(
        "[limits]\ncreations_per_second = 7\n[webhooks]\nallow = [\"10.0.0.0/8\", \"::1\"]\nretry = []\n",
    );
    let config = fixture.loaded().config;
    assert_eq!(config.limits.creations_per_second, Some(7));
    assert_eq!((config.webhooks.allow.len(), config.webhooks.retry.len()), (2, 0));
    assert_eq!(fixture.setting("webhooks.allow").0, "10.0.0.0/8, ::1/128");
    check("webhooks");
}
