//! Finds jobs by a prefix of their id. Lists are in the order of ids, so only the jobs of a range are fetched.

use anyhow::Result;
use serde_json::{Value, json};
use tenure_api::{CallId, JobRecord};
use tenure_client::FoundJob;

use crate::client::{Page, Server};
use crate::job::request;
use crate::output::{CliError, Exit};
use crate::show::plain;

/// Hexadecimal digits of an id.
const DIGITS: usize = 32;
/// The most candidates that an error message lists.
const CANDIDATES_MAX: usize = 10;

/// Jobs of a page if only a part of them can match.
const PAGE_JOBS: usize = 500;

/// The first digits of an id and, in the short form `01990c3a…89ab` of the dashboard, its last ones.
#[derive(Debug, PartialEq, Eq)]
struct IdPart {
    first: String,
    last: String,
}

impl IdPart {
    fn read(text: &str) -> Option<Self> {
        let digits = |text: &str| {
            let digits = text.replace('-', "").to_ascii_lowercase();
            let fits = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            fits.then_some(digits)
        };
        let (first, last) = match text.split_once('…') {
            Some((first, last)) => (digits(first)?, digits(last)?),
            None => (digits(text)?, String::new()),
        };
        (first.len() + last.len() <= DIGITS).then_some(Self { first, last })
    }

    fn admits(&self, id: &str) -> bool {
        let digits = id.replace('-', "");
        digits.starts_with(&self.first) && digits.ends_with(&self.last)
    }
}

/// The id of the only job whose id begins with `prefix`, or has this short form.
pub(crate) async fn resolve(server: &Server, prefix: &str) -> Result<String> {
    let Some(part) = IdPart::read(prefix) else { return Err(not_found("job", prefix).into()) };
    if part.first.len() == DIGITS {
        return Ok(hyphenated(&part.first));
    }
    let mut found = candidates(server, &part).await?;
    match found.len() {
        0 => Err(not_found("job", prefix).into()),
        1 => Ok(found.remove(0).id),
        many => {
            let list = found.iter().take(CANDIDATES_MAX).map(|job| {
                format!("\n  {}  {}  {}", plain(&job.id), plain(&job.job_type), plain(&job.state))
            });
            let and_more = if many > CANDIDATES_MAX { "\n  …" } else { "" };
            let list: String = list.collect();
            Err(ambiguous("job", prefix, &format!("{list}{and_more}")).into())
        }
    }
}

pub(crate) fn not_found(noun: &str, prefix: &str) -> CliError {
    let message = format!("no {noun} has an id that begins with {prefix:?}");
    CliError::new(Exit::NotFound, message).help(format!("list ids with `tenure {noun} list`"))
}

pub(crate) fn ambiguous(noun: &str, prefix: &str, found: &str) -> CliError {
    let message = format!("several {noun}s have ids that begin with {prefix:?}:{found}");
    CliError::new(Exit::Refused, message).help("use a longer prefix")
}

pub(crate) async fn resolve_optional(server: &Server, prefix: Option<&String>) -> Result<Option<String>> {
    match prefix {
        Some(prefix) => resolve(server, prefix).await.map(Some),
        None => Ok(None),
    }
}

/// Jobs whose ids have these digits, or requests in SQL that were refused if there is no such job: all of them, or more than
/// `CANDIDATES_MAX`.
async fn candidates(server: &Server, part: &IdPart) -> Result<Vec<JobRecord>> {
    let jobs = in_range(server, part, json!({})).await?;
    if jobs.is_empty() { in_range(server, part, json!({ "phase": "refused" })).await } else { Ok(jobs) }
}

/// Lists are in the order of ids, the last first, and a cursor is an id.
async fn in_range(server: &Server, part: &IdPart, mut query: Value) -> Result<Vec<JobRecord>> {
    let (first, after) = range(&part.first);
    query["limit"] = json!(if part.last.is_empty() { CANDIDATES_MAX + 1 } else { PAGE_JOBS });
    query["cursor"] = json!(after.map(|after| hyphenated(&format!("{after:032x}"))));
    let mut found = Vec::new();
    loop {
        let page: Page<FoundJob> = server.page(CallId::ListJobs, &[], &query).await?;
        let mut page = page.map(request::shown);
        let next = page.next_cursor.take();
        found.extend(page.into_rows().filter(|job| part.admits(&job.id)));
        let is_inside =
            |cursor: &String| number(&cursor.replace('-', "")).is_some_and(|cursor| cursor > first);
        match next.filter(is_inside) {
            Some(next) if found.len() <= CANDIDATES_MAX => query["cursor"] = json!(next),
            _ => return Ok(found),
        }
    }
}

/// The first id that begins with these digits, and the first after those that do; `None` if there is none.
fn range(digits: &str) -> (u128, Option<u128>) {
    let free = 4 * (DIGITS - digits.len()) as u32;
    let prefix = number(digits).expect("at most 32 hexadecimal digits are a 128-bit number");
    let after = prefix.checked_add(1).filter(|after| after.leading_zeros() >= free);
    (prefix << free, after.map(|after| after << free))
}

fn number(digits: &str) -> Option<u128> {
    u128::from_str_radix(digits, 16).ok()
}

fn hyphenated(digits: &str) -> String {
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_spans_a_range_of_ids() {
        assert_eq!(range("0199"), (0x0199 << 112, Some(0x019a << 112)));
        assert_eq!(range("f"), (0xf << 124, None));
        let whole = "01990c3a7d2e7abc8def0123456789a";
        assert_eq!(
            range(whole),
            (0x0199_0c3a_7d2e_7abc_8def_0123_4567_89a0, number("01990c3a7d2e7abc8def0123456789b0"))
        );
    }

    #[test]
    fn the_short_form_of_the_dashboard_is_a_part_of_an_id() {
        let part = IdPart::read("01990c3a…89AB").unwrap();
        assert_eq!(part, IdPart { first: "01990c3a".to_owned(), last: "89ab".to_owned() });
        assert!(part.admits("01990c3a-7d2e-7abc-8def-0123456789ab"));
        assert!(!part.admits("01990c3a-7d2e-7abc-8def-0123456789ac"));
        assert_eq!(["", "…89ab", "0199…", "xyz"].map(IdPart::read), [None, None, None, None]);
    }

    #[test]
    fn a_whole_id_has_hyphens() {
        let id = "01990c3a-7d2e-7abc-8def-0123456789ab";
        assert_eq!(hyphenated(&id.replace('-', "")), id);
    }
}
