//! `tenure schedule …`: manages schedules.

use anyhow::Result;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tenure_api::request::{NewJob, NewSchedule};
use tenure_api::{CallId, JobRecord, Schedule};

use crate::args::{OutputFormat, ScheduleCommand, SchedulePlanArgs};
use crate::client::{Answer, Server};
use crate::job::JOBS;
use crate::output::Exit;
use crate::payload;
use crate::show::{List, text};

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
    pairs: |schedule| {
        let times = schedule.next_times.iter().map(text).collect::<Vec<_>>();
        vec![
            ("schedule", text(&schedule.id)),
            ("description", text(&schedule.describe)),
            ("timezone", text(&schedule.timezone)),
            ("type", text(&schedule.job.job_type)),
            ("next", if schedule.paused { "paused".to_owned() } else { times.join(" ") }),
        ]
    },
};

pub(crate) async fn run(command: ScheduleCommand, server: &Server, format: OutputFormat) -> Result<Exit> {
    let schedule = match command {
        ScheduleCommand::List => {
            return SCHEDULES.print(format, &server.page(CallId::ListSchedules, &[], &Value::Null).await?);
        }
        ScheduleCommand::Create(args) => {
            server.post(CallId::CreateSchedule, &[], &body(args.id, args.plan)?).await?
        }
        ScheduleCommand::Replace(args) => {
            server.post(CallId::ReplaceSchedule, &[&args.id], &body(None, args.plan)?).await?
        }
        ScheduleCommand::Run(args) => {
            let job: Answer<JobRecord> = server.post(CallId::RunSchedule, &[&args.id], &json!({})).await?;
            return JOBS.print_one(format, &job);
        }
        ScheduleCommand::Pause(args) => server.post(CallId::PauseSchedule, &[&args.id], &json!({})).await?,
        ScheduleCommand::Resume(args) => server.post(CallId::ResumeSchedule, &[&args.id], &json!({})).await?,
        ScheduleCommand::Delete(args) => server.get(CallId::DeleteSchedule, &[&args.id]).await?,
    };
    SCHEDULES.print_one(format, &schedule)
}

fn body(id: Option<String>, args: SchedulePlanArgs) -> Result<Value> {
    let payload = args.payload.as_deref().map(payload::read).transpose()?;
    let job = NewJob {
        job_type: args.job_type,
        payload: payload.as_ref().map(to_raw_value).transpose()?,
        user_id: args.user,
        queue: args.queue,
        priority: args.priority.map(Into::into),
        max_attempts: args.max_attempts.map(Into::into),
        lifecycle: args.lifecycle,
        ..NewJob::default()
    };
    Ok(json!(NewSchedule {
        id,
        cron: args.cron,
        timezone: Some(args.timezone),
        job: Some(to_raw_value(&job)?),
        misfire: Some(args.misfire),
        overlap: Some(args.overlap),
    }))
}
