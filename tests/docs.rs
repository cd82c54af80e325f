//! Generated files are up to date, links between pages are valid, and commands of pages print what the pages show.
//! `UPDATE=1 cargo test --test docs` regenerates the files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Arg;
use shindan::config::file;

#[path = "docs/catalogue.rs"]
mod catalogue;
#[path = "docs/causes.rs"]
mod causes;
#[path = "docs/chart.rs"]
mod chart;
#[path = "docs/commands.rs"]
mod commands;
#[path = "docs/links.rs"]
mod links;
#[path = "docs/olm.rs"]
mod olm;
#[path = "support/pages.rs"]
mod pages;
#[path = "docs/reference.rs"]
mod reference;
#[path = "docs/summaries.rs"]
mod summaries;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn shindan(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shindan"));
    // The output depends on the locale, and on the width that pages have room for.
    let output = command
        .current_dir(root())
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", "120")
        .args(args)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Checks that a file has this content; with `UPDATE=1` it is written.
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
fn the_definitions_of_the_resources_are_up_to_date() {
    let printed = shindan(&["crd"]);
    for (kind, definition) in shindan_core::api::crds().iter().zip(printed.split_inclusive("---\n")) {
        for folder in ["crds", "deploy/chart/shindan/crds", "deploy/olm/manifests"] {
            holds(
                &format!("{folder}/{}.shindan.dev.yaml", kind.spec.names.plural),
                definition.trim_end_matches("---\n"),
            );
        }
    }
}

/// The fields below this one without a description.
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
fn kubectl_explain_describes_each_field() {
    let mut found = Vec::new();
    for definition in shindan_core::api::crds() {
        let kind = definition.spec.names.kind.clone();
        let definition = serde_json::to_value(definition).unwrap();
        for version in definition["spec"]["versions"].as_array().unwrap() {
            let schema = &version["schema"]["openAPIV3Schema"];
            assert!(schema["properties"]["status"]["properties"].is_object(), "{schema}");
            assert!(schema["description"].as_str().is_some_and(|text| !text.is_empty()), "{kind}");
            undescribed(&kind, schema, &mut found);
        }
    }
    assert_eq!(found, [""; 0], "fields without a description");
}

/// Returns a page with the current output of its commands: each block after a comment `output of: ARGUMENTS`, below its
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

/// The allowed values of a setting: its choices, or the range in the error of its parser.
fn allowed(arg: &Arg) -> String {
    let values: Vec<_> = arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if !values.is_empty() {
        return values.join(", ");
    }
    let beyond = format!("--{}=99999999999999", arg.get_long().unwrap());
    let alone = clap::Command::new("one").no_binary_name(true).arg(arg.clone().env(None));
    let Err(error) = alone.try_get_matches_from([beyond]) else { return String::new() };
    let error_text = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    let range = error_text.strip_prefix("must be from ").map(|range| range.replace(" to ", "` to `"));
    let range = range.or_else(|| Some(error_text.split_once(" is not in ")?.1.replace("..=", "` to `")));
    range.map(|range| format!("`{range}`")).unwrap_or_default()
}

/// The settings of `shindan run`, one table per group.
fn settings() -> String {
    let mut groups: Vec<(String, String)> = Vec::new();
    for arg in file::table().get_arguments() {
        let group = arg.get_help_heading().unwrap_or("The operator").to_owned();
        let short = arg.get_short().map(|short| format!(", `-{short}`")).unwrap_or_default();
        let default: Vec<_> = arg.get_default_values().iter().map(|one| format!("`{}`", one.display())).collect();
        let row = [
            format!("`--{}`{short}", arg.get_long().unwrap()),
            arg.get_env().map(|env| format!("`{}`", env.display())).unwrap_or_default(),
            file::key_of(arg).map(|key| format!("`{key}`")).unwrap_or_default(),
            default.join(", "),
            allowed(arg),
            arg.get_help().unwrap().to_string().replace('\n', " "),
        ];
        let row = format!("| {} |\n", row.join(" | ")).replace("  ", " ");
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, rows)) => rows.push_str(&row),
            None => groups.push((group, row)),
        }
    }
    let head = "| flag | variable | key | default | allowed | |\n|---|---|---|---|---|---|\n";
    let tables: Vec<_> = groups.into_iter().map(|(name, rows)| format!("### {name}\n\n{head}{rows}\n")).collect();
    tables.concat()
}

/// The page of settings and the flags in the README match the definitions of the flags.
#[test]
fn the_page_of_settings_is_up_to_date() {
    const BEGIN: &str = "<!-- settings: UPDATE=1 cargo test --test docs -->\n";
    const END: &str = "<!-- end of settings -->";
    let page = fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("a place for them");
    let (_, after) = rest.split_once(END).unwrap();
    holds("docs/configuration.md", &format!("{before}{BEGIN}\n{}{END}{after}", settings()));

    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, table) = readme.split_once("| flag | variable | default |").expect("a table of flags");
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with("| `--")).collect();
    assert!(rows.len() > 5, "{rows:?}");
    let command = file::table();
    for row in rows {
        let values: Vec<_> = row.split('`').skip(1).step_by(2).collect();
        let arg = command.get_arguments().find(|arg| arg.get_long() == values[0].strip_prefix("--"));
        let arg = arg.unwrap_or_else(|| panic!("README.md: there is no {}", values[0]));
        assert!(values.contains(&arg.get_env().unwrap().to_str().unwrap()), "README.md: the variable in {row}");
        if let [default] = arg.get_default_values() {
            assert!(values.contains(&default.to_str().unwrap()), "README.md: the default in {row}");
        }
    }
}

/// The API servers in the README are those that `make test-long` builds and tests.
#[test]
fn the_table_of_versions_lists_the_tested_ones() {
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
