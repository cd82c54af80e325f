//! Objects of any shape, as the operator lists them. None affects another object, the facts made from it survive JSON, and our
//! own objects are restored as far as their fields are valid.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use shindan::cluster::restore::Restored;
use shindan_core::api::{DiagnosisKind, DiagnosisState};
use shindan_core::case::Thresholds;
use shindan_core::offline;
use shindan_core::reconcile::{Object, Write};
use shindan_core::wire::Dump;

use super::{recorded, sound};

/// The kinds that are read, and one that is not.
const KINDS: [&str; 17] = [
    "Pod",
    "Node",
    "Event",
    "Service",
    "EndpointSlice",
    "Endpoints",
    "PersistentVolumeClaim",
    "StorageClass",
    "ReplicaSet",
    "ControllerRevision",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "ReplicationController",
    "Secret",
];

const STATES: [DiagnosisState; 3] = [DiagnosisState::Active, DiagnosisState::Recovered, DiagnosisState::Gone];

/// Reads one object, given as JSON, as the kind that it has, then as each known kind.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else { return };
    let as_written = among_good_ones(raw.get());
    assert!(as_written.problems.len() <= 1, "{:?}", as_written.problems);
    for kind in DiagnosisKind::ALL {
        let _ = Restored::of(kind, raw.get());
    }
    let Ok(Value::Object(mut object)) = serde_json::from_str::<Value>(raw.get()) else { return };
    our_own(&Value::Object(object.clone()));
    // A list would be read as its items.
    object.remove("items");
    let of_each_kind = KINDS.map(|kind| {
        object.insert("kind".to_owned(), kind.into());
        Value::Object(object.clone()).to_string()
    });
    let dump = among_good_ones(&of_each_kind.join(","));
    assert_eq!(dump.problems, []);
    assert_eq!(dump.objects, KINDS.len() + 3);
    dump.pods.iter().for_each(sound::is_kept_whole);
    for workload in &dump.workloads {
        dump.complete(&mut workload.clone());
    }
}

/// Reads objects between two valid ones, which must both be read.
fn among_good_ones(objects: &str) -> Dump {
    let good = |name: &str| json!({"kind": "Node", "metadata": {"name": name}});
    let mut dump = Dump::default();
    dump.read(&format!(r#"{{"kind": "List", "items": [{}, {objects}, {}]}}"#, good("good-a"), good("good-b")));
    let ends = [dump.nodes.first(), dump.nodes.last()].map(|node| node.map(|node| &*node.name));
    assert_eq!(ends, [Some("good-a"), Some("good-b")], "{:?}", dump.problems);
    dump
}

/// A diagnosis written by another client or another version is restored if its state is known.
fn our_own(object: &Value) {
    let state = &object["status"]["state"];
    let is_known = STATES.iter().any(|known| state == known.as_str());
    for kind in DiagnosisKind::ALL {
        let restored = Restored::of(kind, &object.to_string()).unwrap();
        let understood = restored.records.len();
        assert_eq!(understood + restored.unreadable.len(), 1, "{object}");
        assert!(understood == 1 || !is_known, "{object}");
    }
}

/// The objects of the cases, and their diagnoses.
pub fn seeds(every: usize) -> Vec<Vec<u8>> {
    let cases = recorded::cases(every);
    let ours: Vec<Value> = cases.iter().flat_map(|objects| diagnoses(objects)).collect();
    let all = cases.into_iter().flatten().chain(ours).map(|object| object.to_string().into_bytes());
    all.filter(|seed| seed.len() <= recorded::INPUT_MAX).collect()
}

fn diagnoses(objects: &[Value]) -> Vec<Value> {
    let mut dump = Dump::default();
    dump.read(&recorded::list(objects).to_string());
    let Some(now) = dump.newest else { return Vec::new() };
    let report = offline::diagnose(dump, offline::Logs::default(), now, Thresholds::default());
    report.pods.iter().chain(&report.nodes_and_workloads).map(object).collect()
}

fn object(write: &Write) -> Value {
    let (spec, status) = match &write.object {
        Object::Pod(spec, status) => (json!(spec), json!(status)),
        Object::Node(spec, status) => (json!(spec), json!(status)),
        Object::Workload(spec, status) => (json!(spec), json!(status)),
    };
    let key = &write.key.object;
    json!({
        "kind": write.object.kind().as_str(),
        "metadata": {"name": key.name, "namespace": key.namespace, "uid": "o1", "resourceVersion": "7"},
        "spec": spec,
        "status": status,
    })
}
