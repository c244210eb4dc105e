//! Settings of a PostgreSQL server.

use tenure_store::{DatabaseSettings, Inspection, NODE_CONNECTIONS_MAX};

use super::{Finding, common};

/// PostgreSQL's default.
const SHARED_BUFFERS_BYTES_MIN: u64 = 128 << 20;

pub(super) fn check(inspection: &Inspection) -> Vec<Finding> {
    let mut findings = common(inspection);
    if let Some(database) = &inspection.database {
        findings.extend(durability(database));
        findings.push(writable(database));
        findings.push(connections(database, inspection.nodes.len() as u32));
        findings.push(memory(database));
    }
    findings
}

fn durability(database: &DatabaseSettings) -> Vec<Finding> {
    let DatabaseSettings { version, fsync, synchronous_commit, full_page_writes, autovacuum, .. } = database;
    let switch = |check, value: &String, why: &str| {
        let action = format!("set {check} = on in postgresql.conf: {why}");
        Finding::wrong_if(value == "off", check, value.clone(), &action)
    };
    let found = format!("PostgreSQL {}", version / 10_000);
    vec![
        Finding::wrong_if(
            !database.is_supported(),
            "server_version",
            found,
            "upgrade to PostgreSQL 13 or newer",
        ),
        switch("fsync", fsync, "a power cut would lose acknowledged jobs"),
        switch("synchronous_commit", synchronous_commit, "a crash would lose acknowledged jobs"),
        switch("full_page_writes", full_page_writes, "a power cut could corrupt the database"),
        switch("autovacuum", autovacuum, "it removes the dead rows of expired records and saved jobs"),
    ]
}

fn writable(database: &DatabaseSettings) -> Finding {
    let wrong = |found, action| Finding::wrong("writable", found, action);
    if database.is_standby {
        return wrong("this server is a standby", "connect to the primary");
    }
    if database.is_read_only {
        return wrong("transactions are read-only", "set default_transaction_read_only = off");
    }
    if !database.may_write {
        return wrong("this role may not write", "make it the owner of the database and its tables");
    }
    Finding::ok("writable", "this role may write")
}

fn connections(database: &DatabaseSettings, nodes: u32) -> Finding {
    let DatabaseSettings { connections_max, connections, .. } = database;
    let needed = nodes.max(1) * NODE_CONNECTIONS_MAX;
    let nodes = nodes.max(1);
    let plural = if nodes == 1 { "" } else { "s" };
    let found = format!("{connections} of {connections_max} open; {needed} for {nodes} node{plural}");
    let action = "raise max_connections in postgresql.conf, or close connections of other programs";
    // One connection is this command's.
    let is_wrong = needed > *connections_max || *connections >= connections_max.saturating_sub(3);
    Finding::wrong_if(is_wrong, "max_connections", found, action)
}

fn memory(database: &DatabaseSettings) -> Finding {
    let found = format!("{} MiB", database.shared_buffers_bytes >> 20);
    let action = "set shared_buffers to 128 MB or more, usually a quarter of the machine's memory";
    Finding::wrong_if(
        database.shared_buffers_bytes < SHARED_BUFFERS_BYTES_MIN,
        "shared_buffers",
        found,
        action,
    )
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    fn settings() -> DatabaseSettings {
        let on = || "on".to_owned();
        DatabaseSettings {
            version: 170_004,
            fsync: on(),
            synchronous_commit: on(),
            full_page_writes: on(),
            autovacuum: on(),
            is_standby: false,
            is_read_only: false,
            may_write: true,
            connections_max: 100,
            connections: 14,
            shared_buffers_bytes: 128 << 20,
        }
    }

    /// The names of the checks that are wrong after a change.
    fn wrong(change: impl FnOnce(&mut DatabaseSettings)) -> Vec<&'static str> {
        let mut database = settings();
        change(&mut database);
        let found = check(&Inspection { database: Some(database), ..Inspection::default() });
        found.into_iter().filter(|it| it.status == Status::Wrong).map(|it| it.check).collect()
    }

    #[test]
    fn each_setting_that_is_wrong_is_found() {
        assert_eq!(wrong(|_| {}), [""; 0]);
        assert_eq!(wrong(|it| it.version = 120_022), ["server_version"]);
        assert_eq!(wrong(|it| it.fsync = "off".into()), ["fsync"]);
        assert_eq!(wrong(|it| it.synchronous_commit = "off".into()), ["synchronous_commit"]);
        assert_eq!(wrong(|it| it.synchronous_commit = "local".into()), [""; 0]);
        assert_eq!(wrong(|it| it.full_page_writes = "off".into()), ["full_page_writes"]);
        assert_eq!(wrong(|it| it.autovacuum = "off".into()), ["autovacuum"]);
        assert_eq!(wrong(|it| it.is_standby = true), ["writable"]);
        assert_eq!(wrong(|it| it.is_read_only = true), ["writable"]);
        assert_eq!(wrong(|it| it.may_write = false), ["writable"]);
        assert_eq!(wrong(|it| it.connections_max = 12), ["max_connections"]);
        assert_eq!(wrong(|it| it.connections = 97), ["max_connections"]);
        assert_eq!(wrong(|it| it.shared_buffers_bytes = 16 << 20), ["shared_buffers"]);
    }

    #[test]
    fn the_documents_name_the_number_of_connections() {
        let production = include_str!("../../../../docs/production.md");
        let sentence = format!("it is less than {NODE_CONNECTIONS_MAX} for each running node");
        assert!(production.contains(&sentence), "{sentence}");
        let postgresql = include_str!("../../../../docs/postgresql.md");
        let row = format!("| `max_connections` | {NODE_CONNECTIONS_MAX} for each node");
        assert!(postgresql.contains(&row), "{row}");
    }
}
