//! Maps: everything is on them, nothing meets anything, and what a script puts in is what would have been drawn.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{expect, expect_file};
use tenure_core::lifecycle::{
    ArrowFigures, BUILT_IN, Figures, Lifecycle, Links, Look, StateFigures, Trigger,
};

use super::REVIEW;

const LOOKS: [Look; 3] = [Look::Full, Look::Small, Look::Path];

fn all() -> Vec<Lifecycle> {
    BUILT_IN.iter().chain([&REVIEW]).map(|source| Lifecycle::parse(source).unwrap()).collect()
}

fn named(name: &str) -> Lifecycle {
    all().into_iter().find(|lifecycle| lifecycle.name == name).unwrap()
}

fn map(lifecycle: &Lifecycle, look: Look, figures: &Figures) -> String {
    let links = Links {
        state: &|state| format!("/jobs?lifecycle=x&state={state}"),
        arrow: &|from, to| format!("/events?from={from}&to={to}"),
    };
    lifecycle.map(look, figures, &links)
}

/// The longest texts that there is room for.
fn longest(lifecycle: &Lifecycle) -> Figures {
    let state = StateFigures {
        count: Some("999,999,999".to_owned()),
        trend: vec![0.0, 3.0, 1.0, 7.0],
        oldest: Some("999 d 23 h".to_owned()),
        p95: Some("999 d 23 h".to_owned()),
        arriving: Some("+9,999/min".to_owned()),
        late: true,
        spent: Some("999 d 23 h, 2×".to_owned()),
        taken: true,
        here: true,
    };
    let arrow = ArrowFigures { rate: Some("9,999/min".to_owned()), weight: 1.0, taken: true };
    Figures {
        states: lifecycle.states.iter().map(|it| (it.name.clone(), state.clone())).collect(),
        arrows: arrows(lifecycle).into_iter().map(|ends| (ends, arrow.clone())).collect(),
    }
}

/// A busy afternoon.
fn busy() -> Figures {
    let state = |count: &str, oldest: &str, p95: &str, trend: &[f64]| StateFigures {
        count: Some(count.to_owned()),
        oldest: Some(oldest.to_owned()),
        p95: Some(p95.to_owned()),
        trend: trend.to_vec(),
        ..StateFigures::default()
    };
    let end = |count: &str, arriving: &str| StateFigures {
        count: Some(count.to_owned()),
        arriving: Some(arriving.to_owned()),
        ..StateFigures::default()
    };
    let arrow = |rate: &str, weight| ArrowFigures { rate: Some(rate.to_owned()), weight, taken: false };
    Figures {
        states: BTreeMap::from([
            ("pending".into(), state("1,204", "28 s", "12 s", &[3.0, 5.0, 4.0, 9.0])),
            ("running".into(), state("38", "41 s", "40 s", &[1.0, 1.0])),
            ("success".into(), end("90,412", "+118/min")),
        ]),
        arrows: BTreeMap::from([
            (("pending".into(), "running".into()), arrow("120/min", 0.7)),
            (("running".into(), "success".into()), arrow("118/min", 0.7)),
            (("running".into(), "failed".into()), arrow("2/min", 0.2)),
        ]),
    }
}

fn arrows(lifecycle: &Lifecycle) -> BTreeSet<(tenure_core::id::Name, tenure_core::id::Name)> {
    let ends = |rule: &tenure_core::lifecycle::Rule| Some((rule.from.clone()?, rule.to.clone()));
    lifecycle.rules.iter().filter_map(ends).collect()
}

#[test]
fn whole_maps() {
    let so1 = named("so1");
    expect_file!["snapshots/so1-map.svg"].assert_eq(&map(&so1, Look::Full, &busy()));
    expect_file!["snapshots/so1-small.svg"].assert_eq(&map(&so1, Look::Small, &busy()));
}

