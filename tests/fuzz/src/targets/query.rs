//! Query parameters and cursors: filters that were read are read again from their own text, and a cursor that was issued is
//! accepted.

use axum::extract::FromRequestParts as _;
use futures_util::FutureExt as _;
use tenure_api::call::escape;
use tenure_core::id::JobId;
use tenure_core::lifecycle::Outcome;
use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
use tenure_service::problem::{Problem, ProblemCode};
use tenure_service::query::{QueryParams, decode, is_name, job_id, row_number};
use uuid::Uuid;

pub(super) fn check(input: &[u8]) {
    check_cursors(input);
    let Some(text) = super::text(input) else { return };
    check_decode(text);
    let Some(found) = read(text) else { return };
    match found {
        Ok(params) => {
            let again = read(&params.query()).expect("escaped text can be in a URL");
            let again = again.unwrap_or_else(|problem| panic!("{}: {}", params.query(), problem.detail()));
            assert_eq!(again, params, "{}", params.query());
        }
        Err(problem) => check_problem(&problem),
    }
}

/// Every parameter of the listings.
#[derive(Debug, PartialEq)]
struct Params {
    filter: DeadLetterFilter,
    page: Page,
    after: u64,
}

/// Reads a query as a listing does; `None` if it cannot be in a URL.
fn read(query: &str) -> Option<Result<Params, Problem>> {
    let request = http::Request::builder().uri(format!("/?{query}")).body(()).ok()?;
    let (mut parts, ()) = request.into_parts();
    let read = QueryParams::from_request_parts(&mut parts, &()).now_or_never();
    Some(read.expect("reading a query does not wait").and_then(|mut params| {
        let filter = params.dead_letters()?;
        let found = Params { filter, page: params.page()?, after: params.rows_after("after")? };
        params.done().map(|()| found)
    }))
}

impl Params {
    /// A query with these values.
    fn query(&self) -> String {
        let JobFilter {
            state,
            phase,
            outcome,
            lifecycle,
            job_type,
            queue,
            user_id,
            worker,
            correlation_id,
            retry_of,
            created_after,
            created_before,
            from,
        } = &self.filter.jobs;
        assert!(from.is_none(), "no parameter sets it");
        let stage = self.filter.stage.map(|stage| serde_json::to_value(stage).expect("a stage has a name"));
        let values = [
            ("state", state.as_ref().map(ToString::to_string)),
            ("phase", phase.as_ref().map(ToString::to_string)),
            ("outcome", outcome.map(|it: Outcome| it.as_str().to_owned())),
            ("lifecycle", lifecycle.as_ref().map(ToString::to_string)),
            ("type", job_type.as_ref().map(ToString::to_string)),
            ("queue", queue.as_ref().map(ToString::to_string)),
            ("user_id", user_id.as_ref().map(ToString::to_string)),
            ("worker", worker.as_ref().map(ToString::to_string)),
            ("correlation_id", correlation_id.as_ref().map(ToString::to_string)),
            ("retry_of", retry_of.map(|it| it.to_string())),
            ("created_after", created_after.map(|it| it.to_string())),
            ("created_before", created_before.map(|it| it.to_string())),
            ("reason_code", self.filter.reason_code.map(|it| it.as_str().to_owned())),
            ("stage", stage.and_then(|stage| stage.as_str().map(str::to_owned))),
            ("dismissed", Some(self.filter.dismissed.to_string())),
            ("cursor", self.page.before.map(|it| it.to_string())),
            ("limit", Some(self.page.limit.to_string())),
            ("after", Some(self.after.to_string())),
        ];
        let given =
            values.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", escape(&value?))));
        given.collect::<Vec<_>>().join("&")
    }
}

/// A query that is refused is malformed, and the problem points at the part.
fn check_problem(problem: &Problem) {
    assert_eq!(problem.code(), ProblemCode::Malformed.code(), "{}", problem.detail());
    let pointer = problem.to_json("/")["errors"][0]["pointer"].clone();
    let is_pointer = pointer.as_str().is_some_and(|pointer| pointer.starts_with(['?', '#']));
    assert!(is_pointer, "{pointer} points at nothing");
}

/// Text that was escaped is decoded to the same text.
fn check_decode(text: &str) {
    let decoded = decode(&escape(text));
    assert_eq!(decoded.ok().as_deref(), Some(text).filter(|text| !text.contains('\0')), "{text:?}");
    if let Ok(decoded) = decode(text) {
        assert_eq!(decode(&escape(&decoded)).ok(), Some(decoded.clone()));
        assert!(!is_name(&decoded) || decoded.len() <= 255);
    }
}

/// Every id and every row number that a store has is a cursor.
fn check_cursors(input: &[u8]) {
    for bytes in input.chunks_exact(16) {
        let id = JobId(Uuid::from_slice(bytes).expect("16 bytes are an id"));
        assert_eq!(job_id(&id.to_string()), Some(id));
        let row = u64::from_be_bytes(bytes[..8].try_into().expect("8 bytes are a number"));
        assert_eq!(row_number(&row.to_string()), Some(row).filter(|row| i64::try_from(*row).is_ok()));
    }
    let Some(text) = super::text(input) else { return };
    if let Some(id) = job_id(text) {
        assert!(id.to_string().eq_ignore_ascii_case(text), "{text} was read as {id}");
    }
    if let Some(row) = row_number(text) {
        assert_eq!(row.to_string().parse(), Ok(row));
    }
}
