use shindan_core::api::{
    Confidence, Head, NodeDiagnosisSpec, PodDiagnosisSpec, RootReach, WorkloadDiagnosisSpec, WorkloadDiagnosisStatus,
    WorkloadRef,
};
use shindan_core::facts::ObjectKey;

use super::*;
use crate::notify::message::Change;

/// A Warning of `shop/Deployment/NAME` without a root.
pub(crate) fn member(name: &str) -> Member {
    Member {
        diagnosis: DiagnosisKey {
            kind: DiagnosisKind::Workload,
            object: ObjectKey::new("shop", format!("deployment-{name}")),
        },
        incident: format!("shop/Deployment/{name}").into(),
        root: None,
        namespace: "shop".into(),
        object: format!("Deployment/{name}").into(),
        state: DiagnosisState::Active,
        cause: "OOMKilled".to_owned(),
        category: "Crash".to_owned(),
        severity: Severity::Warning,
        summary: format!("{name} exceeds its memory limit of 128Mi"),
        remedies: vec![("Raise the memory limit".to_owned(), Some(format!("kubectl set resources deployment/{name}")))],
        recurrence: None,
        since: Some("2026-11-28T10:00:00Z".parse().unwrap()),
        changed: Some("2026-11-28T10:00:05Z".parse().unwrap()),
        pods: 2,
    }
}

/// The same with a registry as its root.
pub(crate) fn of_registry(namespace: &str, name: &str) -> Member {
    Member {
        diagnosis: DiagnosisKey {
            kind: DiagnosisKind::Workload,
            object: ObjectKey::new(namespace, format!("deployment-{name}")),
        },
        incident: "Registry/registry.example.com".into(),
        root: Some(RootKind::Registry.named("registry.example.com")),
        namespace: namespace.into(),
        cause: "RegistryConnectionRefused".to_owned(),
        category: "Image".to_owned(),
        summary: "image registry.example.com/web:1 cannot be pulled: connection refused".to_owned(),
        ..member(name)
    }
}

fn workload(kind: &str, namespace: &str, name: &str, root: Option<Root>) -> Option<Member> {
    let spec = WorkloadDiagnosisSpec {
        workload: WorkloadRef {
            api_version: "apps/v1".to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
            display: format!("{kind}/{name}"),
        },
        workload_uid: "u".to_owned(),
    };
    let status: WorkloadDiagnosisStatus = serde_json::from_value(serde_json::json!({
        "state": "Active", "severity": "Warning", "confidence": "Certain", "cause": "OOMKilled", "category": "Crash",
        "summary": "s", "pods": {"failing": 3},
    }))
    .unwrap();
    let root = root.map(|root| RootReach { root, ..RootReach::default() });
    let key = DiagnosisKey { kind: DiagnosisKind::Workload, object: ObjectKey::new(namespace, "d") };
    Member::of(&key, &Object::Workload(spec, WorkloadDiagnosisStatus { root, ..status }))
}

#[test]
fn the_root_is_the_incident_with_its_namespace_if_it_has_one() {
    let root = |kind: RootKind, name: &str| Some(kind.named(name));
    for (found, incident) in [
        (None, "team-a/Deployment/web"),
        (root(RootKind::Registry, "docker.io"), "Registry/docker.io"),
        (root(RootKind::Node, "n1"), "Node/n1"),
        (root(RootKind::Secret, "db"), "team-a/Secret/db"),
        // Each owner of a manifest that names it must correct their own.
        (root(RootKind::Image, "web:1"), "team-a/Image/web:1"),
        (Some(Root { kind: "Unheard".to_owned(), name: "x".to_owned() }), "team-a/Unheard/x"),
    ] {
        assert_eq!(&*workload("Deployment", "team-a", "web", found).unwrap().incident, incident);
    }
}

#[test]
fn a_pod_is_reported_with_its_workload_and_alone_without_one() {
    let pod = |workload: Option<WorkloadRef>| {
        let spec = PodDiagnosisSpec { pod_name: "web-x".to_owned(), workload, ..PodDiagnosisSpec::default() };
        let status = serde_json::json!({
            "state": "Active", "severity": "Critical", "confidence": "Certain", "cause": "AppError", "category": "Crash",
        });
        let key = DiagnosisKey::of_pod(ObjectKey::new("shop", "web-x"));
        Member::of(&key, &Object::Pod(spec, serde_json::from_value(status).unwrap()))
    };
    let of = |api_version: &str, kind: &str| {
        let (api_version, kind, name) = (api_version.to_owned(), kind.to_owned(), "web".to_owned());
        Some(WorkloadRef { api_version, kind, name, display: String::new() })
    };
    assert_eq!(&*pod(None).unwrap().incident, "shop/Pod/web-x");
    assert_eq!(pod(of("apps/v1", "Deployment")), None, "the WorkloadDiagnosis has it");
    // This kind has no diagnosis of its own.
    assert_eq!(&*pod(of("argoproj.io/v1alpha1", "Rollout")).unwrap().incident, "shop/Rollout/web");
    let spec = NodeDiagnosisSpec { node_name: "n1".to_owned(), ..NodeDiagnosisSpec::default() };
    let head = Head::active("NodeNotReady", "Node", Severity::Critical, Confidence::Certain, "s".to_owned());
    let mut status = serde_json::to_value(head).unwrap();
    status["pods"] = 30.into();
    let node = Member::of(&DiagnosisKey::of_node("n1"), &Object::Node(spec, serde_json::from_value(status).unwrap()));
    assert_eq!(&*node.unwrap().incident, "Node/n1", "with the workloads whose root is this node");
}

