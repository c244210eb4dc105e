//! The world of a run: nodes that crash and come back, ways to the store that are cut, a disk that fails, a clock that
//! jumps. One store, one thread, virtual time; chance only from the seed.
//!
//! The store in memory does not notice by itself that nobody reached it, so the world tells it, as the nodes' beats tell
//! the databases: time in which no node reached the store is an outage.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_core::id::JobId;
use tenure_core::time::{Millis, Timestamp};
use tenure_runtime::{Options, Runtime};
use tenure_store::{Fault, MemoryStore, Store};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::Tally;
use crate::auditor::Auditor;
use crate::cast;
use crate::chance::Chance;
use crate::climate::{Climate, Mishap};
use crate::link::Link;
use crate::ready;
use crate::sabotage::Bug;
use crate::story::Story;

/// How many nodes share the store.
const NODES: usize = 2;
/// An outage shorter than this is not noticed by any store.
const NOTICED_MS: u128 = 1000;

/// Everything there is in a run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) store: MemoryStore,
    pub(crate) story: Rc<Story>,
    pub(crate) auditor: RefCell<Auditor>,
    pub(crate) tally: RefCell<Tally>,
    pub(crate) climate: Climate,
    pub(crate) bug: Option<Bug>,
    /// Rung when the auditor has found something.
    pub(crate) failed: Notify,
    /// Jobs that callers know of.
    pub(crate) known: RefCell<Vec<JobId>>,
    pub(crate) nodes: Vec<Node>,
    healed: Cell<bool>,
    unreachable: Cell<Option<(Instant, Timestamp)>>,
    steady_since: Cell<Instant>,
    chance: Arc<Mutex<Chance>>,
}

/// A process of Tenure.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    link: Link,
    is_up: Cell<bool>,
    running: RefCell<Option<Running>>,
    down_ms: Cell<u64>,
}

/// One life of a node.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) runtime: Runtime<Link>,
    pub(crate) death: Arc<Death>,
}

/// The end of a node's life. Whoever waits for it is woken in order of arrival; a `watch` would wake by chance that is
/// not the seed's.
#[derive(Debug, Default)]
pub(crate) struct Death {
    came: AtomicBool,
    in_doubt: AtomicBool,
    bell: Notify,
}

impl Death {
    fn come(&self) {
        self.came.store(true, Ordering::Relaxed);
        self.bell.notify_waiters();
    }

    /// Resolves when it has come.
    pub(crate) async fn wait(&self) {
        let mut rung = pin!(self.bell.notified());
        // Listens before it looks, so that it cannot miss the bell.
        rung.as_mut().enable();
        if !self.came.load(Ordering::Relaxed) {
            rung.await;
        }
    }
}

impl World {
    pub(crate) fn new(chance: &mut Chance, bug: Option<Bug>) -> Self {
        let store = MemoryStore::with_tokio_clock(Timestamp(1_800_000_000_000));
        let story = Rc::new(Story::new());
        let auditor = Auditor::new(store.clone(), Rc::clone(&story));
        let node = |number: usize| Node {
            name: format!("node {number}"),
            link: Link::new(store.clone(), bug),
            is_up: Cell::new(false),
            running: RefCell::new(None),
            down_ms: Cell::new(200),
        };
        Self {
            nodes: (1..=NODES).map(node).collect(),
            auditor: RefCell::new(auditor),
            tally: RefCell::default(),
            climate: Climate::drawn(chance),
            bug,
            failed: Notify::new(),
            known: RefCell::default(),
            healed: Cell::new(false),
            unreachable: Cell::new(None),
            steady_since: Cell::new(Instant::now()),
            chance: Arc::new(Mutex::new(chance.fork())),
            store,
            story,
        }
    }

    /// Whether the faults are over.
    pub(crate) fn is_healed(&self) -> bool {
        self.healed.get()
    }

