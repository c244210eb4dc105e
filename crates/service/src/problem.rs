//! Problems (RFC 9457): what every answer with a status of 400 or more looks like. The only place with status codes.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};
use tenure_core::refusal::{Pointed, Refusal};
use tenure_runtime::Failure;
use tenure_store::StoreError;

/// A kind of problem: its code, its status, and the page that says what to do.
#[derive(Debug)]
pub struct Kind {
    pub code: &'static str,
    status: StatusCode,
    pub page: &'static str,
}

macro_rules! kinds {
    ($($name:ident $code:literal $status:ident),+ $(,)?) => {
        $(pub const $name: Kind = Kind {
            code: $code,
            status: StatusCode::$status,
            page: include_str!(concat!("../../../docs/errors/", $code, ".md")),
        };)+
        /// Every kind.
        pub const KINDS: &[&Kind] = &[$(&$name),+];
    };
}

kinds! {
    MALFORMED "malformed" BAD_REQUEST,
    UNAUTHENTICATED "unauthenticated" UNAUTHORIZED,
    INSUFFICIENT_CREDITS "insufficient_credits" PAYMENT_REQUIRED,
    FORBIDDEN "forbidden" FORBIDDEN,
    NOT_FOUND "not_found" NOT_FOUND,
    METHOD_NOT_ALLOWED "method_not_allowed" METHOD_NOT_ALLOWED,
    INVALID_TRANSITION "invalid_transition" CONFLICT,
    LEASE_CONFLICT "lease_conflict" CONFLICT,
    TOO_LARGE "too_large" PAYLOAD_TOO_LARGE,
    UNSUPPORTED_MEDIA_TYPE "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE,
    MISDIRECTED "misdirected" MISDIRECTED_REQUEST,
    RANGE_NOT_SATISFIABLE "range_not_satisfiable" RANGE_NOT_SATISFIABLE,
    UNKNOWN_TYPE "unknown_type" UNPROCESSABLE_ENTITY,
    VALIDATION_FAILED "validation_failed" UNPROCESSABLE_ENTITY,
    GUARD_REJECTED "guard_rejected" UNPROCESSABLE_ENTITY,
    IDEMPOTENCY_MISMATCH "idempotency_mismatch" UNPROCESSABLE_ENTITY,
    RATE_LIMITED "rate_limited" TOO_MANY_REQUESTS,
    INTERNAL "internal" INTERNAL_SERVER_ERROR,
    OVERLOADED "overloaded" SERVICE_UNAVAILABLE,
    STORE_UNAVAILABLE "store_unavailable" SERVICE_UNAVAILABLE,
}

impl Kind {
    /// The first line of its page.
    pub fn title(&self) -> &'static str {
        self.page.lines().next().unwrap_or_default().trim_start_matches("# ")
    }
}

/// Why a request came to nothing.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: &'static Kind,
    detail: String,
    extra: Map<String, Value>,
    retry_after_seconds: Option<u64>,
}

impl Problem {
    pub fn new(kind: &'static Kind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), extra: Map::new(), retry_after_seconds: None }
    }

    /// Not JSON, the wrong shape, a bad id, a bad query: with a pointer to the place.
    pub fn malformed(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let (pointer, detail) = (pointer.into(), detail.into());
        let shown = if pointer == "#" { detail.clone() } else { format!("{pointer}: {detail}") };
        Self::new(&MALFORMED, shown).with("errors", json!([{ "pointer": pointer, "detail": detail }]))
    }

    /// There is no such thing.
    pub fn not_found(what: &str, name: impl std::fmt::Display) -> Self {
        Self::new(&NOT_FOUND, format!("there is no {what} {name}"))
    }

