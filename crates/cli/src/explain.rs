//! `tenure explain`: the `explain` call in words.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::Value;
use tenure_core::time::Timestamp;

use crate::args::{Form, One};
use crate::client::{Query, Server, job_path};
use crate::id;
use crate::output::{self, Exit};
use crate::show::{self, text};

pub(crate) async fn run(args: &One, server: &Server, form: Form) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let answer = server.get(&job_path(&job, "/explain"), &Query::new()).await?;
    match form {
        Form::Json | Form::Jsonl => output::json(form, &answer)?,
        Form::Name => output::data(&text(&answer["state"]))?,
        Form::Table | Form::Wide => output::data(&words(&answer))?,
    }
    Ok(Exit::Done)
}

/// The answer in words, line by line.
pub(crate) fn words(answer: &Value) -> String {
    let id = text(&answer["job_id"]);
    let since = show::age(&answer["since"]);
    let (job_type, state) = (text(&answer["type"]), text(&answer["state"]));
    let mut told = format!("{}  {job_type}  {state} for {since}\n", show::short(&id));
    let mut say = |title: &str, lines: Vec<String>| {
        for (index, line) in lines.into_iter().enumerate() {
            let title = if index == 0 { title } else { "" };
            let _ = writeln!(told, "  {title:12}  {line}");
        }
    };
    let rows = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
    say("waiting for", rows("waiting_for").iter().map(|it| text(&it["detail"])).collect());
    say("clock", rows("clocks").iter().map(clock).collect());
    say("next", next(&rows("next")));
    say("try", rows("try").iter().map(text).collect());
    told
}

fn names(value: &Value) -> String {
    let names = value.as_array().into_iter().flatten().map(text);
    names.collect::<Vec<_>>().join(" or ")
}

fn clock(clock: &Value) -> String {
    let at = clock["at"].as_str().and_then(Timestamp::parse);
    let left = at.map(|at| show::coarse(at - show::now())).unwrap_or_default();
    format!("{} → {} in {left}, at {}", text(&clock["trigger"]), names(&clock["to"]), text(&clock["at"]))
}

fn next(steps: &[Value]) -> Vec<String> {
    let step = |step: &Value| format!("{} → {}", text(&step["trigger"]), names(&step["to"]));
    let width = steps.iter().map(|it| step(it).chars().count()).max().unwrap_or(0);
    steps.iter().map(|it| format!("{:width$}  by {}", step(it), names(&it["who"]))).collect()
}
