//! The families of what never starts, against every recorded fixture.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{image, sandbox, start, volume};
use crate::api::ContainerType;
use crate::diagnosis::testing::Scenario;
use crate::diagnosis::{Case, Finding, Rule, Scope, Specificity, Verdict, text};

fn rules() -> impl Iterator<Item = &'static Rule> {
    [volume::RULES, sandbox::RULES, image::RULES, start::RULES].into_iter().flatten()
}

fn ask(rule: &Rule, case: &Case<'_>) -> Vec<Finding> {
    let verdicts: Vec<_> = match rule.scope {
        Scope::Pod(check) => vec![check(case)],
        Scope::Container(check) => {
            case.pod.containers.iter().filter(|c| c.kind != ContainerType::Ephemeral).map(|c| check(case, c)).collect()
        }
    };
    verdicts.into_iter().filter_map(|v| if let Verdict::Yes(f) = v { Some(*f) } else { None }).collect()
}

/// The causes of these families found in a text; umbrellas only where nothing specific is.
fn found(yaml: &str) -> Vec<(&'static str, Finding)> {
    let scenario = Scenario::from_yaml(yaml);
    let mut out = Vec::new();
    for pod in &scenario.pods {
        let case = scenario.case_of(&pod.key.name);
        let mut of_pod: Vec<_> = rules().flat_map(|r| ask(r, &case).into_iter().map(move |f| (r, f))).collect();
        if of_pod.iter().any(|(r, _)| r.specificity == Specificity::Specific) {
            of_pod.retain(|(r, _)| r.specificity == Specificity::Specific);
        }
        for (rule, finding) in &of_pod {
            let remedies = (rule.remedies)(&case, finding);
            assert!(!remedies.is_empty() && remedies.len() <= 5, "{}: {} remedies", rule.cause, remedies.len());
            for patch in remedies.iter().filter_map(|r| r.patch.as_deref()) {
                let read = serde_saphyr::from_str::<serde_json::Value>(patch);
                assert!(read.is_ok_and(|v| v.is_object()), "{}: a patch that is not YAML:\n{patch}", rule.cause);
            }
            assert!(!finding.evidence.is_empty(), "{}: no evidence", rule.cause);
            assert!(finding.summary.chars().count() <= text::SUMMARY_MAX, "{}", finding.summary);
            assert!(!finding.summary.contains(['{', '}']), "an empty place: {}", finding.summary);
        }
        out.extend(of_pod.into_iter().map(|(r, f)| (r.cause, f)));
    }
    out
}

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let mut out: Vec<_> = folders(root.join("causes"))
        .chain([root.join("healthy")])
        .flat_map(folders)
        .filter(|p| p.extension().is_some_and(|e| e == "yaml"))
        .collect();
    out.sort();
    out
}

/// Files whose names begin with `not-` though the cause is there.
const POSITIVE_ALL_THE_SAME: [&str; 1] = ["ExecutablePermissionDenied/not-executable"];

