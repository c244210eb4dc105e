//! Parameters, headers and answers that several calls share.

use super::{Answer, Header, Parameter, Place};
use crate::schema::Schema::{self, AnyOf, Json, Ref, Text};
use crate::values::ANY_UUID;

pub(super) const EXAMPLE_ID: &str = r#""019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00""#;

pub(super) const JOB_ID: Parameter = path("id", "The job's id.", ANY_UUID, EXAMPLE_ID);
pub(super) const LIMIT: Parameter = query(
    "limit",
    "At most this many.",
    Json(r#"{"type":"integer","minimum":1,"maximum":500,"default":20}"#),
);
pub(super) const CURSOR: Parameter =
    query("cursor", "The `next_cursor` of the previous page.", Ref("JobCursor"));
pub(super) const ROW_CURSOR: Parameter =
    query("cursor", "The `next_cursor` of the previous page.", Ref("RowCursor"));
pub(super) const TRACEPARENT: Parameter =
    header("traceparent", "W3C trace context. It is stored with the job; an invalid one is ignored.", Text);
pub(super) const PREFER: Parameter = header(
    "Prefer",
    "`return=minimal` (RFC 7240): the answer has no body, or only the id of what is new. Other preferences are ignored.",
    Text,
)
.example(r#""return=minimal""#);
/// The call had been made before; every such answer has it.
pub(super) const REPLAYED: Header = Header {
    name: "Idempotent-Replayed",
    about: "The call had been made before; nothing changed.",
    required: true,
    schema: Json(r#"{"type":"string","const":"true"}"#),
};
pub(super) const MAYBE_REPLAYED: Header = Header { required: false, ..REPLAYED };
pub(super) const LOCATION: Header = Header {
    name: "Location",
    about: "The path of what was created.",
    required: true,
    schema: Json(r#"{"type":"string","format":"uri-reference"}"#),
};
pub(super) const PREFERENCE_APPLIED: Header = Header {
    name: "Preference-Applied",
    about: "The preference was followed.",
    required: false,
    schema: Json(r#"{"type":"string","const":"return=minimal"}"#),
};

pub(super) const fn path(
    name: &'static str,
    about: &'static str,
    schema: Schema,
    example: &'static str,
) -> Parameter {
    Parameter { name, place: Place::Path, about, schema, example }
}

pub(crate) const fn query(name: &'static str, about: &'static str, schema: Schema) -> Parameter {
    Parameter { name, place: Place::Query, about, schema, example: "" }
}

pub(crate) const fn header(name: &'static str, about: &'static str, schema: Schema) -> Parameter {
    Parameter { name, place: Place::Header, about, schema, example: "" }
}

pub(super) const fn answer(status: u16, about: &'static str) -> Answer {
    Answer { status, about, headers: &[], json: None, other_content: &[], example: "" }
}

/// An answer with a JSON body.
pub(super) const fn json(status: u16, about: &'static str, schema: Schema) -> Answer {
    Answer { json: Some(schema), ..answer(status, about) }
}

/// An answer with status 200 and a JSON body.
pub(super) const fn ok(about: &'static str, schema: Schema) -> Answer {
    json(200, about, schema)
}

impl Parameter {
    pub(super) const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }
}

impl Answer {
    /// With a body of other media types.
    pub(super) const fn content(self, other_content: &'static [(&'static str, Schema)]) -> Self {
        Self { other_content, ..self }
    }

    pub(super) const fn with(self, headers: &'static [Header]) -> Self {
        Self { headers, ..self }
    }

    pub(super) const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }
}

/// Answers of calls that change a job.
pub(super) const CHANGED: &[Answer] = &[
    ok("The job after the change.", Ref("JobAnswer")).with(&[MAYBE_REPLAYED]),
    answer(204, "Done, with `Prefer: return=minimal`.").with(&[PREFERENCE_APPLIED, MAYBE_REPLAYED]),
];

/// Answers of calls that create a job.
pub(super) const CREATED: &[Answer] = &[
    ok("The job that was created with this key before.", AnyOf(&[Ref("JobAnswer"), Ref("JobBrief")]))
        .with(&[REPLAYED, PREFERENCE_APPLIED]),
    json(202, "The new job.", AnyOf(&[Ref("Job"), Ref("JobBrief")])).with(&[LOCATION, PREFERENCE_APPLIED]),
];
