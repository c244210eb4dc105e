//! Query parameters, read strictly: an unknown, repeated or invalid parameter is refused rather than ignored.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use axum::extract::FromRequestParts;
use http::request::Parts;
use serde_json::Value;
use tenure_core::dead_letter::ReasonCode;
use tenure_core::job::Stage;
use tenure_core::lifecycle::Outcome;
use tenure_core::limits::NAME_BYTES_MAX;
use tenure_core::statistics::Series;
use tenure_stats::TimeRange;

use crate::prelude::*;

/// Default rows of a page.
const PAGE_ROWS: usize = 20;
const PAGE_ROWS_MAX: usize = 500;

/// Named values, each of which is taken once.
#[derive(Debug, Default)]
pub struct QueryParams {
    values: BTreeMap<String, String>,
    /// `?` for a query, `#/filter/` for a filter in a body.
    prefix: &'static str,
}

impl<S: Sync> FromRequestParts<S> for QueryParams {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        Self::parse(parts.uri.query().unwrap_or_default())
    }
}

impl QueryParams {
    fn parse(query: &str) -> Result<Self> {
        let mut values = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if values.insert(name.clone(), value).is_some() {
                return Err(Problem::malformed(format!("?{name}"), "is given twice"));
            }
        }
        Ok(Self { values, prefix: "?" })
    }

    /// The members of a filter object in a body.
    pub fn of_object(filter: &serde_json::Map<String, Value>) -> Result<Self> {
        let mut values = BTreeMap::new();
        for (name, value) in filter {
            match value {
                Value::String(text) => values.insert(name.clone(), text.clone()),
                Value::Bool(flag) if name == "dismissed" => values.insert(name.clone(), flag.to_string()),
                Value::Null => None,
                _ => return Err(Problem::malformed(format!("#/filter/{name}"), "must be a string")),
            };
        }
        Ok(Self { values, prefix: "#/filter/" })
    }

    /// The fields of a form.
    pub fn of_fields(fields: Vec<(String, String)>) -> Result<Self> {
        let mut values = BTreeMap::new();
        for (name, value) in fields {
            if values.insert(name.clone(), value).is_some() {
                return Err(Problem::malformed(name, "is given twice"));
            }
        }
        Ok(Self { values, prefix: "" })
    }

    /// Drops empty values, which forms send for fields that are not filled in.
    pub fn drop_empty(&mut self) {
        self.values.retain(|_, value| !value.trim().is_empty());
    }

    /// A value, without taking it.
    pub fn peek(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    fn bad(&self, name: &str, detail: impl Into<String>) -> Problem {
        Problem::malformed(format!("{}{name}", self.prefix), detail)
    }

    /// Takes a value.
    pub fn text(&mut self, name: &str) -> Option<String> {
        self.values.remove(name)
    }

    /// Takes and parses a value; the error says what was expected.
    pub fn read<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.values.remove(name) else { return Ok(None) };
        read(&value).map(Some).ok_or_else(|| self.bad(name, format!("must be {expected}")))
    }

    pub fn name<T: for<'a> From<&'a str>>(&mut self, name: &str) -> Result<Option<T>> {
        let fits = |value: &str| is_name(value).then(|| T::from(value));
        self.read(name, "a name of 1 to 255 bytes without control characters", fits)
    }

    pub fn id(&mut self, name: &str) -> Result<Option<JobId>> {
        self.read(name, "a job's id", job_id)
    }

    pub fn number(&mut self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let read = |value: &str| value.parse().ok().filter(|number| range.contains(number));
        self.read(name, &format!("a number from {} to {}", range.start(), range.end()), read)
    }

    pub fn flag(&mut self, name: &str) -> Result<bool> {
        Ok(self.read(name, "true or false", |value| value.parse().ok())?.unwrap_or(false))
    }

    /// The series and the range of `GET /api/stats`, if a parameter asks for statistics over time.
    pub fn history(&mut self) -> Result<Option<(Series, TimeRange)>> {
        if self.values.is_empty() {
            return Ok(None);
        }
        let range = self.time_range()?;
        let (job_type, queue) =
            (self.name("type")?.map(Series::Type), self.name("queue")?.map(Series::Queue));
        if job_type.is_some() && queue.is_some() {
            return Err(self.bad("queue", "must not be given together with a type"));
        }
        Ok(Some((job_type.or(queue).unwrap_or(Series::All), range)))
    }

    /// `range`, or `from` and `until`; the default is the last hour.
    fn time_range(&mut self) -> Result<TimeRange> {
        let length = self.read("range", TIME_RANGES, time_range)?;
        let (from, until) = (self.time("from")?, self.time("until")?);
        match (length, from, until) {
            (Some(length), None, None) => Ok(TimeRange::Last(length)),
            (None, None, None) => Ok(TimeRange::Last(Millis::seconds(3600))),
            (Some(_), ..) => Err(self.bad("range", "must not be given together with a time")),
            (None, None, Some(_)) => Err(self.bad("until", "needs from")),
            (None, Some(from), until) if until.is_some_and(|until| until <= from) => {
                Err(self.bad("until", "must be after from"))
            }
            (None, Some(from), until) => Ok(TimeRange::Between(from, until.unwrap_or(Timestamp(i64::MAX)))),
        }
    }

    pub fn time(&mut self, name: &str) -> Result<Option<Timestamp>> {
        self.read(name, "an RFC 3339 time", Timestamp::parse)
    }

    pub fn limit(&mut self) -> Result<usize> {
        Ok(self.number("limit", 1..=PAGE_ROWS_MAX as u64)?.map_or(PAGE_ROWS, |limit| limit as usize))
    }

    /// A page of a listing that is ordered by job.
    pub fn page(&mut self) -> Result<Page> {
        Ok(Page {
            before: self.read("cursor", "a cursor of an earlier answer", job_id)?,
            limit: self.limit()?,
        })
    }

    /// The cursor of a listing that is ordered by row number.
    pub fn rows_after(&mut self, name: &str) -> Result<u64> {
        Ok(self.read(name, "a cursor of an earlier answer", row_number)?.unwrap_or(0))
    }

    /// The filters of `GET /api/jobs`.
    pub fn jobs(&mut self) -> Result<JobFilter> {
        let a_phase = |value: &str| {
            ["ready", "held", "active", "waiting", "final", "refused"]
                .contains(&value)
                .then(|| Name::from(value))
        };
        Ok(JobFilter {
            state: self.name("state")?,
            phase: self.read("phase", "ready, held, active, waiting, final or refused", a_phase)?,
            outcome: self.read("outcome", "an outcome", Outcome::parse)?,
            lifecycle: self.name("lifecycle")?,
            job_type: self.name("type")?,
            queue: self.name("queue")?,
            user_id: self.name("user_id")?,
            worker: self.name("worker")?,
            correlation_id: self.name("correlation_id")?,
            retry_of: self.id("retry_of")?,
            created_after: self.time("created_after")?,
            created_before: self.time("created_before")?,
            from: None,
        })
    }

    pub fn reason_code(&mut self) -> Result<Option<ReasonCode>> {
        self.read("reason_code", "a reason code", ReasonCode::parse)
    }

    pub fn stage(&mut self) -> Result<Option<Stage>> {
        let parse = |value: &str| serde_json::from_value(Value::from(value)).ok();
        self.read("stage", "fetch, input, exec, output or commit", parse)
    }

    /// The filters of `GET /api/dead-letters`.
    pub fn dead_letters(&mut self) -> Result<DeadLetterFilter> {
        Ok(DeadLetterFilter {
            reason_code: self.reason_code()?,
            stage: self.stage()?,
            dismissed: self.flag("dismissed")?,
            jobs: self.jobs()?,
        })
    }

    /// Refuses parameters that were not taken.
    pub fn done(self) -> Result<()> {
        match self.values.first_key_value() {
            Some((name, _)) => Err(self.bad(name, "is not known here")),
            None => Ok(()),
        }
    }
}

