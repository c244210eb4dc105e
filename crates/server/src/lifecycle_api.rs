//! Lifecycle APIs: the calls below `/api/jobs` again, under a path and with field names that a lifecycle defines. A request
//! is translated to canonical field names, answered by the canonical routes, and the answer is translated back.

mod answer;
pub(crate) mod field_names;
mod openapi;
mod request;

use std::convert::Infallible;

use axum::Router;
use axum::extract::{FromRequestParts, Request};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use field_names::FieldNames;
use http::request::Parts;
use request::AliasedRequest;
use serde_json::{Map, Value, json};
use tenure_config::{lifecycle_apis, mount_conflict};
use tenure_core::id::LifecycleName;
use tenure_core::job_type::{CATCH_ALL, Catalog};
use tenure_core::lifecycle::{Api, Lifecycle};
use tenure_core::text::list;
use tenure_runtime::NewJob;
use tower::ServiceExt as _;

use crate::metrics::RouteTemplate;
use crate::middleware;
use crate::prelude::*;

/// The path of the canonical routes.
const CANONICAL: &str = "/api/jobs";

/// The API of one lifecycle.
#[derive(Debug)]
pub(crate) struct LifecycleApi {
    lifecycle: LifecycleName,
    mount: String,
    names: FieldNames,
}

impl LifecycleApi {
    /// The path in this API for a canonical path; `None` for a path that is not below `/api/jobs`.
    fn below(&self, canonical: &str) -> Option<String> {
        let rest = canonical.strip_prefix(CANONICAL).filter(|rest| rest.starts_with('/'))?;
        Some(format!("{}{rest}", self.mount))
    }
}

/// All lifecycle APIs.
#[derive(Debug)]
pub(crate) struct LifecycleApis {
    apis: Vec<Arc<LifecycleApi>>,
    description: Bytes,
}

impl LifecycleApis {
    /// The APIs of these lifecycles, each in its newest version.
    pub(crate) fn new(lifecycles: &[Lifecycle]) -> Result<Self, String> {
        if let Some((_, message)) = mount_conflict(lifecycles) {
            return Err(message);
        }
        let api_of = |(lifecycle, api): (&Lifecycle, &Api)| {
            let (lifecycle, mount) = (lifecycle.name.clone(), api.mount.clone());
            Arc::new(LifecycleApi { lifecycle, mount, names: FieldNames::new(&api.fields) })
        };
        let apis: Vec<Arc<LifecycleApi>> = lifecycle_apis(lifecycles).into_iter().map(api_of).collect();
        let description = Bytes::from(openapi::describe(&apis));
        Ok(Self { apis, description })
    }

    /// The description of the whole API, including these.
    pub(crate) fn description(&self) -> Bytes {
        self.description.clone()
    }

    /// The API of a path, and the rest of the path.
    fn at<'a>(&self, path: &'a str) -> Option<(&Arc<LifecycleApi>, &'a str)> {
        let below = |api: &LifecycleApi| {
            path.strip_prefix(&*api.mount).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let matching = self.apis.iter().filter_map(|api| Some((api, below(api)?)));
        matching.min_by_key(|(_, rest)| rest.len())
    }
}

/// Answers a request without another route: through a lifecycle API, if the path belongs to one.
pub(crate) async fn serve(app: App, inside: Router, request: Request) -> Response {
    let apis = app.lifecycle_apis.get();
    let Some((api, rest)) = apis.at(request.uri().path()) else {
        return middleware::unknown_path(request.uri().clone()).await.into_response();
    };
    let mut aliased = AliasedRequest::new(Arc::clone(api), &request, rest);
    let template = aliased.template().map(RouteTemplate);
    let mut response = match aliased.translate(&app, request).await {
        Ok(request) => {
            let answered: Result<Response, Infallible> = inside.oneshot(request).await;
            let Ok(response) = answered;
            aliased.answer(response).await
        }
        Err(problem) => aliased.problem(problem).into_response(),
    };
    if let Some(template) = template {
        response.extensions_mut().insert(template);
    }
    response
}

/// The lifecycle API through which a request came, if any, with the definitions in force.
#[derive(Clone, Debug)]
pub(crate) struct AtLifecycleApi(Option<(Arc<LifecycleApi>, Catalog)>);

