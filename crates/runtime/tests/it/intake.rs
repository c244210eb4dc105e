//! When requests in SQL are read.

use std::time::Duration;

use crate::fixture::{START, pass};
use crate::prelude::*;
use crate::test_store::TestStore;

/// The first page may have to pass the dead rows of hours, if an old snapshot elsewhere keeps them.
#[tokio::test(start_paused = true)]
async fn new_requests_are_read_although_everything_cannot_be_read_again() {
    let (store, _remote) = TestStore::new(MemoryStore::with_tokio_clock(START));
    let store = store.with_intake();
    let runtime = Runtime::start(store.clone(), Definitions::default(), Options::default()).await.unwrap();
    pass(Duration::from_secs(90)).await;
    let pages = store.pages().clone().unwrap();
    let firsts = pages.iter().filter(|is_first| **is_first).count();
    assert_eq!(firsts, 2, "everything is read at the start, and tried again after a minute");
    let tried = pages.iter().rposition(|is_first| *is_first).unwrap();
    assert!(pages.len() > tried + 100, "{} pages after {tried}", pages.len());
    runtime.stop().await;
}
