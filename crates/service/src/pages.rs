//! The pages that a server serves beside its API. The dashboard makes them; the server does not know how.

use axum::Router;
use axum::response::Response;
use http::HeaderMap;

use crate::problem::Problem;

/// Renders a problem as a page, if the request's headers accept one. The last argument is the request's address.
pub type ProblemPage = fn(&Problem, &HeaderMap, &str) -> Option<Response>;

pub struct Pages {
    pub router: Router,
    pub problem: ProblemPage,
}

impl Pages {
    /// A server without pages.
    pub fn none() -> Self {
        Self { router: Router::new(), problem: |_, _, _| None }
    }

    /// Whether a path belongs to the pages.
    pub fn include(path: &str) -> bool {
        path == "/ui" || path.starts_with("/ui/")
    }
}
