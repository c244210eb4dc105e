//! Error messages without values of the payload. The library's own messages quote the value, and its masked ones still
//! quote property names that fail `propertyNames`; these use only the pointer and the schema.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ReferencingError, ValidationError};
use serde_json::Value as Json;

use super::{SCHEMA_ERRORS_MAX, SCHEMA_PATTERN_BYTES_MAX, SchemaError, SchemaFlaw};

/// The longest pointer in an error.
const POINTER_BYTES_MAX: usize = 512;
const NO_PROPERTY: &str = "is not a property that the schema allows";
const NO_PROPERTIES: &str = "has properties that the schema does not allow";
/// How much of a schema's value or pattern a detail quotes.
const QUOTE_BYTES_MAX: usize = 200;

/// Converts an error. Each property that is not allowed becomes a separate error with its own pointer.
pub(super) fn describe(error: &ValidationError<'_>, errors: &mut Vec<SchemaError>) {
    let at = error.instance_path().as_str();
    if let ValidationErrorKind::AdditionalProperties { unexpected }
    | ValidationErrorKind::UnevaluatedProperties { unexpected } = error.kind()
    {
        for name in unexpected.iter().take(SCHEMA_ERRORS_MAX) {
            let own = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            // An overlong name gets the pointer of its object, so the detail must describe the object.
            let detail = if own.len() > POINTER_BYTES_MAX { NO_PROPERTIES } else { NO_PROPERTY };
            errors.push(SchemaError { pointer: pointer(&own), detail: detail.to_owned() });
        }
        return;
    }
    // If a schema allows no properties at all, the library reports the object itself as not allowed.
    let closed = matches!(error.kind(), ValidationErrorKind::FalseSchema)
        && error.schema_path().as_str().ends_with("/additionalProperties");
    let detail = if closed { NO_PROPERTIES.to_owned() } else { detail(error.kind()) };
    errors.push(SchemaError { pointer: pointer(at), detail });
}

/// Why the library refuses a schema. It may be quoted, because it contains no secrets.
pub(super) fn flaw(error: &ValidationError<'_>) -> SchemaFlaw {
    let pointer = format!("#{}", error.instance_path().as_str());
    let value = error.instance();
    let message = match error.kind() {
        ValidationErrorKind::Referencing(reason) => unresolved(reason),
        ValidationErrorKind::Format { format } if format == "regex" => {
            format!("invalid pattern: {}", pattern_reason(value.as_str().unwrap_or_default()))
        }
        _ if pointer.ends_with("/type") => format!("{} is not a JSON type", quote(value)),
        kind => format!("{} {}", quote(value), detail(kind)),
    };
    SchemaFlaw { message, pointer }
}

fn unresolved(reason: &ReferencingError) -> String {
    use ReferencingError as Reason;
    match reason {
        Reason::Unretrievable { uri, .. } => {
            format!("`{}` is outside this schema, and references are not fetched", cut(uri))
        }
        Reason::PointerToNowhere { pointer: name }
        | Reason::InvalidPercentEncoding { pointer: name, .. }
        | Reason::InvalidArrayIndex { pointer: name, .. }
        | Reason::NoSuchAnchor { anchor: name }
        | Reason::InvalidAnchor { anchor: name } => {
            format!("a reference leads to `{}`, which does not exist", cut(name))
        }
        Reason::InvalidUri(_) => "a reference is not a URI".to_owned(),
        Reason::UnknownSpecification { specification: name } | Reason::CircularMetaschema { uri: name } => {
            format!("`{}` is not a known draft of JSON Schema", cut(name))
        }
    }
}

/// The library reports only that a pattern is invalid; the regex engine gives the reason.
fn pattern_reason(pattern: &str) -> String {
    match regex::RegexBuilder::new(pattern).size_limit(SCHEMA_PATTERN_BYTES_MAX).build() {
        Err(error) => crate::guard::pattern_reason(&error),
        Ok(_) => "JSON Schema does not allow it".to_owned(),
    }
}

/// The pointer, shortened to an ancestor if it is too long: a key can be as long as a payload.
fn pointer(at: &str) -> String {
    let mut at = at;
    while at.len() > POINTER_BYTES_MAX {
        at = at.rsplit_once('/').map_or("", |(above, _)| above);
    }
    format!("#/payload{at}")
}

fn detail(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::AdditionalItems { limit } => format!("has more than {limit} items"),
        Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => NO_PROPERTIES.to_owned(),
        Kind::AnyOf { .. } => "matches none of the schemas under anyOf".to_owned(),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "could not be matched against the schema's pattern".to_owned()
        }
        Kind::Constant { expected_value } => format!("is not {}", quote(expected_value)),
        Kind::Contains => "does not contain the items that the schema requires".to_owned(),
        Kind::ContentEncoding { content_encoding } => format!("is not encoded as {}", cut(content_encoding)),
        Kind::ContentMediaType { content_media_type } => {
            format!("is not of media type {}", cut(content_media_type))
        }
        Kind::Custom { keyword, .. } => format!("does not match the schema's {}", cut(keyword)),
        Kind::Enum { options } => format!("is not one of {}", quote(options)),
        Kind::ExclusiveMaximum { limit } => format!("is not less than {}", quote(limit)),
        Kind::ExclusiveMinimum { limit } => format!("is not more than {}", quote(limit)),
        Kind::FalseSchema => "is not allowed here".to_owned(),
        Kind::Format { format } => format!("is not of the format {}", cut(format)),
        Kind::FromUtf8 { .. } => "is not encoded text".to_owned(),
        Kind::MaxItems { limit } => format!("has more than {limit} items"),
        Kind::Maximum { limit } => format!("is more than {}", quote(limit)),
        Kind::MaxLength { limit } => format!("is longer than {limit} characters"),
        Kind::MaxProperties { limit } => format!("has more than {limit} properties"),
        Kind::MinItems { limit } => format!("has fewer than {limit} items"),
        Kind::Minimum { limit } => format!("is less than {}", quote(limit)),
        Kind::MinLength { limit } => format!("is shorter than {limit} characters"),
        Kind::MinProperties { limit } => format!("has fewer than {limit} properties"),
        Kind::MultipleOf { multiple_of } => format!("is not a multiple of {multiple_of}"),
        Kind::Not { .. } => "matches the schema under not".to_owned(),
        Kind::OneOfMultipleValid { .. } => "matches more than one of the schemas under oneOf".to_owned(),
        Kind::OneOfNotValid { .. } => "matches none of the schemas under oneOf".to_owned(),
        Kind::Pattern { pattern } => format!("does not match the pattern {}", cut(pattern)),
        Kind::PropertyNames { .. } => "has a property whose name the schema does not allow".to_owned(),
        Kind::Required { property } => format!("has no property {}", quote(property)),
        Kind::Type { kind } => format!("is not of type {}", types(kind)),
        Kind::UnevaluatedItems { .. } => "has items that the schema does not allow".to_owned(),
        Kind::UniqueItems => "has duplicate items".to_owned(),
        Kind::Referencing(_) => "could not be checked: a reference in the schema does not exist".to_owned(),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.to_string(),
        TypeKind::Multiple(kinds) => {
            kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// A value of the schema, not of the payload.
fn quote(value: &Json) -> String {
    cut(&value.to_string())
}

fn cut(text: &str) -> String {
    match text.char_indices().take_while(|(at, _)| *at <= QUOTE_BYTES_MAX).last() {
        Some((at, _)) if text.len() > QUOTE_BYTES_MAX => format!("{}…", &text[..at]),
        _ => text.to_owned(),
    }
}
