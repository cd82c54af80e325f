use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use shindan_core::case::Thresholds;
use shindan_core::fixture;

use super::*;
use crate::cli::look::testing;

const PLANTED: &str = "s3cr3t-Pl4nted";
const NOW: &str = "2026-11-21T09:10:00Z";

fn settings(replaces_names: bool) -> Settings {
    Settings { kubernetes: "v1.37.2".to_owned(), replaces_names, most: 20 << 20 }
}

/// The dump of a namespace, or of an object in it.
async fn dumped(
    objects: &[Value],
    refused: &'static [&'static str],
    (namespace, word): (&str, Option<&str>),
    settings: &Settings,
    now: Timestamp,
) -> anyhow::Result<Dumped> {
    let clients = testing::cluster(objects.to_vec(), refused);
    let words: Vec<String> = word.map(ToOwned::to_owned).into_iter().collect();
    let asked = Asked::without_discovery(&words).unwrap().unwrap();
    let place = Some(namespace.to_owned()).filter(|_| !asked.is_cluster_scoped());
    let question = Question::new(&clients, place, asked, Thresholds::default(), Duration::from_secs(5)).await?;
    document(&question, settings, now).await
}

/// The objects of a text.
fn objects_of(text: &str) -> Vec<Value> {
    let documents = text.split("\n---").filter_map(|document| serde_saphyr::from_str::<Value>(document).ok());
    let objects = documents.flat_map(|value| match &value["items"] {
        Value::Array(items) => items.clone(),
        _ => vec![value],
    });
    objects.filter(Value::is_object).collect()
}

/// The diagnoses of a text, as of a time.
fn diagnosed(text: &str, now: Timestamp) -> Found {
    let mut dump = shindan_core::wire::Dump::default();
    dump.read(text);
    assert_eq!(dump.problems, [], "{text}");
    let has_all_pods = spans_namespaces(&dump);
    comparison::diagnose(dump, has_all_pods, Thresholds::default(), now)
}

/// One fixture of each cause, with the time of its diagnosis.
fn fixtures() -> Vec<(PathBuf, String, Timestamp)> {
    let causes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/causes");
    let mut folders: Vec<PathBuf> = fs::read_dir(causes).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    let all = folders.into_iter().filter(|folder| folder.is_dir()).filter_map(|folder| {
        let mut cases: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        cases.sort();
        let case = cases.into_iter().find(|case| !case.file_name().unwrap().to_string_lossy().starts_with("not-"))?;
        let text = fs::read_to_string(&case).unwrap();
        let mut dump = shindan_core::wire::Dump::default();
        dump.read(&text);
        let clock = fixture::directives(&text, "judged-at").chain(fixture::directives(&text, "recorded-at")).next();
        let now = clock.map(|(_, time)| time.parse().unwrap()).or(dump.newest)?;
        Some((case, text, now))
    });
    all.collect()
}

/// The diagnoses that a dump of a namespace can have: those of nodes are of no namespace.
fn of_namespace(mut found: Found, namespace: &str) -> Found {
    found.pods.retain(|pod| &*pod.key.namespace == namespace);
    found.nodes_and_workloads.retain(|of| &*of.key.object.namespace == namespace);
    found
}

#[tokio::test]
async fn dump_has_the_diagnoses_of_the_cluster() {
    let mut checked = 0;
    for (case, text, now) in fixtures() {
        let objects = objects_of(&text);
        let namespaces: BTreeSet<&str> = objects
            .iter()
            .filter(|of| of["kind"] == "Pod")
            .filter_map(|of| of["metadata"]["namespace"].as_str())
            .collect();
        for namespace in namespaces {
            let of = (namespace, None);
            let dump = dumped(&objects, &[], of, &settings(false), now).await.unwrap();
            assert_eq!(dump.warnings, [""; 0], "{}", case.display());
            let found = of_namespace(diagnosed(&dump.document.text, now), namespace);
            let whole = without_names(&diagnosed(&dump.document.text, now));
            // The fixture itself is what a dump by kubectl would be.
            let clients = testing::cluster(objects.clone(), &[]);
            let limit = Duration::from_secs(5);
            let question =
                Question::new(&clients, Some(namespace.to_owned()), Asked::All, Thresholds::default(), limit)
                    .await
                    .unwrap();
            let live = question.answer(now).await.unwrap();
            assert_eq!(answer(&found), answer(&live.found), "{}", case.display());
            let replaced = dumped(&objects, &[], of, &settings(true), now).await.unwrap();
            assert_eq!(replaced.warnings, [""; 0], "{}", case.display());
            let without = without_names(&diagnosed(&replaced.document.text, now));
            assert_eq!(without, whole, "{} with replaced names", case.display());
            checked += live.found.len();
        }
    }
    assert!(checked > 300, "{checked}");
}

