//! Cases in text files: changes to the valid file, and what is expected of the changed file.
//!
//! ```text
//! -assigned  = { role = "held" }
//! +assigned  = { role = "hold" }
//! 8:22 L1 `hold` is not a role
//! ```
//!
//! Cases are separated by empty lines. `UPDATE_EXPECT=1` rewrites the expected lines.

use expect_test::expect_file;

use super::REVIEW;

/// Declares a test for each name. Its cases are in the file of that name, and `$report` describes a changed file.
macro_rules! cases {
    ($folder:literal, $report:ident: $(fn $name:ident();)+) => {
        $(
            #[test]
            fn $name() {
                crate::cases::check(&format!("{}/{}", $folder, stringify!($name)), $report);
            }
        )+
    };
}

pub(super) fn check(name: &str, report: impl Fn(&str) -> String) {
    let path = format!("{}/tests/lifecycle/cases/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let expected = expect_file![path];
    let file = expected.data();
    assert!(!file.is_empty(), "there is no file for {name}");
    let reported = cases(&file).map(|(change, _)| format!("{change}{}", report(&changed(REVIEW, change))));
    expected.assert_eq(&reported.collect::<Vec<_>>().join("\n"));
}

/// The cases of a file: the lines of the change, and the expected ones.
pub(super) fn cases(file: &str) -> impl Iterator<Item = (&str, &str)> {
    file.split_inclusive("\n\n").map(|case| {
        let changed: usize =
            case.split_inclusive('\n').take_while(|it| it.starts_with(['-', '+'])).map(str::len).sum();
        case.split_at(changed)
    })
}

/// Each run of `-` lines replaced by the run of `+` lines after it. The removed lines must occur once, so that a case
/// breaks what it intends to.
pub(super) fn changed(base: &str, change: &str) -> String {
    let (mut source, mut rest) = (base.to_owned(), change);
    while !rest.is_empty() {
        let (old, added) = run(rest, '-');
        let (new, after) = run(added, '+');
        assert_eq!(source.matches(&old).count(), 1, "`{old}` should occur once");
        (source, rest) = (source.replace(&old, &new), after);
    }
    source
}

/// The lines at the beginning that start with `mark`, without it, and the rest.
fn run(text: &str, mark: char) -> (String, &str) {
    let (mut lines, mut rest) = (String::new(), text);
    while let Some(line) = rest.strip_prefix(mark).and_then(|rest| rest.split_inclusive('\n').next()) {
        lines.push_str(line);
        rest = &rest[mark.len_utf8() + line.len()..];
    }
    (lines, rest)
}
