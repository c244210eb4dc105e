//! The form of a schedule: empty for a new one, or with the values of an existing one.

use tenure_core::id::Name;
use tenure_core::json::Json;
use tenure_core::limits::{ATTEMPTS_MAX, PRIORITY_MAX};
use tenure_core::schedule::{Misfire, Overlap, Plan, Schedule, Template};
use tenure_runtime::schedules::new_job;
use tenure_service::fields::{name, parsed, require};

use crate::prelude::*;

/// Characters of an id.
const ID_CHARS_MAX: usize = 64;

/// Policies, and what they do.
const MISFIRES: [(Misfire, &str, &str); 3] = [
    (Misfire::Once, "once", "one job for all of them"),
    (Misfire::Skip, "skip", "no job"),
    (Misfire::All, "all", "a job for each"),
];
const OVERLAPS: [(Overlap, &str, &str); 2] =
    [(Overlap::Allow, "allow", "another job"), (Overlap::Skip, "skip", "no job")];

/// The form of a new schedule.
pub(super) fn create(lacks: Option<&str>) -> Markup {
    html! {
        details.apart {
            summary { "Create a schedule" }
            form.filters method="post" action="/ui/schedules" {
                label { "Id" input name="id" required maxlength=(ID_CHARS_MAX) pattern="[A-Za-z0-9._\\-]+" autocomplete="off"; }
                (fields(None, lacks))
                button type="submit" disabled[lacks.is_some()] title=[lacks] { "Create" }
            }
        }
    }
}

/// The form that replaces the values of a schedule.
pub(super) fn edit(it: &Schedule, action: &str, lacks: Option<&str>) -> Markup {
    html! {
        details.apart {
            summary { "Edit" }
            form.filters method="post" action=(action) {
                (fields(Some(&it.plan), lacks))
                button type="submit" disabled[lacks.is_some()] title=[lacks] { "Save" }
            }
        }
    }
}

fn fields(plan: Option<&Plan>, lacks: Option<&str>) -> Markup {
    let is_off = lacks.is_some();
    let job = plan.map(|plan| &plan.job);
    let misfire = plan.map_or(Misfire::default(), |plan| plan.misfire);
    let overlap = plan.map_or(Overlap::default(), |plan| plan.overlap);
    let line = |field: &str, label: &str, value: Option<String>, hint: &str| {
        html! { label { (label) input name=(field) value=[value] placeholder=(hint) disabled[is_off] autocomplete="off" spellcheck="false"; } }
    };
    let number = |field: &str, label: &str, value: Option<i64>| {
        html! { label { (label) input type="number" name=(field) value=[value] placeholder="the type's" disabled[is_off]; } }
    };
    html! {
        label { "Cron" input.mono name="cron" required value=[plan.map(|plan| &plan.cron)] placeholder="30 2 * * *" disabled[is_off] autocomplete="off" spellcheck="false"; }
        (line("timezone", "Time zone", plan.map(|plan| plan.timezone.to_string()), "UTC"))
        label { "Type" input name="type" required value=[job.map(|job| &job.job_type)] disabled[is_off] autocomplete="off" spellcheck="false"; }
        (line("user", "User", job.and_then(|job| job.user_id.as_ref()).map(ToString::to_string), "none"))
        (line("queue", "Queue", job.and_then(|job| job.queue.as_ref()).map(ToString::to_string), "the type's"))
        (number("priority", "Priority", job.and_then(|job| job.priority).map(Into::into)))
        (number("max_attempts", "Attempts", job.and_then(|job| job.max_attempts).map(Into::into)))
        (line("lifecycle", "Lifecycle", job.and_then(|job| job.lifecycle.as_ref()).map(ToString::to_string), "the type's"))
        label { "Missed times"
            select name="misfire" disabled[is_off] {
                @for (policy, value, words) in MISFIRES { option value=(value) selected[policy == misfire] { (words) } }
            }
        }
        label { "Last job unfinished"
            select name="overlap" disabled[is_off] {
                @for (policy, value, words) in OVERLAPS { option value=(value) selected[policy == overlap] { (words) } }
            }
        }
        label.whole { "Payload, JSON" textarea name="payload" rows="4" spellcheck="false" disabled[is_off] { (job.map_or("{}", |job| job.payload.as_str())) } }
    }
}

pub(super) fn id(form: &mut Form) -> Result<Name> {
    let id = form.need("id")?;
    let fits = id.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"._-".contains(&letter));
    let detail = format!("must have 1 to {ID_CHARS_MAX} letters, digits, dots, dashes and underscores");
    require(fits && id.len() <= ID_CHARS_MAX, "id", detail)?;
    Ok(id.into())
}

/// The values of a form.
pub(super) fn plan(form: &mut Form) -> Result<Plan> {
    let cron = form.need("cron")?.trim().to_owned();
    let job_type = name("type", Some(form.need("type")?))?.expect("a name was given");
    let mut text = |field: &str| form.take(field).filter(|text| !text.trim().is_empty());
    let payload = text("payload").unwrap_or_else(|| "{}".to_owned());
    let payload = Json::parse(&payload).map_err(|flaw| Problem::malformed("payload", flaw.to_string()))?;
    let priority = text("priority").map(|text| whole("priority", &text)).transpose()?;
    let is_in_range = priority.is_none_or(|priority| priority.abs() <= i64::from(PRIORITY_MAX));
    require(is_in_range, "priority", format_args!("must be within ±{PRIORITY_MAX}"))?;
    let max_attempts = text("max_attempts").map(|text| whole("max_attempts", &text)).transpose()?;
    let is_in_range = max_attempts.is_none_or(|attempts| (1..=i64::from(ATTEMPTS_MAX)).contains(&attempts));
    require(is_in_range, "max_attempts", format_args!("must be from 1 to {ATTEMPTS_MAX}"))?;
    let job = Template {
        job_type,
        payload,
        lifecycle: name("lifecycle", text("lifecycle"))?,
        user_id: name("user", text("user"))?,
        queue: name("queue", text("queue"))?,
        priority: priority.map(|priority| priority as i32),
        max_attempts: max_attempts.map(|attempts| attempts as u32),
    };
    Ok(Plan {
        cron,
        timezone: name("timezone", text("timezone"))?.unwrap_or_else(|| "UTC".into()),
        job,
        misfire: parsed("misfire", text("misfire"))?.unwrap_or_default(),
        overlap: parsed("overlap", text("overlap"))?.unwrap_or_default(),
    })
}

fn whole(field: &str, text: &str) -> Result<i64> {
    text.trim().parse().map_err(|_| Problem::malformed(field, "must be a whole number"))
}

/// Refuses a plan whose jobs the caller may not create.
pub(super) fn check_scope(service: &Service, caller: &Caller, plan: &Plan) -> Result<()> {
    caller.may_create(&service.runtime().catalog(), &new_job(plan))
}
