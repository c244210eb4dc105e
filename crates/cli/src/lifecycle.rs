//! `tenure lifecycle …`: checks, shows, lists and compares lifecycles: files or built-in ones. Only `what-if` needs a server.

mod flaws;
mod json;
mod source;
mod what_if;

use anyhow::Result;
use serde_json::{Value, json};
use tenure_core::lifecycle::{ChangeKind, Diff, Lifecycle, LongestLife, diff};
use tenure_diagram::{Format, draw};
use tenure_service::wire;

use crate::args::{DiagramFormat, LifecycleCommand, OutputFormat, ServerArgs};
use crate::output::{self, Exit};
use crate::show::Column;
use source::Source;

pub(crate) fn run(command: LifecycleCommand, format: OutputFormat, server: &ServerArgs) -> Result<Exit> {
    match command {
        LifecycleCommand::Check { files } => check(&files, format),
        LifecycleCommand::Show { lifecycle, format: diagram } => show(&lifecycle, diagram, format),
        LifecycleCommand::List => list(format),
        LifecycleCommand::Diff { old, new } => compare(&old, &new, format),
        LifecycleCommand::WhatIf { file, since } => what_if::run(&file, &since, server, format),
    }
}

fn check(files: &[String], format: OutputFormat) -> Result<Exit> {
    let mut exit = Exit::Done;
    let mut answers: Vec<Value> = Vec::new();
    for name in files {
        let source = match source::find(name) {
            Ok(source) => source,
            Err(error) => {
                error.print();
                exit = worse(exit, error.exit);
                continue;
            }
        };
        let flaws = source.lifecycle.as_ref().err().map_or(&[][..], Vec::as_slice);
        if !flaws.is_empty() {
            exit = worse(exit, Exit::Invalid);
        }
        match format {
            OutputFormat::Json => answers.push(json::checked(&source.name, flaws)),
            OutputFormat::Jsonl => output::json(format, &json::checked(&source.name, flaws))?,
            OutputFormat::Name => {
                if let Ok(lifecycle) = &source.lifecycle {
                    output::data(lifecycle.name.as_str())?;
                }
                flaws::print(&source);
            }
            OutputFormat::Table | OutputFormat::Wide => {
                flaws::print(&source);
                output::data(&verdict(&source))?;
            }
        }
    }
    if format == OutputFormat::Json {
        // One object for one file, an array for several.
        let answer = if files.len() == 1 { answers.pop() } else { Some(Value::Array(answers)) };
        if let Some(answer) = answer {
            output::json(format, &answer)?;
        }
    }
    Ok(exit)
}

fn verdict(source: &Source) -> String {
    match &source.lifecycle {
        Ok(lifecycle) => {
            let Lifecycle { name, version, states, rules, .. } = lifecycle;
            let (states, rules) = (states.len(), rules.len());
            format!("{}: ok, {name} v{version}, {states} states, {rules} rules", source.name)
        }
        Err(flaws) if flaws.len() == 1 => format!("{}: 1 flaw", source.name),
        Err(flaws) => format!("{}: {} flaws", source.name, flaws.len()),
    }
}

/// The result of a check of a lifecycle's text.
#[cfg(feature = "mcp")]
pub(crate) fn check_text(text: &str) -> Value {
    match Lifecycle::parse(text) {
        Ok(it) => {
            let (states, rules) = (it.states.len(), it.rules.len());
            json!({ "ok": true, "name": it.name, "version": it.version, "states": states, "rules": rules })
        }
        Err(flaws) => json!({ "ok": false, "flaws": flaws.iter().map(json::flaw).collect::<Vec<_>>() }),
    }
}

/// The greater exit code: a flawed file outranks a missing one, and that an unreadable one.
fn worse(one: Exit, other: Exit) -> Exit {
    if (other as u8) > (one as u8) { other } else { one }
}

/// The lifecycle of this name or file; or, after printing what is wrong with it, the exit code.
fn checked(name: &str) -> Result<Lifecycle, Exit> {
    source(name)?.lifecycle.map_err(|_| Exit::Invalid)
}

/// The text of a lifecycle; its flaws are printed.
fn source(name: &str) -> Result<Source, Exit> {
    let source = source::find(name).map_err(|error| {
        error.print();
        error.exit
    })?;
    flaws::print(&source);
    Ok(source)
}

fn show(name: &str, diagram: Option<DiagramFormat>, format: OutputFormat) -> Result<Exit> {
    let lifecycle = match checked(name) {
        Ok(lifecycle) => lifecycle,
        Err(exit) => return Ok(exit),
    };
    if let Some(diagram) = diagram {
        let diagram = match diagram {
            DiagramFormat::Text => Format::Text,
            DiagramFormat::Mermaid => Format::Mermaid,
            DiagramFormat::Dot => Format::Dot,
            DiagramFormat::Svg => Format::Svg,
        };
        output::data(&draw(&lifecycle, diagram))?;
        return Ok(Exit::Done);
    }
    match format {
        OutputFormat::Json | OutputFormat::Jsonl => output::json(format, &value(&lifecycle))?,
        OutputFormat::Name => output::data(lifecycle.name.as_str())?,
        OutputFormat::Table | OutputFormat::Wide => output::data(&shown(&lifecycle))?,
    }
    Ok(Exit::Done)
}

