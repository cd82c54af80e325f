//! docs/signals.md, docs/actions.md, docs/remedies.md and catalog/schema.json: the reference of cause files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};
use shindan_core::actions::{ACTIONS, Action, Undo};
use shindan_core::case::{Category, RootKind};
use shindan_core::rules::catalog::file::CauseFile;
use shindan_core::signals::{self, Definition};

use crate::holds;
use crate::pages::prose;

const WRITTEN: &str = "<!-- Written by `UPDATE=1 cargo test --test docs`. -->";

#[test]
fn the_page_of_signals_is_up_to_date() {
    let mut out = format!(
        "# Signals\n\n{WRITTEN}\n\n\
         A signal is a typed fact that Shindan computes from the objects and Events of the cluster. Each cause of the catalogue reads one \
         signal (`on`). Its expressions (`when`) and its texts (`{{signal.field}}`) may use the fields of that signal and the \
         [context fields](#context-fields). A string is empty and a number is null where the value is not known; an \
         expression over a null value does not hold.\n"
    );
    for signal in signals::ALL {
        writeln!(out, "\n## {}", signal.name).unwrap();
        fields(&mut out, signal);
    }
    writeln!(out, "\n## Context fields\n\nEvery cause may use these, whatever its signal.").unwrap();
    for context in signals::CONTEXT {
        writeln!(out, "\n### {}", context.name).unwrap();
        fields(&mut out, context);
    }
    holds("docs/signals.md", &out);
}

fn fields(out: &mut String, definition: &Definition) {
    writeln!(out, "\n{}\n\n| field | type | meaning |\n|---|---|---|", prose(definition.doc)).unwrap();
    for field in definition.fields {
        let meaning = prose(field.doc).replace('|', "\\|");
        writeln!(out, "| `{}.{}` | {} | {meaning} |", definition.name, field.name, field.kind.as_str()).unwrap();
    }
}

#[test]
fn the_page_of_actions_is_up_to_date() {
    let mut out = format!(
        "# Actions\n\n{WRITTEN}\n\n\
         An action makes the patch or the command of a remedy. A cause names it in `remedies` with `action`, and gives its \
         parameters in `with`. An action whose precondition does not hold makes no remedy. Shindan never executes a remedy.\n\n\
         In the last column, \"old values\" means that the changed fields get their old values, and that a field that was \
         not set is removed; of a template that keeps revisions, `kubectl rollout undo` does it.\n\n\
         | action | parameters | what it does | how to undo it |\n|---|---|---|---|\n"
    );
    for action in ACTIONS {
        let params = action.params.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let doc = prose(action.doc).replace('|', "\\|");
        writeln!(out, "| `{}` | {params} | {doc} | {} |", action.name, undo(action)).unwrap();
    }
    assert!(ACTIONS.is_sorted_by_key(|action| action.name), "actions are listed by name");
    holds("docs/actions.md", &out);
}

fn undo(action: &Action) -> String {
    match action.undo {
        Undo::OldValues => "old values".into(),
        Undo::Command(command) => format!("`{command}`"),
        Undo::ByHand(step) => step.to_owned(),
        Undo::NotNeeded => "not needed".into(),
        Undo::Impossible => "impossible".into(),
    }
}

/// The Kubernetes version of the test cluster, from the fixtures that it recorded.
fn recorded_version() -> String {
    let text = fs::read_to_string("tests/causes/ConfigMapNotFound/env.yaml").unwrap();
    let after = text.split_once("Recorded from Kubernetes ").unwrap().1;
    after.split_whitespace().next().unwrap().to_owned()
}

/// The actions of each cause, in the order in which they are offered.
fn actions_by_cause() -> BTreeMap<String, Vec<String>> {
    let folders = fs::read_dir("catalog").unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let actions = files.map(|file| {
        let text = fs::read_to_string(&file).unwrap();
        let names = text.lines().filter_map(|line| line.trim_start_matches(['-', ' ']).strip_prefix("action: "));
        let mut actions: Vec<String> = Vec::new();
        for name in names.filter(|name| ACTIONS.iter().any(|action| action.name == *name)) {
            if !actions.iter().any(|known| known == name) {
                actions.push(name.to_owned());
            }
        }
        (file.file_stem().unwrap().to_string_lossy().into_owned(), actions)
    });
    actions.collect()
}

