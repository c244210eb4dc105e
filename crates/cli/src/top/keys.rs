//! Every key, what it does and where: one table that is read to act, to fill the footer and to fill the help.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::model::Page;
use super::rows::Move;
use crate::args::View;

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    View(View),
    NextView,
    Move(Move),
    /// The lifecycle before or after this one.
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

/// A key of the table.
pub(super) struct Key {
    codes: &'static [KeyCode],
    /// As people call it.
    pub(super) label: &'static str,
    /// What it does; nothing for keys that need no words in the footer.
    pub(super) short: &'static str,
    pub(super) long: &'static str,
    command: Command,
    works: fn(&Page) -> bool,
}

const fn key(
    codes: &'static [KeyCode],
    (label, short, long): (&'static str, &'static str, &'static str),
    command: Command,
    works: fn(&Page) -> bool,
) -> Key {
    Key { codes, label, short, long, command, works }
}

fn always(_: &Page) -> bool {
    true
}

fn is_map(page: &Page) -> bool {
    *page == Page::View(View::Map)
}

/// Where rows are that can be marked and acted on.
fn marks(page: &Page) -> bool {
    matches!(page, Page::View(View::Jobs | View::Dead))
}

/// Where one job is meant: by the cursor, or by the page.
pub(super) fn has_job(page: &Page) -> bool {
    !matches!(page, Page::View(View::Map | View::Workers))
}

fn opens(page: &Page) -> bool {
    matches!(page, Page::View(_))
}

fn stays(page: &Page) -> bool {
    matches!(page, Page::View(View::Jobs | View::Dead | View::Workers | View::Log))
}

fn acts(page: &Page) -> bool {
    has_job(page) && *page != Page::View(View::Log)
}

fn cancels(page: &Page) -> bool {
    acts(page) && *page != Page::View(View::Dead)
}

use KeyCode::{BackTab, Char, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up};

/// In the order of the help.
const KEYS: &[Key] = &[
    key(&[Enter], ("enter", "open", "open what is under the cursor"), Command::Open, opens),
    key(
        &[Char('e')],
        ("e", "explain", "why a job is where it is, and what can happen next"),
        Command::Explain,
        has_job,
    ),
    key(&[Char('l')], ("l", "log", "a job's log"), Command::Log, has_job),
    key(&[Char('h')], ("h", "history", "what has happened to a job"), Command::History, has_job),
    key(&[Char(' ')], ("space", "mark", "mark a row, or no longer"), Command::Mark, marks),
    key(&[Char('a')], ("a", "", "mark all rows that are shown, or none"), Command::MarkAll, marks),
    key(
        &[Char('c')],
        ("c", "cancel", "cancel what is marked, or under the cursor; asks first"),
        Command::Cancel,
        cancels,
    ),
    key(&[Char('r')], ("r", "retry", "make new jobs like these; asks first"), Command::Retry, acts),
    key(&[Char('n')], ("n", "", "bring rows that are newer"), Command::Newer, stays),
    key(&[Char('/')], ("/", "filter", "filter: state:failed type:image, or words"), Command::Filter, stays),
    key(&[Left, Char('[')], ("←", "", "the lifecycle before"), Command::Lifecycle(-1), is_map),
    key(&[Right, Char(']')], ("→", "lifecycle", "the next lifecycle"), Command::Lifecycle(1), is_map),
    key(
        &[Up, Char('k')],
        ("↑ k", "", "up; above the first row the rows follow again"),
        Command::Move(Move::Up),
        always,
    ),
    key(
        &[Down, Char('j')],
        ("↓ j", "", "down; rows stay still while the cursor is in them"),
        Command::Move(Move::Down),
        always,
    ),
    key(&[PageUp], ("pgup", "", "a page up"), Command::Move(Move::PageUp), always),
    key(&[PageDown], ("pgdn", "", "a page down"), Command::Move(Move::PageDown), always),
    key(&[Home, Char('g')], ("g", "", "to the beginning"), Command::Move(Move::First), always),
    key(&[End, Char('G')], ("G", "", "to the end"), Command::Move(Move::Last), always),
    key(
        &[Char('1')],
        ("1 :map", "", "lifecycles, with the number of jobs in each state"),
        Command::View(View::Map),
        always,
    ),
    key(&[Char('2')], ("2 :jobs", "", "jobs"), Command::View(View::Jobs), always),
    key(&[Char('3')], ("3 :dead", "", "dead letters"), Command::View(View::Dead), always),
    key(&[Char('4')], ("4 :workers", "", "workers"), Command::View(View::Workers), always),
    key(&[Char('5')], ("5 :log", "", "the journal"), Command::View(View::Log), always),
    key(&[Tab, BackTab], ("tab", "", "the next view"), Command::NextView, always),
    key(&[Char(':')], (":", "", "a view by its name"), Command::Colon, always),
    key(&[Char('p')], ("p", "pause", "stop asking the server, or go on"), Command::Pause, always),
    key(&[Esc, KeyCode::Backspace], ("esc", "", "back"), Command::Back, always),
    key(&[Char('?')], ("?", "help", "the keys that work here"), Command::Help, always),
    key(&[Char('q')], ("q", "quit", "quit"), Command::Quit, always),
];

/// The keys that work here.
pub(super) fn of(page: &Page) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |key| (key.works)(page))
}

/// What a key means here.
pub(super) fn command(event: &KeyEvent, page: &Page) -> Option<Command> {
    let has_others = event.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    if has_others {
        return None;
    }
    of(page).find(|key| key.codes.contains(&event.code)).map(|key| key.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_means_one_thing_on_a_page() {
        let pages = [View::Map, View::Jobs, View::Dead, View::Workers, View::Log].map(Page::View);
        for page in pages.iter().chain([&Page::Job("x".into()), &Page::Log("x".into())]) {
            let codes: Vec<&KeyCode> = of(page).flat_map(|key| key.codes).collect();
            for code in &codes {
                assert_eq!(codes.iter().filter(|other| other == &code).count(), 1, "{page:?} {code:?}");
            }
        }
    }
}
