//! Repeated `kill -9` under load: everything that was acknowledged is stored, and nothing is incomplete.

use crate::child::{Acknowledged, Process, assert_kept, note};
use crate::fixture::Random;
use crate::stores;

/// The number of kills: `TENURE_TEST_KILLS`, or a default.
fn kills(default: usize) -> usize {
    std::env::var("TENURE_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Kills a child after a random number of acknowledgements. Reports until its end count.
fn kill_in_the_middle(place: &str, random: &mut Random, acknowledged: &mut Acknowledged) {
    let mut child = Process::start("load", place, 4, &[]);
    assert_eq!(child.next(), Some(vec!["open".to_owned()]));
    let enough = random.below(150) + 1;
    let mut count = 0;
    while let Some(words) = child.next() {
        assert_ne!(words[0], "unopened");
        if words[0] == "ack" {
            note(acknowledged, &words);
            count += 1;
        }
        if count == enough {
            child.kill();
        }
    }
    assert!(count >= enough, "the child ended after {count} acknowledgements");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_sqlite_acknowledged_survives_kill_9() {
    let mut random = Random::from_env();
    let folder = stores::a_folder();
    let mut acknowledged = Acknowledged::new();
    for _ in 0..kills(25) {
        kill_in_the_middle(folder.path().to_str().expect("a plain path"), &mut random, &mut acknowledged);
        assert_kept(&stores::open(folder.path()).await, &acknowledged).await;
    }
    assert!(!acknowledged.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_postgres_acknowledged_survives_kill_9_of_the_node() {
    let mut random = Random::from_env();
    let url = stores::a_database().await;
    let store = stores::connect(&url).await;
    let mut acknowledged = Acknowledged::new();
    for _ in 0..kills(10) {
        kill_in_the_middle(&url, &mut random, &mut acknowledged);
        assert_kept(&store, &acknowledged).await;
    }
    assert!(!acknowledged.is_empty());
}
