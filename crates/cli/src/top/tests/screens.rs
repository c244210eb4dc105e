//! Whole screens.

use expect_test::{ExpectFile, expect_file};
use serde_json::json;

use super::*;

fn check(it: &Driven, expected: &ExpectFile) {
    expected.assert_eq(&it.screen());
}

#[test]
fn rows_keep_their_places_while_one_is_selected() {
    let mut it = driven(View::Jobs, "type:thumbnail", (100, 9));
    it.answer(jobs(&[(4, "running"), (3, "queued"), (2, "failed"), (1, "succeeded")]));
    it.press("j j").send(Message::Tick);
    it.answer(jobs(&[(6, "queued"), (5, "queued"), (4, "succeeded"), (2, "failed"), (1, "succeeded")]));
    check(&it, &expect_file!["screens/selected_row.txt"]);
}

#[test]
fn the_lifecycle_view_has_a_diagram_and_numbers() {
    let mut it = driven(View::Map, "", (120, 40));
    it.answer(map_of("distributed")).press("↓↓");
    check(&it, &expect_file!["screens/lifecycles.txt"]);
}

#[test]
fn a_narrow_diagram_shows_the_selected_state() {
    let mut it = driven(View::Map, "", (80, 24));
    it.answer(map_of("engine")).press("↓↓↓");
    check(&it, &expect_file!["screens/lifecycles_narrow.txt"]);
}

#[test]
fn a_tiny_lifecycle_view_is_a_table() {
    let mut it = driven(View::Map, "", (40, 10));
    it.answer(map_of("distributed"));
    check(&it, &expect_file!["screens/lifecycles_tiny.txt"]);
}

#[test]
fn a_job_is_shown_with_its_explanation() {
    let mut it = driven(View::Jobs, "", (80, 24));
    it.answer(jobs(&[(1, "failed")])).press("j\n");
    let why = json!({
        "job_id": id(1), "type": "thumbnail", "state": "failed", "phase": "final", "since": ago(3),
        "waiting_for": [{ "what": "nothing", "detail": "finished: failed (UPSTREAM_TIMEOUT: no answer in 300 ms)" }],
        "clocks": [], "next": [], "try": ["tenure job events 01990c3a-7d01", "tenure job retry 01990c3a-7d01"],
    });
    let mut failed = job(1, "failed");
    failed["created_at"] = json!("");
    it.answer(json!({ "job": failed, "explain": why }));
    check(&it, &expect_file!["screens/job.txt"]);
}

#[test]
fn a_log_is_followed_until_it_is_scrolled_back() {
    let mut it = driven(View::Jobs, "", (60, 7));
    it.answer(jobs(&[(1, "running")])).press("jl");
    let line = |n: u32| json!({ "n": n, "ts": "2026-11-16T12:30:45.000Z", "stream": "stdout", "text": format!("line {n}") });
    it.answer(json!({ "lines": (1..=6).map(line).collect::<Vec<_>>(), "next_cursor": "6" }))
        .send(Message::Tick);
    assert_eq!(*it.request(), request(PaneKind::Log(id(1)), "", Some("6")));
    it.answer(json!({ "lines": [line(7)], "next_cursor": "7" }));
    check(&it, &expect_file!["screens/log_following.txt"]);
    it.press("↑").send(Message::Tick);
    it.answer(json!({ "lines": [line(8)], "next_cursor": "8" }));
    check(&it, &expect_file!["screens/log_scrolled_back.txt"]);
}

#[test]
fn dead_letters_workers_and_the_journal_are_rows() {
    let mut it = driven(View::Dead, "", (90, 6));
    let error = json!({ "text": "BAD_INPUT: no such file" });
    it.answer(json!({ "dead_letters": [{
        "job_id": id(1), "type": "thumbnail", "reason_code": "exhausted_retries", "stage": "exec", "attempts": 5, "created_at": ago(60),
        "last_error": error,
    }] }));
    check(&it, &expect_file!["screens/dead_letters.txt"]);
    it.press("4").answer(json!({ "workers": [
        { "name": "w1", "status": "online", "seen_at": ago(5), "holds": [{ "job_id": id(1) }] }, { "name": "w2", "status": "lost", "seen_at": ago(9), "holds": [] },
    ] }));
    check(&it, &expect_file!["screens/workers.txt"]);
    let event = |seq: u32, kind: &str, from: Option<&str>, to: &str| {
        json!({
            "id": seq.to_string(), "job_id": id(1), "seq": seq, "type": kind, "from": from, "to": to,
            "ts": "2026-11-16T12:30:45.123Z", "actor": "worker:w1",
        })
    };
    let events =
        [event(1, "job_queued", None, "queued"), event(2, "job_claimed", Some("queued"), "assigned")];
    it.press("5").answer(json!({ "events": events, "next_cursor": "2" }));
    check(&it, &expect_file!["screens/journal.txt"]);
}

