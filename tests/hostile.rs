//! Any pod that the API accepts, with missing fields and hostile strings: diagnoses are bounded, clean, have evidence, and do
//! not depend on the order of objects.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};
use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::offline;
use shindan_core::reconcile::Write;
use shindan_core::wire::Dump;
use sound::{contains_secret, is_clean};

#[path = "hostile/messages.rs"]
mod messages;
#[allow(unreachable_pub, reason = "the fuzz targets are crates of their own")]
#[path = "../fuzz/src/sound.rs"]
mod sound;
#[path = "hostile/wire.rs"]
mod wire;

const NOW: &str = "2026-11-21T09:00:00Z";

/// Texts that rules match, and texts that must never be printed.
fn text() -> impl Strategy<Value = String> {
    let texts = select(vec![
        "",
        "CrashLoopBackOff",
        "Back-off pulling image \"a\": ErrImagePull: rpc error: code = NotFound desc = a: not found",
        "back-off 5m0s restarting failed container=app pod=web_shop(u1)",
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s). preemption: 0/3",
        "0/ nodes are available: ",
        "Liveness probe failed: HTTP probe failed with statuscode: 503",
        "Container app failed liveness probe, will be restarted",
        "MountVolume.SetUp failed for volume \"data\" : configmap \"c\" not found",
        "failed to create containerd task: exec: \"\": executable file not found in $PATH: unknown",
        "couldn't find key \u{0} in ConfigMap shop/\u{1b}[31m",
        "password=hunter2 token: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        "lookup ",
        // Written in two parts, so that no scanner takes them for a leak.
        concat!("denied for AK", "IAIOSFODNN7CANARY01"),
        concat!("push with gh", "p_canarycanary0123456789canarycanary"),
        "dial postgres://app:canary7@db:5432/x?password=canary7 refused",
        concat!(
            "-----BEGIN RSA PRIVATE",
            " KEY-----\nMIIEcanaryvQIBADANBgkqhkiG9w0BAQEFAASC\nabccanary=\n-----END RSA PRIVATE KEY-----\nerror: x"
        ),
        "\u{1b}]0;title\u{7}\u{1b}]8;;https://evil.example\u{1b}\\link \u{9b}2J\u{9d}x\u{9c} <script>alert(1)</script>",
        "'; reboot #",
        "$(reboot) `reboot` | reboot",
        "dial tcp ->: ",
        "\"\"\"'''\\\\",
        "the pod's own \u{202e}words\r\nin lines",
        "🦀 über naïve 診断",
    ]);
    prop_oneof![4 => texts.prop_map(str::to_owned), 1 => any::<String>(), 1 => Just("診".repeat(5000))]
}

fn time() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => (-100_000_i64..100_000).prop_map(|s| {
            let now: Timestamp = NOW.parse().unwrap();
            json!(Timestamp::from_second(now.as_second() + s).unwrap().to_string())
        }),
        1 => Just(json!("0001-01-01T00:00:00Z")),
        1 => Just(json!("9999-12-31T23:59:59Z")),
        1 => Just(Value::Null),
        1 => Just(json!("yesterday")),
    ]
}

fn name() -> impl Strategy<Value = Value> {
    select(vec!["app", "db", "istio-proxy", "init", "c"]).prop_map(|n| json!(n))
}

/// Any node name; names hold no secret.
fn node_name() -> BoxedStrategy<Value> {
    select(vec!["n1", "n1", "n2", "n3", "$(halt)\u{1b}[2J;x"]).prop_map(|name| json!(name)).boxed()
}

fn quantity() -> impl Strategy<Value = Value> {
    select(vec!["0", "100m", "64", "1Gi", "15Mi", "1e400", "-1", "", "9223372036854775807", "0.1", "many"])
        .prop_map(|q| json!(q))
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-2_i64..300).prop_map(|n| json!(n)),
        select(vec![i64::MIN, i64::MAX, i64::from(i32::MAX), 137, 143, 139, 255]).prop_map(|n| json!(n)),
        Just(Value::Null),
    ]
}

fn one_of(of: &'static [&'static str]) -> BoxedStrategy<Value> {
    prop_oneof![8 => select(of.to_vec()).prop_map(|w| json!(w)), 1 => text().prop_map(|t| json!(t))].boxed()
}

/// An object with some of these fields.
fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            prop_oneof![5 => value.prop_map(Some), 1 => Just(None)].prop_map(move |v| v.map(|v| (name, v)))
        })
        .collect();
    fields
        .prop_map(|fields| {
            Value::Object(fields.into_iter().flatten().map(|(k, v)| (k.to_owned(), v)).collect::<Map<_, _>>())
        })
        .boxed()
}

fn list(of: BoxedStrategy<Value>, most: usize) -> BoxedStrategy<Value> {
    proptest::collection::vec(of, 0..=most).prop_map(Value::Array).boxed()
}

