//! Resources: the limit of unfinished jobs, pauses by workers, and what operators change.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::command::{PauseRequest, ResourceChange};
use crate::command_origin::CommandOrigin;
use crate::decide::audit::ValueChange;
use crate::decide::{CommandOutput, CommandResult, DecisionContext};
use crate::flow::{
    BucketId, Declarations, FlowKeys, FlowRecord, FlowRecordKind, LimitFlaw, LimitOverride, Pause,
    PauseScope, Resource, ResourceUse, scope_id,
};
use crate::id::{Name, ResourceName};
use crate::job::Job;
use crate::limits;
use crate::refusal::Refusal;
use crate::time::Millis;

/// Refuses a job whose buckets have as many unfinished jobs as they may. `known` are buckets that the job uses already.
pub(crate) fn admit(
    context: &DecisionContext<'_>,
    flow: &FlowKeys,
    known: &[ResourceUse],
) -> Result<(), Refusal> {
    let view = &context.set.flow;
    for demand in &flow.resources {
        let bucket = demand.bucket();
        if known.iter().any(|known| known.bucket() == bucket) {
            continue;
        }
        let unfinished = view.bucket(&bucket).unfinished;
        if let Some(limit) = view.state.limits(&demand.resource).waiting.filter(|limit| *limit <= unfinished)
        {
            return Err(Refusal::QueueFull { bucket, limit });
        }
        if unfinished == 0 && limits::BUCKETS_MAX <= view.buckets_in_use {
            return Err(Refusal::TooManyBuckets { limit: limits::BUCKETS_MAX });
        }
    }
    Ok(())
}

/// The bucket that a worker asks to pause.
pub(crate) fn paused_bucket(job: &Job, request: &PauseRequest) -> Result<BucketId, Refusal> {
    check_span(request.span, "#/pause/for")?;
    let used = job.flow().resources.iter().find(|used| used.resource == request.resource);
    let refusal = || {
        let detail =
            format!("a job of type {} does not use resource {}", job.spec.job_type, request.resource);
        Refusal::invalid("#/pause/resource", detail)
    };
    used.map(ResourceUse::bucket).ok_or_else(refusal)
}

/// Pauses a bucket for a worker. The longest pause wins.
pub(crate) fn pause_bucket(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    bucket: BucketId,
    span: Millis,
) {
    pause(context, by, PauseScope::Bucket(bucket), Some(span));
}

fn pause(context: &mut DecisionContext<'_>, by: &CommandOrigin, scope: PauseScope, span: Option<Millis>) {
    let now = context.now.at;
    let new = Pause { until: span.map(|span| now + span), by: by.actor.clone(), at: now };
    let known = context.set.flow.state.pauses.get(&scope).filter(|known| !known.is_over(now)).cloned();
    let pause = known.map_or_else(|| new.clone(), |known| known.or_longer(new.clone()));
    context.set.put_flow(FlowRecord::Pause(scope, pause));
}

fn check_span(span: Millis, pointer: &str) -> Result<(), Refusal> {
    if (1..=limits::FLOW_SPAN_MS_MAX).contains(&span.0) {
        return Ok(());
    }
    Err(Refusal::invalid(pointer, format!("must be from 1ms to {}", Millis(limits::FLOW_SPAN_MS_MAX))))
}

/// An operator's change. In force from this commit on.
pub(crate) fn change(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    name: &ResourceName,
    change: &ResourceChange,
) -> CommandResult {
    let declared = context.set.flow.state.declarations.resources.get(name).cloned();
    let declared = declared.ok_or_else(|| Refusal::NotFound { what: "resource", name: name.to_string() })?;
    let before = values(context, name, change);
    match change {
        ResourceChange::Set(limits) => set(context, name, &declared, *limits)?,
        ResourceChange::Reset => {
            if context.set.flow.state.overrides.contains_key(name) {
                context.set.remove_flow((FlowRecordKind::Override, name.to_string(), String::new()));
            }
        }
        ResourceChange::Pause { key, span } => {
            span.map_or(Ok(()), |span| check_span(span, "#/for"))?;
            pause(context, by, scope(name, &declared, key.as_ref())?, *span);
        }
        ResourceChange::Resume { key } => resume(context, name, scope(name, &declared, key.as_ref())?),
    }
    let after = values(context, name, change);
    if before != after {
        context.audit(by, change.verb(), name, &ValueChange::new(before, after));
    }
    Ok(CommandOutput::Nothing)
}

