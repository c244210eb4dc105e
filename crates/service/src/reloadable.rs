//! [`Reloadable`]: a value that a reload of the configuration replaces.

use std::sync::{Arc, PoisonError, RwLock};

/// Readers get the value as it was when they asked for it.
#[derive(Debug, Default)]
pub struct Reloadable<T>(RwLock<Arc<T>>);

impl<T> Reloadable<T> {
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }
}

impl<T> From<T> for Reloadable<T> {
    fn from(value: T) -> Self {
        Self(RwLock::new(Arc::new(value)))
    }
}
