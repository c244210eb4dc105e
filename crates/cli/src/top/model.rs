//! What `tenure top` is at any moment, and what becomes of it by a key, a beat of the clock or an answer of the server.
//! Nothing is asked or drawn here: a message changes the model and leaves wishes, which others fulfil.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::Value;
use tenure_core::time::Timestamp;

use super::act::{Act, Acted, Verb};
use super::asking::Ask;
use super::filter;
use super::keys::{self, Command};
use super::leaf::{Body, Leaf};
use super::rows::{Move, Rows};
use crate::args::View;
use crate::show;

/// In the order of their digits.
pub(super) const VIEWS: [(View, &str); 5] = [
    (View::Map, "map"),
    (View::Jobs, "jobs"),
    (View::Dead, "dead"),
    (View::Workers, "workers"),
    (View::Log, "log"),
];

/// Lines of the screen that are not the body: two above, one below.
pub(super) const FRAME_LINES: u16 = 3;

/// What can be on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Page {
    View(View),
    /// A job, by its id.
    Job(String),
    Explain(String),
    History(String),
    Log(String),
}

/// Whether what is shown is as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Live {
    /// Nothing was heard yet.
    Unheard,
    Now,
    /// Not since then, and why.
    Away(Timestamp, String),
}

/// What is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    /// `:` or `/`.
    pub(super) sign: char,
    pub(super) text: String,
    /// What is wrong with it.
    pub(super) flaw: Option<String>,
}

/// What happens to the model.
pub(super) enum Message {
    Key(KeyEvent),
    /// The terminal has so many columns and lines.
    Size(u16, u16),
    /// A second went by.
    Beat,
    /// What the server said to the question of this number, and when.
    Answer(u64, Result<Value, Refused>, Timestamp),
    Acted(Acted),
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) struct Refused {
    pub(super) sentence: String,
    /// The server is not there, or cannot answer now.
    pub(super) away: bool,
}

/// What the model wants done.
#[derive(Debug)]
pub(super) enum Wish {
    /// Ask the server; only the answer with the newest number counts.
    Ask(u64, Ask),
    Act(Act),
    Quit {
        interrupted: bool,
    },
}

/// The model.
pub(super) struct Top {
    /// The server's address.
    pub(super) server: String,
    /// What was opened, the newest last; never empty.
    stack: Vec<Leaf>,
    pub(super) prompt: Option<Prompt>,
    /// What is to be done if the answer is yes.
    pub(super) question: Option<Act>,
    /// The help is open, from this line on.
    pub(super) help: Option<u16>,
    /// What the last action came to.
    pub(super) note: Option<String>,
    pub(super) live: Live,
    pub(super) paused: bool,
    size: (u16, u16),
    turn: u64,
    waiting: bool,
}

impl Top {
    /// At its start; the first beat asks.
    pub(super) fn new(server: String, view: View, filter: String, size: (u16, u16)) -> Self {
        Self {
            server,
            stack: vec![Leaf::new(Page::View(view), filter)],
            prompt: None,
            question: None,
            help: None,
            note: None,
            live: Live::Unheard,
            paused: false,
            size,
            turn: 0,
            waiting: false,
        }
    }

    /// What is on the screen.
    pub(super) fn leaf(&self) -> &Leaf {
        self.stack.last().expect("the first leaf is never closed")
    }

    fn leaf_mut(&mut self) -> &mut Leaf {
        self.stack.last_mut().expect("the first leaf is never closed")
    }

    /// The view from which everything on the screen was opened.
    pub(super) fn view(&self) -> View {
        let views = self.stack.iter().rev().filter_map(|leaf| match leaf.page {
            Page::View(view) => Some(view),
            _ => None,
        });
        views.into_iter().next().unwrap_or(View::Map)
    }

    /// What becomes of it.
    pub(super) fn update(&mut self, message: Message) -> Vec<Wish> {
        match message {
            Message::Key(key) => self.press(&key),
            Message::Size(width, height) => {
                self.size = (width, height);
                Vec::new()
            }
            Message::Beat if self.paused || self.waiting => Vec::new(),
            Message::Beat => self.ask(),
            Message::Answer(turn, answer, at) if turn == self.turn => self.hear(answer, at),
            Message::Answer(..) => Vec::new(),
            Message::Acted(acted) => {
                self.note = Some(acted.sentence());
                if let Body::Rows(rows) = &mut self.leaf_mut().body {
                    rows.marks.clear();
                }
                self.ask()
            }
        }
    }

