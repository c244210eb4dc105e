//! The state of `tenure top`, and how keys, ticks and answers change it. It calls no server and draws nothing: `update`
//! takes a message and returns effects, which the event loop performs.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tenure_core::time::Timestamp;

use super::action::{Action, ActionKind, ActionOutcome};
use super::fetch::{FetchError, FetchRequest, Fetched};
use super::filter;
use super::keys::{self, KeyAction};
use super::pane::{Body, Pane};
use super::rows::{Move, Rows};
use crate::args::View;
use crate::show;

/// In the order of their digits.
pub(super) const VIEWS: [(View, &str); 6] = [
    (View::Map, "map"),
    (View::Jobs, "jobs"),
    (View::Dead, "dead"),
    (View::Workers, "workers"),
    (View::Log, "log"),
    (View::Queues, "queues"),
];

/// Lines of the screen outside the body: two above, one below.
pub(super) const FRAME_LINES: u16 = 3;

/// What a pane shows. Jobs are given by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PaneKind {
    View(View),
    Job(String),
    Explain(String),
    History(String),
    Log(String),
}

/// Whether the shown data is current.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Connection {
    #[default]
    Connecting,
    Live,
    Lost {
        since: Timestamp,
        message: String,
    },
}

/// A line being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt {
    /// `:` or `/`.
    pub(super) sign: char,
    pub(super) text: String,
    /// What is wrong with it.
    pub(super) flaw: Option<String>,
}

pub(super) enum Message {
    Key(KeyEvent),
    /// Columns and lines of the terminal.
    Size(u16, u16),
    /// Sent once per second.
    Tick,
    /// The result of the fetch with this number, and when it arrived.
    Fetched(u64, Result<Fetched, FetchError>, Timestamp),
    ActionFinished(ActionOutcome),
}

#[derive(Debug)]
pub(super) enum Effect {
    /// Only the result of the fetch with the highest number is used.
    Fetch(u64, FetchRequest),
    Act(Action),
    Quit {
        interrupted: bool,
    },
}

#[derive(Default)]
pub(super) struct Top {
    pub(super) server: String,
    /// Open panes, the shown one last; never empty.
    panes: Vec<Pane>,
    pub(super) prompt: Option<Prompt>,
    /// An action to be confirmed.
    pub(super) question: Option<Action>,
    /// The first shown line of the help, if it is open.
    pub(super) help: Option<u16>,
    /// The outcome of the last action.
    pub(super) note: Option<String>,
    pub(super) connection: Connection,
    pub(super) paused: bool,
    size: (u16, u16),
    /// The number of the last fetch.
    fetches: u64,
    is_fetching: bool,
}

impl Top {
    /// The first tick fetches.
    pub(super) fn new(server: String, view: View, filter: String, size: (u16, u16)) -> Self {
        let panes = vec![Pane::new(PaneKind::View(view), filter)];
        Self { server, panes, size, ..Self::default() }
    }

    pub(super) fn pane(&self) -> &Pane {
        self.panes.last().expect("the first pane is never closed")
    }

    fn pane_mut(&mut self) -> &mut Pane {
        self.panes.last_mut().expect("the first pane is never closed")
    }

    /// The view from which the shown pane was opened.
    pub(super) fn view(&self) -> View {
        let view = |pane: &Pane| if let PaneKind::View(view) = pane.page { Some(view) } else { None };
        self.panes.iter().rev().find_map(view).unwrap_or(View::Map)
    }

    pub(super) fn update(&mut self, message: Message) -> Vec<Effect> {
        match message {
            Message::Key(key) => self.press(&key),
            Message::Size(width, height) => {
                self.size = (width, height);
                Vec::new()
            }
            Message::Tick if self.paused || self.is_fetching => Vec::new(),
            Message::Tick => self.fetch(),
            Message::Fetched(number, result, at) => {
                if number == self.fetches {
                    self.fetched(result, at);
                }
                Vec::new()
            }
            Message::ActionFinished(outcome) => {
                self.note = Some(outcome.summary());
                if let Body::Rows(rows) = &mut self.pane_mut().body {
                    rows.marks.clear();
                }
                self.fetch()
            }
        }
    }

