//! Resources and sequences of flow control: their use, and what operators change.

use tenure_core::command::ResourceChange;
use tenure_core::flow::{LimitOverride, Rate, SequenceId};
use tenure_core::id::{ResourceName, TypeName};
use tenure_service::query::is_name;
use tenure_store::{ResourceFilter, SequenceFilter};

use crate::http::prelude::*;

pub(crate) async fn list(State(app): State<App>, mut params: QueryParams) -> Reply {
    let (after, limit) = (params.text("cursor").map(ResourceName::from), params.limit()?);
    params.done()?;
    let found = app.store().resources(ResourceFilter { after, limit, ..ResourceFilter::default() }).await?;
    let next = next_cursor(&found, limit, |resource| resource.name.to_string());
    page(CallId::ListResources, found.iter().map(wire::resource).collect(), next)
}

pub(crate) async fn get(
    State(app): State<App>,
    Named(name): Named<ResourceName>,
    mut params: QueryParams,
) -> Reply {
    let key = params.text("key").map(Name::from);
    params.done()?;
    shown(&app, name, key).await
}

async fn shown(app: &App, name: ResourceName, key: Option<Name>) -> Reply {
    let filter = ResourceFilter { name: Some(name.clone()), key, limit: 1, ..ResourceFilter::default() };
    match app.store().resources(filter).await?.first() {
        Some(resource) => ok(&wire::resource(resource)),
        None => Err(Problem::new(ProblemCode::NotFound, format!("there is no resource {name}"))),
    }
}

pub(crate) async fn set(
    call: CallContext,
    Named(name): Named<ResourceName>,
    body: Body<request::SetResourceLimits>,
) -> Reply {
    let request::SetResourceLimits { running, rate, waiting } = body.value;
    require(running.is_some() || rate.is_some() || waiting.is_some(), "#", "has no limit")?;
    let limits = LimitOverride {
        running: running.map(|raw| limit("#/running", &raw)).transpose()?,
        rate: rate.map(|raw| given_rate(&raw)).transpose()?,
        waiting: waiting.map(|raw| limit("#/waiting", &raw)).transpose()?,
    };
    change(&call, body.key, name, ResourceChange::Set(limits)).await
}

/// A number, or null for no limit.
fn limit(pointer: &str, raw: &RawValue) -> Result<Option<u64>> {
    serde_json::from_str(raw.get()).map_err(|_| Problem::malformed(pointer, "must be a whole number or null"))
}

fn given_rate(raw: &RawValue) -> Result<Option<Rate>> {
    if raw.get() == "null" {
        return Ok(None);
    }
    let rate: request::SetRate = parse(raw.get()).map_err(|problem| problem.inside("rate"))?;
    let per = span("#/rate/per", Some(rate.per))?.unwrap_or_default();
    Ok(Some(Rate { count: rate.count, per, burst: rate.burst.unwrap_or(rate.count) }))
}

pub(crate) async fn reset(call: CallContext, Named(name): Named<ResourceName>) -> Reply {
    change(&call, None, name, ResourceChange::Reset).await
}

pub(crate) async fn pause(
    call: CallContext,
    Named(name): Named<ResourceName>,
    body: Body<request::ResourcePause>,
) -> Reply {
    let request::ResourcePause { key, span: lasts } = body.value;
    let (key, span) = (key.map(Name::from), span("#/for", lasts)?);
    change(&call, body.key, name, ResourceChange::Pause { key, span }).await
}

pub(crate) async fn resume(
    call: CallContext,
    Named(name): Named<ResourceName>,
    body: OptionalBody<request::ResourceResume>,
) -> Reply {
    let key = body.value.key.map(Name::from);
    change(&call, body.key, name, ResourceChange::Resume { key }).await
}

async fn change(
    call: &CallContext,
    key: Option<IdempotencyKey>,
    resource: ResourceName,
    change: ResourceChange,
) -> Reply {
    call.submit(key, Command::ChangeResource { resource: resource.clone(), change }).await?;
    shown(call, resource, None).await
}

pub(crate) async fn sequences(State(app): State<App>, mut params: QueryParams) -> Reply {
    let (halted, limit) = (params.flag("halted")?, params.limit()?);
    let after = params.text("cursor").as_deref().map(sequence_of);
    params.done()?;
    let found = app.store().sequences(SequenceFilter { id: None, halted, after, limit }).await?;
    let next = next_cursor(&found, limit, |sequence| cursor_of(&sequence.id));
    page(CallId::ListSequences, found.iter().map(wire::sequence).collect(), next)
}

/// Type and key. Every text is a place in the list, so that no cursor is refused.
fn cursor_of(id: &SequenceId) -> String {
    format!("{}\n{}", id.job_type, id.key)
}

/// A type has no control characters.
fn sequence_of(cursor: &str) -> SequenceId {
    let (job_type, key) = cursor.split_once('\n').unwrap_or((cursor, ""));
    SequenceId { job_type: job_type.into(), key: key.into() }
}

pub(crate) async fn resume_sequence(
    call: CallContext,
    Segments(segments): Segments,
    body: EmptyBody,
) -> Reply {
    let [job_type, key] = &segments[..] else {
        return Err(Problem::malformed("#", "the path has a type and a key"));
    };
    require(is_name(job_type), "#", "a type has 1 to 255 bytes and no control characters")?;
    let id = SequenceId { job_type: TypeName::from(job_type.as_str()), key: key.as_str().into() };
    call.submit(body.key, Command::ResumeSequence(id.clone())).await?;
    let filter = SequenceFilter { id: Some(id), limit: 1, ..SequenceFilter::default() };
    let found = call.store().sequences(filter).await?;
    ok(&found.first().map(wire::sequence).unwrap_or_default())
}
