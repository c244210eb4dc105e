//! Search: a job by id, jobs by a query, or whatever has a name: users, types, queues, workers, errors, correlation ids.

use axum::response::Redirect;
use tenure_core::job_query::{JobQuery, KEYS};
use tenure_service::bulk::PAGE_JOBS;
use tenure_service::listing;
use tenure_service::search::EXAMINED_MAX;
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

/// A part of an id: its first digits and, in the short form `01990c3a…89ab` that pages show, its last ones.
struct IdPart {
    first: String,
    last: String,
}

/// Jobs by a part of their ids, newest first.
#[derive(Default)]
struct FoundIds {
    jobs: Vec<Arc<Job>>,
    /// Whether no other job has such an id.
    is_complete: bool,
}

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    let query = params.text("q").unwrap_or_default().trim().to_owned();
    params.done()?;
    if let Some(listing) = listing(&query, visitor.now) {
        return Ok(Redirect::to(&listing).into_response());
    }
    let part = IdPart::read(&query);
    let found = match &part {
        Some(part) if part.first.len() == DIGITS => {
            let id = Uuid::try_parse(&part.first).expect("32 hexadecimal digits are an id");
            return Ok(Redirect::to(&job_address(JobId(id))).into_response());
        }
        Some(part) => part.find(&visitor.dashboard, &visitor.caller).await?,
        None => FoundIds { is_complete: true, ..FoundIds::default() },
    };
    let hits = hits(&visitor.dashboard, &visitor.caller, &query).await?;
    match (found.jobs.as_slice(), hits.as_slice()) {
        ([only], []) if found.is_complete => Ok(Redirect::to(&job_address(only.id())).into_response()),
        ([], [only]) if found.is_complete => Ok(Redirect::to(&only.href).into_response()),
        ([], []) => show(visitor, result(help(&query, part.is_some(), found.is_complete))).await,
        (jobs, hits) => {
            let main = html! {
                (hits_list(&query, hits))
                @if !jobs.is_empty() { (several_jobs(&query, &found)) }
                @else if !found.is_complete { p.hint { (incomplete()) } }
            };
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
    hits.extend(errors.take(NAMES_MAX).map(|it| hit("Error", &it.code, group_address(it, None))));
    let workers = workers::list_recent(service).await?;
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

impl IdPart {
    fn read(query: &str) -> Option<Self> {
        let (first, last) = match query.split_once('…') {
            Some((first, last)) => (id_prefix(first)?, id_prefix(last)?),
            None => (id_prefix(query)?, String::new()),
        };
        (first.len() + last.len() <= DIGITS).then_some(Self { first, last })
    }

    /// Ids are ordered, so only the jobs between the smallest and the largest possible id are examined: those of a minute, if the
    /// part has the first eight digits.
    async fn find(&self, service: &Service, caller: &Caller) -> Result<FoundIds> {
        let bound = |digit: &str| {
            let digits = format!("{}{}", self.first, digit.repeat(DIGITS - self.first.len()));
            u128::from_str_radix(&digits, 16).expect("32 hexadecimal digits fit into 128 bits")
        };
        let from = Some(JobId(Uuid::from_u128(bound("0"))));
        let mut filter = JobFilter { from, ..JobFilter::default() };
        caller.narrow(&mut filter)?;
        let last = bound("f");
        let mut before = (last < u128::MAX).then(|| just_after(JobId(Uuid::from_u128(last))));
        let limit = if self.last.is_empty() { ROWS } else { PAGE_JOBS };
        let (mut found, mut examined) = (FoundIds::default(), 0);
        loop {
            let rows = Rows { before, limit };
            let (jobs, next) = listing::list(service, caller, filter.clone(), rows).await?;
            examined += limit;
            let has_end = |job: &Arc<Job>| job.id().0.simple().to_string().ends_with(&self.last);
            found.jobs.extend(jobs.into_iter().filter(has_end));
            found.is_complete = next.is_none() && found.jobs.len() <= ROWS;
            if next.is_none() || found.jobs.len() >= ROWS || examined >= EXAMINED_MAX {
                found.jobs.truncate(ROWS);
                return Ok(found);
            }
            before = next;
        }
    }
}

/// The query as hexadecimal digits of an id's prefix.
fn id_prefix(query: &str) -> Option<String> {
    let digits = query.replace('-', "").to_ascii_lowercase();
    let fits =
        !digits.is_empty() && digits.len() <= DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    fits.then_some(digits)
}

fn result(main: Markup) -> StaticPage {
    StaticPage { tab: Tab::Jobs, title: "Search".to_owned(), main }
}

/// Why others may have such an id, too.
fn incomplete() -> Markup {
    html! { "At most " (count(EXAMINED_MAX as u64)) " jobs of that time are examined; others may have such an id. Type more of it." }
}

fn several_jobs(query: &str, found: &FoundIds) -> Markup {
    let FoundIds { jobs, is_complete } = found;
    let like = if query.contains('…') { "like" } else { "that begin with" };
    html! {
        p {
            @if *is_complete { (jobs.len()) @if jobs.len() == 1 { " job has an id " } @else { " jobs have ids " } (like) " " code { (query) } "." }
            @else if jobs.len() == ROWS { "The newest " (jobs.len()) " jobs with ids " (like) " " code { (query) } "; type more of the id to see others." }
            @else { (jobs.len()) " of the newest jobs with ids " (like) " " code { (query) } ". " (incomplete()) }
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

/// What can be searched for, and that nothing was found; `is_id` says that the query may be a part of an id.
fn help(query: &str, is_id: bool, is_complete: bool) -> Markup {
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
                "No user, type, queue, lifecycle, worker, error or correlation id is called " code { (query) }
                @if is_id { ", and no job was found whose id is like this" } "."
                @if !is_complete { " " (incomplete()) }
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
    fn a_part_of_an_id_has_a_beginning_and_perhaps_an_end() {
        let part = |query| IdPart::read(query).map(|part| (part.first, part.last));
        let pair = |first: &str, last: &str| Some((first.to_owned(), last.to_owned()));
        assert_eq!(part("01990C3A-7d"), pair("01990c3a7d", ""));
        assert_eq!(part("01990c3a…89ab"), pair("01990c3a", "89ab"));
        assert_eq!(
            ["…89ab", "0199…", "0199…x", &format!("{}…0", "0".repeat(32))].map(part),
            [None, None, None, None]
        );
    }

    #[test]
    fn an_id_begins_with_digits_and_hyphens() {
        assert_eq!(id_prefix("0199-AB").as_deref(), Some("0199ab"));
        assert_eq!(id_prefix("01990c3a-7d2e-7abc-8def-0123456789ab").map(|digits| digits.len()), Some(32));
        assert_eq!([id_prefix(""), id_prefix("xyz"), id_prefix(&"0".repeat(33))], [None, None, None]);
    }
}