    fn fetch(&mut self) -> Vec<Effect> {
        self.fetches += 1;
        self.is_fetching = true;
        vec![Effect::Fetch(self.fetches, self.pane().request())]
    }

    fn fetched(&mut self, result: Result<Fetched, FetchError>, at: Timestamp) {
        self.is_fetching = false;
        match result {
            Ok(fetched) => {
                self.connection = Connection::Live;
                self.pane_mut().update(fetched);
            }
            Err(FetchError { message, unavailable: true }) => {
                let since = if let Connection::Lost { since, .. } = self.connection { since } else { at };
                self.connection = Connection::Lost { since, message };
            }
            Err(FetchError { message, unavailable: false }) => {
                self.connection = Connection::Live;
                self.pane_mut().refusal = Some(message);
            }
        }
    }

    fn press(&mut self, key: &KeyEvent) -> Vec<Effect> {
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return vec![Effect::Quit { interrupted: true }];
        }
        self.note = None;
        if let Some(action) = self.question.take() {
            return confirmed(action, key.code);
        }
        if let Some(prompt) = self.prompt.take() {
            return self.edit(prompt, key);
        }
        match (keys::command(key, &self.pane().page), self.help.take()) {
            (Some(KeyAction::Move(to)), Some(at)) => {
                let up = matches!(to, Move::Up | Move::PageUp | Move::First);
                self.help = Some(if up { at.saturating_sub(1) } else { at.saturating_add(1) });
                Vec::new()
            }
            (_, Some(_)) | (None, None) => Vec::new(),
            (Some(command), None) => self.execute(command),
        }
    }

    fn execute(&mut self, command: KeyAction) -> Vec<Effect> {
        match command {
            KeyAction::View(view) => return self.open_view(view, String::new()),
            KeyAction::NextView => {
                let at = VIEWS.iter().position(|(view, _)| *view == self.view()).unwrap_or(0);
                return self.open_view(VIEWS[(at + 1) % VIEWS.len()].0, String::new());
            }
            KeyAction::Move(to) => {
                let size = self.body_size();
                if self.pane_mut().step(to, size) {
                    return self.fetch();
                }
            }
            KeyAction::Lifecycle(by) => {
                if let Body::Map(map) = &mut self.pane_mut().body {
                    map.turn(by);
                    return self.fetch();
                }
            }
            KeyAction::Open => return self.open(),
            KeyAction::Explain => return self.open_job(PaneKind::Explain),
            KeyAction::Log => return self.open_job(PaneKind::Log),
            KeyAction::History => return self.open_job(PaneKind::History),
            KeyAction::Mark => {
                let height = self.body_size().1;
                if let Some(rows) = self.pane_mut().rows_mut() {
                    rows.mark(height);
                }
            }
            KeyAction::MarkAll => self.pane_mut().rows_mut().into_iter().for_each(Rows::mark_all),
            KeyAction::Cancel => self.ask(ActionKind::Cancel { hard: false }),
            KeyAction::Retry if self.pane().page == PaneKind::View(View::Dead) => {
                self.ask(ActionKind::Redrive);
            }
            KeyAction::Retry => self.ask(ActionKind::Retry),
            KeyAction::Newer => self.pane_mut().rows_mut().into_iter().for_each(Rows::show_latest),
            KeyAction::Pause => {
                self.paused = !self.paused;
                return if self.paused { Vec::new() } else { self.fetch() };
            }
            KeyAction::Filter => self.open_prompt('/', self.pane().filter.clone()),
            KeyAction::Colon => self.open_prompt(':', String::new()),
            KeyAction::Help => self.help = Some(0),
            KeyAction::Back => return self.back(),
            KeyAction::Quit => return vec![Effect::Quit { interrupted: false }],
        }
        Vec::new()
    }

    /// Columns and lines of the body, without headings.
    fn body_size(&self) -> (usize, usize) {
        let height = self.size.1.saturating_sub(FRAME_LINES + self.pane().heading_lines());
        (usize::from(self.size.0), usize::from(height))
    }

    fn open_prompt(&mut self, sign: char, text: String) {
        self.prompt = Some(Prompt { sign, text, flaw: None });
    }

    /// Closes all panes and opens a view.
    fn open_view(&mut self, view: View, filter: String) -> Vec<Effect> {
        self.panes = vec![Pane::new(PaneKind::View(view), filter)];
        self.fetch()
    }

    fn push(&mut self, page: PaneKind, filter: String) -> Vec<Effect> {
        self.panes.push(Pane::new(page, filter));
        self.fetch()
    }

    /// Closes the pane; in the first one, removes the selection, then the filter.
    fn back(&mut self) -> Vec<Effect> {
        if self.panes.len() > 1 {
            self.panes.pop();
            return self.fetch();
        }
        let pane = self.pane_mut();
        if let Some(rows) = pane.rows_mut().filter(|rows| rows.cursor.is_some() || !rows.marks.is_empty()) {
            rows.marks.clear();
            rows.cursor = None;
            rows.show_latest();
        } else if !pane.filter.is_empty() {
            let PaneKind::View(view) = pane.page else { return Vec::new() };
            return self.open_view(view, String::new());
        }
        Vec::new()
    }

    fn open(&mut self) -> Vec<Effect> {
        match self.pane().target() {
            Some((page, filter)) => self.push(page, filter),
            None => self.note_no_selection(),
        }
    }

    fn open_job(&mut self, page: fn(String) -> PaneKind) -> Vec<Effect> {
        match self.pane().job() {
            Some(job) => self.push(page(job), String::new()),
            None => self.note_no_selection(),
        }
    }

    fn note_no_selection(&mut self) -> Vec<Effect> {
        self.note = Some("select a row first with ↓".to_owned());
        Vec::new()
    }

    fn ask(&mut self, kind: ActionKind) {
        let jobs = self.pane().selected_jobs();
        if jobs.is_empty() {
            self.note_no_selection();
        } else {
            self.question = Some(Action { kind, jobs });
        }
    }

    fn edit(&mut self, mut prompt: Prompt, key: &KeyEvent) -> Vec<Effect> {
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

    fn submit(&mut self, prompt: Prompt) -> Vec<Effect> {
        let text = prompt.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (view, filter) = if prompt.sign == '/' {
            (Ok(self.view()), text.as_str())
        } else {
            let (name, filter) = text.split_once(' ').unwrap_or((&text, ""));
            if matches!(name, "q" | "quit") {
                return vec![Effect::Quit { interrupted: false }];
            }
            (view_named(name), filter)
        };
        match view.and_then(|view| filter::flaw(view, filter).map_or(Ok(view), Err)) {
            Ok(view) if prompt.sign == '/' && self.panes.len() > 1 => {
                self.panes.pop();
                self.push(PaneKind::View(view), filter.to_owned())
            }
            Ok(view) => self.open_view(view, filter.to_owned()),
            Err(flaw) => {
                self.prompt = Some(Prompt { flaw: Some(show::plain(&flaw)), ..prompt });
                Vec::new()
            }
        }
    }
}

/// The view whose name begins with this text.
fn view_named(prefix: &str) -> Result<View, String> {
    let found = VIEWS.iter().find(|(_, view)| !prefix.is_empty() && view.starts_with(prefix));
    let names = VIEWS.map(|(_, view)| view).join(" ");
    found.map(|(view, _)| *view).ok_or_else(|| format!("unknown view {prefix:?}; use {names}"))
}

fn confirmed(action: Action, code: KeyCode) -> Vec<Effect> {
    let kind = match (code, action.kind) {
        (KeyCode::Char('y' | 'Y'), kind) => kind,
        (KeyCode::Char('h' | 'H'), ActionKind::Cancel { .. }) => ActionKind::Cancel { hard: true },
        _ => return Vec::new(),
    };
    vec![Effect::Act(Action { kind, ..action })]
}
