//! Problems (RFC 9457): the body of every error response. The only place that maps errors to status codes.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
pub use tenure_api::ProblemCode;
use tenure_core::refusal::Refusal;
use tenure_core::time::Millis;
use tenure_runtime::Failure;
use tenure_store::StoreError;

macro_rules! pages {
    ($($Code:ident $code:literal),+ $(,)?) => {
        /// The page of a code: what happened, what to do, and whether a retry helps.
        pub const fn page(code: ProblemCode) -> &'static str {
            match code {
                $(ProblemCode::$Code => include_str!(concat!("../../../docs/errors/", $code, ".md")),)+
            }
        }
    };
}

pages! {
    Malformed "malformed",
    Unauthenticated "unauthenticated",
    InsufficientCredits "insufficient_credits",
    Forbidden "forbidden",
    NotFound "not_found",
    MethodNotAllowed "method_not_allowed",
    InvalidTransition "invalid_transition",
    LeaseConflict "lease_conflict",
    Duplicate "duplicate",
    PreconditionFailed "precondition_failed",
    TooLarge "too_large",
    UnsupportedMediaType "unsupported_media_type",
    Misdirected "misdirected",
    HeadersTooLarge "headers_too_large",
    RangeNotSatisfiable "range_not_satisfiable",
    UnknownType "unknown_type",
    ValidationFailed "validation_failed",
    GuardRejected "guard_rejected",
    IdempotencyMismatch "idempotency_mismatch",
    RateLimited "rate_limited",
    QueueFull "queue_full",
    Internal "internal",
    Overloaded "overloaded",
    StoreUnavailable "store_unavailable",
}

/// The result of an operation that can be refused with a problem.
pub type Result<T, E = Problem> = std::result::Result<T, E>;

#[derive(Clone, Debug)]
pub struct Problem {
    code: ProblemCode,
    detail: String,
    extra: Map<String, Value>,
    retry_after_seconds: Option<u64>,
}

impl Problem {
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), extra: Map::new(), retry_after_seconds: None }
    }

    /// An invalid body, id or query, with a pointer to the invalid part.
    pub fn malformed(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::pointed(ProblemCode::Malformed, &pointer.into(), &detail.into())
    }

    /// A well-formed value that is not accepted.
    pub fn invalid(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::pointed(ProblemCode::ValidationFailed, &pointer.into(), &detail.into())
    }

    fn pointed(code: ProblemCode, pointer: &str, detail: &str) -> Self {
        let shown = if pointer == "#" { detail.to_owned() } else { format!("{pointer}: {detail}") };
        Self::new(code, shown).with("errors", json!([{ "pointer": pointer, "detail": detail }]))
    }

    /// The same idempotency key with a different body.
    pub fn key_reused(key: &str) -> Self {
        let detail = format!("idempotency key {key} was already used with a different body");
        Self::pointed(ProblemCode::IdempotencyMismatch, "#", &detail)
    }

    pub fn not_found(what: &str, name: impl std::fmt::Display) -> Self {
        Self::new(ProblemCode::NotFound, format!("there is no {what} {name}"))
    }

    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(ProblemCode::Forbidden, detail)
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.extra.insert(name.to_owned(), value);
        self
    }

    /// Moves the pointers below a member of the body.
    #[must_use]
    pub fn inside(mut self, member: &str) -> Self {
        let inside = format!("#/{member}");
        self.detail = self.detail.replacen('#', &inside, 1);
        for error in self.extra.get_mut("errors").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(pointer) = error["pointer"].as_str() {
                error["pointer"] = json!(pointer.replacen('#', &inside, 1));
            }
        }
        self
    }

    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    pub fn code(&self) -> &'static str {
        self.code.code()
    }

    /// Rewrites detail and extra members, given the code.
    pub fn reword(&mut self, reword: impl FnOnce(&str, &mut String, &mut Map<String, Value>)) {
        reword(self.code.code(), &mut self.detail, &mut self.extra);
    }

    pub fn title(&self) -> &'static str {
        self.code.title()
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.code.status()).expect("the table of codes has valid statuses")
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The body; `instance` is the request's path.
    pub fn to_json(&self, instance: &str) -> Value {
        let mut body = json!({
            "type": format!("/problems/{}", self.code.code()),
            "title": self.code.title(),
            "status": self.status().as_u16(),
            "detail": self.detail,
            "instance": instance,
            "code": self.code.code(),
        });
        if let Value::Object(members) = &mut body {
            members.extend(self.extra.clone());
            // An item of a batch has no header.
            let retry_after = self.retry_after_seconds.map(|seconds| Millis::seconds(seconds).to_string());
            members.extend(retry_after.map(|span| ("retry_after".to_owned(), span.into())));
        }
        body
    }

    /// The response to a request for `instance`.
    pub fn render(&self, instance: &str) -> Response {
        let mut response = (self.status(), self.to_json(instance).to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tenure\""));
        }
        response
    }
}

