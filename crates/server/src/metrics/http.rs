//! Metrics of HTTP requests by route, method and class of the status.

use std::collections::HashMap;
use std::sync::{OnceLock, RwLock};

use http::{Method, StatusCode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::labels::{Labels, OTHER, owned};
use super::register;
use crate::prelude::*;

/// Other methods share a label.
const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", OTHER];
const STATUSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// Upper bounds in seconds: a claim may wait for minutes.
const BUCKETS: [f64; 11] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 300.0];

/// The route of a request whose handler is not found by the router: an answer has it if the route is known.
#[derive(Clone, Debug)]
pub(crate) struct RouteTemplate(pub(crate) String);

pub(crate) struct HttpMetrics {
    requests: Family<Labels<3>, Counter>,
    durations: Family<Labels<2>, Histogram, fn() -> Histogram>,
    /// A cache of both that needs no labels for lookups.
    routes: RwLock<HashMap<String, Arc<RouteMetrics>>>,
}

#[derive(Default)]
struct RouteMetrics([MethodMetrics; METHODS.len()]);

#[derive(Default)]
struct MethodMetrics {
    duration: OnceLock<Histogram>,
    statuses: [OnceLock<Counter>; STATUSES.len()],
}

impl HttpMetrics {
    pub(super) fn new(to: &mut Registry) -> Self {
        let durations = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let requests = register(to, "http_requests", "HTTP requests answered by this node");
        let help = "From a request to the head of its answer, on this node";
        to.register("http_request_duration_seconds", help, durations.clone());
        Self { requests, durations, routes: RwLock::default() }
    }

    /// Counts an answered request. `route` must be a template, not a path: every route stays in memory.
    pub(crate) fn count(&self, route: Option<&str>, method: &Method, status: StatusCode, took: Duration) {
        let route = route.unwrap_or(OTHER);
        let metrics = self.of_route(route);
        let index = METHODS.iter().position(|known| *known == method.as_str()).unwrap_or(METHODS.len() - 1);
        let class = usize::from(status.as_u16() / 100).clamp(1, STATUSES.len()) - 1;
        let (method, status) = (METHODS[index], STATUSES[class]);
        let of_method = &metrics.0[index];
        let labels = || owned([("route", route), ("method", method), ("status", status)]);
        of_method.statuses[class].get_or_init(|| self.requests.get_or_create_owned(&labels())).inc();
        let labels = || owned([("route", route), ("method", method)]);
        let duration = of_method.duration.get_or_init(|| self.durations.get_or_create_owned(&labels()));
        duration.observe(took.as_secs_f64());
    }

    fn of_route(&self, route: &str) -> Arc<RouteMetrics> {
        if let Some(known) = self.routes.read().expect("the lock is never poisoned").get(route) {
            return Arc::clone(known);
        }
        let mut routes = self.routes.write().expect("the lock is never poisoned");
        Arc::clone(routes.entry(route.to_owned()).or_default())
    }
}
