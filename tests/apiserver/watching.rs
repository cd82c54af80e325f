//! Watches: lists, relists and refusals.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use shindan::cluster::Scope;
use shindan::cluster::watch::spawn;
use shindan::http::Health;
use shindan::metrics::Metrics;
use shindan_core::api::DiagnosisKind;
use shindan_core::state::{Change, Source};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::server::{Call, Calls, Reply, event, initial_end, list, server, status};

struct Watching {
    changes: mpsc::Receiver<Change>,
    calls: Calls,
    metrics: Metrics,
    health: Health,
    /// Ends the watches when dropped.
    _tasks: JoinSet<()>,
}

fn watch(namespaces: &[&str], handler: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Watching {
    watch_within(Scope { namespaces: namespaces.iter().map(|n| (*n).to_owned()).collect(), nodes: true }, handler)
}

fn watch_within(scope: Scope, handler: impl Fn(&Call) -> Reply + Send + Sync + 'static) -> Watching {
    let (client, calls) = server(handler);
    let (sender, changes) = mpsc::channel(64);
    let (metrics, health) = (Metrics::new(), Health::default());
    let tasks = spawn(&client, &scope, &sender, &metrics, &health);
    Watching { changes, calls, metrics, health, _tasks: tasks }
}

impl Watching {
    /// Collects short labels of the changes of one source until `enough`. Time is paused, so a timeout fires at once.
    async fn until(&mut self, source: Source, enough: impl Fn(&[String]) -> bool) -> Vec<String> {
        let mut seen = Vec::new();
        while !enough(&seen) {
            let next = tokio::time::timeout(std::time::Duration::from_secs(600), self.changes.recv()).await;
            let change = next.unwrap_or_else(|_| panic!("nothing more after {seen:?}")).expect("the watches go on");
            if let Some((from, label)) = label(&change)
                && from == source
            {
                seen.push(label);
            }
        }
        seen
    }
}

fn label(change: &Change) -> Option<(Source, String)> {
    Some(match change {
        Change::ListStarted(source) => (*source, "started".to_owned()),
        Change::ListDone(source) => (*source, "done".to_owned()),
        Change::Pod(pod) => (Source::Pods, format!("+{}", pod.uid)),
        Change::PodDeleted(pod) => (Source::Pods, format!("-{}", pod.uid)),
        Change::Node(node) => (Source::Nodes, format!("+{}", node.name)),
        Change::NodeDeleted(name) => (Source::Nodes, format!("-{name}")),
        Change::Event(event) => (Source::Events, format!("+{}", event.reason)),
        Change::Workload(workload) => {
            (Source::Workloads(workload.key.watched_kind()?), format!("+{}", workload.key.name))
        }
        Change::WorkloadDeleted(key) => (Source::Workloads(key.watched_kind()?), format!("-{}", key.name)),
        Change::Object { key, resource_version } => {
            (Source::Objects(key.kind), format!("+{}@{resource_version}", key.object))
        }
        Change::ObjectDeleted(key) => (Source::Objects(key.kind), format!("-{}", key.object)),
        Change::Service { service, .. } => (Source::Services, format!("+{}", service.name)),
        Change::ServiceDeleted(key) => (Source::Services, format!("-{}", key.name)),
        Change::LookupResult { .. }
        | Change::Catalog(_)
        | Change::ResourcesListed { .. }
        | Change::ResourcesFollowed(_)
        | Change::Network(_) => return None,
    })
}

fn pod(name: &str, version: &str) -> Value {
    pod_in("demo", name, version)
}

fn pod_in(namespace: &str, name: &str, version: &str) -> Value {
    json!({"metadata": {"namespace": namespace, "name": name, "uid": name, "resourceVersion": version}})
}

/// An empty list of any kind, streamed if requested.
fn nothing(call: &Call) -> Reply {
    if call.query("sendInitialEvents").is_some() { Reply::Watch(vec![initial_end()]) } else { Reply::Watch(vec![]) }
}

fn is_pods(call: &Call) -> bool {
    call.path.ends_with("/pods")
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_continues_as_a_watch() {
    let mut watching = watch(&[], |call| {
        if is_pods(call) && call.query("sendInitialEvents").is_some() {
            return Reply::Watch(vec![
                event("ADDED", pod("a", "1")),
                initial_end(),
                event("MODIFIED", pod("a", "101")),
                event("DELETED", pod("a", "102")),
            ]);
        }
        nothing(call)
    });
    assert!(!watching.health.is_ready());
    let seen = watching.until(Source::Pods, |seen| seen.len() == 5).await;
    assert_eq!(seen, ["started", "+a", "done", "+a", "-a"]);
    let call = watching.calls.all().into_iter().find(is_pods).unwrap();
    assert_eq!((call.query("timeoutSeconds"), call.query("allowWatchBookmarks")), (Some("90"), Some("true")));
    assert_eq!(watching.calls.count(|call| !call.is_watch()), 0);
}

#[tokio::test(start_paused = true)]
async fn without_streaming_lists_pages_are_requested() {
    let mut watching = watch(&[], |call| {
        if call.query("sendInitialEvents").is_some() {
            let message = "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is \
                           forbidden for watch unless the WatchList feature gate is enabled";
            return status(422, "Invalid", message, json!({}));
        }
        match (call.is_watch(), is_pods(call), call.query("continue")) {
            (true, ..) => Reply::Watch(vec![]),
            (false, true, None) => {
                let metadata = json!({"resourceVersion": "100", "continue": "more"});
                Reply::Json(200, json!({"metadata": metadata, "items": [pod("a", "1")]}))
            }
            (false, true, Some(_)) => list(vec![pod("b", "2")]),
            _ => list(vec![]),
        }
    });
    let seen = watching.until(Source::Pods, |seen| seen.len() == 4).await;
    assert_eq!(seen, ["started", "+a", "+b", "done"]);
    let pages: Vec<_> = watching.calls.all().into_iter().filter(|c| is_pods(c) && !c.is_watch()).collect();
    assert_eq!(pages.iter().map(|c| c.query("limit")).collect::<Vec<_>>(), [Some("500"); 2]);
    assert!(!watching.metrics.encode().unwrap().contains("watch_errors_total"), "a refusal is no error");
}

#[tokio::test(start_paused = true)]
async fn pages_are_requested_if_the_streaming_parameter_is_ignored() {
    let mut watching = watch(&[], |call| {
        if !is_pods(call) {
            return nothing(call);
        }
        match (call.is_watch(), call.query("sendInitialEvents")) {
            (true, Some(_)) => Reply::WatchEnd(vec![event("ADDED", pod("a", "1"))]),
            (true, None) => Reply::Watch(vec![]),
            (false, _) => list(vec![pod("a", "1")]),
        }
    });
    let seen = watching.until(Source::Pods, |seen| seen.last().is_some_and(|last| last == "done")).await;
    assert_eq!(seen, ["started", "+a", "started", "+a", "started", "+a", "done"]);
}

#[tokio::test(start_paused = true)]
async fn a_malformed_object_fails_neither_page_nor_stream() {
    let odd = json!({"metadata": {"namespace": 4, "name": "odd", "uid": "odd", "resourceVersion": "3",
        "labels": ["x"], "managedFields": "none"}, "spec": {"containers": "many", "nodeName": 7},
        "status": {"phase": [], "containerStatuses": [null, 1, {"name": {}}], "startTime": "soon"}});
    for streams in [true, false] {
        let odd = odd.clone();
        let mut watching = watch(&[], move |call| {
            let objects = [pod("a", "1"), odd.clone(), pod("b", "4")];
            match (is_pods(call), call.query("sendInitialEvents").is_some(), call.is_watch()) {
                (_, true, _) if !streams => status(400, "BadRequest", "sendInitialEvents: unknown", json!({})),
                (true, true, _) => {
                    let added = objects.into_iter().map(|object| event("ADDED", object));
                    Reply::Watch(added.chain([initial_end()]).collect())
                }
                (true, _, false) => list(objects.to_vec()),
                (false, _, false) => list(vec![]),
                _ => nothing(call),
            }
        });
        let seen = watching.until(Source::Pods, |seen| seen.len() == 5).await;
        assert_eq!(seen, ["started", "+a", "+odd", "+b", "done"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_leads_to_a_new_list() {
    let lists = AtomicUsize::new(0);
    let mut watching = watch(&[], move |call| {
        if !is_pods(call) || call.query("sendInitialEvents").is_none() {
            return nothing(call);
        }
        let expired =
            json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
        match lists.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::Watch(vec![event("ADDED", pod("a", "1")), initial_end(), event("ERROR", expired)]),
            _ => Reply::Watch(vec![event("ADDED", pod("b", "2")), initial_end()]),
        }
    });
    let seen = watching.until(Source::Pods, |seen| seen.len() == 6).await;
    assert_eq!(seen, ["started", "+a", "done", "started", "+b", "done"]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_does_not_stop_other_watches() {
    let tries = AtomicUsize::new(0);
    let mut watching = watch(&[], move |call| {
        if call.path.ends_with("/nodes") && tries.fetch_add(1, Ordering::Relaxed) < 5 {
            return status(403, "Forbidden", "nodes is forbidden", json!({}));
        }
        nothing(call)
    });
    assert_eq!(watching.until(Source::Pods, |seen| seen.len() == 2).await, ["started", "done"]);
    assert_eq!(watching.until(Source::Nodes, |seen| seen.len() == 2).await, ["started", "done"]);
    let text = watching.metrics.encode().unwrap();
    assert!(text.contains(r#"shindan_watch_errors_total{source="nodes",kind="forbidden"} 5"#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_response_is_restarted() {
    let tries = AtomicUsize::new(0);
    let mut watching = watch(&[], move |call| {
        if is_pods(call) && tries.fetch_add(1, Ordering::Relaxed) == 0 { Reply::NoResponse } else { nothing(call) }
    });
    assert_eq!(watching.until(Source::Pods, |seen| seen.len() == 2).await, ["started", "done"]);
    let text = watching.metrics.encode().unwrap();
    assert!(text.contains(r#"shindan_watch_errors_total{source="pods",kind="timeout"} 1"#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn events_are_listed_after_all_of_their_watches() {
    let mut watching = watch(&[], |call| {
        let selector = call.query("fieldSelector").unwrap_or_default();
        let event_of = |reason: &str| {
            event(
                "ADDED",
                json!({"metadata": {"name": reason, "resourceVersion": "1"}, "reason": reason, "type": "Normal",
                "involvedObject": {"kind": "Pod", "name": "a"}}),
            )
        };
        let reasons: Vec<&str> = match selector.rsplit_once(",reason=") {
            Some((_, reason)) => vec![reason],
            None if selector.contains("involvedObject.kind=Pod") => {
                vec!["Killing", "SandboxChanged", "Preempted", "TaintManagerEviction", "TriggeredScaleUp"]
            }
            None => return nothing(call),
        };
        Reply::Watch(reasons.into_iter().map(event_of).chain([initial_end()]).collect())
    });
    let mut seen = watching.until(Source::Events, |seen| seen.last().is_some_and(|last| last == "done")).await;
    assert_eq!((seen.remove(0), seen.pop()), ("started".to_owned(), Some("done".to_owned())));
    seen.sort();
    let reasons =
        ["JobAlreadyActive", "Killing", "NodeNotReady", "Preempted", "TaintManagerEviction", "TriggeredScaleUp"];
    assert_eq!(seen, reasons.map(|reason| format!("+{reason}")), "what no rule reads is dropped");
    let warnings = "type!=Normal,reportingComponent!=shindan.dev/operator";
    assert_eq!(watching.calls.count(|call| call.query("fieldSelector") == Some(warnings)), 1);
    let has_ours =
        |call: &Call| call.query("fieldSelector").is_some_and(|s| !s.contains("reportingComponent!=shindan"));
    assert_eq!(
        watching.calls.count(|call| call.path.ends_with("/events") && has_ours(call)),
        0,
        "our own never come back"
    );
}

#[tokio::test(start_paused = true)]
async fn a_relist_of_one_of_two_namespaces_finds_its_deletions() {
    let lists = AtomicUsize::new(0);
    let mut watching = watch(&["one", "two"], move |call| {
        if call.query("sendInitialEvents").is_none() || !is_pods(call) {
            return nothing(call);
        }
        if call.path.contains("/two/") {
            return Reply::Watch(vec![event("ADDED", pod_in("two", "c", "1")), initial_end()]);
        }
        let expired =
            json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"});
        let added = |name: &str| event("ADDED", pod_in("one", name, "1"));
        match lists.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::Watch(vec![added("a"), added("b"), initial_end(), event("ERROR", expired)]),
            _ => Reply::Watch(vec![added("b"), initial_end()]),
        }
    });
    let mut seen = watching.until(Source::Pods, |seen| seen.iter().any(|label| label == "-a")).await;
    for once in ["started", "done"] {
        assert_eq!(seen.iter().filter(|label| *label == once).count(), 1, "{seen:?}");
    }
    seen.sort();
    assert_eq!(seen, ["+a", "+b", "+b", "+c", "-a", "done", "started"]);
}

/// A Role refuses requests outside its namespaces, so none may be sent.
#[tokio::test(start_paused = true)]
async fn without_nodes_no_cluster_scoped_request_is_sent() {
    let scope = Scope { namespaces: vec!["one".to_owned(), "two".to_owned()], nodes: false };
    let mut watching = watch_within(scope, nothing);
    while !watching.health.is_ready() {
        let next = tokio::time::timeout(std::time::Duration::from_secs(600), watching.changes.recv()).await;
        assert!(next.is_ok_and(|change| change.is_some()), "all that is watched is listed");
    }
    for call in watching.calls.all() {
        assert!(call.path.contains("/namespaces/one/") || call.path.contains("/namespaces/two/"), "{}", call.path);
    }
}

#[tokio::test(start_paused = true)]
async fn events_about_nodes_are_read_in_their_namespace() {
    let about_nodes = "involvedObject.kind=Node,reportingComponent!=shindan.dev/operator";
    let is_apart =
        |call: &Call| call.path.contains("/namespaces/default/") && call.query("fieldSelector") == Some(about_nodes);
    let mut watching = watch(&["demo"], move |call| {
        if !is_apart(call) {
            return nothing(call);
        }
        let rebooted = json!({"metadata": {"name": "r", "resourceVersion": "1"}, "reason": "Rebooted",
            "involvedObject": {"kind": "Node", "name": "n1"}});
        Reply::Watch(vec![event("ADDED", rebooted), initial_end()])
    });
    let seen = watching.until(Source::Events, |seen| seen.last().is_some_and(|last| last == "done")).await;
    assert_eq!(seen, ["started", "+Rebooted", "done"]);

    for watched in [&[][..], &["demo", "default"]] {
        let mut watching = watch(watched, nothing);
        watching.until(Source::Events, |seen| seen.last().is_some_and(|last| last == "done")).await;
        assert_eq!(watching.calls.count(is_apart), 0, "they are among the others: {watched:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn our_own_objects_are_watched_by_their_metadata() {
    let mut watching = watch(&[], |call| {
        if call.path.ends_with("/poddiagnoses") && call.query("sendInitialEvents").is_some() {
            return Reply::Watch(vec![event("ADDED", pod("web", "7")), initial_end()]);
        }
        nothing(call)
    });
    let seen = watching.until(Source::Objects(DiagnosisKind::Pod), |seen| seen.len() == 3).await;
    assert_eq!(seen, ["started", "+demo/web@7", "done"]);
    let calls = watching.calls.all();
    let own = calls.iter().find(|call| call.path.ends_with("/poddiagnoses")).unwrap();
    assert!(own.accept.contains("as=PartialObjectMetadata"), "{}", own.accept);
}