impl IntoResponse for Problem {
    /// The outermost layer, which knows the request's path, renders the problem.
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let code = match &refusal {
            Refusal::InvalidTransition { .. } | Refusal::Unfinished { .. } | Refusal::NotHalted(_) => {
                ProblemCode::InvalidTransition
            }
            Refusal::RoleNotPermitted { .. } => ProblemCode::Forbidden,
            Refusal::PreconditionFailed { .. } => ProblemCode::PreconditionFailed,
            Refusal::Duplicate { .. } => ProblemCode::Duplicate,
            Refusal::LeaseConflict { .. } => ProblemCode::LeaseConflict,
            Refusal::NotFound { .. } => ProblemCode::NotFound,
            Refusal::UnknownType(_) => ProblemCode::UnknownType,
            Refusal::ValidationFailed(_) => ProblemCode::ValidationFailed,
            Refusal::GuardRejected { .. } => ProblemCode::GuardRejected,
            Refusal::IdempotencyMismatch(_) => ProblemCode::IdempotencyMismatch,
            Refusal::InsufficientCredits { .. } => ProblemCode::InsufficientCredits,
            Refusal::TooLarge { .. } => ProblemCode::TooLarge,
            Refusal::RateLimited { .. } => ProblemCode::RateLimited,
            Refusal::QueueFull { .. } => ProblemCode::QueueFull,
            Refusal::TooManyBuckets { .. } => ProblemCode::Overloaded,
            Refusal::UnknownLifecycle(_) | Refusal::LifecycleChanged(_) => ProblemCode::Internal,
        };
        let retry_after_seconds = match &refusal {
            Refusal::RateLimited { retry_after } => Some(retry_after.0.div_ceil(1000)),
            Refusal::QueueFull { .. } | Refusal::TooManyBuckets { .. } => Some(1),
            _ => None,
        };
        Self { code, detail: refusal.to_string(), extra: refusal.members(), retry_after_seconds }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Overloaded => Self::new(ProblemCode::Overloaded, failure.to_string()).retry_after(1),
            Failure::Stopped => Self::new(ProblemCode::Overloaded, "this node is stopping").retry_after(1),
            Failure::Store(error) => Self::from(&*error),
            // Logged with its message where it happened.
            Failure::Panicked(_) => {
                let detail = "a defect of the server; nothing was changed; see the server's log";
                Self::new(ProblemCode::Internal, detail)
            }
        }
    }
}

impl From<&StoreError> for Problem {
    /// The cause is logged for the operator; the caller learns whether to retry.
    fn from(error: &StoreError) -> Self {
        if error.is_retryable() {
            tracing::warn!(%error, "store unavailable");
            Self::new(ProblemCode::StoreUnavailable, "the store cannot be reached now; nothing was changed")
                .retry_after(1)
        } else {
            tracing::error!(%error, "store failed");
            Self::new(ProblemCode::Internal, "the store failed; see the server's log")
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_code_begins_with_its_title() {
        for code in ProblemCode::ALL {
            assert_eq!(page(*code).lines().next(), Some(&*format!("# {}", code.title())));
        }
    }
}
