//! The order of commands and what is refused, in virtual time.

use super::*;

const LIMITS: QueueLimits =
    QueueLimits { commands: 1000, bytes: 1_000_000, batch_commands: 80, batch_bytes: 100_000 };
const MS: Duration = Duration::from_millis(1);

#[test]
fn creations_are_refused_when_they_wait_long_and_one_batch_cannot_take_them() {
    let load = |creations, waited| QueueLoad {
        commands: creations,
        creations,
        bytes: creations * 10,
        creation_bytes: creations * 10,
        creations_waited: waited,
    };
    let accepts = |load: QueueLoad, urgency| load.accepts(urgency, 10, &LIMITS);
    assert!(accepts(load(500, 400 * MS), Urgency::Creation), "they do not wait long");
    assert!(accepts(load(79, 9000 * MS), Urgency::Creation), "the next batch takes them all");
    assert!(!accepts(load(80, 501 * MS), Urgency::Creation));
    let large = QueueLoad { creation_bytes: 100_000, ..load(2, 501 * MS) };
    assert!(!accepts(large, Urgency::Creation), "a batch cannot take this many bytes");
    for urgency in [Urgency::Running, Urgency::Claim] {
        assert!(accepts(load(500, 9000 * MS), urgency), "{urgency:?}");
    }
}

#[test]
fn the_last_fifth_of_the_queue_is_for_running_work() {
    let full = |commands, bytes| QueueLoad { commands, bytes, ..QueueLoad::default() };
    for urgency in [Urgency::Claim, Urgency::Creation] {
        assert!(full(799, 0).accepts(urgency, 10, &LIMITS));
        assert!(!full(800, 0).accepts(urgency, 10, &LIMITS));
        assert!(!full(1, 800_000).accepts(urgency, 10, &LIMITS));
    }
    assert!(full(999, 0).accepts(Urgency::Running, 10, &LIMITS));
    assert!(!full(1000, 0).accepts(Urgency::Running, 10, &LIMITS));
    assert!(!full(1, 1_000_000).accepts(Urgency::Running, 10, &LIMITS));
    assert!(full(0, 0).accepts(Urgency::Creation, 9_000_000, &LIMITS), "an empty queue accepts any command");
}

#[test]
fn a_batch_has_running_work_first_and_a_share_for_creations() {
    let mut order = CommandOrder::new(LIMITS);
    let now = Instant::now();
    for n in 0..200 {
        order.put(Urgency::Creation, 10, (Urgency::Creation, n), now);
        order.put(Urgency::Running, 10, (Urgency::Running, n), now);
    }
    let batch = order.take_batch();
    let running: Vec<_> = (0..70).map(|n| (Urgency::Running, n)).collect();
    assert_eq!(batch[..70], running, "in the order of their arrival");
    assert_eq!(batch[70..], (0..10).map(|n| (Urgency::Creation, n)).collect::<Vec<_>>());
    let mut rest = 0;
    while order.len() > 0 {
        rest += order.take_batch().len();
    }
    assert_eq!((rest, order.bytes, order.creation_bytes), (320, 0, 0));
}

#[test]
fn a_batch_is_limited_in_bytes_and_never_empty() {
    let mut order = CommandOrder::new(LIMITS);
    for (n, bytes) in [500_000, 60_000, 30_000, 20_000].into_iter().enumerate() {
        order.put(Urgency::Creation, bytes, n, Instant::now());
    }
    assert_eq!(order.take_batch(), [0]);
    assert_eq!(order.take_batch(), [1, 2]);
    assert_eq!(order.take_batch(), [3]);
    assert!(order.take_batch().is_empty());
}

/// A node whose commits take 5 ms and 0.1 ms for each command, so that 80 commands take 13 ms, gets more than twice the
/// creations that it can commit, and heartbeats.
#[test]
fn overload_by_creations_does_not_delay_heartbeats() {
    #[derive(Clone, Copy)]
    struct Arrival(Urgency, Instant);
    let (began, mut order) = (Instant::now(), CommandOrder::new(LIMITS));
    let batch_time = |commands: usize| 5 * MS + Duration::from_micros(100) * commands as u32;
    let (mut now, mut step) = (began, 0_u32);
    let (mut heartbeats, mut created, mut refused) = (Vec::new(), Vec::new(), 0);
    while now < began + Duration::from_secs(20) {
        // One arrival each 66 µs: about 15,000 a second, of which one in twenty is a heartbeat.
        let arrives = |step: u32| began + Duration::from_micros(66) * step;
        let batch: Vec<Arrival> = order.take_batch();
        let end = now + batch_time(batch.len());
        for Arrival(urgency, since) in batch {
            let waits = if urgency == Urgency::Creation { &mut created } else { &mut heartbeats };
            waits.push(end - since);
        }
        while arrives(step) < end {
            let urgency = if step % 20 == 0 { Urgency::Running } else { Urgency::Creation };
            if order.accepts(urgency, 300, arrives(step)) {
                order.put(urgency, 300, Arrival(urgency, arrives(step)), arrives(step));
            } else {
                assert_eq!(urgency, Urgency::Creation, "a heartbeat is refused");
                refused += 1;
            }
            step += 1;
        }
        now = end;
    }
    let longest = |waits: &[Duration]| waits.iter().max().copied().unwrap();
    assert!(longest(&heartbeats) <= 2 * batch_time(80), "{:?}", longest(&heartbeats));
    assert!(longest(&created) <= Duration::from_millis(700), "{:?}", longest(&created));
    assert!(refused > created.len(), "more than half of the creations are refused");
    let committed = heartbeats.len() + created.len();
    let capacity = 80.0 * 20.0 / batch_time(80).as_secs_f64();
    assert!(committed as f64 >= 0.95 * capacity, "{committed} of {capacity}");
}
