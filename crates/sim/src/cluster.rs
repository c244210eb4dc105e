//! The cluster of a run: nodes that crash and restart, connections to the store that fail, a disk that fails, a clock that
//! jumps. One store, one thread, virtual time; all randomness comes from the seed.
//!
//! The memory store cannot notice that no node reaches it, so the cluster reports outages to it, as the nodes' heartbeats
//! do for the databases.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_runtime::{Options, Runtime};
use tenure_store::{Backend as _, Fault as StoreFault, MemoryStore};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::Tally;
use crate::auditor::Auditor;
use crate::fault_plan::{Fault, FaultPlan};
use crate::faulty_store::FaultyStore;
use crate::fixtures;
use crate::planted_bugs::Bug;
use crate::prelude::*;
use crate::ready;
use crate::rng::Rng;
use crate::trace::Trace;

const NODES: usize = 2;
/// A store does not notice a shorter outage.
const OUTAGE_MS_MIN: u128 = 1000;

#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) store: MemoryStore,
    pub(crate) trace: Rc<Trace>,
    pub(crate) auditor: RefCell<Auditor>,
    pub(crate) tally: RefCell<Tally>,
    pub(crate) plan: FaultPlan,
    pub(crate) bug: Option<Bug>,
    /// Notified at the first violation.
    pub(crate) failed: Notify,
    /// Jobs that users know.
    pub(crate) known: RefCell<Vec<JobId>>,
    /// Objects of assets that exist, by storage path.
    pub(crate) objects: RefCell<BTreeSet<String>>,
    pub(crate) nodes: Vec<Node>,
    faults_ended: Cell<bool>,
    outage: Cell<Option<Outage>>,
    stable_since: Cell<Instant>,
    rng: Arc<Mutex<Rng>>,
}

/// Time in which no node reaches the store.
#[derive(Clone, Copy, Debug)]
struct Outage {
    since: Instant,
    /// The store's time when it began.
    store_time: Timestamp,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    store: FaultyStore,
    is_up: Cell<bool>,
    running: RefCell<Option<RunningNode>>,
    down_ms: Cell<u64>,
}

/// A node between a start and a crash.
#[derive(Clone, Debug)]
pub(crate) struct RunningNode {
    pub(crate) runtime: Runtime,
    pub(crate) crash: Arc<CrashSignal>,
}

/// Signals the crash of a node. Wakes waiters in order of arrival: a `watch` would wake them in an order that does not
/// depend on the seed.
#[derive(Debug, Default)]
pub(crate) struct CrashSignal {
    crashed: AtomicBool,
    outcome_unknown: AtomicBool,
    notify: Notify,
}

impl CrashSignal {
    fn send(&self) {
        self.crashed.store(true, Ordering::Relaxed);
        self.notify.notify_waiters();
    }

    pub(crate) async fn wait(&self) {
        let mut notified = pin!(self.notify.notified());
        // Subscribes before it reads the flag, so that no signal is missed.
        notified.as_mut().enable();
        if !self.crashed.load(Ordering::Relaxed) {
            notified.await;
        }
    }
}

impl Cluster {
    pub(crate) fn new(rng: &mut Rng, bug: Option<Bug>) -> Self {
        let store = MemoryStore::with_tokio_clock(Timestamp(1_800_000_000_000));
        let trace = Rc::new(Trace::new());
        let auditor = Auditor::new(store.clone().into(), Rc::clone(&trace));
        let node = |number: usize| Node {
            name: format!("node {number}"),
            store: FaultyStore::new(store.clone(), bug),
            is_up: Cell::new(false),
            running: RefCell::new(None),
            down_ms: Cell::new(200),
        };
        Self {
            nodes: (1..=NODES).map(node).collect(),
            auditor: RefCell::new(auditor),
            tally: RefCell::default(),
            plan: FaultPlan::draw(rng),
            bug,
            failed: Notify::new(),
            known: RefCell::default(),
            objects: RefCell::default(),
            faults_ended: Cell::new(false),
            outage: Cell::new(None),
            stable_since: Cell::new(Instant::now()),
            rng: Arc::new(Mutex::new(rng.fork())),
            store,
            trace,
        }
    }

