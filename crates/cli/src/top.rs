//! `tenure top`: lifecycles, jobs, dead letters, workers, queues and the journal in a terminal, through the public API.
//!
//! `model` holds the state and knows neither terminal nor server; `view` draws it, `fetch` calls the server. The loop
//! here connects them: it draws at once after a key, and otherwise at most four times per second after a change.

mod action;
mod colours;
mod fetch;
mod filter;
mod keys;
mod map;
mod model;
mod pane;
mod rows;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod view;

use std::time::Duration;

use anyhow::Result;
use ratatui::crossterm::event::{Event, KeyEventKind};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use crate::args::TopArgs;
use crate::client::Server;
use crate::output::{self, CliError, Exit};
use crate::show;
use colours::Colours;
use model::{Effect, Message, Top};
use terminal::Screen;

/// How often the shown page is fetched.
const FETCH_INTERVAL: Duration = Duration::from_secs(1);
/// The shortest time between two drawings without a key.
const DRAW_INTERVAL: Duration = Duration::from_millis(250);

pub(crate) async fn run(args: &TopArgs, server: &Server) -> Result<Exit> {
    let filter = args.filter.join(" ");
    if let Some(flaw) = filter::flaw(args.view, &filter) {
        return Err(CliError::new(Exit::Usage, flaw).into());
    }
    let mut screen = Screen::take()?;
    let size = screen.terminal.size()?;
    let top = Top::new(server.client.url().to_owned(), args.view, filter, (size.width, size.height));
    let mut event_loop =
        EventLoop { top, server, tasks: JoinSet::new(), fetch: None, colours: Colours::of_environment() };
    let exit = event_loop.run(&mut screen).await;
    drop(screen);
    event_loop.finish().await;
    exit
}

/// The model, and the tasks that run for it.
struct EventLoop<'s> {
    top: Top,
    server: &'s Server,
    tasks: JoinSet<Message>,
    /// The latest fetch; earlier ones are aborted.
    fetch: Option<AbortHandle>,
    colours: Colours,
}

impl EventLoop<'_> {
    async fn run(&mut self, screen: &mut Screen) -> Result<Exit> {
        let mut events = terminal::events();
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let mut tick = interval(FETCH_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut drawn, mut changed) = (long_ago(), true);
        loop {
            if changed && drawn.elapsed() >= DRAW_INTERVAL {
                // Read each time: a resize at the same time as a key is not always reported.
                let size = screen.terminal.size()?;
                self.top.update(Message::Size(size.width, size.height));
                screen.terminal.draw(|frame| view::draw(frame, &self.top, self.colours))?;
                (drawn, changed) = (Instant::now(), false);
            }
            let message = tokio::select! {
                biased;
                event = events.recv() => match event {
                    Some(Event::Key(key)) if key.kind != KeyEventKind::Release => Message::Key(key),
                    Some(Event::Resize(width, height)) => Message::Size(width, height),
                    Some(_) => continue,
                    None => return Ok(Exit::Done),
                },
                _ = interrupt.recv() => return Ok(Exit::Interrupted),
                _ = terminate.recv() => return Ok(Exit::Done),
                Some(joined) = self.tasks.join_next() => match joined {
                    Ok(message) => message,
                    Err(error) if error.is_cancelled() => continue,
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                () = sleep_until(drawn + DRAW_INTERVAL), if changed => continue,
                _ = tick.tick() => Message::Tick,
            };
            if matches!(message, Message::Key(_) | Message::Size(..)) {
                drawn = long_ago();
            }
            changed = true;
            for effect in self.top.update(message) {
                if let Some(exit) = self.perform(effect) {
                    return Ok(exit);
                }
            }
        }
    }

    /// Waits for running actions and prints their outcomes.
    async fn finish(&mut self) {
        if let Some(fetch) = self.fetch.take() {
            fetch.abort();
        }
        while let Some(joined) = self.tasks.join_next().await {
            if let Ok(Message::ActionFinished(outcome)) = joined {
                output::message(&outcome.summary());
            }
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<Exit> {
        let server = self.server.clone();
        match effect {
            Effect::Fetch(number, request) => {
                let fetch = self.tasks.spawn(async move {
                    let result = fetch::fetch(&server, &request).await;
                    Message::Fetched(number, result, show::now())
                });
                if let Some(earlier) = self.fetch.replace(fetch) {
                    earlier.abort();
                }
            }
            Effect::Act(action) => {
                self.tasks.spawn(async move { Message::ActionFinished(action.run(&server).await) });
            }
            Effect::Quit { interrupted: true } => return Some(Exit::Interrupted),
            Effect::Quit { interrupted: false } => return Some(Exit::Done),
        }
        None
    }
}

/// A time after which a drawing is due at once.
fn long_ago() -> Instant {
    let now = Instant::now();
    now.checked_sub(DRAW_INTERVAL).unwrap_or(now)
}
