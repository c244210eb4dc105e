//! An open page of `tenure top`: its data, and where the cursor is.

use tenure_api::{Explanation, JobRecord, LogLine};
use tenure_core::lifecycle::Phase;

use super::fetch::{FetchRequest, Fetched, JOURNAL, QUEUES};
use super::map::LifecycleMap;
use super::model::PaneKind;
use super::rows::{Move, Row, Rows};
use super::text::Text;
use crate::args::View;
use crate::show::{plain, text};
use crate::{dead, explain, job, output, worker};

/// Events of the journal that are kept.
const EVENTS_MAX: usize = 1000;

pub(super) enum Body {
    Map(Box<LifecycleMap>),
    Rows(Rows),
    Text(Text),
}

pub(super) struct Pane {
    pub(super) page: PaneKind,
    pub(super) filter: String,
    pub(super) body: Body,
    /// Why the server refused the page.
    pub(super) refusal: Option<String>,
    /// Whether an answer has arrived.
    pub(super) loaded: bool,
    /// Where the journal or the log continues.
    after: Option<String>,
    /// Events of the journal so far, newest first.
    journal: Vec<Row>,
    /// The job of the page, for its title.
    pub(super) subject: Option<Subject>,
}

/// The type and state of a job.
pub(super) struct Subject {
    pub(super) job_type: String,
    pub(super) state: String,
    pub(super) phase: Phase,
}

impl Subject {
    fn new(job_type: &str, state: &str, phase: &str, outcome: Option<&str>) -> Option<Self> {
        let phase = Phase::parse(phase, outcome)?;
        Some(Self { job_type: plain(job_type), state: plain(state), phase })
    }
}

/// The headings of a page of rows.
pub(super) fn headings(page: &PaneKind) -> Vec<&'static str> {
    match page {
        PaneKind::View(View::Dead) => dead::DEAD_LETTERS.headings(),
        PaneKind::View(View::Workers) => worker::WORKERS.headings(),
        PaneKind::View(View::Log) => JOURNAL.headings(),
        PaneKind::View(View::Queues) => QUEUES.headings(),
        PaneKind::History(_) => job::EVENTS.headings(),
        _ => job::JOBS.headings(),
    }
}

impl Pane {
    pub(super) fn new(page: PaneKind, filter: String) -> Self {
        let body = match &page {
            PaneKind::View(View::Map) => Body::Map(Box::default()),
            PaneKind::View(_) | PaneKind::History(_) => Body::Rows(Rows::new()),
            PaneKind::Job(_) | PaneKind::Explain(_) => Body::Text(Text::new()),
            PaneKind::Log(_) => Body::Text(Text::following()),
        };
        let (refusal, loaded, after, journal, subject) = (None, false, None, Vec::new(), None);
        Self { page, filter, body, refusal, loaded, after, journal, subject }
    }

    pub(super) fn rows_mut(&mut self) -> Option<&mut Rows> {
        match &mut self.body {
            Body::Rows(rows) => Some(rows),
            Body::Map(_) | Body::Text(_) => None,
        }
    }

    /// Lines above the rows.
    pub(super) fn heading_lines(&self) -> u16 {
        u16::from(matches!(self.body, Body::Rows(_)))
    }

    pub(super) fn request(&self) -> FetchRequest {
        let (page, filter, after) = (self.page.clone(), self.filter.clone(), self.after.clone());
        let limit = if let Body::Rows(rows) = &self.body { rows.limit } else { 0 };
        let (lifecycle, known) =
            if let Body::Map(map) = &self.body { (map.selected.clone(), map.known()) } else { (None, None) };
        FetchRequest { page, filter, limit, after, lifecycle, known }
    }

    /// Shows what was fetched.
    pub(super) fn update(&mut self, fetched: Fetched) {
        (self.loaded, self.refusal) = (true, None);
        match (&mut self.body, fetched) {
            (Body::Map(map), Fetched::Map(data)) => map.update(*data),
            (Body::Rows(rows), Fetched::Rows { rows: mut found, next_cursor }) => {
                if self.page == PaneKind::View(View::Log) {
                    self.after = next_cursor;
                    found.reverse();
                    found.append(&mut self.journal);
                    found.truncate(EVENTS_MAX);
                    self.journal.clone_from(&found);
                    rows.update(found, false);
                } else {
                    rows.update(found, next_cursor.is_some());
                }
            }
            (Body::Text(text), Fetched::Log { lines, next_cursor }) => {
                self.after = next_cursor.or(self.after.take());
                text.extend(lines.iter().map(log_line));
            }
            (Body::Text(text), Fetched::Job { job, explanation }) => {
                self.subject = Subject::new(&job.job_type, &job.state, &job.phase, job.outcome.as_deref());
                text.lines = job_lines(&job, explanation.as_deref());
            }
            (Body::Text(text), Fetched::Explanation(it)) => {
                self.subject = Subject::new(&it.job_type, &it.state, &it.phase, None);
                text.lines = lines_of(&explain::describe(&it));
            }
            _ => {}
        }
    }

    /// Moves the cursor or scrolls. Returns whether more rows are to be fetched.
    pub(super) fn step(&mut self, to: Move, size: (usize, usize)) -> bool {
        match &mut self.body {
            Body::Map(map) => map.step(to),
            Body::Rows(rows) => return rows.step(to, size.1),
            Body::Text(text) => text.step(to, size),
        }
        false
    }

    /// The page that enter opens, and its filter.
    pub(super) fn target(&self) -> Option<(PaneKind, String)> {
        match (&self.page, &self.body) {
            (_, Body::Map(map)) => map.filter().map(|filter| (PaneKind::View(View::Jobs), filter)),
            (PaneKind::View(View::Workers), Body::Rows(rows)) => {
                Some((PaneKind::View(View::Jobs), format!("worker:{}", rows.current()?.id)))
            }
            (PaneKind::View(View::Queues), Body::Rows(rows)) => {
                Some((PaneKind::View(View::Jobs), format!("queue:{}", rows.current()?.id)))
            }
            _ => self.job().map(|job| (PaneKind::Job(job), String::new())),
        }
    }

    /// The job of the page or of the selected row.
    pub(super) fn job(&self) -> Option<String> {
        match (&self.page, &self.body) {
            (
                PaneKind::Job(job) | PaneKind::Explain(job) | PaneKind::History(job) | PaneKind::Log(job),
                _,
            ) => Some(job.clone()),
            (PaneKind::View(_), Body::Rows(rows)) => rows.current()?.job.clone(),
            (PaneKind::View(_), Body::Map(_) | Body::Text(_)) => None,
        }
    }

    /// The jobs that an action applies to.
    pub(super) fn selected_jobs(&self) -> Vec<String> {
        match (&self.page, &self.body) {
            (PaneKind::View(View::Jobs | View::Dead), Body::Rows(rows)) => rows.selected(),
            _ => self.job().into_iter().collect(),
        }
    }
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn log_line(line: &LogLine) -> String {
    let mark = if line.stream == "stderr" { '!' } else { '|' };
    format!("{} {mark} {}", line.ts.get(11..19).unwrap_or_default(), text(&line.text))
}

/// A job, and its explanation below.
fn job_lines(job: &JobRecord, explanation: Option<&Explanation>) -> Vec<String> {
    let mut lines = lines_of(&output::aligned(&job::pairs(job)));
    if let Some(explanation) = explanation {
        lines.push(String::new());
        lines.extend(lines_of(&explain::describe(explanation)));
    }
    lines
}
