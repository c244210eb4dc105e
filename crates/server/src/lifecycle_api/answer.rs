//! Canonical answers, translated to the field names of a lifecycle API.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::{HeaderValue, Method, header};
use http_body_util::BodyExt as _;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::field_names::{FieldNames, ObjectWriter, members};
use super::request::{AliasedRequest, Route};

use crate::prelude::*;

impl AliasedRequest {
    /// The answer with the field names of this API.
    pub(super) async fn answer(self, mut response: Response) -> Response {
        if let Some(problem) = response.extensions_mut().remove::<Problem>() {
            let problem = self.problem(problem);
            response.extensions_mut().insert(problem);
            return response;
        }
        if let Some(location) =
            response.headers().get(header::LOCATION).and_then(|location| self.location(location))
        {
            response.headers_mut().insert(header::LOCATION, location);
        }
        let names = &self.api.names;
        match self.route {
            Route::Jobs if self.method != Method::POST => {
                rewrite(response, |page| within(page, "jobs", |jobs| each(jobs, |job| names.job(job)))).await
            }
            Route::Jobs | Route::Job | Route::Replay | Route::Report | Route::Signal | Route::Amend => {
                rewrite(response, |job| names.job(job)).await
            }
            Route::Batch | Route::Actions => {
                let one = |part: &RawValue| {
                    let part = within(part, "ok", |job| names.job(job));
                    within(&part, "error", |problem| self.problem_of_part(problem))
                };
                rewrite(response, |results| within(results, "results", |parts| each(parts, one))).await
            }
            Route::Stream => restream(response, self.api.names.clone()),
            Route::Assets => {
                let one = |asset: &RawValue| within(asset, "url", |url| self.url(url));
                rewrite(response, |asset| within(&one(asset), "assets", |assets| each(assets, one))).await
            }
            Route::Logs | Route::Other => response,
        }
    }

    /// The path in this API of something new.
    fn location(&self, canonical: &HeaderValue) -> Option<HeaderValue> {
        HeaderValue::try_from(self.api.below(canonical.to_str().ok()?)?).ok()
    }

    /// The URL of an asset's content: in this API, if the server stores it.
    fn url(&self, canonical: &RawValue) -> Box<RawValue> {
        let url = serde_json::from_str::<&str>(canonical.get()).ok().and_then(|url| self.api.below(url));
        url.map_or_else(|| canonical.to_owned(), |url| to_raw_value(&url).expect("a text is JSON"))
    }

    /// A problem with the field names of this API.
    pub(super) fn problem(&self, mut problem: Problem) -> Problem {
        problem.reword(|code, detail, extra| self.translate_problem(code, detail, extra));
        problem
    }

    fn problem_of_part(&self, canonical: &RawValue) -> Box<RawValue> {
        let Ok(mut problem) = serde_json::from_str::<Map<String, Value>>(canonical.get()) else {
            return canonical.to_owned();
        };
        let text = |member: Option<&Value>| member.and_then(Value::as_str).unwrap_or_default().to_owned();
        let (code, mut detail) = (text(problem.get("code")), text(problem.get("detail")));
        self.translate_problem(&code, &mut detail, &mut problem);
        problem.insert("detail".to_owned(), detail.into());
        problem.insert("instance".to_owned(), self.path.as_str().into());
        to_raw_value(&problem).expect("a problem has string keys and finite numbers")
    }

    /// Translates paths, pointers and field names in a problem.
    fn translate_problem(&self, code: &str, detail: &mut String, extra: &mut Map<String, Value>) {
        *detail = detail.replace(&self.inside, &self.path);
        if code == ProblemCode::TooLarge.code()
            && let Some((field, rest)) = detail.split_once(' ')
        {
            *detail = format!("{} {rest}", self.api.names.name(field));
        }
        let errors = extra.get_mut("errors").and_then(Value::as_array_mut).filter(|_| !self.is_as_sent);
        for error in errors.into_iter().flatten() {
            let text = |member: &Value| member.as_str().unwrap_or_default().to_owned();
            let (pointer, said) = (text(&error["pointer"]), text(&error["detail"]));
            let here = self.api.names.pointer(&pointer);
            // Only messages about a shape contain field names; others may quote what was sent.
            let says = if code == ProblemCode::Malformed.code() {
                self.api.names.detail(&said)
            } else {
                said.clone()
            };
            *detail = match pointer.as_str() {
                "#" => detail.replace(&said, &says),
                _ => detail.replace(&format!("{pointer}: {said}"), &format!("{here}: {says}")),
            };
            error["pointer"] = here.into();
            error["detail"] = says.into();
        }
    }
}

/// The same answer with a translated body.
async fn rewrite(response: Response, make: impl Fn(&RawValue) -> Box<RawValue>) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(text) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return Response::from_parts(parts, Body::empty());
    };
    let made = serde_json::from_slice::<&RawValue>(&text).map(|canonical| make(canonical).get().to_owned());
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, made.map_or_else(|_| Body::from(text), Body::from))
}

/// The same stream; its last event has fields of the job.
fn restream(response: Response, names: FieldNames) -> Response {
    let (parts, body) = response.into_parts();
    let pieces = body.into_data_stream().map_ok(move |piece| status(&names, &piece).unwrap_or(piece));
    Response::from_parts(parts, Body::from_stream(pieces))
}

/// A `status` event in these names. A piece of a stream is a whole event.
fn status(names: &FieldNames, piece: &[u8]) -> Option<Bytes> {
    let (head, data) = std::str::from_utf8(piece).ok()?.split_once("\ndata: ")?;
    let data = head.starts_with("event: status\n").then_some(data)?;
    let data: &RawValue = serde_json::from_str(data).ok()?;
    Some(format!("{head}\ndata: {}\n\n", names.job(data)).into())
}

/// An object with one of its members replaced; anything else unchanged.
pub(super) fn within(
    object: &RawValue,
    name: &str,
    make: impl Fn(&RawValue) -> Box<RawValue>,
) -> Box<RawValue> {
    let Some(members) = members(object) else { return object.to_owned() };
    let mut made = ObjectWriter::default();
    for (member, value) in members {
        if member == name {
            made.member(&member, make(value).get());
        } else {
            made.member(&member, value.get());
        }
    }
    made.finish()
}

/// A list with each of its items replaced; anything else unchanged.
pub(super) fn each(items: &RawValue, make: impl Fn(&RawValue) -> Box<RawValue>) -> Box<RawValue> {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(items.get()) else { return items.to_owned() };
    let made: Vec<Box<RawValue>> = items.into_iter().map(make).collect();
    to_raw_value(&made).expect("items that are JSON make a list that is")
}
