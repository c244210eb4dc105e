//! Reads for those who watch.

use std::sync::Arc;

use tenure_core::api_key::ApiKey;
use tenure_core::id::Name;
use tenure_core::job::Job;
use tenure_core::time::Timestamp;
use tenure_core::worker::WorkerSeen;

use super::Node;
use crate::{Gauges, StoreError};

fn later<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable("this comes with the next migration".to_owned()))
}

impl Node {
    pub(super) async fn gauges(&self) -> Result<Gauges, StoreError> {
        later()
    }
    pub(super) async fn leased(&self, _: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        later()
    }
    pub(super) async fn finished(&self, _: Timestamp, _: usize) -> Result<Vec<Arc<Job>>, StoreError> {
        later()
    }
    pub(super) async fn api_keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        later()
    }
    pub(super) async fn workers(&self) -> Result<Vec<WorkerSeen>, StoreError> {
        later()
    }
    pub(super) async fn worker(&self, _: Name) -> Result<Option<WorkerSeen>, StoreError> {
        later()
    }
}