    /// This caller may not.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(&FORBIDDEN, detail)
    }

    /// One more member.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.extra.insert(name.to_owned(), value);
        self
    }

    /// The same, found in a member of the body.
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

    /// When to come again.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    pub fn code(&self) -> &'static str {
        self.kind.code
    }

    /// The same in other words: its code, its detail, and what it has besides.
    pub fn reword(&mut self, reword: impl FnOnce(&str, &mut String, &mut Map<String, Value>)) {
        reword(self.kind.code, &mut self.detail, &mut self.extra);
    }

    pub fn title(&self) -> &'static str {
        self.kind.title()
    }

    pub fn status(&self) -> StatusCode {
        self.kind.status
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The body; `instance` is the request's path.
    pub fn to_json(&self, instance: &str) -> Value {
        let mut body = json!({
            "type": format!("/problems/{}", self.kind.code),
            "title": self.kind.title(),
            "status": self.kind.status.as_u16(),
            "detail": self.detail,
            "instance": instance,
            "code": self.kind.code,
        });
        if let Value::Object(members) = &mut body {
            members.extend(self.extra.clone());
        }
        body
    }

    /// The answer to a request for `instance`.
    pub fn render(&self, instance: &str) -> Response {
        let mut response = (self.kind.status, self.to_json(instance).to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.kind.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tenure\""));
        }
        response
    }
}

impl IntoResponse for Problem {
    /// Travels up as it is; the outermost layer, which knows the request's path, renders it.
    fn into_response(self) -> Response {
        let mut response = self.kind.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        let pointed = |errors: &[Pointed]| {
            let one = |error: &Pointed| json!({ "pointer": error.pointer, "detail": error.detail });
            Value::Array(errors.iter().map(one).collect())
        };
        let at = |pointer: &str| json!([{ "pointer": pointer, "detail": detail }]);
        let problem = |kind| Self::new(kind, detail.clone());
        match &refusal {
            Refusal::InvalidTransition { job, current_state, trigger, allowed } => {
                problem(&INVALID_TRANSITION)
                    .with("job_id", json!(job))
                    .with("current_state", json!(current_state))
                    .with("trigger", json!(trigger))
                    .with("allowed", json!(allowed))
            }
            Refusal::LeaseConflict { job, fence, cause } => problem(&LEASE_CONFLICT)
                .with("job_id", json!(job))
                .with("fence", json!(fence))
                .with("cause", json!(cause.to_string())),
            Refusal::NotFound { .. } => problem(&NOT_FOUND),
            Refusal::UnknownType(_) => problem(&UNKNOWN_TYPE).with("errors", at("#/type")),
            Refusal::ValidationFailed(errors) => problem(&VALIDATION_FAILED).with("errors", pointed(errors)),
            Refusal::GuardRejected { .. } => problem(&GUARD_REJECTED).with("errors", at("#/payload")),
            Refusal::IdempotencyMismatch(_) => problem(&IDEMPOTENCY_MISMATCH).with("errors", at("#")),
            Refusal::InsufficientCredits { cost, available } => {
                problem(&INSUFFICIENT_CREDITS).with("cost", json!(cost)).with("available", json!(available))
            }
            Refusal::TooLarge { limit, .. } => problem(&TOO_LARGE).with("limit", json!(limit)),
            Refusal::RateLimited { retry_after } => {
                problem(&RATE_LIMITED).retry_after(retry_after.0.div_ceil(1000))
            }
            Refusal::UnknownLifecycle(_) | Refusal::LifecycleChanged(_) => problem(&INTERNAL),
        }
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Overloaded => Self::new(&OVERLOADED, failure.to_string()).retry_after(1),
            Failure::Stopped => Self::new(&OVERLOADED, "this node is stopping").retry_after(1),
            Failure::Store(error) => Self::from(&*error),
        }
    }
}

impl From<&StoreError> for Problem {
    /// What broke is the operator's to read, in the log; the caller learns whether to come again.
    fn from(error: &StoreError) -> Self {
        if error.is_retryable() {
            tracing::warn!(%error, "the store did not answer");
            Self::new(&STORE_UNAVAILABLE, "the store cannot be reached now; nothing was changed")
                .retry_after(1)
        } else {
            tracing::error!(%error, "the store failed");
            Self::new(&INTERNAL, "the store failed; its operator finds the reason in the log")
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::from(&error)
    }
}
