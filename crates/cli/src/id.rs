//! Jobs by the beginning of their id. An id begins with the moment of its creation, so a beginning spans a time, and
//! only the jobs of that time are looked at.

use anyhow::Result;
use serde_json::Value;
use tenure_core::time::Timestamp;

use crate::client::{Query, Server};
use crate::output::{Exit, Trouble};
use crate::show;

/// Hexadecimal digits of an id, and how many of them are its time.
const DIGITS: usize = 32;
const TIME_DIGITS: usize = 12;
/// How far an id's own time may be from the one that the store wrote down.
const SLACK_MS: i64 = 5000;
/// Candidates that are told at most.
const CANDIDATES_MAX: usize = 10;
const PAGE_ROWS: usize = 500;

/// The id of the one job whose id begins so.
pub(crate) async fn resolve(server: &Server, text: &str) -> Result<String> {
    let digits = text.replace('-', "").to_ascii_lowercase();
    if digits.is_empty() || digits.len() > DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        let sentence = format!("`{text}` is no job's id, nor the beginning of one");
        return Err(Trouble::new(Exit::NotFound, sentence).help("`tenure job list` shows ids").into());
    }
    if digits.len() == DIGITS {
        return Ok(hyphenated(&digits));
    }
    let mut found = candidates(server, &digits).await?;
    match found.len() {
        0 => {
            let sentence = format!("no job's id begins with {text}");
            Err(Trouble::new(Exit::NotFound, sentence).help("`tenure job list` shows ids").into())
        }
        1 => Ok(show::text(&found.remove(0)["id"])),
        many => {
            let told = found.iter().take(CANDIDATES_MAX).map(|job| {
                format!(
                    "\n  {}  {}  {}",
                    show::text(&job["id"]),
                    show::text(&job["type"]),
                    show::text(&job["state"])
                )
            });
            let and_more = if many > CANDIDATES_MAX { "\n  …" } else { "" };
            let sentence =
                format!("more than one job's id begins with {text}:{}{and_more}", told.collect::<String>());
            Err(Trouble::new(Exit::Refused, sentence).help("write more of it").into())
        }
    }
}

/// Jobs whose ids begin so: all, or more than are told.
async fn candidates(server: &Server, digits: &str) -> Result<Vec<Value>> {
    let (from, to) = spanned(digits);
    let after = Timestamp((from - SLACK_MS).max(0));
    let mut query = Query::new().with("created_after", Some(after)).with("limit", Some(PAGE_ROWS));
    // Beyond the calendar that the server knows there is no bound to name.
    if let Some(before) =
        to.checked_add(SLACK_MS).map(Timestamp).filter(|at| Timestamp::parse(&at.to_string()).is_some())
    {
        query.set("created_before", before);
    }
    if Timestamp::parse(&after.to_string()).is_none() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    loop {
        let page = server.get("/api/jobs", &query).await?;
        let jobs = page["jobs"].as_array().cloned().unwrap_or_default();
        found.extend(
            jobs.into_iter().filter(|job| show::text(&job["id"]).replace('-', "").starts_with(digits)),
        );
        match page["next_cursor"].as_str() {
            Some(next) if found.len() <= CANDIDATES_MAX => query.set("cursor", next),
            _ => return Ok(found),
        }
    }
}

/// The first and the last millisecond of ids that begin so.
fn spanned(digits: &str) -> (i64, i64) {
    let time = &digits[..digits.len().min(TIME_DIGITS)];
    let edge = |fill: &str| {
        let padded = format!("{time}{}", fill.repeat(TIME_DIGITS - time.len()));
        i64::from_str_radix(&padded, 16).expect("twelve hexadecimal digits are a number of 48 bits")
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
    fn a_beginning_spans_a_time() {
        assert_eq!(spanned("0199"), (0x0199_0000_0000, 0x0199_ffff_ffff));
        assert_eq!(spanned("01990c3a7d2e"), (0x0199_0c3a_7d2e, 0x0199_0c3a_7d2e));
        assert_eq!(spanned("01990c3a7d2e7abc"), (0x0199_0c3a_7d2e, 0x0199_0c3a_7d2e));
    }

    #[test]
    fn a_whole_id_has_hyphens() {
        let id = "01990c3a-7d2e-7abc-8def-0123456789ab";
        assert_eq!(hyphenated(&id.replace('-', "")), id);
    }
}
