//! Followers of the journal see every event, whenever they begin.

use std::time::Duration;

use tenure_core::id::Position;

use crate::fixture::{a_job, claimed, created, report, runtime, succeed};

#[tokio::test(start_paused = true)]
async fn a_follower_sees_every_event_once_and_in_order_whether_it_catches_up_or_follows_live() {
    let (runtime, _) = runtime().await;
    for _ in 0..600 {
        created(&runtime, a_job("work")).await;
    }
    let mut follower = runtime.follow(Position(0));
    let reader = tokio::spawn(async move {
        let mut seen = Vec::new();
        while seen.len() < 1200 {
            seen.extend(follower.next().await.unwrap());
        }
        seen
    });
    for _ in 0..200 {
        let job = claimed(&runtime, "w1", Duration::ZERO).await.remove(0);
        report(&runtime, &job, succeed()).await.unwrap();
    }
    let seen = reader.await.unwrap();
    let positions: Vec<u64> = seen.iter().map(|entry| entry.position.0).collect();
    assert_eq!(positions, (1..=1200).collect::<Vec<u64>>());
    for entry in &seen {
        let earlier = seen
            .iter()
            .filter(|other| other.event.job_id == entry.event.job_id && other.position < entry.position);
        assert_eq!(entry.event.seq, Some(earlier.count() as u32 + 1), "a job's events are in its order");
    }
}

#[tokio::test(start_paused = true)]
async fn a_follower_continues_at_its_position_after_an_outage_of_the_store() {
    let (runtime, store) = runtime().await;
    created(&runtime, a_job("work")).await;
    let mut follower = runtime.follow(Position(0));
    assert_eq!(follower.next().await.unwrap().len(), 1);
    store.set_away(true);
    assert!(follower.next().await.is_err());
    store.set_away(false);
    created(&runtime, a_job("work")).await;
    let page = follower.next().await.unwrap();
    assert_eq!((page.len(), page[0].position), (1, Position(2)));
}
