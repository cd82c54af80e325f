//! The README of the Helm chart has the table of values.yaml, and valid links.

use std::fmt::Write as _;
use std::fs;

use crate::pages::anchors;
use crate::{holds, root};

const README: &str = "deploy/chart/shindan/README.md";
const VALUES: &str = "deploy/chart/shindan/values.yaml";

#[derive(Debug, PartialEq, Eq)]
struct Row {
    path: String,
    default: String,
    text: String,
}

/// The values of a file by section. `## NAME` begins a section. A comment describes the value below it; in `config`, a value
/// that is commented out has its description behind it.
fn sections(file: &str) -> Vec<(String, Vec<Row>)> {
    let mut sections: Vec<(String, Vec<Row>)> = Vec::new();
    let (mut parents, mut comment): (Vec<(usize, String)>, Vec<String>) = (Vec::new(), Vec::new());
    let mut lines = file.lines().peekable();
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if let Some(name) = line.strip_prefix("## ") {
            sections.push((name.to_owned(), Vec::new()));
        }
        if text.is_empty() || line.starts_with("## ") {
            comment.clear();
            continue;
        }
        let Some((_, rows)) = sections.last_mut() else { continue };
        if let Some(rest) = text.strip_prefix("# ") {
            match rest.split_once("  # ").filter(|_| indent > 0).zip(parents.last()) {
                Some(((value, text), (_, parent))) => {
                    let (name, default) = value.split_once(": ").expect("a value that is commented out");
                    let (path, default) = (format!("{parent}.{name}"), format!("`{}`", default.trim()));
                    rows.push(Row { path, default, text: text.trim().to_owned() });
                }
                None => comment.push(rest.to_owned()),
            }
            continue;
        }
        let (name, default) = text.split_once(':').unwrap_or_else(|| panic!("{VALUES}: {line}"));
        parents.retain(|(above, _)| *above < indent);
        let path = parents.last().map_or_else(|| name.to_owned(), |(_, parent)| format!("{parent}.{name}"));
        parents.push((indent, path.clone()));
        let is_parent = lines.peek().is_some_and(|next| {
            let below = next.trim_start();
            !below.is_empty() && next.len() - below.len() > indent
        });
        let default = match default.trim() {
            "" if is_parent => String::new(),
            "" => "not set".to_owned(),
            default => format!("`{default}`"),
        };
        let text = std::mem::take(&mut comment).join(" ");
        if !(is_parent && default.is_empty() && text.is_empty()) {
            rows.push(Row { path, default, text });
        }
    }
    sections
}

#[test]
fn a_values_file_is_understood() {
    let file = "# About the file.\n\n## First\n\n# What it is.\n# More of it.\na:\n  # Inner.\n  b: [x]\n  c:\n    d: 1\n\
                e:\n\n## Second\n\n# Flags.\nf: {}\n  # g: 1s   # how long\n";
    let row = |path: &str, default: &str, text: &str| Row {
        path: path.to_owned(),
        default: default.to_owned(),
        text: text.to_owned(),
    };
    let first = vec![
        row("a", "", "What it is. More of it."),
        row("a.b", "`[x]`", "Inner."),
        row("a.c.d", "`1`", ""),
        row("e", "not set", ""),
    ];
    let second = vec![row("f", "`{}`", "Flags."), row("f.g", "`1s`", "how long")];
    assert_eq!(sections(file), [("First".to_owned(), first), ("Second".to_owned(), second)]);
}

fn table() -> String {
    let mut made = String::new();
    for (name, rows) in sections(&fs::read_to_string(root().join(VALUES)).unwrap()) {
        writeln!(made, "### {name}\n\n| value | default | |\n|---|---|---|").unwrap();
        for Row { path, default, text } in rows {
            let row = format!("| `{path}` | {default} | {} |\n", text.replace('|', "\\|"));
            made += &row.replace("  ", " ");
        }
        made.push('\n');
    }
    made
}

#[test]
fn the_readme_of_the_chart_has_the_current_values() {
    const BEGIN: &str = "<!-- values: UPDATE=1 cargo test --test docs -->\n";
    const END: &str = "<!-- end of values -->";
    let page = fs::read_to_string(root().join(README)).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("a place for them");
    let (_, after) = rest.split_once(END).unwrap();
    let table = table();
    for value in ["image.repository", "config.retention", "metrics.serviceMonitor.interval", "crds.check"] {
        assert!(table.contains(&format!("| `{value}` |")), "{value} is not understood");
    }
    holds(README, &format!("{before}{BEGIN}\n{table}{END}{after}"));
}

/// The README is read outside of this repository, so its links are absolute.
#[test]
fn links_of_the_chart_lead_to_files_of_this_repository() {
    let blobs = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");
    let mut followed = 0;
    for file in [README, "deploy/chart/shindan/Chart.yaml", "deploy/chart/shindan/templates/NOTES.txt"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(!text.contains("](.") && !text.contains("](#"), "{file} has a relative link");
        for link in text.split(blobs).skip(1) {
            let link = link.split([')', ' ', '\n', '"']).next().unwrap_or_default();
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let page = fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{file}: {link}: {e}"));
            assert!(anchor.is_empty() || anchors(&page).contains(anchor), "{file}: {link}");
            followed += 1;
        }
        if let Some((_, icon)) = text.split_once("\nicon: ") {
            let path = icon.lines().next().unwrap().split_once("/main/").unwrap().1;
            assert!(root().join(path).is_file(), "{file}: {path}");
        }
    }
    assert!(followed > 5, "links are understood");
}
