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

#[test]
fn explore() {
    for path in fixtures() {
        let folder = path.parent().and_then(|p| p.file_name()).unwrap().to_string_lossy().into_owned();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let yaml = std::fs::read_to_string(&path).unwrap();
        let found = found(&yaml);
        let causes: BTreeSet<_> = found.iter().map(|(c, _)| *c).collect();
        let ours = rules().any(|r| r.cause == folder);
        let negative = name.starts_with("not-");
        let good = if ours && !negative {
            causes.len() == 1 && causes.contains(&*folder)
        } else {
            !causes.contains(&*folder) && (causes.is_empty() || negative)
        };
        println!(
            "{} {folder}/{name}: {:?}",
            if good { "ok " } else { "BAD" },
            found.iter().map(|(c, f)| format!("{c}: {}", f.summary)).collect::<Vec<_>>()
        );
    }
}
