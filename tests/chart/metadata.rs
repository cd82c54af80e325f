//! Chart.yaml has the version of the program, and what Artifact Hub shows.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::{read, root, run, succeeded};

fn chart() -> Value {
    serde_saphyr::from_str(&read("Chart.yaml")).unwrap()
}

/// An annotation that is YAML.
fn annotation(name: &str) -> Value {
    let text = chart()["annotations"][format!("artifacthub.io/{name}")].as_str().unwrap().to_owned();
    serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn the_chart_is_of_this_version() {
    let chart = chart();
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
    let image = format!("ghcr.io/shindan-dev/shindan:{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(annotation("images")[0]["image"], image);
    assert_eq!(chart["annotations"]["artifacthub.io/license"], env!("CARGO_PKG_LICENSE"));
}

#[test]
fn the_chart_names_its_icon_maintainers_and_sources() {
    let chart = chart();
    let (_, icon) = chart["icon"].as_str().unwrap().split_once("/shindan-dev/shindan/main/").unwrap();
    assert!(root().join(icon).is_file(), "{icon}");
    assert!(chart["maintainers"][0]["name"].is_string());
    assert_eq!(chart["home"], env!("CARGO_PKG_REPOSITORY"));
}

#[test]
fn the_listed_crds_are_those_of_the_chart() {
    let listed = annotation("crds");
    let mut names = BTreeSet::new();
    for listed in listed.as_array().unwrap() {
        let name = listed["name"].as_str().unwrap();
        let definition: Value = serde_saphyr::from_str(&read(&format!("crds/{name}.yaml"))).unwrap();
        assert_eq!(listed["kind"], definition["spec"]["names"]["kind"]);
        assert_eq!(listed["version"], definition["spec"]["versions"][0]["name"]);
        names.insert(format!("{name}.yaml"));
    }
    let files = std::fs::read_dir(root().join(crate::CHART).join("crds")).unwrap();
    let files: BTreeSet<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, files);
}

#[test]
fn the_example_is_a_valid_rule() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rule.yaml");
    std::fs::write(&file, annotation("crdsExamples")[0].to_string()).unwrap();
    succeeded(run(Command::new(env!("CARGO_BIN_EXE_shindan")).args(["rules", "check"]).arg(&file)));
}
