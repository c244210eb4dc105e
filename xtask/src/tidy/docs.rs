//! Checks documents: the README stays short, and links lead to files of the tree.

use super::Flaw;
use super::tree::Tree;

const README: &str = "README.md";
const README_WORDS_MAX: usize = 400;

/// The README exists and is short.
pub(super) fn readme(tree: &Tree) -> Vec<Flaw> {
    let Some(file) = tree.file(README) else {
        return vec![Flaw::new(README, 0, "is missing: say what Tenure is and how to run it")];
    };
    let count: usize = prose(&file.text).map(|(_, line)| line.split_whitespace().count()).sum();
    let message = format!("{count} words outside code, at most {README_WORDS_MAX}: move some to docs/");
    Vec::from_iter((count > README_WORDS_MAX).then(|| file.flaw(0, message)))
}

/// Every relative link of every Markdown file leads to a file or folder of the tree.
pub(super) fn links(tree: &Tree) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for file in tree.ending(".md") {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (line, text) in prose(&file.text) {
            for target in targets(text).filter(|target| is_relative(target)) {
                let path = target.split('#').next().unwrap_or(target);
                let exists = resolved(folder, path).is_some_and(|path| path.is_empty() || tree.has(&path));
                if !exists {
                    flaws.push(file.flaw(line, format!("{target} does not exist: correct the link")));
                }
            }
        }
    }
    flaws
}

/// The lines outside fenced code, numbered from 1.
pub(super) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        (!inside && !fence).then_some((index + 1, line))
    })
}

/// What stands between backticks.
pub(super) fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Link targets: inside `](…)`, and after `[name]: `.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    // Code between backticks contains no links: every second part is skipped.
    let inline = line.split('`').step_by(2).flat_map(|part| part.split("](").skip(1));
    let inline = inline.map(|rest| rest.split([')', ' ']).next().unwrap_or_default());
    let reference =
        line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target.trim());
    inline.chain(reference)
}

fn is_relative(target: &str) -> bool {
    !(target.is_empty()
        || target.contains("://")
        || target.starts_with(['#', '/', '<'])
        || target.starts_with("mailto:"))
}

/// The path from the root; `None` outside the tree.
pub(super) fn resolved(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::found;
    use super::*;

    #[test]
    fn a_readme_of_more_than_400_words_is_a_flaw() {
        let long = "word ".repeat(401);
        let flaw = found(&[(README, &long)], readme);
        assert_eq!(flaw, "README.md: 401 words outside code, at most 400: move some to docs/");
        assert_eq!(found(&[(README, &format!("short\n```sh\n{long}\n```\n"))], readme), "");
    }
}
