//! Whole screens.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn check(it: &Driven, expected: &Expect) {
    expected.assert_eq(&it.screen());
}

#[test]
fn jobs_stay_still_under_the_cursor() {
    let mut it = driven(View::Jobs, "type:thumbnail", (100, 9));
    it.hears(jobs(&[(4, "running"), (3, "queued"), (2, "failed"), (1, "succeeded")]));
    it.press("j j").tell(Message::Beat);
    it.hears(jobs(&[(6, "queued"), (5, "queued"), (4, "succeeded"), (2, "failed"), (1, "succeeded")]));
    check(&it, &expect![[""]]);
}

#[test]
fn the_map_has_a_picture_and_numbers() {
    let mut it = driven(View::Map, "", (120, 40));
    it.hears(the_map("distributed")).press("↓↓");
    check(&it, &expect![[""]]);
}

#[test]
fn a_narrow_map_shows_what_is_around_the_cursor() {
    let mut it = driven(View::Map, "", (80, 24));
    it.hears(the_map("engine")).press("↓↓↓");
    check(&it, &expect![[""]]);
}

#[test]
fn a_tiny_map_is_its_table() {
    let mut it = driven(View::Map, "", (40, 10));
    it.hears(the_map("distributed"));
    check(&it, &expect![[""]]);
}

#[test]
fn a_job_is_told_with_its_reasons() {
    let mut it = driven(View::Jobs, "", (80, 24));
    it.hears(jobs(&[(1, "failed")])).press("j\n");
    let why = json!({
        "job_id": id(1), "type": "thumbnail", "state": "failed", "phase": "final", "since": ago(3),
        "waiting_for": [{ "what": "nothing", "detail": "it is over, failed: UPSTREAM_TIMEOUT: no answer in 300 ms" }],
        "clocks": [], "next": [],
    });
    let mut failed = job(1, "failed");
    failed["created_at"] = json!(null);
    it.hears(json!({ "job": failed, "explain": why }));
    check(&it, &expect![[""]]);
}

#[test]
fn a_log_is_followed_until_somebody_reads() {
    let mut it = driven(View::Jobs, "", (60, 7));
    it.hears(jobs(&[(1, "running")])).press("jl");
    let line = |n: u32| json!({ "n": n, "ts": "2026-11-16T12:30:45.000Z", "stream": "stdout", "text": format!("line {n}") });
    it.hears(json!({ "lines": (1..=6).map(line).collect::<Vec<_>>(), "next_cursor": "6" }))
        .tell(Message::Beat);
    assert_eq!(*it.asked(), Ask::Log { job: id(1), after: Some("6".to_owned()) });
    it.hears(json!({ "lines": [line(7)], "next_cursor": "7" }));
    check(&it, &expect![[""]]);
    it.press("↑").tell(Message::Beat);
    it.hears(json!({ "lines": [line(8)], "next_cursor": "8" }));
    check(&it, &expect![[""]]);
}

#[test]
fn dead_letters_workers_and_the_journal_are_rows() {
    let mut it = driven(View::Dead, "", (90, 6));
    let error = json!({ "text": "BAD_INPUT: no such file" });
    it.hears(json!({ "dead_letters": [{
        "job_id": id(1), "reason_code": "exhausted_retries", "stage": "exec", "attempts": 5, "created_at": ago(60),
        "last_error": error,
    }] }));
    check(&it, &expect![[""]]);
    it.press("4").hears(json!({ "workers": [
        { "name": "w1", "seen_at": ago(5), "holds": [{ "job_id": id(1) }] }, { "name": "w2", "seen_at": ago(9), "holds": [] },
    ] }));
    check(&it, &expect![[""]]);
    let event = |seq: u32, kind: &str, from: Option<&str>, to: &str| {
        json!({
            "id": seq.to_string(), "job_id": id(1), "seq": seq, "type": kind, "from": from, "to": to,
            "ts": "2026-11-16T12:30:45.123Z", "actor": "worker:w1",
        })
    };
    let events =
        [event(1, "job_queued", None, "queued"), event(2, "job_claimed", Some("queued"), "assigned")];
    it.press("5").hears(json!({ "events": events, "next_cursor": "2" }));
    check(&it, &expect![[""]]);
}

#[test]
fn a_server_that_is_away_a_refusal_and_an_empty_page_are_sentences() {
    let mut it = driven(View::Jobs, "", (90, 5));
    it.hears(jobs(&[(1, "queued")])).tell(Message::Beat);
    it.refused("the server cannot be reached: connection refused", true);
    check(&it, &expect![[""]]);
    it.press("4").refused("forbidden: the role producer may not do this", false);
    check(&it, &expect![[""]]);
    it.press("3p").hears(json!({ "dead_letters": [] }));
    check(&it, &expect![[""]]);
}

#[test]
fn what_is_typed_is_below_with_what_is_wrong_with_it() {
    let mut it = driven(View::Jobs, "", (90, 4));
    it.hears(jobs(&[])).press("/stat:failed");
    check(&it, &expect![[""]]);
    it.press("\n");
    check(&it, &expect![[""]]);
    it.press("\x1b:");
    check(&it, &expect![[""]]);
}

#[test]
fn the_help_has_the_keys_that_work_here() {
    let mut it = driven(View::Jobs, "", (80, 32));
    it.hears(jobs(&[(1, "failed")])).press("?");
    check(&it, &expect![[""]]);
}
