//! Whole screens.

#![allow(clippy::needless_raw_string_hashes, reason = "snapshots are written by a tool")]

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
    check(
        &it,
        &expect![[r#"
            tenure  1 map  2 jobs  3 dead  4 workers  5 log                               127.0.0.1:7117  ● live
            Jobs  /type:thumbnail  4  1 marked  2 newer: n
              JOB            TYPE       STATE        ATTEMPT  AGE  IN STATE  ERROR
             ●01990c3a-7d04  thumbnail  ✓ succeeded  1        7m   3m        -
             ~01990c3a-7d03  thumbnail  ◷ queued     1        7m   3m        -
            ▸ 01990c3a-7d02  thumbnail  ✗ failed     1        7m   3m        UPSTREAM_TIMEOUT: no answer in 300
              01990c3a-7d01  thumbnail  ✓ succeeded  1        7m   3m        -

            enter open  e explain  l log  h history  space mark  c cancel  r retry  / filter  ? help  q quit
        "#]],
    );
}

#[test]
fn the_map_has_a_picture_and_numbers() {
    let mut it = driven(View::Map, "", (120, 40));
    it.hears(the_map("distributed")).press("↓↓");
    check(
        &it,
        &expect![[r#"
            tenure  1 map  2 jobs  3 dead  4 workers  5 log                                                   127.0.0.1:7117  ● live
            Map  distributed v1: One owner at a time, on a lease, over a fleet of workers.
             distributed 91,970  engine 0  image 0  pattern 0  so1 0
            ! 5 dead letters, the oldest since 2 h
                  ┌┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┬┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┐
                  ┆                          ┆ lease_expired [retry]    ┆ fail [retry]
                  ┆                          ┆ release                  ┆ lease_expired [retry]
                  ▼                          ┆                          ┆ release
                ┌────────────────┐         ┌─┴──────────────┐         ┌─┴──────────────┐
                │ ◷ queued       │  claim  │ ⚿ assigned     │  start  │ ▶ running      │  succeed  ╔═════════════════════════════╗
            ●──▶│ 1,204          ├────────▶│ 38             ├────────▶│ 212            ├──────────▶║ ✓ succeeded          90,412 ║
                │ oldest 2m      │         │ oldest 3m      │         │ oldest 4m      │           ╚═════════════════════════════╝
                └─┬─┬────────────┘         └─┬─┬────────────┘         └─┬─┬─┬──────────┘
                  │ │                        │ │                        │ │ │ fail                 ╔═════════════════════════════╗
                  │ │                        │ │                        │ │ └─────────────────────▶║ ✗ failed                 87 ║
                  │ │                        │ │                        │ │                        ╚═════════════════════════════╝
                  │ │ cancel                 │ │ cancel                 │ │ cancel                 ╔═════════════════════════════╗
                  │ └────────────────────────┼─┴────────────────────────┼─┴───────────────────────▶║ ⊘ cancelled              12 ║
                  │                          │                          │ fail [exhausted]         ╚═════════════════════════════╝
                  │                          │ lease_expired            │ lease_expired
                  │ dead_letter              │ dead_letter              │ dead_letter              ╔═════════════════════════════╗
                  └──────────────────────────┴──────────────────────────┴─────────────────────────▶║ † dead_lettered           5 ║
                                                                                                   ╚═════════════════════════════╝

              STATE                   JOBS   OLDEST     P95    ARRIVING
              ◷ queued               1,204       2m     28s    +121/min
              ⚿ assigned                38       3m    80ms    +118/min
            ▸ ▶ running                212       4m     41s    +118/min
              ✓ succeeded           90,412        –       –    +116/min
              ✗ failed                  87        –       –    +0.7/min
              ⊘ cancelled               12        –       –           –
              † dead_lettered            5        –       –    +0.7/min







            enter open  → lifecycle  p pause  ? help  q quit
        "#]],
    );
}

#[test]
fn a_narrow_map_shows_what_is_around_the_cursor() {
    let mut it = driven(View::Map, "", (80, 24));
    it.hears(the_map("engine")).press("↓↓↓");
    check(
        &it,
        &expect![[r#"
            tenure  1 map  2 jobs  3 dead  4 workers  5 log           127.0.0.1:7117  ● live
            Map  engine v1: Dispatched to an engine: nothing fails silently, nothing waits f
             distributed 0  engine 91,953  image 0  pattern 0  so1 0
            ! 5 dead letters, the oldest since 2 h
            ──────────────┐         ┌────────────────┐
             dispatched   │  start  │ ▶ running      │  succeed  ╔═════════════════════════╗
            8             ├────────▶│ 212            ├──────────▶║ ✓ completed      90,412 ║
            ldest 3m      │         │ oldest 4m      │           ╚═════════════════════════╝
            ──────────────┘         └─┬──────────────┘
                                      │ fail
             timeout                  │ timeout
             lease_expired            │ lease_expired
             disconnected             │ disconnected             ╔═════════════════════════╗
            ──────────────────────────┴─────────────────────────▶║ ✗ failed             87 ║
                                                                 ╚═════════════════════════╝

              STATE                JOBS   OLDEST     P95    ARRIVING
              ◷ queued            1,204       2m     28s    +120/min
              ⚿ dispatched           38       3m    80ms    +118/min
              ▶ running             212       4m     41s    +118/min
            ▸ ✓ completed        90,412        –       –    +116/min
              ✗ failed               87        –       –    +2.8/min

            enter open  → lifecycle  p pause  ? help  q quit
        "#]],
    );
}

#[test]
fn a_tiny_map_is_its_table() {
    let mut it = driven(View::Map, "", (40, 10));
    it.hears(the_map("distributed"));
    check(
        &it,
        &expect![[r#"
            tenure  1 map     127.0.0.1:7117  ● live
            Map  distributed v1: One owner at a time
             distributed 91,970  engine 0  image 0
            ! 5 dead letters, the oldest since 2 h
              STATE                   JOBS   OLDEST
            ▸ ◷ queued               1,204       2m
              ⚿ assigned                38       3m
              ▶ running                212       4m
              ✓ succeeded           90,412        –
            enter open  ? help  q quit
        "#]],
    );
}

#[test]
fn a_job_is_told_with_its_reasons() {
    let mut it = driven(View::Jobs, "", (80, 24));
    it.hears(jobs(&[(1, "failed")])).press("j\n");
    let why = json!({
        "job_id": id(1), "type": "thumbnail", "state": "failed", "phase": "final", "since": ago(3),
        "waiting_for": [{ "what": "nothing", "detail": "it is over, failed: UPSTREAM_TIMEOUT: no answer in 300 ms" }],
        "clocks": [], "next": [], "try": ["tenure job events 01990c3a-7d01", "tenure job retry 01990c3a-7d01"],
    });
    let mut failed = job(1, "failed");
    failed["created_at"] = json!(null);
    it.hears(json!({ "job": failed, "explain": why }));
    check(
        &it,
        &expect![[r#"
            tenure  1 map  2 jobs  3 dead  4 workers  5 log           127.0.0.1:7117  ● live
            job 01990c3a-7d01  thumbnail  ✗ failed
            job        01990c3a-7d01-7abc-8def-0123456789ab
            type       thumbnail
            lifecycle  distributed v1
            state      failed (failed)
            attempt    1 of 5
            queue      default
            payload    {"width":64}
            error      UPSTREAM_TIMEOUT: no answer in 300 ms

            01990c3a-7d01  thumbnail  failed for 3m
              waiting for   it is over, failed: UPSTREAM_TIMEOUT: no answer in 300 ms
              try           tenure job events 01990c3a-7d01
                            tenure job retry 01990c3a-7d01








            e explain  l log  h history  c cancel  r retry  p pause  ? help  q quit
        "#]],
    );
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
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead         127.0.0.1:7117  ● live
        log of job 01990c3a-7d01  follows
        12:30:45 | line 4
        12:30:45 | line 5
        12:30:45 | line 6
        12:30:45 | line 7
        e explain  l log  h history  c cancel  ? help  q quit
    "#]],
    );
    it.press("↑").tell(Message::Beat);
    it.hears(json!({ "lines": [line(8)], "next_cursor": "8" }));
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead         127.0.0.1:7117  ● live
        log of job 01990c3a-7d01  held: G follows
        12:30:45 | line 3
        12:30:45 | line 4
        12:30:45 | line 5
        12:30:45 | line 6
        e explain  l log  h history  c cancel  ? help  q quit
    "#]],
    );
}

#[test]
fn dead_letters_workers_and_the_journal_are_rows() {
    let mut it = driven(View::Dead, "", (90, 6));
    let error = json!({ "text": "BAD_INPUT: no such file" });
    it.hears(json!({ "dead_letters": [{
        "job_id": id(1), "reason_code": "exhausted_retries", "stage": "exec", "attempts": 5, "created_at": ago(60),
        "last_error": error,
    }] }));
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead  4 workers  5 log                     127.0.0.1:7117  ● live
        Dead letters  1
          JOB            REASON             STAGE  ATTEMPTS  AGE  ERROR
          01990c3a-7d01  exhausted_retries  exec   5         60m  BAD_INPUT: no such file

        enter open  e explain  l log  h history  space mark  r retry  / filter  ? help  q quit
    "#]],
    );
    it.press("4").hears(json!({ "workers": [
        { "name": "w1", "seen_at": ago(5), "holds": [{ "job_id": id(1) }] }, { "name": "w2", "seen_at": ago(9), "holds": [] },
    ] }));
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead  4 workers  5 log                     127.0.0.1:7117  ● live
        Workers  2
          WORKER  SEEN  HOLDS
          w1      5m    1
          w2      9m    0
        enter open  / filter  p pause  ? help  q quit
    "#]],
    );
    let event = |seq: u32, kind: &str, from: Option<&str>, to: &str| {
        json!({
            "id": seq.to_string(), "job_id": id(1), "seq": seq, "type": kind, "from": from, "to": to,
            "ts": "2026-11-16T12:30:45.123Z", "actor": "worker:w1",
        })
    };
    let events =
        [event(1, "job_queued", None, "queued"), event(2, "job_claimed", Some("queued"), "assigned")];
    it.press("5").hears(json!({ "events": events, "next_cursor": "2" }));
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead  4 workers  5 log                     127.0.0.1:7117  ● live
        Journal  2
          TIME          JOB            EVENT        MOVE               ACTOR
          12:30:45.123  01990c3a-7d01  job_claimed  queued → assigned  worker:w1
          12:30:45.123  01990c3a-7d01  job_queued   queued             worker:w1
        enter open  e explain  l log  h history  / filter  p pause  ? help  q quit
    "#]],
    );
}

#[test]
fn a_server_that_is_away_a_refusal_and_an_empty_page_are_sentences() {
    let mut it = driven(View::Jobs, "", (90, 5));
    it.hears(jobs(&[(1, "queued")])).tell(Message::Beat);
    it.refused("the server cannot be reached: connection refused", true);
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead  4 workers  5 log  127.0.0.1:7117  ○ not live since 12:30:45
        Jobs  1  the server cannot be reached: connection refused
          JOB            TYPE       STATE     ATTEMPT  AGE  IN STATE  ERROR
          01990c3a-7d01  thumbnail  ◷ queued  1        7m   3m        -
        enter open  e explain  l log  h history  space mark  c cancel  r retry  ? help  q quit
    "#]],
    );
    it.press("4").refused("forbidden: the role producer may not do this", false);
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead  4 workers  5 log                     127.0.0.1:7117  ● live
        Workers
        forbidden: the role producer may not do this

        enter open  / filter  p pause  ? help  q quit
    "#]],
    );
    it.press("3p").hears(json!({ "dead_letters": [] }));
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead  4 workers  5 log                   127.0.0.1:7117  ‖ paused
        Dead letters  0
        No dead letters: no job was given up.

        enter open  e explain  l log  h history  space mark  r retry  / filter  ? help  q quit
    "#]],
    );
}

#[test]
fn what_is_typed_is_below_with_what_is_wrong_with_it() {
    let mut it = driven(View::Jobs, "", (90, 4));
    it.hears(jobs(&[])).press("/stat:failed");
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead  4 workers  5 log                     127.0.0.1:7117  ● live
        Jobs  0
        No jobs yet: `tenure run TYPE` makes one.
        /stat:failed▏  state:failed type:image, or words
    "#]],
    );
    it.press("\n");
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead  4 workers  5 log                     127.0.0.1:7117  ● live
        Jobs  0
        No jobs yet: `tenure run TYPE` makes one.
        /stat:failed▏  no filter is called "stat" here; there are: state phase outcome lifecycle t
    "#]],
    );
    it.press("\x1b:");
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead  4 workers  5 log                     127.0.0.1:7117  ● live
        Jobs  0
        No jobs yet: `tenure run TYPE` makes one.
        :▏  map jobs dead workers log
    "#]],
    );
}

