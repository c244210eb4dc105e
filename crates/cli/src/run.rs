//! `tenure run`: a job from its creation to its end. What happens goes to stderr, the result to stdout.

mod screen;

use std::pin::pin;
use std::time::Duration;

use anyhow::Result;
use futures_util::{Stream, StreamExt as _};
use serde_json::Value;
use tenure_client::{Error, Event, EventFilter, Follow};
use tokio::time::{MissedTickBehavior, interval};

use crate::args::{Form, NewJob};
use crate::client::{Query, Server, job_path};
use crate::output::{self, Exit};
use crate::show::{self, text};
use crate::{events, job};
use screen::Screen;

/// How often a job is asked for its progress: for a bar, and for lines.
const BAR_EVERY: Duration = Duration::from_millis(300);
const LINES_EVERY: Duration = Duration::from_secs(10);

pub(crate) async fn run(args: &NewJob, server: &Server, form: Form) -> Result<Exit> {
    let new = job::asked(args)?;
    // Before the creation, so that nothing of the job lies before it.
    let cursor = events::latest(server).await?;
    let created = server.client.create(new).await?;
    let id = created.job.id;
    let mut story = Story { screen: Screen::new(), seen: 0 };
    story.screen.say(&format!("{id}  {}", show::plain(&created.job.job_type)));
    if created.replayed {
        story.screen.say("the job was there already");
        story.catch_up(server, &id).await?;
    }
    let filter = EventFilter { job_id: Some(id.clone()), ..EventFilter::default() };
    let events = server.client.events(Some(&cursor), &filter)?.into_stream();
    let following = server.client.follow(&id).into_stream();
    let interrupted = tokio::signal::ctrl_c();
    let ended = tokio::select! {
        ended = story.follow(server, &id, following, events) => ended,
        _ = interrupted => {
            story.screen.end();
            let id = show::short(&id);
            output::words(&format!("the job goes on: `tenure job wait {id}` waits for it, `tenure job cancel {id}` stops it"));
            return Ok(Exit::Interrupted);
        }
    };
    ended?;
    story.catch_up(server, &id).await?;
    story.screen.end();
    finish(form, &server.get(&job_path(&id, ""), &Query::new()).await?)
}

fn finish(form: Form, job: &Value) -> Result<Exit> {
    match form {
        Form::Table | Form::Wide if job["result"].is_null() => {}
        Form::Table | Form::Wide => output::json(Form::Json, &job["result"])?,
        _ => {
            job::print(form, job)?;
        }
    }
    let exit = job::judged(job);
    if exit != Exit::Done {
        let id = text(&job["id"]);
        let error = job["error"]["text"].as_str().map(|error| format!(": {error}")).unwrap_or_default();
        output::words(&format!("tenure: the job ended {}{error}", text(&job["state"])));
        output::words(&format!("help: `tenure job events {}` shows what happened", show::short(&id)));
    }
    Ok(exit)
}

/// What was told of a job.
struct Story {
    screen: Screen,
    /// The number of the last transition that was told.
    seen: u64,
}

impl Story {
    /// Tells what happens until the job has ended.
    async fn follow(
        &mut self,
        server: &Server,
        id: &str,
        following: impl Stream<Item = Result<Follow, Error>>,
        events: impl Stream<Item = Result<(Event, String), Error>>,
    ) -> Result<()> {
        // Streams keep what they are in the middle of, so nothing is lost when another branch goes first.
        let (mut following, mut events) = (pin!(following), pin!(events));
        let mut beat = interval(if self.screen.has_bar() { BAR_EVERY } else { LINES_EVERY });
        beat.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                biased;
                Some(event) = events.next() => match event {
                    Ok((event, _)) => self.tell(&event),
                    Err(error) => self.complain(error)?,
                },
                seen = following.next() => match seen {
                    Some(Ok(Follow::Log(line))) => self.screen.log(&line),
                    Some(Err(error)) => self.complain(error)?,
                    Some(Ok(Follow::Status { .. })) | None => return Ok(()),
                },
                _ = beat.tick() => {
                    // That it cannot be had now is told by the streams.
                    if let Ok(job) = server.get(&job_path(id, ""), &Query::new()).await {
                        self.screen.progress(&job);
                    }
                }
            }
        }
    }

    fn complain(&mut self, error: Error) -> Result<()> {
        if !error.is_passing() {
            self.screen.end();
            return Err(error.into());
        }
        self.screen.say(&format!("{error}; trying again"));
        Ok(())
    }

    /// Tells the transitions that have not been told yet.
    async fn catch_up(&mut self, server: &Server, id: &str) -> Result<()> {
        for event in server.client.history(id, false).await?.rows {
            self.tell(&event);
        }
        Ok(())
    }

    fn tell(&mut self, event: &Event) {
        match event.seq {
            Some(seq) if seq <= self.seen => return,
            Some(seq) => self.seen = seq,
            None => {}
        }
        let to = event.to.as_deref().unwrap_or_default();
        let moved = event.from.as_deref().map_or_else(|| to.to_owned(), |from| format!("{from} → {to}"));
        let time = event.ts.get(11..23).unwrap_or(&event.ts);
        let actor = event.actor.as_deref().unwrap_or_default();
        let error = match &event.payload["error"] {
            Value::Null => String::new(),
            error => format!("  {}: {}", text(&error["code"]), text(&error["message"])),
        };
        let line = format!("{time}  {moved:28}  {}  {actor}{error}", event.event_type);
        self.screen.say(line.trim_end());
    }
}
