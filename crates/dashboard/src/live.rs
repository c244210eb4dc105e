//! Live pages: each page is rendered at most once a second for all its viewers, and each viewer is sent the parts that
//! changed since the last message.

use std::collections::HashMap;
use std::sync::{Mutex, Weak};
use std::time::{Duration, Instant};

use axum::response::Response;
use maud::PreEscaped;
use serde_json::{Value, json};
use tenure_core::api_key::Scopes;
use tenure_core::id::Name;
use tenure_service::caller::Roles;
use tenure_service::sse;
use tokio::sync::watch;

use crate::layout;
use crate::prelude::*;

const RENDER_INTERVAL_MIN: Duration = Duration::from_secs(1);
/// The interval is also at least this many times the duration of a rendering, so that pages take a small share of the CPU.
const INTERVAL_COSTS: u32 = 100;
/// Upper bound of the interval, so that a page whose rendering is slow does not stay outdated.
const RENDER_INTERVAL_MAX: Duration = Duration::from_mins(1);
/// What a rendering counts at most until a second one has confirmed it: a busy machine may make any rendering slow once.
const UNCONFIRMED_COST_MAX: Duration = Duration::from_millis(50);

/// The parts of a page that may change, in rendering order: element id and content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts(Vec<(String, String)>);

impl Parts {
    /// Keeps the element with this id up to date; `content` is its whole content.
    pub(crate) fn keep(&mut self, id: impl Into<String>, content: Markup) -> Markup {
        self.0.push((id.into(), content.0.clone()));
        content
    }

    pub(crate) fn text(&mut self, id: impl Into<String>, text: &str) -> Markup {
        let mut escaped = String::new();
        maud::Render::render_to(text, &mut escaped);
        self.keep(id, PreEscaped(escaped))
    }
}

/// Cache key: the same URL and the same permissions. Producers see the jobs of their user, workers the jobs of their
/// credential, and all only those in their scopes.
#[derive(PartialEq, Eq, Hash)]
struct PageKey {
    address: String,
    roles: Roles,
    owner: Option<Name>,
    scopes: Arc<Scopes>,
}

impl PageKey {
    fn new(visitor: &Visitor) -> Self {
        let Caller { roles, user, credential, scopes, .. } = &visitor.caller;
        let owner = if roles.has(Role::Worker) {
            Some(credential.clone())
        } else {
            user.as_ref().map(|user| Name::from(user.as_str()))
        };
        Self { address: visitor.address.clone(), roles: *roles, owner, scopes: Arc::clone(scopes) }
    }
}

type Renderings = watch::Sender<Option<Arc<Rendered>>>;
type RenderingReceiver = watch::Receiver<Option<Arc<Rendered>>>;

struct Rendered {
    /// Sequence number of this rendering.
    number: u64,
    parts: Parts,
    /// The changes since the rendering before, as they are sent. Most viewers need nothing else.
    changes: String,
}

/// Every page that has a viewer.
#[derive(Default)]
pub(crate) struct LivePages(Mutex<HashMap<PageKey, Weak<Renderings>>>);

impl LivePages {
    /// Subscribes to a page. The first viewer starts its rendering, which ends with the last viewer.
    fn watch<P: Page>(&self, visitor: &Visitor, page: P) -> RenderingReceiver {
        let key = PageKey::new(visitor);
        let mut pages = self.0.lock().expect("no panic while a page is looked up");
        pages.retain(|_, renderings| renderings.strong_count() > 0);
        if let Some(renderings) = pages.get(&key).and_then(Weak::upgrade) {
            return renderings.subscribe();
        }
        let (renderings, receiver) = watch::channel(None);
        let renderings = Arc::new(renderings);
        pages.insert(key, Arc::downgrade(&renderings));
        let service = Service::clone(&visitor.dashboard);
        tokio::spawn(render(service, visitor.caller.clone(), page, renderings));
        receiver
    }
}

