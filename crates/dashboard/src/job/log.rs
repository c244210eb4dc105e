//! The log of a job: its last lines, those that contain a text or belong to an attempt, and the whole of it as plain text.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::try_unfold;
use tenure_core::event::LogLine;
use tenure_service::extract::Id;
use tenure_store::StoreError;

use super::output::plain;
use super::path::Stay;
use crate::prelude::*;

/// Lines that are shown: of the log, and above the fold.
const LINES_SHOWN: usize = 200;
const TAIL_LINES: u64 = 6;
/// Characters of a line that are shown.
const LINE_CHARS: usize = 1000;
const TAIL_CHARS: usize = 200;
/// Lines per read of the store.
const LINES_READ: usize = 500;
/// Lines that a search examines.
const EXAMINED_MAX: u64 = 10_000;
/// Characters of a search.
const SEARCH_CHARS_MAX: usize = 200;
/// Attempts that can be chosen: the last ones.
const ATTEMPTS_MAX: usize = 20;

/// Which lines are shown.
pub(super) struct LogView {
    text: Option<String>,
    attempt: Option<u32>,
}

/// Lines of a log.
pub(super) struct FoundLines {
    pub(super) lines: Vec<LogLine>,
    /// How many lines a search examined.
    examined: Option<u64>,
}

/// When an attempt began and ended.
type Window = (Timestamp, Option<Timestamp>);

impl LogView {
    pub(super) fn read(params: &mut QueryParams) -> Result<Self> {
        params.drop_empty();
        let short = |text: &str| (text.chars().count() <= SEARCH_CHARS_MAX).then(|| text.to_owned());
        let text = params.read("log", &format!("at most {SEARCH_CHARS_MAX} characters"), short)?;
        let attempt = params.number("attempt", 0..=u64::from(u32::MAX))?;
        Ok(Self { text, attempt: attempt.map(|number| number as u32) })
    }

    fn is_filtered(&self) -> bool {
        self.text.is_some() || self.attempt.is_some()
    }

