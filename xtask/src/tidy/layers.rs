//! Layers: crates depend on each other along the arrows of ARCHITECTURE.md only, and what belongs to one layer is written
//! nowhere else.

use super::Flaw;
use super::tree::{File, Tree};

/// A crate, the crates below it, and those that it may need with a feature, as lists of names.
struct Layer {
    name: &'static str,
    below: &'static str,
    optional: &'static str,
}

const fn layer(name: &'static str, below: &'static str) -> Layer {
    Layer { name, below, optional: "" }
}

/// `core ← store ← runtime ← stats ← service ← { server, dashboard } ← cli`.
const LAYERS: &[Layer] = &[
    layer("core", ""),
    layer("api", "core"),
    layer("launcher", ""),
    layer("diagram", "core"),
    layer("store", "core"),
    layer("runtime", "core store"),
    layer("config", "core store runtime"),
    layer("stats", "core store runtime"),
    layer("service", "api config core diagram runtime stats store"),
    layer("server", "api config core diagram runtime service stats store"),
    layer("dashboard", "api config core diagram runtime service stats store"),
    // Its feature `testing` starts a server in memory.
    Layer { name: "client", below: "api", optional: "config core runtime server service stats store" },
    layer("cli", "api client config core dashboard diagram launcher runtime server service stats store"),
    layer("sim", "core store runtime"),
];

/// Every dependency between crates leads to a lower layer. Those of tests are free.
pub(super) fn arrows(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for name in tree.crates() {
        let Some(file) = tree.file(&format!("crates/{name}/Cargo.toml")) else { continue };
        let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
            flaws.push(file.flaw(0, "has no place among the layers: give it one in tidy/layers.rs"));
            continue;
        };
        let Ok(manifest) = file.text.parse::<toml::Table>() else {
            flaws.push(file.flaw(0, "is not TOML, so its dependencies cannot be checked"));
            continue;
        };
        let wrong = dependencies(&manifest).filter(|(dependency, is_optional)| {
            let optional = if *is_optional { layer.optional } else { "" };
            !layer.below.split(' ').chain(optional.split(' ')).any(|name| name == *dependency)
        });
        flaws.extend(wrong.map(|(dependency, _)| {
            file.flaw(0, format!("tenure-{dependency} is not below {name}: move what is needed down"))
        }));
    }
    flaws
}

/// The crates of this workspace that a package needs to be built, and whether only with a feature.
fn dependencies(manifest: &toml::Table) -> impl Iterator<Item = (&str, bool)> {
    let tables = ["dependencies", "build-dependencies"].into_iter();
    let tables = tables.filter_map(|name| manifest.get(name)?.as_table());
    tables.flatten().filter_map(|(name, value)| {
        let is_optional = value.get("optional").and_then(toml::Value::as_bool) == Some(true);
        Some((name.strip_prefix("tenure-")?, is_optional))
    })
}

/// The beginnings of the server's URLs.
const URL_PREFIXES: &[&str] = &["/api", "/ui", "/docs", "/metrics", "/openapi.json", "/healthz", "/readyz"];

/// The layers below the server know none of its URLs.
pub(super) fn no_urls_below_the_server(tree: &Tree) -> Vec<Flaw> {
    let below = tree.literals().filter(|(file, ..)| is_in(file, &["core", "diagram", "store", "runtime"]));
    let urls = below.filter_map(|(file, line, text)| {
        let prefix = URL_PREFIXES.iter().find(|prefix| text.starts_with(**prefix))?;
        Some(
            file.flaw(line, format!("{prefix} is a URL of the server: pass it in, or let the server add it")),
        )
    });
    urls.collect()
}

/// Refusals are made by `decide` and, for what needs a compiled schema, guard or cron expression, by the runtime. Other
/// crates pass them on.
pub(super) fn only_decisions_refuse(tree: &Tree) -> Vec<Flaw> {
    let message = "makes a refusal: let `decide` or the runtime's admission refuse, or answer a problem";
    let others = tree.code_lines().filter(|(file, ..)| !is_in(file, &["core", "runtime", "sim"]));
    others.filter(|(.., text)| makes_refusal(text)).map(|(file, line, _)| file.flaw(line, message)).collect()
}

/// Whether the line has a refusal as a value. As a pattern, it stands in `matches!`, behind `let`, or before `=>`.
fn makes_refusal(line: &str) -> bool {
    let value = line.rsplit("=>").next().unwrap_or(line);
    let is_pattern = line.trim_end().ends_with("=>")
        || ["matches!(", "let Err(", "let Some(", ".. }"].iter().any(|it| line.contains(it));
    let makes =
        ["Err(Refusal::", "Refusal::invalid(", "Refusal::no_job("].iter().any(|it| value.contains(it));
    makes && !is_pattern
}

/// Whether the file is a source of one of these crates.
fn is_in(file: &File, crates: &[&str]) -> bool {
    let inside = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
    inside.is_some_and(|(name, _)| crates.contains(&name))
}