/// A Deployment whose pod exits, another one, and what belongs to them, with secrets.
fn shop() -> Vec<Value> {
    let meta = |name: &str| {
        json!({"name": name, "namespace": "shop", "uid": name, "creationTimestamp": "2026-11-21T08:00:00Z",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": format!("{{\"password\": \"{PLANTED}\"}}")}})
    };
    let owned = |name: &str, kind: &str, owner: &str| {
        let mut meta = meta(name);
        meta["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": owner, "controller": true}]);
        meta["labels"] = json!({"app": owner.split('-').next(), "pod-template-hash": "5d4f7c9b"});
        meta
    };
    let template = json!({"containers": [{"name": "app", "image": "reg.acme.com/pay/checkout:1", "args": ["--db-password", PLANTED],
        "env": [{"name": "A", "value": PLANTED}]}]});
    let mut objects = Vec::new();
    for name in ["checkout", "basket"] {
        let set = format!("{name}-5d4f7c9b");
        let pod = format!("{set}-x2x4z");
        let mut spec = template.clone();
        spec["nodeName"] = "n1".into();
        let end = json!({"exitCode": 1, "reason": "Error", "startedAt": "2026-11-21T09:00:00Z", "finishedAt": "2026-11-21T09:00:05Z",
            "message": format!("cannot log in at {name}: password={PLANTED}")});
        objects.extend([
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(name), "spec": {"replicas": 1,
                "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}}, "spec": template}},
                "status": {"replicas": 1}}),
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": owned(&set, "Deployment", name), "spec": {"replicas": 1,
                "template": {"metadata": {"labels": {"app": name}}, "spec": template}}}),
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": owned(&pod, "ReplicaSet", &set), "spec": spec,
                "status": {"phase": "Running", "containerStatuses": [{"name": "app", "restartCount": 5, "ready": false,
                    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}, "lastState": {"terminated": end}}]}}),
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{pod}.1"), "namespace": "shop"},
                "involvedObject": {"kind": "Pod", "namespace": "shop", "name": pod, "uid": pod}, "type": "Warning", "reason": "BackOff",
                "message": format!("Back-off restarting failed container app in pod {pod}_shop(u), token={PLANTED}"),
                "lastTimestamp": "2026-11-21T09:05:00Z", "count": 7}),
        ]);
    }
    objects.extend([
        json!({"apiVersion": "v1", "kind": "Service", "metadata": meta("checkout"), "spec": {"selector": {"app": "checkout"}}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta("login"), "data": {"password": PLANTED}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("settings"), "data": {"mode": PLANTED}}),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "n1"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
    ]);
    objects
}

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

#[tokio::test]
async fn no_secret_is_in_a_dump() {
    for replaces_names in [false, true] {
        let dump = dumped(&shop(), &[], ("shop", None), &settings(replaces_names), now()).await.unwrap();
        assert_eq!(dump.warnings, [""; 0]);
        assert!(!dump.document.text.contains(PLANTED), "{}", dump.document.text);
        assert!(dump.document.text.contains("password=***"), "{}", dump.document.text);
    }
}

