//! The bill of materials in `CycloneDX` 1.6: every package that is compiled into the binary, from cargo's metadata and
//! Cargo.lock.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Release, output};
use crate::cargo;

const PACKAGE: &str = "tenure";

pub(super) fn bill_of_materials(release: &Release) -> Result<Value> {
    let metadata = metadata(release)?;
    let lock: toml::Table = fs::read_to_string(cargo::root().join("Cargo.lock"))?.parse()?;
    let graph = Graph::read(&metadata, &checksums(&lock))?;
    let binary = output(Command::new("sha256sum").arg("--").arg(&release.binary))?;
    let binary = binary.split_whitespace().next().context("sha256sum prints a sum")?;
    let date = output(
        Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d"]).arg(format!("@{}", release.epoch)),
    )?;
    let mut root = graph.components[&graph.root].clone();
    root["type"] = json!("application");
    root["hashes"] = json!([{ "alg": "SHA-256", "content": binary }]);
    let others = graph.components.iter().filter(|(id, _)| **id != graph.root);
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": serial_number(binary),
        "version": 1,
        "metadata": { "timestamp": date.trim(), "component": root },
        "components": others.map(|(_, component)| component).collect::<Vec<_>>(),
        "dependencies": graph.dependencies(),
    }))
}

/// Packages of the release's features on its target.
fn metadata(release: &Release) -> Result<Value> {
    let mut command = cargo::command("metadata --format-version 1 --features full --filter-platform");
    command.arg(release.elf.architecture.triple()).args(["--manifest-path", "crates/cli/Cargo.toml"]);
    serde_json::from_str(&output(&mut command)?).context("cargo metadata did not print JSON")
}

/// Checksums of packages by name and version.
fn checksums(lock: &toml::Table) -> BTreeMap<(String, String), String> {
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let text = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let sums = packages.filter_map(|package| {
        Some(((text(package, "name")?, text(package, "version")?), text(package, "checksum")?))
    });
    sums.collect()
}

/// A UUID that follows from the binary, of version 8 (custom).
fn serial_number(binary: &str) -> String {
    let part = |from: usize, to: usize| &binary[from..to];
    format!("urn:uuid:{}-{}-8{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// The packages that the binary depends on, tests excluded.
struct Graph {
    root: String,
    /// Components by cargo's package id.
    components: BTreeMap<String, Value>,
    /// Package ids by the id of the package that depends on them.
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn read(metadata: &Value, checksums: &BTreeMap<(String, String), String>) -> Result<Self> {
        let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
        let by_id: BTreeMap<&str, &Value> =
            packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
        let root =
            by_id.iter().find(|(_, package)| package["name"] == PACKAGE && package["source"].is_null());
        let root = (*root.context("the workspace has no package tenure")?.0).to_owned();
        let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata has no graph")?;
        let nodes: BTreeMap<&str, &Value> =
            nodes.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
        let all = reached(&root, &nodes, |kind| kind != "dev");
        let compiled_in = reached(&root, &nodes, Value::is_null);
        let component = |id: &String| {
            let scope = if compiled_in.contains_key(id) { "required" } else { "excluded" };
            let package = by_id.get(id.as_str()).context("the graph names a package that is not listed")?;
            Ok((id.clone(), component(package, scope, checksums)))
        };
        let components = all.keys().map(component).collect::<Result<_>>()?;
        Ok(Self { root, components, edges: all })
    }

    fn dependencies(&self) -> Vec<Value> {
        let reference = |id: &String| self.components[id]["bom-ref"].clone();
        let entry = |(id, on): (&String, &BTreeSet<String>)| json!({ "ref": reference(id), "dependsOn": on.iter().map(reference).collect::<Vec<_>>() });
        self.edges.iter().map(entry).collect()
    }
}

/// Packages that are reachable by dependencies of these kinds, each with those that it depends on. Cargo's kind of an ordinary
/// dependency is null; the others are "build" and "dev".
fn reached(
    root: &str,
    nodes: &BTreeMap<&str, &Value>,
    follows: impl Fn(&Value) -> bool,
) -> BTreeMap<String, BTreeSet<String>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(id) = open.pop() {
        if found.contains_key(&id) {
            continue;
        }
        let dependencies =
            nodes.get(id.as_str()).and_then(|node| node["deps"].as_array()).into_iter().flatten();
        let followed = dependencies.filter(|dependency| {
            dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| follows(&kind["kind"]))
        });
        let on: BTreeSet<String> =
            followed.filter_map(|dependency| Some(dependency["pkg"].as_str()?.to_owned())).collect();
        open.extend(on.iter().cloned());
        found.insert(id, on);
    }
    found
}

fn component(package: &Value, scope: &str, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let (name, version) = (text("name"), text("version"));
    let address = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"));
    let mut component = json!({
        "type": "library", "bom-ref": address, "name": name, "version": version, "scope": scope, "purl": address,
    });
    if let Some(licence) = package["license"].as_str() {
        // Some packages use cargo's former separator.
        component["licenses"] =
            json!([{ "expression": licence.replace(" / ", " OR ").replace('/', " OR ") }]);
    }
    if let Some(sum) = checksums.get(&(name, version)) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_dependencies_are_excluded_and_tests_left_out() {
        let package =
            |name: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let edge = |to: &str, kind: Value| json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] });
        let packages = ["tenure", "a", "b", "c"].map(package);
        let metadata = json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "tenure", "deps": [edge("a", Value::Null), edge("c", json!("dev"))] },
                { "id": "a", "deps": [edge("b", json!("build"))] },
                { "id": "b", "deps": [] },
                { "id": "c", "deps": [] },
            ] },
        });
        let sums = BTreeMap::from([(("a".to_owned(), "1.0.0".to_owned()), "ff".to_owned())]);
        let graph = Graph::read(&metadata, &sums).unwrap();
        assert_eq!(graph.components.keys().collect::<Vec<_>>(), ["a", "b", "tenure"]);
        assert_eq!(graph.components["a"]["scope"], "required");
        assert_eq!(graph.components["a"]["hashes"][0]["content"], "ff");
        assert_eq!(graph.components["a"]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(graph.components["b"]["scope"], "excluded");
        let on = json!({ "ref": "pkg:cargo/a@1.0.0", "dependsOn": ["pkg:cargo/b@1.0.0"] });
        assert!(graph.dependencies().contains(&on));
    }

    #[test]
    fn a_serial_number_is_a_uuid() {
        let sum = "0123456789abcdef0123456789abcdef".repeat(2);
        assert_eq!(serial_number(&sum), "urn:uuid:01234567-89ab-8def-a123-456789abcdef");
    }
}
