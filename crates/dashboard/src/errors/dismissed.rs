//! Dismissed dead letters.

use futures_util::future::try_join_all;
use tenure_core::id::TypeName;
use tenure_core::query::DeadLetterFilter;
use tenure_service::dead_letters::{narrow, visible};

use super::tabs;
use crate::anchor::{ROWS, pager};
use crate::jobs::failure;
use crate::jobs::filters::address;
use crate::prelude::*;

const COLUMNS: [&str; 7] = ["Job", "Type", "Reason code", "Error", "Dismissed", "By", "Reason"];

pub(crate) struct DismissedPage {
    pub(crate) cursor: Option<JobId>,
}

fn page_address(cursor: Option<JobId>) -> String {
    let cursor = cursor.map(|id| id.to_string());
    let cursor = cursor.iter().map(|id| ("cursor", id.as_str()));
    address("/ui/errors", [("dismissed", "true")].into_iter().chain(cursor))
}

impl Page for DismissedPage {
    const TAB: Tab = Tab::Errors;

    fn title(&self) -> Option<String> {
        Some("Dismissed dead letters".to_owned())
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let mut filter = DeadLetterFilter { dismissed: true, ..DeadLetterFilter::default() };
        narrow(caller, &mut filter)?;
        let page = Rows { before: self.cursor, limit: ROWS };
        let page = service.store().dead_letters_page(filter, page).await?;
        let older = page.rows.last().map(|letter| letter.job_id).filter(|_| page.has_more);
        let letters = visible(service, caller, page.rows).await?;
        let jobs = try_join_all(letters.iter().map(|letter| service.store().job(letter.job_id))).await?;
        let types = jobs.into_iter().map(|job| job.map(|job| job.spec.job_type.clone()));
        let found: Vec<(DeadLetter, Option<TypeName>)> = letters.into_iter().zip(types).collect();
        let none = ("No dismissed dead letters.", "");
        let content = rows(&found, none, "Dismissed dead letters, newest job first", &COLUMNS, row);
        Ok(html! {
            (tabs(true))
            div #dismissed { (parts.keep("dismissed", content)) }
            (pager("Pages of dead letters", self.cursor.map(|_| page_address(None)), older.map(|_| page_address(older))))
        })
    }
}

fn row((letter, job_type): &(DeadLetter, Option<TypeName>)) -> Markup {
    html! {
        tr {
            th scope="row" { (job_link(letter.job_id)) }
            td { @if let Some(name) = job_type { (name) } }
            td { (letter.reason_code.as_str()) }
            td { @if let Some(error) = &letter.last_error { (failure(error)) } }
            @if let Some(dismissal) = &letter.dismissed {
                td data-label="Dismissed" { (when(dismissal.at)) }
                td data-label="By" { (dismissal.by) }
                td { (dismissal.reason) }
            }
        }
    }
}
