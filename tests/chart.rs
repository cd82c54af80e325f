//! The Helm chart installs the same objects as kustomize, and accepts the same values as the program. With helm on the PATH:
//! `cargo test --features helm --test chart`; `make check` builds it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

#[path = "chart/crds.rs"]
mod crds;
#[path = "chart/metadata.rs"]
mod metadata;
#[path = "chart/monitoring.rs"]
mod monitoring;
#[path = "chart/names.rs"]
mod names;
#[path = "chart/objects.rs"]
mod objects;
#[path = "chart/refused.rs"]
mod refused;
#[path = "chart/settings.rs"]
mod settings;
#[path = "chart/values.rs"]
mod values;

const CHART: &str = "deploy/chart/shindan";
const NEEDS_HELM: &str = "needs helm, which tests/cluster/cluster build --helm builds";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(CHART).join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn schema() -> Value {
    serde_json::from_str(&read("values.schema.json")).unwrap()
}

fn run(command: &mut Command) -> Output {
    command.current_dir(root()).output().unwrap_or_else(|e| panic!("{command:?}: {e}; {NEEDS_HELM}"))
}

fn succeeded(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `helm COMMAND ... --set FIRST --set SECOND`; values are read as JSON.
fn helm(command: &[&str], values: &[&str]) -> Output {
    run(Command::new("helm").args(command).args(values.iter().flat_map(|value| ["--set-json", value])))
}

fn rendered(values: &[&str]) -> Objects {
    let command = ["template", "shindan", CHART, "--namespace", "shindan-system", "--include-crds"];
    objects(&succeeded(helm(&command, values)))
}

fn refused(values: &[&str]) -> String {
    let output = helm(&["template", "shindan", CHART], values);
    assert!(!output.status.success(), "{values:?} are taken");
    String::from_utf8(output.stderr).unwrap()
}

/// By kind, namespace and name.
type Objects = BTreeMap<String, Value>;

fn objects(text: &str) -> Objects {
    let body = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let mut all = Objects::new();
    for part in body.split("---\n").filter(|part| !part.trim().is_empty()) {
        let mut object: Value = serde_saphyr::from_str(part).unwrap_or_else(|e| panic!("{e}\n{part}"));
        // The order of variables does not matter: none refers to another.
        if let Some(Value::Array(env)) = object.pointer_mut("/spec/template/spec/containers/0/env") {
            env.sort_by_key(|variable| variable["name"].to_string());
        }
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let name = format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        assert!(all.insert(name.clone(), object).is_none(), "{name} twice");
    }
    all
}

fn pod(all: &Objects) -> &Value {
    &all["Deployment shindan-system/shindan"]["spec"]["template"]["spec"]
}

fn container(all: &Objects) -> &Value {
    &pod(all)["containers"][0]
}
