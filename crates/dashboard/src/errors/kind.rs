//! What the errors of a group have in common.

use tenure_core::error_signature::error_signature;
use tenure_core::id::Name;

use crate::jobs::filters::address;
use crate::prelude::*;

/// An error code and, unless all messages are meant, the signature of the message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ErrorKind {
    pub(crate) code: Name,
    pub(crate) signature: Option<Name>,
}

impl ErrorKind {
    fn new(code: &str, message: &str) -> Self {
        Self { code: code.into(), signature: Some(error_signature(message).into()) }
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

    /// Reads a kind from a query or form. An empty message is a message too.
    pub(crate) fn read(params: &mut QueryParams) -> Result<Option<Self>> {
        let (code, signature) = (params.name("code")?, params.text("message"));
        match (code, signature) {
            (Some(code), signature) => {
                Ok(Some(Self { code, signature: signature.map(|text| text.as_str().into()) }))
            }
            (None, Some(_)) => Err(Problem::malformed("?code", "is required with a message")),
            (None, None) => Ok(None),
        }
    }

    /// Whether an error of the other kind, which has a signature, belongs to this one.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        self.code == other.code && (self.signature.is_none() || self.signature == other.signature)
    }

    /// Names and values, for an address or a form.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let signature = self.signature.as_deref().map(|signature| ("message", signature));
        [("code", &*self.code)].into_iter().chain(signature)
    }

    pub(crate) fn address(&self, page: &str, more: &[(&str, &str)]) -> String {
        address(page, self.pairs().chain(more.iter().copied()))
    }

    /// `SMTP_TIMEOUT: no answer after # s`.
    pub(crate) fn words(&self) -> String {
        match self.signature.as_deref().filter(|signature| !signature.is_empty()) {
            Some(signature) => format!("{}: {signature}", self.code),
            None => self.code.to_string(),
        }
    }
}
