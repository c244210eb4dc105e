//! One thing that was opened: what it is, what the server said of it, and where the cursor is.

use serde_json::Value;

use super::asking::Ask;
use super::map::Map;
use super::model::Page;
use super::rows::{Move, Rows};
use super::text::Text;
use crate::args::View;
use crate::show::{self, List, text};
use crate::{dead, explain, job, output, worker};

/// Events of the journal that are kept.
const EVENTS_MAX: usize = 1000;

/// The journal, for people.
const JOURNAL: List = List {
    plural: "events",
    name: "id",
    columns: &[
        ("TIME", |event| text(&event["ts"]).get(11..23).unwrap_or_default().to_owned()),
        ("JOB", |event| text(&event["job_id"])),
        ("EVENT", |event| text(&event["type"])),
        ("MOVE", |event| match (&event["from"], &event["to"]) {
            (Value::Null, to) => text(to),
            (from, to) => format!("{} → {}", text(from), text(to)),
        }),
        ("ACTOR", |event| text(&event["actor"])),
    ],
    more: &[],
};

/// What is shown of a page, and where the reader is.
pub(super) enum Body {
    Map(Box<Map>),
    Rows(Rows),
    Text(Text),
}

/// A page that was opened.
pub(super) struct Leaf {
    pub(super) page: Page,
    pub(super) filter: String,
    pub(super) body: Body,
    /// Why there is nothing to show.
    pub(super) refused: Option<String>,
    /// Whether anything was heard.
    pub(super) heard: bool,
    /// Up to where what grows was read.
    after: Option<String>,
    /// Everything that was read of what grows, the newest first.
    journal: Vec<Value>,
    /// The job that the page is about.
    pub(super) subject: Value,
}

/// The list of a page of rows.
pub(super) fn list(page: &Page) -> &'static List {
    match page {
        Page::View(View::Dead) => &dead::LETTERS,
        Page::View(View::Workers) => &worker::WORKERS,
        Page::View(View::Log) => &JOURNAL,
        Page::History(_) => &job::EVENTS,
        Page::View(View::Jobs | View::Map) | Page::Job(_) | Page::Explain(_) | Page::Log(_) => &job::JOBS,
    }
}

impl Leaf {
    /// Nothing is known of it yet.
    pub(super) fn new(page: Page, filter: String) -> Self {
        let body = match &page {
            Page::View(View::Map) => Body::Map(Box::default()),
            Page::View(_) | Page::History(_) => Body::Rows(Rows::new(list(&page).name)),
            Page::Job(_) | Page::Explain(_) => Body::Text(Text::new()),
            Page::Log(_) => Body::Text(Text::following()),
        };
        let (refused, heard, after) = (None, false, None);
        Self { page, filter, body, refused, heard, after, journal: Vec::new(), subject: Value::Null }
    }

    /// The rows, if there are any to have a cursor in.
    pub(super) fn rows_mut(&mut self) -> Option<&mut Rows> {
        match &mut self.body {
            Body::Rows(rows) => Some(rows),
            Body::Map(_) | Body::Text(_) => None,
        }
    }

    /// Lines above the rows.
    pub(super) fn headings(&self) -> u16 {
        u16::from(matches!(self.body, Body::Rows(_)))
    }

    /// What is to be asked of the server.
    pub(super) fn ask(&self) -> Ask {
        let filter = self.filter.clone();
        let limit = if let Body::Rows(rows) = &self.body { rows.limit } else { 0 };
        match &self.page {
            Page::View(View::Map) => match &self.body {
                Body::Map(map) => map.ask(),
                Body::Rows(_) | Body::Text(_) => Ask::Map { wanted: None, known: None },
            },
            Page::View(View::Jobs) => Ask::Jobs { filter, limit },
            Page::View(View::Dead) => Ask::Dead { filter, limit },
            Page::View(View::Workers) => Ask::Workers { filter },
            Page::View(View::Log) => Ask::Journal { filter, after: self.after.clone() },
            Page::Job(job) => Ask::Job(job.clone()),
            Page::Explain(job) => Ask::Explain(job.clone()),
            Page::History(job) => Ask::History(job.clone()),
            Page::Log(job) => Ask::Log { job: job.clone(), after: self.after.clone() },
        }
    }

