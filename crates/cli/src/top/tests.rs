//! What the screen shows, and what keys do to it: whole screens as text.

mod picture;
#[path = "../../tests/it/pty.rs"]
#[allow(dead_code, reason = "shared with the tests of the binary, which use all of it")]
mod pty;
mod screens;

use std::collections::HashSet;
use std::process::Command;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use serde_json::{Value, json};
use tenure_core::lifecycle::Lifecycle;
use tenure_core::time::Timestamp;

use super::act::{Act, Acted, Verb};
use super::asking::Ask;
use super::colours::Colours;
use super::model::{Message, Refused, Top, Wish};
use super::terminal::Screen;
use super::view;
use crate::args::View;
use crate::show;

/// A top on a screen of this size, which has asked its first question.
struct Driven {
    top: Top,
    size: (u16, u16),
    wishes: Vec<Wish>,
    turn: u64,
}

fn driven(view: View, filter: &str, size: (u16, u16)) -> Driven {
    let top = Top::new("http://127.0.0.1:7117".to_owned(), view, filter.to_owned(), size);
    let mut driven = Driven { top, size, wishes: Vec::new(), turn: 0 };
    driven.tell(Message::Beat);
    driven
}

impl Driven {
    fn tell(&mut self, message: Message) {
        let wishes = self.top.update(message);
        self.turn += wishes.iter().filter(|wish| matches!(wish, Wish::Ask(..))).count() as u64;
        self.wishes.extend(wishes);
    }

    /// `\n` is enter, `\x1b` escape, `↑↓←→` the arrows, the rest is what it is.
    fn press(&mut self, keys: &str) -> &mut Self {
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\x1b' => KeyCode::Esc,
                '\t' => KeyCode::Tab,
                '\x7f' => KeyCode::Backspace,
                '↑' => KeyCode::Up,
                '↓' => KeyCode::Down,
                '←' => KeyCode::Left,
                '→' => KeyCode::Right,
                '⇞' => KeyCode::PageUp,
                '⇟' => KeyCode::PageDown,
                letter => KeyCode::Char(letter),
            };
            self.tell(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
        self
    }

    /// The server's answer to the last question.
    fn hears(&mut self, answer: Value) -> &mut Self {
        self.tell(Message::Answer(self.turn, Ok(answer), Timestamp(0)));
        self
    }

    fn refused(&mut self, sentence: &str, away: bool) -> &mut Self {
        let at = Timestamp::parse("2026-11-16T12:30:45.000Z").unwrap();
        let refused = Refused { sentence: sentence.to_owned(), away };
        self.tell(Message::Answer(self.turn, Err(refused), at));
        self
    }

    /// What was asked last.
    fn asked(&self) -> &Ask {
        let asked = self
            .wishes
            .iter()
            .rev()
            .find_map(|wish| if let Wish::Ask(_, ask) = wish { Some(ask) } else { None });
        asked.expect("the first beat asks")
    }

    fn buffer(&self, colours: Colours) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| view::draw(frame, &self.top, colours)).unwrap();
        terminal.backend().buffer().clone()
    }

    fn screen(&self) -> String {
        let buffer = self.buffer(Colours::all());
        let row = |y| {
            let cells = (0..self.size.0).map(|x| buffer[(x, y)].symbol());
            format!("{}\n", cells.collect::<String>().trim_end())
        };
        (0..self.size.1).map(row).collect()
    }
}

/// So many minutes and a half ago: what is told of it in minutes stays so for a while.
fn ago(minutes: i64) -> Timestamp {
    Timestamp(show::now().0 - minutes * 60_000 - 30_000)
}

fn id(number: u32) -> String {
    format!("01990c3a-7d{number:02x}-7abc-8def-0123456789ab")
}

fn job(number: u32, state: &str) -> Value {
    let (phase, outcome) = match state {
        "queued" => ("ready", Value::Null),
        "running" => ("active", Value::Null),
        "succeeded" | "failed" => ("final", json!(state)),
        other => panic!("{other}"),
    };
    let error = if state == "failed" {
        json!({ "code": "UPSTREAM_TIMEOUT", "text": "UPSTREAM_TIMEOUT: no answer in 300 ms" })
    } else {
        Value::Null
    };
    json!({
        "id": id(number), "type": "thumbnail", "lifecycle": "distributed", "lifecycle_version": 1, "state": state,
        "phase": phase, "outcome": outcome, "attempt": 1, "max_attempts": 5, "queue": "default", "progress": 0,
        "payload": { "width": 64 }, "error": error, "created_at": ago(7), "entered": { state: ago(3) },
    })
}

