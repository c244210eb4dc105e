//! `tenure explain`: why a job is in its state and what can happen next.

use std::fmt::Write as _;

use anyhow::Result;
use tenure_api::{CallId, Clock, Explanation, NextTransition};
use tenure_core::time::Timestamp;

use crate::args::{JobArgs, OutputFormat};
use crate::client::{Answer, Server};
use crate::id;
use crate::output::{self, Exit};
use crate::show::{self, text};

pub(crate) async fn run(args: &JobArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let explanation: Answer<Explanation> = server.get(CallId::ExplainJob, &[&job]).await?;
    match format {
        OutputFormat::Json | OutputFormat::Jsonl => output::raw_json(format, &explanation.raw)?,
        OutputFormat::Name => output::data(&text(&explanation.state))?,
        OutputFormat::Table | OutputFormat::Wide => output::data(&describe(&explanation))?,
    }
    Ok(Exit::Done)
}

/// The explanation as lines of text.
pub(crate) fn describe(explanation: &Explanation) -> String {
    let Explanation { job_id, job_type, state, since, .. } = explanation;
    let mut out =
        format!("{}  {}  {} for {}\n", show::short(job_id), text(job_type), text(state), show::age(since));
    let mut section = |title: &str, lines: Vec<String>| {
        for (index, line) in lines.into_iter().enumerate() {
            let title = if index == 0 { title } else { "" };
            let _ = writeln!(out, "  {title:12}  {line}");
        }
    };
    section("waiting for", explanation.waiting_for.iter().map(|it| text(&it.detail)).collect());
    section("clock", explanation.clocks.iter().map(clock).collect());
    section("next", next_steps(&explanation.next));
    section("try", explanation.tries.iter().map(text).collect());
    out
}

fn alternatives(names: &[String]) -> String {
    names.iter().map(text).collect::<Vec<_>>().join(" or ")
}

fn clock(clock: &Clock) -> String {
    let at = Timestamp::parse(&clock.at);
    let left = at.map(|at| show::short_duration(at - show::now())).unwrap_or_default();
    format!("{} → {} in {left}, at {}", text(&clock.trigger), alternatives(&clock.to), text(&clock.at))
}

fn next_steps(steps: &[NextTransition]) -> Vec<String> {
    let transition = |step: &NextTransition| format!("{} → {}", text(&step.trigger), alternatives(&step.to));
    let width = steps.iter().map(|step| transition(step).chars().count()).max().unwrap_or(0);
    steps.iter().map(|step| format!("{:width$}  by {}", transition(step), alternatives(&step.who))).collect()
}