    /// What the server said.
    pub(super) fn take(&mut self, mut answer: Value) {
        (self.heard, self.refused) = (true, None);
        let next = answer["next_cursor"].as_str().map(str::to_owned);
        match &mut self.body {
            Body::Map(map) => map.take(&mut answer),
            Body::Rows(rows) => {
                let mut found = taken(&mut answer[list(&self.page).plural]);
                if self.page == Page::View(View::Log) {
                    self.after = next;
                    found.reverse();
                    found.append(&mut self.journal);
                    found.truncate(EVENTS_MAX);
                    self.journal.clone_from(&found);
                    rows.take(found, false);
                } else {
                    rows.take(found, next.is_some());
                }
            }
            Body::Text(text) => match &self.page {
                Page::Log(_) => {
                    self.after = next.or(self.after.take());
                    text.extend(taken(&mut answer["lines"]).iter().map(logged));
                }
                Page::Job(_) => {
                    self.subject = answer["job"].take();
                    text.lines = told(&self.subject, &answer["explain"]);
                }
                Page::Explain(_) | Page::History(_) | Page::View(_) => {
                    text.lines = explain::words(&answer).lines().map(str::to_owned).collect();
                    self.subject = answer;
                }
            },
        }
    }

    /// Moves the cursor, or what is on the screen. True if more is to be asked for.
    pub(super) fn step(&mut self, to: Move, (width, height): (usize, usize)) -> bool {
        match &mut self.body {
            Body::Map(map) => map.step(to),
            Body::Rows(rows) => return rows.step(to, height),
            Body::Text(text) => text.step(to, (width, height)),
        }
        false
    }

    /// What enter opens.
    pub(super) fn target(&self) -> Option<(Page, String)> {
        match (&self.page, &self.body) {
            (_, Body::Map(map)) => map.filter().map(|filter| (Page::View(View::Jobs), filter)),
            (Page::View(View::Workers), Body::Rows(rows)) => {
                let name = text(&rows.current()?["name"]);
                Some((Page::View(View::Jobs), format!("worker:{name}")))
            }
            _ => self.job().map(|job| (Page::Job(job), String::new())),
        }
    }

    /// The job that a key is about.
    pub(super) fn job(&self) -> Option<String> {
        match (&self.page, &self.body) {
            (Page::Job(job) | Page::Explain(job) | Page::History(job) | Page::Log(job), _) => {
                Some(job.clone())
            }
            (Page::View(View::Jobs), Body::Rows(rows)) => Some(text(&rows.current()?["id"])),
            (Page::View(View::Dead | View::Log), Body::Rows(rows)) => Some(text(&rows.current()?["job_id"])),
            (Page::View(_), _) => None,
        }
    }

    /// The jobs that an action is about.
    pub(super) fn chosen(&self) -> Vec<String> {
        match (&self.page, &self.body) {
            (Page::View(View::Jobs | View::Dead), Body::Rows(rows)) => rows.chosen(),
            _ => self.job().into_iter().collect(),
        }
    }
}

fn taken(value: &mut Value) -> Vec<Value> {
    if let Value::Array(rows) = value.take() { rows } else { Vec::new() }
}

fn logged(line: &Value) -> String {
    let time = text(&line["ts"]);
    let mark = if line["stream"] == "stderr" { '!' } else { '|' };
    format!("{} {mark} {}", time.get(11..19).unwrap_or_default(), text(&line["text"]))
}

/// A job, and below it why it is where it is.
fn told(job: &Value, answer: &Value) -> Vec<String> {
    let mut lines: Vec<String> = output::aligned(&job::pairs(job)).lines().map(str::to_owned).collect();
    if !answer.is_null() {
        lines.push(String::new());
        lines.extend(explain::words(answer).lines().map(str::to_owned));
    }
    lines
}

/// A job in a title.
pub(super) fn titled(job: &str) -> String {
    format!("job {}", show::short(job))
}