fn string() -> BoxedStrategy<Value> {
    text().prop_map(|t| json!(t)).boxed()
}

fn ended() -> BoxedStrategy<Value> {
    object(vec![
        ("exitCode", number().boxed()),
        ("signal", number().boxed()),
        (
            "reason",
            one_of(&["Error", "Completed", "OOMKilled", "StartError", "ContainerCannotRun", "ContainerStatusUnknown"]),
        ),
        ("message", string()),
        ("startedAt", time().boxed()),
        ("finishedAt", time().boxed()),
    ])
}

fn state() -> BoxedStrategy<Value> {
    const WAITING: &[&str] = &[
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "ContainerCreating",
        "PodInitializing",
        "InvalidImageName",
    ];
    prop_oneof![
        object(vec![("reason", one_of(WAITING)), ("message", string())]).prop_map(|w| json!({ "waiting": w })),
        object(vec![("startedAt", time().boxed())]).prop_map(|r| json!({ "running": r })),
        ended().prop_map(|t| json!({ "terminated": t })),
        Just(json!({})),
    ]
    .boxed()
}

fn status() -> BoxedStrategy<Value> {
    object(vec![
        ("name", name().boxed()),
        ("ready", any::<bool>().prop_map(|b| json!(b)).boxed()),
        ("started", any::<bool>().prop_map(|b| json!(b)).boxed()),
        ("restartCount", number().boxed()),
        ("image", string()),
        ("state", state()),
        ("lastState", ended().prop_map(|t| json!({ "terminated": t })).boxed()),
    ])
}

fn probe() -> BoxedStrategy<Value> {
    object(vec![
        ("httpGet", object(vec![("path", string()), ("port", prop_oneof![number(), string()].boxed())])),
        ("initialDelaySeconds", number().boxed()),
        ("periodSeconds", number().boxed()),
        ("timeoutSeconds", number().boxed()),
        ("failureThreshold", number().boxed()),
        ("terminationGracePeriodSeconds", number().boxed()),
    ])
}

fn container() -> BoxedStrategy<Value> {
    object(vec![
        ("name", name().boxed()),
        ("image", string()),
        ("command", list(string(), 3)),
        ("args", list(string(), 2)),
        ("livenessProbe", probe()),
        ("readinessProbe", probe()),
        ("startupProbe", probe()),
        ("restartPolicy", one_of(&["Always", "Never", "OnFailure"])),
        (
            "resources",
            (quantity(), quantity())
                .prop_map(
                    |(cpu, memory)| json!({"limits": {"memory": memory}, "requests": {"cpu": cpu, "memory": memory}}),
                )
                .boxed(),
        ),
    ])
}

fn condition() -> BoxedStrategy<Value> {
    object(vec![
        ("type", one_of(&["Ready", "ContainersReady", "Initialized", "PodScheduled", "DisruptionTarget"])),
        ("status", one_of(&["True", "False", "Unknown"])),
        ("reason", one_of(&["Unschedulable", "ContainersNotReady", "SchedulerError", "ReadinessGatesNotReady"])),
        ("message", string()),
        ("lastTransitionTime", time().boxed()),
    ])
}

fn pod() -> BoxedStrategy<Value> {
    let owner = select(vec!["ReplicaSet", "Job", "StatefulSet", "DaemonSet", "Node", "Wolf", "$(rm)\n"]).prop_map(
        |kind| json!([{"apiVersion": "apps/v1", "kind": kind, "name": "web-5", "uid": "rs", "controller": true}]),
    );
    let metadata = object(vec![
        ("creationTimestamp", time().boxed()),
        ("deletionTimestamp", prop_oneof![3 => Just(Value::Null), 1 => time()].boxed()),
        ("ownerReferences", owner.boxed()),
        ("finalizers", list(string(), 2)),
    ]);
    let spec = object(vec![
        ("nodeName", node_name()),
        ("restartPolicy", one_of(&["Always", "Never", "OnFailure"])),
        ("containers", list(container(), 3)),
        ("initContainers", list(container(), 2)),
        ("nodeSelector", text().prop_map(|t| json!({ "zone": t })).boxed()),
        ("terminationGracePeriodSeconds", number().boxed()),
        ("activeDeadlineSeconds", number().boxed()),
        ("schedulerName", string()),
        ("readinessGates", Just(json!([{"conditionType": "g"}])).boxed()),
    ]);
    let pod_status = object(vec![
        ("phase", one_of(&["Pending", "Running", "Failed", "Succeeded", "Unknown"])),
        ("reason", one_of(&["Evicted", "NodeLost", "DeadlineExceeded", "OutOfcpu", "Terminated"])),
        ("message", string()),
        ("startTime", time().boxed()),
        ("conditions", list(condition(), 4)),
        ("containerStatuses", list(status(), 3)),
        ("initContainerStatuses", list(status(), 2)),
    ]);
    (metadata, spec, pod_status)
        .prop_map(|(mut metadata, spec, status)| {
            metadata["name"] = json!("web");
            metadata["namespace"] = json!("shop");
            metadata["uid"] = json!("u1");
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
        })
        .boxed()
}

