//! Requests of a lifecycle API, translated to canonical ones.

use axum::body::Body;
use axum::extract::Request;
use bytes::Bytes;
use http::{Method, Uri};
use tenure_api::call::{Place, escape};
use tenure_api::schema::{Described as _, Object};
use tenure_api::{CallId, JobRecord, request};
use tenure_service::body::read;
use tenure_service::extract::Authenticated;
use tenure_service::query::decode;

use super::answer::{each, within};
use super::field_names::{ObjectWriter, members};
use super::{AtLifecycleApi, CANONICAL, LifecycleApi};
use crate::body::{BodyLimit, BufferedBody, unblocked};
use crate::http::stream;
use crate::prelude::*;
use crate::router::{self, Reserved};

/// How a call of a lifecycle API has fields of a job in its request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Jobs,
    Batch,
    Actions,
    /// One job: read, explained, or after a change.
    Job,
    Replay,
    Report,
    Signal,
    Amend,
    Stream,
    Logs,
    /// Its assets, or one of them.
    Assets,
    /// No fields of a job.
    Other,
}

impl Route {
    pub(super) fn of(call: CallId) -> Self {
        match call {
            CallId::CreateJob | CallId::ListJobs => Self::Jobs,
            CallId::CreateJobs => Self::Batch,
            CallId::ActOnJobs => Self::Actions,
            CallId::GetJob
            | CallId::DeleteJob
            | CallId::ExplainJob
            | CallId::CancelJob
            | CallId::RetryJob
            | CallId::DeadLetterJob => Self::Job,
            CallId::ReplayJob => Self::Replay,
            CallId::SignalJob => Self::Signal,
            CallId::AmendJob => Self::Amend,
            CallId::StreamJob => Self::Stream,
            CallId::ListJobLogs | CallId::AppendJobLogs => Self::Logs,
            CallId::ListJobAssets | CallId::AddJobAsset | CallId::GetJobAsset => Self::Assets,
            _ if call.verb().is_some() => Self::Report,
            _ => Self::Other,
        }
    }

    /// The fields of a job that the body may have; `None` where the body is passed on unchanged.
    fn body_fields(self) -> Option<Vec<&'static str>> {
        match self {
            Self::Jobs | Self::Batch => Some(job_fields(&request::NewJob::OBJECT)),
            Self::Actions => Some(job_fields(&request::JobFilter::OBJECT)),
            Self::Report => Some(job_fields(&request::Report::OBJECT)),
            Self::Signal => Some(job_fields(&request::Signal::OBJECT)),
            Self::Amend => Some(job_fields(&request::Amend::OBJECT)),
            Self::Logs => Some(job_fields(&request::NewLogLines::OBJECT)),
            Self::Job => Some(Vec::new()),
            Self::Replay | Self::Stream | Self::Assets | Self::Other => None,
        }
    }
}

fn is_job_field(name: &str) -> bool {
    JobRecord::OBJECT.fields.iter().any(|field| field.name == name)
}

fn job_fields(object: &Object) -> Vec<&'static str> {
    object.fields.iter().map(|field| field.name).filter(|name| is_job_field(name)).collect()
}

/// The fields of a job that are query parameters of a call.
pub(super) fn query_fields(call: CallId) -> Vec<&'static str> {
    let call = call.call();
    let parameters = call.parameters.iter().filter(|parameter| parameter.place == Place::Query);
    let parameters = parameters.map(|parameter| parameter.name).filter(|name| is_job_field(name));
    parameters.chain(call.filter.map(job_fields).unwrap_or_default()).collect()
}

#[derive(Debug)]
pub(super) struct AliasedRequest {
    pub(super) api: Arc<LifecycleApi>,
    pub(super) method: Method,
    call: Option<CallId>,
    pub(super) route: Route,
    /// The path of the request.
    pub(super) path: String,
    /// The canonical path.
    pub(super) inside: String,
    /// The body is passed on unchanged, because it is not JSON.
    pub(super) is_as_sent: bool,
    job: Option<JobId>,
}

impl AliasedRequest {
    /// `rest` is the part of the path below the mount; a trailing slash is ignored.
    pub(super) fn new(api: Arc<LifecycleApi>, request: &Request, rest: &str) -> Self {
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let inside = format!("{CANONICAL}{rest}");
        let read_as = if method == Method::HEAD { Method::GET } else { method.clone() };
        let call = CallId::find(read_as.as_str(), &inside);
        let route = call.map_or(Route::Other, Route::of);
        let named = rest.split('/').nth(1).filter(|_| !matches!(route, Route::Batch | Route::Actions));
        let job = named.and_then(|text| job_id(&decode(text).ok()?));
        Self { api, method, call, route, path, inside, is_as_sent: false, job }
    }

    /// The route below the mount, with names in braces; `None` if there is none.
    pub(super) fn template(&self) -> Option<String> {
        let rest = self.call?.call().path.strip_prefix(CANONICAL)?;
        Some(format!("{}{rest}", self.api.mount))
    }

    /// Whether a caller has the right to this call. The canonical route refuses others.
    fn is_allowed(&self, caller: &Result<Caller>) -> bool {
        let Ok(caller) = caller else { return false };
        self.call.is_none_or(|id| id.call().access.allows(|right| caller.is(right)))
    }

