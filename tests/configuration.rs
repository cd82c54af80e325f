//! Settings by flags, variables and a file: their precedence, and the errors of invalid ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs `shindan run` without a cluster: it logs its settings, and then fails to find a cluster.
fn run(folder: &TempDir, args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shindan"));
    command.current_dir(folder.path()).arg("run").args(args).env_clear();
    command.env("SHINDAN_KUBECONFIG", folder.path().join("none")).envs(variables.iter().copied());
    command.output().expect("it runs")
}

fn stderr(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The effective settings in the log.
fn settings(output: &Output) -> String {
    let log = stderr(output);
    let line = log.lines().find_map(|line| line.split_once("settings: ")).unwrap_or_else(|| panic!("{log}"));
    line.1.to_owned()
}

/// A folder with a file of settings, `s.yaml`.
fn with_file(text: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("s.yaml"), text).unwrap();
    folder
}

/// The error of a file with this text.
fn refused(text: &str) -> String {
    let error = stderr(&run(&with_file(text), &["--config=s.yaml"], &[]));
    assert!(error.starts_with("error: s.yaml"), "{error}");
    assert!(!error.contains("settings: "), "it has started: {error}");
    error
}

#[test]
fn the_operator_does_not_start_with_a_wrong_file_of_notifications() {
    let folder = with_file("receivers:\n- name: chat\n  slak: {urlFile: url}\n");
    let error = stderr(&run(&folder, &["--notify=s.yaml"], &[]));
    assert!(error.contains("s.yaml: ") && error.contains("slak") && error.contains("line 3"), "{error}");
    let folder = with_file("receivers: [{name: chat, slack: {urlFile: url}}]");
    let error = stderr(&run(&folder, &[], &[("SHINDAN_NOTIFY", "s.yaml")]));
    assert!(error.contains("receiver chat: cannot read url: "), "{error}");
    fs::write(folder.path().join("url"), "http://hooks.example.com/hunter2").unwrap();
    let error = stderr(&run(&folder, &["--notify=s.yaml"], &[]));
    assert!(error.contains("receiver chat: url: must begin with https://") && !error.contains("hunter2"), "{error}");
    let error = stderr(&run(&folder, &["--notify=none.yaml"], &[]));
    assert!(error.contains("cannot read the file of --notify, none.yaml"), "{error}");
}

#[test]
fn flags_override_variables_and_variables_override_the_file() {
    let folder = with_file(
        "apiVersion: config.shindan.dev/v1alpha1
kind: ShindanConfiguration
retention: 2h
neverReady: 600
readinessLost: 3m
init: 10m
namespaces: [a, b]
nodes: false
leaderElect: true
maxPerNamespace:
thresholds: {RegistryTimeout: 5m, ContainerCreatingTooLong: 1h}
selector: env!=dev,!canary
",
    );
    let output = run(
        &folder,
        &["--config", "s.yaml", "--retention=3h"],
        &[("SHINDAN_RETENTION", "4h"), ("SHINDAN_READINESS_LOST", "4m")],
    );
    let settings = settings(&output);
    let listed: Vec<_> = settings.split(", ").filter(|setting| !setting.starts_with("kubeconfig")).collect();
    assert_eq!(
        listed,
        [
            "namespaces=a,b (file)",
            "selector=env!=dev,!canary (file)",
            "nodes=false (file)",
            "retention=3h (flag)",
            "leaderElect=true (file)",
            "neverReady=600 (file)",
            "readinessLost=4m (environment)",
            "thresholds=ContainerCreatingTooLong=1h,RegistryTimeout=5m (file)",
        ],
        "defaults are not listed"
    );
}

#[test]
fn the_file_can_be_named_by_a_variable_and_may_be_empty() {
    let folder = with_file("# nothing yet\n");
    let output = run(&folder, &["--init=11m"], &[("SHINDAN_CONFIG", "s.yaml")]);
    let settings = settings(&output);
    assert!(settings.ends_with(", init=11m (flag)"), "{settings}");
}

