//! The filters of a listing as SQL: the only place that puts statements together from parts. Values are always bound.

use std::fmt::Write as _;

use tenure_core::id::{JobId, Name};
use tenure_core::query::{JobFilter, Page};
use uuid::Uuid;

/// A value to bind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Bound {
    Text(String),
    Number(i64),
    Id(Uuid),
}

/// A dialect's placeholder for the n-th value.
pub(crate) type Placeholder = fn(usize) -> String;

/// What follows `where true` in `list.sql`: filters, order and page; and the values in order.
pub(crate) fn tail(filter: &JobFilter, page: Page, placeholder: Placeholder) -> (String, Vec<Bound>) {
    let mut tail = Tail { sql: String::new(), values: Vec::new(), placeholder };
    tail.text("s.state", filter.state.as_ref());
    tail.text("s.phase", filter.phase.as_ref());
    tail.text("s.outcome", filter.outcome.map(|outcome| Name::from(outcome.as_str())).as_ref());
    tail.text("j.lifecycle", filter.lifecycle.as_ref());
    tail.text("j.type", filter.job_type.as_ref());
    tail.text("j.queue", filter.queue.as_ref());
    tail.text("j.user_id", filter.user_id.as_ref());
    tail.text("s.worker", filter.worker.as_ref());
    tail.correlation(filter.correlation_id.as_ref());
    tail.compare("j.retry_of =", filter.retry_of.map(|JobId(id)| Bound::Id(id)));
    tail.compare("j.created_at >", filter.created_after.map(|at| Bound::Number(at.0)));
    tail.compare("j.created_at <", filter.created_before.map(|at| Bound::Number(at.0)));
    tail.compare("j.id <", page.before.map(|JobId(id)| Bound::Id(id)));
    let limit = tail.bind(Bound::Number(page.limit as i64));
    tail.add(format_args!(" order by j.id desc limit {limit}"));
    (tail.sql, tail.values)
}

struct Tail {
    sql: String,
    values: Vec<Bound>,
    placeholder: Placeholder,
}

impl Tail {
    fn add(&mut self, part: std::fmt::Arguments<'_>) {
        self.sql.write_fmt(part).expect("a string takes everything");
    }

    fn bind(&mut self, value: Bound) -> String {
        self.values.push(value);
        (self.placeholder)(self.values.len())
    }

    fn compare(&mut self, left: &str, value: Option<Bound>) {
        if let Some(value) = value {
            let right = self.bind(value);
            self.add(format_args!(" and {left} {right}"));
        }
    }

    fn text(&mut self, column: &str, value: Option<&Name>) {
        self.compare(&format!("{column} ="), value.map(|value| Bound::Text(value.to_string())));
    }

    /// A job without a correlation id of its own is correlated by its own id.
    fn correlation(&mut self, wanted: Option<&Name>) {
        let Some(wanted) = wanted else { return };
        match Uuid::parse_str(wanted.as_str()) {
            Ok(id) if id.to_string() == wanted.as_str() => {
                let (text, id) = (self.bind(Bound::Text(wanted.to_string())), self.bind(Bound::Id(id)));
                self.add(format_args!(
                    " and (j.correlation_id = {text} or (j.id = {id} and j.correlation_id is null))"
                ));
            }
            _ => self.text("j.correlation_id", Some(wanted)),
        }
    }
}
