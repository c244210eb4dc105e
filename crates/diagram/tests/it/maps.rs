//! Maps with live values: complete, stable in size, and equal to the fragments that a script replaces.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::id::StateName;
use tenure_core::lifecycle::{Lifecycle, Outcome, Phase, Trigger};
use tenure_diagram::{
    ArrowValues, Fragment, MapLinks, MapStyle, MapValues, StateValues, map_fragments, map_svg, map_text,
    symbol,
};

use super::svg::tags;
use super::{all, assert_snapshot, named};

/// Every lifecycle in every style.
pub(crate) fn each_map() -> Vec<(Lifecycle, MapStyle)> {
    let styles = [MapStyle::Full, MapStyle::Small, MapStyle::Path];
    all().iter().flat_map(|lifecycle| styles.map(|style| (lifecycle.clone(), style))).collect()
}

pub(crate) fn map(lifecycle: &Lifecycle, style: MapStyle, values: &MapValues) -> String {
    let links = MapLinks {
        state: &|state| format!("/jobs?lifecycle=x&state={state}"),
        arrow: &|from, to| format!("/events?from={from}&to={to}"),
    };
    map_svg(lifecycle, style, values, &links)
}

/// The longest texts that fit.
pub(crate) fn longest(lifecycle: &Lifecycle) -> MapValues {
    let text = |text: &str| Some(text.to_owned());
    let state = StateValues {
        count: text("999,999,999"),
        trend: vec![0.0, 3.0, 1.0, 7.0],
        oldest: text("999 d 23 h"),
        p95: text("999 d 23 h"),
        arriving: text("+9,999/min"),
        late: true,
        spent: text("999 d 23 h, 2×"),
        taken: true,
        here: true,
    };
    let arrow = ArrowValues { rate: text("9,999/min"), weight: 1.0, taken: true };
    MapValues {
        states: lifecycle.states.iter().map(|it| (it.name.clone(), state.clone())).collect(),
        arrows: arrows(lifecycle).into_iter().map(|ends| (ends, arrow.clone())).collect(),
    }
}

/// Typical values for `so1`.
fn busy() -> MapValues {
    let text = |text: &str| Some(text.to_owned());
    let state = |count, oldest, p95, trend: &[f64]| StateValues {
        count: text(count),
        oldest: text(oldest),
        p95: text(p95),
        trend: trend.to_vec(),
        ..StateValues::default()
    };
    let success = StateValues { count: text("90,412"), arriving: text("+118/min"), ..StateValues::default() };
    let arrow = |rate, weight| ArrowValues { rate: text(rate), weight, taken: false };
    MapValues {
        states: BTreeMap::from([
            ("pending".into(), state("1,204", "28 s", "12 s", &[3.0, 5.0, 4.0, 9.0])),
            ("running".into(), state("38", "41 s", "40 s", &[1.0, 1.0])),
            ("success".into(), success),
        ]),
        arrows: BTreeMap::from([
            (("pending".into(), "running".into()), arrow("120/min", 0.7)),
            (("running".into(), "success".into()), arrow("118/min", 0.7)),
            (("running".into(), "failed".into()), arrow("2/min", 0.2)),
        ]),
    }
}

fn arrows(lifecycle: &Lifecycle) -> BTreeSet<(StateName, StateName)> {
    lifecycle.rules.iter().filter_map(|rule| Some((rule.from.clone()?, rule.to.clone()))).collect()
}

#[test]
fn maps_match_their_snapshots() {
    let so1 = named("so1");
    assert_snapshot("so1-map.svg", &map(&so1, MapStyle::Full, &busy()));
    assert_snapshot("so1-small.svg", &map(&so1, MapStyle::Small, &busy()));
    assert_snapshot("so1-map.txt", &map_text(&so1, &busy()));
}

#[test]
fn values_do_not_move_the_states_of_a_text_map() {
    for lifecycle in all() {
        let empty = map_text(&lifecycle, &MapValues::default());
        let full = map_text(&lifecycle, &longest(&lifecycle));
        assert_eq!(empty.lines().count(), full.lines().count());
        for state in &lifecycle.states {
            let heading = format!("{} {}", symbol(state.phase), state.name);
            let position = |text: &str| {
                let (row, line) = text.lines().enumerate().find(|(_, line)| line.contains(&heading))?;
                Some((row, line.split(&heading).next()?.chars().count()))
            };
            assert!(position(&full).is_some(), "{heading} is missing:\n{full}");
            assert_eq!(position(&empty), position(&full), "{heading} moved");
        }
    }
}

