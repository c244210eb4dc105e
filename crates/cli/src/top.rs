//! `tenure top`: lifecycles, jobs, dead letters, workers and the journal in a terminal, over the public API. The model
//! (`model`) knows no terminal and no server; `view` draws it, `asking` asks for it, and the loop here brings them
//! together: it draws after a change, at once after a key, otherwise at most four times a second.

mod act;
mod asking;
mod colours;
mod filter;
mod keys;
mod leaf;
mod map;
mod model;
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

use crate::args;
use crate::client::Server;
use crate::output::{self, Exit, Trouble};
use crate::show;
use colours::Colours;
use model::{Message, Top, Wish};
use terminal::Screen;

/// How often what is shown is asked for.
const BEAT: Duration = Duration::from_secs(1);
/// The least time between two drawings that no key asked for.
const PAUSE: Duration = Duration::from_millis(250);

/// Runs until it is told to stop.
pub(crate) async fn run(args: &args::Top, server: &Server) -> Result<Exit> {
    let filter = args.filter.join(" ");
    if let Some(flaw) = filter::flaw(args.view, &filter) {
        return Err(Trouble::new(Exit::Usage, flaw).into());
    }
    let mut screen = Screen::take()?;
    let size = screen.terminal.size()?;
    let top = Top::new(server.client.url().to_owned(), args.view, filter, (size.width, size.height));
    let mut running =
        Running { top, server, tasks: JoinSet::new(), asking: None, colours: Colours::of_environment() };
    let exit = running.run(&mut screen).await;
    drop(screen);
    running.finish().await;
    exit
}

/// The model, and what is done for it.
struct Running<'s> {
    top: Top,
    server: &'s Server,
    tasks: JoinSet<Message>,
    /// The question whose answer counts.
    asking: Option<AbortHandle>,
    colours: Colours,
}

impl Running<'_> {
    async fn run(&mut self, screen: &mut Screen) -> Result<Exit> {
        let mut events = terminal::events();
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut drawn, mut changed) = (long_ago(), true);
        loop {
            if changed && drawn.elapsed() >= PAUSE {
                // Asked anew each time: a change of size that comes together with a key is not always told.
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
                Some(done) = self.tasks.join_next() => match done {
                    Ok(message) => message,
                    Err(error) if error.is_cancelled() => continue,
                    Err(error) => std::panic::resume_unwind(error.into_panic()),
                },
                () = sleep_until(drawn + PAUSE), if changed => continue,
                _ = beat.tick() => Message::Beat,
            };
            if matches!(message, Message::Key(_) | Message::Size(..)) {
                drawn = long_ago();
            }
            changed = true;
            for wish in self.top.update(message) {
                if let Some(exit) = self.fulfil(wish) {
                    return Ok(exit);
                }
            }
        }
    }

    /// What was begun is brought to its end, and told.
    async fn finish(&mut self) {
        if let Some(asking) = self.asking.take() {
            asking.abort();
        }
        while let Some(done) = self.tasks.join_next().await {
            if let Ok(Message::Acted(acted)) = done {
                output::words(&acted.sentence());
            }
        }
    }

    fn fulfil(&mut self, wish: Wish) -> Option<Exit> {
        let server = self.server.clone();
        match wish {
            Wish::Ask(turn, ask) => {
                let asking = self.tasks.spawn(async move {
                    let answer = asking::answer(&server, &ask).await;
                    Message::Answer(turn, answer, show::now())
                });
                if let Some(earlier) = self.asking.replace(asking) {
                    earlier.abort();
                }
            }
            Wish::Act(act) => {
                self.tasks.spawn(async move { Message::Acted(act.run(&server).await) });
            }
            Wish::Quit { interrupted: true } => return Some(Exit::Interrupted),
            Wish::Quit { interrupted: false } => return Some(Exit::Done),
        }
        None
    }
}

/// So that the next drawing waits for nothing.
fn long_ago() -> Instant {
    let now = Instant::now();
    now.checked_sub(PAUSE).unwrap_or(now)
}