    /// The canonical request. Callers without valid credentials or without the right are refused by the canonical route;
    /// nothing of their bodies is read.
    pub(super) async fn translate(&mut self, app: &App, request: Request) -> Result<Request> {
        let (mut parts, mut body) = request.into_parts();
        let caller = stream::identify_at(self.call, self.job, app, &mut parts).await;
        let mut inside = self.inside.clone();
        if self.is_allowed(&caller) {
            self.check_job(app).await?;
            inside.push_str(&self.query(parts.uri.query().unwrap_or_default())?);
            if matches!(self.method, Method::POST | Method::PATCH)
                && let Some((takes, call)) = self.route.body_fields().zip(self.call)
            {
                let limit = BodyLimit::of(call, &app.limits());
                let reserved = Arc::new(router::reserve(call, app, &parts, limit)?);
                parts.extensions.insert(Reserved(reserved));
                let text = read(body, &parts.headers, limit.0).await?;
                let (api, route, length) = (Arc::clone(&self.api), self.route, text.len());
                let translate = move || canonical_body(&api, route, text, &takes);
                let translated = unblocked(length, translate).await?;
                self.is_as_sent = translated.is_as_sent;
                parts.extensions.insert(BufferedBody(translated.text));
                body = Body::empty();
            }
        }
        parts.uri = Uri::try_from(inside).expect("a path below another prefix is a path");
        if self.method == Method::HEAD {
            // The answer is translated before its length is known.
            parts.method = Method::GET;
        }
        parts.extensions.insert(Authenticated(caller));
        if matches!(self.call, Some(CallId::CreateJob | CallId::CreateJobs | CallId::ActOnJobs)) {
            let at = AtLifecycleApi(Some((Arc::clone(&self.api), app.runtime().catalog())));
            parts.extensions.insert(at);
        }
        Ok(Request::from_parts(parts, body))
    }

    /// A job of another lifecycle is not found here.
    async fn check_job(&self, app: &App) -> Result<()> {
        let Some(id) = self.job else { return Ok(()) };
        match app.store().job(id).await? {
            Some(job) if job.spec.lifecycle.name != self.api.lifecycle => Err(Problem::not_found("job", id)),
            _ => Ok(()),
        }
    }

    /// The canonical query, with its `?`; a list is restricted to jobs of this lifecycle.
    fn query(&self, sent: &str) -> Result<String> {
        let own = self.api.lifecycle.as_str();
        let mut pairs = Vec::new();
        let takes = self.call.map(query_fields).unwrap_or_default();
        let mut narrowed = self.call != Some(CallId::ListJobs);
        for pair in sent.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            let name = self.api.names.canonical_name(&name, &takes);
            if !narrowed && name == "lifecycle" {
                if decode(value)? != own {
                    return Err(self.api.other_lifecycle("?lifecycle"));
                }
                narrowed = true;
            }
            pairs.push(format!("{}={value}", escape(&name)));
        }
        if !narrowed {
            pairs.push(format!("lifecycle={own}"));
        }
        Ok(if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) })
    }
}

/// The body of a canonical request.
struct CanonicalBody {
    text: Bytes,
    is_as_sent: bool,
}

/// The canonical body. A body that is not JSON is passed on unchanged, and refused by the canonical route.
fn canonical_body(api: &LifecycleApi, route: Route, sent: Bytes, takes: &[&str]) -> Result<CanonicalBody> {
    let text = std::str::from_utf8(&sent).ok();
    // The items of a batch are checked one by one.
    let text = text.filter(|text| route == Route::Batch || Json::check(text).is_ok());
    let Some(whole) = text.and_then(|text| serde_json::from_str::<&RawValue>(text).ok()) else {
        return Ok(CanonicalBody { text: sent, is_as_sent: true });
    };
    let names = &api.names;
    let translated = match route {
        Route::Batch => within(whole, "jobs", |jobs| {
            each(jobs, |job| match Json::check(job.get()) {
                Ok(_) => names.canonical(job, takes),
                Err(_) => job.to_owned(),
            })
        }),
        Route::Actions => {
            let filter = members(whole).into_iter().flatten().find(|(name, _)| name == "filter");
            if filter.is_some_and(|(_, filter)| api.is_other_lifecycle(&names.canonical(filter, takes))) {
                return Err(api.other_lifecycle("#/filter/lifecycle"));
            }
            within(whole, "filter", |filter| api.narrowed(&names.canonical(filter, takes)))
        }
        _ => names.canonical(whole, takes),
    };
    Ok(CanonicalBody { text: Bytes::from(translated.get().to_owned()), is_as_sent: false })
}

impl LifecycleApi {
    fn other_lifecycle(&self, pointer: &str) -> Problem {
        Problem::malformed(pointer, format!("here every job follows {}", self.lifecycle))
    }

    /// Whether a filter selects jobs of another lifecycle.
    fn is_other_lifecycle(&self, filter: &RawValue) -> bool {
        let given = members(filter).into_iter().flatten().find(|(name, _)| name == "lifecycle");
        given.is_some_and(|(_, given)| {
            serde_json::from_str::<Option<String>>(given.get())
                .is_ok_and(|given| given.is_some_and(|given| given != self.lifecycle.as_str()))
        })
    }

    /// A filter restricted to jobs of this lifecycle.
    fn narrowed(&self, filter: &RawValue) -> Box<RawValue> {
        let Some(members) = members(filter) else { return filter.to_owned() };
        let mut object = ObjectWriter::default();
        let is_null = |(name, value): &&(String, &RawValue)| name == "lifecycle" && value.get() == "null";
        for (name, value) in members.iter().filter(|member| !is_null(member)) {
            object.member(name, value.get());
        }
        if members.iter().filter(|member| !is_null(member)).all(|(name, _)| name != "lifecycle") {
            object.member("lifecycle", &format!("\"{}\"", self.lifecycle));
        }
        object.finish()
    }
}
