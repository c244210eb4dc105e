//! Spans, sent to a collector by OTLP over HTTP.
//!
//! The client that sends them blocks, and lives in a thread of its own. It must not be made, used or dropped by a
//! thread of an async runtime; so each of these happens in a thread made for it.

use std::thread;
use std::time::Duration;

use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use reqwest::Url;

const SERVICE: &str = "tenure";
const SEND_MAX: Duration = Duration::from_secs(5);
const SHUTDOWN_MAX: Duration = Duration::from_secs(5);

/// Begins to collect spans for this endpoint. Whether anybody listens there is seen when they are sent.
pub(super) fn open(endpoint: &str) -> Result<SdkTracerProvider, String> {
    let url = spans_url(endpoint)?;
    // Reqwest has no provider of cryptography of its own. If there is one already, it stays.
    let _already = rustls::crypto::ring::default_provider().install_default();
    apart(move || {
        let exporter = SpanExporter::builder().with_http().with_endpoint(url).with_timeout(SEND_MAX).build();
        let exporter = exporter.map_err(|error| format!("otel.endpoint: {error}"))?;
        let resource = Resource::builder().with_service_name(SERVICE).build();
        Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
    })
}

/// Sends what is left, and stops.
pub(super) fn shut_down(provider: SdkTracerProvider) -> Result<(), String> {
    apart(move || provider.shutdown_with_timeout(SHUTDOWN_MAX).map_err(|error| error.to_string()))
}

fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    let thread = thread::Builder::new().name("telemetry".into()).spawn(work);
    let thread = thread.map_err(|error| error.to_string())?;
    thread.join().map_err(|_| "the thread for traces panicked".to_string())?
}

/// An endpoint is a base, as everywhere in OTLP: spans go to `v1/traces` below it.
fn spans_url(endpoint: &str) -> Result<String, String> {
    let url = Url::parse(endpoint).map_err(|error| format!("otel.endpoint {endpoint:?}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("otel.endpoint {endpoint:?}: only http and https"));
    }
    let base = url.as_str().trim_end_matches('/');
    Ok(if base.ends_with("/v1/traces") { base.to_string() } else { format!("{base}/v1/traces") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_go_below_the_endpoint() {
        for (endpoint, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
            ("https://otel.example/team", "https://otel.example/team/v1/traces"),
            ("https://otel.example/v1/traces", "https://otel.example/v1/traces"),
        ] {
            assert_eq!(spans_url(endpoint).as_deref(), Ok(url));
        }
        for endpoint in ["", "127.0.0.1:4318", "grpc://127.0.0.1:4317", "no url"] {
            let flaw = spans_url(endpoint).unwrap_err();
            assert!(flaw.starts_with("otel.endpoint"), "{flaw}");
        }
    }
}
