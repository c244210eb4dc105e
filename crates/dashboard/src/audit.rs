//! The audit log: what operators did, filtered, and exported as a file.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::try_unfold;
use http::{HeaderValue, header};
use tenure_core::event::AuditLine;
use tenure_core::job_query::time;
use tenure_core::json::Json;
use tenure_service::audit::{AuditFilter, FoundLines};
use tenure_service::wire;

use crate::jobs::filters;
use crate::prelude::*;
use crate::pretty::pretty;

/// Rows of a page.
const ROWS: usize = 100;
/// Lines of one step of an export.
const EXPORT_LINES: usize = 500;
/// Bytes of the changed values that are shown.
const DETAILS_BYTES: usize = 4 << 10;
const COLUMNS: [&str; 6] = ["Time", "Actor", "Action", "Job", "Reason", "Changed values"];
const CSV_HEADER: &str = "id,time,actor,action,job,reason,details\n";

/// Name, label and hint of each filter.
const FIELDS: [(&str, &str, &str); 6] = [
    ("actor", "Actor", "operator:"),
    ("action", "Action", "pause"),
    ("job", "Job", "start of its id"),
    ("text", "Reason or values", "queue"),
    ("since", "Since", "2h"),
    ("until", "Until", "2026-11-16T09:30:00Z"),
];

struct Audit {
    filter: AuditFilter,
    /// The filters as they were given.
    values: Vec<(&'static str, String)>,
    before: Option<u64>,
}

impl Audit {
    fn read(params: &mut QueryParams, now: Timestamp) -> Result<Self> {
        params.drop_empty();
        let given = FIELDS.iter().filter_map(|(name, ..)| Some((*name, params.peek(name)?.to_owned())));
        let values = given.collect();
        let expected = "a duration such as 2h, or an RFC 3339 time";
        let filter = AuditFilter {
            actor: params.text("actor"),
            action: params.text("action"),
            job: params.text("job"),
            text: params.text("text"),
            since: params.read("since", expected, |text| time(text, now))?,
            until: params.read("until", expected, |text| time(text, now))?,
        };
        Ok(Self { filter, values, before: params.number("before", 0..=i64::MAX as u64)? })
    }

    fn address(&self, page: &str, more: &[(&str, &str)]) -> String {
        let given = self.values.iter().map(|(name, value)| (*name, value.as_str()));
        filters::address(page, given.chain(more.iter().copied()))
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    fn filters(&self) -> Markup {
        html! {
            form.filters role="search" aria-label="Filter the audit log" action="/ui/audit" {
                @for (name, label, hint) in FIELDS {
                    label { (label) input name=(name) value=[self.value(name)] placeholder=(hint) autocomplete="off" spellcheck="false"; }
                }
                button type="submit" { "Filter" }
                @if !self.values.is_empty() { a.button href="/ui/audit" { "Clear" } }
            }
            p.row {
                span.quiet { "Export what matches:" }
                @for format in ["csv", "jsonl"] {
                    a.button download href=(self.address("/ui/audit/export", &[("format", format)])) { (format.to_uppercase()) }
                }
            }
        }
    }

    fn table(&self, found: &FoundLines) -> Markup {
        if found.lines.is_empty() && !self.values.is_empty() {
            return nothing(&format!("None of {} lines matches.", count(found.examined as u64)), "");
        }
        let none = ("The audit log is empty: no operator has changed anything.", "");
        rows(&found.lines, none, "Audit log, newest first", &COLUMNS, |(_, line)| row(line))
    }
}

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    let audit = Audit::read(&mut params, visitor.now)?;
    params.done()?;
    show(visitor, audit).await
}

impl Page for Audit {
    const TAB: Tab = Tab::Audit;

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let before = self.before.unwrap_or(u64::MAX);
        let found = self.filter.search(service, before, ROWS).await?;
        Ok(html! {
            (self.filters())
            div #audit { (parts.keep("audit", self.table(&found))) }
            @if !self.values.is_empty() {
                p.hint { "Searched " (count(found.examined as u64)) " lines." @if found.before.is_some() { " Older lines may match." } }
            }
            nav.row aria-label="Pages of the audit log" {
                @if self.before.is_some() { a.button rel="prev" href=(self.address("/ui/audit", &[])) { "Newest" } }
                @if let Some(row) = found.before { a.button rel="next" href=(self.address("/ui/audit", &[("before", &row.to_string())])) { "Older" } }
            }
        })
    }
}