    /// Ends all faults.
    pub(crate) fn heal(&self) {
        self.story.tell(None, "the faults end".to_owned());
        self.healed.set(true);
        self.nodes.iter().for_each(|node| node.link.set_cut(false));
        self.note_reach();
        self.audit(Auditor::note_healed);
    }

    /// The store's time; it stands still while nobody reaches the store.
    pub(crate) fn now(&self) -> Timestamp {
        match self.unreachable.get() {
            Some((_, at)) => at,
            None => ready(self.store.now()).map(|now| now.at).expect("a store in memory knows the time"),
        }
    }

    /// Lets the auditor look, and ends the run if it found something.
    pub(crate) fn audit(&self, look: impl FnOnce(&mut Auditor)) {
        let now = self.now();
        let mut auditor = self.auditor.borrow_mut();
        auditor.set_now(now);
        look(&mut auditor);
        if auditor.has_found() {
            self.failed.notify_one();
        }
    }

    /// Looks at the clocks of all jobs now and then.
    pub(crate) async fn keep_auditing(self: Rc<Self>) {
        loop {
            sleep(Duration::from_millis(500)).await;
            if self.unreachable.get().is_none() {
                let steady = self.steady_since.get().elapsed();
                self.audit(|auditor| {
                    auditor.read();
                    auditor.check_clocks(steady);
                });
            }
        }
    }

    /// Keeps a node running: starts it, and starts it again a while after it died.
    pub(crate) async fn keep_running(self: Rc<Self>, index: usize) {
        let node = &self.nodes[index];
        loop {
            // Reached before it starts: an outage is counted before any command is taken.
            node.is_up.set(true);
            self.note_reach();
            let death = Arc::new(Death::default());
            let started =
                Runtime::start(node.link.clone(), cast::definitions().clone(), self.options(&death)).await;
            match started {
                Ok(runtime) => {
                    self.story.tell(None, format!("{} runs", node.name));
                    *node.running.borrow_mut() = Some(Running { runtime, death: Arc::clone(&death) });
                    death.wait().await;
                    node.running.borrow_mut().take();
                    let how =
                        if death.in_doubt.load(Ordering::Relaxed) { "dies in doubt" } else { "is dead" };
                    self.story.tell(None, format!("{} {how}", node.name));
                    self.tally.borrow_mut().crashes += 1;
                }
                Err(error) => self.story.tell(None, format!("{} cannot start: {error}", node.name)),
            }
            node.is_up.set(false);
            self.note_reach();
            let down_ms = if self.is_healed() { 100 } else { node.down_ms.replace(300) };
            sleep(Duration::from_millis(down_ms)).await;
        }
    }

    fn options(&self, death: &Arc<Death>) -> Options {
        let (chance, death) = (Arc::clone(&self.chance), Arc::clone(death));
        let draw = move || {
            let mut chance = chance.lock().expect("nobody panics while drawing");
            (u128::from(chance.draw()) << 64) | u128::from(chance.draw())
        };
        // In doubt a process ends; here the node dies, and whoever waits for its answers gets none.
        let on_doubt = move |_: &_| {
            death.in_doubt.store(true, Ordering::Relaxed);
            death.come();
        };
        Options { chance: Arc::new(draw), on_doubt: Arc::new(on_doubt), ..Options::default() }
    }

    /// Notes whether any node reaches the store, and counts the outage when one does again.
    fn note_reach(&self) {
        let reached = self.nodes.iter().any(|node| node.is_up.get() && !node.link.is_cut());
        match (self.unreachable.get(), reached) {
            (None, false) => {
                let at = self.now();
                self.audit(Auditor::read);
                self.unreachable.set(Some((Instant::now(), at)));
            }
            (Some((since, at)), true) => {
                let away = since.elapsed().as_millis();
                self.unreachable.set(None);
                self.steady_since.set(Instant::now());
                if away > NOTICED_MS {
                    let span = Millis(away as u64);
                    self.store.jump(at);
                    self.store.outage(span);
                    self.audit(|auditor| auditor.note_outage(span));
                    self.story
                        .tell(None, format!("nobody reached the store for {span}: all clocks stood still"));
                }
            }
            (None, true) | (Some(_), false) => {}
        }
    }

