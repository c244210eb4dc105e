//! Formats numbers, times, ids and states for display.

use maud::{Markup, html};
use tenure_core::id::JobId;
use tenure_core::lifecycle::Phase;
pub(crate) use tenure_core::text::grouped as count;
use tenure_core::time::{Millis, Timestamp};
pub(crate) use tenure_diagram::phase_class as kind;

use crate::icon;

/// `80 ms`, `28 s`, `4 m 12 s`, `3 h 5 m`, `2 d 4 h`.
pub(crate) fn span(Millis(ms): Millis) -> String {
    let two = |big: u64, unit: &str, small: u64, small_unit: &str| match small {
        0 => format!("{big} {unit}"),
        _ => format!("{big} {unit} {small} {small_unit}"),
    };
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..10_000 if ms % 1000 >= 100 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        1000..60_000 => format!("{} s", ms / 1000),
        60_000..3_600_000 => two(ms / 60_000, "m", ms / 1000 % 60, "s"),
        3_600_000..86_400_000 => two(ms / 3_600_000, "h", ms / 60_000 % 60, "m"),
        _ => two(ms / 86_400_000, "d", ms / 3_600_000 % 24, "h"),
    }
}

/// A time, which the script shows as "3 m ago".
pub(crate) fn when(at: Timestamp) -> Markup {
    html! { time datetime=(at) { (at) } }
}

/// A future time, to which the script counts down.
pub(crate) fn until(at: Timestamp) -> Markup {
    html! { time datetime=(at) data-until="" { (at) } }
}

/// A job, as a link.
pub(crate) fn job_link(id: JobId) -> Markup {
    html! { a.id href=(job_address(id)) title=(id) { (short(id)) } }
}

pub(crate) fn job_address(id: JobId) -> String {
    format!("/ui/jobs/{id}")
}

/// Start and end of an id.
pub(crate) fn short(id: JobId) -> String {
    let text = id.to_string();
    format!("{}…{}", &text[..8], &text[32..])
}

/// A state with icon, name and colour. The colour adds no information.
pub(crate) fn state(name: &str, phase: Phase) -> Markup {
    html! { span class=(format!("state {}", kind(phase))) { (icon::phase(phase)) (name) } }
}

/// The content of an empty page: why it is empty, and a command that changes that.
pub(crate) fn nothing(why: &str, command: &str) -> Markup {
    html! { div.nothing { p { (why) } @if !command.is_empty() { p { code { (command) } } } } }
}

/// Why lists of types, and what is derived from types and jobs, are empty on a new server.
pub(crate) const NO_TYPES: (&str, &str) =
    ("No types and no jobs yet. Create a job of any type:", "tenure run hello");

/// A table. A column whose name begins with `#` has numbers. On a small screen each row becomes a block, so that no column is
/// off-screen; there a cell that is not clear without its column has its name in `data-label`.
pub(crate) fn table(caption: &str, columns: &[&str], rows: &Markup) -> Markup {
    styled_table("rows", caption, columns, rows)
}

/// A table with CSS classes. A column without a name has checkboxes that select rows.
pub(crate) fn styled_table(class: &str, caption: &str, columns: &[&str], rows: &Markup) -> Markup {
    debug_assert!(columns.iter().all(|column| *column != "#"), "a column of numbers needs a name");
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table class=(class) {
                caption.unseen { (caption) }
                thead {
                    tr {
                        @for column in columns {
                            th.number[column.starts_with('#')] scope="col" {
                                @if column.is_empty() { input type="checkbox" aria-label="Select all rows"; }
                                (column.trim_start_matches('#'))
                            }
                        }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}

/// A table with a row for each item. Without items: why there are none, and a command that changes that.
pub(crate) fn rows<T>(
    items: &[T],
    (why, command): (&str, &str),
    caption: &str,
    columns: &[&str],
    row: impl Fn(&T) -> Markup,
) -> Markup {
    if items.is_empty() {
        return nothing(why, command);
    }
    table(caption, columns, &html! { @for item in items { (row(item)) } })
}

/// A button in a form; without the right it is disabled and says why.
pub(crate) fn button(label: &str, action: &str, lacks: Option<&str>) -> Markup {
    html! {
        form.act method="post" action=(action) {
            button type="submit" disabled[lacks.is_some()] title=[lacks] { (label) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn spans_have_two_units_at_most() {
        let spans = [80, 1000, 1500, 28_000, 60_000, 252_000, 11_100_000, 187_200_000];
        let shown = spans.map(|ms| span(Millis(ms)));
        assert_eq!(shown, ["80 ms", "1 s", "1.5 s", "28 s", "1 m", "4 m 12 s", "3 h 5 m", "2 d 4 h"]);
    }
}
