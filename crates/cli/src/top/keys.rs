//! All keys in one table: what they do, on which pages, and their texts in the footer and the help.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::model::PaneKind;
use super::rows::Move;
use crate::args::View;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyAction {
    View(View),
    NextView,
    Move(Move),
    /// Selects the previous (-1) or next (1) lifecycle.
    Lifecycle(isize),
    Open,
    Explain,
    Log,
    History,
    Mark,
    MarkAll,
    Cancel,
    Retry,
    Newer,
    Pause,
    Filter,
    Colon,
    Help,
    Back,
    Quit,
}

pub(super) struct Key {
    codes: &'static [KeyCode],
    pub(super) label: &'static str,
    /// For the footer; empty for keys that it omits.
    pub(super) short: &'static str,
    pub(super) long: &'static str,
    command: KeyAction,
    works: fn(&PaneKind) -> bool,
}

const fn key(
    codes: &'static [KeyCode],
    label: &'static str,
    short: &'static str,
    long: &'static str,
    command: KeyAction,
    works: fn(&PaneKind) -> bool,
) -> Key {
    Key { codes, label, short, long, command, works }
}

fn always(_: &PaneKind) -> bool {
    true
}

fn is_map(page: &PaneKind) -> bool {
    *page == PaneKind::View(View::Map)
}

/// Pages whose rows can be marked.
fn marks(page: &PaneKind) -> bool {
    matches!(page, PaneKind::View(View::Jobs | View::Dead))
}

/// Pages of one job or with a selected job.
fn has_job(page: &PaneKind) -> bool {
    !matches!(page, PaneKind::View(View::Map | View::Workers | View::Queues))
}

fn opens(page: &PaneKind) -> bool {
    matches!(page, PaneKind::View(_))
}

fn has_filter(page: &PaneKind) -> bool {
    matches!(page, PaneKind::View(_)) && !is_map(page)
}

fn acts(page: &PaneKind) -> bool {
    has_job(page) && *page != PaneKind::View(View::Log)
}

fn cancels(page: &PaneKind) -> bool {
    acts(page) && *page != PaneKind::View(View::Dead)
}

use KeyCode::{BackTab, Char, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up};

const KEYS: &[Key] = &[
    key(&[Enter], "enter", "open", "open the selected row", KeyAction::Open, opens),
    key(
        &[Char('e')],
        "e",
        "explain",
        "why the job is in its state, and what can happen next",
        KeyAction::Explain,
        has_job,
    ),
    key(&[Char('l')], "l", "log", "log of the job", KeyAction::Log, has_job),
    key(&[Char('h')], "h", "history", "history of the job", KeyAction::History, has_job),
    key(&[Char(' ')], "space", "mark", "mark or unmark the row", KeyAction::Mark, marks),
    key(&[Char('a')], "a", "", "mark or unmark all rows", KeyAction::MarkAll, marks),
    key(
        &[Char('c')],
        "c",
        "cancel",
        "cancel the marked or selected jobs; asks first",
        KeyAction::Cancel,
        cancels,
    ),
    key(&[Char('r')], "r", "retry", "retry the marked or selected jobs; asks first", KeyAction::Retry, acts),
    key(&[Char('n')], "n", "", "show newer rows", KeyAction::Newer, has_filter),
    key(
        &[Char('/')],
        "/",
        "filter",
        "filter by flags or words: state:failed type:image",
        KeyAction::Filter,
        has_filter,
    ),
    key(&[Left, Char('[')], "←", "", "previous lifecycle", KeyAction::Lifecycle(-1), is_map),
    key(&[Right, Char(']')], "→", "lifecycle", "next lifecycle", KeyAction::Lifecycle(1), is_map),
    key(
        &[Up, Char('k')],
        "↑ k",
        "",
        "up; above the first row the list updates again",
        KeyAction::Move(Move::Up),
        always,
    ),
    key(
        &[Down, Char('j')],
        "↓ j",
        "",
        "down; rows keep their places while one is selected",
        KeyAction::Move(Move::Down),
        always,
    ),
    key(&[PageUp], "pgup", "", "page up", KeyAction::Move(Move::PageUp), always),
    key(&[PageDown], "pgdn", "", "page down", KeyAction::Move(Move::PageDown), always),
    key(&[Home, Char('g')], "g", "", "go to the beginning", KeyAction::Move(Move::First), always),
    key(&[End, Char('G')], "G", "", "go to the end", KeyAction::Move(Move::Last), always),
    key(
        &[Char('1')],
        "1 :map",
        "",
        "lifecycles with the number of jobs in each state",
        KeyAction::View(View::Map),
        always,
    ),
    key(&[Char('2')], "2 :jobs", "", "jobs", KeyAction::View(View::Jobs), always),
    key(&[Char('3')], "3 :dead", "", "dead letters", KeyAction::View(View::Dead), always),
    key(&[Char('4')], "4 :workers", "", "workers", KeyAction::View(View::Workers), always),
    key(&[Char('5')], "5 :log", "", "journal", KeyAction::View(View::Log), always),
    key(&[Char('6')], "6 :queues", "", "queues", KeyAction::View(View::Queues), always),
    key(&[Tab, BackTab], "tab", "", "next view", KeyAction::NextView, always),
    key(&[Char(':')], ":", "", "open a view by its name", KeyAction::Colon, always),
    key(&[Char('p')], "p", "pause", "pause or resume updates", KeyAction::Pause, always),
    key(&[Esc, KeyCode::Backspace], "esc", "", "back", KeyAction::Back, always),
    key(&[Char('?')], "?", "help", "show these keys", KeyAction::Help, always),
    key(&[Char('q')], "q", "quit", "quit", KeyAction::Quit, always),
];

pub(super) fn of(page: &PaneKind) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| (key.works)(page))
}

/// What a key does on a page.
pub(super) fn command(event: &KeyEvent, page: &PaneKind) -> Option<KeyAction> {
    let is_modified = event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    if is_modified {
        return None;
    }
    of(page).find(|key| key.codes.contains(&event.code)).map(|key| key.command)
}

#[cfg(test)]
mod tests {
    use super::super::model::VIEWS;
    use super::*;

    #[test]
    fn a_key_has_one_command_on_a_page() {
        let pages = VIEWS.map(|(view, _)| PaneKind::View(view));
        for page in pages.iter().chain([&PaneKind::Job("x".into()), &PaneKind::Log("x".into())]) {
            let codes: Vec<&KeyCode> = of(page).flat_map(|key| key.codes).collect();
            for code in &codes {
                assert_eq!(codes.iter().filter(|other| other == &code).count(), 1, "{page:?} {code:?}");
            }
        }
    }
}