#[test]
fn symbols_differ_and_are_in_fonts_of_terminals() {
    let outcomes = Outcome::ALL.map(Phase::Final);
    let phases = [Phase::Ready, Phase::Held, Phase::Active, Phase::Waiting].into_iter().chain(outcomes);
    let symbols: Vec<char> = phases.map(symbol).collect();
    let distinct: BTreeSet<&char> = symbols.iter().collect();
    assert_eq!(distinct.len(), symbols.len(), "{symbols:?}");
    // The blocks Miscellaneous Technical and Miscellaneous Symbols are not.
    for symbol in symbols {
        assert!(!matches!(symbol, '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{26ff}'), "{symbol}");
    }
}

#[test]
fn every_state_and_arrow_is_one_link_with_a_description() {
    for (lifecycle, style) in each_map() {
        let svg = map(&lifecycle, style, &longest(&lifecycle));
        assert!(!svg.contains("style"), "the page's content security policy forbids inline styles");
        let tags = tags(&svg);
        let values = |key: &str| -> Vec<&str> {
            tags.iter().filter_map(|tag| tag.attributes.get(key).copied()).collect()
        };
        let (ids, links) = (values("id"), values("href"));
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "each id once");
        for state in &lifecycle.states {
            assert!(links.contains(&format!("/jobs?lifecycle=x&amp;state={}", state.name).as_str()));
        }
        for (from, to) in arrows(&lifecycle) {
            let linked = links.contains(&format!("/events?from={from}&amp;to={to}").as_str());
            assert_eq!(linked, style != MapStyle::Small, "{from} to {to}");
        }
        for tag in tags.iter().filter(|tag| tag.name == "a") {
            assert!(ids.contains(&tag.attribute("aria-labelledby")));
        }
    }
    let so1 = map(&named("so1"), MapStyle::Full, &busy());
    assert!(so1.contains(">pending: 1,204 jobs, oldest 28 s, p95 12 s</title>"), "{so1}");
    assert!(so1.contains(">success (succeeded): 90,412 jobs, +118/min</title>"), "{so1}");
    assert!(so1.contains(">pending to running by claim: 120/min</title>"), "{so1}");
}

/// A map in which a script has replaced the contents of some elements.
fn patched(svg: &str, fragments: &[Fragment]) -> String {
    let mut svg = svg.to_owned();
    for Fragment { id, markup } in fragments {
        let tag = tags(&svg).into_iter().find(|tag| tag.attribute("id") == id);
        let tag = tag.unwrap_or_else(|| panic!("{id} is missing"));
        let (begin, end_tag) = (tag.after, format!("</{}>", tag.name));
        let end = begin + svg[begin..].find(&end_tag).unwrap();
        svg.replace_range(begin..end, markup);
    }
    svg
}

#[test]
fn replacing_the_fragments_gives_the_map_that_would_be_drawn() {
    for (lifecycle, style) in each_map() {
        let (before, after) = (MapValues::default(), longest(&lifecycle));
        let there = patched(&map(&lifecycle, style, &before), &map_fragments(&lifecycle, style, &after));
        assert_eq!(there, map(&lifecycle, style, &after), "{} {style:?}", lifecycle.name);
        let back = patched(&there, &map_fragments(&lifecycle, style, &before));
        assert_eq!(back, map(&lifecycle, style, &before), "{} {style:?}", lifecycle.name);
    }
}

#[test]
fn maps_of_all_styles_and_lifecycles_share_no_id() {
    let mut seen = BTreeSet::new();
    for (lifecycle, style) in each_map() {
        for fragment in map_fragments(&lifecycle, style, &MapValues::default()) {
            assert!(seen.insert(fragment.id.clone()), "{} twice", fragment.id);
        }
    }
    assert!(seen.contains("m-engine-queued-count") && seen.contains("m-engine-queued-dispatched-rate"));
}

