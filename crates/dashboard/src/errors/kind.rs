//! What the errors of a group have in common.

use tenure_core::error_signature::error_signature;
use tenure_core::id::{Name, TypeName};
use tenure_stats::snapshot::ErrorNow;

use crate::jobs::filters::address;
use crate::prelude::*;

/// An error code and, unless all messages are meant, the signature of the message; in jobs of one type, or of all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ErrorKind {
    pub(crate) code: Name,
    pub(crate) signature: Option<Name>,
    pub(crate) job_type: Option<TypeName>,
}

impl ErrorKind {
    fn new(code: &str, message: &str) -> Self {
        Self { code: code.into(), signature: Some(error_signature(message).into()), job_type: None }
    }

    /// The kind of a failed or dead job.
    pub(crate) fn of_job(job: &Job) -> Self {
        let error = job.output.error.as_deref();
        error
            .map_or_else(|| Self::new(job.state.as_str(), ""), |error| Self::new(&error.code, &error.message))
    }

    /// The kind of a dead letter. Without an error, the reason takes the place of the code.
    pub(crate) fn of_letter(letter: &DeadLetter) -> Self {
        let error = letter.last_error.as_ref();
        error.map_or_else(
            || Self::new(letter.reason_code.as_str(), ""),
            |error| Self::new(&error.code, &error.message),
        )
    }

    /// The kind of failed attempts.
    pub(crate) fn of_recent(error: &ErrorNow) -> Self {
        Self { code: error.code.clone(), signature: Some(error.signature.clone()), job_type: None }
    }

    /// Reads a kind from a query or form. An empty message is a message too.
    pub(crate) fn read(params: &mut QueryParams, job_type: Option<TypeName>) -> Result<Option<Self>> {
        let (code, signature) = (params.name("code")?, params.text("message"));
        match (code, signature) {
            (Some(code), signature) => {
                let signature = signature.map(|text| text.as_str().into());
                Ok(Some(Self { code, signature, job_type }))
            }
            (None, Some(_)) => Err(Problem::malformed("?code", "is required with a message")),
            (None, None) => Ok(None),
        }
    }

    /// The same error in jobs of one type.
    pub(crate) fn of_type(&self, job_type: Option<&TypeName>) -> Self {
        Self { job_type: job_type.cloned(), ..self.clone() }
    }

    /// Whether an error of the other kind, which has a signature, belongs to this one. Types are not compared.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        self.code == other.code && (self.signature.is_none() || self.signature == other.signature)
    }

    /// Names and values, for an address or a form.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let signature = self.signature.as_deref().map(|signature| ("message", signature));
        let job_type = self.job_type.as_ref().map(|job_type| ("type", job_type.as_str()));
        [("code", &*self.code)].into_iter().chain(signature).chain(job_type)
    }

    pub(crate) fn address(&self, page: &str, more: &[(&str, &str)]) -> String {
        address(page, self.pairs().chain(more.iter().copied()))
    }

    /// `SMTP_TIMEOUT: no answer after # s, in jobs of type mail`.
    pub(crate) fn words(&self) -> String {
        let words = match self.signature.as_deref().filter(|signature| !signature.is_empty()) {
            Some(signature) => format!("{}: {signature}", self.code),
            None => self.code.to_string(),
        };
        match &self.job_type {
            Some(job_type) => format!("{words}, in jobs of type {job_type}"),
            None => words,
        }
    }

    /// The query for all jobs with this code, whatever the message; `None` if the language cannot express it.
    pub(crate) fn query(&self) -> Option<String> {
        let query = format!("error:{}", quoted(&self.code)?);
        match &self.job_type {
            Some(job_type) => Some(format!("{query} type:{}", quoted(job_type.as_str())?)),
            None => Some(query),
        }
    }
}

/// A value of the query language, in quotes where it needs them. There is no way to write a quotation mark within quotes.
fn quoted(value: &str) -> Option<String> {
    let has_quotes = value.contains('"');
    let is_plain = !value.contains(|char: char| char == ',' || char.is_whitespace());
    match (is_plain, has_quotes) {
        (true, _) if !value.starts_with('"') => Some(value.to_owned()),
        (_, false) => Some(format!("\"{value}\"")),
        (_, true) => None,
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::job_query::JobQuery;

    use super::*;

    fn kind(code: &str) -> ErrorKind {
        ErrorKind { code: code.into(), signature: None, job_type: Some("a b".into()) }
    }

    #[test]
    fn the_query_for_an_error_finds_its_code() {
        for code in ["E1", "no answer", "a,b", "a:b", "say\"x\""] {
            let query = kind(code).query().unwrap();
            let parsed = JobQuery::parse(&query, Timestamp(0)).unwrap();
            assert_eq!(parsed.filter.job_type, Some("a b".into()), "{query}");
        }
        assert_eq!(kind("a,b").query().as_deref(), Some("error:\"a,b\" type:\"a b\""));
        assert_eq!(["\"x", "a, \"b\""].map(|code| kind(code).query()), [None, None]);
    }

    #[test]
    fn the_address_of_a_kind_names_its_type() {
        let kind = kind("E1");
        assert_eq!(kind.address("/ui/errors", &[]), "/ui/errors?code=E1&type=a%20b");
        assert_eq!(kind.words(), "E1, in jobs of type a b");
        assert!(kind.includes(&ErrorKind::new("E1", "any")));
    }
}
