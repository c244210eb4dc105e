//! `tenure job logs`: the lines themselves for people, everything about them for programs.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_client::{Follow, LogLine};

use crate::args::{Form, Logs};
use crate::client::{Query, Server, job_path};
use crate::output::{self, Exit};
use crate::{id, show};

pub(super) async fn run(args: &Logs, server: &Server, form: Form) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    if args.follow {
        return follow(server, &job, form).await;
    }
    let (mut lines, mut after) = (Vec::new(), args.after.to_string());
    loop {
        let page = server.get(&job_path(&job, "/logs"), &Query::new().with("after", Some(&after))).await?;
        let more = page["lines"].as_array().cloned().unwrap_or_default();
        if form == Form::Json {
            lines.extend(more);
        } else {
            more.iter().try_for_each(|line| print(form, line))?;
        }
        match page["next_cursor"].as_str() {
            Some(next) => next.clone_into(&mut after),
            None => break,
        }
    }
    if form == Form::Json {
        output::json(form, &json!({ "lines": lines, "next_cursor": null }))?;
    }
    Ok(Exit::Done)
}

async fn follow(server: &Server, job: &str, form: Form) -> Result<Exit> {
    // What has no end in sight is written a line at a time.
    let form = if form == Form::Json { Form::Jsonl } else { form };
    let mut following = server.client.follow(job);
    while let Some(seen) = following.next().await {
        match seen? {
            Follow::Log(LogLine { n, ts, stream, level, text }) => {
                let line = json!({ "n": n, "ts": ts, "stream": stream, "level": level, "text": text });
                print(form, &line)?;
            }
            Follow::Status { state, .. } => output::words(&format!("the job ended: {state}")),
        }
    }
    Ok(Exit::Done)
}

fn print(form: Form, line: &Value) -> Result<()> {
    let text = line["text"].as_str().map(show::plain).unwrap_or_default();
    match form {
        Form::Json | Form::Jsonl => output::json(Form::Jsonl, line)?,
        Form::Name => output::data(&show::text(&line["n"]))?,
        Form::Table => output::data(&text)?,
        Form::Wide => {
            let cells = [&line["n"], &line["ts"], &line["stream"], &line["level"]].map(show::text);
            let head = output::line(&cells, &[4, 24, 6, 5]);
            output::data(&format!("{head}  {text}"))?;
        }
    }
    Ok(())
}
