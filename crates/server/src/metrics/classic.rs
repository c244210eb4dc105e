//! Prometheus' classic text format, from `OpenMetrics` text. They differ in the names of counters and of information in the
//! comments, in the names of types, and in the last line.

use std::fmt::Write as _;

/// The same samples in the classic format.
pub(super) fn of_open_metrics(text: &str) -> String {
    let mut classic = String::with_capacity(text.len() + text.len() / 50);
    let mut help = "";
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest;
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let about = help.strip_prefix(name).unwrap_or_default();
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            writeln!(classic, "# HELP {name}{suffix}{about}\n# TYPE {name}{suffix} {kind}")
                .expect("writing to a string succeeds");
        } else if !line.starts_with('#') {
            classic.push_str(line);
            classic.push('\n');
        }
    }
    classic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_information_are_named_like_their_samples() {
        let text = "# HELP a_claims Jobs claimed.\n# TYPE a_claims counter\na_claims_total{type=\"# x\"} 1\n\
                    # HELP a_wait_seconds Wait.\n# TYPE a_wait_seconds histogram\n# UNIT a_wait_seconds seconds\n\
                    a_wait_seconds_count 2\n# HELP a_build Build.\n# TYPE a_build info\na_build_info{v=\"1\"} 1\n# EOF\n";
        let classic = "# HELP a_claims_total Jobs claimed.\n# TYPE a_claims_total counter\na_claims_total{type=\"# x\"} 1\n\
                       # HELP a_wait_seconds Wait.\n# TYPE a_wait_seconds histogram\na_wait_seconds_count 2\n\
                       # HELP a_build_info Build.\n# TYPE a_build_info gauge\na_build_info{v=\"1\"} 1\n";
        assert_eq!(of_open_metrics(text), classic);
    }
}