    fn ask(&mut self) -> Vec<Wish> {
        self.turn += 1;
        self.waiting = true;
        vec![Wish::Ask(self.turn, self.leaf().ask())]
    }

    fn hear(&mut self, answer: Result<Value, Refused>, at: Timestamp) -> Vec<Wish> {
        self.waiting = false;
        match answer {
            Ok(answer) => {
                self.live = Live::Now;
                self.leaf_mut().take(answer);
            }
            Err(refused) if refused.away => {
                let since = if let Live::Away(since, _) = self.live { since } else { at };
                self.live = Live::Away(since, refused.sentence);
            }
            Err(refused) => {
                self.live = Live::Now;
                self.leaf_mut().refused = Some(refused.sentence);
            }
        }
        Vec::new()
    }

    fn press(&mut self, key: &KeyEvent) -> Vec<Wish> {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return vec![Wish::Quit { interrupted: true }];
        }
        self.note = None;
        if let Some(act) = self.question.take() {
            return decided(act, key.code);
        }
        if let Some(prompt) = self.prompt.take() {
            return self.edit(prompt, key);
        }
        match (keys::command(key, &self.leaf().page), self.help.take()) {
            (Some(Command::Move(to)), Some(at)) => {
                let up = matches!(to, Move::Up | Move::PageUp | Move::First);
                self.help = Some(if up { at.saturating_sub(1) } else { at.saturating_add(1) });
                Vec::new()
            }
            (_, Some(_)) | (None, None) => Vec::new(),
            (Some(command), None) => self.obey(command),
        }
    }

    fn obey(&mut self, command: Command) -> Vec<Wish> {
        match command {
            Command::View(view) => return self.turn_to(view, String::new()),
            Command::NextView => {
                let at = VIEWS.iter().position(|(view, _)| *view == self.view()).unwrap_or(0);
                return self.turn_to(VIEWS[(at + 1) % VIEWS.len()].0, String::new());
            }
            Command::Move(to) => {
                let room = self.room();
                if self.leaf_mut().step(to, room) {
                    return self.ask();
                }
            }
            Command::Lifecycle(by) => {
                if let Body::Map(map) = &mut self.leaf_mut().body {
                    map.turn(by);
                    return self.ask();
                }
            }
            Command::Open => return self.open(),
            Command::Explain => return self.open_job(Page::Explain),
            Command::Log => return self.open_job(Page::Log),
            Command::History => return self.open_job(Page::History),
            Command::Mark => {
                let height = self.room().1;
                if let Some(rows) = self.leaf_mut().rows_mut() {
                    rows.mark(height);
                }
            }
            Command::MarkAll => self.leaf_mut().rows_mut().into_iter().for_each(Rows::mark_all),
            Command::Cancel => self.consider(Verb::Cancel { hard: false }),
            Command::Retry if self.leaf().page == Page::View(View::Dead) => self.consider(Verb::Redrive),
            Command::Retry => self.consider(Verb::Retry),
            Command::Newer => self.leaf_mut().rows_mut().into_iter().for_each(Rows::bring),
            Command::Pause => {
                self.paused = !self.paused;
                return if self.paused { Vec::new() } else { self.ask() };
            }
            Command::Filter => self.begin('/', self.leaf().filter.clone()),
            Command::Colon => self.begin(':', String::new()),
            Command::Help => self.help = Some(0),
            Command::Back => return self.back(),
            Command::Quit => return vec![Wish::Quit { interrupted: false }],
        }
        Vec::new()
    }

    /// Columns and lines of the body's rows.
    fn room(&self) -> (usize, usize) {
        let height = self.size.1.saturating_sub(FRAME_LINES + self.leaf().headings());
        (usize::from(self.size.0), usize::from(height))
    }

    fn begin(&mut self, sign: char, text: String) {
        self.prompt = Some(Prompt { sign, text, flaw: None });
    }

    fn turn_to(&mut self, view: View, filter: String) -> Vec<Wish> {
        self.stack = vec![Leaf::new(Page::View(view), filter)];
        self.ask()
    }

    fn push(&mut self, page: Page, filter: String) -> Vec<Wish> {
        self.stack.push(Leaf::new(page, filter));
        self.ask()
    }

    fn back(&mut self) -> Vec<Wish> {
        if self.stack.len() > 1 {
            self.stack.pop();
            return self.ask();
        }
        let leaf = self.leaf_mut();
        if let Some(rows) = leaf.rows_mut().filter(|rows| rows.cursor.is_some() || !rows.marks.is_empty()) {
            rows.marks.clear();
            rows.cursor = None;
            rows.bring();
        } else if !leaf.filter.is_empty() {
            let Page::View(view) = leaf.page else { return Vec::new() };
            return self.turn_to(view, String::new());
        }
        Vec::new()
    }

    fn open(&mut self) -> Vec<Wish> {
        match self.leaf().target() {
            Some((page, filter)) => self.push(page, filter),
            None => self.say_choose(),
        }
    }

    fn open_job(&mut self, page: fn(String) -> Page) -> Vec<Wish> {
        match self.leaf().job() {
            Some(job) => self.push(page(job), String::new()),
            None => self.say_choose(),
        }
    }

    fn say_choose(&mut self) -> Vec<Wish> {
        self.note = Some("choose a row first: ↓".to_owned());
        Vec::new()
    }

    fn consider(&mut self, verb: Verb) {
        let jobs = self.leaf().chosen();
        if jobs.is_empty() {
            self.say_choose();
        } else {
            self.question = Some(Act { verb, jobs });
        }
    }

    fn edit(&mut self, mut prompt: Prompt, key: &KeyEvent) -> Vec<Wish> {
        prompt.flaw = None;
        match key.code {
            KeyCode::Esc => return Vec::new(),
            KeyCode::Enter => return self.submit(prompt),
            KeyCode::Backspace if prompt.text.pop().is_none() => return Vec::new(),
            KeyCode::Char('u' | 'w') if key.modifiers.contains(KeyModifiers::CONTROL) => prompt.text.clear(),
            KeyCode::Char(letter) if !key.modifiers.contains(KeyModifiers::CONTROL) => {
                prompt.text.push(letter);
            }
            _ => {}
        }
        self.prompt = Some(prompt);
        Vec::new()
    }

    fn submit(&mut self, prompt: Prompt) -> Vec<Wish> {
        let text = prompt.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (view, filter) = if prompt.sign == '/' {
            (Ok(self.view()), text.as_str())
        } else {
            let (name, filter) = text.split_once(' ').unwrap_or((&text, ""));
            if matches!(name, "q" | "quit") {
                return vec![Wish::Quit { interrupted: false }];
            }
            (named(name), filter)
        };
        match view.and_then(|view| filter::flaw(view, filter).map_or(Ok(view), Err)) {
            Ok(view) if prompt.sign == '/' && self.stack.len() > 1 => {
                self.stack.pop();
                self.push(Page::View(view), filter.to_owned())
            }
            Ok(view) => self.turn_to(view, filter.to_owned()),
            Err(flaw) => {
                self.prompt = Some(Prompt { flaw: Some(show::plain(&flaw)), ..prompt });
                Vec::new()
            }
        }
    }
}

/// The one view whose name begins so.
fn named(name: &str) -> Result<View, String> {
    let found = VIEWS.iter().find(|(_, view)| !name.is_empty() && view.starts_with(name));
    let names = VIEWS.map(|(_, view)| view).join(" ");
    found.map(|(view, _)| *view).ok_or_else(|| format!("no view is called {name:?}; there are: {names}"))
}

/// What a question comes to.
fn decided(act: Act, code: KeyCode) -> Vec<Wish> {
    let verb = match (code, act.verb) {
        (KeyCode::Char('y' | 'Y'), verb) => verb,
        (KeyCode::Char('h' | 'H'), Verb::Cancel { .. }) => Verb::Cancel { hard: true },
        _ => return Vec::new(),
    };
    vec![Wish::Act(Act { verb, ..act })]
}
