//! What was measured, and the ratios.

use anyhow::Result;
use serde_json::{Value, json};

use crate::args::Form;
use crate::output;

use super::load::Latency;

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
}

impl Report {
    pub(super) fn print(&self, form: Form) -> Result<()> {
        if matches!(form, Form::Json | Form::Jsonl) {
            return Ok(output::json(form, &self.json())?);
        }
        let percent = |part: Option<f64>, whole: Option<f64>| {
            part.zip(whole).map(|(part, whole)| format!("{:.0} %", part * 100.0 / whole)).unwrap_or_default()
        };
        let quarter = self.healthz.map(|rate| rate / 4.0);
        let idle = self.idle.map(|(_, rate)| rate);
        let engines = self.engines.map(|(_, rate)| rate);
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
        })
    }
}