/// Jobs of these numbers, newest first.
fn jobs(rows: &[(u32, &str)]) -> Value {
    let jobs: Vec<Value> = rows.iter().map(|(number, state)| job(*number, state)).collect();
    json!({ "jobs": jobs, "next_cursor": null })
}

fn lifecycles() -> Vec<Lifecycle> {
    Lifecycle::built_in()
}

/// What the map asks for, with numbers as a busy server has them.
fn the_map(name: &str) -> Value {
    let all = lifecycles();
    let names: Vec<Value> = all.iter().map(|it| json!({ "name": it.name, "version": it.version })).collect();
    let lifecycle = all.iter().find(|it| it.name == name).unwrap();
    let (mut counts, mut states, mut transitions) = (Vec::new(), Vec::new(), Vec::new());
    for (nth, state) in lifecycle.by_rank().iter().enumerate() {
        let count = [1204, 38, 212, 90_412, 87, 12, 5][nth % 7];
        counts.push(
            json!({ "lifecycle": name, "type": "a", "queue": "q", "state": state.name, "count": count }),
        );
        let oldest = (!state.phase.is_final()).then(|| ago(nth as i64 + 2));
        let p95 = (!state.phase.is_final()).then_some([28_000, 80, 41_000][nth % 3]);
        states.push(json!({
            "lifecycle": name, "state": state.name, "count": count, "oldest_since": oldest, "p95_ms": p95,
        }));
    }
    for rule in &lifecycle.rules {
        let rate = match rule.on.to_string().as_str() {
            "create" => 120.0,
            "claim" | "start" => 118.0,
            "succeed" => 116.0,
            "fail" | "timeout" => 0.7,
            _ => 0.0,
        };
        transitions.push(json!({
            "lifecycle": name, "from": rule.from, "trigger": rule.on.to_string(), "to": rule.to,
            "per_minute": rate,
        }));
    }
    let stats = json!({ "counts": counts, "states": states, "transitions": transitions, "attention": [
        { "what": "dead_letters", "text": "5 dead letters, the oldest since 2 h" },
    ] });
    json!({ "lifecycles": names, "stats": stats, "refused": null, "source": lifecycle.source })
}

#[test]
fn a_question_is_asked_once_a_second_unless_it_is_paused_or_unanswered() {
    let mut it = driven(View::Jobs, "", (80, 10));
    let asked = |it: &Driven| it.turn;
    it.tell(Message::Beat);
    assert_eq!(asked(&it), 1, "the first one has no answer yet");
    it.hears(jobs(&[])).tell(Message::Beat);
    assert_eq!(asked(&it), 2);
    it.hears(jobs(&[])).press("p").tell(Message::Beat);
    assert_eq!(asked(&it), 2);
    it.press("p");
    assert_eq!(asked(&it), 3, "going on asks at once");
}

#[test]
fn an_answer_to_an_earlier_question_is_not_for_this_page() {
    let mut it = driven(View::Jobs, "", (80, 10));
    it.press("3");
    it.tell(Message::Answer(1, Ok(jobs(&[(1, "queued")])), Timestamp(0)));
    assert!(!it.screen().contains("queued"));
}

#[test]
fn views_are_chosen_by_digit_name_and_tab() {
    let mut it = driven(View::Map, "", (80, 10));
    it.press("2");
    assert_eq!(*it.asked(), Ask::Jobs { filter: String::new(), limit: 100 });
    it.press(":dead stage:exec\n");
    assert_eq!(*it.asked(), Ask::Dead { filter: "stage:exec".to_owned(), limit: 100 });
    it.press("\t");
    assert_eq!(*it.asked(), Ask::Workers { filter: String::new() });
    it.press(":l\n");
    assert_eq!(*it.asked(), Ask::Journal { filter: String::new(), after: None });
    it.press("/type:job_failed\n").hears(json!({ "events": [], "next_cursor": "42" })).tell(Message::Beat);
    assert_eq!(
        *it.asked(),
        Ask::Journal { filter: "type:job_failed".to_owned(), after: Some("42".to_owned()) }
    );
    it.press("\x1b");
    assert_eq!(*it.asked(), Ask::Journal { filter: String::new(), after: None }, "esc removes the filter");
}

