//! What an operator does to jobs: cancel, retry, redrive. Each asks first and says the number.

use anyhow::Result;
use serde_json::{Value, json};

use crate::client::{self, Server, job_path};
use crate::show::{short, text};

/// What is done to jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Cancel {
        /// Now, whatever their workers do.
        hard: bool,
    },
    Retry,
    /// Of dead letters.
    Redrive,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) verb: Verb,
    /// Their ids.
    pub(super) jobs: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Acted {
    pub(super) verb: Verb,
    /// The jobs that were cancelled, or that are new.
    pub(super) done: Vec<String>,
    /// Why others were not.
    pub(super) refused: Vec<String>,
}

impl Act {
    /// The question, and the keys that answer it.
    pub(super) fn question(&self) -> (String, &'static str) {
        let jobs = match &self.jobs[..] {
            [job] => format!("job {}", short(job)),
            jobs => format!("{} jobs", jobs.len()),
        };
        match self.verb {
            Verb::Cancel { .. } => (format!("Cancel {jobs}?"), "y ask to stop · h stop now · n no"),
            Verb::Retry => (format!("Retry {jobs} as new?"), "y yes · n no"),
            Verb::Redrive => (format!("Redrive {jobs} as new?"), "y yes · n no"),
        }
    }

    /// Does it, one job after the other; a refusal stops none of the others.
    pub(super) async fn run(self, server: &Server) -> Acted {
        let mut acted = Acted { verb: self.verb, done: Vec::new(), refused: Vec::new() };
        let (verb, body) = match self.verb {
            Verb::Redrive => {
                let asked = json!({ "ids": self.jobs });
                match server.post("/api/dead-letters/redrive", &asked).await {
                    Ok(answer) => acted.read(&answer),
                    Err(error) => acted.refused.push(client::trouble(&error).sentence),
                }
                return acted;
            }
            Verb::Cancel { hard } => ("/cancel", json!({ "mode": if hard { "hard" } else { "soft" } })),
            Verb::Retry => ("/retry", json!({})),
        };
        for job in &self.jobs {
            acted.keep(server.post(&job_path(job, verb), &body).await);
        }
        acted
    }
}

impl Acted {
    fn keep(&mut self, answer: Result<Value>) {
        match answer {
            Ok(job) => self.done.push(text(&job["id"])),
            Err(error) => self.refused.push(client::trouble(&error).sentence),
        }
    }

    fn read(&mut self, answer: &Value) {
        for result in answer["results"].as_array().into_iter().flatten() {
            match &result["error"] {
                Value::Null => self.done.push(text(&result["ok"]["id"])),
                problem => {
                    self.refused.push(format!("{}: {}", text(&problem["code"]), text(&problem["detail"])));
                }
            }
        }
    }

    /// For people.
    pub(super) fn sentence(&self) -> String {
        let done = match (self.verb, &self.done[..]) {
            (_, []) => String::new(),
            (Verb::Cancel { hard: true }, jobs) => format!("{} cancelled", jobs.len()),
            (Verb::Cancel { hard: false }, jobs) => format!("{} asked to stop", jobs.len()),
            (Verb::Retry | Verb::Redrive, [job]) => format!("the new job is {}", short(job)),
            (Verb::Retry | Verb::Redrive, jobs) => format!("{} new jobs", jobs.len()),
        };
        match &self.refused[..] {
            [] => done,
            [first, ..] if done.is_empty() => format!("{} refused: {first}", self.refused.len()),
            [first, ..] => format!("{done}, {} refused: {first}", self.refused.len()),
        }
    }
}
