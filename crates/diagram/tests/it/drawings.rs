//! The four formats of a lifecycle without live values.

use expect_test::{expect, expect_file};
use proptest::prelude::*;
use tenure_core::lifecycle::Lifecycle;
use tenure_diagram::{Format, draw};

use super::mutated::mutated_file;
use super::{all, named};

const FORMATS: [Format; 4] = [Format::Text, Format::Mermaid, Format::Dot, Format::Svg];

#[test]
fn text_diagrams_match_their_snapshots() {
    expect_file!["snapshots/distributed.txt"].assert_eq(&draw(&named("distributed"), Format::Text));
    expect_file!["snapshots/image.txt"].assert_eq(&draw(&named("image"), Format::Text));
}

#[test]
fn engine_in_mermaid() {
    expect![[r#"
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
    "#]]
    .assert_eq(&draw(&named("engine"), Format::Mermaid));
}

#[test]
fn so1_in_dot() {
    expect![[r#"
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
    "#]]
    .assert_eq(&draw(&named("so1"), Format::Dot));
}

#[test]
fn so1_in_svg() {
    expect_file!["snapshots/so1.svg"].assert_eq(&draw(&named("so1"), Format::Svg));
}

#[test]
fn every_rule_is_in_every_drawing() {
    for lifecycle in all() {
        for format in FORMATS {
            let drawing = draw(&lifecycle, format);
            assert!(drawing.ends_with('\n'));
            for rule in lifecycle.rules.iter().filter(|rule| rule.from.is_some()) {
                let trigger = rule.on.to_string();
                // Mermaid ends a description at a colon.
                let label = if format == Format::Mermaid { trigger.replace(':', " ") } else { trigger };
                assert!(drawing.contains(&label), "{} {format:?} {rule:?}", lifecycle.name);
            }
        }
    }
}

#[test]
fn the_diagram_in_the_documentation_is_current() {
    let page = include_str!("../../../../docs/lifecycles.md");
    let block = |language: &str| {
        let after = page.split_once(&format!("```{language}\n")).expect("the page has such a block").1;
        after.split_once("```").expect("the block ends").0
    };
    let drawing = draw(&Lifecycle::parse(block("toml")).unwrap(), Format::Text);
    assert!(drawing.starts_with(block("text")), "the diagram on the page should be\n{drawing}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_valid_lifecycle_can_be_drawn(file in mutated_file()) {
        if let Ok(lifecycle) = Lifecycle::parse(&file.source) {
            for format in FORMATS {
                prop_assert!(draw(&lifecycle, format).ends_with('\n'));
            }
        }
    }
}