impl<S: Sync> FromRequestParts<S> for AtLifecycleApi {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.remove().unwrap_or(Self(None)))
    }
}

impl AtLifecycleApi {
    /// Whether a filter selects some jobs of those that the API shows. A lifecycle API adds its own name to each filter.
    pub(crate) fn is_selective(&self, filter: &Map<String, Value>) -> bool {
        let counts = |name: &str| self.0.is_none() || name != "lifecycle";
        filter.iter().any(|(name, value)| !value.is_null() && counts(name))
    }

    /// Restricts a new job to the lifecycle of the API: its type must follow that lifecycle.
    pub(crate) fn admit(&self, new: NewJob) -> Result<NewJob> {
        let Some((api, catalog)) = &self.0 else { return Ok(new) };
        let own = &api.lifecycle;
        if new.lifecycle.as_ref().is_some_and(|given| given != own) {
            return Err(Problem::invalid("#/lifecycle", format!("here every job follows {own}")));
        }
        let job_type = catalog.job_type(new.job_type.as_str());
        if job_type.is_some_and(|it| it.lifecycle.name == *own) {
            return Ok(new);
        }
        if job_type.is_some_and(|it| it.name == CATCH_ALL) {
            // The same body and key elsewhere would create a job of another lifecycle, so the key is bound to this one.
            let bound = |fingerprint: [u8; 32]| Json::of(&(fingerprint, own.as_str())).digest();
            let key = new.key.map(|key| IdempotencyKey { fingerprint: bound(key.fingerprint), ..key });
            return Ok(NewJob { lifecycle: Some(own.clone()), key, ..new });
        }
        let own_types = catalog.types().filter(|it| it.lifecycle.name == *own && it.name != CATCH_ALL);
        let mut known: Vec<String> = own_types.map(|it| it.name.to_string()).collect();
        if catalog.job_type(CATCH_ALL).is_some() {
            known.push("every type that is not declared".to_owned());
        }
        let known = if known.is_empty() { "no type".to_owned() } else { list(&known) };
        let detail = format!("type {} is unknown in this lifecycle API, which accepts {known}", new.job_type);
        let errors = json!([{ "pointer": "#/type", "detail": detail }]);
        Err(Problem::new(ProblemCode::UnknownType, detail).with("errors", errors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str, version: u32, mount: &str) -> Lifecycle {
        let mut lifecycle = Lifecycle::built_in().into_iter().find(|it| it.name == "pattern").unwrap();
        lifecycle.name = name.into();
        lifecycle.version = version;
        lifecycle.api = Some(Api { mount: mount.to_owned(), fields: Vec::new(), events: Vec::new() });
        lifecycle
    }

    #[test]
    fn the_longest_mount_answers() {
        let apis = LifecycleApis::new(&[
            at("a", 1, "/x"),
            at("b", 1, "/x/y"),
            at("c", 1, "/old"),
            at("c", 2, "/new"),
        ]);
        let apis = apis.unwrap();
        let found = |path: &'static str| apis.at(path).map(|(api, rest)| (api.lifecycle.to_string(), rest));
        assert_eq!(found("/x"), Some(("a".to_owned(), "")));
        assert_eq!(found("/x/y/z"), Some(("b".to_owned(), "/z")));
        assert_eq!(found("/x/yy"), Some(("a".to_owned(), "/yy")));
        assert_eq!(found("/new/"), Some(("c".to_owned(), "/")));
        assert_eq!((found("/old"), found("/"), found("/xx")), (None, None, None));
    }

    #[test]
    fn conflicting_mounts_are_refused() {
        for (one, other) in [("/x", "/x"), ("/x", "/x/batch"), ("/x/actions", "/x")] {
            let refused = LifecycleApis::new(&[at("a", 1, one), at("b", 1, other)]).unwrap_err();
            assert!(
                refused.contains(&format!("b cannot be mounted at {other}: lifecycle a is mounted at {one}")),
                "{refused}"
            );
        }
        assert!(LifecycleApis::new(&[at("a", 1, "/x"), at("a", 2, "/x"), at("b", 1, "/x/events")]).is_ok());
        assert!(LifecycleApis::new(&Lifecycle::built_in()).is_ok());
    }
}
