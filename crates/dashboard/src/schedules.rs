//! Schedules: their next times and last jobs; run, pause, replace, create and delete them.

mod form;
mod one;

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::command::Command;
use tenure_core::decide::CommandOutput;
use tenure_core::id::Name;
use tenure_core::schedule::{Schedule, ScheduleChange};
use tenure_service::extract::Segments;
use tenure_service::query::is_name;
use tenure_service::schedules::{self, Times};

use crate::icon;
use crate::prelude::*;
pub(crate) use one::one;

const COLUMNS: [&str; 6] = ["Schedule", "Times", "Type", "Next run", "Last run", "Actions"];
const DELETE: &str = "Delete this schedule? Its jobs stay.";
const NONE: (&str, &str) =
    ("No schedules. Create one:", "tenure schedule create --id nightly '0 3 * * *' hello");

#[derive(Default)]
pub(crate) struct Schedules;

impl Page for Schedules {
    const TAB: Tab = Tab::Schedules;

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let schedules = all(service).await?;
        let lacks = Visitor::lacks(caller, Right::ManageSystem);
        let row = |it: &Schedule| row(service, it, lacks.as_deref());
        let content = rows(&schedules, NONE, "Schedules by id", &COLUMNS, row);
        Ok(html! {
            div #schedules { (parts.keep("schedules", content)) }
            (form::create(lacks.as_deref()))
        })
    }
}

async fn all(service: &Service) -> Result<Vec<Schedule>> {
    let known = service.store().automations(AutomationKind::Schedule).await?.into_iter();
    Ok(known.filter_map(Automation::into_schedule).collect())
}

async fn find(service: &Service, id: &Name) -> Result<Schedule> {
    let found = all(service).await?.into_iter().find(|schedule| schedule.id == *id);
    found.ok_or_else(|| Problem::not_found("schedule", id))
}

fn address(id: &Name) -> String {
    format!("/ui/schedules/{}", encode(id.as_str()))
}

fn row(service: &Service, it: &Schedule, lacks: Option<&str>) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(address(&it.id)) { (it.id) } }
            td data-label="Times" {
                span.mono { (it.plan.cron) } " " span.quiet { (it.plan.timezone) }
                @if let Some(words) = Times::of(service, it).describe { div.quiet { (words) } }
            }
            td data-label="Type" { (it.plan.job.job_type) }
            td data-label="Next run" { (next(it)) }
            td data-label="Last run" { (last(it)) }
            td { (actions(it, lacks)) }
        }
    }
}

fn next(it: &Schedule) -> Markup {
    html! {
        @if let Some(at) = it.next_at { (until(at)) }
        @else { span.state.held { (icon::phase(Phase::Waiting)) "paused" } }
    }
}

fn last(it: &Schedule) -> Markup {
    html! {
        @if let Some(at) = it.last_at { (when(at)) }
        @if let Some(id) = it.last_job { " " (job_link(id)) }
        @if it.last_at.is_none() && it.last_job.is_none() { span.quiet { "never" } }
        @if let Some(error) = &it.last_error { div.failed { "no job: " (error) } }
    }
}

fn actions(it: &Schedule, lacks: Option<&str>) -> Markup {
    let act = |label: &str, act: &str| button(label, &format!("{}/{act}", address(&it.id)), lacks);
    html! {
        div.row {
            (act("Run now", "run"))
            @if it.next_at.is_some() { (act("Pause", "pause")) } @else { (act("Resume", "resume")) }
        }
    }
}

/// `POST /ui/schedules`.
pub(crate) async fn create(visitor: Visitor, mut form: Form) -> Reply {
    let Visitor { dashboard, caller, .. } = visitor;
    caller.may(Right::ManageSystem)?;
    let id = form::id(&mut form)?;
    let plan = form::plan(&mut form)?;
    form.done()?;
    form::check_scope(&dashboard, &caller, &plan)?;
    let output = dashboard.runtime().add_schedule(caller.origin(), id.clone(), plan).await??;
    let message = match output {
        CommandOutput::Automation { replayed: true, .. } => format!("Schedule {id} existed already."),
        _ => format!("Schedule {id} is created."),
    };
    Ok(back(&address(&id), &message))
}

/// `POST /ui/schedules/{id}/{act}`.
pub(crate) async fn act(visitor: Visitor, Segments(path): Segments, mut form: Form) -> Reply {
    visitor.caller.may(Right::ManageSystem)?;
    if !is_name(&path[0]) {
        return Err(Problem::malformed("#", "the path does not name a schedule"));
    }
    let (id, act) = (Name::from(path[0].as_str()), path[1].as_str());
    if act == "delete" {
        let to = address(&id);
        let question = Question { tab: Tab::Schedules, text: DELETE, label: "Delete schedule", back: &to };
        if let Some(page) = form.ask(&visitor, question).await? {
            return Ok(page);
        }
    }
    let Visitor { dashboard, caller, .. } = visitor;
    let plan = if act == "replace" { Some(form::plan(&mut form)?) } else { None };
    form.done()?;
    let schedule = find(&dashboard, &id).await?;
    let change = |change| Command::ChangeSchedule { id: id.clone(), change };
    let message = match act {
        "run" => return run(&dashboard, &caller, &schedule).await,
        "replace" => {
            let plan = plan.expect("it was read");
            form::check_scope(&dashboard, &caller, &plan)?;
            dashboard.runtime().replace_schedule(caller.origin(), id.clone(), plan).await??;
            "is changed"
        }
        "pause" => {
            dashboard.submit(&caller, None, change(ScheduleChange::Pause)).await?;
            "is paused"
        }
        "resume" => {
            dashboard.runtime().resume_schedule(caller.origin(), &schedule, None).await??;
            "continues with its next time"
        }
        "delete" => {
            dashboard.submit(&caller, None, change(ScheduleChange::Remove)).await?;
            return Ok(back("/ui/schedules", &format!("Schedule {id} is deleted; its jobs stay.")));
        }
        other => {
            let detail = format!("there is no action {}", other.escape_debug());
            return Err(Problem::new(ProblemCode::NotFound, detail));
        }
    };
    Ok(back(&address(&id), &format!("Schedule {id} {message}.")))
}

async fn run(service: &Service, caller: &Caller, schedule: &Schedule) -> Reply {
    match schedules::run(service, caller, schedule, None).await? {
        CommandOutput::Job { job, .. } | CommandOutput::Amended(job) => {
            Ok(back(&job_address(job.id()), &format!("Schedule {} created this job.", schedule.id)))
        }
        _ => Ok(back(&address(&schedule.id), "Done.")),
    }
}
