//! Which text format a scraper gets, by its header `Accept`.

use http::{HeaderMap, header};

/// A text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus' text format 0.0.4, for every caller that does not prefer the other.
    Classic,
    /// `OpenMetrics` 1.0.
    OpenMetrics,
}

impl Format {
    /// The classic format unless `OpenMetrics` is requested by name and not ranked below it.
    pub(crate) fn wanted(headers: &HeaderMap) -> Self {
        let (mut open, mut classic) = (0.0, 0.0);
        let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
        for range in accepted.flat_map(|accept| accept.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default();
            let weight = parts.find_map(|part| part.strip_prefix("q="));
            let weight: f64 = weight.map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0));
            if kind.eq_ignore_ascii_case("application/openmetrics-text") {
                open = weight.max(open);
            } else if kind.eq_ignore_ascii_case("text/plain") {
                classic = weight.max(classic);
            }
        }
        if open > 0.0 && open >= classic { Self::OpenMetrics } else { Self::Classic }
    }

    /// The `Content-Type`.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_accept_selects_the_format() {
        use Format::{Classic, OpenMetrics};
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,\
                          text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (accept, format) in [
            ("", Classic),
            ("*/*", Classic),
            ("text/html, */*", Classic),
            ("text/plain", Classic),
            (prometheus, OpenMetrics),
            ("application/openmetrics-text", OpenMetrics),
            ("Application/OpenMetrics-Text; charset=utf-8; q=0.7, text/plain; q=0.7", OpenMetrics),
            ("application/openmetrics-text;q=0.2, text/plain;q=0.8", Classic),
            ("application/openmetrics-text;q=0", Classic),
        ] {
            let headers: HeaderMap = [(header::ACCEPT, accept.parse().unwrap())].into_iter().collect();
            assert_eq!(Format::wanted(&headers), format, "{accept}");
        }
        assert_eq!(Format::wanted(&HeaderMap::new()), Classic);
    }
}
