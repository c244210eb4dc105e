//! Forms of the dashboard.

use axum::extract::{FromRequest, Request};
use axum::response::Response;
use http::header;
use tenure_core::limits::{JOB_BODY_BYTES_MAX, PUBLIC_FORM_BYTES_MAX};
use tenure_service::body;
use tenure_service::extract::Authenticated;
use tenure_service::query::decode;

use crate::prelude::*;
use crate::session::{check_origin, local};

/// The field of a form whose sender was asked whether the action is meant.
const CONFIRMED: &str = "confirmed";

/// The fields of a form, each of which is taken once. A form from another origin is refused before it is read.
#[derive(Debug, Default)]
pub(crate) struct Form {
    fields: Vec<(String, String)>,
    is_confirmed: bool,
}

/// What is asked before an irreversible action.
pub(crate) struct Question<'a> {
    pub(crate) tab: Tab,
    pub(crate) text: &'a str,
    /// Of the button.
    pub(crate) label: &'a str,
    /// The page without the action.
    pub(crate) back: &'a str,
}

/// A hidden field for a form on a page that asks.
pub(crate) fn confirmed() -> Markup {
    html! { input type="hidden" name=(CONFIRMED) value="yes"; }
}

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
        let mut fields: Vec<(String, String)> = fields.collect::<Result<_>>()?;
        let is_confirmed = fields.iter().any(|(name, value)| name == CONFIRMED && value == "yes");
        fields.retain(|(name, _)| name != CONFIRMED);
        Ok(Self { fields, is_confirmed })
    }
}

impl Form {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The values of all fields with a name.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let index = self.fields.iter().position(|(given, _)| given == name)?;
        Some(self.fields.remove(index).1)
    }

    /// A page that asks before an irreversible action and sends the form again; `None` if that was done. The script asks without
    /// a page and then sends the form as confirmed. To be called before fields are taken.
    pub(crate) async fn ask(&self, visitor: &Visitor, question: Question<'_>) -> Result<Option<Response>> {
        if self.is_confirmed {
            return Ok(None);
        }
        let Question { tab, text, label, back } = question;
        let main = html! {
            section {
                p.big { (text) }
                form method="post" action=(visitor.address) {
                    @for (name, value) in &self.fields { input type="hidden" name=(name) value=(value); }
                    (confirmed())
                    div.row {
                        button.danger type="submit" { (label) }
                        a.button href=(local(back)) { "Go back" }
                    }
                }
            }
        };
        // What the page itself links to is the page without the action: the address takes forms only.
        let visitor = Visitor { address: local(back).to_owned(), ..visitor.clone() };
        show(visitor, StaticPage { tab, title: "Are you sure?".to_owned(), main }).await.map(Some)
    }

    /// Takes a required field.
    pub(crate) fn need(&mut self, name: &str) -> Result<String> {
        let filled = self.take(name).filter(|value| !value.trim().is_empty());
        filled.ok_or_else(|| Problem::malformed(name, "must be filled in"))
    }

    /// Takes all fields with a name, such as selected checkboxes.
    pub(crate) fn all(&mut self, name: &str) -> Vec<String> {
        let (taken, rest) =
            std::mem::take(&mut self.fields).into_iter().partition(|(given, _)| given == name);
        self.fields = rest;
        let taken: Vec<(String, String)> = taken;
        taken.into_iter().map(|(_, value)| value).collect()
    }

    /// The remaining fields as query parameters.
    pub(crate) fn rest(self) -> Result<QueryParams> {
        QueryParams::of_fields(self.fields)
    }

    /// Refuses fields that were not taken.
    pub(crate) fn done(self) -> Result<()> {
        match self.fields.into_iter().next() {
            Some((name, _)) => Err(Problem::malformed(name, "is not known here")),
            None => Ok(()),
        }
    }
}
