//! docs/api-reference.md, from the schemas of the CRDs.

use std::fmt::Write as _;

use serde_json::Value;

use crate::holds;
use crate::pages::prose;

#[test]
fn the_reference_of_the_api_is_up_to_date() {
    let mut out = "# API reference\n\n<!-- Written by `UPDATE=1 cargo test --test docs`, from the schemas in crds/. -->\n\n\
         Every field of the kinds of Shindan, as in `kubectl explain`. [The diagnoses](api.md) describes how the fields relate. \
         A field that is not required is absent if it has no value. Fields such as `cause` are plain strings, and \
         fields that a schema does not have are kept: later versions only add some.\n"
        .to_owned();
    for definition in shindan_core::api::crds() {
        let definition = serde_json::to_value(definition).unwrap();
        let spec = &definition["spec"];
        for version in spec["versions"].as_array().unwrap() {
            kind_of(&mut out, spec, version);
        }
    }
    holds("docs/api-reference.md", &out);
}

fn kind_of(out: &mut String, spec: &Value, version: &Value) {
    let schema = &version["schema"]["openAPIV3Schema"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, names) = (text(&spec["group"]), &spec["names"]);
    writeln!(out, "\n## {}\n\n{}\n", text(&names["kind"]), description(schema)).unwrap();
    writeln!(
        out,
        "`{group}/{}`, scope {}, plural `{}`, short name `{}`.\n",
        text(&version["name"]),
        text(&spec["scope"]).to_lowercase(),
        text(&names["plural"]),
        names["shortNames"].as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join("`, `"),
    )
    .unwrap();
    let selectable = version["selectableFields"].as_array().into_iter().flatten();
    let paths: Vec<_> = selectable.map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned()).collect();
    if !paths.is_empty() {
        writeln!(out, "Field selectors: `{}`.\n", paths.join("`, `")).unwrap();
    }
    writeln!(out, "| field | type | required | meaning |\n|---|---|---|---|").unwrap();
    for part in ["spec", "status"] {
        rows(out, part, &schema["properties"][part], is_required(schema, part));
    }
}

fn rows(out: &mut String, path: &str, field: &Value, required: bool) {
    let yes = if required { "yes" } else { "" };
    writeln!(out, "| `{path}` | {} | {yes} | {} |", type_of(field), description(field)).unwrap();
    let (holder, path) = match field["items"].as_object() {
        Some(_) => (&field["items"], format!("{path}[]")),
        None => (field, path.to_owned()),
    };
    for (name, below) in holder["properties"].as_object().into_iter().flatten() {
        rows(out, &format!("{path}.{name}"), below, is_required(holder, name));
    }
}

fn is_required(holder: &Value, name: &str) -> bool {
    holder["required"].as_array().is_some_and(|names| names.iter().any(|required| required == name))
}

fn type_of(field: &Value) -> String {
    if field["items"].is_object() {
        return format!("list of {}", type_of(&field["items"]));
    }
    if field["additionalProperties"].is_object() {
        return format!("map of {}", type_of(&field["additionalProperties"]));
    }
    match (field["type"].as_str(), field["format"].as_str()) {
        (_, Some("date-time")) => "time",
        (Some(kind), _) => kind,
        (None, _) => "any",
    }
    .to_owned()
}

fn description(field: &Value) -> String {
    prose(field["description"].as_str().unwrap_or_default()).replace('|', "\\|")
}