#[test]
fn twenty_workloads_of_one_root_are_one_incident() {
    let mut incidents = Incidents::default();
    for at in 0..20 {
        let member = of_registry(["a", "b", "c"][at % 3], &format!("web{at}"));
        let severity = if at == 7 { Severity::Critical } else { Severity::Warning };
        incidents.apply(Member { severity, ..member }, 1);
    }
    assert_eq!(incidents.len(), 1);
    let notice = incidents.notice(&"Registry/registry.example.com".into(), 0).unwrap();
    assert_eq!((notice.affected, notice.namespaces.len(), notice.pods), (20, 3, 40));
    assert_eq!(notice.severity, Severity::Critical);
    assert_eq!(notice.objects.first().unwrap().to_string(), "b/Deployment/web7", "the most severe comes first");
    assert_eq!(notice.objects.len(), OBJECTS_MAX);
    let lines = notice.lines(Change::Opened);
    let line = |name: &str| lines.iter().find(|(of, _)| *of == name).map(|(_, text)| text.as_str());
    let problem = "b/Deployment/web7: image registry.example.com/web:1 cannot be pulled: connection refused";
    assert_eq!(line("Problem"), Some(problem), "whose summary it is");
    assert_eq!(line("Namespaces"), Some("a, b, c"));
}

#[test]
fn the_remedy_of_several_objects_is_the_one_that_they_share() {
    let mend = || ("Start the registry".to_owned(), None);
    let read = || ("Read the log".to_owned(), Some("kubectl logs".to_owned()));
    let undo = |name: &str| ("Go back to revision 2".to_owned(), Some(format!("kubectl rollout undo {name}")));
    let notice = |remedies: [Vec<(String, Option<String>)>; 2]| {
        let mut incidents = Incidents::default();
        for (name, remedies) in ["a", "b"].into_iter().zip(remedies) {
            let recurrence = Some("2nd time in 7 days".to_owned());
            incidents.apply(Member { remedies, recurrence, ..of_registry("shop", name) }, 1);
        }
        incidents.notice(&"Registry/registry.example.com".into(), 0).unwrap()
    };
    let shared = notice([vec![undo("a"), mend(), read()], vec![undo("b"), mend(), read()]]);
    assert_eq!(shared.remedy, Some(mend()));
    assert_eq!(shared.recurrence, None, "it is that of one object");
    let mostly = notice([vec![mend(), read()], vec![undo("b"), mend(), read()]]);
    assert_eq!(mostly.remedy, Some(mend()), "the one that is stated first");
    let own = notice([vec![undo("a")], vec![undo("b")]]);
    let expected = ("shop/Deployment/a: Go back to revision 2".to_owned(), undo("a").1);
    assert_eq!(own.remedy, Some(expected));
    assert_eq!(own.lines(Change::Opened).last().unwrap(), &("Command", "kubectl rollout undo a".to_owned()));
}

#[test]
fn a_receiver_sees_only_what_is_routed_to_it() {
    let mut incidents = Incidents::default();
    incidents.apply(of_registry("team-a", "web"), 0b01);
    incidents.apply(of_registry("team-b", "api"), 0b10);
    let key: IncidentKey = "Registry/registry.example.com".into();
    let names = |receiver| incidents.notice(&key, receiver).map(|notice| notice.namespaces);
    assert_eq!(names(0), Some(vec!["team-a".to_owned()]));
    assert_eq!(names(1), Some(vec!["team-b".to_owned()]));
    assert_eq!(names(2), None);
}

#[test]
fn an_incident_ends_with_its_last_diagnosis_or_moves_to_another_root() {
    let mut incidents = Incidents::default();
    let (web, registry): (IncidentKey, IncidentKey) =
        ("shop/Deployment/web".into(), "Registry/registry.example.com".into());
    assert_eq!(incidents.apply(member("web"), 1), std::slice::from_ref(&web));
    assert_eq!(incidents.apply(of_registry("shop", "web"), 1), [web.clone(), registry.clone()]);
    assert_eq!(incidents.notice(&web, 0), None);
    incidents.forget_ended(&web);
    let ended = Member {
        state: DiagnosisState::Recovered,
        summary: "3 of 3 pods are ready".to_owned(),
        ..of_registry("shop", "web")
    };
    assert_eq!(incidents.apply(ended, 1), std::slice::from_ref(&registry));
    assert_eq!(incidents.end_of(&registry).how, "3 of 3 pods are ready");
    incidents.forget_ended(&registry);
    assert!(incidents.is_empty());
    assert_eq!(incidents.apply(Member { state: DiagnosisState::Gone, ..member("other") }, 1), [] as [IncidentKey; 0]);
}

#[test]
fn a_failure_that_returned_states_how_often_and_what_ended_it() {
    let spec = WorkloadDiagnosisSpec { workload: WorkloadRef::default(), workload_uid: "u".to_owned() };
    let status: WorkloadDiagnosisStatus = serde_json::from_value(serde_json::json!({
        "state": "Active", "severity": "Warning", "confidence": "Certain", "cause": "OOMKilled", "category": "Crash",
        "summary": "s", "firstSeen": "2026-11-28T10:00:00Z",
        "pastFailures": [{"cause": "OOMKilled", "startedAt": "2026-11-27T08:00:00Z", "endedAt": "2026-11-27T08:12:00Z",
            "endedBy": "Rollback", "revision": 4}],
    }))
    .unwrap();
    let key = DiagnosisKey { kind: DiagnosisKind::Workload, object: ObjectKey::new("shop", "d") };
    let member = Member::of(&key, &Object::Workload(spec, status)).unwrap();
    let mut incidents = Incidents::default();
    let changed = incidents.apply(member, 1);
    let notice = incidents.notice(&changed[0], 0).unwrap();
    let line = "2nd time in 7 days; last time ended by a rollback to revision 4, after 12 min";
    assert_eq!(notice.recurrence.as_deref(), Some(line));
}
