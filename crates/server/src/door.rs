//! Doors: a lifecycle's own routes, in its own words. What is asked at a door is put into canonical words, answered by
//! the routes below `/api/jobs`, and the answer is put into the door's words.

mod answer;
mod ask;
mod openapi;
pub(crate) mod words;

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Request};
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use serde_json::json;
use tenure_core::command::GivenKey;
use tenure_core::id::Name;
use tenure_core::job_type::{CATCH_ALL, Catalog};
use tenure_core::json::Json;
use tenure_core::lifecycle::{Api, Lifecycle};
use tenure_core::refusal::Refusal;
use tenure_core::words::list;
use tenure_runtime::NewJob;
use tower::ServiceExt as _;

use crate::app::App;
use crate::gate;
use crate::problem::{Problem, UNKNOWN_TYPE};
use ask::Visit;
use words::Words;

/// Where the canonical routes are.
const CANONICAL: &str = "/api/jobs";

/// The door of one lifecycle.
#[derive(Debug)]
pub(crate) struct Door {
    lifecycle: Name,
    mount: String,
    words: Words,
}

impl Door {
    /// A canonical path as this door has it; nothing, if it is another.
    fn below(&self, canonical: &str) -> Option<String> {
        let rest = canonical.strip_prefix(CANONICAL).filter(|rest| rest.starts_with('/'))?;
        Some(format!("{}{rest}", self.mount))
    }
}

/// Every door that is open.
#[derive(Debug)]
pub(crate) struct Doors {
    doors: Vec<Arc<Door>>,
    description: String,
}

impl Doors {
    /// The doors of these lifecycles, each in its newest version.
    pub(crate) fn open(lifecycles: &[Lifecycle]) -> Result<Self, String> {
        if let Some((_, message)) = clash(lifecycles) {
            return Err(message);
        }
        let open = |(lifecycle, api): (&Lifecycle, &Api)| {
            let (lifecycle, mount) = (lifecycle.name.clone(), api.mount.clone());
            Arc::new(Door { lifecycle, mount, words: Words::new(&api.fields) })
        };
        let doors: Vec<Arc<Door>> = mounted(lifecycles).into_iter().map(open).collect();
        let description = openapi::describe(&doors);
        Ok(Self { doors, description })
    }

    /// The description of the whole interface, as these doors make it.
    pub(crate) fn description(&self) -> &str {
        &self.description
    }

    /// The door that a path leads to, and the rest of the path.
    fn at<'a>(&self, path: &'a str) -> Option<(&Arc<Door>, &'a str)> {
        let below = |door: &Door| {
            path.strip_prefix(&*door.mount).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let leading = self.doors.iter().filter_map(|door| Some((door, below(door)?)));
        leading.min_by_key(|(_, rest)| rest.len())
    }
}

/// The newest version of each lifecycle that has a door.
fn mounted(lifecycles: &[Lifecycle]) -> Vec<(&Lifecycle, &Api)> {
    let is_newest = |one: &Lifecycle| {
        lifecycles.iter().all(|other| other.name != one.name || other.version <= one.version)
    };
    let newest = lifecycles.iter().filter(|lifecycle| is_newest(lifecycle));
    newest.filter_map(|lifecycle| Some((lifecycle, lifecycle.api.as_ref()?))).collect()
}

/// A lifecycle whose door stands where another's routes are, and words for that.
pub(crate) fn clash(lifecycles: &[Lifecycle]) -> Option<(&Lifecycle, String)> {
    let is_route = |mount: &str, of: &str| {
        mount.strip_prefix(of).is_some_and(|rest| ["", "/batch", "/actions"].contains(&rest))
    };
    let doors = mounted(lifecycles);
    doors.iter().enumerate().find_map(|(nth, (late, api))| {
        let in_the_way = |(_, other): &&(&Lifecycle, &Api)| {
            is_route(&api.mount, &other.mount) || is_route(&other.mount, &api.mount)
        };
        let (first, other) = doors[..nth].iter().find(in_the_way)?;
        let (late_name, name, mount, taken) = (&late.name, &first.name, &api.mount, &other.mount);
        let message = format!(
            "the door of lifecycle {late_name} cannot be at {mount}: that of lifecycle {name} is at {taken}"
        );
        Some((*late, message))
    })
}

