//! Pages that stay true: what several visitors look at is drawn once for all of them, at most once a second, and each is
//! sent the parts that changed since he was last sent something.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use axum::response::Response;
use maud::{Markup, PreEscaped};
use serde_json::{Value, json};
use tenure_core::api_key::Role;
use tenure_core::id::Name;
use tenure_service::caller::Caller;
use tenure_service::sse;
use tokio::sync::watch;

use crate::session::Visitor;
use crate::{Dashboard, Page};

/// A page is drawn again no sooner than this.
const REDRAWN_AFTER: Duration = Duration::from_secs(1);
/// And no sooner than this many times what drawing it took, so that it never takes more than a small share of the machine.
const REST: u32 = 100;
/// But no later than this: a page that says that it is live must not be old because the machine was once slow.
const REDRAWN_BY: Duration = Duration::from_secs(5);

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
type Drawing = watch::Sender<Option<Arc<Drawn>>>;

/// A page as it was drawn.
struct Drawn {
    /// The how manieth drawing it is.
    number: u64,
    parts: Parts,
    /// What is different from the drawing before, as it is sent: most who look need nothing else.
    news: String,
}

/// Every page that somebody looks at now.
#[derive(Default)]
pub(crate) struct Stage(Mutex<HashMap<Seat, Weak<Drawing>>>);

impl Stage {
    /// The drawing of a page; the first who asks for it has it drawn until the last has gone.
    fn watch<P: Page>(
        &self,
        app: &Dashboard,
        visitor: &Visitor,
        page: P,
    ) -> watch::Receiver<Option<Arc<Drawn>>> {
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
async fn draw<P: Page>(app: Dashboard, caller: Caller, page: P, drawing: Arc<Drawing>) {
    let mut last: Option<Arc<Drawn>> = None;
    loop {
        let began = Instant::now();
        let mut parts = Parts::default();
        if page.draw(&app, &caller, &mut parts).await.is_err() {
            return;
        }
        if last.as_ref().is_none_or(|last| last.parts != parts) {
            let number = last.as_ref().map_or(0, |last| last.number + 1);
            let news = news(last.as_deref(), &parts);
            last = Some(Arc::new(Drawn { number, parts, news }));
            drawing.send_replace(last.clone());
        }
        tokio::select! {
            () = tokio::time::sleep((began.elapsed() * REST).clamp(REDRAWN_AFTER, REDRAWN_BY)) => {}
            () = drawing.closed() => return,
            () = app.drained() => return,
        }
    }
}

/// What is different in these parts, as an event: each with its id, and `null` for one that is there no more.
fn news(last: Option<&Drawn>, parts: &Parts) -> String {
    let mut gone: HashMap<&str, &str> = HashMap::new();
    gone.extend(
        last.into_iter().flat_map(|last| &last.parts.0).map(|(id, content)| (id.as_str(), content.as_str())),
    );
    let mut changes = Vec::new();
    for (id, content) in &parts.0 {
        if gone.remove(id.as_str()) != Some(content) {
            changes.push(json!([id, content]));
        }
    }
    changes.extend(gone.into_keys().map(|id| json!([id, null])));
    format!("event: parts\ndata: {}\n\n", Value::Array(changes))
}

/// The stream of a page: at first all its parts, then those that changed.
pub(crate) fn stream<P: Page>(app: &Dashboard, visitor: Visitor, page: P) -> Response {
    let mut drawn = app.stage().watch(app, &visitor, page);
    // What was drawn before he came is news to him.
    drawn.mark_changed();
    sse::stream(Looking { app: app.clone(), caller: visitor.caller, drawn, last: None }, Looking::next)
}

struct Looking {
    app: Dashboard,
    caller: Caller,
    drawn: watch::Receiver<Option<Arc<Drawn>>>,
    /// What he was sent last.
    last: Option<Arc<Drawn>>,
}

impl Looking {
    async fn next(mut self) -> Option<(String, Self)> {
        loop {
            let changed = tokio::time::timeout(sse::KEEP_ALIVE, self.drawn.changed()).await;
            if matches!(changed, Ok(Err(_))) || !self.app.may_go_on(&self.caller).await {
                return None;
            }
            if changed.is_err() {
                return Some((sse::comment(), self));
            }
            let drawn = self.drawn.borrow_and_update().clone();
            let Some(drawn) = drawn else { continue };
            let text = match &self.last {
                Some(last) if last.number + 1 == drawn.number => drawn.news.clone(),
                last => news(last.as_deref(), &drawn.parts),
            };
            self.last = Some(drawn);
            return Some((text, self));
        }
    }
}