/// Manifests of tests/fixes by their cause: those that a remedy heals, as it is or with values that are filled in.
fn healed_manifests() -> BTreeMap<String, Vec<String>> {
    let mut healed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut files: Vec<_> = fs::read_dir("tests/fixes/manifests").unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let head =
            |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim().to_owned();
        if head("# heals:") != "human" {
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            healed.entry(head("# expect:")).or_default().push(name);
        }
    }
    healed
}

#[test]
fn the_page_of_remedies_is_up_to_date() {
    let (version, by_cause) = (recorded_version(), actions_by_cause());
    let mut out = format!(
        "# Remedies\n\n{WRITTEN}\n\n\
         Which remedies are there, which causes use them, and what proves that they heal? The command or patch of a remedy is made \
         by an [action](actions.md). `kubectl shindan fix` [applies](fix.md) it.\n\n\
         If a rollout is stuck and pods of an older revision still serve, the first remedy rolls back to that revision \
         (`kubectl rollout undo KIND/NAME --to-revision=N`) for each cause that the pod template can have: the categories Crash, \
         Image, Probe and Start without a failure of the node, and missing ConfigMaps, Secrets and node labels. To undo it, go to \
         the newest revision in the same way.\n\n\
         ## Actions and their causes\n\n\
         | action | causes | what it changes | how to undo it |\n|---|---|---|---|\n"
    );
    for action in ACTIONS {
        let uses = |actions: &[String]| actions.iter().any(|name| name == action.name);
        let causes: BTreeSet<&String> = by_cause.iter().filter(|(_, actions)| uses(actions)).map(|of| of.0).collect();
        let causes: Vec<String> = causes.iter().map(|cause| format!("[{cause}](causes/{cause}.md)")).collect();
        let doc = prose(action.doc).replace('|', "\\|");
        let first = doc.split_once(". ").map_or(&*doc, |(first, _)| first);
        let first = first.trim_end_matches('.');
        writeln!(out, "| `{}` | {} | {first}. | {} |", action.name, causes.join(", "), undo(action)).unwrap();
    }
    writeln!(
        out,
        "\n## Failures that a remedy heals\n\n\
         Each manifest of [tests/fixes/manifests](../tests/fixes/manifests) fails in a cluster of Kubernetes {version}. The \
         end-to-end test `first_commands_heal`, and `most_first_commands_heal` of `make test-long`, apply the manifest and the first command that \
         is offered, and wait until the object has recovered. The actions of a cause are in the order in which they are offered.\n\n\
         | cause | actions | manifests |\n|---|---|---|"
    )
    .unwrap();
    for (cause, manifests) in healed_manifests() {
        let actions: Vec<String> = by_cause[&cause].iter().map(|name| format!("`{name}`")).collect();
        let manifests: Vec<String> = manifests.iter().map(|name| format!("`{name}`")).collect();
        writeln!(out, "| [{cause}](causes/{cause}.md) | {} | {} |", actions.join(", "), manifests.join(", ")).unwrap();
    }
    holds("docs/remedies.md", &out);
}

/// Editors use the schema to complete and validate cause files.
#[test]
fn the_schema_of_cause_files_is_up_to_date() {
    let mut schema = serde_json::to_value(schemars::schema_for!(CauseFile)).unwrap();
    let names = |names: &[&str]| Value::from(names);
    let signals: Vec<&str> = signals::ALL.iter().map(|signal| signal.name).collect();
    let actions: Vec<&str> = ACTIONS.iter().map(|action| action.name).collect();
    schema["properties"]["category"]["enum"] = names(&Category::ALL.map(Category::as_str));
    schema["properties"]["on"]["enum"] = names(&signals);
    schema["$defs"]["RootTemplate"]["properties"]["kind"]["enum"] = names(&RootKind::ALL.map(RootKind::as_str));
    // A remedy without an action has no such key.
    schema["$defs"]["RemedyTemplate"]["properties"]["action"] = json!({
        "description": schema["$defs"]["RemedyTemplate"]["properties"]["action"]["description"],
        "type": "string",
        "enum": actions,
    });
    holds("catalog/schema.json", &format!("{}\n", serde_json::to_string_pretty(&schema).unwrap()));
}
