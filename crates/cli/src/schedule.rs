//! `tenure schedule …`: manages schedules.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_api::{CallId, Schedule};

use crate::args::{OutputFormat, ScheduleCommand, ScheduleCreateArgs};
use crate::client::{Answer, Server};
use crate::output::Exit;
use crate::payload;
use crate::show::{self, List, text};

const SCHEDULES: List<Schedule> = List {
    name: |schedule| text(&schedule.id),
    columns: &[
        ("SCHEDULE", |schedule| text(&schedule.id)),
        ("CRON", |schedule| text(&schedule.cron)),
        ("TIMEZONE", |schedule| text(&schedule.timezone)),
        ("TYPE", |schedule| text(&schedule.job.job_type)),
        ("NEXT", |schedule| if schedule.paused { "paused".to_owned() } else { text(&schedule.next_at) }),
        ("LAST", |schedule| text(&schedule.last_at)),
    ],
    wide_columns: &[
        ("LAST JOB", |schedule| text(&schedule.last_job)),
        ("LAST ERROR", |schedule| text(&schedule.last_error)),
        ("DESCRIPTION", |schedule| text(&schedule.describe)),
    ],
};

pub(crate) async fn run(command: ScheduleCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    let schedule: Answer<Schedule> = match command {
        ScheduleCommand::List => {
            SCHEDULES.print(format, &server.page(CallId::ListSchedules, &[], &Value::Null).await?)?;
            return Ok(Exit::Done);
        }
        ScheduleCommand::Create(args) => server.post(CallId::CreateSchedule, &[], &body(&args)?).await?,
        ScheduleCommand::Pause(args) => server.post(CallId::PauseSchedule, &[&args.id], &json!({})).await?,
        ScheduleCommand::Resume(args) => server.post(CallId::ResumeSchedule, &[&args.id], &json!({})).await?,
        ScheduleCommand::Delete(args) => server.get(CallId::DeleteSchedule, &[&args.id]).await?,
    };
    show::one(format, &schedule, &schedule.id, || {
        let times = schedule.next_times.iter().map(text).collect::<Vec<_>>();
        vec![
            ("schedule", text(&schedule.id)),
            ("description", text(&schedule.describe)),
            ("timezone", text(&schedule.timezone)),
            ("type", text(&schedule.job.job_type)),
            ("next", if schedule.paused { "paused".to_owned() } else { times.join(" ") }),
        ]
    })?;
    Ok(Exit::Done)
}

fn body(args: &ScheduleCreateArgs) -> Result<Value> {
    let mut job = json!({ "type": args.job_type });
    if let Some(payload) = &args.payload {
        job["payload"] = payload::read(payload)?;
    }
    let optional = [
        ("user_id", json!(args.user)),
        ("queue", json!(args.queue)),
        ("priority", json!(args.priority)),
        ("max_attempts", json!(args.max_attempts)),
        ("lifecycle", json!(args.lifecycle)),
    ];
    for (name, value) in optional.into_iter().filter(|(_, value)| !value.is_null()) {
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
