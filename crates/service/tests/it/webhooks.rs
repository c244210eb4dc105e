//! The events around the position of a webhook.

use tenure_core::id::Position;
use tenure_core::time::Timestamp;
use tenure_core::webhook::{EventFilter, Secret, Webhook};
use tenure_service::webhooks::Deliveries;
use tenure_store::{MemoryStore, Store};

use crate::watched_store::WatchedStore;
use crate::world::{create, service};

fn a_webhook(position: u64) -> Webhook {
    Webhook {
        id: "hook".into(),
        url: "http://127.0.0.1:1/".to_owned(),
        secret: Secret("secret".to_owned()),
        filter: EventFilter::default(),
        created_at: Timestamp(0),
        created_by: "operator:ann".into(),
        position: Position(position),
        failures: 0,
        holder: None,
        due_at: None,
        disabled_at: None,
        last_status: None,
        last_error: None,
    }
}

#[tokio::test]
async fn events_around_a_position_are_found_by_reading_few_at_once() {
    let store = WatchedStore::new(MemoryStore::with_manual_clock(Timestamp(1_800_000_000_000)));
    let service = service(store.clone().into()).await;
    create(&service, 900).await;
    let whole = Store::from(store.clone()).events(Position(0), 2000).await.unwrap();
    let positions: Vec<u64> = whole.iter().map(|entry| entry.position.0).collect();
    let end = positions[positions.len() - 1];
    for middle in [0, 10, 640, end - 3, end] {
        store.events_max();
        let found = Deliveries::of(&service, &a_webhook(middle), 20).await.unwrap();
        let of = |entries: &[tenure_store::JournalEntry]| -> Vec<u64> {
            entries.iter().map(|entry| entry.position.0).collect()
        };
        let sent: Vec<u64> = positions.iter().rev().copied().filter(|it| *it <= middle).take(20).collect();
        let next: Vec<u64> = positions.iter().copied().filter(|it| *it > middle).take(20).collect();
        assert_eq!((of(&found.sent), of(&found.next)), (sent, next), "at {middle}");
        assert_eq!((found.behind, found.is_cut), (end - middle, middle > 20), "at {middle}");
        assert!((1..=50).contains(&store.events_max()), "at {middle}");
    }
}
