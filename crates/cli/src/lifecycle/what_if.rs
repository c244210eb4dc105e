//! `tenure lifecycle what-if`: what a new version would have changed, by the jobs of a server.

use anyhow::Result;
use serde_json::json;
use tenure_api::{CallId, HistoriesCheck, HistoryCheck, LiveStateCheck, ReplayObstacle, WhatIf};
use tenure_core::lifecycle::Lifecycle;
use tenure_core::text::grouped;
use tenure_core::time::Millis;

use crate::args::{OutputFormat, ServerArgs};
use crate::client::{Answer, Server};
use crate::output::{self, CliError, Exit};

pub(super) fn run(file: &str, since: &str, server: &ServerArgs, format: OutputFormat) -> Result<Exit> {
    if Millis::parse(since).is_none() {
        let error = CliError::new(Exit::Usage, format!("`{since}` is not a duration such as \"1d\""));
        return Err(error.into());
    }
    let source = match super::source(file) {
        Ok(source) => source,
        Err(exit) => return Ok(exit),
    };
    let Ok(lifecycle) = &source.lifecycle else { return Ok(Exit::Invalid) };
    crate::call(server, async |server| ask(lifecycle, &source.text, since, server, format).await)
}

async fn ask(
    lifecycle: &Lifecycle,
    text: &str,
    since: &str,
    server: &Server,
    format: OutputFormat,
) -> Result<Exit> {
    let body = json!({ "source": text, "since": since });
    let found: Answer<WhatIf> = server.post(CallId::TryLifecycle, &[lifecycle.name.as_str()], &body).await?;
    match format {
        OutputFormat::Json | OutputFormat::Jsonl => output::raw_json(format, &found.raw)?,
        OutputFormat::Name => changed(&found).try_for_each(output::data)?,
        OutputFormat::Table | OutputFormat::Wide => print(&found)?,
    }
    output::message(&summary(&found));
    let live = &found.live;
    Ok(if live.could_continue < live.examined { Exit::Refused } else { Exit::Done })
}

/// The named jobs that could not continue or would have ended otherwise.
fn changed(found: &WhatIf) -> impl Iterator<Item = &str> {
    let live = found.live.states.iter().filter(|state| !state.reasons.is_empty());
    let histories = found.histories.results.iter().filter(|result| differs(result));
    let live = live.flat_map(|state| &state.examples);
    live.chain(histories.flat_map(|result| &result.examples)).map(String::as_str)
}

fn differs(result: &HistoryCheck) -> bool {
    result.new_state.as_ref() != Some(&result.state) || result.new_outcome.as_ref() != Some(&result.outcome)
}

fn print(found: &WhatIf) -> Result<()> {
    let live = |it: &LiveStateCheck| {
        let reasons =
            if it.reasons.is_empty() { "yes".to_owned() } else { format!("no: {}", it.reasons.join("; ")) };
        vec![format!("v{}", it.version), it.state.clone(), it.phase.clone(), grouped(it.jobs), reasons]
    };
    if !found.live.states.is_empty() {
        let rows: Vec<_> = found.live.states.iter().map(live).collect();
        output::table(&["VERSION", "LIVE IN", "ROLE", "JOBS", "COULD CONTINUE"], &rows)?;
        output::data("\n")?;
    }
    let result = |it: &HistoryCheck| {
        let example = it.examples.first().cloned().unwrap_or_default();
        vec![end(&it.state, Some(&it.outcome)), new_end(it), grouped(it.jobs), example]
    };
    let rows: Vec<_> = found.histories.results.iter().map(result).collect();
    output::table(&["ENDED", "WOULD HAVE ENDED", "JOBS", "EXAMPLE"], &rows)?;
    let obstacle = |it: &ReplayObstacle| {
        let example = it.examples.first();
        let example = example.map(|one| format!("{} event {}", one.job_id, one.seq)).unwrap_or_default();
        vec![it.detail.clone(), grouped(it.jobs), example]
    };
    if !found.histories.obstacles.is_empty() {
        output::data("\n")?;
        let rows: Vec<_> = found.histories.obstacles.iter().map(obstacle).collect();
        output::table(&["COULD NOT FOLLOW", "JOBS", "EXAMPLE"], &rows)?;
    }
    Ok(())
}

fn end(state: &str, outcome: Option<&String>) -> String {
    match outcome {
        Some(outcome) if outcome == state => state.to_owned(),
        Some(outcome) => format!("{state} ({outcome})"),
        None => format!("unfinished in {state}"),
    }
}

fn new_end(result: &HistoryCheck) -> String {
    let end = match &result.new_state {
        Some(state) => end(state, result.new_outcome.as_ref()),
        None => "could not follow an event".to_owned(),
    };
    match result.early {
        0 => end,
        early => format!("{end}, {} earlier", grouped(early)),
    }
}

fn summary(found: &WhatIf) -> String {
    let WhatIf { name, version, in_force, live, histories, .. } = found;
    let differing: u64 = histories.results.iter().filter(|it| differs(it)).map(|it| it.jobs).sum();
    let (could, all) = (grouped(live.could_continue), grouped(live.examined));
    let (otherwise, replayed) = (grouped(differing), grouped(histories.examined - histories.skipped));
    let mut lines = vec![format!(
        "{name} v{version}, by the jobs of v{in_force} and before: {could} of {all} live jobs could continue; \
         {otherwise} of {replayed} would have ended otherwise"
    )];
    lines.extend(bounds(found, histories));
    if version <= in_force {
        let raise = "the new file must raise `version`, because jobs keep the version they were created with";
        lines.push(raise.to_owned());
    }
    lines.push(
        "this replays recorded triggers; what workers would have done otherwise is not known".to_owned(),
    );
    lines.join("\n")
}

/// What was not examined.
fn bounds(found: &WhatIf, histories: &HistoriesCheck) -> impl Iterator<Item = String> {
    let (live, examined) = (&found.live, grouped(histories.examined));
    let newest = (live.examined < live.jobs)
        .then(|| format!("of {} live jobs, the newest were examined", grouped(live.jobs)));
    let some = (!histories.complete).then(|| {
        format!(
            "more jobs finished since {}: {examined} of them were examined, spread over the time",
            found.from
        )
    });
    let skipped = (histories.skipped > 0)
        .then(|| format!("{} histories were too long or are gone", grouped(histories.skipped)));
    newest.into_iter().chain(some).chain(skipped)
}