fn set(
    context: &mut DecisionContext<'_>,
    name: &ResourceName,
    declared: &Resource,
    limits: LimitOverride,
) -> Result<(), Refusal> {
    let units = context.set.flow.state.declarations.units_max(name);
    let refused = |flaw: LimitFlaw| Refusal::invalid(&format!("#/{}", flaw.field), flaw.detail);
    limits.over(declared.limits).check(units).map_err(refused)?;
    context.set.put_flow(FlowRecord::Override(name.clone(), limits));
    Ok(())
}

/// All buckets, or the one of a key.
fn scope(name: &ResourceName, declared: &Resource, key: Option<&Name>) -> Result<PauseScope, Refusal> {
    match key {
        None => Ok(PauseScope::Resource(name.clone())),
        Some(key) if declared.key.is_some() => {
            Ok(PauseScope::Bucket(BucketId { resource: name.clone(), key: Some(key.clone()) }))
        }
        Some(_) => Err(Refusal::invalid("#/key", format!("resource {name} has no key"))),
    }
}

/// Ends every pause of a scope, those by workers included.
fn resume(context: &mut DecisionContext<'_>, name: &ResourceName, scope: PauseScope) {
    let ended: Vec<PauseScope> = match scope {
        PauseScope::Bucket(_) => vec![scope],
        PauseScope::Resource(_) => {
            let pauses = context.set.flow.state.pauses.keys();
            pauses.filter(|paused| paused.resource() == name).cloned().collect()
        }
    };
    for scope in ended {
        if context.set.flow.state.pauses.contains_key(&scope) {
            context.set.remove_flow(scope_id(&scope));
        }
    }
}

/// A resource in the audit log. A change of one bucket shows the pause of that bucket, so that it is seen among any number of others.
fn values(context: &DecisionContext<'_>, name: &ResourceName, change: &ResourceChange) -> Value {
    let state = &context.set.flow.state;
    let changed = match change {
        ResourceChange::Pause { key, .. } | ResourceChange::Resume { key } => key.as_ref(),
        ResourceChange::Set(_) | ResourceChange::Reset => None,
    };
    let is_shown = |scope: &PauseScope| match scope {
        PauseScope::Resource(_) => changed.is_none(),
        PauseScope::Bucket(bucket) => changed.is_none_or(|key| bucket.key.as_ref() == Some(key)),
    };
    let pauses = state.pauses.iter().filter(|(scope, pause)| {
        scope.resource() == name && is_shown(scope) && !pause.is_over(context.now.at)
    });
    let pauses: Vec<Value> = pauses
        .take(limits::LISTED_BUCKETS_MAX)
        .map(|(scope, pause)| match scope {
            PauseScope::Resource(_) => json!({ "until": pause.until }),
            PauseScope::Bucket(bucket) => json!({ "key": bucket.key, "until": pause.until }),
        })
        .collect();
    let origin = if state.overrides.contains_key(name) { "override" } else { "file" };
    json!({ "limits": state.limits(name), "origin": origin, "paused": pauses })
}

/// Puts the declarations of a node that starts in force.
pub(crate) fn declare(context: &mut DecisionContext<'_>, declarations: &Arc<Declarations>) -> CommandOutput {
    if context.set.flow.state.declarations != *declarations {
        context.set.put_flow(FlowRecord::Declarations(Arc::clone(declarations)));
    }
    CommandOutput::Nothing
}

/// Removes pauses that are over, a bounded number at once.
pub(crate) fn prune(context: &mut DecisionContext<'_>) {
    let now = context.now.at;
    let pauses = context.set.flow.state.pauses.iter().filter(|(_, pause)| pause.is_over(now));
    let over: Vec<_> = pauses.map(|(scope, _)| scope_id(scope)).take(limits::PRUNE_ROWS_MAX).collect();
    for id in over {
        context.set.remove_flow(id);
    }
}