    /// Lets things go wrong until the faults end.
    pub(crate) async fn keep_failing(self: Rc<Self>, mut chance: Chance) {
        while !self.is_healed() {
            sleep(Duration::from_millis(chance.between(200, self.climate.calm_ms))).await;
            if self.is_healed() {
                return;
            }
            let mishap = chance.weighed(&self.climate.mishaps);
            self.happen(mishap, &mut chance).await;
        }
    }

    async fn happen(&self, mishap: Mishap, chance: &mut Chance) {
        let one = chance.between(0, NODES as u64 - 1) as usize;
        let longest_ms = chance.pick(&[900, 4000, 12_000]);
        let span = Duration::from_millis(chance.between(100, longest_ms));
        if mishap != Mishap::Nothing {
            self.tally.borrow_mut().faults += 1;
        }
        match mishap {
            Mishap::Nothing => {}
            Mishap::Crash => self.kill(one, span),
            Mishap::CrashAll => (0..NODES).for_each(|index| self.kill(index, span)),
            Mishap::Stop => self.stop(one).await,
            Mishap::Cut => self.cut(&[one], span).await,
            Mishap::CutAll => self.cut(&[0, 1], span).await,
            Mishap::BeforeCommit => self.order(Fault::BeforeCommit, "the next commit will not happen"),
            Mishap::AfterCommit => self.order(Fault::AfterCommit, "the next commit will happen, unsaid"),
            Mishap::Full => self.order(Fault::Full, "the disk is full for the next commit"),
            Mishap::JumpBack => self.jump(-(chance.between(1, 4000) as i64)),
            Mishap::JumpAhead => self.jump(chance.between(1, 20_000) as i64),
        }
    }

    fn kill(&self, index: usize, down: Duration) {
        let node = &self.nodes[index];
        node.down_ms.set(down.as_millis() as u64);
        if let Some(running) = node.running.borrow().as_ref() {
            self.story.tell(None, format!("{} is killed, for {} ms", node.name, down.as_millis()));
            running.death.come();
        }
    }

    /// A clean stop: takes no more commands, answers those that wait.
    async fn stop(&self, index: usize) {
        let running = self.nodes[index].running.borrow().clone();
        if let Some(running) = running {
            self.story.tell(None, format!("{} is stopped", self.nodes[index].name));
            running.runtime.stop().await;
            running.death.come();
        }
    }

    async fn cut(&self, which: &[usize], span: Duration) {
        let names: Vec<&str> = which.iter().map(|index| self.nodes[*index].name.as_str()).collect();
        self.story
            .tell(None, format!("cut from the store for {} ms: {}", span.as_millis(), names.join(", ")));
        for index in which {
            self.nodes[*index].link.set_cut(true);
        }
        self.note_reach();
        sleep(span).await;
        for index in which {
            self.nodes[*index].link.set_cut(false);
        }
        self.note_reach();
        self.story.tell(None, format!("mended: {}", names.join(", ")));
    }

    fn order(&self, fault: Fault, said: &str) {
        self.story.tell(None, said.to_owned());
        self.steady_since.set(Instant::now());
        self.store.inject(fault);
    }

    fn jump(&self, by_ms: i64) {
        if self.unreachable.get().is_some() {
            return;
        }
        self.story.tell(None, format!("the machine's clock jumps by {by_ms} ms"));
        self.audit(Auditor::read);
        self.store.jump(Timestamp(self.now().0 + by_ms));
        self.steady_since.set(Instant::now());
    }
}

impl Node {
    /// Its present life, if it has one.
    pub(crate) fn running(&self) -> Option<Running> {
        self.running.borrow().clone()
    }
}
