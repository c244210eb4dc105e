//! What the screen shows and what keys do: whole screens as text.

mod picture;
mod screens;

use std::collections::HashSet;
use std::process::Command;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use serde::de::DeserializeOwned;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use tenure_api::{CallId, Stats};
use tenure_core::lifecycle::Lifecycle;
use tenure_core::time::Timestamp;
use tenure_e2e::terminal;

use super::action::{Action, ActionKind, ActionOutcome};
use super::colours::Colours;
use super::fetch::{FetchError, FetchRequest, Fetched, JOURNAL, MapData};
use super::model::{Effect, Message, PaneKind, Top, VIEWS};
use super::terminal::Screen;
use super::view;
use crate::args::View;
use crate::client::Page;
use crate::job::EVENTS;
use crate::show;

/// A model on a screen of this size, after the first tick.
struct Driven {
    top: Top,
    size: (u16, u16),
    effects: Vec<Effect>,
    fetches: u64,
}

fn driven(view: View, filter: &str, size: (u16, u16)) -> Driven {
    let top = Top::new("http://127.0.0.1:7117".to_owned(), view, filter.to_owned(), size);
    let mut driven = Driven { top, size, effects: Vec::new(), fetches: 0 };
    driven.send(Message::Tick);
    driven
}

/// The server's JSON as the answer to this request.
fn fetched(request: &FetchRequest, mut answer: Value) -> Fetched {
    let raw = || to_raw_value(&answer).unwrap();
    match &request.page {
        PaneKind::View(View::Map) => Fetched::Map(Box::new(MapData {
            lifecycles: taken(&mut answer, "lifecycles"),
            stats: taken(&mut answer, "stats"),
            refusal: None,
            source: taken(&mut answer, "source"),
        })),
        PaneKind::View(View::Jobs) => Fetched::jobs(Page::new(CallId::ListJobs, raw()).unwrap()),
        PaneKind::View(View::Dead) => {
            Fetched::dead_letters(Page::new(CallId::ListDeadLetters, raw()).unwrap())
        }
        PaneKind::View(View::Workers) => Fetched::workers(Page::new(CallId::ListWorkers, raw()).unwrap()),
        PaneKind::View(View::Queues) => Fetched::queues(&taken::<Stats>(&mut answer, "stats").queues),
        PaneKind::View(View::Log) => Fetched::events(&JOURNAL, Page::new(CallId::ListEvents, raw()).unwrap()),
        PaneKind::History(_) => Fetched::events(&EVENTS, Page::new(CallId::ListJobEvents, raw()).unwrap()),
        PaneKind::Job(_) => {
            Fetched::Job { job: taken(&mut answer, "job"), explanation: taken(&mut answer, "explain") }
        }
        PaneKind::Explain(_) => Fetched::Explanation(taken(&mut answer, "explain")),
        PaneKind::Log(_) => Fetched::Log {
            lines: taken(&mut answer, "lines"),
            next_cursor: taken(&mut answer, "next_cursor"),
        },
    }
}

fn taken<T: DeserializeOwned>(answer: &mut Value, field: &str) -> T {
    serde_json::from_value(answer[field].take()).unwrap()
}

/// The request of a page without a lifecycle.
fn request(page: PaneKind, filter: &str, after: Option<&str>) -> FetchRequest {
    let is_text = matches!(page, PaneKind::Job(_) | PaneKind::Explain(_) | PaneKind::Log(_));
    let (filter, after) = (filter.to_owned(), after.map(str::to_owned));
    FetchRequest { page, filter, limit: if is_text { 0 } else { 100 }, after, lifecycle: None, known: None }
}

impl Driven {
    fn send(&mut self, message: Message) {
        let effects = self.top.update(message);
        self.fetches += effects.iter().filter(|effect| matches!(effect, Effect::Fetch(..))).count() as u64;
        self.effects.extend(effects);
    }

    /// `\n` is enter, `\x1b` escape, `↑↓←→` the arrows; other characters are themselves.
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
            self.send(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
        self
    }

    /// The server's answer to the last request.
    fn answer(&mut self, answer: Value) -> &mut Self {
        let fetched = fetched(self.request(), answer);
        self.send(Message::Fetched(self.fetches, Ok(fetched), Timestamp(0)));
        self
    }

