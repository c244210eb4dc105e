//! The five that are built in: they pass, and what is derived from them is what one gets by hand.

use expect_test::{Expect, expect};
use tenure_core::lifecycle::{Format, Lifecycle, LongestLife, Outcome, Phase, Wait};
use tenure_core::time::Millis;

use super::review;

fn named(name: &str) -> Lifecycle {
    Lifecycle::built_in().into_iter().find(|lifecycle| lifecycle.name == name).expect("it is built in")
}

fn waits(state: &str, said: bool) -> LongestLife {
    LongestLife::Waits(Wait { state: state.into(), said })
}

fn within(ms: u64) -> LongestLife {
    LongestLife::Within(Millis(ms))
}

#[test]
fn they_pass_and_keep_their_words() {
    let names: Vec<String> = Lifecycle::built_in().iter().map(|it| format!("{} v{}", it.name, it.version)).collect();
    assert_eq!(names, ["distributed v1", "engine v1", "image v1", "pattern v1", "so1 v1"]);
    let engine = named("engine");
    assert_eq!(engine.state("running").unwrap().alias.as_ref().unwrap().as_str(), "started");
    assert_eq!(engine.rules.len(), 12, "lists are written out");
    assert_eq!(engine.policy.cancel_grace, Millis::seconds(30), "what is not said has its default");
    assert_eq!(engine.api.as_ref().unwrap().fields[0], ("id".to_owned(), "jobId".to_owned()), "in file order");
    let image = named("image");
    assert_eq!(image.state("dead_letter").unwrap().phase, Phase::Final(Outcome::Dead));
    assert_eq!(image.credits.as_ref().unwrap().refund.len(), 1);
}

#[test]
fn ranks_are_the_longest_way_from_the_beginning() {
    let ranks = |name: &str| {
        let lifecycle = named(name);
        lifecycle.states.iter().map(|state| format!("{} {}", state.name, state.rank)).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        ranks("distributed"),
        "queued 0, assigned 1, running 2, succeeded 3, failed 3, cancelled 3, dead_lettered 3"
    );
    assert_eq!(ranks("engine"), "queued 0, dispatched 1, running 2, completed 3, failed 3");
    assert_eq!(ranks("image"), "queued 0, running 1, failed 2, completed 2, rejected 2, dead_letter 3");
    assert_eq!(ranks("pattern"), "queued 0, processing 1, completed 2, partial 2, failed 2");
    assert_eq!(ranks("so1"), "pending 0, running 1, success 2, failed 2, cancelled 2");
}

#[test]
fn every_rule_goes_forward_or_begins_an_attempt() {
    for lifecycle in Lifecycle::built_in() {
        for rule in lifecycle.rules.iter().filter(|rule| rule.from.is_some() && !lifecycle.begins_attempt(rule)) {
            let rank = |name: &str| lifecycle.state(name).unwrap().rank;
            assert!(rank(rule.from.as_ref().unwrap().as_str()) < rank(rule.to.as_str()), "{rule:?}");
        }
    }
}

#[test]
fn the_longest_life_of_a_job_that_no_worker_touches() {
    assert_eq!(named("distributed").longest_life_untouched(), waits("queued", false));
    assert_eq!(named("engine").longest_life_untouched(), within(30_000), "the queue's timeout");
    assert_eq!(named("image").longest_life_untouched(), waits("queued", false));
    assert_eq!(named("pattern").longest_life_untouched(), waits("queued", false));
    assert_eq!(named("so1").longest_life_untouched(), waits("pending", false));
}

#[test]
fn the_longest_life_of_a_job_whose_workers_all_crash() {
    // A lost worker is noticed after two heartbeats, 30 s, and before the lease ends.
    // 5 attempts, and backoffs of 0.5, 1, 2 and 4 s between them.
    assert_eq!(named("distributed").longest_life_crashing(), within(5 * 30_000 + 7_500));
    // Started at once, then lost after two heartbeats of 10 s; not started, it is over after 10 s.
    assert_eq!(named("engine").longest_life_crashing(), within(20_000));
    // 3 attempts, and backoffs of 0.5 and 1 s; the last failure is due at once.
    assert_eq!(named("image").longest_life_crashing(), within(3 * 30_000 + 1_500));
    assert_eq!(named("pattern").longest_life_crashing(), within(30_000));
    assert_eq!(named("so1").longest_life_crashing(), within(30_000));
}