#[test]
fn the_help_has_the_keys_that_work_here() {
    let mut it = driven(View::Jobs, "", (80, 32));
    it.hears(jobs(&[(1, "failed")])).press("?");
    check(
        &it,
        &expect![[r#"
        tenure  1 map  2 jobs  3 dead  4 workers  5 log           127.0.0.1:7117  ● live
        Jobs  1
          JO┌ keys that work here ─────────────────────────────────────────────────┐
          01│     enter  open what is under the cursor                             │UT:
            │         e  why a job is where it is, and what can happen next        │
            │         l  a job's log                                               │
            │         h  what has happened to a job                                │
            │     space  mark a row, or no longer                                  │
            │         a  mark all rows that are shown, or none                     │
            │         c  cancel what is marked, or under the cursor; asks first    │
            │         r  make new jobs like these; asks first                      │
            │         n  bring rows that are newer                                 │
            │         /  filter: state:failed type:image, or words                 │
            │       ↑ k  up; above the first row the rows follow again             │
            │       ↓ j  down; rows stay still while the cursor is in them         │
            │      pgup  a page up                                                 │
            │      pgdn  a page down                                               │
            │         g  to the beginning                                          │
            │         G  to the end                                                │
            │    1 :map  lifecycles, with the number of jobs in each state         │
            │   2 :jobs  jobs                                                      │
            │   3 :dead  dead letters                                              │
            │4 :workers  workers                                                   │
            │    5 :log  the journal                                               │
            │       tab  the next view                                             │
            │         :  a view by its name                                        │
            │         p  stop asking the server, or go on                          │
            │       esc  back                                                      │
            │         ?  the keys that work here                                   │
            │         q  quit                                                      │
            └──────────────────────────────────────────────────────────────────────┘
        enter open  e explain  l log  h history  space mark  c cancel  ? help  q quit
    "#]],
    );
    let mut small = driven(View::Map, "", (60, 10));
    small.press("?↓↓↓↓");
    check(
        &small,
        &expect![[r#"
        ┌ keys that work here: ↓ for more ─────────────────────────┐
        │       ↓ j  down; rows stay still while the cursor is in t│
        │      pgup  a page up                                     │
        │      pgdn  a page down                                   │
        │         g  to the beginning                              │
        │         G  to the end                                    │
        │    1 :map  lifecycles, with the number of jobs in each st│
        │   2 :jobs  jobs                                          │
        │   3 :dead  dead letters                                  │
        └──────────────────────────────────────────────────────────┘
    "#]],
    );
    small.press("x");
    assert!(!small.screen().contains("keys that work"));
}
