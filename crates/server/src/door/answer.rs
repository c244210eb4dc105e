//! The way out: a canonical answer in a door's words.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::{HeaderValue, Method, header};
use http_body_util::BodyExt as _;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::ask::{Route, Visit};
use super::words::{Object, Words, members};
use crate::problem::{MALFORMED, Problem, TOO_LARGE};

impl Visit {
    /// The answer in this door's words.
    pub(super) async fn answer(self, mut response: Response) -> Response {
        if let Some(problem) = response.extensions_mut().remove::<Problem>() {
            let problem = self.problem(problem);
            response.extensions_mut().insert(problem);
            return response;
        }
        if let Some(place) = response.headers().get(header::LOCATION).and_then(|place| self.place(place)) {
            response.headers_mut().insert(header::LOCATION, place);
        }
        let words = &self.door.words;
        match self.route {
            Route::Jobs if self.method != Method::POST => {
                rewrite(response, |page| within(page, "jobs", |jobs| each(jobs, |job| words.job(job)))).await
            }
            Route::Jobs | Route::Job | Route::Replay | Route::Report | Route::Signal => {
                rewrite(response, |job| words.job(job)).await
            }
            Route::Batch | Route::Actions => {
                let one = |part: &RawValue| {
                    let part = within(part, "ok", |job| words.job(job));
                    within(&part, "error", |problem| self.problem_of_part(problem))
                };
                rewrite(response, |results| within(results, "results", |parts| each(parts, one))).await
            }
            Route::Stream => restream(response, self.door.words.clone()),
            Route::Assets => {
                let one = |asset: &RawValue| within(asset, "url", |url| self.url(url));
                rewrite(response, |asset| within(&one(asset), "assets", |assets| each(assets, one))).await
            }
            Route::Logs | Route::Other => response,
        }
    }

    /// Where something new is, as this door has it.
    fn place(&self, canonical: &HeaderValue) -> Option<HeaderValue> {
        HeaderValue::try_from(self.door.below(canonical.to_str().ok()?)?).ok()
    }

    /// Where an asset's content is: at this door, if it is kept here.
    fn url(&self, canonical: &RawValue) -> Box<RawValue> {
        let url = serde_json::from_str::<&str>(canonical.get()).ok().and_then(|url| self.door.below(url));
        url.map_or_else(|| canonical.to_owned(), |url| to_raw_value(&url).expect("a text is JSON"))
    }

    /// A problem in this door's words.
    pub(super) fn problem(&self, mut problem: Problem) -> Problem {
        problem.reword(|code, detail, extra| self.reword(code, detail, extra));
        problem
    }

    fn problem_of_part(&self, canonical: &RawValue) -> Box<RawValue> {
        let Ok(mut problem) = serde_json::from_str::<Map<String, Value>>(canonical.get()) else {
            return canonical.to_owned();
        };
        let text = |member: Option<&Value>| member.and_then(Value::as_str).unwrap_or_default().to_owned();
        let (code, mut detail) = (text(problem.get("code")), text(problem.get("detail")));
        self.reword(&code, &mut detail, &mut problem);
        problem.insert("detail".to_owned(), detail.into());
        problem.insert("instance".to_owned(), self.path.as_str().into());
        to_raw_value(&problem).expect("a problem has string keys and finite numbers")
    }

    /// What was wrong is told where the caller has it, under the name that he gave it.
    fn reword(&self, code: &str, detail: &mut String, extra: &mut Map<String, Value>) {
        *detail = detail.replace(&self.inside, &self.path);
        if code == TOO_LARGE.code
            && let Some((field, rest)) = detail.split_once(' ')
        {
            *detail = format!("{} {rest}", self.door.words.name(field));
        }
        let errors = extra.get_mut("errors").and_then(Value::as_array_mut).filter(|_| !self.is_as_sent);
        for error in errors.into_iter().flatten() {
            let text = |member: &Value| member.as_str().unwrap_or_default().to_owned();
            let (pointer, said) = (text(&error["pointer"]), text(&error["detail"]));
            let here = self.door.words.pointer(&pointer);
            // Only what we say of a shape is about names; the rest may quote what was sent.
            let says = if code == MALFORMED.code { self.door.words.detail(&said) } else { said.clone() };
            *detail = match pointer.as_str() {
                "#" => detail.replace(&said, &says),
                _ => detail.replace(&format!("{pointer}: {said}"), &format!("{here}: {says}")),
            };
            error["pointer"] = here.into();
            error["detail"] = says.into();
        }
    }
}

/// The same answer with another body.
async fn rewrite(response: Response, make: impl Fn(&RawValue) -> Box<RawValue>) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(text) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return Response::from_parts(parts, Body::empty());
    };
    let made = serde_json::from_slice::<&RawValue>(&text).map(|canonical| make(canonical).get().to_owned());
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, made.map_or_else(|_| Body::from(text), Body::from))
}

/// The same stream; its last word has fields of the job.
fn restream(response: Response, words: Words) -> Response {
    let (parts, body) = response.into_parts();
    let pieces = body.into_data_stream().map_ok(move |piece| status(&words, &piece).unwrap_or(piece));
    Response::from_parts(parts, Body::from_stream(pieces))
}

/// A `status` event in these words. A piece of a stream is a whole event.
fn status(words: &Words, piece: &[u8]) -> Option<Bytes> {
    let (head, data) = std::str::from_utf8(piece).ok()?.split_once("\ndata: ")?;
    let data = head.starts_with("event: status\n").then_some(data)?;
    let data: &RawValue = serde_json::from_str(data).ok()?;
    Some(format!("{head}\ndata: {}\n\n", words.job(data)).into())
}

/// An object with one of its members made anew; anything else as it is.
pub(super) fn within(
    object: &RawValue,
    name: &str,
    make: impl Fn(&RawValue) -> Box<RawValue>,
) -> Box<RawValue> {
    let Some(members) = members(object) else { return object.to_owned() };
    let mut made = Object::default();
    for (member, value) in members {
        if member == name {
            made.member(&member, make(value).get());
        } else {
            made.member(&member, value.get());
        }
    }
    made.finish()
}

/// A list with each of its items made anew; anything else as it is.
pub(super) fn each(items: &RawValue, make: impl Fn(&RawValue) -> Box<RawValue>) -> Box<RawValue> {
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(items.get()) else { return items.to_owned() };
    let made: Vec<Box<RawValue>> = items.into_iter().map(make).collect();
    to_raw_value(&made).expect("items that are JSON make a list that is")
}