#[test]
fn a_wait_for_ever_that_the_file_asks_for_is_found() {
    let life = |changes: &[(&str, &str)]| {
        let lifecycle = Lifecycle::parse(&review(changes)).unwrap();
        (lifecycle.longest_life_untouched(), lifecycle.longest_life_crashing())
    };
    // 1 h in the queue. Crashing: 3 attempts of 30 s, and backoffs of 1 and 2 s.
    assert_eq!(life(&[]), (within(3_600_000), within(93_000)));
    let never = ("role = \"waiting\", timeout = \"3d\"", "role = \"waiting\", timeout = \"never\"");
    let lost = ("from = \"assigned\"\nto   = \"failed\"", "from = \"assigned\"\nto   = \"in_review\"");
    assert_eq!(life(&[never, lost]), (within(3_600_000), waits("in_review", true)));
    // Three days of review after the loss of a held job, which comes in the third attempt at the latest.
    assert_eq!(life(&[lost]).1, within(2 * 30_000 + 3_000 + 30_000 + 3 * 86_400_000));
    let unsaid = ("role = \"ready\", timeout = \"1h\"", "role = \"ready\", timeout = \"never\"");
    assert_eq!(life(&[unsaid]).0, waits("queued", true));
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(text);
}

#[test]
fn distributed_in_text() {
    check(&named("distributed").draw(Format::Text), &expect![[r#"
              ┌┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┬┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┐
              ┆                  ┆ lease_expired [retry]   ┆ fail [retry]
              ┆                  ┆ release                 ┆ lease_expired [retry]
              ▼                  ┆                         ┆ release
            ┌────────┐  claim  ┌─┴────────┐    start     ┌─┴───────┐    succeed    ╔══════════════════════╗
        ●──▶│ queued ├────────▶│ assigned ├─────────────▶│ running ├──────────────▶║ succeeded            ║
            │ ready  │         │ held     │              │ active  │               ╚══════════════════════╝
            └─┬─┬────┘         └─┬─┬──────┘              └─┬─┬─┬───┘
              │ │                │ │                       │ │ │ fail              ╔══════════════════════╗
              │ │                │ │                       │ │ └──────────────────▶║ failed               ║
              │ │                │ │                       │ │                     ╚══════════════════════╝
              │ │ cancel         │ │ cancel                │ │ cancel              ╔══════════════════════╗
              │ └────────────────┼─┴───────────────────────┼─┴────────────────────▶║ cancelled            ║
              │                  │                         │ fail [exhausted]      ╚══════════════════════╝
              │                  │ lease_expired           │ lease_expired
              │ dead_letter      │ dead_letter             │ dead_letter           ╔══════════════════════╗
              └──────────────────┴─────────────────────────┴──────────────────────▶║ dead_lettered · dead ║
                                                                                   ╚══════════════════════╝

         0  queued  (ready)
              claim                  → assigned       job_claimed
              cancel                 → cancelled      job_cancelled
              dead_letter            → dead_lettered  job_dead_lettered
         1  assigned  (held)
              start                  → running        job_started
              lease_expired [retry]  ↺ queued         job_requeued
              lease_expired          → dead_lettered  job_dead_lettered, reason exhausted_retries
              release                ↺ queued         job_released
              cancel                 → cancelled      job_cancelled
              dead_letter            → dead_lettered  job_dead_lettered
         2  running  (active)
              succeed                → succeeded      job_succeeded
              fail [retry]           ↺ queued         job_retried
              fail [exhausted]       → dead_lettered  job_dead_lettered, reason exhausted_retries
              fail                   → failed         job_failed
              lease_expired [retry]  ↺ queued         job_requeued
              lease_expired          → dead_lettered  job_dead_lettered, reason exhausted_retries
              release                ↺ queued         job_released
              cancel                 → cancelled      job_cancelled
              dead_letter            → dead_lettered  job_dead_lettered
         3  succeeded  (final, succeeded)
         3  failed  (final, failed)
         3  cancelled  (final, cancelled)
         3  dead_lettered  (final, dead)
    "#]]);
}

#[test]
fn image_in_text() {
    check(&named("image").draw(Format::Text), &expect![[r#"
              ┌┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┐
              ▼                                              ┆ due [retry]
            ┌────────┐  claim  ┌─────────┐      fail       ┌─┴───────┐
        ●──▶│ queued ├────────▶│ running ├────────────────▶│ failed  │
            │ ready  │         │ active  │  lease_expired  │ waiting │
            └─┬──────┘         └─┬─┬─────┘                 └─┬───────┘
              │                  │ │ succeed                 │             ╔═══════════════════════╗
              │                  │ └─────────────────────────┼────────────▶║ completed · succeeded ║
              │                  │                           │             ╚═══════════════════════╝
              │ reject           │ reject                    │             ╔═══════════════════════╗
              └──────────────────┴───────────────────────────┼────────────▶║ rejected              ║
                                                             │             ╚═══════════════════════╝
                                                             │ due         ╔═══════════════════════╗
                                                             └────────────▶║ dead_letter · dead    ║
                                                                           ╚═══════════════════════╝

         0  queued  (ready)
              claim          → running      job_running
              reject         → rejected     job_rejected, audit SAFE_BLOCK
         1  running  (active)
              succeed        → completed    job_completed
              fail           → failed       job_failed
              lease_expired  → failed       job_failed
              reject         → rejected     job_rejected, audit SAFE_BLOCK
         2  failed  (waiting)
              due [retry]    ↺ queued       job_requeued
              due            → dead_letter  job_dead_lettered
         2  completed  (final, succeeded)
         2  rejected  (final, rejected)
         3  dead_letter  (final, dead)
    "#]]);
}

#[test]
fn engine_in_mermaid() {
    check(&named("engine").draw(Format::Mermaid), &expect![[r#"
        stateDiagram-v2
            direction LR
            state "queued" as s_queued
            state "dispatched" as s_dispatched
            state "running" as s_running
            state "completed" as s_completed
            state "failed" as s_failed
            [*] --> s_queued : create
            s_queued --> s_dispatched : claim
            s_dispatched --> s_running : start
            s_running --> s_completed : succeed
            s_running --> s_failed : fail<br/>timeout<br/>lease_expired<br/>disconnected
            s_queued --> s_failed : timeout
            s_dispatched --> s_failed : timeout<br/>lease_expired<br/>disconnected
            s_completed --> [*]
            s_failed --> [*]
    "#]]);
}

#[test]
fn so1_in_dot() {
    check(&named("so1").draw(Format::Dot), &expect![[r#"
        digraph "so1 v1" {
            rankdir=LR;
            node [shape=box, style=rounded, fontname="monospace"];
            edge [fontname="monospace", fontsize=10];
            "" [shape=point];
            "pending" [label="pending\nready"];
            "running" [label="running\nactive"];
            "success" [label="success\nsucceeded", peripheries=2];
            "failed" [label="failed\nfailed", peripheries=2];
            "cancelled" [label="cancelled\ncancelled", peripheries=2];
            "" -> "pending" [label="create"];
            "pending" -> "running" [label="claim"];
            "running" -> "success" [label="succeed"];
            "running" -> "failed" [label="fail\nlease_expired"];
            "pending" -> "cancelled" [label="cancel"];
            "running" -> "cancelled" [label="cancel"];
        }
    "#]]);
}

#[test]
fn so1_in_svg() {
    check(&named("so1").draw(Format::Svg), &expect![[r#"
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 564 274" width="564" height="274" role="img">
        <title>so1 v1: Pending, running, and exactly one of three trays; a retry is a new job.</title>
        <style>text{font:12.5px ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',monospace;fill:#1f2430}.title{font-size:15px;font-weight:700}.name{font-weight:700}.note,.on{font-size:11.5px;font-weight:400}.about,.note,.on{fill:#5c6470}.bg{fill:#fff}.box{fill:#f4f6fa;stroke-width:1.5}.rim{fill:none;stroke-width:1}.wire{fill:none;stroke:#7b8494;stroke-width:1.4}.again{stroke-dasharray:5 4}.head,.dot{fill:#7b8494}.halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}.ready{stroke:#2563eb}.held{stroke:#b45309}.active{stroke:#7c3aed}.waiting{stroke:#0e7490}.succeeded{stroke:#15803d}.partial{stroke:#a16207}.failed,.dead{stroke:#b91c1c}.cancelled,.rejected{stroke:#6b7280}@media(prefers-color-scheme:dark){text{fill:#e8ebf0}.about,.note,.on{fill:#9aa3b2}.bg{fill:#14171d}.box{fill:#1e232c}.wire{stroke:#7d8799}.head,.dot{fill:#7d8799}.halo{stroke:#14171d}.ready{stroke:#60a5fa}.held{stroke:#f59e0b}.active{stroke:#a78bfa}.waiting{stroke:#22d3ee}.succeeded{stroke:#4ade80}.partial{stroke:#facc15}.failed,.dead{stroke:#f87171}.cancelled,.rejected{stroke:#9ca3af}}</style>
        <rect class="bg" width="100%" height="100%"/>
        <text class="title" x="16" y="28">so1 v1</text>
        <text class="about" x="16" y="47">Pending, running, and exactly one of three trays; a retry is a new job.</text>
        <path class="head" d="M49.75 87L40.75 82.5L40.75 91.5Z"/>
        <path class="wire" d="M19.75 87L41.75 87"/>
        <path class="head" d="M199.75 87L190.75 82.5L190.75 91.5Z"/>
        <path class="wire" d="M124.75 87L191.75 87"/>
        <path class="head" d="M364.75 87L355.75 82.5L355.75 91.5Z"/>
        <path class="wire" d="M274.75 87L356.75 87"/>
        <path class="head" d="M364.75 177L355.75 172.5L355.75 181.5Z"/>
        <path class="wire" d="M229.75 123L229.75 171Q229.75 177 235.75 177L356.75 177"/>
        <path class="head" d="M364.75 231L355.75 226.5L355.75 235.5Z"/>
        <path class="wire" d="M64.75 123L64.75 225Q64.75 231 70.75 231L356.75 231"/>
        <path class="wire" d="M214.75 123L214.75 231"/>
        <circle class="dot" cx="214.75" cy="231" r="2.6"/>
        <circle class="dot" cx="19.75" cy="87" r="5"><title>create</title></circle>
        <g><title>pending: ready, rank 0
        claim → running (started)
        cancel → cancelled (cancelled)</title>
        <rect class="box ready" x="49.75" y="69" width="75" height="54" rx="7"/>
        <text class="name" x="61" y="91">pending</text>
        <text class="note" x="61" y="109">ready</text>
        </g>
        <g><title>running: active, rank 1
        succeed → success (succeeded)
        fail → failed (failed)
        lease_expired → failed (failed)
        cancel → cancelled (cancelled)</title>
        <rect class="box active" x="199.75" y="69" width="75" height="54" rx="7"/>
        <text class="name" x="211" y="91">running</text>
        <text class="note" x="211" y="109">active</text>
        </g>
        <g><title>success: succeeded, rank 2</title>
        <rect class="box succeeded" x="364.75" y="72" width="165" height="30" rx="7"/>
        <rect class="rim succeeded" x="367.75" y="75" width="159" height="24" rx="5"/>
        <text class="name" x="376" y="91">success <tspan class="note">· succeeded</tspan></text>
        </g>
        <g><title>failed: failed, rank 2</title>
        <rect class="box failed" x="364.75" y="162" width="165" height="30" rx="7"/>
        <rect class="rim failed" x="367.75" y="165" width="159" height="24" rx="5"/>
        <text class="name" x="376" y="181">failed</text>
        </g>
        <g><title>cancelled: cancelled, rank 2</title>
        <rect class="box cancelled" x="364.75" y="216" width="165" height="30" rx="7"/>
        <rect class="rim cancelled" x="367.75" y="219" width="159" height="24" rx="5"/>
        <text class="name" x="376" y="235">cancelled</text>
        </g>
        <text class="on halo" x="143.5" y="73">claim</text>
        <text class="on halo" x="293.5" y="73">succeed</text>
        <text class="on halo" x="241" y="163">lease_expired</text>
        <text class="on halo" x="241" y="145">fail</text>
        <text class="on halo" x="76" y="217">cancel</text>
        <text class="on halo" x="226" y="217">cancel</text>
        </svg>
    "#]]);
}

#[test]
fn every_rule_is_in_every_drawing() {
    for lifecycle in Lifecycle::built_in() {
        for format in [Format::Text, Format::Mermaid, Format::Dot, Format::Svg] {
            let drawing = lifecycle.draw(format);
            assert!(drawing.ends_with('\n'));
            for rule in lifecycle.rules.iter().filter(|rule| rule.from.is_some()) {
                assert!(drawing.contains(&rule.on.to_string()), "{} {format:?} {rule:?}", lifecycle.name);
            }
        }
    }
}
