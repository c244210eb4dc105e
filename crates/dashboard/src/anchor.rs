//! Keeps the rows of a listing in place: the stream of a page updates the rows that the page shows and adds none.

use uuid::Uuid;

use crate::prelude::*;

/// Rows of a page.
pub(crate) const ROWS: usize = 50;

/// The first and the last row of a page; the nil id for an empty page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) top: JobId,
    pub(crate) end: JobId,
}

impl Anchor {
    pub(crate) fn read(params: &mut QueryParams) -> Result<Option<Self>> {
        let (top, end) = (params.id("top")?, params.id("end")?);
        Ok(top.zip(end).map(|(top, end)| Self { top, end }))
    }

    pub(crate) fn of(rows: impl Iterator<Item = JobId>) -> Self {
        let mut rows = rows;
        let top = rows.next().unwrap_or(JobId(Uuid::nil()));
        Self { top, end: rows.last().unwrap_or(top) }
    }

    /// The address of the stream of a page.
    pub(crate) fn stream(self, page: &str) -> String {
        let joint = if page.contains('?') { '&' } else { '?' };
        format!("{page}{joint}top={}&end={}", self.top, self.end)
    }

    /// The cursor of a listing that begins with the first row.
    pub(crate) fn before(self) -> JobId {
        just_after(self.top)
    }
}

/// Links to the newest and to older rows of a listing.
pub(crate) fn pager(label: &str, newest: Option<String>, older: Option<String>) -> Markup {
    html! {
        nav.row aria-label=(label) {
            @if let Some(newest) = newest { a.button rel="prev" href=(newest) { "Newest" } }
            @if let Some(older) = older { a.button rel="next" href=(older) { "Older" } }
        }
    }
}

/// The next id.
pub(crate) fn just_after(id: JobId) -> JobId {
    JobId(Uuid::from_u128(id.seed().wrapping_add(1)))
}
