//! `cargo xtask bench peers`: Tenure next to other job systems on this machine, all at their highest durability. The systems
//! take turns in every round. Medians over the rounds and ratios are printed, and the rates are drawn as a chart.

mod chart;
pub mod sdks;
mod system;

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cargo;
use crate::scratch::Scratch;
use system::{Running, SYSTEMS, System};

/// The cases: jobs per second, and for `idle` the p50 and p99 in milliseconds.
const CASES: [&str; 6] = ["enqueue", "steady", "drain", "bulk", IDLE, PINNED];

/// The time from creation to the handler, one job at a time.
const IDLE: &str = "idle";

/// `steady` while another transaction holds a snapshot; only on PostgreSQL.
const PINNED: &str = "pinned";

/// A case takes no longer than this.
const CASE_SECONDS_MAX: &str = "600";

/// What the programs of all systems do. `measure.mjs` and `cases.rs` read it.
const PLAN: &str =
    r#"{"seconds":5,"callers":128,"batch":100,"batchCallers":8,"jobs":20000,"samples":200,"slots":128}"#;

/// The numbers of one case in each round.
type Rounds = Vec<Vec<f64>>;

/// Measures the systems whose names are given, or all of them.
pub fn run(names: &[String]) -> Result<()> {
    let is_chosen = |system: &&System| names.is_empty() || names.iter().any(|name| name == system.name);
    let systems: Vec<&System> = SYSTEMS.iter().filter(is_chosen).collect();
    if systems.is_empty() {
        bail!("no such system; there are {}", SYSTEMS.each_ref().map(|system| system.name).join(", "));
    }
    let folder = cargo::target().join("peers");
    system::install(&folder)?;
    let scratch = Scratch::start()?;
    let mut measured = vec![[const { Rounds::new() }; CASES.len()]; systems.len()];
    for round in 1..=3 {
        for (system, cases) in systems.iter().zip(&mut measured) {
            let data = folder.join("data");
            drop(fs::remove_dir_all(&data));
            fs::create_dir_all(&data)?;
            let running = Running::start(system, &data, &scratch)?;
            for (case, rounds) in CASES.iter().zip(cases) {
                if *case != PINNED || system.is_on_postgres() {
                    let found = measure(&running, case).with_context(|| format!("{} {case}", system.name))?;
                    eprintln!("round {round} {} {case}: {}", system.name, shown(&found));
                    rounds.push(found);
                }
            }
        }
    }
    let medians: Vec<_> = measured.iter().map(|cases| cases.each_ref().map(medians)).collect();
    print(&systems, &medians);
    let picture = folder.join("comparison.svg");
    fs::write(&picture, chart::svg(&groups(&systems, &medians)))?;
    println!("\nchart: {}", picture.display());
    Ok(())
}

/// The medians of each case that is a rate.
fn groups(systems: &[&System], medians: &[[Vec<f64>; CASES.len()]]) -> Vec<chart::Group> {
    let of_case = |(number, case): (usize, &&str)| {
        let bar = |(system, cases): (&&System, &[Vec<f64>; CASES.len()])| {
            Some(chart::Bar { system: system.name, rate: *cases[number].first()? })
        };
        let bars = systems.iter().zip(medians).filter_map(bar).collect();
        chart::Group { title: format!("{case}: jobs per second"), bars }
    };
    CASES.iter().enumerate().filter(|(_, case)| **case != IDLE).map(of_case).collect()
}

/// Runs the program of a system for one case; the numbers that it printed.
fn measure(running: &Running, case: &str) -> Result<Vec<f64>> {
    let _snapshot = (case == PINNED).then(|| running.pin_snapshot()).transpose()?;
    let mut command = Command::new("timeout");
    command.arg(CASE_SECONDS_MAX).args(running.program()).arg(if case == PINNED { "steady" } else { case });
    command.env("PEER_URL", running.url()).env("PEER_PLAN", PLAN);
    measured(command.env("PEER_MODULES", system::modules()?))
}

/// Runs a program that measures; the numbers of the last line that it prints.
fn measured(command: &mut Command) -> Result<Vec<f64>> {
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let result: Option<Value> = text.lines().last().and_then(|line| serde_json::from_str(line).ok());
    let Some(result) = result.filter(|_| output.status.success()) else {
        bail!("{}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr));
    };
    Ok(["rate", "p50_ms", "p99_ms"].iter().filter_map(|name| result[name].as_f64()).collect())
}

/// The median of each number over the rounds; empty if the case was not measured.
fn medians(rounds: &Rounds) -> Vec<f64> {
    let of_number = |number: usize| median(rounds.iter().map(|round| round[number]).collect());
    (0..rounds.first().map_or(0, Vec::len)).map(of_number).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn shown(values: &[f64]) -> String {
    match values {
        [] => "–".to_owned(),
        [rate] => format!("{rate:.0}"),
        several => several.iter().map(|value| format!("{value:.1} ms")).collect::<Vec<_>>().join(", "),
    }
}

fn print(systems: &[&System], medians: &[[Vec<f64>; CASES.len()]]) {
    println!(
        "| system | {} | durable | history |\n|---|{}---|---|",
        CASES.join(" | "),
        "---|".repeat(CASES.len())
    );
    for (system, cases) in systems.iter().zip(medians) {
        let cells = cases.each_ref().map(|values| shown(values)).join(" | ");
        println!("| {} | {cells} | {} | {} |", system.name, system.durability, system.history);
    }
    println!("\nTenure's rate divided by the other's; for idle, the other's p50 divided by Tenure's:\n");
    for (tenure, ours) in systems.iter().zip(medians) {
        for (other, theirs) in systems.iter().zip(medians).filter(|(other, _)| tenure.is_compared_with(other))
        {
            let ratio = |((case, ours), theirs): ((&&str, &Vec<f64>), &Vec<f64>)| {
                let ratio = ours.first()? / theirs.first()?;
                Some(format!("{case} {:.1}", if *case == IDLE { ratio.recip() } else { ratio }))
            };
            let ratios: Vec<String> = CASES.iter().zip(ours).zip(theirs).filter_map(ratio).collect();
            println!("- {} to {}: {}", tenure.name, other.name, ratios.join(", "));
        }
    }
}