#[test]
fn an_error_in_a_file_has_its_line_and_the_allowed_values() {
    for (text, expected) in [
        ("init: 1m\nretention: 1s\n", "s.yaml:2: retention: invalid value '1s': must be from 1m to 90d"),
        ("retention: -5m\n", "s.yaml:1: retention: invalid value '-5m': write seconds, or a duration such as"),
        ("writeConcurrency: 0\n", "s.yaml:1: writeConcurrency: invalid value '0': 0 is not in 1..=256"),
        ("logFormat: yaml\n", "s.yaml:1: logFormat: invalid value 'yaml': must be one of text, json"),
        ("nodes: perhaps\n", "s.yaml:1: nodes: invalid value 'perhaps': must be one of true, false"),
        ("leaderElect: maybe\n", "s.yaml:1: leaderElect: must be true or false"),
        ("init: [1m]\n", "s.yaml:1: init: takes one value, not a list"),
        ("namespaces: {a: b}\n", "s.yaml:1: namespaces: takes a value, not a mapping"),
        ("namespaces: [a, Not_One]\n", "s.yaml:1: namespaces: invalid value 'Not_One': not a valid name"),
        (
            "ignoreCauses: [OOMKiled]\n",
            "s.yaml:1: ignoreCauses: invalid value 'OOMKiled': unknown cause \"OOMKiled\". Did you mean OOMKilled?",
        ),
        (
            "thresholds: {OOMKilled: 1m}\n",
            "OOMKilled has no threshold: it counts at once, or the state of its workload decides. These have one: ",
        ),
        ("thresholds: {RegistryTimeout: 2d}\n", "must be from 0s to 1d"),
        ("selector: env in dev\n", "`env in dev`: its values must be in brackets; write key=value"),
        ("\n\nneverRedy: 1m\n", "s.yaml:3: neverRedy: there is no such setting; did you mean neverReady?"),
        ("never-ready: 1m\n", "there is no such setting; did you mean neverReady?"),
        ("namespace: a\n", "there is no such setting; did you mean namespaces?"),
        ("config: other.yaml\n", "s.yaml:1: config: there is no such setting"),
        ("apiVersion: v1\n", "s.yaml:1: apiVersion: must be config.shindan.dev/v1alpha1"),
        ("kind: Pod\n", "s.yaml:1: kind: must be ShindanConfiguration"),
        ("- init\n", "s.yaml: must contain keys and values"),
        ("init: [\n", "s.yaml: is not YAML: "),
        ("init: 1m\ninit: 2m\n", "s.yaml: is not YAML: "),
    ] {
        let error = refused(text);
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

/// An overriding flag does not hide an error in the file.
#[test]
fn an_overridden_value_is_validated_too() {
    let error = stderr(&run(&with_file("retention: soon\n"), &["--config=s.yaml", "--retention=2h"], &[]));
    assert!(error.contains("s.yaml:1: retention: invalid value 'soon'"), "{error}");
}

#[test]
fn invalid_variables_are_named() {
    let folder = with_file("");
    let wrong = stderr(&run(&folder, &[], &[("SHINDAN_RETENTION", "99d")]));
    let expected = "error: invalid value '99d' for '--retention <DURATION>', which the variable SHINDAN_RETENTION sets: must be from 1m to 90d\n";
    assert!(wrong.starts_with(expected), "{wrong}");
    let given = stderr(&run(&folder, &["--retention=98d"], &[("SHINDAN_RETENTION", "99d")]));
    assert!(given.starts_with("error: invalid value '98d' for '--retention <DURATION>': must be from"), "{given}");
}

#[test]
fn misspelt_variables_are_named_with_the_correct_name() {
    let log = stderr(&run(&with_file(""), &[], &[("SHINDAN_RETENSION", "4h"), ("SHINDAN_PORT", "tcp://10.0.0.1:80")]));
    let expected = "the variable SHINDAN_RETENSION is unknown and ignored; did you mean SHINDAN_RETENTION?";
    assert!(log.contains(expected) && !log.contains("SHINDAN_PORT"), "{log}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = with_file("");
    let missing = stderr(&run(&folder, &["--config=none.yaml"], &[]));
    assert!(missing.starts_with("error: cannot read the file of --config, none.yaml: No such file"), "{missing}");
    let directory = stderr(&run(&folder, &["--config=."], &[]));
    assert!(directory.starts_with("error: cannot read the file of --config, .: Is a directory"), "{directory}");
    fs::write(folder.path().join("large"), "#".repeat((1 << 20) + 1)).unwrap();
    let large = stderr(&run(&folder, &["--config=large"], &[]));
    assert!(large.contains("larger than 1 MiB"), "{large}");
    fs::write(folder.path().join("binary"), [0xff, 0xfe]).unwrap();
    let binary = stderr(&run(&folder, &["--config=binary"], &[]));
    assert!(binary.contains("not text"), "{binary}");
}

#[test]
fn a_value_that_looks_like_a_flag_is_invalid() {
    let folder = TempDir::new().unwrap();
    let retention = stderr(&run(&folder, &["--retention", "-5m"], &[]));
    assert!(retention.contains("'-5m' for '--retention <DURATION>': write seconds, or a duration"), "{retention}");
    let seconds = stderr(&run(&folder, &["--retention", "-5"], &[]));
    assert!(seconds.contains("'-5' for '--retention <DURATION>': must be from 1m to 90d"), "{seconds}");
    let count = stderr(&run(&folder, &["--write-concurrency", "-1"], &[]));
    assert!(count.contains("--write-concurrency") && count.contains("1..=256"), "{count}");
}

#[test]
fn a_namespace_cannot_be_both_watched_and_excluded() {
    let output = run(&TempDir::new().unwrap(), &["-n=a,b", "--exclude-namespaces=c,b"], &[]);
    assert!(stderr(&output).contains("--namespaces and --exclude-namespaces both name b"), "{output:?}");
}

/// The example of the page is valid.
#[test]
fn the_example_of_the_page_is_valid() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```yaml\napiVersion: config.shindan.dev").expect("an example");
    let example = format!("apiVersion: config.shindan.dev{}", rest.split_once("```").unwrap().0);
    let settings = settings(&run(&with_file(&example), &["--config=s.yaml"], &[]));
    assert!(settings.matches("(file)").count() >= 8, "{settings}");
}
