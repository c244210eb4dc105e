//! The limits that apply to a user: creations per second, and the buckets of resources whose key is the user.

use tenure_core::id::{Name, UserId};
use tenure_core::limits::RESOURCES_MAX;
use tenure_store::{BucketReport, ResourceFilter, ResourceReport};

use crate::prelude::*;
use crate::resources;

/// The expression of a resource's key that names the user.
const BY_USER: &str = "user_id";

/// `None` for callers that may not see the system.
pub(super) async fn of_user(service: &Service, caller: &Caller, user: &UserId) -> Result<Option<Markup>> {
    if !caller.is(Right::ReadSystem) {
        return Ok(None);
    }
    let all = ResourceFilter { sums_only: true, limit: RESOURCES_MAX, ..ResourceFilter::default() };
    let declared = service.store().resources(all).await?;
    let mut buckets = Vec::new();
    for resource in declared.into_iter().filter(|it| it.key.as_deref() == Some(BY_USER)) {
        let key = Some(Name::from(user.as_str()));
        let filter = ResourceFilter { name: Some(resource.name), key, limit: 1, ..ResourceFilter::default() };
        buckets.extend(service.store().resources(filter).await?);
    }
    let creations = service.limits().creations_per_second;
    Ok(Some(html! {
        p {
            @match creations {
                Some(limit) => { "New jobs: at most " (count(limit.into())) " per second on each node." }
                None => { "New jobs: no limit per second." }
            }
        }
        @if !buckets.is_empty() {
            (styled_table("rows", "Resources with a bucket for each user", &["Resource", "Limits", "#Running", "#Unfinished", "Status"], &html! {
                @for resource in &buckets { (row(resource, user)) }
            }))
        }
    }))
}

fn row(resource: &ResourceReport, user: &UserId) -> Markup {
    let of_user = |bucket: &&BucketReport| bucket.key.as_ref().is_some_and(|key| *key == user.as_str());
    let bucket = resource.buckets.iter().find(of_user);
    html! {
        tr {
            th scope="row" { a href="/ui/resources" { (resource.name) } }
            td data-label="Limits" { (resources::limits(&resource.limits)) }
            td.number data-label="Running" { (count(bucket.map_or(0, |bucket| bucket.running))) }
            td.number data-label="Unfinished" { (count(bucket.map_or(0, |bucket| bucket.waiting))) }
            td {
                @if let Some(pause) = bucket.and_then(|bucket| bucket.paused.as_ref()).or(resource.paused.as_ref()) { (resources::paused(pause)) }
                @else { span.quiet { "active" } }
            }
        }
    }
}
