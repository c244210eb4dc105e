//! Search: a job by id, jobs by a query, or whatever has a name: users, types, queues, workers, errors, correlation ids.

use axum::response::Redirect;
use tenure_core::job_query::{JobQuery, KEYS};
use tenure_service::listing;
use tenure_service::workers;
use uuid::Uuid;

use crate::anchor::{ROWS, just_after};
use crate::errors::group_address;
use crate::jobs::filters::address;
use crate::prelude::*;

/// Hexadecimal digits of an id.
const DIGITS: usize = 32;
/// Results of each kind.
const NAMES_MAX: usize = 10;

/// A thing with a name, and its page.
struct Hit {
    what: &'static str,
    name: String,
    href: String,
}

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    let query = params.text("q").unwrap_or_default().trim().to_owned();
    params.done()?;
    if let Some(listing) = listing(&query, visitor.now) {
        return Ok(Redirect::to(&listing).into_response());
    }
    let jobs = match id_prefix(&query) {
        Some(whole) if whole.len() == DIGITS => {
            let id = Uuid::try_parse(&whole).expect("32 hexadecimal digits are an id");
            return Ok(Redirect::to(&job_address(JobId(id))).into_response());
        }
        Some(digits) => by_prefix(&visitor.dashboard, &visitor.caller, &digits).await?,
        None => by_short_id(&visitor.dashboard, &visitor.caller, &query).await?,
    };
    let hits = hits(&visitor.dashboard, &visitor.caller, &query).await?;
    match (jobs.as_slice(), hits.as_slice()) {
        ([only], []) => Ok(Redirect::to(&job_address(only.id())).into_response()),
        ([], [only]) => Ok(Redirect::to(&only.href).into_response()),
        ([], []) => show(visitor, result(help(&query))).await,
        (jobs, hits) => {
            let main =
                html! { (hits_list(&query, hits)) @if !jobs.is_empty() { (several_jobs(&query, jobs)) } };
            show(visitor, result(main)).await
        }
    }
}

/// The listing that a query means.
fn listing(query: &str, now: Timestamp) -> Option<String> {
    let is_query = query.contains(':') && JobQuery::parse(query, now).is_ok();
    is_query.then(|| address("/ui/jobs", [("q", query)].into_iter()))
}

/// Things whose name contains the query. A user or a correlation id must be complete: jobs are found by them.
async fn hits(service: &Service, caller: &Caller, query: &str) -> Result<Vec<Hit>> {
    let mut hits = Vec::new();
    if query.is_empty() {
        return Ok(hits);
    }
    for (what, key, filter) in [
        ("User", "user_id", JobFilter { user_id: Some(query.into()), ..JobFilter::default() }),
        (
            "Correlation id",
            "correlation_id",
            JobFilter { correlation_id: Some(query.into()), ..JobFilter::default() },
        ),
    ] {
        let mut filter = filter;
        let is_allowed = caller.narrow(&mut filter).is_ok();
        let rows = Rows { before: None, limit: 1 };
        if is_allowed && !listing::list(service, caller, filter, rows).await?.0.is_empty() {
            let href = address("/ui/jobs", [(key, query)].into_iter());
            hits.push(Hit { what, name: query.to_owned(), href });
        }
    }
    if caller.is(Right::ReadSystem) {
        hits.extend(named(service, query).await?);
    }
    Ok(hits)
}

/// Types, queues, workers and errors whose name contains the query.
async fn named(service: &Service, query: &str) -> Result<Vec<Hit>> {
    let lower = query.to_lowercase();
    let matches = |name: &str| name.to_lowercase().contains(&lower);
    let snapshot = service.stats().snapshot().await?;
    let hit = |what, name: &str, href| Hit { what, name: name.to_owned(), href };
    let mut hits = Vec::new();
    let types = snapshot.types.iter().map(|it| it.name.as_str()).filter(|name| matches(name));
    hits.extend(types.take(NAMES_MAX).map(|name| hit("Type", name, format!("/ui/types/{}", encode(name)))));
    let queues = snapshot.queues.iter().map(|it| it.name.as_str()).filter(|name| matches(name));
    hits.extend(
        queues.take(NAMES_MAX).map(|name| hit("Queue", name, format!("/ui/jobs?queue={}", encode(name)))),
    );
    let lifecycles = snapshot.lifecycles.iter().filter(|it| matches(it.name.as_str()));
    hits.extend(
        lifecycles
            .take(NAMES_MAX)
            .map(|it| hit("Lifecycle", it.name.as_str(), crate::map::address(&it.name))),
    );
    let errors = snapshot.errors.iter().filter(|it| matches(&it.code) || matches(&it.message));
    hits.extend(
        errors.take(NAMES_MAX).map(|it| hit("Error", &it.code, group_address(it, None))),
    );
    let workers = workers::list(service).await?;
    let workers = workers.iter().map(|worker| worker.name.as_str()).filter(|name| matches(name));
    hits.extend(
        workers.take(NAMES_MAX).map(|name| hit("Worker", name, format!("/ui/jobs?worker={}", encode(name)))),
    );
    Ok(hits)
}

