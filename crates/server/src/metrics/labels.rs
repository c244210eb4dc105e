//! Label values. Callers choose the names of queues and of undeclared types, so the number of label values is bounded.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// Names and values.
pub(super) type Labels<const N: usize> = [(&'static str, Cow<'static, str>); N];

/// The value for names beyond the bound.
pub(super) const OTHER: &str = "other";

/// Label values of one label besides the declared ones.
const UNDECLARED_MAX: usize = 100;

/// Labels with values that are texts.
pub(super) fn owned<const N: usize>(labels: [(&'static str, &str); N]) -> Labels<N> {
    labels.map(|(name, value)| (name, value.to_owned().into()))
}

/// The names that are label values.
#[derive(Debug, Default)]
pub(super) struct BoundedNames<'a>(BTreeSet<&'a str>);

impl<'a> BoundedNames<'a> {
    /// Every declared name, and the first of the others in alphabetical order: so all nodes choose the same ones.
    pub(super) fn new(
        declared: impl IntoIterator<Item = &'a str>,
        found: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut names: BTreeSet<&str> = declared.into_iter().collect();
        let others: BTreeSet<&str> = found.into_iter().filter(|name| !names.contains(name)).collect();
        names.extend(others.into_iter().take(UNDECLARED_MAX));
        Self(names)
    }

    pub(super) fn label(&self, name: &'a str) -> &'a str {
        if self.0.contains(name) { name } else { OTHER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_names_are_always_labels_and_others_up_to_a_bound() {
        let found: Vec<String> = (0..1000).map(|number| format!("q{number:03}")).collect();
        let found = || found.iter().map(String::as_str);
        let names = BoundedNames::new(["q999", "z"], found());
        let labels: BTreeSet<&str> = found().map(|name| names.label(name)).collect();
        assert_eq!(labels.len(), UNDECLARED_MAX + 2, "the first hundred, q999 and other");
        for (name, label) in
            [("q000", "q000"), ("q099", "q099"), ("q100", OTHER), ("q999", "q999"), ("z", "z")]
        {
            assert_eq!(names.label(name), label);
        }
    }
}
