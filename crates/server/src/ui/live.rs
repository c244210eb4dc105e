//! Pages that stay true: what several visitors look at is drawn once for all of them, at most twice a second, and each is
//! sent the parts that changed since he was last sent something.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use axum::response::Response;
use maud::{Markup, PreEscaped};
use serde_json::{Value, json};
use tenure_core::api_key::Role;
use tenure_core::id::Name;
use tokio::sync::watch;

use crate::app::App;
use crate::caller::Caller;
use crate::sse;
use crate::ui::Page;
use crate::ui::session::Visitor;

/// A page is drawn again no sooner than this.
const REDRAWN_AFTER: Duration = Duration::from_millis(500);
/// And no sooner than this many times what drawing it took, so that it never takes more than a small share of the machine.
const REST: u32 = 20;

/// What may change while somebody looks, in the order in which it was drawn: each with the id of the element that holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts(Vec<(String, String)>);

impl Parts {
    /// Keeps `content` true in the element with this id, whose whole content it is.
    pub(crate) fn keep(&mut self, id: impl Into<String>, content: Markup) -> Markup {
        self.0.push((id.into(), content.0.clone()));
        content
    }

    /// The same for what was drawn elsewhere.
    pub(crate) fn push(&mut self, id: String, content: String) {
        self.0.push((id, content));
    }

    /// The same for a plain text.
    pub(crate) fn text(&mut self, id: impl Into<String>, text: &str) -> Markup {
        let mut escaped = String::new();
        maud::Render::render_to(text, &mut escaped);
        self.keep(id, PreEscaped(escaped))
    }
}

/// Who may share a drawing: who asks for the same and may see the same. A producer sees what is his user's, a worker what
/// came to it by its credential.
type Seat = (String, Role, Option<Name>);
type Drawing = watch::Sender<Option<Arc<Parts>>>;

/// Every page that somebody looks at now.
#[derive(Default)]
pub(crate) struct Stage(Mutex<HashMap<Seat, Weak<Drawing>>>);

impl Stage {
    /// The drawing of a page; the first who asks for it has it drawn until the last has gone.
    fn watch<P: Page>(&self, app: &App, visitor: &Visitor, page: P) -> watch::Receiver<Option<Arc<Parts>>> {
        let caller = &visitor.caller;
        let whose = if caller.role == Role::Worker { Some(&caller.credential) } else { caller.user.as_ref() };
        let seat = (visitor.address.clone(), caller.role, whose.cloned());
        let mut shown = self.0.lock().expect("nobody panics while looking for a page");
        shown.retain(|_, drawing| drawing.strong_count() > 0);
        if let Some(drawing) = shown.get(&seat).and_then(Weak::upgrade) {
            return drawing.subscribe();
        }
        let (drawing, receiver) = watch::channel(None);
        let drawing = Arc::new(drawing);
        shown.insert(seat, Arc::downgrade(&drawing));
        tokio::spawn(draw(app.clone(), visitor.caller.clone(), page, drawing));
        receiver
    }
}

/// Draws a page again and again, for as long as somebody looks at it and it can be drawn.
async fn draw<P: Page>(app: App, caller: Caller, page: P, drawing: Arc<Drawing>) {
    loop {
        let began = Instant::now();
        let mut parts = Parts::default();
        if page.draw(&app, &caller, &mut parts).await.is_err() {
            return;
        }
        drawing.send_if_modified(|last| {
            let is_new = last.as_deref() != Some(&parts);
            if is_new {
                *last = Some(Arc::new(parts));
            }
            is_new
        });
        tokio::select! {
            () = tokio::time::sleep(REDRAWN_AFTER.max(began.elapsed() * REST)) => {}
            () = drawing.closed() => return,
            () = app.drained() => return,
        }
    }
}

/// The stream of a page: at first all its parts, then those that changed; `null` for one that is there no more.
pub(crate) fn stream<P: Page>(app: &App, visitor: Visitor, page: P) -> Response {
    let mut drawn = app.stage().watch(app, &visitor, page);
    // What was drawn before he came is news to him.
    drawn.mark_changed();
    let looking = Looking { app: app.clone(), caller: visitor.caller, drawn, sent: HashMap::new() };
    sse::stream(looking, Looking::next)
}

struct Looking {
    app: App,
    caller: Caller,
    drawn: watch::Receiver<Option<Arc<Parts>>>,
    sent: HashMap<String, String>,
}

impl Looking {
    async fn next(mut self) -> Option<(String, Self)> {
        loop {
            let changed = tokio::time::timeout(sse::KEEP_ALIVE, self.drawn.changed()).await;
            if matches!(changed, Ok(Err(_))) || !self.app.may_go_on(&self.caller).await {
                return None;
            }
            let drawn = self.drawn.borrow_and_update().clone();
            let changes = drawn.map(|parts| self.changes(&parts)).unwrap_or_default();
            if !changes.is_empty() {
                return Some((format!("event: parts\ndata: {}\n\n", Value::Array(changes)), self));
            }
            if changed.is_err() {
                return Some((sse::comment(), self));
            }
        }
    }

    /// What is different from what was sent.
    fn changes(&mut self, parts: &Parts) -> Vec<Value> {
        let mut gone = std::mem::take(&mut self.sent);
        let mut changes = Vec::new();
        for (id, content) in &parts.0 {
            if gone.remove(id).as_ref() != Some(content) {
                changes.push(json!([id, content]));
            }
            self.sent.insert(id.clone(), content.clone());
        }
        changes.extend(gone.into_keys().map(|id| json!([id, null])));
        changes
    }
}
