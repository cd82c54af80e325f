//! docs/signals.md, docs/actions.md and catalog/schema.json: the reference of cause files.

use std::fmt::Write as _;

use serde_json::{Value, json};
use shindan_core::actions::{ACTIONS, Undo};
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
        let undo = match action.undo {
            Undo::OldValues => "old values".into(),
            Undo::Command(command) => format!("`{command}`"),
            Undo::ByHand(step) => step.to_owned(),
            Undo::NotNeeded => "not needed".into(),
            Undo::Impossible => "impossible".into(),
        };
        let doc = prose(action.doc).replace('|', "\\|");
        writeln!(out, "| `{}` | {params} | {doc} | {undo} |", action.name).unwrap();
    }
    assert!(ACTIONS.is_sorted_by_key(|action| action.name), "actions are listed by name");
    holds("docs/actions.md", &out);
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
