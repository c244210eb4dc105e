//! Addresses of dashboard pages. The API names them too, in `/api/stats`.

/// A text as a value in a query, a part of a path, or a cookie.
pub use tenure_api::call::escape as encode;
use tenure_stats::snapshot::Subject;

use crate::prelude::*;

/// The page on which a subject can be seen and settled.
pub fn page_of(subject: &Subject) -> String {
    match subject {
        Subject::DeadLetters => "/ui/errors".to_owned(),
        Subject::Errors(job_type) => format!("/ui/errors?type={}", encode(job_type.as_str())),
        Subject::Queues => "/ui/queues".to_owned(),
        Subject::Resources => "/ui/resources".to_owned(),
        Subject::ReadyJobs(job_type) => format!("/ui/jobs?type={}&phase=ready", encode(job_type.as_str())),
        Subject::State { lifecycle, state, job_type } => {
            format!("{}&type={}", jobs_in(lifecycle, state), encode(job_type.as_str()))
        }
        Subject::Workers => "/ui/workers".to_owned(),
        Subject::Schedules => "/ui/schedules".to_owned(),
        Subject::Webhooks => "/ui/webhooks".to_owned(),
        Subject::System => "/ui/system".to_owned(),
    }
}

/// The jobs in a state of a lifecycle.
pub fn jobs_in(lifecycle: &LifecycleName, state: &StateName) -> String {
    format!("/ui/jobs?lifecycle={}&state={}", encode(lifecycle.as_str()), encode(state.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_link_is_escaped() {
        let address = jobs_in(&"a b&ä".into(), &"done".into());
        assert_eq!(address, "/ui/jobs?lifecycle=a%20b%26%C3%A4&state=done");
    }
}