    fn fail(&mut self, message: &str, unavailable: bool) -> &mut Self {
        let at = Timestamp::parse("2026-11-16T12:30:45.000Z").unwrap();
        let error = FetchError { message: message.to_owned(), unavailable };
        self.send(Message::Fetched(self.fetches, Err(error), at));
        self
    }

    fn request(&self) -> &FetchRequest {
        let mut effects = self.effects.iter().rev();
        let request =
            effects.find_map(|effect| if let Effect::Fetch(_, it) = effect { Some(it) } else { None });
        request.expect("the first tick fetches")
    }

    fn buffer(&self, colours: Colours) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| view::draw(frame, &self.top, colours)).unwrap();
        terminal.backend().buffer().clone()
    }

    fn screen(&self) -> String {
        let buffer = self.buffer(Colours { shown: true });
        let row = |y| {
            let cells = (0..self.size.0).map(|x| buffer[(x, y)].symbol());
            format!("{}\n", cells.collect::<String>().trim_end())
        };
        (0..self.size.1).map(row).collect()
    }
}

/// This many and a half minutes ago, so that the age in minutes does not change during a test.
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

fn jobs(rows: &[(u32, &str)]) -> Value {
    let jobs: Vec<Value> = rows.iter().map(|(number, state)| job(*number, state)).collect();
    json!({ "jobs": jobs, "next_cursor": null })
}

