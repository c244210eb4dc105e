//! `tenure doctor`: checks a deployment from its configuration, and prints what was found and what to do. Changes nothing.

mod database;
mod files;
mod process;
mod tls;

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;
use tenure_config::{Config, DatabaseUrl, Flags, StoreLocation};
use tenure_store::{InspectedNode, Inspection};

use crate::args::{OutputFormat, ServeArgs};
use crate::output::{self, Exit};

/// A difference between clocks that matters for tokens and certificates.
const CLOCK_MS_MAX: u64 = 2000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    Wrong,
    /// It could not be checked, or there is nothing to check yet.
    Skipped,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    check: &'static str,
    status: Status,
    found: String,
    /// What to do. `None` if nothing is wrong.
    action: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, status: Status::Ok, found: found.into(), action: None }
    }

    fn skipped(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, status: Status::Skipped, found: found.into(), action: None }
    }

    fn wrong(check: &'static str, found: impl Into<String>, action: impl Into<String>) -> Self {
        Self { check, status: Status::Wrong, found: found.into(), action: Some(action.into()) }
    }

    /// Wrong if the condition holds.
    fn wrong_if(is_wrong: bool, check: &'static str, found: impl Into<String>, action: &str) -> Self {
        if is_wrong { Self::wrong(check, found, action) } else { Self::ok(check, found) }
    }
}

pub(crate) fn run(args: ServeArgs, format: OutputFormat) -> Result<Exit> {
    let ServeArgs { config, listen, data, database_url } = args;
    let flags = Flags { config, listen, data, database_url };
    let findings = match tenure_config::load(&flags, |name| std::env::var(name).ok()) {
        Ok(loaded) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let file = loaded.file.map_or_else(|| "no file".to_owned(), |file| file.display().to_string());
            let mut findings = vec![configuration(&file, &loaded.config)];
            findings.extend(runtime.block_on(check(&loaded.config)));
            findings
        }
        Err(error) => {
            vec![Finding::wrong(
                "configuration",
                error.to_string(),
                "correct it, then run this command again",
            )]
        }
    };
    print(&findings, format)?;
    let is_wrong = findings.iter().any(|finding| finding.status == Status::Wrong);
    Ok(if is_wrong { Exit::Failed } else { Exit::Done })
}

fn configuration(file: &str, config: &Config) -> Finding {
    let flaws = tenure_server::check(config);
    if flaws.is_empty() {
        return Finding::ok("configuration", file);
    }
    Finding::wrong("configuration", flaws.join("\n"), "correct it: the server does not start with it")
}

async fn check(config: &Config) -> Vec<Finding> {
    let mut findings: Vec<Finding> = config.tls.as_ref().map(tls::check).into_iter().collect();
    let server = match &config.store {
        StoreLocation::Data(folder) => {
            let (found, server) = files::check(folder);
            findings.extend(found);
            server
        }
        StoreLocation::Database(url) => {
            findings.extend(database(url, &config.database_schema).await);
            None
        }
    };
    if let Some(folder) = config.assets.as_ref().and_then(|place| place.strip_prefix("file:")) {
        findings.push(files::free_space("free space for assets", folder.as_ref()));
    }
    findings.push(process::descriptors(config.limits.connections, server));
    findings
}

async fn database(url: &DatabaseUrl, schema: &str) -> Vec<Finding> {
    match tenure_store::inspect_database(url.reveal(), schema).await {
        Ok(inspection) => database::check(&inspection),
        Err(error) => {
            let action = "start the database, or correct database_url; the message says which";
            vec![Finding::wrong("store", error.to_string(), action)]
        }
    }
}

/// The checks that both stores have.
fn common(inspection: &Inspection) -> Vec<Finding> {
    vec![schema(inspection), clock(inspection.clock_ahead_ms), versions(&inspection.nodes)]
}

fn schema(Inspection { schema, schema_known, .. }: &Inspection) -> Finding {
    let found = format!("schema {schema}, this binary has {schema_known}");
    match schema.cmp(schema_known) {
        std::cmp::Ordering::Equal => Finding::ok("store", found),
        std::cmp::Ordering::Less => Finding::skipped("store", format!("{found}: the next start migrates it")),
        std::cmp::Ordering::Greater => Finding::wrong("store", found, "use a newer binary"),
    }
}

fn clock(ahead_ms: i64) -> Finding {
    let found = format!("the store's clock is {ahead_ms} ms ahead of this machine's");
    let action = "synchronise the clocks of all machines, for example with chrony";
    Finding::wrong_if(ahead_ms.unsigned_abs() > CLOCK_MS_MAX, "clock", found, action)
}

fn versions(nodes: &[InspectedNode]) -> Finding {
    if nodes.is_empty() {
        return Finding::skipped("nodes", "no node is running");
    }
    let own = env!("CARGO_PKG_VERSION");
    let listed = nodes.iter().map(|node| format!("{} {}", node.address, node.version));
    let found = listed.collect::<Vec<_>>().join(", ");
    let differ = nodes.iter().any(|node| node.version != own);
    let action = format!("restart every node with one version; this binary is {own}");
    Finding::wrong_if(differ, "nodes", found, &action)
}

fn print(findings: &[Finding], format: OutputFormat) -> Result<()> {
    match format {
        OutputFormat::Json => output::json(format, &serde_json::json!({ "findings": findings }))?,
        OutputFormat::Jsonl => findings.iter().try_for_each(|finding| output::json(format, finding))?,
        OutputFormat::Name => {
            let wrong = findings.iter().filter(|finding| finding.status == Status::Wrong);
            wrong.map(|finding| finding.check).try_for_each(output::data)?;
        }
        OutputFormat::Table | OutputFormat::Wide => output::data(&text(findings))?,
    }
    Ok(())
}

/// One line for each finding, and below it what to do.
fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Finding { check, status, found, action } in findings {
        let status = match status {
            Status::Ok => "ok",
            Status::Wrong => "wrong",
            Status::Skipped => "-",
        };
        let _ = writeln!(text, "{status:5}  {check:width$}  {found}");
        if let Some(action) = action {
            let _ = writeln!(text, "{:5}  {:width$}  → {action}", "", "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_differs_by_more_than_two_seconds_is_wrong() {
        assert_eq!([-2000, 0, 2000].map(|ms| clock(ms).status), [Status::Ok; 3]);
        assert_eq!([-2001, 2001].map(|ms| clock(ms).status), [Status::Wrong; 2]);
    }

    #[test]
    fn nodes_of_another_version_are_wrong() {
        let node = |version: &str| InspectedNode { address: "h:1".to_owned(), version: version.to_owned() };
        let own = env!("CARGO_PKG_VERSION");
        assert_eq!(versions(&[]).status, Status::Skipped);
        assert_eq!(versions(&[node(own), node(own)]).status, Status::Ok);
        assert_eq!(versions(&[node(own), node("0.0.1")]).status, Status::Wrong);
    }
}
