//! Checks licences, sources, bans and advisories of all dependencies against `deny.toml`.
//!
//! `cargo deny` does it if it is installed. Otherwise this module applies the same file to `cargo metadata`, so that the
//! check never passes because a program is missing. Only advisories need cargo-deny and its database; without them a
//! warning is printed.

mod licence;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cargo;
use crate::step::{self, Report};

const NO_ADVISORIES: &str = "ADVISORIES WERE NOT CHECKED";

/// The step.
pub fn run() -> Result<Report> {
    if cargo::has("deny") { with_cargo_deny() } else { without_cargo_deny() }
}

fn with_cargo_deny() -> Result<Report> {
    let mut report = step::command("deny", &mut cargo::command("deny check bans licenses sources"))?;
    match step::command("advisories", &mut cargo::command("deny check advisories")) {
        Ok(more) => report.append(more),
        Err(error) if is_unreachable(&error.to_string()) => {
            report.remarks.push(format!("{NO_ADVISORIES}: cannot reach their database"));
        }
        Err(error) => return Err(error),
    }
    Ok(report)
}

fn is_unreachable(output: &str) -> bool {
    let signs = ["failed to fetch advisory database", "failed to load advisory database", "failed to clone"];
    signs.iter().any(|sign| output.contains(sign))
}

fn without_cargo_deny() -> Result<Report> {
    let rules = fs::read_to_string(cargo::root().join("deny.toml")).context("deny.toml is missing")?;
    let rules = Rules::read(&rules)?;
    let metadata = cargo::metadata()?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let flaws: Vec<String> = packages.iter().flat_map(|package| rules.flaws(package)).collect();
    if !flaws.is_empty() {
        bail!("dependencies that deny.toml does not allow\n{}", flaws.join("\n"));
    }
    let mut remarks =
        vec![format!("{NO_ADVISORIES}: cargo-deny is not installed (cargo install cargo-deny)")];
    remarks.extend(duplicates(packages));
    Ok(Report { output: String::new(), remarks })
}

/// The part of `deny.toml` that can be checked without cargo-deny.
#[derive(Debug, Default)]
struct Rules {
    licences: Vec<String>,
    exceptions: BTreeMap<String, Vec<String>>,
    registries: Vec<String>,
    banned: Vec<String>,
}

impl Rules {
    fn read(text: &str) -> Result<Self> {
        let file: toml::Table = text.parse().context("deny.toml")?;
        let list = |table: &str, key: &str| {
            let found = file.get(table).and_then(|table| table.get(key)).and_then(toml::Value::as_array);
            found.with_context(|| format!("deny.toml has no {table}.{key}"))
        };
        let exceptions = list("licenses", "exceptions")?.iter().filter_map(|exception| {
            let names = exception.get("allow")?.as_array()?;
            Some((name_of(exception)?, names.iter().filter_map(name_of).collect()))
        });
        let rules = Self {
            licences: list("licenses", "allow")?.iter().filter_map(name_of).collect(),
            exceptions: exceptions.collect(),
            registries: list("sources", "allow-registry")?.iter().filter_map(name_of).collect(),
            banned: list("bans", "deny")?.iter().filter_map(name_of).collect(),
        };
        if rules.licences.is_empty() || rules.registries.is_empty() {
            bail!("deny.toml allows no licence or no registry: list at least one of each");
        }
        Ok(rules)
    }

    fn flaws(&self, package: &Value) -> Vec<String> {
        let name = package["name"].as_str().unwrap_or_default();
        let what = format!("{name} {}", package["version"].as_str().unwrap_or_default());
        let mut flaws = Vec::new();
        if self.banned.iter().any(|banned| banned == name) {
            flaws.push(format!("{what}: banned; choose other features or another crate"));
        }
        // Packages of this workspace have no source.
        if let Some(source) = package["source"].as_str()
            && !self.registries.iter().any(|registry| source.ends_with(registry.as_str()))
        {
            flaws.push(format!("{what}: comes from {source}; only crates.io is allowed"));
        }
        let exceptions = self.exceptions.get(name).map_or(&[] as &[String], Vec::as_slice);
        let allowed = |id: &str| self.licences.iter().chain(exceptions).any(|licence| licence == id);
        let expression = package["license"].as_str();
        if !expression.is_some_and(|expression| licence::permits(expression, allowed)) {
            let flaw = expression.map_or("has no licence".into(), |it| format!("{it} is not allowed"));
            flaws.push(format!("{what}: {flaw}; choose another crate"));
        }
        flaws
    }
}

/// A string, or the name in `{ crate = "…" }` or `{ name = "…" }`, without its version.
fn name_of(value: &toml::Value) -> Option<String> {
    let name = value.as_str().or_else(|| value.get("crate").or_else(|| value.get("name"))?.as_str())?;
    Some(name.split('@').next().unwrap_or(name).to_string())
}

fn duplicates(packages: &[Value]) -> Option<String> {
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for name in packages.iter().filter_map(|package| package["name"].as_str()) {
        *versions.entry(name).or_default() += 1;
    }
    let twice: Vec<&str> =
        versions.into_iter().filter(|(_, count)| *count > 1).map(|(name, _)| name).collect();
    (!twice.is_empty()).then(|| format!("in more than one version: {}", twice.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RULES: &str = r#"
        [licenses]
        allow = ["MIT", "Apache-2.0"]
        exceptions = [{ crate = "ring@0.17", allow = ["ISC"] }]
        [sources]
        allow-registry = ["https://github.com/rust-lang/crates.io-index"]
        [bans]
        deny = [{ crate = "openssl-sys" }, "aws-lc-sys"]
    "#;

    fn check(name: &str, licence: Option<&str>, source: Option<&str>) -> String {
        let package = json!({ "name": name, "version": "1.0.0", "license": licence, "source": source });
        Rules::read(RULES).unwrap().flaws(&package).join("\n")
    }

    const CRATES_IO: Option<&str> = Some("registry+https://github.com/rust-lang/crates.io-index");

    #[test]
    fn what_is_allowed_passes() {
        assert_eq!(check("serde", Some("MIT OR Apache-2.0"), CRATES_IO), "");
        assert_eq!(check("ring", Some("Apache-2.0 AND ISC"), CRATES_IO), "");
        assert_eq!(check("tenure-core", Some("Apache-2.0"), None), "");
    }

    #[test]
    fn what_is_not_allowed_is_a_flaw() {
        let git = Some("git+https://example.org/serde#1");
        for (name, licence, source, expected) in [
            ("viral", Some("AGPL-3.0-only"), CRATES_IO, "AGPL-3.0-only is not allowed"),
            ("other", Some("Apache-2.0 AND ISC"), CRATES_IO, "not allowed"),
            ("silent", None, CRATES_IO, "has no licence"),
            ("serde", Some("MIT"), git, "only crates.io is allowed"),
            ("openssl-sys", Some("MIT"), CRATES_IO, "banned"),
            ("aws-lc-sys", Some("MIT"), CRATES_IO, "banned"),
        ] {
            let flaw = check(name, licence, source);
            assert!(flaw.contains(expected), "{name}: {flaw}");
        }
    }

    #[test]
    fn rules_without_a_list_are_an_error() {
        assert!(Rules::read("[licenses]\nallow = ['MIT']").is_err());
    }

    #[test]
    fn deny_toml_of_this_tree_is_valid() {
        let text = fs::read_to_string(cargo::root().join("deny.toml")).unwrap();
        let rules = Rules::read(&text).unwrap();
        assert!(rules.banned.contains(&"openssl-sys".to_string()));
        assert!(!rules.licences.iter().any(|licence| licence.contains("GPL")));
    }
}
