//! The stream of one job: its log lines from the start or from where the client stopped, its final status, the end.

use std::collections::VecDeque;
use std::time::Instant;

use axum::extract::State;
use axum::response::IntoResponse as _;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use tenure_core::id::{JobId, Name};
use tenure_core::job::Job;
use tenure_core::json::Json;
use tenure_core::lifecycle::Outcome;
use tenure_core::wire::{self, ErrorForm};
use tenure_runtime::Watch;
use tenure_store::Store as _;

use crate::app::App;
use crate::caller::{Caller, Right};
use crate::http::{Id, Reply};
use crate::problem::Problem;
use crate::query::Given;
use crate::sse;

/// Lines that are read at once.
const PAGE_LINES: usize = 500;
/// The id of the final status: whoever has seen it has seen everything.
const FINAL: &str = "final";

pub(crate) async fn stream(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    headers: HeaderMap,
    mut given: Given,
) -> Reply {
    caller.may(Right::See)?;
    let asked = given.text("after");
    given.done()?;
    let job = app.job(&caller, id).await?;
    let asked = asked.as_deref().map(place).transpose()?;
    let last = sse::last_id(&headers)?.map(place).transpose()?;
    let after = match last.or(asked) {
        Some(Place::End) if job.phase.is_final() => return Ok(StatusCode::NO_CONTENT.into_response()),
        Some(Place::Line(after)) => after,
        Some(Place::End) | None => 0,
    };
    // Hung before the first read, so that nothing between the two is missed.
    let watch = app.runtime().watch(id);
    let (ready, spoke_at) = (VecDeque::new(), Instant::now());
    let state = Streaming { app, caller, id, after, watch, ready, is_over: false, spoke_at };
    Ok(sse::stream(state, Streaming::next))
}

/// Where a client stopped.
#[derive(Clone, Copy)]
enum Place {
    Line(u64),
    End,
}

fn place(id: &str) -> Result<Place, Problem> {
    if id == FINAL {
        return Ok(Place::End);
    }
    let line = id.parse().ok().filter(|line| i64::try_from(*line).is_ok()).map(Place::Line);
    line.ok_or_else(|| Problem::malformed("?after", "must be the id of an event of this stream"))
}

struct Streaming {
    app: App,
    caller: Caller,
    id: JobId,
    /// The last line that was sent.
    after: u64,
    watch: Watch,
    ready: VecDeque<String>,
    is_over: bool,
    spoke_at: Instant,
}

impl Streaming {
    /// The next piece of text; `None` after the end.
    async fn next(mut self) -> Option<(String, Self)> {
        loop {
            if let Some(text) = self.ready.pop_front() {
                self.spoke_at = Instant::now();
                return Some((text, self));
            }
            if self.is_over || self.read().await.is_err() {
                return None;
            }
            if !self.ready.is_empty() {
                continue;
            }
            tokio::select! {
                () = self.watch.changed() => {}
                // The client comes back with its last id, to a node that stays.
                () = self.app.drained() => return None,
            }
            if !self.app.may_go_on(&self.caller).await {
                return None;
            }
            if self.spoke_at.elapsed() >= sse::KEEP_ALIVE {
                self.ready.push_back(sse::comment());
            }
        }
    }

    /// Reads what there is to say. Without an error it has read everything up to now.
    async fn read(&mut self) -> Result<(), Problem> {
        // The job before its log: what is final when it is read has no lines to come.
        let job = self.app.store().job(self.id).await?;
        let lines = self.app.store().logs(self.id, self.after, PAGE_LINES).await?;
        for line in &lines {
            self.ready.push_back(sse::event("log", &line.n.to_string(), &wire::log_line(line)));
            self.after = line.n;
        }
        let Some(job) = job else {
            self.is_over = true;
            return Ok(());
        };
        if job.phase.is_final() && lines.len() < PAGE_LINES {
            self.ready.push_back(sse::event("status", FINAL, &Status::of(&job)));
            self.is_over = true;
        }
        Ok(())
    }
}

/// How a job ended.
#[derive(Serialize)]
struct Status<'a> {
    job_id: JobId,
    state: &'a Name,
    outcome: Option<Outcome>,
    output: Option<&'a Json>,
    error: Option<ErrorForm<'a>>,
}

impl<'a> Status<'a> {
    fn of(job: &'a Job) -> Self {
        let (outcome, output) = (job.phase.outcome(), job.output.result.as_ref());
        let error = job.output.error.as_deref().map(ErrorForm::new);
        Self { job_id: job.id(), state: &job.state, outcome, output, error }
    }
}