#[test]
fn long_texts_are_cut_and_markup_is_escaped() {
    let so1 = named("so1");
    let strange = StateValues {
        count: Some("<b>&\"'".to_owned()),
        oldest: Some("9".repeat(99)),
        trend: vec![1.0, f64::NAN, f64::INFINITY, -7.0],
        ..StateValues::default()
    };
    let values = MapValues { states: BTreeMap::from([("pending".into(), strange)]), ..MapValues::default() };
    let svg = map(&so1, MapStyle::Full, &values);
    tags(&svg);
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    assert!(svg.contains("&lt;b&gt;&amp;"), "{svg}");
    assert!(svg.contains(">999999999…</text>"), "{svg}");
    let links = MapLinks { state: &|_| "/\"><script>".to_owned(), arrow: &|_, _| String::new() };
    assert!(!map_svg(&so1, MapStyle::Small, &values, &links).contains("<script"));
}

/// The classes of the lines that lead to a state.
fn lines(lifecycle: &Lifecycle, style: MapStyle, values: &MapValues, to: &str) -> Vec<String> {
    let fragments = map_fragments(lifecycle, style, values);
    let suffix = format!("-{to}-lines");
    let fragment = fragments.iter().find(|fragment| fragment.id.ends_with(&suffix)).unwrap();
    let classes = tags(&fragment.markup).into_iter().map(|tag| tag.attribute("class").to_owned());
    classes.filter(|class| class.starts_with("wire")).collect()
}

#[test]
fn a_line_is_dashed_while_only_the_clock_acts_and_as_wide_as_its_busiest_arrow() {
    let engine = named("engine");
    let mut values = MapValues::default();
    // From `queued` only by its timeout; then the lines from `dispatched` and `running` join.
    let classes = lines(&engine, MapStyle::Full, &values, "failed");
    assert_eq!(classes, ["wire w0 clock", "wire w0", "wire w0", "wire w0", "wire w0"]);
    let mut weigh = |from: &str, weight| {
        let arrow = ArrowValues { weight, ..ArrowValues::default() };
        values.arrows.insert((from.into(), "failed".into()), arrow);
        lines(&engine, MapStyle::Full, &values, "failed")
    };
    assert_eq!(weigh("queued", 0.3), ["wire w2 clock", "wire w2", "wire w2", "wire w0", "wire w0"]);
    assert_eq!(weigh("running", 1.0), ["wire w2 clock", "wire w2", "wire w4", "wire w0", "wire w4"]);
    let unchanged = ["wire w2 clock", "wire w2", "wire w2", "wire w0", "wire w0"];
    assert_eq!(weigh("running", f64::NAN), unchanged, "not a number counts as zero");
    let image = named("image");
    let due = image.rules.iter().find(|rule| rule.on == Trigger::Due).unwrap();
    assert_eq!(lines(&image, MapStyle::Full, &values, due.to.as_str()), ["wire w0 clock"]);
}

#[test]
fn the_path_of_the_job_is_highlighted() {
    let engine = named("engine");
    let mut values = MapValues::default();
    let visited =
        |spent: &str| StateValues { spent: Some(spent.to_owned()), taken: true, ..StateValues::default() };
    values.states.insert("queued".into(), visited("3 s"));
    values.states.insert("dispatched".into(), StateValues { here: true, ..visited("10 s") });
    let taken = ArrowValues { taken: true, ..ArrowValues::default() };
    values.arrows.insert(("queued".into(), "dispatched".into()), taken.clone());
    assert_eq!(lines(&engine, MapStyle::Path, &values, "dispatched"), ["wire w0 taken"]);
    assert_eq!(lines(&engine, MapStyle::Path, &values, "running"), ["wire w0"]);
    let svg = map(&engine, MapStyle::Path, &values);
    assert_eq!(svg.matches("\"box taken here\"").count(), 1);
    assert_eq!(svg.matches("\"box taken\"").count(), 1);
    assert!(svg.contains(">dispatched: 10 s, the job is here</title>"), "{svg}");
    values.arrows.insert(("dispatched".into(), "failed".into()), taken);
    let classes = lines(&engine, MapStyle::Path, &values, "failed");
    let taken_count = classes.iter().filter(|class| class.ends_with("taken")).count();
    assert_eq!(taken_count, 3, "its own line, then the shared one");
    let full = map_fragments(&engine, MapStyle::Full, &values);
    assert!(full.iter().all(|fragment| !fragment.markup.contains("taken")), "only the path shows it");
}
