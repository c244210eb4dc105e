//! The results of a benchmark as a table or as JSON.

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum as _;
use serde::Serialize;
use serde_json::{Value, json};

use super::load::Latency;
use super::pages::PageTime;
use super::stores::{Comparison, Opening, StoreRate};
use crate::args::OutputFormat;
use crate::output;

/// Rates are lifecycles per second (create, claim, start, succeed) unless stated otherwise.
#[derive(Default, Serialize)]
pub(super) struct Report {
    pub(super) disk_syncs_per_second: Option<f64>,
    pub(super) runtime_per_second: Option<f64>,
    pub(super) runtime_batches_per_second: Option<f64>,
    /// Requests per second.
    pub(super) healthz_per_second: Option<f64>,
    pub(super) singles_per_second: Option<f64>,
    pub(super) batches_per_second: Option<f64>,
    pub(super) latency_us: Option<Latency>,
    /// Connected engines, and the jobs per second that they acknowledge and complete.
    pub(super) engines: Option<usize>,
    pub(super) engines_per_second: Option<f64>,
    /// Open claims and streams, the rate meanwhile, and the memory that they need.
    pub(super) idle_open: Option<usize>,
    pub(super) idle_singles_per_second: Option<f64>,
    pub(super) idle_bytes: Option<u64>,
    /// Open dashboard pages, the rate meanwhile, and the rate without them.
    pub(super) dashboards_open: Option<usize>,
    pub(super) dashboards_singles_per_second: Option<f64>,
    pub(super) dashboards_without_per_second: Option<f64>,
}

impl Report {
    pub(super) fn print(&self, format: OutputFormat) -> Result<()> {
        if matches!(format, OutputFormat::Json | OutputFormat::Jsonl) {
            return Ok(output::json(format, &json!(self))?);
        }
        let percent = |part: Option<f64>, whole: Option<f64>, of: &str| {
            let ratio = part.zip(whole).map(|(part, whole)| format!("{:.0} % of {of}", part * 100.0 / whole));
            ratio.unwrap_or_default()
        };
        let (disk, runtime, healthz) =
            (self.disk_syncs_per_second, self.runtime_per_second, self.healthz_per_second);
        let (singles, batches) = (self.singles_per_second, self.batches_per_second);
        let (runtime_batches, engines) = (self.runtime_batches_per_second, self.engines_per_second);
        let (idle, dashboards) = (self.idle_singles_per_second, self.dashboards_singles_per_second);
        let quarter = healthz.map(|rate| rate / 4.0);
        let memory = self.idle_bytes.map(|bytes| format!(", {} MB more memory", bytes / 1_000_000));
        let idle_ratio = percent(idle, singles, "the rate without them") + &memory.unwrap_or_default();
        let without = self.dashboards_without_per_second;
        let lines = [
            ("disk: durable writes", disk, String::new()),
            ("runtime without HTTP", runtime, percent(runtime, disk, "the disk")),
            ("runtime without HTTP, batches", runtime_batches, String::new()),
            ("GET /healthz: requests", healthz, String::new()),
            ("server, one request per verb", singles, percent(singles, quarter, "a quarter of /healthz")),
            ("server, batches", batches, percent(batches, runtime_batches, "the runtime with batches")),
            ("engines on the socket", engines, percent(engines, batches, "the server with batches")),
            ("server with idle claims and streams", idle, idle_ratio),
            (
                "server with open dashboards",
                dashboards,
                percent(dashboards, without, "the rate before and after"),
            ),
        ];
        let rows: Vec<Vec<String>> = lines
            .into_iter()
            .filter_map(|(what, rate, ratio)| Some(vec![what.to_owned(), format!("{:.0}", rate?), ratio]))
            .collect();
        output::table(&["MEASUREMENT", "PER SECOND", "RATIO"], &rows)?;
        if let Some(Latency { p50, p99 }) = self.latency_us {
            let ms = |us: u64| us as f64 / 1000.0;
            output::data(&format!("created to started: p50 {:.1} ms, p99 {:.1} ms", ms(p50), ms(p99)))?;
        }
        Ok(())
    }
}

/// Prints the time of each page next to that of the first line, the read of one row.
pub(super) fn print_pages(format: OutputFormat, jobs: usize, pages: &[PageTime]) -> Result<()> {
    if matches!(format, OutputFormat::Json | OutputFormat::Jsonl) {
        let us = |span: Duration| span.as_micros() as u64;
        let page = |it: &PageTime| json!({ "address": it.address, "p50": us(it.p50), "worst": us(it.worst) });
        let pages: Vec<Value> = pages.iter().map(page).collect();
        return Ok(output::json(format, &json!({ "pages_jobs": jobs, "pages_us": pages }))?);
    }
    let ms = |span: Duration| format!("{:.2}", span.as_secs_f64() * 1000.0);
    let one_row = pages.first().map_or(1.0, |it| it.p50.as_secs_f64());
    let row = |it: &PageTime| {
        let times = format!("{:.1}", it.p50.as_secs_f64() / one_row);
        vec![it.address.clone(), ms(it.p50), ms(it.worst), times]
    };
    let rows: Vec<_> = pages.iter().map(row).collect();
    Ok(output::table(&["ADDRESS", "P50 MS", "WORST MS", "TIMES ONE ROW"], &rows)?)
}

/// Prints the rates of each store next to those of a bare log file.
pub(super) fn print_stores(format: OutputFormat, comparison: &Comparison) -> Result<()> {
    if matches!(format, OutputFormat::Json | OutputFormat::Jsonl) {
        return Ok(output::json(format, &json!(comparison))?);
    }
    let number = |number: Option<f64>| number.map_or_else(String::new, |number| format!("{number:.0}"));
    let row = |it: &StoreRate| {
        let name = it.store.to_possible_value().expect("no store is hidden").get_name().to_owned();
        let (ratio, dead) = (100.0 * it.per_second / it.limit_per_second, it.cost.dead_rows);
        vec![
            if it.pinned { format!("{name}, pinned") } else { name },
            it.waiting.to_string(),
            it.finished.to_string(),
            it.callers.to_string(),
            number(Some(it.per_second)),
            number(Some(it.cost.cpu_us)),
            number(it.cost.database_cpu_us),
            number(Some(it.cost.written_bytes)),
            dead.map_or_else(String::new, |dead| format!("{dead:.2}")),
            number(Some(it.limit_per_second)),
            format!("{ratio:.1} %"),
        ]
    };
    let headings = [
        "STORE",
        "WAITING",
        "FINISHED",
        "CALLERS",
        "PER SECOND",
        "CPU US",
        "DATABASE CPU US",
        "WRITTEN BYTES",
        "DEAD ROWS",
        "LIMIT PER SECOND",
        "RATIO",
    ];
    output::table(&headings, &comparison.stores.iter().map(row).collect::<Vec<_>>())?;
    for Opening { store, waiting, opened } in &comparison.openings {
        let store = store.to_possible_value().expect("no store is hidden");
        let mb = |bytes: u64| bytes / 1_000_000;
        output::data(&format!(
            "{} with {waiting} waiting: opened in {} ms, {} MB resident; {} jobs verified in {} ms, at most {} MB resident",
            store.get_name(),
            opened.open_ms,
            mb(opened.resident_bytes),
            opened.verified_jobs,
            opened.verify_ms,
            mb(opened.peak_bytes),
        ))?;
    }
    Ok(())
}
