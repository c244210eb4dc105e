//! Layers: crates depend on each other along the arrows of ARCHITECTURE.md only, and what belongs to one layer is written
//! nowhere else.

use super::Flaw;
use super::tree::Tree;

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
    layer("api", ""),
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
        let path = format!("crates/{name}/Cargo.toml");
        let Some(file) = tree.file(&path) else { continue };
        let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
            flaws.push(Flaw::new(&path, 0, "has no place among the layers: give it one in tidy/layers.rs"));
            continue;
        };
        let Ok(manifest) = file.text.parse::<toml::Table>() else {
            flaws.push(Flaw::new(&path, 0, "is not TOML, so its dependencies cannot be checked"));
            continue;
        };
        let wrong = dependencies(&manifest).filter(|(dependency, is_optional)| {
            let optional = if *is_optional { layer.optional } else { "" };
            !layer.below.split(' ').chain(optional.split(' ')).any(|name| name == *dependency)
        });
        flaws.extend(wrong.map(|(dependency, _)| {
            Flaw::new(&path, 0, format!("tenure-{dependency} is not below {name}: move what is needed down"))
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
    let mut flaws = Vec::new();
    let below = |path: &str| is_in(path, &["core", "diagram", "store", "runtime"]);
    for (file, source) in tree.rust().filter(|(file, _)| below(&file.path)) {
        for (line, text) in source.literals.iter().filter(|(line, _)| !source.is_test(*line)) {
            if let Some(prefix) = URL_PREFIXES.iter().find(|prefix| text.starts_with(**prefix)) {
                let message =
                    format!("{prefix} is a URL of the server: pass it in, or let the server add it");
                flaws.push(Flaw::new(&file.path, *line, message));
            }
        }
    }
    flaws
}

/// Refusals are made by `decide` and, for what needs a compiled schema, guard or cron expression, by the runtime. Other
/// crates pass them on.
pub(super) fn only_decisions_refuse(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (file, source) in tree.rust().filter(|(file, _)| !is_in(&file.path, &["core", "runtime", "sim"])) {
        for (line, _) in source.code_lines().filter(|(_, text)| makes_refusal(text)) {
            let message =
                "makes a refusal: let `decide` or the runtime's admission refuse, or answer a problem";
            flaws.push(Flaw::new(&file.path, line, message));
        }
    }
    flaws
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
fn is_in(path: &str, crates: &[&str]) -> bool {
    let inside = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
    inside.is_some_and(|(name, _)| crates.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    #[test]
    fn a_dependency_against_the_arrows_is_a_flaw() {
        let manifest = "[dependencies]\ntenure-core.workspace = true\ntenure-server = { workspace = true }\n\
                        [dev-dependencies]\ntenure-cli = '1'\n[build-dependencies]\ntenure-stats = '1'\n";
        let expected = "\
crates/runtime/Cargo.toml: tenure-server is not below runtime: move what is needed down
crates/runtime/Cargo.toml: tenure-stats is not below runtime: move what is needed down";
        assert_eq!(found(&[("crates/runtime/Cargo.toml", manifest)], arrows), expected);
    }

    #[test]
    fn a_server_in_the_sdk_is_a_flaw_unless_a_feature_wants_it() {
        let manifest = |value: &str| format!("[dependencies]\ntenure-api = '1'\ntenure-server = {value}\n");
        assert_eq!(
            found(&[("crates/client/Cargo.toml", &manifest("{ path = '', optional = true }"))], arrows),
            ""
        );
        let flaw = found(&[("crates/client/Cargo.toml", &manifest("{ path = '' }"))], arrows);
        assert_eq!(
            flaw,
            "crates/client/Cargo.toml: tenure-server is not below client: move what is needed down"
        );
    }

    #[test]
    fn a_crate_without_a_place_is_a_flaw() {
        let flaw = found(&[("crates/new/Cargo.toml", "")], arrows);
        assert!(flaw.starts_with("crates/new/Cargo.toml: has no place among the layers"), "{flaw}");
        assert!(found(&[("crates/core/Cargo.toml", "[")], arrows).contains("is not TOML"));
    }

    #[test]
    fn a_url_of_the_server_in_the_core_is_a_flaw() {
        let text = "//! Not \"/api\".\nconst A: &str = \"/api/jobs\";\n#[cfg(test)]\nmod tests { fn a() { b(\"/ui\") } }\n";
        let flaw = found(&[("crates/core/src/a.rs", text)], no_urls_below_the_server);
        assert!(flaw.starts_with("crates/core/src/a.rs:2: /api is a URL of the server"), "{flaw}");
        assert_eq!(flaw.lines().count(), 1);
        assert_eq!(found(&[("crates/server/src/a.rs", text)], no_urls_below_the_server), "");
    }

    #[test]
    fn a_refusal_that_a_server_makes_is_a_flaw() {
        for line in
            ["return Err(Refusal::Full);", "let a = Refusal::invalid(b, c);", "None => Err(Refusal::Full),"]
        {
            let text = format!("//! Why.\nfn a() {{ {line} }}\n");
            let flaw = found(&[("crates/server/src/a.rs", &text)], only_decisions_refuse);
            assert!(flaw.starts_with("crates/server/src/a.rs:2: makes a refusal"), "{line}: {flaw}");
            assert_eq!(found(&[("crates/core/src/decide/a.rs", &text)], only_decisions_refuse), "");
        }
        for line in [
            "Err(Refusal::Full) => 1,",
            "matches!(a, Err(Refusal::Full))",
            "(Err(Refusal::Conflict { fence, .. }), Some(job))",
            "if let Err(Refusal::Full) = a {}",
        ] {
            let text = format!("//! Why.\nfn a() {{ {line} }}\n");
            assert_eq!(found(&[("crates/server/src/a.rs", &text)], only_decisions_refuse), "", "{line}");
        }
    }
}