#[test]
fn queues_are_rows_and_open_their_jobs() {
    let mut it = driven(View::Queues, "", (100, 6));
    let queue = |name: &str, ready: u32| {
        json!({
            "name": name, "paused": false, "ready": ready, "running": 2, "waiting": 1, "oldest_ready": ago(12),
            "in_per_minute": 120.0, "out_per_minute": 118.5, "drains_in_ms": 3_600_000,
        })
    };
    let mut held = queue("mail", 7);
    (held["paused"], held["drains_in_ms"], held["out_per_minute"]) = (json!(true), json!(null), json!(0.0));
    (held["paused_by"], held["paused_since"]) = (json!("operator:ann"), json!(ago(5)));
    it.answer(json!({ "stats": { "queues": [queue("default", 1204), held] } }));
    check(&it, &expect_file!["screens/queues.txt"]);
    it.press("j\n");
    assert_eq!(*it.request(), request(PaneKind::View(View::Jobs), "queue:default", None));
}

#[test]
fn failures_and_empty_pages_have_messages() {
    let mut it = driven(View::Jobs, "", (90, 5));
    it.answer(jobs(&[(1, "queued")])).send(Message::Tick);
    it.fail("the server cannot be reached: connection refused", true);
    check(&it, &expect_file!["screens/disconnected.txt"]);
    it.press("4").fail("forbidden: the role producer may not do this", false);
    check(&it, &expect_file!["screens/refused.txt"]);
    it.press("3p").answer(json!({ "dead_letters": [] }));
    check(&it, &expect_file!["screens/empty.txt"]);
}

#[test]
fn matters_that_do_not_fit_are_counted() {
    let mut it = driven(View::Map, "", (100, 24));
    let mut answer = map_of("distributed");
    let matters: Vec<_> =
        (1..=6).map(|n| json!({ "what": "webhook", "text": format!("matter {n}") })).collect();
    answer["stats"]["attention"] = json!(matters);
    it.answer(answer);
    let screen = it.screen();
    assert!(screen.contains("! matter 3\n  +3 more") && !screen.contains("matter 4"), "{screen}");
}

#[test]
fn the_prompt_shows_what_is_wrong() {
    let mut it = driven(View::Jobs, "", (90, 4));
    it.answer(jobs(&[])).press("/stat:failed");
    check(&it, &expect_file!["screens/prompt_filter.txt"]);
    it.press("\n");
    check(&it, &expect_file!["screens/prompt_flaw.txt"]);
    it.press("\x1b:");
    check(&it, &expect_file!["screens/prompt_view.txt"]);
}

#[test]
fn the_help_lists_the_keys_of_the_page() {
    let mut it = driven(View::Jobs, "", (80, 32));
    it.answer(jobs(&[(1, "failed")])).press("?");
    check(&it, &expect_file!["screens/help.txt"]);
    let mut small = driven(View::Map, "", (60, 10));
    small.press("?↓↓↓↓");
    check(&small, &expect_file!["screens/help_small.txt"]);
    small.press("x");
    assert!(!small.screen().contains("Keys"));
}

#[test]
fn no_screen_has_characters_that_control_the_terminal() {
    let hostile = "a\u{9b}31m\u{202e}b\u{2066}c\u{200b}";
    let mut it = driven(View::Jobs, "", (80, 24));
    let mut failed = job(1, "failed");
    (failed["type"], failed["state"]) = (json!(hostile), json!(hostile));
    it.answer(json!({ "jobs": [failed], "next_cursor": null }));
    it.press("j");
    let screen = it.screen();
    assert!(!screen.contains(|letter| letter != '\n' && tenure_core::text::is_unsafe(letter)), "{screen:?}");
    assert!(screen.contains(r"a\u{9b}31m\u{202e}b\u{2066}c"), "{screen}");
}
