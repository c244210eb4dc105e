//! `tenure lifecycle …`: check, show, list, diff. Needs no server: a lifecycle is a file, or one of those built in.

mod flaws;
mod json;
mod source;

use anyhow::Result;
use serde_json::Value;
use tenure_core::lifecycle::{ChangeKind, Diff, Format, Lifecycle, LongestLife, diff};
use tenure_core::wire;

use crate::args::{self, Form, LifecycleCommand};
use crate::output::{self, Exit};
use source::{Found, Source};

/// Runs one.
pub(crate) fn run(command: LifecycleCommand, form: Form) -> Result<Exit> {
    match command {
        LifecycleCommand::Check(args) => check(&args, form),
        LifecycleCommand::Show(args) => show(&args, form),
        LifecycleCommand::List => list(form),
        LifecycleCommand::Diff(args) => compare(&args, form),
    }
}

fn check(args: &args::Check, form: Form) -> Result<Exit> {
    let mut exit = Exit::Done;
    let mut answers: Vec<Value> = Vec::new();
    for name in &args.files {
        let source = match source::find(name) {
            Found::Source(source) => source,
            Found::Not(why, failed) => {
                output::words(&why);
                exit = worse(exit, failed);
                continue;
            }
        };
        let flaws = source.lifecycle.as_ref().err().map_or(&[][..], Vec::as_slice);
        if !flaws.is_empty() {
            exit = worse(exit, Exit::Flawed);
        }
        match form {
            Form::Json => answers.push(json::checked(&source.name, flaws)),
            Form::Jsonl => output::json(form, &json::checked(&source.name, flaws))?,
            Form::Name => {
                if let Ok(lifecycle) = &source.lifecycle {
                    output::data(lifecycle.name.as_str())?;
                }
                flaws::tell(&source);
            }
            Form::Table | Form::Wide => {
                flaws::tell(&source);
                output::data(&verdict(&source))?;
            }
        }
    }
    if form == Form::Json {
        // One file, one object; several, a list of them.
        let one = args.files.len() == 1;
        let answer = if one { answers.pop() } else { Some(Value::Array(answers)) };
        if let Some(answer) = answer {
            output::json(form, &answer)?;
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

/// A flawed file says more than one that is not there, and that more than one that could not be read.
fn worse(one: Exit, other: Exit) -> Exit {
    if (other as u8) > (one as u8) { other } else { one }
}

/// The lifecycle of this name or file; or, after saying why not, how to end.
fn proved(name: &str) -> Result<Lifecycle, Exit> {
    match source::find(name) {
        Found::Not(why, exit) => {
            output::words(&why);
            Err(exit)
        }
        Found::Source(source) => {
            flaws::tell(&source);
            source.lifecycle.map_err(|_| Exit::Flawed)
        }
    }
}

fn show(args: &args::Show, form: Form) -> Result<Exit> {
    let lifecycle = match proved(&args.lifecycle) {
        Ok(lifecycle) => lifecycle,
        Err(exit) => return Ok(exit),
    };
    if let Some(format) = args.format {
        let format = match format {
            args::Format::Text => Format::Text,
            args::Format::Mermaid => Format::Mermaid,
            args::Format::Dot => Format::Dot,
            args::Format::Svg => Format::Svg,
        };
        output::data(&lifecycle.draw(format))?;
        return Ok(Exit::Done);
    }
    match form {
        Form::Json | Form::Jsonl => output::json(form, &wire::lifecycle(&lifecycle))?,
        Form::Name => output::data(lifecycle.name.as_str())?,
        Form::Table | Form::Wide => output::data(&shown(&lifecycle))?,
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
        lifecycle.draw(Format::Text),
        policy.max_attempts,
        policy.lease,
        policy.heartbeat,
        policy.cancel_grace,
        ranks.join(" · "),
        life("a job that no worker touches", &lifecycle.longest_life_untouched()),
        life("a job whose workers all crash", &lifecycle.longest_life_crashing()),
    )
}

fn life(who: &str, life: &LongestLife) -> String {
    match life {
        LongestLife::Within(span) => format!("{who} is final within {span}"),
        LongestLife::Waits(wait) if wait.said => {
            format!("{who} may wait for ever in `{}`: the file says timeout = \"never\"", wait.state)
        }
        LongestLife::Waits(wait) => {
            format!("{who} may wait for ever in `{}`, which has no timeout", wait.state)
        }
    }
}

fn list(form: Form) -> Result<Exit> {
    let lifecycles = Lifecycle::built_in();
    match form {
        Form::Json => {
            let all: Vec<Value> = lifecycles.iter().map(wire::lifecycle).collect();
            output::json(form, &serde_json::json!({ "lifecycles": all, "next_cursor": null }))?;
        }
        Form::Jsonl => {
            for lifecycle in &lifecycles {
                output::json(form, &wire::lifecycle(lifecycle))?;
            }
        }
        Form::Name => {
            for lifecycle in &lifecycles {
                output::data(lifecycle.name.as_str())?;
            }
        }
        Form::Table => output::table(&["NAME", "VERSION", "STATES", "ABOUT"], &rows(&lifecycles, false))?,
        Form::Wide => {
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

fn compare(args: &args::Diff, form: Form) -> Result<Exit> {
    // Both are looked at, so that the flaws of both are told.
    let (old, new) = (proved(&args.old), proved(&args.new));
    let (old, new) = match (old, new) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(one), Err(other)) => return Ok(worse(one, other)),
        (Err(exit), Ok(_)) | (Ok(_), Err(exit)) => return Ok(exit),
    };
    let found = diff(&old, &new);
    match form {
        Form::Json | Form::Jsonl => output::json(form, &json::diff(&old, &new, &found))?,
        Form::Name => {
            for change in &found.changes {
                output::data(&change.what)?;
            }
        }
        Form::Table | Form::Wide => {
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
    output::words(&summary(&old, &new, &found));
    Ok(if found.compatible { Exit::Done } else { Exit::Refused })
}

fn summary(old: &Lifecycle, new: &Lifecycle, found: &Diff) -> String {
    let (was, is) = (format!("{} v{}", old.name, old.version), format!("{} v{}", new.name, new.version));
    if found.changes.is_empty() {
        return format!("{was} and {is} are the same");
    }
    let mut text = if found.compatible {
        format!("live jobs of {was} could go on under {is}")
    } else {
        format!("live jobs of {was} could not go on under {is}")
    };
    if old.name == new.name && old.version >= new.version {
        text.push_str("; the new file must raise `version`, since jobs keep the one they were created under");
    }
    text
}
