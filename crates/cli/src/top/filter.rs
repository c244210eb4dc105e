//! What stands after `/`: the flags of `tenure job list`, `dead list` and `events` as `name:value`, read by the same
//! code; and plain words, which must stand in a row as it is shown.

use clap::{Args, CommandFactory, Parser};

use crate::args::{DeadFilter, Events, JobFilter, View};

/// A filter that has been read.
pub(super) struct Sought<F> {
    /// What the server is asked for.
    pub(super) asked: F,
    /// What a row must have in it, in small letters.
    pub(super) words: Vec<String>,
}

/// Flags without a program before them.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Spoken<F: Args> {
    #[command(flatten)]
    asked: F,
}

/// No flags at all: workers are few.
#[derive(Args)]
pub(super) struct Nothing {}

/// Reads a filter, or says what is wrong with it.
pub(super) fn read<F: Args>(text: &str) -> Result<Sought<F>, String> {
    let (named, words): (Vec<&str>, Vec<&str>) = text.split_whitespace().partition(|word| word.contains(':'));
    let command = Spoken::<F>::command();
    let names: Vec<&str> = command
        .get_arguments()
        .filter(|argument| argument.get_action().takes_values())
        .filter_map(clap::Arg::get_long)
        .collect();
    for (name, _) in named.iter().filter_map(|word| word.split_once(':')) {
        if !names.contains(&name) {
            let known = if names.is_empty() { "plain words alone".to_owned() } else { names.join(" ") };
            return Err(format!("no filter is called {name:?} here; there are: {known}"));
        }
    }
    let flags = named.iter().map(|word| format!("--{}", word.replacen(':', "=", 1)));
    let spoken = Spoken::<F>::try_parse_from(flags).map_err(|error| {
        let told = error.to_string();
        told.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })?;
    let words = words.iter().map(|word| word.to_lowercase()).collect();
    Ok(Sought { asked: spoken.asked, words })
}

/// What is wrong with a filter of this view, if anything.
pub(super) fn flaw(view: View, text: &str) -> Option<String> {
    match view {
        View::Jobs => read::<JobFilter>(text).err(),
        View::Dead => read::<DeadFilter>(text).err(),
        View::Log => read::<Events>(text).err(),
        View::Map | View::Workers => read::<Nothing>(text).err(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_the_flags_of_the_list() {
        let sought = read::<DeadFilter>("state:failed Timeout type:image since:1h stage:exec").ok().unwrap();
        assert_eq!(sought.asked.jobs.state.as_deref(), Some("failed"));
        assert_eq!(sought.asked.jobs.job_type.as_deref(), Some("image"));
        assert_eq!(sought.asked.stage.as_deref(), Some("exec"));
        assert!(sought.asked.jobs.since.is_some());
        assert_eq!(sought.words, ["timeout"]);
    }

    #[test]
    fn what_is_no_filter_is_told() {
        let flaw = |view, text| flaw(view, text).unwrap_or_default();
        assert_eq!(flaw(View::Jobs, "state:failed one two"), "");
        assert!(
            flaw(View::Jobs, "stat:failed")
                .starts_with("no filter is called \"stat\" here; there are: state")
        );
        assert!(
            flaw(View::Jobs, "since:soon").contains("neither a time"),
            "{}",
            flaw(View::Jobs, "since:soon")
        );
        assert!(flaw(View::Workers, "state:failed").ends_with("plain words alone"));
        assert!(flaw(View::Log, "follow:true").starts_with("no filter"));
    }
}