#[test]
fn in_text_with_counts_and_ages() {
    expect![[r#"
            ┌────────────────┐         ┌────────────────┐
            │ ◷ pending      │  claim  │ ▶ running      │  succeed  ╔═════════════════════════╗
        ●──▶│ 1,204          ├────────▶│ 38             ├──────────▶║ ✓ success        90,412 ║
            │ oldest 28 s    │         │ oldest 41 s    │           ╚═════════════════════════╝
            └─┬──────────────┘         └─┬─┬────────────┘
              │                          │ │ fail
              │                          │ │ lease_expired          ╔═════════════════════════╗
              │                          │ └───────────────────────▶║ ✗ failed              – ║
              │                          │                          ╚═════════════════════════╝
              │ cancel                   │ cancel                   ╔═════════════════════════╗
              └──────────────────────────┴─────────────────────────▶║ ⊘ cancelled           – ║
                                                                    ╚═════════════════════════╝
    "#]]
    .assert_eq(&named("so1").map_text(&busy()));
}

#[test]
fn in_text_every_state_is_where_it_was_whatever_the_numbers() {
    for lifecycle in all() {
        let (empty, full) =
            (lifecycle.map_text(&Figures::default()), lifecycle.map_text(&longest(&lifecycle)));
        assert_eq!(empty.lines().count(), full.lines().count());
        for state in &lifecycle.states {
            let sign = format!("{} {}", state.phase.sign(), state.name);
            let place = |text: &str| {
                let line = text.lines().position(|line| line.contains(&sign))?;
                Some((line, text.lines().nth(line)?.split(&sign).next()?.chars().count()))
            };
            assert!(place(&full).is_some(), "{sign} is missing:\n{full}");
            assert_eq!(place(&empty), place(&full), "{sign} moved");
        }
    }
}

/// An opening tag and where it ends.
struct Tag<'t> {
    name: &'t str,
    attributes: BTreeMap<&'t str, &'t str>,
    after: usize,
}

/// All opening tags, after a check that each is closed in its turn.
fn tags(svg: &str) -> Vec<Tag<'_>> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(begin) = svg[at..].find('<').map(|begin| at + begin) {
        let end = begin + svg[begin..].find('>').expect("a tag ends");
        let inside = &svg[begin + 1..end];
        assert!(!svg[at..begin].contains('>'), "a stray > before {inside}");
        at = end + 1;
        if let Some(name) = inside.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in turn");
            continue;
        }
        let name = inside.split([' ', '/']).next().unwrap();
        let mut rest = inside[name.len()..].trim_start();
        let mut attributes = BTreeMap::new();
        while let Some((key, more)) = rest.split_once("=\"") {
            let (value, more) = more.split_once('"').expect("a value ends");
            assert!(attributes.insert(key, value).is_none(), "{key} twice in {inside}");
            rest = more.trim_start();
        }
        assert!(rest.is_empty() || rest == "/", "{rest:?} in {inside}");
        if rest.is_empty() {
            open.push(name);
        }
        found.push(Tag { name, attributes, after: at });
    }
    assert_eq!(open, Vec::<&str>::new());
    found
}

#[test]
fn every_state_and_arrow_is_there_once_as_a_link_that_says_what_it_is() {
    for (lifecycle, look) in all().iter().flat_map(|it| LOOKS.map(|look| (it.clone(), look))) {
        let svg = map(&lifecycle, look, &longest(&lifecycle));
        assert!(!svg.contains("style"), "the page's rules forbid it");
        let tags = tags(&svg);
        let ids: Vec<&str> = tags.iter().filter_map(|tag| tag.attributes.get("id").copied()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "each id once");
        let links: BTreeSet<&str> =
            tags.iter().filter_map(|tag| tag.attributes.get("href").copied()).collect();
        for state in &lifecycle.states {
            assert!(links.contains(format!("/jobs?lifecycle=x&amp;state={}", state.name).as_str()));
        }
        for (from, to) in arrows(&lifecycle) {
            let there = links.contains(format!("/events?from={from}&amp;to={to}").as_str());
            assert_eq!(there, look != Look::Small, "{from} to {to}");
        }
        for tag in tags.iter().filter(|tag| tag.name == "a") {
            assert!(ids.contains(&tag.attributes["aria-labelledby"]));
        }
    }
    let so1 = map(&named("so1"), Look::Full, &busy());
    assert!(so1.contains(">pending: 1,204 jobs, oldest 28 s, p95 12 s</title>"), "{so1}");
    assert!(so1.contains(">success (succeeded): 90,412 jobs, +118/min</title>"), "{so1}");
    assert!(so1.contains(">pending to running by claim: 120/min</title>"), "{so1}");
}

