//! Files that are made from the code are as the code would make them, links between pages lead somewhere, and what pages
//! tell to type does what they show. `UPDATE=1 cargo test --test docs` refreshes what is made.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use shindan::api::DiagnosisKind;

#[path = "docs/causes.rs"]
mod causes;
#[path = "docs/commands.rs"]
mod commands;
#[path = "docs/links.rs"]
mod links;
#[path = "support/pages.rs"]
mod pages;
#[path = "docs/reference.rs"]
mod reference;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn shindan(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shindan"));
    // What is drawn hangs on the locale.
    let output = command.current_dir(root()).env("LC_ALL", "C.UTF-8").args(args).output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a file is as `made`; with `UPDATE=1` it is made so.
fn holds(path: &str, made: &str) {
    let file = root().join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, made).unwrap();
        return;
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let at = kept.lines().zip(made.lines()).position(|(a, b)| a != b);
    let line = at.unwrap_or(kept.lines().count().min(made.lines().count())) + 1;
    assert!(
        kept == made,
        "{path} is not what the program prints (from line {line} on); UPDATE=1 cargo test --test docs refreshes it"
    );
}

#[test]
fn the_list_of_causes_is_up_to_date() {
    holds("docs/causes.md", &shindan(&["causes", "-o", "md"]));
}

#[test]
fn the_definitions_of_the_resources_are_up_to_date() {
    let printed = shindan(&["crd"]);
    for (kind, definition) in DiagnosisKind::ALL.iter().zip(printed.split_inclusive("---\n")) {
        for folder in ["crds", "deploy/chart/shindan/crds"] {
            holds(&format!("{folder}/{}.shindan.dev.yaml", kind.plural()), definition.trim_end_matches("---\n"));
        }
    }
}

/// The fields below this one that nobody describes.
fn undescribed(path: &str, schema: &serde_json::Value, found: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        if field["description"].as_str().is_none_or(str::is_empty) {
            found.push(path.clone());
        }
        undescribed(&path, field, found);
        undescribed(&path, &field["items"], found);
    }
}

#[test]
fn kubectl_explain_has_a_word_for_each_field() {
    let mut found = Vec::new();
    for kind in DiagnosisKind::ALL {
        let definition = serde_json::to_value(shindan::api::crd(kind)).unwrap();
        for version in definition["spec"]["versions"].as_array().unwrap() {
            let schema = &version["schema"]["openAPIV3Schema"];
            assert!(schema["properties"]["status"]["properties"]["cause"].is_object(), "{schema}");
            undescribed(kind.as_str(), schema, &mut found);
        }
    }
    assert_eq!(found, [""; 0], "fields without a description");
}

/// A page with the output of the commands that it shows: each block after a comment `output of: ARGUMENTS`, below its
/// line that begins with `$`.
fn with_outputs(page: &str) -> (String, usize) {
    const MARK: &str = "<!-- output of: ";
    let (mut out, mut blocks) = (String::new(), 0);
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some(args) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else { continue };
        let fence = lines.next().filter(|line| line.starts_with("```"));
        out.push_str(fence.unwrap_or_else(|| panic!("a block follows {line}")));
        out.push('\n');
        for line in lines.by_ref().take_while(|line| *line != "```").filter(|line| line.starts_with('$')) {
            out.push_str(line);
            out.push('\n');
        }
        out.push_str(&shindan(&args.split(' ').collect::<Vec<_>>()));
        out.push_str("```\n");
        blocks += 1;
    }
    (out, blocks)
}

#[test]
fn outputs_that_pages_show_are_real() {
    for path in ["README.md", "docs/api.md", "docs/concepts.md", "docs/kubectl.md"] {
        let page = fs::read_to_string(root().join(path)).unwrap();
        let (made, blocks) = with_outputs(&page);
        assert!(blocks > 0, "{path} shows no output that is checked");
        holds(path, &made);
    }
}

/// Each flag of the operator stands in the README's table with its variable and default.
#[test]
fn the_table_of_flags_is_complete() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let help = shindan(&["run", "--help"]);
    let value = |line: &str, name: &str| {
        let rest = line.split_once(&format!("[{name}"))?.1;
        Some(rest.split_once(']')?.0.trim().trim_end_matches('=').to_owned())
    };
    let mut rows = 0;
    let mut flag = String::new();
    let mut variable = String::new();
    for line in help.lines().map(str::trim) {
        if let Some(at) = line.find("--").filter(|_| line.starts_with('-')) {
            flag = line[at..].split([' ', ',']).next().unwrap_or_default().to_owned();
        }
        let row = || {
            let begin = format!("| `{flag}`");
            readme.lines().find(|row| row.starts_with(&begin)).unwrap_or_else(|| panic!("README.md: no row of {flag}"))
        };
        if let Some(name) = value(line, "env:") {
            assert!(row().contains(&format!("`{name}`")), "README.md: {flag} is set by {name}");
            variable = name;
            rows += 1;
        }
        if let Some(default) = value(line, "default:").filter(|_| line.starts_with("[default:")) {
            assert!(
                row().contains(&format!("`{default}`")),
                "README.md: the default of {flag} ({variable}) is {default}"
            );
        }
    }
    assert!(rows > 15, "the help is understood");
}

/// The API servers that the README names are those that `make test-long` builds and tries.
#[test]
fn the_table_of_versions_is_what_is_tried() {
    let settings = root().join("tests/cluster/lib/settings.sh");
    let output =
        Command::new("bash").args(["-euc", ". \"$0\" && apiservers"]).arg(settings).output().expect("bash runs");
    let printed = String::from_utf8(output.stdout).unwrap();
    let pinned: Vec<_> =
        printed.lines().map(|line| line.split(' ').next().unwrap_or_default().trim_start_matches('v')).collect();
    assert!(pinned.len() > 1, "{printed}");
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, table) = readme.split_once("| API server |").expect("a table of versions");
    let rows = table.lines().skip(2).map_while(|line| line.trim().strip_prefix("| "));
    let named: Vec<_> = rows.map(|row| row.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(named, pinned, "README.md, and tests/cluster/tools");

    let suite = fs::read_to_string(root().join("tests/faults/versions.rs")).unwrap();
    for version in pinned {
        let (minor, _) = version.rsplit_once('.').unwrap();
        assert!(suite.contains(&format!(": \"{minor}\";")), "tests/faults/versions.rs does not try {minor}");
    }
}