fn row(line: &AuditLine) -> Markup {
    html! {
        tr {
            td { (when(line.ts)) }
            td { (line.actor) }
            th.mono scope="row" { (line.action) }
            td { @if let Some(id) = line.job_id { (job_link(id)) } }
            td { (line.reason.as_deref().unwrap_or_default()) }
            td {
                @if let Some(details) = &line.details {
                    @let (shown, is_cut) = pretty(details.as_str(), DETAILS_BYTES);
                    details { summary { "values" } pre tabindex="0" { (shown) @if is_cut { "\n…" } } }
                }
            }
        }
    }
}

/// `GET /ui/audit/export`: all matching lines, the newest first, read in pages while they are sent.
pub(crate) async fn export(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    let is_csv = params.read("format", "csv or jsonl", |text| match text {
        "csv" => Some(true),
        "jsonl" => Some(false),
        _ => None,
    })?;
    let is_csv = is_csv.unwrap_or(true);
    let filter = Audit::read(&mut params, visitor.now)?.filter;
    params.done()?;
    let service = Service::clone(&visitor.dashboard);
    let lines = try_unfold(Some(u64::MAX), move |before| {
        let (service, caller, filter) = (service.clone(), visitor.caller.clone(), filter.clone());
        async move {
            let Some(before) = before else { return Ok::<_, Problem>(None) };
            // The credential may have ended since the last step.
            service.check_admission(&caller).await?;
            let found = filter.search(&service, before, EXPORT_LINES).await?;
            let is_first = is_csv && before == u64::MAX;
            let mut text = String::from(if is_first { CSV_HEADER } else { "" });
            for (row, line) in &found.lines {
                text.push_str(&if is_csv { csv(*row, line) } else { json_line(*row, line) });
            }
            Ok(Some((Bytes::from(text), found.before)))
        }
    });
    let lines = futures_util::TryStreamExt::map_err(lines, |problem| problem.detail().to_owned());
    Ok(download(Body::from_stream(lines), is_csv))
}

fn download(body: Body, is_csv: bool) -> Response {
    let mut response = body.into_response();
    let (kind, disposition) = if is_csv {
        ("text/csv; charset=utf-8", "attachment; filename=\"audit.csv\"")
    } else {
        ("application/jsonl; charset=utf-8", "attachment; filename=\"audit.jsonl\"")
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    response
}

/// A line as in `GET /api/audit`.
fn json_line(row: u64, line: &AuditLine) -> String {
    format!("{}\n", Json::of(&wire::audit_line(row, line)).as_str())
}

fn csv(row: u64, line: &AuditLine) -> String {
    let job = line.job_id.map(|job| job.to_string()).unwrap_or_default();
    let details = line.details.as_ref().map_or("", |details| details.as_str());
    let (reason, time) = (line.reason.as_deref().unwrap_or_default(), line.ts.to_string());
    let actor = line.actor.to_string();
    let cells = [&time, &actor, line.action.as_str(), &job, reason, details].map(cell);
    format!("{row},{}\n", cells.join(","))
}

/// A quoted cell. A text that a spreadsheet would take for a formula begins with an apostrophe.
fn cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_and_never_a_formula() {
        assert_eq!(cell("a, \"b\"\nc"), "\"a, \"\"b\"\"\nc\"");
        assert_eq!(cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(cell("paused"), "\"paused\"");
    }
}