#[derive(Debug)]
struct Area {
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// How wide a text is at most, by the sizes in `map.css`.
fn width(text: &str, class: &str, look: Look, ends: bool) -> f64 {
    let size = match (class, look) {
        ("count", Look::Full) => {
            if ends {
                13.0
            } else {
                21.0
            }
        }
        ("count", _) => 12.5,
        (_, Look::Small) => 11.0,
        ("name", _) => 12.5,
        ("spent", _) => 13.0,
        ("oldest" | "p95" | "arriving", _) => 12.0,
        ("note" | "on" | "rate", _) => 11.5,
        other => panic!("a text of unknown size: {other:?}"),
    };
    let letter = |char| match char {
        _ if ["name", "note", "on"].contains(&class) => 0.6,
        ' ' | ',' | '.' | '/' | '…' => 0.32,
        'm' | '⚠' => 0.95,
        _ => 0.6,
    };
    text.chars().map(letter).sum::<f64>() * size
}

/// The places of all texts, of all boxes, and of every leg of every line.
fn areas(svg: &str, look: Look) -> [Vec<Area>; 3] {
    let [mut texts, mut boxes, mut lines]: [Vec<Area>; 3] = Default::default();
    let mut ends = false;
    for tag in tags(svg) {
        let number = |key: &str| tag.attributes[key].parse::<f64>().unwrap();
        let class = tag.attributes.get("class").copied().unwrap_or_default();
        let text = svg[tag.after..].split('<').next().unwrap().to_owned();
        match tag.name {
            "a" => ends = class.contains("final"),
            "rect" if class.starts_with("box") => boxes.push(Area {
                text: "a box".to_owned(),
                left: number("x"),
                right: number("x") + number("width"),
                top: number("y"),
                bottom: number("y") + number("height"),
            }),
            "text" => {
                let (x, wide) = (number("x"), width(&text, class, look, ends));
                let left = match tag.attributes.get("text-anchor") {
                    Some(&"end") => x - wide,
                    Some(&"middle") => x - wide / 2.0,
                    _ => x,
                };
                let high = if class == "count" && look == Look::Full && !ends { 15.5 } else { 9.5 };
                texts.push(Area {
                    text,
                    left,
                    right: left + wide,
                    top: number("y") - high,
                    bottom: number("y") + 2.5,
                });
            }
            "tspan" => {
                let last = texts.last_mut().unwrap();
                last.right += number("dx") + width(&text, class, look, ends);
                last.text = format!("{} {text}", last.text);
            }
            "path" if class.starts_with("wire") => lines.extend(legs(tag.attributes["d"])),
            _ => {}
        }
    }
    [texts, boxes, lines]
}

fn legs(path: &str) -> Vec<Area> {
    let numbers: Vec<f64> =
        path.split(['M', 'L', 'Q', ' ']).filter_map(|number| number.parse().ok()).collect();
    let points: Vec<&[f64]> = numbers.chunks(2).collect();
    let leg = |pair: &[&[f64]]| Area {
        text: "a line".to_owned(),
        left: pair[0][0].min(pair[1][0]) - 2.0,
        right: pair[0][0].max(pair[1][0]) + 2.0,
        top: pair[0][1].min(pair[1][1]) - 2.0,
        bottom: pair[0][1].max(pair[1][1]) + 2.0,
    };
    points.windows(2).map(leg).collect()
}

#[test]
fn no_text_meets_another_or_a_line_or_leaves_its_box() {
    for (lifecycle, look) in all().iter().flat_map(|it| LOOKS.map(|look| (it.clone(), look))) {
        let [texts, boxes, lines] = areas(&map(&lifecycle, look, &longest(&lifecycle)), look);
        assert!(texts.len() >= 2 * boxes.len() && lines.len() > boxes.len());
        for (nth, text) in texts.iter().enumerate() {
            for other in &texts[nth + 1..] {
                assert!(!text.meets(other), "{} {look:?}: {text:?} meets {other:?}", lifecycle.name);
            }
            // Lines begin and end below the boxes.
            for line in lines.iter().filter(|_| !boxes.iter().any(|frame| text.meets(frame))) {
                assert!(!text.meets(line), "{} {look:?}: {text:?} meets {line:?}", lifecycle.name);
            }
            for frame in boxes.iter().filter(|frame| text.meets(frame)) {
                let inside = text.left > frame.left && text.right < frame.right && text.bottom < frame.bottom;
                assert!(inside && text.top > frame.top, "{} {look:?}: {text:?} {frame:?}", lifecycle.name);
            }
        }
    }
}

/// A map in which a script has replaced what is inside some elements.
fn patched(svg: &str, pieces: &[(String, String)]) -> String {
    let mut svg = svg.to_owned();
    for (id, inside) in pieces {
        let (name, after) = {
            let tag = tags(&svg).into_iter().find(|tag| tag.attributes.get("id") == Some(&id.as_str()));
            let tag = tag.unwrap_or_else(|| panic!("{id} is missing"));
            (tag.name.to_owned(), tag.after)
        };
        let end = after + svg[after..].find(&format!("</{name}>")).unwrap();
        svg.replace_range(after..end, inside);
    }
    svg
}

#[test]
fn replacing_the_pieces_makes_the_map_that_would_be_drawn() {
    for (lifecycle, look) in all().iter().flat_map(|it| LOOKS.map(|look| (it.clone(), look))) {
        let (before, after) = (Figures::default(), longest(&lifecycle));
        let there = patched(&map(&lifecycle, look, &before), &lifecycle.map_pieces(look, &after));
        assert_eq!(there, map(&lifecycle, look, &after), "{} {look:?}", lifecycle.name);
        let back = patched(&there, &lifecycle.map_pieces(look, &before));
        assert_eq!(back, map(&lifecycle, look, &before), "{} {look:?}", lifecycle.name);
    }
}

#[test]
fn looks_and_lifecycles_share_no_id() {
    let mut seen = BTreeSet::new();
    for (lifecycle, look) in all().iter().flat_map(|it| LOOKS.map(|look| (it.clone(), look))) {
        for (id, _) in lifecycle.map_pieces(look, &Figures::default()) {
            assert!(seen.insert(id.clone()), "{id} twice");
        }
    }
    assert!(seen.contains("m-engine-queued-count") && seen.contains("m-engine-queued-dispatched-rate"));
}

#[test]
fn what_is_too_long_is_cut_and_what_is_strange_is_escaped() {
    let so1 = named("so1");
    let strange = StateFigures {
        count: Some("<b>&\"'".to_owned()),
        oldest: Some("9".repeat(99)),
        trend: vec![1.0, f64::NAN, f64::INFINITY, -7.0],
        ..StateFigures::default()
    };
    let figures = Figures { states: BTreeMap::from([("pending".into(), strange)]), ..Figures::default() };
    let svg = map(&so1, Look::Full, &figures);
    tags(&svg);
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    assert!(svg.contains("&lt;b&gt;&amp;"), "{svg}");
    assert!(svg.contains(">999999999…</text>"), "{svg}");
    let links = Links { state: &|_| "/\"><script>".to_owned(), arrow: &|_, _| String::new() };
    assert!(!so1.map(Look::Small, &figures, &links).contains("<script"));
}

/// The classes of the lines that lead to a state.
fn lines(lifecycle: &Lifecycle, look: Look, figures: &Figures, to: &str) -> Vec<String> {
    let pieces = lifecycle.map_pieces(look, figures);
    let (_, ways) = pieces.iter().find(|(id, _)| id.ends_with(&format!("-{to}-ways"))).unwrap();
    let wires = tags(ways).into_iter().map(|tag| tag.attributes["class"].to_owned());
    wires.filter(|class| class.starts_with("wire")).collect()
}

#[test]
fn a_line_is_dashed_as_long_as_only_the_clock_acts_and_as_wide_as_what_goes_along() {
    let engine = named("engine");
    let mut figures = Figures::default();
    // From the queue only by its timeout; then dispatched joins, and running.
    let wires = lines(&engine, Look::Full, &figures, "failed");
    assert_eq!(wires, ["wire w0 clock", "wire w0", "wire w0", "wire w0", "wire w0"]);
    let mut weigh = |from: &str, weight| {
        figures
            .arrows
            .insert((from.into(), "failed".into()), ArrowFigures { weight, ..ArrowFigures::default() });
        lines(&engine, Look::Full, &figures, "failed")
    };
    assert_eq!(weigh("queued", 0.3), ["wire w2 clock", "wire w2", "wire w2", "wire w0", "wire w0"]);
    assert_eq!(weigh("running", 1.0), ["wire w2 clock", "wire w2", "wire w4", "wire w0", "wire w4"]);
    let nothing = ["wire w2 clock", "wire w2", "wire w2", "wire w0", "wire w0"];
    assert_eq!(weigh("running", f64::NAN), nothing, "what is no number weighs nothing");
    let due: Vec<_> = named("image").rules.into_iter().filter(|rule| rule.on == Trigger::Due).collect();
    assert_eq!(lines(&named("image"), Look::Full, &figures, due[0].to.as_str()), ["wire w0 clock"]);
}

#[test]
fn the_way_taken_is_lit() {
    let engine = named("engine");
    let mut figures = Figures::default();
    let was =
        |spent: &str| StateFigures { spent: Some(spent.to_owned()), taken: true, ..StateFigures::default() };
    figures.states.insert("queued".into(), was("3 s"));
    figures.states.insert("dispatched".into(), StateFigures { here: true, ..was("10 s") });
    let taken = ArrowFigures { taken: true, ..ArrowFigures::default() };
    figures.arrows.insert(("queued".into(), "dispatched".into()), taken.clone());
    assert_eq!(lines(&engine, Look::Path, &figures, "dispatched"), ["wire w0 taken"]);
    assert_eq!(lines(&engine, Look::Path, &figures, "running"), ["wire w0"]);
    let svg = map(&engine, Look::Path, &figures);
    assert_eq!(svg.matches("\"box taken here\"").count(), 1);
    assert_eq!(svg.matches("\"box taken\"").count(), 1);
    assert!(svg.contains(">dispatched: 10 s, the job is here</title>"), "{svg}");
    figures.arrows.insert(("dispatched".into(), "failed".into()), taken);
    let wires = lines(&engine, Look::Path, &figures, "failed");
    assert_eq!(
        wires.iter().filter(|class| class.ends_with("taken")).count(),
        3,
        "its own line, then the shared one"
    );
    let full = engine.map_pieces(Look::Full, &figures);
    assert!(full.iter().all(|(_, inside)| !inside.contains("taken")), "only the path shows it");
}
