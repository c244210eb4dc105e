//! `tenure dead …`: jobs that were given up.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_core::time::Timestamp;

use crate::args::{DeadCommand, DeadFilter, DeadList, Dismiss, Form, Redrive};
use crate::client::{Query, Server, escaped, job_path};
use crate::output::{self, Exit, Trouble};
use crate::show::{self, List, age, text};
use crate::{id, job};

/// Dead letters, for people.
pub(crate) const LETTERS: List = List {
    plural: "dead_letters",
    name: "job_id",
    columns: &[
        ("JOB", |letter| text(&letter["job_id"])),
        ("REASON", |letter| text(&letter["reason_code"])),
        ("STAGE", |letter| text(&letter["stage"])),
        ("ATTEMPTS", |letter| text(&letter["attempts"])),
        ("AGE", |letter| age(&letter["created_at"])),
        ("ERROR", |letter| show::error(&letter["last_error"])),
    ],
    more: &[
        ("LAST OWNER", |letter| text(&letter["last_owner"])),
        ("CORRELATION", |letter| text(&letter["correlation_id"])),
        ("DISMISSED", |letter| text(&letter["dismissed_reason"])),
    ],
};

/// Runs one.
pub(crate) async fn run(command: DeadCommand, server: &Server, form: Form) -> Result<Exit> {
    match command {
        DeadCommand::List(args) => list(&args, server, form).await,
        DeadCommand::Get(args) => {
            let job = id::resolve(server, &args.job).await?;
            print(form, &letter_of(server, &job).await?)
        }
        DeadCommand::Redrive(args) => redrive(&args, server, form).await,
        DeadCommand::Dismiss(args) => dismiss(&args, server, form).await,
    }
}

/// The filters of `GET /api/dead-letters`.
pub(crate) async fn filter(filter: &DeadFilter, server: &Server) -> Result<Query> {
    let query = job::filter(&filter.jobs, server).await?;
    Ok(query.with("reason_code", filter.reason_code.as_ref()).with("stage", filter.stage.as_ref()))
}

async fn list(args: &DeadList, server: &Server, form: Form) -> Result<Exit> {
    let query = filter(&args.filter, server).await?;
    let query =
        query.with("dismissed", args.dismissed.then_some("true")).with("cursor", args.cursor.as_ref());
    let answer = server.list("/api/dead-letters", "dead_letters", &query, args.limit).await?;
    LETTERS.print(form, &answer)?;
    job::say_more(&answer, "tenure dead list");
    Ok(Exit::Done)
}

/// The letter of a job, dismissed or not: among those of jobs that were created in the same millisecond.
async fn letter_of(server: &Server, id: &str) -> Result<Value> {
    let job = server.get(&job_path(id, ""), &Query::new()).await?;
    let created = job["created_at"].as_str().and_then(Timestamp::parse).unwrap_or_default().0;
    for dismissed in ["false", "true"] {
        let query = Query::new()
            .with("created_after", Some(Timestamp((created - 1).max(0))))
            .with("created_before", Some(Timestamp(created + 1)))
            .with("dismissed", Some(dismissed));
        let mut letters = server.list("/api/dead-letters", "dead_letters", &query, usize::MAX).await?;
        let letters = letters["dead_letters"].as_array_mut().map(std::mem::take).unwrap_or_default();
        if let Some(letter) = letters.into_iter().find(|letter| letter["job_id"] == id) {
            return Ok(letter);
        }
    }
    let sentence = format!("job {id} has no dead letter: it is {}", text(&job["state"]));
    Err(Trouble::new(Exit::NotFound, sentence).into())
}

async fn redrive(args: &Redrive, server: &Server, form: Form) -> Result<Exit> {
    let mut body = if args.all {
        json!({ "filter": filter(&args.filter, server).await?.object() })
    } else {
        let mut ids = Vec::new();
        for job in &args.jobs {
            ids.push(id::resolve(server, job).await?);
        }
        json!({ "ids": ids })
    };
    if let Some(count) = args.max_per_second {
        body["max_per_second"] = json!(count);
    }
    let answer = server.post("/api/dead-letters/redrive", &body).await?;
    let results = answer["results"].as_array().cloned().unwrap_or_default();
    let refused: Vec<&Value> = results.iter().filter(|result| !result["error"].is_null()).collect();
    match form {
        Form::Json => output::json(form, &answer)?,
        Form::Jsonl => results.iter().try_for_each(|result| output::json(form, result))?,
        Form::Name | Form::Table | Form::Wide => {
            let made = results.iter().filter(|result| result["error"].is_null());
            made.map(|result| text(&result["ok"]["id"])).try_for_each(|id| output::data(&id))?;
        }
    }
    for result in &refused {
        let problem = &result["error"];
        output::words(&format!("tenure: {}: {}", text(&problem["code"]), text(&problem["detail"])));
    }
    output::words(&format!("{} redriven, {} refused", results.len() - refused.len(), refused.len()));
    Ok(if refused.is_empty() { Exit::Done } else { Exit::Refused })
}

async fn dismiss(args: &Dismiss, server: &Server, form: Form) -> Result<Exit> {
    let job = id::resolve(server, &args.job).await?;
    let path = format!("/api/dead-letters/{}/dismiss", escaped(&job));
    print(form, &server.post(&path, &json!({ "reason": args.reason })).await?)
}

fn print(form: Form, letter: &Value) -> Result<Exit> {
    show::one(form, letter, "job_id", || {
        vec![
            ("job", text(&letter["job_id"])),
            ("reason", text(&letter["reason_code"])),
            ("stage", text(&letter["stage"])),
            ("error", text(&letter["last_error"]["text"])),
            ("attempts", text(&letter["attempts"])),
            ("last owner", text(&letter["last_owner"])),
            ("created", text(&letter["created_at"])),
            ("dismissed", text(&letter["dismissed_at"])),
            ("by", text(&letter["dismissed_by"])),
            ("because", text(&letter["dismissed_reason"])),
        ]
    })?;
    Ok(Exit::Done)
}
