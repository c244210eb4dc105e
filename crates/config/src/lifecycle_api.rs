//! The lifecycle APIs among a set of lifecycles, and whether two of them share a path.

use tenure_core::lifecycle::{Api, Lifecycle};

/// Paths below a mount that are calls and not job ids: no other API can be mounted there.
const RESERVED: [&str; 3] = ["", "/batch", "/actions"];

/// The newest version of each lifecycle that has an API.
pub fn lifecycle_apis(lifecycles: &[Lifecycle]) -> Vec<(&Lifecycle, &Api)> {
    let is_newest = |one: &Lifecycle| {
        lifecycles.iter().all(|other| other.name != one.name || other.version <= one.version)
    };
    let newest = lifecycles.iter().filter(|lifecycle| is_newest(lifecycle));
    newest.filter_map(|lifecycle| Some((lifecycle, lifecycle.api.as_ref()?))).collect()
}

/// The first lifecycle whose API is mounted on paths of an earlier one, and a message about it.
pub fn mount_conflict(lifecycles: &[Lifecycle]) -> Option<(&Lifecycle, String)> {
    let covers = |of: &str, mount: &str| mount.strip_prefix(of).is_some_and(|rest| RESERVED.contains(&rest));
    let apis = lifecycle_apis(lifecycles);
    apis.iter().enumerate().find_map(|(index, (lifecycle, api))| {
        let conflicts = |(_, other): &&(&Lifecycle, &Api)| {
            covers(&other.mount, &api.mount) || covers(&api.mount, &other.mount)
        };
        let (first, other) = apis[..index].iter().find(conflicts)?;
        let message = format!(
            "the API of lifecycle {} cannot be mounted at {}: lifecycle {} is mounted at {}",
            lifecycle.name, api.mount, first.name, other.mount
        );
        Some((*lifecycle, message))
    })
}
