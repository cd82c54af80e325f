//! Files that are made from the code are as the code would make them. `UPDATE=1 cargo test --test docs` refreshes them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

fn matches(path: &str, args: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_shindan")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let made = String::from_utf8(output.stdout).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
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
        "{path} is not what `shindan {}` prints (from line {line} on); UPDATE=1 cargo test --test docs refreshes it",
        args.join(" ")
    );
}

#[test]
fn the_list_of_causes_is_up_to_date() {
    matches("docs/causes.md", &["causes", "-o", "md"]);
}

#[test]
fn the_definition_of_the_resource_is_up_to_date() {
    matches("crds/poddiagnoses.shindan.dev.yaml", &["crd"]);
}