fn hits_list(query: &str, hits: &[Hit]) -> Markup {
    html! {
        @if !hits.is_empty() {
            (table(&format!("Results for {query}"), &["What", "Name"], &html! {
                @for hit in hits { tr { td.quiet { (hit.what) } th scope="row" { a href=(hit.href) { (hit.name) } } } }
            }))
        }
    }
}

/// A job by the short form of its id, `01990c3a…89ab`, as pages show it.
async fn by_short_id(service: &Service, caller: &Caller, query: &str) -> Result<Vec<Arc<Job>>> {
    let Some((first, last)) = query.split_once('…') else { return Ok(Vec::new()) };
    let (Some(first), Some(last)) = (id_prefix(first), id_prefix(last)) else { return Ok(Vec::new()) };
    let mut jobs = by_prefix(service, caller, &first).await?;
    jobs.retain(|job| job.id().0.simple().to_string().ends_with(&last));
    Ok(jobs)
}

/// The query as hexadecimal digits of an id's prefix.
fn id_prefix(query: &str) -> Option<String> {
    let digits = query.replace('-', "").to_ascii_lowercase();
    let fits =
        !digits.is_empty() && digits.len() <= DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    fits.then_some(digits)
}

/// The newest jobs whose ids have a prefix. Ids are ordered, so one page from the largest possible id is enough.
async fn by_prefix(service: &Service, caller: &Caller, digits: &str) -> Result<Vec<Arc<Job>>> {
    let last = format!("{digits}{}", "f".repeat(DIGITS - digits.len()));
    let last = u128::from_str_radix(&last, 16).expect("32 hexadecimal digits fit into 128 bits");
    let before = (last < u128::MAX).then(|| just_after(JobId(Uuid::from_u128(last))));
    let mut filter = JobFilter::default();
    caller.narrow(&mut filter)?;
    let (mut found, _) = listing::list(service, caller, filter, Rows { before, limit: ROWS }).await?;
    found.retain(|job| job.id().0.simple().to_string().starts_with(digits));
    Ok(found)
}

fn result(main: Markup) -> StaticPage {
    StaticPage { tab: Tab::Jobs, title: "Search".to_owned(), main }
}

fn several_jobs(query: &str, jobs: &[Arc<Job>]) -> Markup {
    let is_all = jobs.len() < ROWS;
    html! {
        p {
            @if is_all { (jobs.len()) " jobs have" } @else { "The newest " (jobs.len()) " jobs that have" }
            " ids that begin with " code { (query) } @if is_all { "." } @else { "; type more of the id to see others." }
        }
        (table("Jobs whose ids have this prefix, newest first", &["Job", "Type", "State", "Created"], &html! {
            @for job in jobs {
                tr {
                    th scope="row" { a.id href=(job_address(job.id())) { (job.id()) } }
                    td { (job.spec.job_type) }
                    td { (state(job.state.as_str(), job.phase)) }
                    td { (when(job.spec.created_at)) }
                }
            }
        }))
    }
}

fn help(query: &str) -> Markup {
    let examples = [
        ("state:failed,dead type:image", "jobs that match all terms; commas separate alternatives"),
        ("error:TIMEOUT since:2h", "jobs of the last two hours with an error code"),
        ("user:u1 phase:active", "running jobs of a user"),
        ("payload.order:42", "jobs whose payload has this value"),
        ("correlation:order-17", "jobs with the same correlation id"),
    ];
    let flaw = JobQuery::parse(query, Timestamp(0)).err();
    html! {
        @if !query.is_empty() {
            p.warn role="status" {
                "Nothing is called " code { (query) } @if id_prefix(query).is_some() { ", and no job's id begins so" } "."
                @if let Some(flaw) = flaw.filter(|_| query.contains(':')) { " As a query: " (flaw) "." }
            }
        }
        section {
            h2 { "Search syntax" }
            p { "A job's id or a prefix of it; a user, type, queue, worker, error or correlation id; or a query:" }
            ul {
                @for (example, what) in examples {
                    li { a href=(address("/ui/search", [("q", example)].into_iter())) { code { (example) } } " " span.quiet { (what) } }
                }
            }
            p.hint { "Keys: " @for key in KEYS { code { (key) ":" } " " } code { "payload.NAME:" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_leads_to_a_listing() {
        let listing = |query| listing(query, Timestamp(0)).unwrap_or_default();
        assert_eq!(listing("state:failed type:image"), "/ui/jobs?q=state%3Afailed%20type%3Aimage");
        assert_eq!([listing(""), listing("state:"), listing("colour:red"), listing("state:a b")], [""; 4]);
    }

    #[test]
    fn an_id_begins_with_digits_and_hyphens() {
        assert_eq!(id_prefix("0199-AB").as_deref(), Some("0199ab"));
        assert_eq!(id_prefix("01990c3a-7d2e-7abc-8def-0123456789ab").map(|digits| digits.len()), Some(32));
        assert_eq!([id_prefix(""), id_prefix("xyz"), id_prefix(&"0".repeat(33))], [None, None, None]);
    }
}
