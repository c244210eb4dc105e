//! Deletes what is promised to the garbage: objects of discarded assets and forgotten jobs, and of uploads that came to
//! nothing. The promise is forgotten after the object is gone, so a node that dies in between leaves it to the next.

use std::time::Duration;

use tenure_core::command::{Asked, Command};
use tenure_core::id::Actor;
use tenure_store::Store as _;

use crate::app::App;
use crate::assets::Contents;

/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Objects that are deleted before the store is told.
const OBJECTS_MAX: usize = 200;

/// For ever: every node looks, and an object that is deleted twice is deleted.
pub(crate) async fn keep_deleting(app: App, contents: Contents) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        while delete_some(&app, &contents).await == OBJECTS_MAX {}
    }
}

/// How many were deleted.
async fn delete_some(app: &App, contents: &Contents) -> usize {
    let due = match app.store().asset_garbage(OBJECTS_MAX).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(%error, "the store did not say which objects are to be deleted");
            return 0;
        }
    };
    let mut deleted = Vec::new();
    for path in due {
        match contents.delete(&path).await {
            Ok(()) => deleted.push(path),
            Err(error) => tracing::warn!(path, %error, "an object could not be deleted"),
        }
    }
    let count = deleted.len();
    if count > 0 {
        tracing::debug!(count, "objects were deleted");
        forget(app, deleted).await;
    }
    count
}

/// Takes promises back that were kept. One that is not taken back is kept again.
pub(crate) async fn forget(app: &App, paths: Vec<String>) {
    let command = Command::ForgetGarbage(paths);
    if let Err(error) = app.runtime().submit(Asked { by: Actor::from("runtime"), key: None, command }).await {
        tracing::warn!(%error, "the store was not told which objects were deleted");
    }
}
