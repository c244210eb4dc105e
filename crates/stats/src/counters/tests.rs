//! Counting and adding up.

use tenure_core::job::{Category, Class};
use tenure_core::lifecycle::Lifecycle;

use super::*;

const MINUTE: i64 = 60_000;

pub(crate) fn counters() -> Counters {
    let mut catalog = Catalog::default();
    for lifecycle in Lifecycle::built_in() {
        catalog.add_lifecycle(lifecycle.clone());
        if lifecycle.name == "distributed" {
            catalog.add_type(tenure_core::job_type::JobType::following("known", &lifecycle)).unwrap();
        }
    }
    Counters::new(&catalog)
}

fn step(
    job_type: &str,
    (from, trigger, to): (Option<&str>, Trigger, &str),
    phase: Phase,
    at: i64,
) -> Transition {
    Transition {
        job: JobId::new(at as u64, 0),
        at: Timestamp(at),
        lifecycle: "distributed".into(),
        job_type: job_type.into(),
        queue: "default".into(),
        user_id: None,
        trigger,
        from: from.map(Into::into),
        to: to.into(),
        phase,
        error: None,
        is_retry: false,
        waited: None,
        ran: None,
    }
}

pub(crate) fn created(job_type: &str, at: i64) -> Transition {
    step(job_type, (None, Trigger::Create, "queued"), Phase::Ready, at)
}

pub(crate) fn failed(code: &str, at: i64) -> Transition {
    let (code, message) = (code.into(), format!("at {at}").into());
    let error = Failed { code, message, category: Category::Engine, class: Class::Permanent };
    let end = (Some("running"), Trigger::Fail, "failed");
    Transition { error: Some(error), ..step("known", end, Phase::Final(Outcome::Failed), at) }
}

pub(crate) fn committed(transitions: Vec<Transition>) -> Committed {
    Committed { commands: 1, transitions, ..Committed::default() }
}

#[test]
fn undeclared_types_have_their_own_counters_up_to_a_limit() {
    let counters = counters();
    let jobs = vec![created("known", 0), created("x", 0), created("y", MINUTE), created("x", MINUTE)];
    counters.count(&committed(jobs));
    let of = |counted: &Counted, job_type: &str| {
        counted.lifecycles["distributed"].get(job_type).map_or(0, |counts| counts.steps[0].minutes.sum(1))
    };
    let counted = counters.by_minute();
    assert_eq!(["known", "x", "y", "*"].map(|name| of(&counted, name)), [1, 2, 1, 0]);
    counters.count(&committed((0..100).map(|n| created(&format!("t{n}"), 0)).collect()));
    let counted = counters.by_minute();
    assert_eq!(counted.lifecycles["distributed"].len(), 1 + UNDECLARED_TYPES_MAX + 1);
    assert_eq!((of(&counted, "x"), of(&counted, "*")), (2, 100 + 2 - UNDECLARED_TYPES_MAX as u64));
}

#[test]
fn queues_count_what_becomes_ready_and_what_leaves() {
    let counters = counters();
    let claimed = step("known", (Some("queued"), Trigger::Claim, "assigned"), Phase::Held, 10);
    let again = step("known", (Some("running"), Trigger::Release, "queued"), Phase::Ready, 20);
    counters.count(&committed(vec![created("known", 0), created("x", 0), claimed, again, failed("E", 30)]));
    let counted = counters.by_minute();
    let counts = &counted.queues["default"];
    assert_eq!((counts.entered.sum(0), counts.left.sum(0)), (3, 1));
}

#[test]
fn failures_with_different_signatures_are_separate_groups() {
    let counters = counters();
    let failed = |message: &str, user: &str, is_retry| {
        let mut it = failed("E", 0);
        it.error.as_mut().unwrap().message = message.into();
        Transition { user_id: Some(user.into()), is_retry, ..it }
    };
    counters.count(&committed(vec![
        failed("order 1 is gone", "ada", true),
        failed("order 2 is gone", "bob", false),
        failed("no memory", "ada", false),
    ]));
    let counted = counters.by_minute();
    let group = counted.failures.iter().find(|failure| failure.signature == "order # is gone").unwrap();
    assert_eq!((group.minutes.sum(0), group.retried.sum(0), group.users.len()), (2, 1, 2));
    assert_eq!(counted.failures.len(), 2);
}

#[test]
fn finished_jobs_are_counted_by_lifecycle_type_queue_and_state() {
    let counters = counters();
    counters.count(&committed(vec![created("x", 0), failed("E", 0), failed("E", 0)]));
    let key = CountKey::new(&"distributed".into(), &"known".into(), &"default".into(), &"failed".into());
    assert_eq!(counters.finished(), [(key, 2)].into());
}

#[test]
fn failures_are_grouped_and_the_oldest_groups_let_go() {
    let counters = counters();
    let first: Vec<_> = (0..FAILURES_MAX as i64).map(|n| failed(&format!("E{n}"), n)).collect();
    counters.count(&committed(first));
    counters.count(&committed(vec![failed("E0", 500), failed("NEW", 501)]));
    let counted = counters.by_minute();
    let group = |code: &str| counted.failures.iter().find(|failure| failure.code == code);
    assert_eq!(counted.failures.len(), FAILURES_MAX);
    assert!(group("E1").is_none() && group("NEW").is_some());
    let again = group("E0").expect("it came again");
    assert_eq!((again.first, again.last, again.minutes.sum(0)), (0, 500, 2));
    assert_eq!(again.message, "at 500", "the last one speaks");
    assert_eq!(counted.lifecycles["distributed"]["known"].failed.sum(0), FAILURES_MAX as u64 + 2);
}

#[test]
fn what_nodes_counted_adds_up_after_it_was_kept() {
    let (one, two) = (counters(), counters());
    one.count(&committed(vec![created("known", 0), failed("E", 10)]));
    two.count(&committed(vec![created("known", MINUTE), created("x", MINUTE), failed("E", MINUTE)]));
    let kept = serde_json::to_string(&two.by_minute()).unwrap();
    let mut both = one.by_minute();
    both.merge(&serde_json::from_str(&kept).unwrap());
    let known = &both.lifecycles["distributed"]["known"];
    let minutes = |ring: &MinuteRing| ring.until(1, 2).collect::<Vec<_>>();
    let creations = known.steps.iter().find(|step| step.from.is_none()).unwrap();
    assert_eq!((minutes(&creations.minutes), minutes(&known.failed)), (vec![1, 1], vec![1, 1]));
    let failure = &both.failures[0];
    assert_eq!((failure.first, failure.last, failure.minutes.sum(1)), (10, MINUTE, 2));
    assert_eq!(both.lifecycles["distributed"]["x"].steps[0].minutes.sum(1), 1);
}
