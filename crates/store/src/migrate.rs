//! Migrations: numbered, forward only, never edited. Selects those that are pending; each database runs them under its lock.

use sha2::{Digest, Sha256};

use crate::StoreError;

pub(crate) struct Migration {
    pub(crate) number: u32,
    pub(crate) sql: &'static str,
}

/// The migrations of a database, numbered from 1 in the order of their files.
macro_rules! migrations {
    ($database:literal $($file:literal)+) => {{
        let mut number = 0;
        [$({
            number += 1;
            let sql = include_str!(concat!($database, "/migrations/", $file, ".sql"));
            $crate::migrate::Migration { number, sql }
        }),+]
    }};
}
pub(crate) use migrations;

impl Migration {
    /// Recorded when the migration has run, so that an edited migration is detected.
    pub(crate) fn checksum(&self) -> String {
        let digest: [u8; 32] = Sha256::digest(self.sql.as_bytes()).into();
        digest.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    }
}

/// The migrations of `all` that are not in `done`; refuses a database that is newer or has run different ones.
pub(crate) fn pending<'a>(
    all: &'a [Migration],
    done: &[(u32, String)],
) -> Result<&'a [Migration], StoreError> {
    let known = all.last().map_or(0, |migration| migration.number);
    let found = done.iter().map(|(number, _)| *number).max().unwrap_or(0);
    if found > known {
        return Err(StoreError::SchemaAhead { found, known });
    }
    for (number, checksum) in done {
        let ours = all.iter().find(|migration| migration.number == *number);
        if ours.is_none_or(|migration| migration.checksum() != *checksum) {
            return Err(StoreError::MigrationChanged(*number));
        }
    }
    Ok(&all[done.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Migration; 2] =
        [Migration { number: 1, sql: "create" }, Migration { number: 2, sql: "alter" }];

    #[test]
    fn only_what_has_not_run_is_pending() {
        let done = |n: usize| ALL[..n].iter().map(|m| (m.number, m.checksum())).collect::<Vec<_>>();
        for n in 0..=2 {
            assert_eq!(pending(&ALL, &done(n)).unwrap().len(), 2 - n);
        }
    }

    #[test]
    fn a_newer_schema_and_an_edited_migration_are_refused() {
        assert!(matches!(
            pending(&ALL, &[(3, String::new())]),
            Err(StoreError::SchemaAhead { found: 3, known: 2 })
        ));
        assert!(matches!(pending(&ALL, &[(1, "other".to_owned())]), Err(StoreError::MigrationChanged(1))));
    }
}
