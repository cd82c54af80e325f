//! Any reasons and messages, in all places that the rules read: the status of a pod, conditions, the log, and Events about the
//! pod and the objects that it depends on. The diagnoses meet the conditions of `sound`.
//!
//! An input is three letters, which choose the state of the pod, and texts: reasons and messages in turn, separated by zero bytes.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::offline;
use shindan_core::wire::Dump;

use super::{planted, recorded, sound};

const NOW: &str = "2026-11-21T09:00:00Z";
const LATELY: &str = "2026-11-21T08:50:00Z";
const BEFORE: &str = "2026-11-21T08:40:00Z";

/// Exit codes with a meaning.
const EXITS: [i32; 12] = [0, 1, 2, 126, 127, 128, 130, 134, 137, 139, 143, 255];

/// The objects that Events are about: kind, name and UID.
const ABOUT: [(&str, &str, &str); 7] = [
    ("Pod", "web-5d4f-x2", "u1"),
    ("Node", "n1", "n1"),
    ("ReplicaSet", "web-5d4f", "rs"),
    ("Deployment", "web", "d1"),
    ("Job", "web-5d4f", "j1"),
    ("PersistentVolumeClaim", "data", "c1"),
    ("CronJob", "web", "cj"),
];

/// Reasons and messages by place. If there are more places than texts, the texts repeat.
struct Texts(Vec<String>);

impl Texts {
    fn reason(&self, place: usize) -> &str {
        self.text(2 * place)
    }

    fn message(&self, place: usize) -> &str {
        self.text(2 * place + 1)
    }

    fn text(&self, place: usize) -> &str {
        &self.0[place % self.0.len()]
    }
}

pub fn run(data: &[u8]) {
    let [low, high, exit, texts @ ..] = data else { return };
    let how = low & 15 | (high & 15) << 4;
    let exit = EXITS[usize::from(*exit) % EXITS.len()];
    let texts = String::from_utf8_lossy(texts);
    if sound::contains_secret(&texts, false) {
        return;
    }
    let texts = Texts(texts.split('\0').map(planted::in_text).collect());
    let mut items = vec![pod(&texts, how, exit), node(&texts, how), claim()];
    items.extend(workloads(&texts, how));
    items.extend(events(&texts));
    let mut dump = Dump::default();
    dump.read(&recorded::list(&items).to_string());
    assert_eq!(dump.problems, []);
    let mut logs = offline::Logs::default();
    logs.read("web-5d4f-x2.app.log", texts.message(0), &dump.pods, false);
    let report = offline::diagnose(dump, logs, NOW.parse::<Timestamp>().unwrap(), Thresholds::default());
    report.pods.iter().for_each(sound::is_clean);
    report.nodes_and_workloads.iter().for_each(sound::is_clean);
}

fn is(how: u8, bit: u8) -> bool {
    how & (1 << bit) != 0
}

fn pod(texts: &Texts, how: u8, exit: i32) -> Value {
    let phase = ["Pending", "Running", "Failed", "Running"][usize::from(how & 3)];
    let word = |place: usize| json!({"reason": texts.reason(place), "message": texts.message(place)});
    let condition = |kind: &str, status: &str, place: usize| json!({"type": kind, "status": status, "reason": texts.reason(place), "message": texts.message(place), "lastTransitionTime": LATELY});
    let ended = |place: usize| json!({"exitCode": exit, "reason": texts.reason(place), "message": texts.message(place), "startedAt": BEFORE, "finishedAt": LATELY});
    let state = if is(how, 2) { json!({"waiting": word(1)}) } else { json!({"terminated": ended(1)}) };
    let owner = if is(how, 3) { ("Job", "j1") } else { ("ReplicaSet", "rs") };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "web-5d4f-x2", "namespace": "shop", "uid": "u1", "creationTimestamp": "2026-11-21T08:00:00Z",
            "labels": {"app": "web", "pod-template-hash": "5d4f"},
            "deletionTimestamp": if is(how, 4) { json!(BEFORE) } else { Value::Null },
            "ownerReferences": [{"apiVersion": "v1", "kind": owner.0, "name": "web-5d4f", "uid": owner.1, "controller": true}],
        },
        "spec": {
            "nodeName": if phase == "Pending" { Value::Null } else { json!("n1") },
            "restartPolicy": if is(how, 3) { "OnFailure" } else { "Always" },
            "containers": [
                {"name": "app", "image": texts.message(2), "envFrom": [{"configMapRef": {"name": "c"}}],
                 "resources": {"requests": {"cpu": "8", "example.com/gpu": "1"}, "limits": {"memory": "64Mi"}},
                 "livenessProbe": {"httpGet": {"path": "/healthz", "port": 80}}},
                {"name": "db", "image": "db:1"},
            ],
            "initContainers": [{"name": "init", "image": "init:1"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
        "status": {
            "phase": phase, "reason": texts.reason(3), "message": texts.message(3),
            "conditions": [
                condition("PodScheduled", if phase == "Pending" { "False" } else { "True" }, 4),
                condition("Ready", "False", 5),
                condition("DisruptionTarget", if is(how, 5) { "True" } else { "False" }, 6),
            ],
            "initContainerStatuses": [{"name": "init", "state": {"terminated": {"exitCode": 0}}}],
            "containerStatuses": [
                {"name": "app", "restartCount": 3, "state": state, "lastState": {"terminated": ended(7)}},
                {"name": "db", "restartCount": 1, "state": {"terminated": ended(8)}},
            ],
        },
    })
}

