//! What a query means, and what is wrong with others.

use super::*;

const NOW: Timestamp = Timestamp(10_000_000);

fn parse(text: &str) -> JobQuery {
    JobQuery::parse(text, NOW).unwrap()
}

#[test]
fn single_values_become_a_filter_of_the_store() {
    let query = parse("type:image user:ada queue:q worker:w1 since:2h lifecycle:so1 correlation:order-17");
    assert!(query.is_exact());
    let JobFilter { job_type, user_id, queue, worker, created_after, lifecycle, correlation_id, .. } =
        query.filter;
    assert_eq!((job_type, user_id), (Some("image".into()), Some("ada".into())));
    assert_eq!((queue, worker, lifecycle), (Some("q".into()), Some("w1".into()), Some("so1".into())));
    assert_eq!((created_after, correlation_id), (Some(Timestamp(2_800_000)), Some("order-17".into())));
    assert_eq!(parse("User_Id:ada").filter.user_id, Some("ada".into()), "the names of the API work too");
    assert_eq!(parse("until:1970-01-01T00:00:01Z").filter.created_before, Some(Timestamp(1000)));
    assert_eq!(parse("  "), JobQuery::default());
}

#[test]
fn quotes_keep_spaces_commas_and_colons() {
    let query = parse(r#"type:"a b,c:d" error:"no answer",TIMEOUT"#);
    assert_eq!(query.filter.job_type, Some("a b,c:d".into()));
    assert_eq!(query.rest, [Term { what: What::Error, values: vec!["no answer".into(), "timeout".into()] }]);
    assert_eq!(parse("user:a:b").filter.user_id, Some("a:b".into()));
}

#[test]
fn several_states_are_checked_for_each_job() {
    let query = parse("state:failed,dead payload.order.id:42");
    assert!(!query.is_exact());
    assert_eq!(query.states(), ["failed", "dead"]);
    let path = vec!["order".to_owned(), "id".to_owned()];
    assert_eq!(query.rest[1], Term { what: What::Payload(path), values: vec!["42".into()] });
}

#[test]
fn flaws_say_what_is_possible() {
    let flaw = |text: &str| JobQuery::parse(text, NOW).unwrap_err();
    assert_eq!(flaw("failed"), "`failed` has no value: write it like state:failed");
    assert!(flaw("colour:red").starts_with("`colour` is not a key of the query; use state, type"));
    assert_eq!(flaw("since:soon"), "`since` must be a duration (2h) or an RFC 3339 time");
    assert_eq!(flaw("since:1h,2h"), "`since` has one value");
    assert_eq!(flaw("state:a state:b"), "`state` is given twice: separate alternatives by commas");
    assert_eq!(flaw("state:"), "`state` must have 1 to 20 values");
    assert_eq!(flaw("type:\"a"), "a quotation mark has no end");
    assert_eq!(flaw("type:\"a\"b"), "a space or a comma is missing after a quotation mark");
    assert!(flaw("payload.:1").contains("is not a key"));
    assert!(flaw(&"a".repeat(QUERY_BYTES_MAX + 1)).contains("at most"));
}

#[test]
fn plain_words_are_separated_from_terms() {
    let (terms, words) = split_words(r#"slow state:failed type:"a b" relay"#);
    assert_eq!((terms.as_str(), words.len()), (r#"state:failed type:"a b""#, 2));
    assert_eq!(words, ["slow", "relay"]);
}

#[test]
fn filters_that_contradict_each_other_admit_nothing() {
    let filter = |text: &str| parse(text).filter;
    let both = filter("type:a since:1h").and(filter("queue:q since:2h")).unwrap();
    assert_eq!(both, filter("type:a queue:q since:1h"));
    assert_eq!(filter("type:a").and(filter("type:b")), None);
}
