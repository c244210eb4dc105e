//! What was measured, and the ratios.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::Form;
use crate::output;

use super::load::Latency;
use super::pages::Taken;

/// Rates are lifecycles per second (create, claim, start, succeed), unless said otherwise.
#[derive(Default)]
pub(super) struct Report {
    /// Durable writes per second, one after the other.
    pub(super) disk: Option<f64>,
    pub(super) embedded: Option<f64>,
    pub(super) embedded_batches: Option<f64>,
    /// Requests per second.
    pub(super) healthz: Option<f64>,
    pub(super) singles: Option<f64>,
    pub(super) batches: Option<f64>,
    pub(super) latency: Option<Latency>,
    /// How many engines were connected, and the rate at which their jobs were pushed, acked and completed.
    pub(super) engines: Option<(usize, f64)>,
    /// How many claims and streams were open, and the rate beside them.
    pub(super) idle: Option<(usize, f64)>,
    pub(super) idle_bytes: Option<u64>,
    /// How many dashboards were open, the rate beside them, and that without.
    pub(super) dashboards: Option<(usize, f64, f64)>,
    /// How many jobs there were, and how long the read of one row and each page took.
    pub(super) pages: Option<(usize, Vec<Taken>)>,
}

impl Report {
    pub(super) fn print(&self, form: Form) -> Result<()> {
        if matches!(form, Form::Json | Form::Jsonl) {
            return Ok(output::json(form, &self.json())?);
        }
        if let Some((_, taken)) = &self.pages {
            return print_pages(taken);
        }
        let percent = |part: Option<f64>, whole: Option<f64>| {
            part.zip(whole).map(|(part, whole)| format!("{:.0} %", part * 100.0 / whole)).unwrap_or_default()
        };
        let quarter = self.healthz.map(|rate| rate / 4.0);
        let idle = self.idle.map(|(_, rate)| rate);
        let engines = self.engines.map(|(_, rate)| rate);
        let (dashboards, without) = (self.dashboards.map(|it| it.1), self.dashboards.map(|it| it.2));
        let memory =
            self.idle_bytes.map(|bytes| format!(", {} MB more", bytes / 1_000_000)).unwrap_or_default();
        let lines = [
            ("disk alone: durable writes", self.disk, String::new()),
            ("runtime without HTTP", self.embedded, percent(self.embedded, self.disk) + " of the disk alone"),
            ("runtime without HTTP, in batches", self.embedded_batches, String::new()),
            ("GET /healthz: requests", self.healthz, String::new()),
            (
                "server, one request a verb",
                self.singles,
                percent(self.singles, quarter) + " of a quarter of /healthz",
            ),
            (
                "server, in batches",
                self.batches,
                percent(self.batches, self.embedded_batches) + " of the runtime in batches",
            ),
            ("engines on the socket", engines, percent(engines, self.batches) + " of the server in batches"),
            (
                "server, beside open claims and streams",
                idle,
                percent(idle, self.singles) + " of without" + &memory,
            ),
            (
                "server, beside open dashboards",
                dashboards,
                percent(dashboards, without) + " of just before and after",
            ),
        ];
        let rows: Vec<Vec<String>> = lines
            .into_iter()
            .filter_map(|(what, rate, ratio)| Some(vec![what.to_owned(), format!("{:.0}", rate?), ratio]))
            .collect();
        output::table(&["WHAT", "PER SECOND", "RATIO"], &rows)?;
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
            "engines": self.engines.map(|(connected, _)| connected),
            "engines_per_second": self.engines.map(|(_, rate)| rate),
            "idle_open": self.idle.map(|(open, _)| open),
            "idle_singles_per_second": self.idle.map(|(_, rate)| rate),
            "idle_bytes": self.idle_bytes,
            "dashboards_open": self.dashboards.map(|it| it.0),
            "dashboards_singles_per_second": self.dashboards.map(|it| it.1),
            "dashboards_without_per_second": self.dashboards.map(|it| it.2),
            "pages_jobs": self.pages.as_ref().map(|(jobs, _)| jobs),
            "pages_us": self.pages.as_ref().map(|(_, taken)| taken.iter().map(|it| {
                json!({ "address": it.address, "p50": it.p50.as_micros() as u64, "worst": it.worst.as_micros() as u64 })
            }).collect::<Vec<_>>()),
        })
    }
}

/// Each page beside the first line, which is the read of one row.
fn print_pages(taken: &[Taken]) -> Result<()> {
    let ms = |span: Duration| format!("{:.2}", span.as_secs_f64() * 1000.0);
    let one_row = taken.first().map_or(1.0, |it| it.p50.as_secs_f64());
    let row = |it: &Taken| {
        let times = format!("{:.1}", it.p50.as_secs_f64() / one_row);
        vec![it.address.clone(), ms(it.p50), ms(it.worst), times]
    };
    output::table(
        &["ADDRESS", "P50 MS", "WORST MS", "TIMES ONE ROW"],
        &taken.iter().map(row).collect::<Vec<_>>(),
    )?;
    Ok(())
}