/// A number that a store can have for a row.
pub fn row_number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|row| i64::try_from(*row).is_ok())
}

/// What [`time_range`] reads.
pub const TIME_RANGES: &str = "1h, 6h, 24h, 7d, 30d or 90d";

/// The length of a range up to now.
pub fn time_range(text: &str) -> Option<Millis> {
    TIME_RANGES
        .split([',', ' '])
        .filter(|word| *word != "or")
        .find(|word| *word == text)
        .and_then(Millis::parse)
}

/// A job's id in hyphenated form.
pub fn job_id(text: &str) -> Option<JobId> {
    let hyphenated = text.len() == 36;
    uuid::Uuid::try_parse(text).ok().filter(|_| hyphenated).map(JobId)
}

/// 1 to 255 bytes, no control characters.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= NAME_BYTES_MAX && !text.contains(char::is_control)
}

/// Percent-decodes a part of a query or of a path.
pub fn decode(text: &str) -> Result<String> {
    let bad = || Problem::malformed("#", format!("`{}` is not percent-encoded UTF-8", text.escape_debug()));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().ok_or_else(bad)?, rest.next().ok_or_else(bad)?];
                let digits = std::str::from_utf8(&digits).ok().filter(|text| !text.starts_with('+'));
                u8::from_str_radix(digits.ok_or_else(bad)?, 16).map_err(|_| bad())?
            }
            plain => plain,
        });
    }
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    if text.contains('\0') { Err(bad()) } else { Ok(text) }
}