    pub(crate) fn faults_ended(&self) -> bool {
        self.faults_ended.get()
    }

    pub(crate) fn end_faults(&self) {
        self.trace.record(None, "faults end");
        self.faults_ended.set(true);
        self.nodes.iter().for_each(|node| node.store.set_disconnected(false));
        self.update_outage();
        self.audit(Auditor::note_end_of_faults);
    }

    /// The store's time; it stands still during an outage.
    pub(crate) fn now(&self) -> Timestamp {
        match self.outage.get() {
            Some(outage) => outage.store_time,
            None => ready(self.store.now()).map(|now| now.at).expect("the memory store knows the time"),
        }
    }

    /// Runs a check of the auditor, and ends the run if it found a violation.
    pub(crate) fn audit<T>(&self, check: impl FnOnce(&mut Auditor) -> T) -> T {
        let now = self.now();
        let mut auditor = self.auditor.borrow_mut();
        auditor.set_now(now);
        let checked = check(&mut auditor);
        if auditor.has_violations() {
            self.failed.notify_one();
        }
        checked
    }

    /// Checks the clocks of all jobs periodically.
    pub(crate) async fn audit_clocks(self: Rc<Self>) {
        loop {
            sleep(Duration::from_millis(500)).await;
            if self.outage.get().is_none() {
                let stable = self.stable_since.get().elapsed();
                self.audit(|auditor| {
                    auditor.read();
                    auditor.check_clocks(stable);
                    auditor.check_objects(&self.objects.borrow());
                });
            }
        }
    }

    /// Runs a node, and restarts it after each crash.
    pub(crate) async fn run_node(self: Rc<Self>, index: usize) {
        let node = &self.nodes[index];
        loop {
            // Before the start: an outage is counted before any command is accepted.
            node.is_up.set(true);
            self.update_outage();
            let crash = Arc::new(CrashSignal::default());
            let (store, definitions) = (node.store.clone(), fixtures::definitions().clone());
            match Runtime::start(store, definitions, self.options(&crash)).await {
                Ok(runtime) => {
                    self.trace.record(None, format!("{} runs", node.name));
                    *node.running.borrow_mut() = Some(RunningNode { runtime, crash: Arc::clone(&crash) });
                    crash.wait().await;
                    node.running.borrow_mut().take();
                    let unknown = crash.outcome_unknown.load(Ordering::Relaxed);
                    let how = if unknown { "crashes: outcome unknown" } else { "is down" };
                    self.trace.record(None, format!("{} {how}", node.name));
                    self.tally.borrow_mut().crashes += 1;
                }
                Err(error) => self.trace.record(None, format!("{} cannot start: {error}", node.name)),
            }
            node.is_up.set(false);
            self.update_outage();
            let down_ms = if self.faults_ended() { 100 } else { node.down_ms.replace(300) };
            sleep(Duration::from_millis(down_ms)).await;
        }
    }

    fn options(&self, crash: &Arc<CrashSignal>) -> Options {
        let (rng, crash) = (Arc::clone(&self.rng), Arc::clone(crash));
        let draw = move || {
            let mut rng = rng.lock().expect("no thread panics with this lock");
            (u128::from(rng.next()) << 64) | u128::from(rng.next())
        };
        // A process exits when a commit's outcome is unknown; here the node crashes, and its callers get no answer.
        let on_unknown_outcome = move |_: &_| {
            crash.outcome_unknown.store(true, Ordering::Relaxed);
            crash.send();
        };
        let (random, on_unknown_outcome) = (Arc::new(draw), Arc::new(on_unknown_outcome));
        Options { random, on_unknown_outcome, ..Options::default() }
    }

