//! What holds of the remedies of all cases: no command touches data, and a change of a managed object names its manager.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(unreachable_pub, reason = "shared with the fuzz targets")]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shindan_core::api::{Remedy, RemedyKind};
use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::offline;
use shindan_core::reconcile::Write;
use shindan_core::wire::Dump;

#[allow(dead_code, reason = "the seeds are for the fuzz targets")]
#[path = "../fuzz/src/recorded.rs"]
mod recorded;

#[path = "remedies/patches.rs"]
mod patches;

fn diagnoses(items: &[Value]) -> Vec<Write> {
    diagnoses_of(&recorded::list(items).to_string())
}

fn diagnoses_of(text: &str) -> Vec<Write> {
    let mut dump = Dump::default();
    dump.read(text);
    let now = dump.newest.unwrap_or(Timestamp::UNIX_EPOCH);
    let report = offline::diagnose(dump, offline::Logs::default(), now, Thresholds::default().for_snapshot());
    report.pods.into_iter().chain(report.nodes_and_workloads).collect()
}

/// Without the kubelet's Events the answer to the probe is unknown, but a port that is not declared is still suspect.
#[test]
fn a_probe_of_an_undeclared_port_is_pointed_at_the_declared_one_without_events_too() {
    let case = include_str!("causes/LivenessProbeFailed/undeclared-port-without-events.yaml");
    let first = |text: &str| {
        let found = diagnoses_of(text).remove(0).object.head().clone();
        assert_eq!(found.cause, "LivenessProbeFailed");
        found.remedies[0].command.clone().unwrap_or_default()
    };
    assert_eq!(
        first(case),
        "kubectl -n shop patch deployment web -p '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"livenessProbe\":{\"httpGet\":{\"port\":80}},\"name\":\"web\"}]}}}}'"
    );
    assert_eq!(first(&case.replace("containerPort: 80\n", "containerPort: 8080\n")), "", "the port is declared");
    let two = "containerPort: 80\n    - containerPort: 8443\n";
    assert_eq!(first(&case.replace("containerPort: 80\n", two)), "", "either may be meant");
    let injected = include_str!("causes/LivenessProbeFailed/istio-rewritten.yaml");
    let silent = injected.replace("reason: Unhealthy", "reason: Started");
    assert!(!first(&silent).contains("8080"), "Istio's webhook replaced the port in the pod only");
}

fn remedies(items: &[Value]) -> Vec<(String, Remedy)> {
    let of = |write: Write| {
        let head = write.object.head().clone();
        head.remedies.into_iter().map(move |remedy| (head.cause.clone(), remedy))
    };
    diagnoses(items).into_iter().flat_map(of).collect()
}

/// Objects whose deletion or replacement loses what people stored.
const DATA: &[&str] = &[
    "pvc ",
    "pvc/",
    "pv ",
    "pv/",
    "persistentvolume",
    "secret ",
    "secret/",
    "configmap ",
    "configmap/",
    "namespace",
    "crd",
];

/// The command without the steps on claims that it has found to be Pending just before.
fn without_unbound_claims(command: &str) -> String {
    const GUARD: &str = " -o jsonpath='{.status.phase}' | grep -qx Pending && ";
    let Some((before, rest)) = command.split_once(GUARD) else { return command.to_owned() };
    let claim = before.rsplit(' ').next().unwrap_or_default();
    let replaced = format!("replace --force -f {claim}.json");
    before.to_owned()
        + &without_unbound_claims(&rest.replace(&format!(" delete pvc {claim} "), " ").replace(&replaced, ""))
}

/// Why a command may touch data. `None` if it does not.
fn touches_data(command: &str) -> Option<&'static str> {
    // A claim that no volume is bound to holds no data: the command goes on only if it is still so.
    let command = without_unbound_claims(command);
    let deletes = |verb: &str| {
        let rest = command.split(verb).skip(1);
        rest.into_iter().any(|rest| DATA.iter().any(|object| rest.trim_start().starts_with(object)))
    };
    let has_no_data =
        command.contains("--cascade=orphan") || command.contains(" get pod ") || command.contains(" get job ");
    [
        ("it deletes an object with data", deletes(" delete ")),
        ("it replaces an object", command.contains("replace --force") && !has_no_data),
        ("it deletes all of a kind", command.contains(" delete ") && command.contains("--all")),
        (
            "it removes files",
            ["rm -", " rm ", "mkfs", "fsck", "truncate", "dd if="].iter().any(|word| command.contains(word)),
        ),
    ]
    .into_iter()
    .find_map(|(why, does)| does.then_some(why))
}

