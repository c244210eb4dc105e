//! The bar at the top: a job by its id or the beginning of one, or jobs by `word:value`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect};
use maud::{Markup, html};
use tenure_core::id::JobId;
use tenure_core::job::Job;
use tenure_core::query::{JobFilter, Page as Rows};
use tenure_service::caller::{Caller, Right};
use tenure_service::extract::Reply;
use tenure_service::problem::Problem;
use tenure_service::query::QueryParams;
use tenure_service::{Service, listing};
use uuid::Uuid;

use crate::anchor::{ROWS, just_after};
use crate::format::{job_address, state, table, when};
use crate::jobs::filters::address;
use crate::layout::Tab;
use crate::session::Visitor;
use crate::{Dashboard, Page, Parts, show};

/// Hexadecimal digits of an id.
const DIGITS: usize = 32;

/// What can be asked by `word:value`, and the filter that it means.
const WORDS: [(&str, &str); 14] = [
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

/// What was asked, and what came of it.
struct Found {
    query: String,
    jobs: Vec<Arc<Job>>,
}

pub(crate) async fn page(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    mut params: QueryParams,
) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    let query = params.text("q").unwrap_or_default().trim().to_owned();
    params.done()?;
    if let Some(listing) = listing(&query) {
        return Ok(Redirect::to(&listing).into_response());
    }
    let jobs = match beginning(&query) {
        Some(whole) if whole.len() == DIGITS => {
            let id = Uuid::try_parse(&whole).expect("32 hexadecimal digits are an id");
            return Ok(Redirect::to(&job_address(JobId(id))).into_response());
        }
        Some(digits) => begin_so(&dashboard, &visitor.caller, &digits).await?,
        None => Vec::new(),
    };
    match jobs.as_slice() {
        [only] => Ok(Redirect::to(&job_address(only.id())).into_response()),
        _ => show(&dashboard, visitor, Found { query, jobs }).await,
    }
}

/// The listing that `state:failed type:image` means, if all of it is such words.
fn listing(query: &str) -> Option<String> {
    let one = |token: &'_ str| {
        let (word, value) = token.split_once(':')?;
        let (_, filter) = WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word))?;
        (!value.is_empty()).then(|| (*filter, value.to_owned()))
    };
    let pairs: Option<Vec<(&str, String)>> = query.split_whitespace().map(one).collect();
    let pairs = pairs.filter(|pairs| !pairs.is_empty())?;
    Some(address("/ui/jobs", pairs.iter().map(|(name, value)| (*name, value.as_str()))))
}

/// The digits that an id is to begin with.
fn beginning(query: &str) -> Option<String> {
    let digits = query.replace('-', "").to_ascii_lowercase();
    let fits =
        !digits.is_empty() && digits.len() <= DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    fits.then_some(digits)
}

/// The newest jobs whose ids begin so. Ids are in order, so the rows from the last one that could begin so are enough.
async fn begin_so(service: &Service, caller: &Caller, digits: &str) -> Result<Vec<Arc<Job>>, Problem> {
    let last = format!("{digits}{}", "f".repeat(DIGITS - digits.len()));
    let last = u128::from_str_radix(&last, 16).expect("32 hexadecimal digits are a number of 128 bits");
    let before = (last < u128::MAX).then(|| just_after(JobId(Uuid::from_u128(last))));
    let mut filter = JobFilter::default();
    caller.narrow(&mut filter)?;
    let (mut found, _) = listing::list(service, caller, filter, Rows { before, limit: ROWS }).await?;
    found.retain(|job| job.id().0.simple().to_string().starts_with(digits));
    Ok(found)
}

impl Page for Found {
    fn title(&self) -> String {
        "Search".to_owned()
    }

    fn tab(&self) -> Tab {
        Tab::Jobs
    }

    fn stream(&self) -> Option<String> {
        Some(String::new())
    }

    async fn draw(&self, _: &Service, _: &Caller, _: &mut Parts) -> Result<Markup, Problem> {
        Ok(html! { @if self.jobs.is_empty() { (self.help()) } @else { (self.several()) } })
    }
}

impl Found {
    fn several(&self) -> Markup {
        let is_all = self.jobs.len() < ROWS;
        html! {
            p {
                @if is_all { (self.jobs.len()) " jobs have" } @else { "The newest " (self.jobs.len()) " jobs that have" }
                " ids that begin with " code { (self.query) } @if is_all { "." } @else { "; write more of it to see others." }
            }
            (table("Jobs whose ids begin so, the newest first", &["Job", "Type", "State", "Created"], &html! {
                @for job in &self.jobs {
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

    fn help(&self) -> Markup {
        let examples = [
            ("state:failed type:image", "jobs by words; all of them must fit"),
            ("outcome:dead", "every job that ended dead, whatever its lifecycle calls that"),
            ("user:u1 phase:active", "what runs for a user"),
            ("correlation:order-17", "what belongs together"),
        ];
        let words: Vec<&str> =
            WORDS.iter().map(|(word, _)| *word).filter(|word| !word.ends_with("_id")).collect();
        html! {
            @if !self.query.is_empty() {
                p.warn role="status" {
                    @if beginning(&self.query).is_some() { "No job's id begins with " code { (self.query) } "." }
                    @else { "Nothing can be found by " code { (self.query) } "." }
                }
            }
            section {
                h2 { "What can be asked" }
                p { "A job's id, or as much of its beginning as tells it from others. Or words with values, as many as wanted:" }
                ul {
                    @for (example, what) in examples {
                        li { a href=(address("/ui/search", [("q", example)].into_iter())) { code { (example) } } " " span.quiet { (what) } }
                    }
                }
                p.hint { "Words: " @for word in words { code { (word) ":" } " " } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_values_are_a_listing() {
        let listing = |query| listing(query).unwrap_or_default();
        assert_eq!(listing("state:failed type:image"), "/ui/jobs?state=failed&type=image");
        assert_eq!(listing("User:a:b"), "/ui/jobs?user_id=a%3Ab");
        assert_eq!([listing(""), listing("state:"), listing("colour:red"), listing("state:a b")], [""; 4]);
    }

    #[test]
    fn an_id_begins_with_digits_and_hyphens() {
        assert_eq!(beginning("0199-AB").as_deref(), Some("0199ab"));
        assert_eq!(beginning("01990c3a-7d2e-7abc-8def-0123456789ab").map(|digits| digits.len()), Some(32));
        assert_eq!([beginning(""), beginning("xyz"), beginning(&"0".repeat(33))], [None, None, None]);
    }
}
