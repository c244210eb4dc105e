//! The targets: a name, the properties, and how many changed inputs `cargo xtask test` tries.

mod cron;
mod guard;
mod json;
mod lifecycle;
mod proofs;
mod query;
mod sdk;
mod search;
mod socket;
mod work;

/// A parser or decoder, and the properties that it has for every input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Also the name of its folder in `corpus`.
    pub name: &'static str,
    /// Panics if a property does not hold for this input.
    pub check: fn(&[u8]),
    /// Changed inputs of a short run, which takes about three seconds without optimization.
    pub short_run: u32,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "lifecycle", check: lifecycle::check, short_run: 20_000 },
    Target { name: "guard", check: guard::check, short_run: 40_000 },
    Target { name: "json", check: json::check, short_run: 150_000 },
    Target { name: "cron", check: cron::check, short_run: 3000 },
    Target { name: "query", check: query::check, short_run: 100_000 },
    Target { name: "search", check: search::check, short_run: 100_000 },
    Target { name: "socket", check: socket::check, short_run: 200 },
    Target { name: "sdk", check: sdk::check, short_run: 100_000 },
    Target { name: "work", check: work::check, short_run: 1000 },
];

/// The input as text; most targets read only text.
fn text(input: &[u8]) -> Option<&str> {
    std::str::from_utf8(input).ok()
}

/// The first line, and the rest.
fn first_line(text: &str) -> (&str, &str) {
    text.split_once('\n').unwrap_or((text, ""))
}
