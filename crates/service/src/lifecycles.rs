//! The lifecycle of a name or of a job.

use tenure_core::lifecycle::Lifecycle;

use crate::prelude::*;

/// The version in force.
pub fn newest(service: &Service, name: &str) -> Result<Arc<Lifecycle>> {
    service
        .runtime()
        .catalog()
        .newest(name)
        .cloned()
        .ok_or_else(|| Problem::not_found("lifecycle", name.escape_debug()))
}

/// The rules that a job lives under.
pub async fn of_job(service: &Service, job: &Job) -> Result<Arc<Lifecycle>> {
    let found = service.runtime().lifecycle(&job.spec.lifecycle).await;
    found.ok_or_else(|| {
        Problem::new(
            ProblemCode::Internal,
            format!("lifecycle {} is not loaded on this node", job.spec.lifecycle.name),
        )
    })
}
