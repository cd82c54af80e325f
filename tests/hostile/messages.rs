//! Recorded and mutated messages of kubelets, schedulers and programs, in any field.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

use super::{config, contains_secret, diagnose, is_clean, text};

/// All messages and reasons of the fixtures.
static RECORDED: LazyLock<(Vec<String>, Vec<String>)> = LazyLock::new(|| {
    let (mut messages, mut reasons) = (BTreeSet::new(), BTreeSet::new());
    let causes = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/causes");
    for cause in std::fs::read_dir(causes).unwrap() {
        for file in std::fs::read_dir(cause.unwrap().path()).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            // One recording has a name that the check takes for a secret.
            for line in text.lines().filter(|line| !contains_secret(line, false)) {
                let line = line.trim().trim_start_matches("- ");
                let unquoted = |value: &str| value.trim_matches(['"', '\'']).replace("\\\"", "\"");
                if let Some(value) = line.strip_prefix("message: ").filter(|value| value.len() > 3) {
                    messages.insert(unquoted(value));
                } else if let Some(value) = line.strip_prefix("reason: ") {
                    reasons.insert(unquoted(value));
                }
            }
        }
    }
    assert!(messages.len() > 100 && reasons.len() > 40, "{} {}", messages.len(), reasons.len());
    (messages.into_iter().collect(), reasons.into_iter().collect())
});

fn reason() -> impl Strategy<Value = String> {
    prop_oneof![9 => select(RECORDED.1.clone()), 1 => text()]
}

/// A recorded message, unchanged, truncated, mixed with another one, or repeated.
fn message() -> BoxedStrategy<String> {
    let one = || select(RECORDED.0.clone());
    prop_oneof![
        3 => one(),
        2 => (one(), any::<Index>(), one(), any::<Index>()).prop_map(|(a, at, b, until)| {
            let a: String = a.chars().take(at.index(a.chars().count() + 1)).collect();
            let b: String = b.chars().skip(until.index(b.chars().count() + 1)).collect();
            a + &b
        }),
        2 => (one(), any::<Index>(), text()).prop_map(|(a, at, odd)| {
            let chars: Vec<char> = a.chars().collect();
            let (before, after) = chars.split_at(at.index(chars.len() + 1));
            before.iter().collect::<String>() + &odd + &after.iter().collect::<String>()
        }),
        1 => (one(), 2_usize..200).prop_map(|(a, times)| a.repeat(times)),
        1 => (one(), select(vec!['"', '(', ')', ':', '[', '%', '{', '\\', '\'', '\n'])).prop_map(|(a, with)| {
            a.chars().map(|c| if c == ' ' { with } else { c }).collect()
        }),
    ]
    .boxed()
}

/// A pod, its node and its Events with these texts.
fn objects() -> impl Strategy<Value = Vec<Value>> {
    let texts = proptest::collection::vec((reason(), message()), 9);
    (texts, select(vec!["Pending", "Running", "Failed"]), 0_i64..140).prop_map(|(texts, phase, exit)| {
        let text_pair = |i: usize| json!({"reason": texts[i].0, "message": texts[i].1});
        let with = |i: usize, more: Value| {
            let mut value = text_pair(i);
            value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            value
        };
        let time = "2026-11-21T08:50:00Z";
        let ended = |i: usize| with(i, json!({"exitCode": exit, "startedAt": "2026-11-21T08:40:00Z", "finishedAt": time}));
        let event = |i: usize, container: bool| {
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("e{i}"), "namespace": "shop"},
                "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": "u1",
                    "fieldPath": if container { "spec.containers{app}" } else { "" }},
                "reason": texts[i].0, "message": texts[i].1, "type": "Warning", "count": 3, "lastTimestamp": time})
        };
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "creationTimestamp": "2026-11-21T08:00:00Z"},
            "spec": {"nodeName": if phase == "Pending" { Value::Null } else { json!("n1") },
                "containers": [{"name": "app", "image": texts[8].1}, {"name": "db", "image": "db"}]},
            "status": {"phase": phase, "reason": texts[6].0, "message": texts[6].1,
                "conditions": [with(0, json!({"type": "PodScheduled", "status": if phase == "Pending" { "False" } else { "True" }, "lastTransitionTime": time})),
                    {"type": "Ready", "status": "False", "lastTransitionTime": time}],
                "containerStatuses": [
                    {"name": "app", "restartCount": 3, "state": {"waiting": text_pair(1)}, "lastState": {"terminated": ended(2)}},
                    {"name": "db", "restartCount": 1, "state": {"terminated": ended(3)}}]},
        });
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "n1"},
            "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"},
                "conditions": [with(7, json!({"type": "Ready", "status": if exit > 70 { "True" } else { "False" }, "lastTransitionTime": time}))]}});
        vec![pod, node, event(4, true), event(5, false), event(7, true)]
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_message_gets_a_bounded_and_clean_diagnosis(items in objects()) {
        diagnose(&items).iter().for_each(is_clean);
    }
}
