//! Objects of any shape, in lists and files. An invalid object must not affect others.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};
use shindan_core::wire::Dump;

use super::{config, diagnose, is_clean, text};

/// The kinds that are read.
const KINDS: [&str; 18] = [
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
    "Lease",
    "Secret",
];

/// Objects as a cluster has them.
fn recorded() -> Vec<Value> {
    let text = include_str!("../../examples/broken-cluster.yaml");
    let items = text.split("\n---\n").map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    items.flat_map(|value| value["items"].as_array().cloned().unwrap_or_else(|| vec![value])).collect()
}

/// Any value at all.
fn any_value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<u64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|n| json!(n)),
        text().prop_map(|t| json!(t)),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((text(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
    .boxed()
}

/// All places of a value.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(all) => all.iter().enumerate().for_each(|(i, v)| places(v, &format!("{at}/{i}"), found)),
        Value::Object(all) => {
            let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
            all.iter().for_each(|(key, v)| places(v, &format!("{at}/{}", escaped(key)), found));
        }
        _ => {}
    }
}

/// A recorded object, as any kind, with other values in a few places.
fn object() -> impl Strategy<Value = Value> {
    let changes = proptest::collection::vec((any::<Index>(), any_value()), 0..5);
    (select(recorded()), proptest::option::weighted(0.3, select(KINDS.to_vec())), changes).prop_map(
        |(mut object, kind, changes)| {
            let own = object["kind"].clone();
            for (at, value) in changes {
                let mut found = Vec::new();
                places(&object, "", &mut found);
                let at: &String = at.get(&found);
                let place = object.pointer_mut(at).unwrap();
                *place = value;
            }
            if let Value::Object(map) = &mut object {
                map.insert("kind".to_owned(), kind.map_or(own, |kind| json!(kind)));
                // Lists are tested separately.
                map.remove("items");
            }
            object
        },
    )
}

fn good(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
}

fn names(dump: &Dump) -> Vec<&str> {
    dump.nodes.iter().map(|node| &*node.name).filter(|name| name.starts_with("good-")).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_object_affects_another_one(objects in proptest::collection::vec(object(), 1..4)) {
        let mut items = vec![good("good-a")];
        items.extend(objects);
        items.push(good("good-b"));
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        let mut as_json = Dump::default();
        as_json.read(&list.to_string());
        prop_assert_eq!(&as_json.problems, &[]);
        prop_assert_eq!(names(&as_json), ["good-a", "good-b"]);
        diagnose(&items).iter().for_each(is_clean);
        // The same objects in YAML, if they can be written.
        let Ok(yaml) = serde_saphyr::to_string(&list) else { return Ok(()) };
        let mut as_yaml = Dump::default();
        as_yaml.read(&yaml);
        if as_yaml.problems.is_empty() {
            prop_assert_eq!(names(&as_yaml), ["good-a", "good-b"]);
            prop_assert_eq!(as_yaml.objects, as_json.objects);
        }
    }

    /// Any text is read or refused with an error.
    #[test]
    fn any_text_is_read_or_rejected(
        whole in any::<bool>(),
        from in any::<Index>(),
        to in any::<Index>(),
        piece in prop_oneof![
            text(),
            select(vec!["\n---\n", "{", "}", "[", "\"", "&a ", "*a", "<<: *a", "!!binary ", "\t", "- ", "|", ": ", "\u{feff}", "? "])
                .prop_map(str::to_owned),
        ],
    ) {
        let example = include_str!("../../examples/broken-cluster.yaml");
        // Uses only a few objects, because all take too long.
        let lines: Vec<&str> = example.lines().take(600).collect();
        let (from, to) = (from.index(lines.len()), to.index(lines.len()));
        let cut = [&lines[..from.min(to)], &[piece.as_str()], &lines[from.max(to)..]].concat();
        let text = if whole { cut.join("\n") } else { cut.join("\n").replacen(": ", &piece, 3) };
        let mut dump = Dump::within(8 << 20);
        dump.read(&text);
        prop_assert!(dump.problems.len() <= 51);
    }
}
