//! Finds jobs by a prefix of their id. An id begins with the time of its creation, so a prefix spans a time range, and
//! only jobs of that range are fetched.

use anyhow::Result;
use serde_json::json;
use tenure_api::{CallId, JobRecord};
use tenure_core::time::Timestamp;

use crate::client::{PAGE_ROWS_MAX, Page, Server};
use crate::output::{CliError, Exit};
use crate::show::plain;

/// Hexadecimal digits of an id, and how many of them are its time.
const DIGITS: usize = 32;
const TIME_DIGITS: usize = 12;
/// How far the time in an id may be from the stored creation time.
const SLACK_MS: i64 = 5000;
/// The most candidates that an error message lists.
const CANDIDATES_MAX: usize = 10;

/// The id of the only job whose id begins with `prefix`.
pub(crate) async fn resolve(server: &Server, prefix: &str) -> Result<String> {
    let digits = prefix.replace('-', "").to_ascii_lowercase();
    if digits.is_empty() || digits.len() > DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(not_found("job", prefix).into());
    }
    if digits.len() == DIGITS {
        return Ok(hyphenated(&digits));
    }
    let mut found = candidates(server, &digits).await?;
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

/// Jobs whose ids begin with these digits: all of them, or more than `CANDIDATES_MAX`.
async fn candidates(server: &Server, digits: &str) -> Result<Vec<JobRecord>> {
    let (from, to) = time_range(digits);
    // The server's calendar ends before that of an id.
    let is_valid = |at: &Timestamp| Timestamp::parse(&at.to_string()).is_some();
    let Some(after) = Some(Timestamp((from - SLACK_MS).max(0))).filter(is_valid) else {
        return Ok(Vec::new());
    };
    let before = to.checked_add(SLACK_MS).map(Timestamp).filter(is_valid);
    let mut query = json!({ "created_after": after, "created_before": before, "limit": PAGE_ROWS_MAX });
    let mut found = Vec::new();
    loop {
        let mut page: Page<JobRecord> = server.page(CallId::ListJobs, &[], &query).await?;
        let next = page.next_cursor.take();
        found.extend(page.into_rows().filter(|job| job.id.replace('-', "").starts_with(digits)));
        match next {
            Some(next) if found.len() <= CANDIDATES_MAX => query["cursor"] = json!(next),
            _ => return Ok(found),
        }
    }
}

/// The first and the last millisecond of ids that begin with these digits.
fn time_range(digits: &str) -> (i64, i64) {
    let time = &digits[..digits.len().min(TIME_DIGITS)];
    let edge = |fill: &str| {
        let padded = format!("{time}{}", fill.repeat(TIME_DIGITS - time.len()));
        i64::from_str_radix(&padded, 16).expect("twelve hexadecimal digits are a 48-bit number")
    };
    (edge("0"), edge("f"))
}

fn hyphenated(digits: &str) -> String {
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_spans_a_time_range() {
        assert_eq!(time_range("0199"), (0x0199_0000_0000, 0x0199_ffff_ffff));
        assert_eq!(time_range("01990c3a7d2e"), (0x0199_0c3a_7d2e, 0x0199_0c3a_7d2e));
        assert_eq!(time_range("01990c3a7d2e7abc"), (0x0199_0c3a_7d2e, 0x0199_0c3a_7d2e));
    }

    #[test]
    fn a_whole_id_has_hyphens() {
        let id = "01990c3a-7d2e-7abc-8def-0123456789ab";
        assert_eq!(hyphenated(&id.replace('-', "")), id);
    }
}
