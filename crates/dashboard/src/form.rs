//! Forms of the dashboard.

use axum::extract::{FromRequest, Request};
use http::header;
use tenure_core::limits::{JOB_BODY_BYTES_MAX, PUBLIC_FORM_BYTES_MAX};
use tenure_service::body;
use tenure_service::extract::Authenticated;
use tenure_service::query::decode;

use crate::prelude::*;
use crate::session::check_origin;

/// The fields of a form, each of which is taken once. A form from another origin is refused before it is read.
#[derive(Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl FromRequest<Dashboard> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, dashboard: &Dashboard) -> Result<Self> {
        let (parts, content) = request.into_parts();
        check_origin(&parts.headers, &parts.uri)?;
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !kind.unwrap_or_default().starts_with("application/x-www-form-urlencoded") {
            let why = "send forms as application/x-www-form-urlencoded";
            return Err(Problem::new(ProblemCode::UnsupportedMediaType, why));
        }
        // A form that a visitor without credentials may send is small: a key, a theme.
        let is_signed_in = parts.extensions.get::<Authenticated>().is_some();
        let largest = if is_signed_in { JOB_BODY_BYTES_MAX } else { PUBLIC_FORM_BYTES_MAX };
        let limit = largest.min(dashboard.limits().body);
        let text = body::read(content, &parts.headers, limit).await?;
        let not_utf8 = |_| Problem::malformed("#", "the form is not UTF-8");
        let text = std::str::from_utf8(&text).map_err(not_utf8)?;
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let fields = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(name)?, decode(value)?))
        });
        fields.collect::<Result<_>>().map(Self)
    }
}

impl Form {
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let index = self.0.iter().position(|(given, _)| given == name)?;
        Some(self.0.remove(index).1)
    }

    /// Takes a required field.
    pub(crate) fn need(&mut self, name: &str) -> Result<String> {
        let filled = self.take(name).filter(|value| !value.trim().is_empty());
        filled.ok_or_else(|| Problem::malformed(name, "must be filled in"))
    }

    /// Takes all fields with a name, such as selected checkboxes.
    pub(crate) fn all(&mut self, name: &str) -> Vec<String> {
        let (taken, rest) = std::mem::take(&mut self.0).into_iter().partition(|(given, _)| given == name);
        self.0 = rest;
        let taken: Vec<(String, String)> = taken;
        taken.into_iter().map(|(_, value)| value).collect()
    }

    /// The remaining fields as query parameters.
    pub(crate) fn rest(self) -> Result<QueryParams> {
        QueryParams::of_fields(self.0)
    }

    /// Refuses fields that were not taken.
    pub(crate) fn done(self) -> Result<()> {
        match self.0.into_iter().next() {
            Some((name, _)) => Err(Problem::malformed(name, "is not known here")),
            None => Ok(()),
        }
    }
}
