//! The style sheet, script and icon, embedded in the binary.

use std::sync::LazyLock;

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use sha2::{Digest as _, Sha256};

const STYLE: &str = concat!(include_str!("tenure.css"), include_str!("map.css"));
const SCRIPT: &str = include_str!("tenure.js");
const ICON: &str = include_str!("icon.svg");

/// Digest of the files, in their addresses, so that browsers cache them until they change.
pub(crate) static VERSION: LazyLock<String> = LazyLock::new(|| {
    let digest = Sha256::new().chain_update(STYLE).chain_update(SCRIPT).chain_update(ICON).finalize();
    digest.iter().take(6).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
});

pub(crate) async fn style() -> Response {
    file("text/css; charset=utf-8", STYLE)
}

pub(crate) async fn script() -> Response {
    file("text/javascript; charset=utf-8", SCRIPT)
}

pub(crate) async fn icon() -> Response {
    file("image/svg+xml", ICON)
}

fn file(kind: &'static str, content: &'static str) -> Response {
    let mut response = content.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_and_style_stay_small() {
        let (script, style) = (SCRIPT.len(), STYLE.len());
        assert!(script <= 60_000 && style <= 60_000, "{script} bytes of script, {style} of style");
    }
}
