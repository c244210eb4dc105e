//! `tenure run`: creates a job and follows it until it has finished. Events go to stderr, the result to stdout.

mod progress;

use std::pin::pin;
use std::time::Duration;

use anyhow::Result;
use futures_util::{Stream, StreamExt as _};
use serde::Deserialize;
use serde_json::value::RawValue;
use tenure_api::{CallId, Event, JobRecord};
use tenure_client::{Error, EventFilter, Follow};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{MissedTickBehavior, interval};

use crate::args::{NewJobArgs, OutputFormat};
use crate::client::{Answer, Server};
use crate::output::{self, CliError, Exit};
use crate::show;
use crate::{events, job};
use progress::Progress;

/// How often progress is fetched: for a bar, and for lines.
const BAR_INTERVAL: Duration = Duration::from_millis(300);
const LINES_INTERVAL: Duration = Duration::from_secs(10);

/// The part of a job whose JSON is printed as it is.
#[derive(Deserialize)]
struct JobResult {
    #[serde(default)]
    result: Option<Box<RawValue>>,
}

pub(crate) async fn run(args: &NewJobArgs, server: &Server, format: OutputFormat) -> Result<Exit> {
    let new = job::new_job(args)?;
    // Read before the job is created, so that none of its events is missed.
    let cursor = events::latest(server).await?;
    let created = server.client.create(new).await?;
    let id = created.job.id;
    let mut follower = Follower { progress: Progress::new(), last_seq: 0 };
    follower.progress.line(&format!("{id}  {}", show::plain(&created.job.job_type)));
    if created.replayed {
        follower.progress.line(job::ALREADY_EXISTS);
        follower.catch_up(server, &id).await?;
    }
    let filter = EventFilter { job_id: Some(id.clone()), ..EventFilter::default() };
    let events = server.client.events(Some(&cursor), &filter)?.into_stream();
    let log = server.client.follow(&id).into_stream();
    // Installed before the first event is printed: an interrupt after that must not end the process silently.
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        followed = follower.follow(server, &id, log, events) => followed?,
        _ = interrupt.recv() => {
            follower.progress.finish();
            let id = show::short(&id);
            output::message(&format!(
                "the job continues: wait for it with `tenure job wait {id}`, cancel it with `tenure job cancel {id}`"
            ));
            return Ok(Exit::Interrupted);
        }
    }
    follower.catch_up(server, &id).await?;
    follower.progress.finish();
    finish(format, &server.get(CallId::GetJob, &[&id]).await?)
}

fn finish(format: OutputFormat, job: &Answer<JobRecord>) -> Result<Exit> {
    if matches!(format, OutputFormat::Table | OutputFormat::Wide) {
        let JobResult { result } = serde_json::from_str(job.raw.get())?;
        if let Some(result) = result {
            output::raw_json(OutputFormat::Json, &result)?;
        }
    } else {
        job::JOBS.print_one(format, job)?;
    }
    let exit = job::exit_code(job);
    if exit != Exit::Done {
        let error = job.error.as_ref().map(|error| format!(": {}", error.text)).unwrap_or_default();
        CliError::new(exit, format!("the job finished in state {}{error}", show::plain(&job.state)))
            .help(format!("show what happened with `tenure job events {}`", show::short(&job.id)))
            .print();
    }
    Ok(exit)
}

/// Prints the events and the log of a job.
struct Follower {
    progress: Progress,
    /// The number of the last transition that was printed.
    last_seq: u64,
}

impl Follower {
    /// Prints events, log lines and progress until the job has finished.
    async fn follow(
        &mut self,
        server: &Server,
        id: &str,
        log: impl Stream<Item = Result<Follow, Error>>,
        events: impl Stream<Item = Result<(Event, String), Error>>,
    ) -> Result<()> {
        let (mut log, mut events) = (pin!(log), pin!(events));
        let mut tick = interval(if self.progress.has_bar() { BAR_INTERVAL } else { LINES_INTERVAL });
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                biased;
                Some(event) = events.next() => match event {
                    Ok((event, _)) => self.print(&event),
                    Err(error) => self.report(error)?,
                },
                item = log.next() => match item {
                    Some(Ok(Follow::Log(line))) => self.progress.log(&line),
                    Some(Err(error)) => self.report(error)?,
                    Some(Ok(Follow::Status { .. })) | None => return Ok(()),
                },
                _ = tick.tick() => {
                    // If this fails, the streams fail too and report it.
                    if let Ok(job) = server.get(CallId::GetJob, &[id]).await {
                        self.progress.update(&job);
                    }
                }
            }
        }
    }

    fn report(&mut self, error: Error) -> Result<()> {
        if !error.is_retryable() {
            self.progress.finish();
            return Err(error.into());
        }
        self.progress.line(&format!("{error}; retrying"));
        Ok(())
    }

    /// Prints the transitions that have not been printed yet.
    async fn catch_up(&mut self, server: &Server, id: &str) -> Result<()> {
        for event in server.client.history(id, false).await?.rows {
            self.print(&event);
        }
        Ok(())
    }

    fn print(&mut self, event: &Event) {
        match event.seq {
            Some(seq) if seq <= self.last_seq => return,
            Some(seq) => self.last_seq = seq,
            None => {}
        }
        let time = event.ts.get(11..23).unwrap_or(&event.ts);
        let actor = event.actor.as_deref().unwrap_or_default();
        let error = events::error_of(event).map(|error| format!("  {error}")).unwrap_or_default();
        let line = format!("{time}  {:28}  {}  {actor}{error}", events::transition(event), event.event_type);
        self.progress.line(line.trim_end());
    }
}
