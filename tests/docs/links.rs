//! Links between pages, including their headings, are valid.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::pages::anchors;
use crate::root;

const PAGES_OF_THE_ROOT: [&str; 7] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "GOVERNANCE.md",
    "SECURITY.md",
];

fn pages() -> Vec<PathBuf> {
    let mut pages: Vec<_> = PAGES_OF_THE_ROOT.map(|page| root().join(page)).to_vec();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The targets of all links outside of code.
fn targets(text: &str) -> Vec<String> {
    let mut prose = String::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            // Text in backticks shows how links are written.
            prose.extend(line.split('`').step_by(2));
            prose.push('\n');
        }
    }
    let marks = prose.match_indices("](");
    marks.map(|(at, mark)| prose[at + mark.len()..].split(')').next().unwrap_or_default().replace('\n', "")).collect()
}

#[test]
fn links_between_pages_are_valid() {
    let mut known: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let (mut wrong, mut followed) = (Vec::new(), 0);
    for page in pages() {
        for target in targets(&fs::read_to_string(&page).unwrap()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            followed += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let there = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let is_there = match anchor {
                "" => there.exists(),
                _ => known.entry(there.clone()).or_insert_with(|| headings(&there)).contains(anchor),
            };
            if !is_there {
                wrong.push(format!("{}: {target}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(followed > 100, "links are understood");
}

fn headings(page: &Path) -> BTreeSet<String> {
    fs::read_to_string(page).map(|text| anchors(&text)).unwrap_or_default()
}

/// The table of contents has each hand-written page.
#[test]
fn the_table_of_contents_is_complete() {
    let contents = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let there: BTreeSet<_> =
        targets(&contents).into_iter().map(|t| t.split('#').next().unwrap_or_default().to_owned()).collect();
    for path in fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_some_and(|end| end == "md") && name != "README.md" {
            assert!(there.contains(&name), "docs/README.md does not lead to {name}");
        }
    }
}
