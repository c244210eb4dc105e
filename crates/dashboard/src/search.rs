//! Search: a job by id or prefix, or jobs by `key:value`.

use axum::response::Redirect;
use tenure_service::listing;
use uuid::Uuid;

use crate::anchor::{ROWS, just_after};
use crate::jobs::filters::address;
use crate::prelude::*;

/// Hexadecimal digits of an id.
const DIGITS: usize = 32;

/// Search keys and the filters that they set.
const KEYS: [(&str, &str); 14] = [
    ("state", "state"),
    ("type", "type"),
    ("queue", "queue"),
    ("user", "user_id"),
    ("worker", "worker"),
    ("lifecycle", "lifecycle"),
    ("outcome", "outcome"),
    ("phase", "phase"),
    ("correlation", "correlation_id"),
    ("retry_of", "retry_of"),
    ("user_id", "user_id"),
    ("correlation_id", "correlation_id"),
    ("created_after", "created_after"),
    ("created_before", "created_before"),
];

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    let query = params.text("q").unwrap_or_default().trim().to_owned();
    params.done()?;
    if let Some(listing) = listing(&query) {
        return Ok(Redirect::to(&listing).into_response());
    }
    let jobs = match id_prefix(&query) {
        Some(whole) if whole.len() == DIGITS => {
            let id = Uuid::try_parse(&whole).expect("32 hexadecimal digits are an id");
            return Ok(Redirect::to(&job_address(JobId(id))).into_response());
        }
        Some(digits) => by_prefix(&visitor.dashboard, &visitor.caller, &digits).await?,
        None => Vec::new(),
    };
    match jobs.as_slice() {
        [only] => Ok(Redirect::to(&job_address(only.id())).into_response()),
        [] => show(visitor, result(help(&query))).await,
        several => show(visitor, result(several_jobs(&query, several))).await,
    }
}

/// The listing that `state:failed type:image` means, if all of it is such words.
fn listing(query: &str) -> Option<String> {
    let one = |token: &'_ str| {
        let (word, value) = token.split_once(':')?;
        let (_, filter) = KEYS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word))?;
        (!value.is_empty()).then(|| (*filter, value.to_owned()))
    };
    let pairs: Option<Vec<(&str, String)>> = query.split_whitespace().map(one).collect();
    let pairs = pairs.filter(|pairs| !pairs.is_empty())?;
    Some(address("/ui/jobs", pairs.iter().map(|(name, value)| (*name, value.as_str()))))
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
        ("state:failed type:image", "jobs that match all filters"),
        ("outcome:dead", "jobs with the outcome dead, in every lifecycle"),
        ("user:u1 phase:active", "running jobs of a user"),
        ("correlation:order-17", "jobs with the same correlation id"),
    ];
    let words: Vec<&str> = KEYS.iter().map(|(word, _)| *word).filter(|word| !word.ends_with("_id")).collect();
    html! {
        @if !query.is_empty() {
            p.warn role="status" {
                @if id_prefix(query).is_some() { "No job's id begins with " code { (query) } "." }
                @else { code { (query) } " is not a search." }
            }
        }
        section {
            h2 { "Search syntax" }
            p { "A job's id or a prefix of it, or any number of filters:" }
            ul {
                @for (example, what) in examples {
                    li { a href=(address("/ui/search", [("q", example)].into_iter())) { code { (example) } } " " span.quiet { (what) } }
                }
            }
            p.hint { "Filters: " @for word in words { code { (word) ":" } " " } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_lead_to_a_listing() {
        let listing = |query| listing(query).unwrap_or_default();
        assert_eq!(listing("state:failed type:image"), "/ui/jobs?state=failed&type=image");
        assert_eq!(listing("User:a:b"), "/ui/jobs?user_id=a%3Ab");
        assert_eq!([listing(""), listing("state:"), listing("colour:red"), listing("state:a b")], [""; 4]);
    }

    #[test]
    fn an_id_begins_with_digits_and_hyphens() {
        assert_eq!(id_prefix("0199-AB").as_deref(), Some("0199ab"));
        assert_eq!(id_prefix("01990c3a-7d2e-7abc-8def-0123456789ab").map(|digits| digits.len()), Some(32));
        assert_eq!([id_prefix(""), id_prefix("xyz"), id_prefix(&"0".repeat(33))], [None, None, None]);
    }
}