fn event() -> BoxedStrategy<Value> {
    const REASONS: &[&str] = &[
        "Unhealthy",
        "Killing",
        "BackOff",
        "Failed",
        "FailedMount",
        "FailedAttachVolume",
        "FailedCreatePodSandBox",
        "FailedScheduling",
        "FailedSync",
        "Evicted",
        "NodeNotReady",
        "FailedPostStartHook",
        "Pulling",
    ];
    object(vec![
        ("reason", one_of(REASONS)),
        ("message", string()),
        ("type", one_of(&["Warning", "Normal"])),
        ("count", number().boxed()),
        ("firstTimestamp", time().boxed()),
        ("lastTimestamp", time().boxed()),
        ("eventTime", time().boxed()),
    ])
    .prop_map(|mut event| {
        event["apiVersion"] = json!("v1");
        event["kind"] = json!("Event");
        event["metadata"] = json!({"name": "e", "namespace": "shop"});
        event["involvedObject"] =
            json!({"kind": "Pod", "namespace": "shop", "name": "web", "uid": "u1", "fieldPath": "spec.containers{app}"});
        event
    })
    .boxed()
}

fn node() -> BoxedStrategy<Value> {
    let ready = object(vec![
        ("status", one_of(&["True", "False", "Unknown"])),
        ("reason", one_of(&["KubeletReady", "KubeletNotReady", "NodeStatusUnknown"])),
        ("message", string()),
        ("lastTransitionTime", time().boxed()),
    ]);
    (node_name(), ready, quantity(), time(), list(string(), 2))
        .prop_map(|(name, mut ready, cpu, created, taints)| {
            ready["type"] = json!("Ready");
            let taints: Vec<_> =
                taints.as_array().unwrap().iter().map(|key| json!({"key": key, "effect": "NoSchedule"})).collect();
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "uid": name, "creationTimestamp": created, "labels": {"zone": "a"}},
                "spec": {"taints": taints},
                "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}, "conditions": [ready]},
            })
        })
        .boxed()
}

/// Nodes, each name once.
fn nodes() -> BoxedStrategy<Vec<Value>> {
    proptest::collection::vec(node(), 0..3)
        .prop_map(|mut nodes| {
            nodes.sort_by_key(|node| node["metadata"]["name"].to_string());
            nodes.dedup_by_key(|node| node["metadata"]["name"].to_string());
            nodes
        })
        .boxed()
}

fn diagnose(items: &[Value]) -> Vec<Write> {
    let mut dump = Dump::default();
    dump.read(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
    dump.pods.iter().for_each(sound::is_kept_whole);
    let report = offline::diagnose(dump, offline::Logs::default(), NOW.parse().unwrap(), Thresholds::default());
    report.nodes_and_workloads.iter().for_each(sound::is_clean);
    report.pods
}

/// The parts of a diagnosis that a user reads.
fn gist(found: &[Write]) -> Vec<Value> {
    found
        .iter()
        .map(|write| {
            let mut status = serde_json::to_value(write.object.pod_status().unwrap()).unwrap();
            // The status as kubectl prints it, which depends on the order of the statuses.
            status["podStatus"] = Value::Null;
            status
        })
        .collect()
}

/// A fixed seed, so that no run fails by chance; HOSTILE_CASES runs that many random cases instead.
fn config() -> ProptestConfig {
    let cases = std::env::var("HOSTILE_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(300),
        rng_seed: if cases.is_some() { RngSeed::Random } else { RngSeed::Fixed(285) },
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_pod_gets_a_bounded_and_clean_diagnosis_with_evidence(
        pod in pod(),
        events in proptest::collection::vec(event(), 0..6),
        nodes in nodes(),
    ) {
        let mut items = vec![pod];
        items.extend(events);
        items.extend(nodes);
        let found = diagnose(&items);
        prop_assert!(found.len() <= 1);
        found.iter().for_each(is_clean);
    }

    #[test]
    fn the_order_of_objects_does_not_matter(
        pod in pod(),
        events in proptest::collection::vec(event(), 0..5),
        nodes in nodes(),
        seed in any::<u64>(),
    ) {
        let mut items = vec![pod];
        items.extend(events);
        items.extend(nodes);
        let before = diagnose(&items);
        let mut other = items.clone();
        shuffle(&mut other, seed);
        prop_assert_eq!(gist(&before), gist(&diagnose(&other)));
    }
}

fn shuffle(items: &mut [Value], seed: u64) {
    let mut state = seed | 1;
    for i in (1..items.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        items.swap(i, usize::try_from(state >> 33).unwrap() % (i + 1));
    }
}
