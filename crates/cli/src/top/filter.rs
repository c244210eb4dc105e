//! The filter of `tenure top`: for jobs the query language of the API, for other views the flags of `tenure dead list` and
//! `events` as `name:value`, parsed by the same code, and plain words that a row must contain.

use clap::{Args, CommandFactory, Parser};
use tenure_core::job_query::{JobQuery, split_words};

use crate::args::{DeadFilter, EventsArgs, View};
use crate::show;

pub(super) struct Filter<F> {
    /// Sent to the server.
    pub(super) flags: F,
    /// Words that a row must contain, in lower case.
    pub(super) words: Vec<String>,
}

/// Flags without a program name.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct FilterFlags<F: Args> {
    #[command(flatten)]
    flags: F,
}

/// For views without flags.
#[derive(Args)]
pub(super) struct NoFlags {}

/// Parses a filter, or returns what is wrong with it.
pub(super) fn parse<F: Args>(text: &str) -> Result<Filter<F>, String> {
    let (named, words): (Vec<&str>, Vec<&str>) = text.split_whitespace().partition(|word| word.contains(':'));
    let command = FilterFlags::<F>::command();
    let names: Vec<&str> = command
        .get_arguments()
        .filter(|argument| argument.get_action().takes_values())
        .filter_map(clap::Arg::get_long)
        .collect();
    for (name, _) in named.iter().filter_map(|word| word.split_once(':')) {
        if !names.contains(&name) {
            let known = if names.is_empty() {
                "this view filters by words only".to_owned()
            } else {
                format!("use {}", names.join(" "))
            };
            return Err(format!("unknown filter {name:?}; {known}"));
        }
    }
    let flags = named.iter().map(|word| format!("--{}", word.replacen(':', "=", 1)));
    let parsed = FilterFlags::<F>::try_parse_from(flags).map_err(|error| {
        let message = error.to_string();
        message.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })?;
    let words = words.iter().map(|word| word.to_lowercase()).collect();
    Ok(Filter { flags: parsed.flags, words })
}

/// A filter of jobs: a query for the server, and plain words.
pub(super) fn job_query(text: &str) -> Result<Filter<Option<String>>, String> {
    let (terms, words) = split_words(text);
    JobQuery::parse(&terms, show::now())?;
    let words = words.iter().map(|word| word.to_lowercase()).collect();
    Ok(Filter { flags: Some(terms).filter(|terms| !terms.is_empty()), words })
}

/// What is wrong with a filter of this view.
pub(super) fn flaw(view: View, text: &str) -> Option<String> {
    match view {
        View::Jobs => job_query(text).err(),
        View::Dead => parse::<DeadFilter>(text).err(),
        View::Log => parse::<EventsArgs>(text).err(),
        View::Map | View::Workers | View::Queues => parse::<NoFlags>(text).err(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_has_the_flags_of_the_list_command() {
        let filter = parse::<DeadFilter>("state:failed Timeout type:image since:1h stage:exec").ok().unwrap();
        assert_eq!(filter.flags.jobs.state.as_deref(), Some("failed"));
        assert_eq!(filter.flags.jobs.job_type.as_deref(), Some("image"));
        assert_eq!(filter.flags.stage.as_deref(), Some("exec"));
        assert!(filter.flags.jobs.since.is_some());
        assert_eq!(filter.words, ["timeout"]);
    }

    #[test]
    fn jobs_are_filtered_by_the_query_language_of_the_api() {
        let filter = job_query("state:failed,dead Timeout payload.order:42").ok().unwrap();
        assert_eq!(filter.flags.as_deref(), Some("state:failed,dead payload.order:42"));
        assert_eq!(filter.words, ["timeout"]);
    }

    #[test]
    fn an_invalid_filter_is_explained() {
        let flaw = |view, text| flaw(view, text).unwrap_or_default();
        assert_eq!(flaw(View::Jobs, "state:failed one two"), "");
        assert!(flaw(View::Jobs, "stat:failed").starts_with("`stat` is not a key of the query; use state"));
        let since = flaw(View::Jobs, "since:soon");
        assert!(since.contains("must be a duration (2h)"), "{since}");
        assert!(flaw(View::Dead, "stat:failed").starts_with("unknown filter \"stat\"; use state"));
        assert!(flaw(View::Workers, "state:failed").ends_with("by words only"));
        assert!(flaw(View::Log, "follow:true").starts_with("unknown filter"));
    }
}