/// Renders a page repeatedly, until it has no viewer, fails, or the server drains.
async fn render<P: Page>(service: Service, caller: Caller, page: P, renderings: Arc<Renderings>) {
    let mut last: Option<Arc<Rendered>> = None;
    let mut took_before = UNCONFIRMED_COST_MAX;
    loop {
        let began = Instant::now();
        let mut parts = Parts::default();
        let badges = async |parts: &mut Parts| layout::badges(&service, &caller, parts).await;
        if page.draw(&service, &caller, &mut parts).await.is_err() || badges(&mut parts).await.is_err() {
            return;
        }
        if last.as_ref().is_none_or(|last| last.parts != parts) {
            let number = last.as_ref().map_or(0, |last| last.number + 1);
            let changes = changes(last.as_deref(), &parts);
            last = Some(Arc::new(Rendered { number, parts, changes }));
            renderings.send_replace(last.clone());
        }
        let took = began.elapsed();
        let interval = interval(took, took_before);
        took_before = took;
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = renderings.closed() => return,
            () = service.drained() => return,
        }
    }
}

/// The time until the next rendering, by how long the last two took.
fn interval(took: Duration, took_before: Duration) -> Duration {
    (took.min(took_before) * INTERVAL_COSTS).clamp(RENDER_INTERVAL_MIN, RENDER_INTERVAL_MAX)
}

/// The changed parts as an event: `[id, content]` each, with `null` for a part that is gone.
fn changes(last: Option<&Rendered>, parts: &Parts) -> String {
    let last = last.into_iter().flat_map(|last| &last.parts.0);
    let mut gone: HashMap<&str, &str> = last.map(|(id, content)| (id.as_str(), content.as_str())).collect();
    let mut changes = Vec::new();
    for (id, content) in &parts.0 {
        if gone.remove(id.as_str()) != Some(content) {
            changes.push(json!([id, content]));
        }
    }
    changes.extend(gone.into_keys().map(|id| json!([id, null])));
    format!("event: parts\ndata: {}\n\n", Value::Array(changes))
}

/// The stream of a page: first all its parts, then those that changed.
pub(crate) fn stream<P: Page>(visitor: Visitor, page: P) -> Response {
    let dashboard = &visitor.dashboard;
    let mut renderings = dashboard.live_pages.watch(&visitor, page);
    // A new viewer gets the current rendering at once.
    renderings.mark_changed();
    let viewer =
        Viewer { service: Service::clone(dashboard), caller: visitor.caller, renderings, last: None };
    sse::stream(viewer, Viewer::next)
}

struct Viewer {
    service: Service,
    caller: Caller,
    renderings: RenderingReceiver,
    /// The rendering that was sent last.
    last: Option<Arc<Rendered>>,
}

impl Viewer {
    async fn next(mut self) -> Option<(String, Self)> {
        loop {
            let changed = tokio::select! {
                changed = tokio::time::timeout(sse::KEEP_ALIVE, self.renderings.changed()) => changed,
                () = self.service.must_end(&self.caller) => return None,
            };
            if matches!(changed, Ok(Err(_))) || !self.service.may_continue(&self.caller).await {
                return None;
            }
            if changed.is_err() {
                return Some((sse::comment(), self));
            }
            let rendered = self.renderings.borrow_and_update().clone();
            let Some(rendered) = rendered else { continue };
            let text = match &self.last {
                Some(last) if last.number + 1 == rendered.number => rendered.changes.clone(),
                last => changes(last.as_deref(), &rendered.parts),
            };
            self.last = Some(rendered);
            return Some((text, self));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rendering_takes_a_hundredth_of_the_time() {
        let of =
            |took, before| interval(Duration::from_millis(took), Duration::from_millis(before)).as_millis();
        assert_eq!(of(2, 2), 1000);
        assert_eq!(of(200, 200), 20_000);
        assert_eq!(of(5000, 5000), 60_000);
        assert_eq!(of(5000, 10), 1000, "a rendering that was slow once");
    }
}
