//! The schema that has Tenure's tables. Statements name tables alone; every transaction begins with the search path, because
//! behind a pooler the session belongs to other clients too.

use crate::StoreError;

/// The schema of Tenure's tables, unless another is chosen.
pub const SCHEMA_DEFAULT: &str = "tenure";

/// PostgreSQL cuts longer names. The name of the role for producers is longer by its ending.
const NAME_BYTES_MAX: usize = 63 - PRODUCER_ENDING.len();
const PRODUCER_ENDING: &str = "_producer";

/// The name of a schema: lower-case letters, digits and underscores, so that it never needs to be escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SchemaName(String);

impl SchemaName {
    pub(super) fn parse(name: &str) -> Result<Self, StoreError> {
        let is_first = |c: char| c.is_ascii_lowercase() || c == '_';
        let is_valid = name.starts_with(is_first)
            && name.chars().all(|c| is_first(c) || c.is_ascii_digit())
            && name.len() <= NAME_BYTES_MAX
            && !name.starts_with("pg_")
            && name != "information_schema";
        if is_valid {
            return Ok(Self(name.to_owned()));
        }
        Err(StoreError::Unsafe(format!(
            "`{name}` cannot be the schema of Tenure's tables: use 1 to {NAME_BYTES_MAX} lower-case letters, digits and \
             underscores that do not begin with a digit or `pg_`"
        )))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn quoted(&self) -> String {
        format!("\"{}\"", self.0)
    }

    /// The role that may call the functions of the intake.
    pub(super) fn producer(&self) -> String {
        format!("{}{PRODUCER_ENDING}", self.0)
    }

    pub(super) fn is_default(&self) -> bool {
        self.0 == SCHEMA_DEFAULT
    }

    /// `begin`, and the search path of the transaction. Temporary tables, which other clients of a pooler may have made in the same
    /// session, are looked for last.
    pub(super) fn transaction(&self, begin: &str) -> String {
        format!("{begin}; {}", self.search_path())
    }

    /// Sets the search path until the end of the transaction.
    pub(super) fn search_path(&self) -> String {
        format!("set local search_path = {}, pg_temp", self.quoted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_need_no_escape_are_schemas() {
        for name in ["tenure", "public", "_a1", &"a".repeat(54)] {
            assert_eq!(SchemaName::parse(name).unwrap().as_str(), name);
        }
        for name in ["", "1a", "A", "a-b", "a\"b", "a b", "pg_a", "information_schema", &"a".repeat(55)] {
            assert!(SchemaName::parse(name).is_err(), "{name}");
        }
    }
}