#[test]
fn enter_leads_from_the_map_to_jobs_to_a_job_and_esc_back() {
    let mut it = driven(View::Map, "", (110, 30));
    it.hears(the_map("distributed")).press("↓↓\n");
    assert_eq!(
        *it.asked(),
        Ask::Jobs { filter: "lifecycle:distributed state:running".to_owned(), limit: 100 }
    );
    it.hears(jobs(&[(2, "running"), (1, "running")])).press("\n");
    assert!(it.screen().contains("choose a row first"), "{}", it.screen());
    it.press("j\n");
    assert_eq!(*it.asked(), Ask::Job(id(2)));
    for (key, ask) in
        [("e", Ask::Explain(id(2))), ("h", Ask::History(id(2))), ("l", Ask::Log { job: id(2), after: None })]
    {
        it.press(key);
        assert_eq!(*it.asked(), ask);
        it.press("\x1b");
        assert_eq!(*it.asked(), Ask::Job(id(2)));
    }
    it.press("\x1b\x1b");
    assert!(matches!(it.asked(), Ask::Map { .. }));
}

#[test]
fn an_action_asks_first_and_says_the_number() {
    let mut it = driven(View::Jobs, "", (80, 10));
    it.hears(jobs(&[(3, "running"), (2, "running"), (1, "failed")])).press("j  c");
    assert!(it.screen().contains("Cancel 2 jobs?"), "{}", it.screen());
    it.press("x");
    assert!(!it.wishes.iter().any(|wish| matches!(wish, Wish::Act(_))), "any other key is a no");
    it.press("cy");
    let Some(Wish::Act(act)) = it.wishes.last() else { panic!("{:?}", it.wishes) };
    assert_eq!(*act, Act { verb: Verb::Cancel { hard: false }, jobs: vec![id(3), id(2)] });
    let acted = Acted { verb: act.verb, done: vec![id(3)], refused: vec!["forbidden: no".to_owned()] };
    it.tell(Message::Acted(acted));
    assert!(it.screen().contains("1 asked to stop, 1 refused: forbidden: no"), "{}", it.screen());
    assert!(!it.screen().contains("marked"));
}

#[test]
fn no_size_and_no_key_is_too_much() {
    let answers = [the_map("pattern"), the_map("engine"), jobs(&[(2, "queued"), (1, "failed")])];
    let views = [View::Map, View::Jobs, View::Dead, View::Workers, View::Log];
    for size in [(0, 0), (1, 1), (2, 3), (7, 2), (9, 40), (40, 10), (80, 24), (300, 100)] {
        for view in views {
            let mut it = driven(view, "", size);
            for answer in &answers {
                let mut answer = answer.clone();
                answer["dead_letters"] = json!([{ "job_id": id(1), "reason_code": "x" }]);
                answer["workers"] = json!([{ "name": "w1", "holds": [] }]);
                answer["events"] = json!([{ "id": "1", "job_id": id(1), "ts": "2026-11-16T12:30:45.000Z" }]);
                it.hears(answer);
                for key in "↓↑⇟⇞Ggj k→←[]acyrnnp?\x1b/x\n:q\x1b\t\nelh\x1b\x1b".chars() {
                    it.press(&key.to_string());
                    it.screen();
                }
            }
        }
    }
}

#[test]
fn without_colours_there_are_none() {
    let mut it = driven(View::Jobs, "", (80, 10));
    it.hears(jobs(&[(2, "running"), (1, "failed")])).press("j");
    let colours = |colours| -> HashSet<Color> {
        it.buffer(colours).content().iter().flat_map(|cell| [cell.fg, cell.bg]).collect()
    };
    assert_eq!(colours(Colours::none()), HashSet::from([Color::Reset]));
    assert!(colours(Colours::all()).len() > 3);
}

/// Runs itself again, in a terminal of its own.
#[test]
fn a_panic_gives_the_terminal_back() {
    const INSIDE: &str = "TENURE_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        let mut screen = Screen::take().unwrap();
        let it = driven(View::Jobs, "", (80, 24));
        screen.terminal.draw(|frame| view::draw(frame, &it.top, Colours::all())).unwrap();
        panic!("a panic, on purpose");
    }
    let mut own = Command::new(std::env::current_exe().unwrap());
    own.args(["--exact", "--nocapture", "top::tests::a_panic_gives_the_terminal_back"])
        .env(INSIDE, "1")
        .env("RUST_BACKTRACE", "0");
    let terminal = pty::Pty::start(&own, (80, 24));
    terminal.shows("a panic, on purpose");
    assert_eq!(terminal.ends().code(), Some(101));
}