    /// The last matching lines.
    pub(super) async fn find(&self, service: &Service, job: &Job, stays: &[Stay<'_>]) -> Result<FoundLines> {
        let (id, end) = (job.id(), job.output.log_count);
        if !self.is_filtered() {
            let after = end.saturating_sub(LINES_SHOWN as u64);
            let lines = service.store().logs(id, after, LINES_SHOWN).await?;
            return Ok(FoundLines { lines, examined: None });
        }
        let window = self.attempt.and_then(|attempt| window(stays, attempt));
        let wanted = self.text.as_ref().map(|text| text.to_lowercase());
        let is_wanted = |line: &LogLine| {
            wanted.as_ref().is_none_or(|wanted| line.text.to_lowercase().contains(wanted))
                && (self.attempt.is_none() || window.is_some_and(|window| is_in(window, line.ts)))
        };
        let (mut found, mut upto) = (Vec::new(), end);
        while upto > 0 && end - upto < EXAMINED_MAX && found.len() < LINES_SHOWN {
            let after = upto.saturating_sub(LINES_READ as u64);
            let (mut matching, mut at) = (Vec::new(), after);
            while at < upto {
                let page = service.store().logs_page(id, at, (upto - at) as usize).await?;
                let Some(last) = page.rows.last() else { break };
                at = last.n;
                matching.extend(page.rows.into_iter().filter(is_wanted));
            }
            matching.append(&mut found);
            (found, upto) = (matching, after);
        }
        let first = found.len().saturating_sub(LINES_SHOWN);
        Ok(FoundLines { lines: found.split_off(first), examined: Some(end - upto) })
    }

    pub(super) fn form(&self, id: JobId, stays: &[Stay<'_>]) -> Markup {
        let mut attempts: Vec<u32> = stays.iter().map(|stay| stay.by.attempt).filter(|it| *it > 0).collect();
        attempts.dedup();
        let attempts = &attempts[attempts.len().saturating_sub(ATTEMPTS_MAX)..];
        html! {
            form.filters role="search" aria-label="Search the log" action=(format!("{}#log", job_address(id))) {
                label { "Text" input type="search" name="log" value=[self.text.as_ref()] maxlength=(SEARCH_CHARS_MAX) autocomplete="off" spellcheck="false"; }
                label { "Attempt"
                    select name="attempt" {
                        option value="" { "all" }
                        @for attempt in attempts { option value=(attempt) selected[self.attempt == Some(*attempt)] { (attempt) } }
                    }
                }
                button type="submit" { "Search" }
                @if self.is_filtered() { a.button href=(format!("{}#log", job_address(id))) { "Clear" } }
            }
        }
    }
}

/// How many lines are shown, of how many.
pub(super) fn about(job: &Job, found: &FoundLines) -> Markup {
    let lines = job.output.log_count;
    let shown = found.lines.len();
    html! {
        p.hint {
            @if lines == 0 {
                "No log lines yet. Write some with " code { "POST /api/jobs/{id}/logs" } "."
            } @else if let Some(examined) = found.examined {
                @if shown == LINES_SHOWN { "The last " (LINES_SHOWN) " matching lines" } @else { (count(shown as u64)) @if shown == 1 { " line matches" } @else { " lines match" } }
                "; searched " @if examined < lines { "the last " } (count(examined)) " of " (count(lines)) ". "
            } @else if lines > LINES_SHOWN as u64 {
                "The last " (LINES_SHOWN) " of " (count(lines)) " lines. "
            } @else {
                (count(lines)) @if lines == 1 { " line. " } @else { " lines. " }
            }
            @if lines > 0 { "Times are UTC. " a href=(format!("{}/log", job_address(job.id()))) { "Full log as text" } }
        }
    }
}

/// From the first event of an attempt to its last.
fn window(stays: &[Stay<'_>], attempt: u32) -> Option<Window> {
    let mut own = stays.iter().filter(|stay| stay.by.attempt == attempt && !stay.phase().is_final());
    let first = own.next()?;
    let last = own.next_back().unwrap_or(first);
    Some((first.from(), last.out.map(|out| out.ts)))
}

fn is_in((from, to): Window, at: Timestamp) -> bool {
    at >= from && to.is_none_or(|to| at <= to)
}

/// The last lines, for the top of the page.
pub(super) async fn tail(service: &Service, job: &Job) -> Result<Vec<LogLine>> {
    let after = job.output.log_count.saturating_sub(TAIL_LINES);
    Ok(service.store().logs(job.id(), after, TAIL_LINES as usize).await?)
}

pub(super) fn last(job: &Job, tail: &[LogLine]) -> Markup {
    html! {
        @if !tail.is_empty() {
            pre.log.tail aria-label="Last lines of the log" tabindex="0" { (written(tail, TAIL_CHARS)) }
            @if job.output.log_count > TAIL_LINES { p.hint { a href="#log" { "All " (count(job.output.log_count)) " lines" } } }
        }
    }
}

pub(super) fn lines(lines: &[LogLine]) -> Markup {
    written(lines, LINE_CHARS)
}

fn written(lines: &[LogLine], chars: usize) -> Markup {
    html! {
        @for line in lines {
            @let is_bad = line.level == "error" || line.stream == "stderr";
            @let ts = line.ts.to_string();
            span class=[is_bad.then_some("failed")] title=(format!("line {} · {ts} · {} · {}", line.n, line.stream, line.level)) {
                span.n { (clock(&ts)) } " " (cut(&line.text, chars))
            }
            "\n"
        }
    }
}

/// The time of day of an RFC 3339 time.
fn clock(ts: &str) -> &str {
    ts.split_once('T').map_or(ts, |(_, time)| time.trim_end_matches('Z'))
}

/// `GET /ui/jobs/{id}/log`: the full log, read in pages while it is sent.
pub(crate) async fn full_log(visitor: Visitor, Id(id): Id, params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    params.done()?;
    let job = visitor.dashboard.job(&visitor.caller, id).await?;
    let last = job.output.log_count;
    let service = Service::clone(&visitor.dashboard);
    let pages = try_unfold(0, move |after| {
        let service = service.clone();
        async move {
            let lines = if after < last {
                service.store().logs_page(id, after, LINES_READ).await?.rows
            } else {
                Vec::new()
            };
            let Some(next) = lines.last().map(|line| line.n) else { return Ok::<_, StoreError>(None) };
            let line = |line: &LogLine| format!("{} {} {} {}\n", line.ts, line.stream, line.level, line.text);
            Ok(Some((Bytes::from(lines.iter().map(line).collect::<String>()), next)))
        }
    });
    Ok(plain(Body::from_stream(pages)))
}