fn shown(lifecycle: &Lifecycle) -> String {
    let Lifecycle { name, version, policy, .. } = lifecycle;
    let about = if lifecycle.about.is_empty() { String::new() } else { format!("{}\n", lifecycle.about) };
    let diagram = draw(lifecycle, Format::Text);
    let attempts = if policy.max_attempts == 1 { "attempt" } else { "attempts" };
    let (count, lease, heartbeat) = (policy.max_attempts, policy.lease, policy.heartbeat);
    let grace = policy.cancel_grace;
    let ranks: Vec<String> =
        lifecycle.by_rank().iter().map(|state| format!("{} {}", state.rank, state.name)).collect();
    let ranks = ranks.join(" · ");
    let untouched = longest("a job that no worker claims", &lifecycle.longest_life_untouched());
    let crashing = longest("a job whose workers all crash", &lifecycle.longest_life_crashing());
    format!(
        "{name} v{version}\n{about}\n{diagram}\npolicy      {count} {attempts}, lease {lease}, heartbeat {heartbeat}, \
         cancel grace {grace}\nranks       {ranks}\nuntouched   {untouched}\ncrashing    {crashing}\n"
    )
}

fn longest(job: &str, life: &LongestLife) -> String {
    match life {
        LongestLife::Within(span) => format!("{job} finishes within {span}"),
        LongestLife::Waits(wait) => {
            let timeout = if wait.declared { "timeout = \"never\"" } else { "no timeout" };
            format!("{job} may wait indefinitely in `{}`, which has {timeout}", wait.state)
        }
    }
}

const COLUMNS: [Column<Lifecycle>; 6] = [
    ("NAME", |it| it.name.to_string()),
    ("VERSION", |it| it.version.to_string()),
    ("STATES", |it| it.states.len().to_string()),
    ("RULES", |it| it.rules.len().to_string()),
    ("MOUNT", |it| it.api.as_ref().map_or_else(|| "-".to_owned(), |api| api.mount.clone())),
    ("ABOUT", |it| it.about.clone()),
];
/// Columns that only `-o wide` has.
const WIDE_COLUMNS: [&str; 2] = ["RULES", "MOUNT"];

fn list(format: OutputFormat) -> Result<Exit> {
    let built_in = Lifecycle::built_in();
    let mut lifecycles = built_in.iter();
    match format {
        OutputFormat::Json => {
            let all: Vec<Value> = lifecycles.map(value).collect();
            output::json(format, &json!({ "lifecycles": all, "next_cursor": null }))?;
        }
        OutputFormat::Jsonl => lifecycles.try_for_each(|it| output::json(format, &value(it)))?,
        OutputFormat::Name => lifecycles.try_for_each(|it| output::data(it.name.as_str()))?,
        OutputFormat::Table | OutputFormat::Wide => {
            let is_shown = |heading| format == OutputFormat::Wide || !WIDE_COLUMNS.contains(&heading);
            let columns = COLUMNS.into_iter().filter(|(heading, _)| is_shown(*heading));
            let (headings, cells): (Vec<&str>, Vec<_>) = columns.unzip();
            let row = |it| cells.iter().map(|cell| cell(it)).collect();
            output::table(&headings, &lifecycles.map(row).collect::<Vec<_>>())?;
        }
    }
    Ok(Exit::Done)
}

fn value(lifecycle: &Lifecycle) -> Value {
    json!(wire::lifecycle(lifecycle))
}

fn compare(old: &str, new: &str, format: OutputFormat) -> Result<Exit> {
    // Both are checked before either fails, so that the flaws of both are printed.
    let (old, new) = match (checked(old), checked(new)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(one), Err(other)) => return Ok(worse(one, other)),
        (Err(exit), Ok(_)) | (Ok(_), Err(exit)) => return Ok(exit),
    };
    let found = diff(&old, &new);
    match format {
        OutputFormat::Json | OutputFormat::Jsonl => output::json(format, &json::diff(&old, &new, &found))?,
        OutputFormat::Name => found.changes.iter().try_for_each(|change| output::data(&change.what))?,
        OutputFormat::Table | OutputFormat::Wide => {
            for change in &found.changes {
                let sign = match change.kind {
                    ChangeKind::Added => '+',
                    ChangeKind::Removed => '-',
                    ChangeKind::Changed => '~',
                };
                output::data(&format!("{sign} {}: {}", change.what, change.how))?;
                if let Some(why) = &change.blocks {
                    output::data(&format!("    blocks: {why}"))?;
                }
            }
        }
    }
    output::message(&summary(&old, &new, &found));
    Ok(if found.compatible { Exit::Done } else { Exit::Refused })
}

fn summary(old: &Lifecycle, new: &Lifecycle, found: &Diff) -> String {
    let (was, is) = (format!("{} v{}", old.name, old.version), format!("{} v{}", new.name, new.version));
    if found.changes.is_empty() {
        return format!("{was} and {is} are identical");
    }
    let could = if found.compatible { "could" } else { "could not" };
    let mut text = format!("live jobs of {was} {could} continue under {is}");
    if old.name == new.name && old.version >= new.version {
        text.push_str(
            "; the new file must raise `version`, because jobs keep the version they were created with",
        );
    }
    text
}
