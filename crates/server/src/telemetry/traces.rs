//! Sends spans to a collector by OTLP over HTTP.
//!
//! The exporter's client blocks, and must not be created, used or dropped on a thread of an async runtime. It therefore
//! runs on its own thread, and is created and dropped on separate ones.

use std::thread;
use std::time::Duration;

use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use reqwest::Url;

const SERVICE: &str = "tenure";
const SEND_TIMEOUT: Duration = Duration::from_secs(5);
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts exporting spans to this endpoint. An unreachable collector is only noticed when they are sent.
pub(super) fn open(endpoint: &str) -> Result<SdkTracerProvider, String> {
    let url = spans_url(endpoint)?;
    // Reqwest needs a default provider; an installed one stays.
    let _already = rustls::crypto::ring::default_provider().install_default();
    on_new_thread(move || {
        let exporter =
            SpanExporter::builder().with_http().with_endpoint(url).with_timeout(SEND_TIMEOUT).build();
        let exporter = exporter.map_err(|error| format!("otel.endpoint: {error}"))?;
        let resource = Resource::builder().with_service_name(SERVICE).build();
        Ok(SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build())
    })
}

/// Sends the remaining spans, and stops.
pub(super) fn shut_down(provider: SdkTracerProvider) -> Result<(), String> {
    on_new_thread(move || provider.shutdown_with_timeout(SHUTDOWN_TIMEOUT).map_err(|error| error.to_string()))
}

fn on_new_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let thread = thread::Builder::new().name("telemetry".into()).spawn(work);
    let thread = thread.map_err(|error| error.to_string())?;
    thread.join().map_err(|_| "the telemetry thread panicked".to_string())?
}

/// By OTLP the endpoint is a base URL, and spans are posted to `v1/traces` below it.
fn spans_url(endpoint: &str) -> Result<String, String> {
    let url = Url::parse(endpoint).map_err(|error| format!("otel.endpoint {endpoint:?}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("otel.endpoint {endpoint:?}: use http or https"));
    }
    let base = url.as_str().trim_end_matches('/');
    Ok(if base.ends_with("/v1/traces") { base.to_string() } else { format!("{base}/v1/traces") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_posted_below_the_endpoint() {
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