#[test]
fn no_command_touches_data() {
    let found = recorded::cases(1).into_iter().flat_map(|items| remedies(&items));
    let wrong: BTreeMap<String, String> = found
        .filter_map(|(cause, remedy)| {
            let command = remedy.command?;
            touches_data(&command).map(|why| (command, format!("{cause}: {why}")))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(touches_data("kubectl -n shop delete pvc data").is_some());
    assert!(touches_data("kubectl -n shop delete pod web-0").is_none());
    let guard = "kubectl -n shop get pvc data -o jsonpath='{.status.phase}' | grep -qx Pending && kubectl -n shop";
    assert!(touches_data(&format!("{guard} delete pvc data --wait=false")).is_none());
    assert!(touches_data(&format!("{guard} delete pvc other")).is_some());
}

#[test]
fn a_remedy_that_only_reads_is_no_fix() {
    const CHANGES: [&str; 12] = [
        " patch ",
        " delete ",
        " edit ",
        " apply ",
        " create ",
        " scale ",
        " replace ",
        " annotate ",
        " cordon ",
        " drain ",
        " rollout undo ",
        " rollout restart ",
    ];
    let changes = |command: &String| CHANGES.iter().any(|verb| command.contains(verb));
    let mut seen = 0;
    for (cause, remedy) in recorded::cases(1).into_iter().flat_map(|items| remedies(&items)) {
        if remedy.kind == RemedyKind::Investigate {
            seen += 1;
            assert!(remedy.patch.is_none() && !remedy.command.as_ref().is_some_and(changes), "{cause}: {remedy:?}");
        } else {
            assert!(!remedy.text.starts_with("Read the last lines"), "a log is read: {cause}: {remedy:?}");
        }
    }
    assert!(seen > 100, "{seen}");
}

const WORKLOADS: [&str; 5] = ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"];

/// The workloads of a case that no other object owns, after they are marked as those of a Helm release.
fn managed(items: &mut [Value]) -> Vec<String> {
    let mut names = Vec::new();
    for object in items {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        if !WORKLOADS.contains(&&*kind) || object["metadata"]["ownerReferences"].is_array() {
            continue;
        }
        object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("Helm");
        object["metadata"]["annotations"]["meta.helm.sh/release-name"] = json!("the-release");
        names.push(format!(
            "{} {}",
            kind.to_ascii_lowercase(),
            object["metadata"]["name"].as_str().unwrap_or_default()
        ));
    }
    names
}

/// Whether a command changes what the object's manifest states.
fn changes(command: &str, object: &str) -> bool {
    let (kind, name) = object.split_once(' ').unwrap();
    let names_it =
        [format!(" {kind} {name} "), format!(" {kind}/{name} ")].iter().any(|of| format!("{command} ").contains(of));
    let verbs = [" patch ", " set image ", " set env ", " rollout undo ", " edit "];
    names_it && verbs.iter().any(|verb| command.contains(verb))
}

#[test]
fn a_change_of_a_managed_object_names_its_manager() {
    let mut checked = 0;
    let mut wrong = BTreeMap::new();
    for mut items in recorded::cases(1) {
        let names = managed(&mut items);
        if names.is_empty() {
            continue;
        }
        for (cause, remedy) in remedies(&items) {
            let Some(command) = remedy.command else { continue };
            if !names.iter().any(|name| changes(&command, name)) {
                continue;
            }
            checked += 1;
            if !remedy.text.contains("the-release") {
                wrong.insert(command, format!("{cause}: {}", remedy.text));
            }
        }
    }
    assert!(checked > 50, "{checked}");
    assert!(wrong.is_empty(), "{} of {checked}: {wrong:#?}", wrong.len());
}
