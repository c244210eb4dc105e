//! The filters of a listing as SQL: the only place that builds statements from parts. Values are always bound.

use std::fmt::Write as _;

use tenure_core::dead_letter::ReasonCode;
use uuid::Uuid;

use crate::prelude::*;
use crate::reads::Dialect;

/// A value of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Bound {
    Text(String),
    Number(i64),
    Id(Uuid),
    Flag(bool),
}

/// The arguments of reads as values. Without a cursor, a page begins before the first user or after the last id.
macro_rules! bound_from {
    ($($type:ty: |$value:ident| $bound:expr;)+) => {$(
        impl From<$type> for Bound {
            fn from($value: $type) -> Self {
                $bound
            }
        }
    )+};
}

bound_from! {
    &str: |text| Self::Text(text.to_owned());
    LifecycleName: |name| Self::Text(name.to_string());
    UserId: |user| Self::Text(user.to_string());
    Option<UserId>: |after| Self::Text(after.as_deref().unwrap_or_default().to_owned());
    WorkerId: |name| Self::Text(name.to_string());
    Name: |name| Self::Text(name.to_string());
    usize: |limit| Self::Number(i64::try_from(limit).unwrap_or(i64::MAX));
    u64: |number| Self::Number(i64::try_from(number).unwrap_or(i64::MAX));
    Position: |position| position.0.into();
    Timestamp: |at| Self::Number(at.0);
    JobId: |id| Self::Id(id.0);
    AssetId: |id| Self::Id(id.0);
    Option<JobId>: |before| Self::Id(before.map_or_else(Uuid::max, |id| id.0));
    Option<AssetId>: |before| Self::Id(before.map_or_else(Uuid::max, |id| id.0));
    bool: |flag| Self::Flag(flag);
}

pub(crate) type Rest = (String, Vec<Bound>);

/// The part after the columns in `list.sql`: the tables in the order in which they are read, filters, order and page.
///
/// The table with the index is read first, or else the one whose columns are filtered, so that the other is read only for
/// matching rows. The planner's own choice reads and sorts everything.
pub(crate) fn jobs(filter: &JobFilter, page: Page, dialect: Dialect) -> Rest {
    let by_state = filter.state.is_some()
        || filter.phase.is_some()
        || filter.outcome.is_some()
        || filter.worker.is_some();
    let (tables, id) = if by_state && !filter.is_indexed() {
        (" from job_states s cross join jobs j where j.id = s.id", "s.id")
    } else {
        (" from jobs j cross join job_states s where s.id = j.id", "j.id")
    };
    let mut tail = Tail { sql: tables.to_owned(), values: Vec::new(), dialect };
    if filter.is_live() {
        tail.add(format_args!(" and s.completed_at is null"));
    }
    tail.jobs(filter);
    tail.page(id, filter.from, page);
    (tail.sql, tail.values)
}

/// The part after `where true` in `dead_letters.sql`.
pub(crate) fn dead_letters(filter: &DeadLetterFilter, page: Page, dialect: Dialect) -> Rest {
    let mut tail = Tail { sql: String::new(), values: Vec::new(), dialect };
    tail.text("d.reason_code", filter.reason_code.map(ReasonCode::as_str));
    tail.text("d.stage", filter.stage.map(Stage::as_str));
    tail.compare("d.dismissed =", Some(filter.dismissed.into()));
    tail.jobs(&filter.jobs);
    tail.page("d.job_id", filter.jobs.from, page);
    (tail.sql, tail.values)
}

struct Tail {
    sql: String,
    values: Vec<Bound>,
    dialect: Dialect,
}

impl Tail {
    fn add(&mut self, part: std::fmt::Arguments<'_>) {
        self.sql.write_fmt(part).expect("a string takes everything");
    }

    fn bind(&mut self, value: Bound) -> String {
        self.values.push(value);
        self.dialect.placeholder(self.values.len())
    }

    fn compare(&mut self, left: &str, value: Option<Bound>) {
        if let Some(value) = value {
            let right = self.bind(value);
            self.add(format_args!(" and {left} {right}"));
        }
    }

    fn text(&mut self, column: &str, value: Option<&str>) {
        self.compare(&format!("{column} ="), value.map(Bound::from));
    }

    /// The filters of a job `j` and its state `s`.
    fn jobs(&mut self, filter: &JobFilter) {
        self.text("s.state", filter.state.as_deref());
        self.text("s.phase", filter.phase.as_deref());
        self.text("s.outcome", filter.outcome.map(Outcome::as_str));
        self.text("j.lifecycle", filter.lifecycle.as_deref());
        self.text("j.type", filter.job_type.as_deref());
        self.text("j.queue", filter.queue.as_deref());
        self.text("j.user_id", filter.user_id.as_deref());
        self.text("s.worker", filter.worker.as_deref());
        self.correlation(filter.correlation_id.as_ref());
        self.compare("j.retry_of =", filter.retry_of.map(Bound::from));
        self.compare("j.created_at >", filter.created_after.map(Bound::from));
        self.compare("j.created_at <", filter.created_before.map(Bound::from));
    }

    /// Newest job first, between two bounds.
    fn page(&mut self, id: &str, from: Option<JobId>, page: Page) {
        self.compare(&format!("{id} >="), from.map(Bound::from));
        self.compare(&format!("{id} <"), page.before.map(Bound::from));
        let limit = self.bind(page.limit.into());
        self.add(format_args!(" order by {id} desc limit {limit}"));
    }

    /// The default correlation id is the job's id.
    fn correlation(&mut self, wanted: Option<&Name>) {
        let Some(wanted) = wanted else { return };
        match Uuid::parse_str(wanted.as_str()) {
            Ok(id) if id.to_string() == wanted.as_str() => {
                let (text, id) = (self.bind(wanted.as_str().into()), self.bind(JobId(id).into()));
                self.add(format_args!(
                    " and (j.correlation_id = {text} or (j.id = {id} and j.correlation_id is null))"
                ));
            }
            _ => self.text("j.correlation_id", Some(wanted.as_str())),
        }
    }
}