/// The answer for the lifecycle view, with numbers of a busy server.
fn map_of(name: &str) -> Value {
    let all = Lifecycle::built_in();
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
fn pages_are_fetched_once_per_second_unless_paused_or_pending() {
    let mut it = driven(View::Jobs, "", (80, 10));
    it.send(Message::Tick);
    assert_eq!(it.fetches, 1, "the first fetch is pending");
    it.answer(jobs(&[])).send(Message::Tick);
    assert_eq!(it.fetches, 2);
    it.answer(jobs(&[])).press("p").send(Message::Tick);
    assert_eq!(it.fetches, 2);
    it.press("p");
    assert_eq!(it.fetches, 3, "resuming fetches at once");
}

#[test]
fn answers_to_earlier_requests_are_ignored() {
    let mut it = driven(View::Jobs, "", (80, 10));
    let earlier = fetched(it.request(), jobs(&[(1, "queued")]));
    it.press("3");
    it.send(Message::Fetched(1, Ok(earlier), Timestamp(0)));
    assert!(!it.screen().contains("queued"));
}

#[test]
fn views_are_chosen_by_digit_name_and_tab() {
    let mut it = driven(View::Map, "", (80, 10));
    it.press("2");
    assert_eq!(*it.request(), request(PaneKind::View(View::Jobs), "", None));
    it.press(":dead stage:exec\n");
    assert_eq!(*it.request(), request(PaneKind::View(View::Dead), "stage:exec", None));
    it.press("\t");
    assert_eq!(*it.request(), request(PaneKind::View(View::Workers), "", None));
    it.press(":l\n");
    assert_eq!(*it.request(), request(PaneKind::View(View::Log), "", None));
    it.press("\t");
    assert_eq!(*it.request(), request(PaneKind::View(View::Queues), "", None));
    it.press(":l\n/type:job_failed\n")
        .answer(json!({ "events": [], "next_cursor": "42" }))
        .send(Message::Tick);
    assert_eq!(*it.request(), request(PaneKind::View(View::Log), "type:job_failed", Some("42")));
    it.press("\x1b");
    assert_eq!(*it.request(), request(PaneKind::View(View::Log), "", None), "esc removes the filter");
}

#[test]
fn enter_opens_jobs_and_a_job_and_esc_goes_back() {
    let mut it = driven(View::Map, "", (110, 30));
    it.answer(map_of("distributed")).press("↓↓\n");
    let filter = "lifecycle:distributed state:running";
    assert_eq!(*it.request(), request(PaneKind::View(View::Jobs), filter, None));
    it.answer(jobs(&[(2, "running"), (1, "running")])).press("\n");
    assert!(it.screen().contains("select a row first"), "{}", it.screen());
    it.press("j\n");
    let job = request(PaneKind::Job(id(2)), "", None);
    assert_eq!(*it.request(), job);
    for (key, page) in
        [("e", PaneKind::Explain(id(2))), ("h", PaneKind::History(id(2))), ("l", PaneKind::Log(id(2)))]
    {
        it.press(key);
        assert_eq!(*it.request(), request(page, "", None));
        it.press("\x1b");
        assert_eq!(*it.request(), job);
    }
    it.press("\x1b\x1b");
    assert_eq!(it.request().page, PaneKind::View(View::Map));
}

#[test]
fn an_action_is_confirmed_with_the_number_of_jobs() {
    let mut it = driven(View::Jobs, "", (80, 10));
    it.answer(jobs(&[(3, "running"), (2, "running"), (1, "failed")])).press("j  c");
    assert!(it.screen().contains("Cancel 2 jobs?"), "{}", it.screen());
    it.press("x");
    assert!(!it.effects.iter().any(|effect| matches!(effect, Effect::Act(_))), "any other key is a no");
    it.press("cy");
    let Some(Effect::Act(action)) = it.effects.last() else { panic!("{:?}", it.effects) };
    let jobs = vec![id(3), id(2)];
    assert_eq!(*action, Action { kind: ActionKind::Cancel { hard: false }, jobs });
    let (kind, refused) = (action.kind, vec!["forbidden: no".to_owned()]);
    it.send(Message::ActionFinished(ActionOutcome { kind, done: vec![id(3)], refused }));
    assert!(it.screen().contains("1 asked to stop, 1 refused: forbidden: no"), "{}", it.screen());
    assert!(!it.screen().contains("marked"));
}

#[test]
fn any_key_works_on_any_page_of_any_size() {
    let views = VIEWS.map(|(view, _)| view);
    for size in [(0, 0), (1, 1), (2, 3), (7, 2), (9, 40), (40, 10), (80, 24), (300, 100)] {
        for view in views {
            let mut it = driven(view, "", size);
            for mut answer in [map_of("pattern"), map_of("engine"), map_of("so1")] {
                answer["stats"]["queues"] = json!([{ "name": "default", "ready": 3 }]);
                answer["jobs"] = jobs(&[(2, "queued"), (1, "failed")])["jobs"].take();
                answer["dead_letters"] = json!([{ "job_id": id(1), "reason_code": "x" }]);
                answer["workers"] = json!([{ "name": "w1", "holds": [] }]);
                answer["events"] = json!([{ "id": "1", "job_id": id(1), "ts": "2026-11-16T12:30:45.000Z" }]);
                answer["lines"] = json!([{ "n": 1, "text": "line" }]);
                answer["job"] = job(1, "failed");
                answer["explain"] = json!({ "job_id": id(1), "state": "failed", "phase": "final" });
                for key in "↓↑⇟⇞Ggj k→←[]acyrnnp?\x1b/x\n:q\x1b\t\nelh\x1b\x1b".chars() {
                    it.answer(answer.clone()).press(&key.to_string());
                    it.screen();
                }
            }
        }
    }
}

#[test]
fn no_color_removes_all_colours() {
    let mut it = driven(View::Jobs, "", (80, 10));
    it.answer(jobs(&[(2, "running"), (1, "failed")])).press("j");
    let colours = |colours| -> HashSet<Color> {
        it.buffer(colours).content().iter().flat_map(|cell| [cell.fg, cell.bg]).collect()
    };
    assert_eq!(colours(Colours { shown: false }), HashSet::from([Color::Reset]));
    assert!(colours(Colours { shown: true }).len() > 3);
}

/// Runs itself again in a terminal.
#[test]
fn a_panic_restores_the_terminal() {
    const INSIDE: &str = "TENURE_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        let mut screen = Screen::take().unwrap();
        let it = driven(View::Jobs, "", (80, 24));
        screen.terminal.draw(|frame| view::draw(frame, &it.top, Colours { shown: true })).unwrap();
        panic!("a panic, on purpose");
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "--nocapture", "top::tests::a_panic_restores_the_terminal"])
        .env(INSIDE, "1")
        .env("RUST_BACKTRACE", "0");
    let terminal = terminal::Terminal::start(&command, (80, 24));
    terminal.wait_for("a panic, on purpose");
    assert_eq!(terminal.wait_for_exit().code(), Some(101));
}
