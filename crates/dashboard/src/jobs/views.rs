//! Saved views: named queries of the list of jobs, kept in a cookie of the browser.

use http::HeaderMap;
use tenure_service::query::decode;

use crate::prelude::*;
use crate::session::{cookie, set_cookie};

/// The cookie with the views.
const VIEWS: &str = "tenure_views";
const VIEWS_MAX: usize = 12;
const NAME_CHARS_MAX: usize = 40;
/// Bytes of the cookie. Browsers keep at most 4096.
const COOKIE_BYTES_MAX: usize = 3500;
const KEPT_SECONDS: u32 = 365 * 24 * 60 * 60;

/// A name, and the query of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SavedView {
    name: String,
    query: String,
}

/// `name=query&name=query`, each part encoded twice, as a cookie must be and as a query must be.
fn parse(text: &str) -> Vec<SavedView> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    let view = |(name, query): (&str, &str)| {
        let (name, query) = (decode(name).ok()?, decode(query).ok()?);
        let is_plain = !query.is_empty() && query.bytes().all(|byte| byte.is_ascii_graphic());
        (is_plain && !name.is_empty()).then_some(SavedView { name, query })
    };
    pairs.filter_map(view).take(VIEWS_MAX).collect()
}

fn write(views: &[SavedView]) -> String {
    let pair = |view: &SavedView| format!("{}={}", encode(&view.name), encode(&view.query));
    views.iter().map(pair).collect::<Vec<_>>().join("&")
}

pub(super) fn read(headers: &HeaderMap) -> Vec<SavedView> {
    cookie(headers, VIEWS).map(parse).unwrap_or_default()
}

/// Links to the views, and a form that saves the present one. `query` is that of its address; empty without filters.
pub(super) fn links(views: &[SavedView], query: &str) -> Markup {
    html! {
        @if !views.is_empty() || !query.is_empty() {
            details.views open[!views.is_empty()] {
                summary { "Saved views" }
                ul.chips {
                    @for view in views {
                        li.row {
                            a.chip href=(format!("/ui/jobs?{}", view.query)) aria-current=[(view.query == query).then_some("true")] { (view.name) }
                            form.act method="post" action="/ui/jobs/views" {
                                input type="hidden" name="remove" value=(view.name);
                                input type="hidden" name="query" value=(query);
                                button.plain type="submit" aria-label=(format!("Remove the view {}", view.name)) { "×" }
                            }
                        }
                    }
                }
                @if !query.is_empty() {
                    form.row method="post" action="/ui/jobs/views" {
                        input type="hidden" name="query" value=(query);
                        label for="view-name" { "Save this view as" }
                        input #view-name name="name" required maxlength=(NAME_CHARS_MAX) autocomplete="off";
                        button type="submit" { "Save" }
                    }
                }
            }
        }
    }
}

/// `POST /ui/jobs/views`: saves a view under a name, or removes one.
pub(crate) async fn change(visitor: Visitor, headers: HeaderMap, mut form: Form) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    let (remove, query) = (form.take("remove"), form.take("query").unwrap_or_default());
    let mut views = read(&headers);
    let message = if let Some(name) = remove {
        views.retain(|view| view.name != name);
        format!("The view {name} is removed.")
    } else {
        let name = form.need("name")?.trim().to_owned();
        save(&mut views, &name, &query)?;
        format!("The view {name} is saved in this browser.")
    };
    form.done()?;
    let to = if query.is_empty() { "/ui/jobs".to_owned() } else { format!("/ui/jobs?{query}") };
    let mut response = back(&to, &message);
    set_cookie(&mut response, VIEWS, &write(&views), KEPT_SECONDS, false);
    Ok(response)
}

fn save(views: &mut Vec<SavedView>, name: &str, query: &str) -> Result<()> {
    let is_short = name.chars().count() <= NAME_CHARS_MAX && !name.contains(char::is_control);
    if !is_short {
        return Err(Problem::malformed("name", format!("has at most {NAME_CHARS_MAX} characters")));
    }
    if query.is_empty() || !query.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Problem::malformed("query", "is not the query of an address"));
    }
    views.retain(|view| view.name != name);
    views.push(SavedView { name: name.to_owned(), query: query.to_owned() });
    if views.len() > VIEWS_MAX || write(views).len() > COOKIE_BYTES_MAX {
        return Err(Problem::malformed("name", "there is no room for another view: remove one"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_survive_a_cookie() {
        let mut views = Vec::new();
        save(&mut views, "Failed; a=b&ü", "state=failed&q=type%3Aa").unwrap();
        save(&mut views, "other", "phase=ready").unwrap();
        let text = write(&views);
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic() && !b";, \"\\".contains(&byte)), "{text}");
        assert_eq!(parse(&text), views);
        save(&mut views, "other", "phase=active").unwrap();
        assert_eq!((views.len(), views[1].query.as_str()), (2, "phase=active"));
        assert!(parse("a=%0A&=x&b&c=").is_empty());
    }

    #[test]
    fn views_are_limited() {
        let mut views = Vec::new();
        for (name, query) in [("x".repeat(41).as_str(), "a=b"), ("a\u{7}", "a=b"), ("a", ""), ("a", "a b")] {
            assert!(save(&mut views, name, query).is_err(), "{name} {query}");
        }
        for n in 0..VIEWS_MAX {
            save(&mut views, &n.to_string(), "a=b").unwrap();
        }
        assert!(save(&mut views, "one more", "a=b").is_err());
        assert!(save(&mut Vec::new(), "long", &"a".repeat(4000)).is_err());
    }
}