    /// Begins or ends an outage, by whether any node reaches the store.
    fn update_outage(&self) {
        let reached = self.nodes.iter().any(|node| node.is_up.get() && !node.store.is_disconnected());
        match (self.outage.get(), reached) {
            (None, false) => {
                let store_time = self.now();
                self.audit(Auditor::read);
                self.outage.set(Some(Outage { since: Instant::now(), store_time }));
            }
            (Some(outage), true) => {
                let elapsed = outage.since.elapsed().as_millis();
                self.outage.set(None);
                self.stable_since.set(Instant::now());
                if elapsed > OUTAGE_MS_MIN {
                    let span = Millis(elapsed as u64);
                    self.store.jump(outage.store_time);
                    self.store.outage(span);
                    self.audit(|auditor| auditor.note_outage(span));
                    let what = format!("no node reached the store for {span}: all clocks stood still");
                    self.trace.record(None, what);
                }
            }
            (None, true) | (Some(_), false) => {}
        }
    }

    pub(crate) async fn inject_faults(self: Rc<Self>, mut rng: Rng) {
        while !self.faults_ended() {
            sleep(Duration::from_millis(rng.between(200, self.plan.gap_ms_max))).await;
            if self.faults_ended() {
                return;
            }
            let fault = rng.weighted(&self.plan.faults);
            self.inject(fault, &mut rng).await;
        }
    }

    async fn inject(&self, fault: Fault, rng: &mut Rng) {
        let one = rng.between(0, NODES as u64 - 1) as usize;
        let longest_ms = rng.pick(&[900, 4000, 12_000]);
        let span = Duration::from_millis(rng.between(100, longest_ms));
        if fault != Fault::None {
            self.tally.borrow_mut().faults += 1;
        }
        match fault {
            Fault::None => {}
            Fault::Crash => self.kill(one, span),
            Fault::CrashAll => (0..NODES).for_each(|index| self.kill(index, span)),
            Fault::Stop => self.stop(one).await,
            Fault::Disconnect => self.disconnect(&self.nodes[one..=one], span).await,
            Fault::DisconnectAll => self.disconnect(&self.nodes, span).await,
            Fault::BeforeCommit => self.fail_commit(StoreFault::BeforeCommit, "fails"),
            Fault::AfterCommit => self.fail_commit(StoreFault::AfterCommit, "succeeds without an answer"),
            Fault::DiskFull => self.fail_commit(StoreFault::Full, "finds the disk full"),
            Fault::ClockBack => self.jump_clock(-(rng.between(1, 4000) as i64)),
            Fault::ClockAhead => self.jump_clock(rng.between(1, 20_000) as i64),
        }
    }

    fn kill(&self, index: usize, down: Duration) {
        let node = &self.nodes[index];
        node.down_ms.set(down.as_millis() as u64);
        if let Some(running) = node.running.borrow().as_ref() {
            self.trace.record(None, format!("{} is killed for {} ms", node.name, down.as_millis()));
            running.crash.send();
        }
    }

    /// Shuts a node down cleanly: it accepts no more commands and answers those that wait.
    async fn stop(&self, index: usize) {
        let running = self.nodes[index].running.borrow().clone();
        if let Some(running) = running {
            self.trace.record(None, format!("{} is stopped", self.nodes[index].name));
            running.runtime.stop().await;
            running.crash.send();
        }
    }

    async fn disconnect(&self, nodes: &[Node], span: Duration) {
        let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        let names = names.join(", ");
        self.trace.record(None, format!("disconnected from the store for {} ms: {names}", span.as_millis()));
        for node in nodes {
            node.store.set_disconnected(true);
        }
        self.update_outage();
        sleep(span).await;
        for node in nodes {
            node.store.set_disconnected(false);
        }
        self.update_outage();
        self.trace.record(None, format!("connected: {names}"));
    }

    fn fail_commit(&self, fault: StoreFault, how: &str) {
        self.trace.record(None, format!("the next commit {how}"));
        self.stable_since.set(Instant::now());
        self.store.inject(fault);
    }

    fn jump_clock(&self, by_ms: i64) {
        if self.outage.get().is_some() {
            return;
        }
        self.trace.record(None, format!("the clock jumps by {by_ms} ms"));
        self.audit(Auditor::read);
        self.store.jump(Timestamp(self.now().0 + by_ms));
        self.stable_since.set(Instant::now());
    }
}

impl Node {
    pub(crate) fn running(&self) -> Option<RunningNode> {
        self.running.borrow().clone()
    }
}