/// Answers what no other route does: at a door, if the path leads to one.
pub(crate) async fn enter(app: App, inside: Router, request: Request) -> Response {
    let Some((door, rest)) = app.doors().at(request.uri().path()) else {
        return gate::no_route(request.uri().clone()).await.into_response();
    };
    let mut visit = Visit::new(Arc::clone(door), &request, rest);
    match visit.ask(&app, request).await {
        Ok(request) => {
            let answered: Result<Response, Infallible> = inside.oneshot(request).await;
            let Ok(response) = answered;
            visit.answer(response).await
        }
        Err(problem) => visit.problem(problem).into_response(),
    }
}

/// The door at which a request came, if it came at one, and what is in force.
#[derive(Clone, Debug)]
pub(crate) struct AtDoor(Option<(Arc<Door>, Catalog)>);

impl<S: Sync> FromRequestParts<S> for AtDoor {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.remove().unwrap_or(Self(None)))
    }
}

impl AtDoor {
    /// A new job as the door takes it: of its own lifecycle, and of no type that follows another.
    pub(crate) fn admit(&self, new: NewJob) -> Result<NewJob, Problem> {
        let Some((door, catalog)) = &self.0 else { return Ok(new) };
        let own = &door.lifecycle;
        if new.lifecycle.as_ref().is_some_and(|asked| asked != own) {
            return Err(Refusal::invalid("#/lifecycle", format!("here every job follows {own}")).into());
        }
        let job_type = catalog.job_type(new.job_type.as_str());
        if job_type.is_some_and(|it| it.lifecycle.name == *own) {
            return Ok(new);
        }
        if job_type.is_some_and(|it| it.name == CATCH_ALL) {
            // The same body elsewhere asks for a job of another lifecycle: its key is another's.
            let print = |print: [u8; 32]| Json::of(&(print, own.as_str())).digest();
            let key = new.key.map(|key| GivenKey { fingerprint: print(key.fingerprint), ..key });
            return Ok(NewJob { lifecycle: Some(own.clone()), key, ..new });
        }
        let own_types = catalog.types().filter(|it| it.lifecycle.name == *own && it.name != CATCH_ALL);
        let mut known: Vec<String> = own_types.map(|it| it.name.to_string()).collect();
        if catalog.job_type(CATCH_ALL).is_some() {
            known.push("every type that is not declared".to_owned());
        }
        let known = if known.is_empty() { "no type".to_owned() } else { list(&known) };
        let detail = format!("type {} is unknown at this door, which knows {known}", new.job_type);
        let errors = json!([{ "pointer": "#/type", "detail": detail }]);
        Err(Problem::new(&UNKNOWN_TYPE, detail).with("errors", errors))
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
        let doors =
            Doors::open(&[at("a", 1, "/x"), at("b", 1, "/x/y"), at("c", 1, "/old"), at("c", 2, "/new")]);
        let doors = doors.unwrap();
        let found =
            |path: &'static str| doors.at(path).map(|(door, rest)| (door.lifecycle.to_string(), rest));
        assert_eq!(found("/x"), Some(("a".to_owned(), "")));
        assert_eq!(found("/x/y/z"), Some(("b".to_owned(), "/z")));
        assert_eq!(found("/x/yy"), Some(("a".to_owned(), "/yy")));
        assert_eq!(found("/new/"), Some(("c".to_owned(), "/")));
        assert_eq!((found("/old"), found("/"), found("/xx")), (None, None, None));
    }

    #[test]
    fn doors_in_each_other_s_way_do_not_open() {
        for (one, other) in [("/x", "/x"), ("/x", "/x/batch"), ("/x/actions", "/x")] {
            let refused = Doors::open(&[at("a", 1, one), at("b", 1, other)]).unwrap_err();
            assert!(
                refused.contains(&format!("b cannot be at {other}: that of lifecycle a is at {one}")),
                "{refused}"
            );
        }
        assert!(Doors::open(&[at("a", 1, "/x"), at("a", 2, "/x"), at("b", 1, "/x/events")]).is_ok());
        assert!(Doors::open(&Lifecycle::built_in()).is_ok());
    }
}
