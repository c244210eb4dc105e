//! A reader of the SVG that the maps consist of.

use std::collections::BTreeMap;

/// An opening tag.
pub(crate) struct Tag<'t> {
    pub(crate) name: &'t str,
    pub(crate) attributes: BTreeMap<&'t str, &'t str>,
    /// The byte after it.
    pub(crate) after: usize,
}

impl<'t> Tag<'t> {
    pub(crate) fn attribute(&self, key: &str) -> &'t str {
        self.attributes.get(key).copied().unwrap_or_default()
    }

    pub(crate) fn number(&self, key: &str) -> f64 {
        self.attribute(key).parse().unwrap()
    }
}

/// All opening tags. Panics unless every tag is closed in order.
pub(crate) fn tags(svg: &str) -> Vec<Tag<'_>> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(begin) = svg[at..].find('<').map(|begin| at + begin) {
        let end = begin + svg[begin..].find('>').expect("a tag ends");
        let inside = &svg[begin + 1..end];
        assert!(!svg[at..begin].contains('>'), "a stray > before {inside}");
        at = end + 1;
        if let Some(name) = inside.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed in order");
            continue;
        }
        let name = inside.split([' ', '/']).next().unwrap();
        let mut rest = inside[name.len()..].trim_start();
        let mut attributes = BTreeMap::new();
        while let Some((key, more)) = rest.split_once("=\"") {
            let (value, more) = more.split_once('"').expect("a value ends");
            assert!(attributes.insert(key, value).is_none(), "{key} twice in {inside}");
            rest = more.trim_start();
        }
        assert!(rest.is_empty() || rest == "/", "{rest:?} in {inside}");
        if rest.is_empty() {
            open.push(name);
        }
        found.push(Tag { name, attributes, after: at });
    }
    assert_eq!(open, Vec::<&str>::new());
    found
}
