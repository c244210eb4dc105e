//! `tenure schedule …`: jobs at times of the calendar.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_client::Method;

use crate::args::{Form, ScheduleCommand, ScheduleCreate};
use crate::client::{Query, Server, escaped};
use crate::output::Exit;
use crate::payload;
use crate::show::{self, List, text};

const SCHEDULES: List = List {
    plural: "schedules",
    name: "id",
    columns: &[
        ("SCHEDULE", |schedule| text(&schedule["id"])),
        ("CRON", |schedule| text(&schedule["cron"])),
        ("TIMEZONE", |schedule| text(&schedule["timezone"])),
        ("TYPE", |schedule| text(&schedule["job"]["type"])),
        ("NEXT", next),
        ("LAST", |schedule| text(&schedule["last_at"])),
    ],
    more: &[
        ("LAST JOB", |schedule| text(&schedule["last_job"])),
        ("LAST ERROR", |schedule| text(&schedule["last_error"])),
        ("IN WORDS", |schedule| text(&schedule["describe"])),
    ],
};

fn next(schedule: &Value) -> String {
    if schedule["paused"] == json!(true) { "paused".to_owned() } else { text(&schedule["next_at"]) }
}

/// Runs one.
pub(crate) async fn run(command: ScheduleCommand, server: &Server, form: Form) -> Result<Exit> {
    let path = |id: &str| format!("/api/schedules/{}", escaped(id));
    let answer = match command {
        ScheduleCommand::List => {
            SCHEDULES.print(form, &server.get("/api/schedules", &Query::new()).await?)?;
            return Ok(Exit::Done);
        }
        ScheduleCommand::Create(args) => server.client.create_schedule(&body(&args)?).await?,
        ScheduleCommand::Pause(args) => server.client.pause_schedule(&args.id).await?,
        ScheduleCommand::Resume(args) => server.client.resume_schedule(&args.id).await?,
        ScheduleCommand::Delete(args) => server.client.call(Method::DELETE, &path(&args.id), None).await?,
    };
    show::one(form, &answer, "id", || {
        let times = answer["next_times"].as_array().into_iter().flatten().map(text);
        vec![
            ("schedule", text(&answer["id"])),
            ("in words", text(&answer["describe"])),
            ("timezone", text(&answer["timezone"])),
            ("type", text(&answer["job"]["type"])),
            (
                "next",
                if answer["paused"] == json!(true) {
                    next(&answer)
                } else {
                    times.collect::<Vec<_>>().join(" ")
                },
            ),
        ]
    })?;
    Ok(Exit::Done)
}

fn body(args: &ScheduleCreate) -> Result<Value> {
    let mut job = json!({ "type": args.job_type });
    if let Some(payload) = &args.payload {
        job["payload"] = payload::read(payload)?;
    }
    let more = [
        ("user_id", json!(args.user)),
        ("queue", json!(args.queue)),
        ("priority", json!(args.priority)),
        ("max_attempts", json!(args.max_attempts)),
        ("lifecycle", json!(args.lifecycle)),
    ];
    for (name, value) in more.into_iter().filter(|(_, value)| !value.is_null()) {
        job[name] = value;
    }
    let mut body = json!({
        "cron": args.cron, "timezone": args.timezone, "job": job, "misfire": args.misfire, "overlap": args.overlap,
    });
    if let Some(id) = &args.id {
        body["id"] = json!(id);
    }
    Ok(body)
}
