//! Commands of a program: lines such as `progress 40 half way`, `result {"n": 1}` and `asset png out.png`.

use serde_json::Value;
use tenure_core::limits::EVENT_BYTES_MAX;

use super::lines::{Line, RESULT};

/// What a line is for.
#[derive(Debug, PartialEq)]
pub(super) enum LineKind<'l> {
    Progress(u8, &'l str),
    Result(Result<Value, String>),
    Asset {
        asset_type: &'l str,
        file: &'l str,
    },
    Log,
    /// Written to the descriptor for commands, and not a command.
    Invalid,
    /// The rest of a command that is too long.
    Rest,
}

/// What a line is for. A line of the output that is not a command belongs to the log.
pub(super) fn kind_of(line: &Line) -> LineKind<'_> {
    let Some(prefix) = line.source.command_prefix() else { return LineKind::Log };
    let other = match (prefix, line.is_first) {
        ("", true) => LineKind::Invalid,
        ("", false) => LineKind::Rest,
        _ => LineKind::Log,
    };
    match line.text.strip_prefix(prefix) {
        Some(command) if line.is_first => parse(command, line.is_last).unwrap_or(other),
        _ => other,
    }
}

/// `None` if it is not a command, or is longer than one may be.
fn parse(command: &str, is_whole: bool) -> Option<LineKind<'_>> {
    if let Some(json) = command.strip_prefix(RESULT) {
        let too_long = || Err(format!("it is longer than {EVENT_BYTES_MAX} bytes"));
        let read = || serde_json::from_str(json).map_err(|error| error.to_string());
        return Some(LineKind::Result(if is_whole { read() } else { too_long() }));
    }
    if !is_whole {
        return None;
    }
    if let Some(asset) = command.strip_prefix("asset ") {
        let (asset_type, file) = asset.trim().split_once(' ')?;
        return Some(LineKind::Asset { asset_type, file: file.trim() });
    }
    let rest = command.strip_prefix("progress ")?.trim();
    let (percent, message) = rest.split_once(' ').unwrap_or((rest, ""));
    let percent: f64 = percent.trim_end_matches('%').parse().ok()?;
    (0.0..=100.0).contains(&percent).then(|| LineKind::Progress(percent as u8, message.trim()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::lines::LineSource;
    use super::*;

    fn line(source: LineSource, text: &str) -> Line {
        Line { source, text: text.to_owned(), is_first: true, is_last: true }
    }

    #[test]
    fn commands_are_recognized() {
        let command = |text: &str| line(LineSource::Commands, text);
        assert_eq!(kind_of(&command("progress 40 half way ")), LineKind::Progress(40, "half way"));
        assert_eq!(kind_of(&command("progress 12.5%")), LineKind::Progress(12, ""));
        assert_eq!(kind_of(&command("result {\"n\": 1}")), LineKind::Result(Ok(json!({ "n": 1 }))));
        assert_eq!(
            kind_of(&command("asset png out/a b.png ")),
            LineKind::Asset { asset_type: "png", file: "out/a b.png" }
        );
        assert!(matches!(kind_of(&command("result {n")), LineKind::Result(Err(_))));
        for text in [
            "progress 101",
            "progress",
            "progress NaN",
            "::progress 4",
            " progress 4",
            "result",
            "asset png",
            "",
        ] {
            assert_eq!(kind_of(&command(text)), LineKind::Invalid, "{text}");
        }
    }

    #[test]
    fn output_has_commands_only_if_that_is_enabled_and_stderr_never() {
        for text in ["::progress 40", "::result 1", "::asset text /etc/passwd"] {
            assert_eq!(kind_of(&line(LineSource::Stdout, text)), LineKind::Log, "{text}");
            assert_eq!(kind_of(&line(LineSource::Stderr, text)), LineKind::Log, "{text}");
            assert_ne!(kind_of(&line(LineSource::StdoutWithCommands, text)), LineKind::Log, "{text}");
        }
        for text in ["progress 40", "::progress lots", " ::progress 4", "::other"] {
            assert_eq!(kind_of(&line(LineSource::StdoutWithCommands, text)), LineKind::Log, "{text}");
        }
    }

    #[test]
    fn a_part_of_a_line_is_not_a_command() {
        for (source, prefix, begin, rest) in [
            (LineSource::Commands, "", LineKind::Invalid, LineKind::Rest),
            (LineSource::StdoutWithCommands, "::", LineKind::Log, LineKind::Log),
        ] {
            let asset = line(source, &format!("{prefix}asset text file"));
            let result = line(source, &format!("{prefix}result 1"));
            assert_eq!(kind_of(&Line { is_last: false, ..asset }), begin);
            assert_eq!(kind_of(&Line { is_first: false, ..line(source, &result.text) }), rest);
            assert!(matches!(kind_of(&Line { is_last: false, ..result }), LineKind::Result(Err(_))));
        }
    }
}