fn node(texts: &Texts, how: u8) -> Value {
    let condition = |kind: &str, status: &str, place: usize| json!({"type": kind, "status": status, "reason": texts.reason(place), "message": texts.message(place), "lastTransitionTime": LATELY});
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "n1"},
        "spec": {"taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"},
            "conditions": [
                condition("Ready", if is(how, 6) { "False" } else { "True" }, 9),
                condition("KernelDeadlock", if is(how, 7) { "True" } else { "False" }, 10),
            ],
        },
    })
}

fn claim() -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "shop", "uid": "c1"},
        "spec": {"storageClassName": "fast"}, "status": {"phase": "Pending"},
    })
}

fn workloads(texts: &Texts, how: u8) -> Vec<Value> {
    let conditions = |kinds: [&str; 2]| {
        let all = kinds.iter().enumerate().map(|(place, kind)| {
            json!({"type": kind, "status": if is(how, 5) { "True" } else { "False" }, "lastTransitionTime": LATELY,
                "reason": texts.reason(11 + place), "message": texts.message(11 + place)})
        });
        all.collect::<Vec<_>>()
    };
    let template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    let meta = |name: &str, uid: &str| json!({"name": name, "namespace": "shop", "uid": uid, "generation": 2, "creationTimestamp": BEFORE});
    let mut set = meta("web-5d4f", "rs");
    set["ownerReferences"] =
        json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d1", "controller": true}]);
    let mut job = meta("web-5d4f", "j1");
    job["ownerReferences"] =
        json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "web", "uid": "cj", "controller": true}]);
    vec![
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("web", "d1"),
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template},
            "status": {"replicas": 1, "conditions": conditions(["ReplicaFailure", "Progressing"])}}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": set, "spec": {"replicas": 3, "template": template},
            "status": {"conditions": conditions(["ReplicaFailure", "Other"])}}),
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": job, "spec": {"template": template, "backoffLimit": 1},
            "status": {"failed": 2, "conditions": conditions(["FailureTarget", "Failed"])}}),
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta("web", "cj"), "spec": {"schedule": texts.message(13)},
            "status": {"lastScheduleTime": BEFORE}}),
    ]
}

fn events(texts: &Texts) -> impl Iterator<Item = Value> + '_ {
    ABOUT.iter().cycle().take(2 * ABOUT.len()).enumerate().map(|(place, (kind, name, uid))| {
        let is_node = *kind == "Node";
        json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": format!("e{place}"), "namespace": if is_node { "default" } else { "shop" }},
            "involvedObject": {
                "kind": kind, "name": name, "uid": uid, "namespace": if is_node { "" } else { "shop" },
                "fieldPath": if *kind == "Pod" && place > 0 { "spec.containers{app}" } else { "" },
            },
            "reason": texts.reason(place), "message": texts.message(place), "type": "Warning", "count": 3,
            "firstTimestamp": BEFORE, "lastTimestamp": LATELY,
        })
    })
}

/// The reasons and messages of each case, for pods in a few states.
pub fn seeds(every: usize) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for objects in recorded::cases(every) {
        let mut found = BTreeSet::new();
        objects.iter().for_each(|object| pairs(object, &mut found));
        let words: Vec<&str> = found.iter().flat_map(|(reason, message)| [*reason, *message]).collect();
        let words = words.join("\0");
        if words.is_empty() || words.len() > recorded::INPUT_MAX {
            continue;
        }
        seeds.extend(["@@I", "E@I", "B@D", "ILD"].map(|how| format!("{how}{words}").into_bytes()));
    }
    seeds
}

/// Reasons with their messages.
fn pairs<'v>(value: &'v Value, found: &mut BTreeSet<(&'v str, &'v str)>) {
    match value {
        Value::Array(all) => all.iter().for_each(|value| pairs(value, found)),
        Value::Object(all) => {
            let text = |name: &str| all.get(name).and_then(Value::as_str);
            if let Some(message) = text("message").or_else(|| text("note")) {
                found.insert((text("reason").unwrap_or_default(), message));
            }
            all.values().for_each(|value| pairs(value, found));
        }
        _ => {}
    }
}
