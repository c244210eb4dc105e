//! The results of a benchmark as a table or as JSON.

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum as _;
use serde_json::{Value, json};

use super::load::Latency;
use super::pages::PageTime;
use super::stores::{Comparison, LIFECYCLE_BYTES, StoreRate};
use crate::args::OutputFormat;
use crate::output;

/// Rates are lifecycles per second (create, claim, start, succeed) unless stated otherwise.
#[derive(Default)]
pub(super) struct Report {
    /// Durable writes per second.
    pub(super) disk: Option<f64>,
    pub(super) embedded: Option<f64>,
    pub(super) embedded_batches: Option<f64>,
    /// Requests per second.
    pub(super) healthz: Option<f64>,
    pub(super) singles: Option<f64>,
    pub(super) batches: Option<f64>,
    pub(super) latency: Option<Latency>,
    /// Jobs that connected engines acknowledge and complete.
    pub(super) engines: RateWith,
    /// While claims and streams are open.
    pub(super) idle: RateWith,
    /// While dashboard pages are open.
    pub(super) dashboards: RateWith,
}

/// The rate while something is open or connected.
#[derive(Default)]
pub(super) struct RateWith {
    pub(super) open: Option<usize>,
    pub(super) per_second: Option<f64>,
    /// The rate without it.
    pub(super) without: Option<f64>,
    /// The memory that it needs.
    pub(super) bytes: Option<u64>,
}

impl Report {
    pub(super) fn print(&self, format: OutputFormat) -> Result<()> {
        if matches!(format, OutputFormat::Json | OutputFormat::Jsonl) {
            return Ok(output::json(format, &self.json())?);
        }
        let percent = |part: Option<f64>, whole: Option<f64>, of: &str| {
            let ratio = part.zip(whole).map(|(part, whole)| format!("{:.0} % of {of}", part * 100.0 / whole));
            ratio.unwrap_or_default()
        };
        let Self { disk, embedded, embedded_batches, healthz, singles, batches, .. } = *self;
        let quarter = healthz.map(|rate| rate / 4.0);
        let [engines, idle, dashboards] =
            [&self.engines, &self.idle, &self.dashboards].map(|it| it.per_second);
        let memory = self.idle.bytes.map(|bytes| format!(", {} MB more memory", bytes / 1_000_000));
        let idle_ratio = percent(idle, singles, "the rate without them") + &memory.unwrap_or_default();
        let dashboards_ratio = percent(dashboards, self.dashboards.without, "the rate before and after");
        let lines = [
            ("disk: durable writes", disk, String::new()),
            ("runtime without HTTP", embedded, percent(embedded, disk, "the disk")),
            ("runtime without HTTP, batches", embedded_batches, String::new()),
            ("GET /healthz: requests", healthz, String::new()),
            ("server, one request per verb", singles, percent(singles, quarter, "a quarter of /healthz")),
            ("server, batches", batches, percent(batches, embedded_batches, "the runtime with batches")),
            ("engines on the socket", engines, percent(engines, batches, "the server with batches")),
            ("server with idle claims and streams", idle, idle_ratio),
            ("server with open dashboards", dashboards, dashboards_ratio),
        ];
        let rows: Vec<Vec<String>> = lines
            .into_iter()
            .filter_map(|(what, rate, ratio)| Some(vec![what.to_owned(), format!("{:.0}", rate?), ratio]))
            .collect();
        output::table(&["MEASUREMENT", "PER SECOND", "RATIO"], &rows)?;
        if let Some(Latency { p50_us, p99_us }) = self.latency {
            let ms = |us: u64| us as f64 / 1000.0;
            output::data(&format!("created to started: p50 {:.1} ms, p99 {:.1} ms", ms(p50_us), ms(p99_us)))?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "disk_syncs_per_second": self.disk,
            "runtime_per_second": self.embedded,
            "runtime_batches_per_second": self.embedded_batches,
            "healthz_per_second": self.healthz,
            "singles_per_second": self.singles,
            "batches_per_second": self.batches,
            "latency_us": self.latency.map(|it| json!({ "p50": it.p50_us, "p99": it.p99_us })),
            "engines": self.engines.open,
            "engines_per_second": self.engines.per_second,
            "idle_open": self.idle.open,
            "idle_singles_per_second": self.idle.per_second,
            "idle_bytes": self.idle.bytes,
            "dashboards_open": self.dashboards.open,
            "dashboards_singles_per_second": self.dashboards.per_second,
            "dashboards_without_per_second": self.dashboards.without,
        })
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
    let name =
        |it: &StoreRate| it.store.to_possible_value().expect("no store is hidden").get_name().to_owned();
    if matches!(format, OutputFormat::Json | OutputFormat::Jsonl) {
        let rate = |it: &StoreRate| {
            json!({
                "store": name(it), "waiting": it.waiting, "callers": it.callers,
                "per_second": it.runtime.per_second, "cpu_us": it.runtime.cpu_us,
                "limit_per_second": it.limit.per_second, "limit_cpu_us": it.limit.cpu_us,
            })
        };
        let openings = comparison.openings.iter().map(
            |it| json!({ "waiting": it.waiting, "open_ms": it.ms, "resident_bytes": it.resident_bytes }),
        );
        let answer = json!({
            "lifecycle_bytes": LIFECYCLE_BYTES,
            "stores": comparison.rates.iter().map(rate).collect::<Vec<_>>(),
            "openings": openings.collect::<Vec<_>>(),
        });
        return Ok(output::json(format, &answer)?);
    }
    let row = |it: &StoreRate| {
        let ratio = 100.0 * it.runtime.per_second / it.limit.per_second;
        vec![
            name(it),
            it.waiting.to_string(),
            it.callers.to_string(),
            format!("{:.0}", it.runtime.per_second),
            format!("{:.0}", it.runtime.cpu_us),
            format!("{:.0}", it.limit.per_second),
            format!("{ratio:.1} %"),
        ]
    };
    let headings = ["STORE", "WAITING", "CALLERS", "PER SECOND", "CPU US", "LIMIT PER SECOND", "RATIO"];
    output::table(&headings, &comparison.rates.iter().map(row).collect::<Vec<_>>())?;
    for it in &comparison.openings {
        let mb = it.resident_bytes / 1_000_000;
        output::data(&format!(
            "sqlite with {} waiting: opened in {} ms, {mb} MB resident",
            it.waiting, it.ms
        ))?;
    }
    Ok(())
}
