//! Listings whose rows stay where they are: the stream of a page draws the rows that the page has, whatever came since.

use tenure_core::id::JobId;
use tenure_service::problem::Problem;
use tenure_service::query::QueryParams;
use uuid::Uuid;

/// Rows of a page.
pub(crate) const ROWS: usize = 50;

/// The first and the last row that a page has; nobody's id for both if it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    pub(crate) top: JobId,
    pub(crate) end: JobId,
}

impl Anchor {
    /// What the address of a stream says.
    pub(crate) fn read(params: &mut QueryParams) -> Result<Option<Self>, Problem> {
        let (top, end) = (params.id("top")?, params.id("end")?);
        Ok(top.zip(end).map(|(top, end)| Self { top, end }))
    }

    /// Of the rows that are shown.
    pub(crate) fn of(rows: impl Iterator<Item = JobId>) -> Self {
        let nobody = JobId(Uuid::nil());
        let mut rows = rows;
        let top = rows.next().unwrap_or(nobody);
        Self { top, end: rows.last().unwrap_or(top) }
    }

    /// The address of the stream of a page.
    pub(crate) fn stream(self, page: &str) -> String {
        let joint = if page.contains('?') { '&' } else { '?' };
        format!("{page}{joint}top={}&end={}", self.top, self.end)
    }

    /// Where a listing begins that has the first row first.
    pub(crate) fn before(self) -> JobId {
        just_after(self.top)
    }
}

/// The id that comes next.
pub(crate) fn just_after(id: JobId) -> JobId {
    JobId(Uuid::from_u128(id.seed().wrapping_add(1)))
}
