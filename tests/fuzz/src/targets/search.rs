//! Queries for jobs, as they are typed: words and terms keep every character, a filter that was read is read again from its own
//! text, and white space around terms has no meaning.

use tenure_core::job_query::{JobQuery, split_words};
use tenure_core::query::JobFilter;
use tenure_core::time::Timestamp;

const NOW: Timestamp = Timestamp(1_800_000_000_000);

pub(super) fn check(input: &[u8]) {
    let Some(text) = super::text(input) else { return };
    check_words(text);
    match JobQuery::parse(text, NOW) {
        Ok(query) => check_query(text, &query),
        Err(flaw) => assert!(!flaw.is_empty()),
    }
}

fn check_words(text: &str) {
    let (terms, words) = split_words(text);
    let visible = |text: &str| text.chars().filter(|character| !character.is_whitespace()).count();
    let kept = visible(&terms) + words.iter().map(|word| visible(word)).sum::<usize>();
    assert_eq!(kept, visible(text), "{terms:?} {words:?}");
    assert!(words.iter().all(|word| !word.is_empty() && !word.contains(':')), "{words:?}");
    assert_eq!(split_words(&terms), (terms.clone(), Vec::new()), "terms have no words");
}

fn check_query(text: &str, query: &JobQuery) {
    if let Ok(spaced) = JobQuery::parse(&format!(" {text}\t"), NOW) {
        assert_eq!(spaced, *query);
    }
    if !text.contains('"') {
        let (terms, words) = split_words(text);
        assert!(words.is_empty(), "{words:?}");
        assert_eq!(JobQuery::parse(&terms, NOW).as_ref(), Ok(query), "{terms:?}");
    }
    let Some(written) = written(&query.filter) else { return };
    // Quotation marks make it longer than the limit in some cases.
    if let Ok(again) = JobQuery::parse(&written, NOW) {
        assert!(again.is_exact(), "{written}");
        assert_eq!(again.filter, query.filter, "{written}");
    } else {
        assert!(written.len() > text.len(), "{written}");
    }
}

/// A query with the values of a filter; `None` if one of them cannot be quoted.
fn written(filter: &JobFilter) -> Option<String> {
    let JobFilter {
        state,
        phase,
        outcome,
        lifecycle,
        job_type,
        queue,
        user_id,
        worker,
        correlation_id,
        retry_of,
        created_after,
        created_before,
        from,
    } = filter;
    let is_unset = state.is_none() && phase.is_none() && outcome.is_none() && from.is_none();
    assert!(is_unset, "states, phases and outcomes are checked for each job");
    let values = [
        ("lifecycle", lifecycle.as_ref().map(ToString::to_string)),
        ("type", job_type.as_ref().map(ToString::to_string)),
        ("queue", queue.as_ref().map(ToString::to_string)),
        ("user", user_id.as_ref().map(ToString::to_string)),
        ("worker", worker.as_ref().map(ToString::to_string)),
        ("correlation", correlation_id.as_ref().map(ToString::to_string)),
        ("retry_of", retry_of.map(|it| it.to_string())),
        ("since", created_after.map(|it| it.to_string())),
        ("until", created_before.map(|it| it.to_string())),
    ];
    let given = values.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let term = |(name, value): (&str, String)| (!value.contains('"')).then(|| format!("{name}:\"{value}\""));
    Some(given.map(term).collect::<Option<Vec<_>>>()?.join(" "))
}
