//! Deletes objects that the store lists as garbage: those of discarded assets, deleted jobs and failed uploads. An entry is
//! removed after its object, so if a node dies in between, another deletes the object again.

use tenure_service::assets::Contents;

use crate::prelude::*;

const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Objects deleted before their entries are removed.
const OBJECTS_MAX: usize = 200;

/// Runs on every node until it is aborted; deleting an object twice is harmless.
pub(crate) async fn delete_all(app: App, contents: Contents) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        while delete_some(&app, &contents).await == OBJECTS_MAX {}
    }
}

/// Returns the number of deleted objects.
async fn delete_some(app: &App, contents: &Contents) -> usize {
    let due = match app.store().asset_garbage(OBJECTS_MAX).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(%error, "asset garbage read failed");
            return 0;
        }
    };
    let mut deleted = Vec::new();
    for path in due {
        match contents.delete(&path).await {
            Ok(()) => deleted.push(path),
            Err(error) => tracing::warn!(path, %error, "asset object deletion failed"),
        }
    }
    let count = deleted.len();
    if count > 0 {
        tracing::debug!(count, "asset objects deleted");
        remove_entries(app, deleted).await;
    }
    count
}

/// Removes the entries of deleted objects. If that fails, the objects are deleted again later.
pub(crate) async fn remove_entries(app: &App, paths: Vec<String>) {
    let (by, command) = (CommandOrigin::from("runtime"), Command::ForgetGarbage(paths));
    if let Err(error) = app.runtime().submit(CommandEnvelope { by, key: None, command }).await {
        tracing::warn!(%error, "asset garbage entries not removed");
    }
}