#[tokio::test]
async fn dump_of_a_workload_has_what_belongs_to_it() {
    let dump = dumped(&shop(), &[], ("shop", Some("deploy/checkout")), &settings(false), now()).await.unwrap();
    let text = &dump.document.text;
    assert!(!text.contains("basket"), "{text}");
    let kinds: Vec<String> =
        objects_of(text).iter().map(|of| of["kind"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(kinds, ["Deployment", "ReplicaSet", "Service", "Node", "Pod", "Event"]);
    assert_eq!(answer(&diagnosed(text, now())).len(), 2, "{text}");
}

#[tokio::test]
async fn head_states_how_to_diagnose_the_dump() {
    let dump = dumped(&shop(), &["events"], ("shop", Some("deploy/checkout")), &settings(true), now()).await.unwrap();
    let missing = "not allowed to list events: causes that only Events show are missing or less certain";
    assert_eq!(dump.warnings, [missing]);
    let head: Vec<&str> = dump.document.text.lines().take_while(|line| line.starts_with('#')).collect();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        head,
        [
            format!("# Written by shindan dump {version} from Kubernetes v1.37.2, for a bug report.").as_str(),
            "# Objects: Deployment workload-1 in namespace namespace-1, and what their diagnosis depends on.",
            "# judged-at: 2026-11-21T09:10:00Z",
            "# Diagnose it with `shindan diagnose -f FILE -n namespace-1`.",
            "# Left out: fields that no diagnosis reads, values of variables, and the content of ConfigMaps and Secrets.",
            "# Masked: secrets in texts, as in diagnoses. Pods of other namespaces have only what counts for room on nodes.",
            "# Replaced: names of objects, hosts and images, IP addresses and UIDs. Container names are as they were.",
            &format!("# Left out: {missing}"),
        ]
    );
    for name in ["checkout", "acme", "shop"] {
        assert!(!dump.document.text.contains(name), "{name}: {}", dump.document.text);
    }
}

#[tokio::test]
async fn dump_that_would_be_too_large_has_no_old_events() {
    let mut objects = shop();
    let event = objects[3].clone();
    for minute in 10..40 {
        let mut event = event.clone();
        event["metadata"]["name"] = format!("e{minute}").into();
        event["lastTimestamp"] = format!("2026-11-21T08:{minute}:00Z").into();
        objects.push(event);
    }
    let small = Settings { most: 8000, ..settings(false) };
    let dump = dumped(&objects, &[], ("shop", Some("deploy/checkout")), &small, now()).await.unwrap();
    let text = &dump.document.text;
    assert!(text.len() < 9000, "{}", text.len());
    assert!(text.contains("09:05:00") && text.contains("08:39:00") && !text.contains("08:10:00"), "{text}");
    let note = dump.document.note.unwrap();
    assert!(note.contains(" are left out: Event: "), "{note}");
    assert!(text.contains(&format!("# Left out: {note}")));
}

#[tokio::test]
async fn dump_of_what_does_not_exist_is_an_error() {
    let error = |refused, word| async move {
        let dump = dumped(&shop(), refused, ("shop", Some(word)), &settings(false), now()).await;
        format!("{:#}", dump.unwrap_err())
    };
    assert_eq!(error(&[], "deploy/checkuot").await, "there is no Deployment checkuot in namespace shop");
    assert_eq!(error(&[], "deployments").await, "give the names of the objects too, as in deploy/web");
    let forbidden = error(&["pods"], "deploy/checkout").await;
    assert!(forbidden.starts_with("cannot read the cluster at here: 403 Forbidden"), "{forbidden}");
}

#[tokio::test]
async fn pod_that_finds_no_node_is_dumped_with_what_the_nodes_have() {
    let pod = |namespace: &str, name: &str, node: Option<&str>, cpu: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": namespace, "name": name, "uid": name,
            "creationTimestamp": "2026-11-21T08:00:00Z"}, "spec": {"nodeName": node, "containers": [{"name": "app", "image": "a:1",
                "env": [{"name": "X", "value": PLANTED}], "resources": {"requests": {"cpu": cpu}}}]}, "status": {"phase": "Pending"}})
    };
    let mut waiting = pod("shop", "web", None, "3");
    waiting["status"]["conditions"] = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "lastTransitionTime": "2026-11-21T08:00:00Z", "message": "0/1 nodes are available: 1 Insufficient cpu."}]);
    let objects = vec![
        waiting,
        pod("ops", "agent", Some("n1"), "2"),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "n1"}, "status": {"allocatable": {"cpu": "4",
            "memory": "8Gi", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]}}),
    ];
    let dump = dumped(&objects, &[], ("shop", Some("pod/web")), &settings(false), now()).await.unwrap();
    assert_eq!(dump.warnings, [""; 0]);
    let found = diagnosed(&dump.document.text, now());
    assert_eq!(found.pods.len(), 1, "{}", dump.document.text);
    let evidence: Vec<_> = found.pods[0].status.head.evidence.iter().map(|of| of.value.clone()).collect();
    assert!(evidence.iter().any(|value| value.contains("cpu")), "{evidence:?}");
    assert!(!dump.document.text.contains(PLANTED));
}
