//! Resources and sequences of flow control: limits, use, the busiest buckets, and what is paused or halted.

use tenure_core::command::{Command, ResourceChange};
use tenure_core::flow::{Limits, Pause, SequenceId};
use tenure_core::id::ResourceName;
use tenure_service::extract::{Named, Segments};
use tenure_store::{BucketReport, ResourceFilter, ResourceReport, SequenceFilter, SequenceReport};

use crate::prelude::*;

const COLUMNS: [&str; 6] =
    ["Resource", "Limits of each bucket", "#Running", "#Buckets", "Busiest buckets", "Status"];
const HALTED: [&str; 5] = ["Type", "Key", "#Waiting", "Halted by", "Status"];
const NO_RESOURCES: (&str, &str) =
    ("No resources are declared in tenure.toml. Show the configuration:", "tenure config");
/// Buckets that a row shows.
const BUCKETS: usize = 5;
/// Halted sequences that the page shows.
const SEQUENCES: usize = 100;

#[derive(Default)]
pub(crate) struct Resources;

impl Page for Resources {
    const TAB: Tab = Tab::Resources;

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let filter =
            ResourceFilter { limit: tenure_core::limits::RESOURCES_MAX, ..ResourceFilter::default() };
        let resources = service.store().resources(filter).await?;
        let halted = SequenceFilter { id: None, halted: true, after: None, limit: SEQUENCES };
        let halted = service.store().sequences(halted).await?;
        let lacks = Visitor::lacks(caller, Right::ManageSystem);
        let row = |resource: &ResourceReport| row(resource, lacks.as_deref());
        let content = html! {
            (rows(&resources, NO_RESOURCES, "Resources by name", &COLUMNS, row))
            @if !halted.is_empty() {
                h2 { "Halted sequences" }
                (styled_table("rows", "Sequences that a failure stopped", &HALTED, &html! {
                    @for sequence in &halted { (halted_row(sequence, lacks.as_deref())) }
                }))
            }
        };
        Ok(html! {
            div #resources { (parts.keep("resources", content)) }
            p.hint { "Running counts units of live leases over all nodes. A job that a resource blocks stays ready; its page says what it waits for. Changes of limits are in the audit log: tenure resource set NAME --running N" }
        })
    }
}

fn row(resource: &ResourceReport, lacks: Option<&str>) -> Markup {
    let name = encode(resource.name.as_str());
    html! {
        tr {
            th scope="row" { (resource.name) @if let Some(key) = &resource.key { div.quiet { "by " code { (key) } } } }
            td { (limits(&resource.limits)) @if resource.is_overridden { div.quiet { "overridden by an operator" } } }
            td.number data-label="Running" { (count(resource.running)) }
            td.number data-label="Buckets" { (count(resource.bucket_count as u64)) }
            td data-label="Busiest" { (buckets(&resource.buckets)) }
            td {
                @if let Some(pause) = &resource.paused {
                    (paused(pause)) " "
                    (button("Resume", &format!("/ui/resources/{name}/resume"), lacks))
                } @else {
                    span.quiet { "active" } " "
                    (button("Pause", &format!("/ui/resources/{name}/pause"), lacks))
                    @if resource.buckets.iter().any(|bucket| bucket.paused.is_some()) {
                        " " (button("Resume buckets", &format!("/ui/resources/{name}/resume"), lacks))
                    }
                }
            }
        }
    }
}

pub(crate) fn limits(limits: &Limits) -> Markup {
    html! {
        @if let Some(running) = limits.running { div { (count(running)) " running" } }
        @if let Some(rate) = &limits.rate { div { (count(rate.count)) " per " (span(rate.per)) @if rate.burst != rate.count { ", bursts of " (count(rate.burst)) } } }
        @if let Some(waiting) = limits.waiting { div { (count(waiting)) " unfinished" } }
        @if limits.is_empty() { span.quiet { "no limit" } }
    }
}

fn buckets(buckets: &[BucketReport]) -> Markup {
    html! {
        @for bucket in buckets.iter().take(BUCKETS) {
            div {
                @if let Some(key) = &bucket.key { strong { (key) } ": " }
                (count(bucket.running)) " running, " (count(bucket.waiting)) " unfinished"
                @if let Some(tokens) = bucket.tokens { ", " (count(tokens)) " tokens" }
                @if let Some(pause) = &bucket.paused { " " (paused(pause)) }
            }
        }
        @if buckets.len() > BUCKETS { div.quiet { "and others" } }
        @if buckets.is_empty() { span.quiet { "none in use" } }
    }
}

pub(crate) fn paused(pause: &Pause) -> Markup {
    html! {
        span.state.held { "paused" }
        @if let Some(until) = pause.until { span.quiet { " until " (when(until)) } }
        span.quiet { " by " (pause.by) }
    }
}

fn halted_row(sequence: &SequenceReport, lacks: Option<&str>) -> Markup {
    let (job_type, key) = (encode(sequence.id.job_type.as_str()), encode(sequence.id.key.as_str()));
    html! {
        tr {
            th scope="row" { a href=(format!("/ui/types/{job_type}")) { (sequence.id.job_type) } }
            td { (sequence.id.key) }
            td.number data-label="Waiting" { (count(sequence.waiting as u64)) }
            td { @if let Some((job, at)) = sequence.halted { a href=(format!("/ui/jobs/{job}")) { "the failed job" } " " (when(at)) } }
            td { span.state.failed { "halted" } " " (button("Resume", &format!("/ui/sequences/{job_type}/{key}/resume"), lacks)) }
        }
    }
}

pub(crate) async fn pause(visitor: Visitor, named: Named<ResourceName>, form: Form) -> Reply {
    change(visitor, named, form, ResourceChange::Pause { key: None, span: None }, "is paused; its jobs wait")
        .await
}

pub(crate) async fn resume(visitor: Visitor, named: Named<ResourceName>, form: Form) -> Reply {
    change(visitor, named, form, ResourceChange::Resume { key: None }, "is active again").await
}

async fn change(
    visitor: Visitor,
    Named(resource): Named<ResourceName>,
    form: Form,
    change: ResourceChange,
    message: &str,
) -> Reply {
    let Visitor { dashboard, caller, .. } = visitor;
    caller.may(Right::ManageSystem)?;
    form.done()?;
    let command = Command::ChangeResource { resource: resource.clone(), change };
    dashboard.submit(&caller, None, command).await?;
    Ok(back("/ui/resources", &format!("Resource {resource} {message}.")))
}

pub(crate) async fn resume_sequence(visitor: Visitor, Segments(segments): Segments, form: Form) -> Reply {
    let Visitor { dashboard, caller, .. } = visitor;
    caller.may(Right::ManageSystem)?;
    form.done()?;
    let [job_type, key] = &segments[..] else {
        return Err(Problem::malformed("#", "the path has a type and a key"));
    };
    let id = SequenceId { job_type: job_type.as_str().into(), key: key.as_str().into() };
    dashboard.submit(&caller, None, Command::ResumeSequence(id)).await?;
    Ok(back("/ui/resources", &format!("The sequence of {key} continues.")))
}