#[test]
fn each_fixture_shows_its_own_cause_and_no_look_alike_does() {
    let mut wrong = Vec::new();
    for path in fixtures() {
        let part = |p: Option<&std::ffi::OsStr>| p.unwrap_or_default().to_string_lossy().into_owned();
        let (folder, name) = (part(path.parent().and_then(Path::file_name)), part(path.file_stem()));
        let yaml = std::fs::read_to_string(&path).unwrap();
        if !yaml.contains("kind: Pod\n") {
            continue;
        }
        let found = found(&yaml);
        let causes: BTreeSet<_> = found.iter().map(|(cause, _)| *cause).collect();
        let label = format!("{folder}/{name}");
        let ours = rules().any(|r| r.cause == folder);
        let look_alike = name.starts_with("not-") && !POSITIVE_ALL_THE_SAME.contains(&label.as_str());
        let good = match (ours, look_alike) {
            (true, false) => causes.len() == 1 && causes.contains(&*folder),
            (true, true) => !causes.contains(&*folder),
            (false, _) => causes.is_empty(),
        };
        if !good {
            let told: Vec<_> = found.iter().map(|(cause, f)| format!("{cause}: {}", f.summary)).collect();
            wrong.push(format!("{label}: {told:?}"));
        }
        if std::env::var_os("SHOW").is_some() {
            println!("{label}: {:?}", found.iter().map(|(c, f)| format!("{c}: {}", f.summary)).collect::<Vec<_>>());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_cause_has_a_fixture_and_a_look_alike() {
    let all: BTreeSet<_> = fixtures()
        .iter()
        .filter_map(|p| {
            let folder = p.parent()?.file_name()?.to_str()?.to_owned();
            Some((folder, p.file_stem()?.to_str()?.starts_with("not-")))
        })
        .collect();
    let lacking: Vec<_> = rules()
        .flat_map(|r| [(r.cause, false), (r.cause, true)])
        .filter(|(cause, look_alike)| !all.contains(&((*cause).to_owned(), *look_alike)))
        .collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}

const PULLING: &str = r#"
kind: Pod
metadata: {name: web, namespace: shop, uid: u1}
spec: {nodeName: n1, containers: [{name: web, image: "reg.example.com/web:1"}]}
status:
  phase: Pending
  startTime: "2026-11-21T09:00:00Z"
  containerStatuses:
  - {name: web, ready: false, state: {waiting: {reason: ErrImagePull, message: "MESSAGE"}}}
---
kind: Event
involvedObject: {kind: Pod, namespace: shop, name: web, uid: u1, fieldPath: "spec.containers{web}"}
reason: Failed
type: Warning
message: 'Failed to pull image "reg.example.com/web:1": MESSAGE'
count: COUNT
firstTimestamp: "2026-11-21T09:00:02Z"
lastTimestamp: "2026-11-21T09:00:02Z"
"#;

fn verdicts(scenario: &Scenario) -> (Vec<&'static str>, bool) {
    let case = scenario.case();
    let mut later = false;
    let mut causes = Vec::new();
    for rule in rules() {
        let verdict = match rule.scope {
            Scope::Pod(check) => check(&case),
            Scope::Container(check) => check(&case, &case.pod.containers[0]),
        };
        match verdict {
            Verdict::Yes(_) => causes.push(rule.cause),
            Verdict::NotBefore(at) => {
                assert!(at > case.now, "{} asks again at once", rule.cause);
                later = true;
            }
            Verdict::No => {}
        }
    }
    (causes, later)
}

#[test]
fn a_transient_pull_error_counts_from_its_second_try() {
    let refused = PULLING.replace("MESSAGE", "dial tcp 10.0.0.9:443: connect: connection refused");
    let once = refused.replace("COUNT", "1");
    let live = |text: &str| Scenario::from_yaml(text).observed_since("2026-11-21T09:00:02Z");
    assert_eq!(verdicts(&live(&once).at("2026-11-21T09:00:03Z")), (vec![], true));
    assert_eq!(verdicts(&live(&once).at("2026-11-21T09:00:18Z")), (vec!["RegistryConnectionRefused"], false));
    let twice = refused.replace("COUNT", "2");
    assert_eq!(verdicts(&live(&twice).at("2026-11-21T09:00:03Z")).0, ["RegistryConnectionRefused"]);
}

#[test]
fn a_definite_answer_of_the_registry_counts_at_once() {
    let text = PULLING.replace("MESSAGE", "manifest unknown").replace("COUNT", "1");
    let scenario = Scenario::from_yaml(&text).observed_since("2026-11-21T09:00:02Z").at("2026-11-21T09:00:03Z");
    assert_eq!(verdicts(&scenario), (vec!["ImageTagNotFound"], false));
}

#[test]
fn one_failed_sandbox_is_waited_out() {
    let text = r#"
kind: Pod
metadata: {name: web, namespace: shop, uid: u1}
spec: {nodeName: n1, containers: [{name: web, image: web}]}
status:
  phase: Pending
  containerStatuses: [{name: web, ready: false, state: {waiting: {reason: ContainerCreating}}}]
---
kind: Event
involvedObject: {kind: Pod, namespace: shop, name: web, uid: u1}
reason: FailedCreatePodSandBox
type: Warning
message: "Failed to create pod sandbox: rpc error: code = Unknown desc = quux"
count: 1
firstTimestamp: "2026-11-21T09:00:02Z"
lastTimestamp: "2026-11-21T09:00:02Z"
"#;
    assert_eq!(verdicts(&Scenario::from_yaml(text)), (vec![], true));
    assert_eq!(verdicts(&Scenario::from_yaml(text).later(20)), (vec!["FailedCreatePodSandBox"], false));
}
