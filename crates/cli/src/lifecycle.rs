//! `tenure lifecycle …`: checks, shows, lists and compares lifecycles: files or built-in ones. Needs no server.

mod flaws;
mod json;
mod source;

use anyhow::Result;
use serde_json::{Value, json};
use tenure_core::lifecycle::{ChangeKind, Diff, Lifecycle, LongestLife, diff};
use tenure_diagram::{Format, draw};
use tenure_service::wire;

use crate::args::{CheckArgs, DiagramFormat, DiffArgs, LifecycleCommand, OutputFormat, ShowArgs};
use crate::output::{self, Exit};
use source::Source;

pub(crate) fn run(command: LifecycleCommand, format: OutputFormat) -> Result<Exit> {
    match command {
        LifecycleCommand::Check(args) => check(&args, format),
        LifecycleCommand::Show(args) => show(&args, format),
        LifecycleCommand::List => list(format),
        LifecycleCommand::Diff(args) => compare(&args, format),
    }
}

fn check(args: &CheckArgs, format: OutputFormat) -> Result<Exit> {
    let mut exit = Exit::Done;
    let mut answers: Vec<Value> = Vec::new();
    for name in &args.files {
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
        let answer = if args.files.len() == 1 { answers.pop() } else { Some(Value::Array(answers)) };
        if let Some(answer) = answer {
            output::json(format, &answer)?;
        }
    }
    Ok(exit)
}

fn verdict(source: &Source) -> String {
    match &source.lifecycle {
        Ok(lifecycle) => {
            let (states, rules) = (lifecycle.states.len(), lifecycle.rules.len());
            format!(
                "{}: ok, {} v{}, {states} states, {rules} rules",
                source.name, lifecycle.name, lifecycle.version
            )
        }
        Err(flaws) if flaws.len() == 1 => format!("{}: 1 flaw", source.name),
        Err(flaws) => format!("{}: {} flaws", source.name, flaws.len()),
    }
}

/// The greater exit code: a flawed file outranks a missing one, and that an unreadable one.
fn worse(one: Exit, other: Exit) -> Exit {
    if (other as u8) > (one as u8) { other } else { one }
}

/// The lifecycle of this name or file; or, after printing what is wrong with it, the exit code.
fn checked(name: &str) -> Result<Lifecycle, Exit> {
    let source = source::find(name).map_err(|error| {
        error.print();
        error.exit
    })?;
    flaws::print(&source);
    source.lifecycle.map_err(|_| Exit::Invalid)
}

fn show(args: &ShowArgs, format: OutputFormat) -> Result<Exit> {
    let lifecycle = match checked(&args.lifecycle) {
        Ok(lifecycle) => lifecycle,
        Err(exit) => return Ok(exit),
    };
    if let Some(format) = args.format {
        let format = match format {
            DiagramFormat::Text => Format::Text,
            DiagramFormat::Mermaid => Format::Mermaid,
            DiagramFormat::Dot => Format::Dot,
            DiagramFormat::Svg => Format::Svg,
        };
        output::data(&draw(&lifecycle, format))?;
        return Ok(Exit::Done);
    }
    match format {
        OutputFormat::Json | OutputFormat::Jsonl => {
            output::json(format, &json!(wire::lifecycle(&lifecycle)))?;
        }
        OutputFormat::Name => output::data(lifecycle.name.as_str())?,
        OutputFormat::Table | OutputFormat::Wide => output::data(&shown(&lifecycle))?,
    }
    Ok(Exit::Done)
}

fn shown(lifecycle: &Lifecycle) -> String {
    let ranks: Vec<String> =
        lifecycle.by_rank().iter().map(|state| format!("{} {}", state.rank, state.name)).collect();
    let policy = &lifecycle.policy;
    let attempts = if policy.max_attempts == 1 { "attempt" } else { "attempts" };
    format!(
        "{} v{}\n{}\n{}\npolicy      {} {attempts}, lease {}, heartbeat {}, cancel grace {}\nranks       {}\n\
         untouched   {}\ncrashing    {}\n",
        lifecycle.name,
        lifecycle.version,
        if lifecycle.about.is_empty() { String::new() } else { format!("{}\n", lifecycle.about) },
        draw(lifecycle, Format::Text),
        policy.max_attempts,
        policy.lease,
        policy.heartbeat,
        policy.cancel_grace,
        ranks.join(" · "),
        longest("a job that no worker claims", &lifecycle.longest_life_untouched()),
        longest("a job whose workers all crash", &lifecycle.longest_life_crashing()),
    )
}

fn longest(job: &str, life: &LongestLife) -> String {
    match life {
        LongestLife::Within(span) => format!("{job} finishes within {span}"),
        LongestLife::Waits(wait) if wait.declared => {
            format!("{job} may wait indefinitely in `{}`, which has timeout = \"never\"", wait.state)
        }
        LongestLife::Waits(wait) => {
            format!("{job} may wait indefinitely in `{}`, which has no timeout", wait.state)
        }
    }
}

fn list(format: OutputFormat) -> Result<Exit> {
    let lifecycles = Lifecycle::built_in();
    match format {
        OutputFormat::Json => {
            let all: Vec<_> = lifecycles.iter().map(wire::lifecycle).collect();
            output::json(format, &json!({ "lifecycles": all, "next_cursor": null }))?;
        }
        OutputFormat::Jsonl => {
            for lifecycle in &lifecycles {
                output::json(format, &json!(wire::lifecycle(lifecycle)))?;
            }
        }
        OutputFormat::Name => {
            for lifecycle in &lifecycles {
                output::data(lifecycle.name.as_str())?;
            }
        }
        OutputFormat::Table => {
            output::table(&["NAME", "VERSION", "STATES", "ABOUT"], &rows(&lifecycles, false))?;
        }
        OutputFormat::Wide => {
            output::table(
                &["NAME", "VERSION", "STATES", "RULES", "MOUNT", "ABOUT"],
                &rows(&lifecycles, true),
            )?;
        }
    }
    Ok(Exit::Done)
}

fn rows(lifecycles: &[Lifecycle], wide: bool) -> Vec<Vec<String>> {
    let row = |lifecycle: &Lifecycle| {
        let mut row = vec![
            lifecycle.name.to_string(),
            lifecycle.version.to_string(),
            lifecycle.states.len().to_string(),
        ];
        if wide {
            row.push(lifecycle.rules.len().to_string());
            row.push(lifecycle.api.as_ref().map_or_else(|| "-".to_owned(), |api| api.mount.clone()));
        }
        row.push(lifecycle.about.clone());
        row
    };
    lifecycles.iter().map(row).collect()
}

fn compare(args: &DiffArgs, format: OutputFormat) -> Result<Exit> {
    // Both are checked before either fails, so that the flaws of both are printed.
    let (old, new) = (checked(&args.old), checked(&args.new));
    let (old, new) = match (old, new) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(one), Err(other)) => return Ok(worse(one, other)),
        (Err(exit), Ok(_)) | (Ok(_), Err(exit)) => return Ok(exit),
    };
    let found = diff(&old, &new);
    match format {
        OutputFormat::Json | OutputFormat::Jsonl => output::json(format, &json::diff(&old, &new, &found))?,
        OutputFormat::Name => {
            for change in &found.changes {
                output::data(&change.what)?;
            }
        }
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
    let mut text = if found.compatible {
        format!("live jobs of {was} could continue under {is}")
    } else {
        format!("live jobs of {was} could not continue under {is}")
    };
    if old.name == new.name && old.version >= new.version {
        text.push_str(
            "; the new file must raise `version`, because jobs keep the version they were created with",
        );
    }
    text
}
