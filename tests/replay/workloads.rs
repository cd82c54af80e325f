//! Diagnoses of workloads, and the aggregation of the Events of their pods.

use shindan_core::api::DiagnosisState::{Active, Gone, Recovered};
use shindan_core::api::{ContainerType, EndedBy, Remedy, Severity};
use shindan_core::facts::{
    Condition, EventFacts, Labels, Lookup, LookupResult, NodeFacts, Phase, PodFacts, ReachedFacts, ReplicaSetFacts,
    ServiceFacts, TemplateFacts, WorkloadFacts, WorkloadName,
};
use shindan_core::reconcile::Action;
use shindan_core::state::{Change, Source};

use super::operator::{
    HEALTHY, Operator, at, crashed, deployment, dump, event, node, oom_of, pod, pod_of, pod_of_template, rollout,
    workload_object,
};

/// The n-th pod of a Deployment, OOMKilled.
fn failing(workload: &str, n: usize) -> PodFacts {
    oom_of(workload, &format!("{workload}-{n}"), &format!("uid-{workload}-{n}"))
}

/// The n-th pod of a Deployment, ended by SIGSEGV.
fn crashing(workload: &str, n: usize) -> PodFacts {
    let (name, uid) = (format!("{workload}-{n}"), format!("uid-{workload}-{n}"));
    pod_of(&name, &uid, Some(workload), false, &crashed(3, 139, "Error"))
}

/// A Deployment with three failing pods, after its diagnosis.
fn failing_deployment() -> (Operator, WorkloadFacts, Vec<PodFacts>) {
    let mut operator = Operator::idle();
    let web = rollout("web", 3, 0);
    operator.workload(&web);
    let pods: Vec<_> = (1..=3).map(|n| failing("web", n)).collect();
    pods.iter().for_each(|pod| operator.pod(pod));
    operator.advance(30);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed OOMKilled"]);
    (operator, web, pods)
}

/// Replaces the pods of a Deployment by healthy ones.
fn mended(operator: &mut Operator, name: &str, pods: &[PodFacts]) {
    pods.iter().for_each(|pod| operator.deleted(pod));
    for n in 1..=3 {
        operator.pod(&pod_of_template(&format!("{name}-ok-{n}"), &format!("ok-{n}"), Some((name, "6")), true, HEALTHY));
    }
    operator.workload(&rollout(name, 3, 3));
}

#[test]
fn replaced_pods_share_one_failure_history_across_a_restart() {
    let mut operator = Operator::idle();
    let web = rollout("web", 1, 0);
    operator.workload(&web);
    for n in 1..=3 {
        operator.pod(&failing("web", n));
        operator.advance(60);
        operator.deleted(&failing("web", n));
        operator.advance(20);
        assert_eq!(operator.workload_status("deployment-web").head.state, Active, "its next pod is on its way");
    }
    operator.pod(&failing("web", 4));
    operator.advance(400);
    let ledgers = |operator: &Operator| {
        let templates = &operator.workload_status("deployment-web").templates;
        templates.iter().map(|t| (t.template.clone(), t.failed_pods, t.restarts)).collect::<Vec<_>>()
    };
    assert_eq!(ledgers(&operator), [("web-5".to_owned(), 4, 4)], "three of them are deleted");

    let mut operator = operator.restarted(60);
    operator.list_with(&[], &[failing("web", 4)], &[web]);
    operator.advance(400);
    assert_eq!(ledgers(&operator), [("web-5".to_owned(), 4, 4)], "the same pod is not counted again");
    operator.deleted(&failing("web", 4));
    operator.pod(&failing("web", 5));
    operator.pod(&pod_of_template("web-6", "uid-web-6", Some(("web", "6")), false, &crashed(2, 137, "OOMKilled")));
    operator.advance(400);
    assert_eq!(ledgers(&operator), [("web-5".to_owned(), 5, 5), ("web-6".to_owned(), 1, 1)]);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed OOMKilled"]);
}

#[test]
fn the_ledger_of_a_template_goes_on_with_each_restart_and_leaves_out_what_a_node_does() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "08:00:00"));
    operator.workload(&rollout("web", 2, 0));
    let fails = |n: u32| {
        let status = crashed(n, 139, "Error").replace(&format!("T08:{n:02}"), &format!("T09:{n:02}"));
        pod_of("web-1", "uid-1", Some("web"), false, &status)
    };
    operator.advance(180);
    operator.pod(&fails(2));
    operator.advance(120);
    let last = |operator: &Operator| operator.workload_status("deployment-web").templates[0].last_failure;
    let first = last(&operator);
    operator.pod(&fails(4));
    operator.advance(700);
    assert!(last(&operator) > first, "{first:?}, {:?}", last(&operator));
    operator.pod(&pod_of_template("web-2", "uid-2", Some(("web", "5")), true, HEALTHY));
    operator.node(&node("n1", "Unknown", "Kubelet stopped posting node status.", "09:20:00"));
    operator.pod(&pod_of_template("web-2", "uid-2", Some(("web", "5")), false, HEALTHY));
    operator.advance(900);
    assert_eq!(operator.status("web-2").head.category, "Node", "its node is down");
    assert_eq!(operator.workload_status("deployment-web").templates[0].failed_pods, 1);
}

#[test]
fn a_rollout_that_completes_is_the_recovery() {
    let (mut operator, _, pods) = failing_deployment();
    pods.iter().for_each(|pod| operator.deleted(pod));
    operator.workload(&rollout("web", 3, 2));
    operator.advance(120);
    assert_eq!(operator.workload_status("deployment-web").head.state, Active, "the last pod is not ready");
    mended(&mut operator, "web", &[]);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed OOMKilled", "Recovered Recovered"]);
    let status = operator.workload_status("deployment-web");
    assert_eq!(status.head.cause, "OOMKilled", "what it recovered from stays");
    let summary = "3 of 3 pods are ready";
    let healthy = &status.head.conditions[0];
    assert_eq!((status.head.summary.as_str(), healthy.message.as_str()), (summary, summary), "all else is of now");
    assert_eq!((status.problem.as_str(), status.pods.display.as_str(), status.pods.failing), ("None", "3/3", 0));
    assert!(status.head.remedies.is_empty() && status.serving.is_none(), "nothing is to be done any more");
    let end = operator.server().events.iter().find(|e| e.action == Action::Recovered).cloned().expect("the recovery");
    assert_eq!(end.note, "Recovered from OOMKilled: 3 of 3 pods are ready");
}

#[test]
fn another_template_that_fails_the_same_way_within_the_hour_is_news() {
    let (mut operator, web, pods) = failing_deployment();
    mended(&mut operator, "web", &pods);
    operator.advance(30);
    operator.workload(&web);
    operator.pod(&failing("web", 7));
    operator.advance(60);
    let emitted = ["Diagnosed OOMKilled", "Recovered Recovered"];
    assert_eq!(operator.emitted_for_workloads(), emitted, "the same template again");
    operator.deleted(&failing("web", 7));
    mended(&mut operator, "web", &[]);
    operator.advance(30);
    operator.workload(&web);
    operator.pod(&pod_of_template("web-8", "uid-8", Some(("web", "7")), false, &crashed(2, 137, "OOMKilled")));
    operator.advance(60);
    let emitted = [emitted[0], emitted[1], "Diagnosed OOMKilled"];
    assert_eq!(operator.emitted_for_workloads(), emitted);
}

#[test]
fn a_pod_that_takes_long_to_go_holds_up_no_recovery() {
    let (mut operator, _, mut pods) = failing_deployment();
    let mut slow = pods.remove(0);
    slow.deletion = Some(at("09:30:00"));
    operator.pod(&slow);
    mended(&mut operator, "web", &pods);
    assert_eq!(operator.state("web-1"), Active, "it is there still");
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered);
}

#[test]
fn a_workload_that_never_gets_all_its_pods_does_not_stay_active() {
    let (mut operator, _, pods) = failing_deployment();
    pods.iter().for_each(|pod| operator.deleted(pod));
    operator.workload(&rollout("web", 3, 2));
    operator.advance(700);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered, "no failure is observed");
}

#[test]
fn a_service_without_ready_endpoints_does_not_recover_by_a_restart_of_the_operator() {
    let mut web = rollout("web", 1, 1);
    let labels: Labels = [("app", "web")].into_iter().collect();
    let template = TemplateFacts { labels: labels.clone(), ..TemplateFacts::default() };
    web.template = Some(Box::new(template));
    let service = ServiceFacts {
        name: "web".into(),
        created: Some(at("08:00:00")),
        external: false,
        selector: [("app", "wep")].into_iter().collect(),
        ready_endpoints: 0,
        ..ServiceFacts::default()
    };
    let response =
        |services: Vec<ServiceFacts>| LookupResult::Reached(ReachedFacts { services, pods: vec![labels.clone()] });
    let seen = || Change::Service { namespace: "demo".into(), service: service.clone() };
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.insert(Lookup::Reached("demo".into()), response(vec![service.clone()]));
    operator.workload(&web);
    operator.take(seen());
    operator.settle();
    operator.advance(60);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed ServiceSelectsNothing"]);

    let mut operator = operator.restarted(60);
    operator.surroundings_mut().results.insert(Lookup::Reached("demo".into()), response(vec![service.clone()]));
    let (services, others): (Vec<_>, Vec<_>) = Source::ALL.into_iter().partition(|source| *source == Source::Services);
    let key = workload_object("deployment-web");
    let resource_version = operator.server().other_diagnoses[&key].resource_version.clone();
    let first = vec![Change::Object { key, resource_version }, Change::Workload(Box::new(web.clone()))];
    for (sources, changes) in [(others, first), (services, vec![seen()])] {
        sources.iter().for_each(|source| operator.take(Change::ListStarted(*source)));
        changes.into_iter().for_each(|change| operator.take(change));
        sources.iter().for_each(|source| operator.take(Change::ListDone(*source)));
        operator.settle();
        operator.advance(30);
    }
    assert_eq!(operator.workload_status("deployment-web").head.state, Active);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed ServiceSelectsNothing"]);

    let mut operator = operator.restarted(60);
    operator.list_with(&[], &[], &[web]);
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered, "the Service was deleted meanwhile");
}

#[test]
fn a_workload_that_is_deleted_before_its_first_diagnosis_gets_none() {
    let mut operator = Operator::idle();
    let web = rollout("web", 3, 0);
    operator.workload(&web);
    let pods: Vec<_> = (1..=3).map(|n| failing("web", n)).collect();
    pods.iter().for_each(|pod| operator.pod(pod));
    operator.advance(3);
    operator.workload_deleted(&web);
    // The pods terminate slowly.
    operator.advance(30);
    pods.iter().for_each(|pod| operator.deleted(pod));
    operator.advance(700);
    assert!(operator.emitted_for_workloads().is_empty(), "{:?}", operator.emitted_for_workloads());
    assert!(operator.server().other_diagnoses.is_empty());
}

#[test]
fn conditions_are_readable_by_kstatus() {
    let (mut operator, web, pods) = failing_deployment();
    let conditions = |operator: &Operator| {
        let conditions = operator.workload_status("deployment-web").head.conditions.clone();
        let each = conditions.iter().map(|c| (c.kind.clone(), c.status.clone(), c.reason.clone()));
        each.map(|(kind, status, reason)| format!("{kind}={status} {reason}")).collect::<Vec<_>>()
    };
    let failing = ["Healthy=False OOMKilled", "Ready=False OOMKilled", "Stalled=True OOMKilled"];
    assert_eq!(conditions(&operator), failing);
    mended(&mut operator, "web", &pods);
    assert_eq!(conditions(&operator), ["Healthy=True Recovered", "Ready=True Recovered", "Stalled=False Recovered"]);
    operator.workload(&web);
    operator.pod(&failing_again());
    operator.advance(30);
    assert_eq!(conditions(&operator), failing);
    operator.workload_deleted(&web);
    let gone = ["Healthy=Unknown WorkloadDeleted", "Ready=True WorkloadDeleted", "Stalled=False WorkloadDeleted"];
    assert_eq!(conditions(&operator), gone);
}

fn failing_again() -> PodFacts {
    failing("web", 9)
}

#[test]
fn five_events_of_a_workload_and_cause_are_emitted_and_the_rest_is_counted() {
    let mut operator = Operator::idle();
    for name in ["web", "api"] {
        operator.workload(&rollout(name, 20, 0));
    }
    for n in 1..=20 {
        operator.pod(&failing("web", n));
    }
    assert_eq!(operator.emitted().len(), 5);
    assert_eq!(operator.server().objects.len(), 20, "each pod has its object");
    for n in 1..=6 {
        operator.pod(&failing("api", n));
    }
    assert_eq!(operator.emitted().len(), 10, "another workload has its own five");
    for n in 1..=7 {
        operator.pod(&crashing("web", n));
    }
    let emitted = operator.emitted();
    assert_eq!(
        emitted.iter().filter(|emitted| emitted.ends_with("NativeCrash")).count(),
        5,
        "another cause has its own five"
    );
    operator.advance(400);
    assert_eq!(operator.workload_status("deployment-web").folded_events, 17);
    assert_eq!(operator.workload_status("deployment-api").folded_events, 1);
    assert_eq!(operator.aggregated(), 18, "the metric counts the same");
    assert_eq!(operator.emitted().len(), 15);
    operator.advance(600);
    operator.pod(&failing("web", 21));
    assert_eq!(operator.emitted().len(), 16, "the limit resets after ten minutes");
}

#[test]
fn five_pods_per_root_and_namespace_get_an_event_whatever_their_workload() {
    let mut operator = Operator::idle();
    let waits = "ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap \"settings\" not found'}}";
    for name in ["a", "b", "c"] {
        operator.workload(&rollout(name, 4, 0));
        for n in 1..=4 {
            operator.pod(&pod_of(&format!("{name}-{n}"), &format!("u-{name}-{n}"), Some(name), false, waits));
        }
    }
    operator.pod(&pod("bare", "u-bare", false, waits));
    assert_eq!(operator.emitted().len(), 5);
    assert_eq!((operator.server().objects.len(), operator.aggregated()), (13, 8), "each has its object");
    operator.advance(400);
    let aggregated = ["a", "b", "c"].map(|name| operator.workload_status(&format!("deployment-{name}")).folded_events);
    assert_eq!(aggregated, [0, 3, 4]);
}

#[test]
fn the_note_has_the_count_of_aggregated_events_whose_pods_recover_without_an_event() {
    let (mut operator, _, mut pods) = failing_deployment();
    for n in 4..=9 {
        let pod = failing("web", n);
        operator.pod(&pod);
        pods.push(pod);
    }
    operator.advance(400);
    assert_eq!(operator.workload_status("deployment-web").folded_events, 4);
    mended(&mut operator, "web", &pods);
    let end = operator.server().events.iter().find(|e| e.action == Action::Recovered).cloned().expect("the recovery");
    assert!(end.note.ends_with("4 further Events of pods are combined in this one"), "{}", end.note);
    assert_eq!(operator.emitted().len(), 5);
}

#[test]
fn a_retried_write_is_neither_reported_nor_counted_twice() {
    let mut operator = Operator::idle();
    operator.workload(&rollout("web", 7, 0));
    for n in 1..=7 {
        operator.pod(&failing("web", n));
    }
    assert_eq!((operator.emitted().len(), operator.aggregated()), (5, 2));
    for n in 1..=7 {
        // The watch has not delivered the edit yet: the write fails with one conflict.
        let _ = operator.server_mut().edit(&format!("web-{n}"), false);
        operator.pod(&crashing("web", n));
        operator.advance(5);
    }
    assert_eq!(operator.server().conflicts, 7);
    assert_eq!((operator.emitted().len(), operator.aggregated()), (10, 4));
    operator.advance(400);
    assert_eq!(operator.workload_status("deployment-web").folded_events, 4);
}

#[test]
fn a_root_shared_by_three_workloads_is_reported_once() {
    let mut operator = Operator::idle();
    let waits = "ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap \"settings\" not found'}}";
    for name in ["a", "b", "c"] {
        operator.workload(&rollout(name, 1, 0));
        operator.pod(&pod_of(&format!("{name}-1"), &format!("u-{name}"), Some(name), false, waits));
    }
    operator.advance(400);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed ConfigMapNotFound"]);
    for name in ["a", "b", "c"] {
        let status = operator.workload_status(&format!("deployment-{name}"));
        let root = status.root.as_ref().expect("the root");
        assert_eq!((root.root.kind.as_str(), root.root.name.as_str()), ("ConfigMap", "settings"));
        assert_eq!((root.pods, root.workloads, root.namespaces), (3, 3, 1), "{name}");
        assert_eq!(status.head.state, Active);
    }
}

/// A Deployment whose pods are refused with this response since 08:00.
fn refused(namespace: &str, name: &str, response: &str) -> WorkloadFacts {
    let mut web = rollout(name, 1, 0);
    web.key = WorkloadName { namespace: namespace.into(), ..(*web.key).clone() }.into();
    web.uid = format!("uid-{namespace}-{name}").into();
    web.conditions.push(Condition {
        kind: "ReplicaFailure".to_owned(),
        status: "True".to_owned(),
        reason: "FailedCreate".to_owned(),
        message: format!("pods \"{name}-5-x\" is forbidden: {response}"),
        last_transition: Some(at("08:00:00")),
    });
    web
}

const FULL: &str = "exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4";

#[test]
fn a_root_without_pods_is_reported_by_one_of_several_concurrent_workloads() {
    let mut operator = Operator::idle();
    let all = ["a", "b", "c"].map(|name| refused("demo", name, FULL));
    for workload in &all {
        operator.take(Change::Workload(Box::new(workload.clone())));
    }
    operator.settle();
    operator.advance(60);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed QuotaExceeded"]);
    operator.advance(400);
    for name in ["a", "b", "c"] {
        let root = operator.workload_status(&format!("deployment-{name}")).root.clone().expect("the root");
        assert!(root.workloads >= 1, "{name} itself is affected");
    }
    let teller = operator.server().events[0].regarding.key.name.clone();
    let root = operator.workload_status(&format!("deployment-{teller}")).root.clone().expect("the root");
    assert_eq!((root.pods, root.workloads, root.namespaces), (0, 3, 1));

    operator.workload(&refused("elsewhere", "d", FULL));
    operator.advance(60);
    assert_eq!(operator.emitted_for_workloads().len(), 2, "the quota of that name in another namespace is another one");
}

#[test]
fn what_is_of_the_whole_cluster_is_one_root_in_all_namespaces() {
    let unreachable = "Internal error occurred: failed calling webhook \"guard.example.com\": failed to call webhook: Post \"https://guard.sec.svc:443/\": connection refused";
    let denied = "admission webhook \"guard.example.com\" denied the request: no latest tag";
    for (response, emitted) in [(unreachable, 1), (denied, 2)] {
        let mut operator = Operator::idle();
        operator.workload(&refused("demo", "a", response));
        operator.advance(30);
        operator.workload(&refused("elsewhere", "b", response));
        operator.advance(60);
        assert_eq!(
            operator.emitted_for_workloads().len(),
            emitted,
            "a policy refuses each template for itself: {response}"
        );
    }
}

#[test]
fn another_failure_of_the_same_root_is_reported_beside_the_first() {
    let mut operator = Operator::idle();
    operator.workload(&refused("demo", "a", "failed quota: team: must specify limits.cpu for: app"));
    operator.advance(30);
    for name in ["b", "c"] {
        operator.workload(&refused("demo", name, FULL));
        operator.advance(30);
    }
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed QuotaMustSpecify", "Diagnosed QuotaExceeded"]);
    let memory =
        "exceeded quota: team, requested: requests.memory=2Gi, used: requests.memory=1Gi, limited: requests.memory=2Gi";
    operator.workload(&refused("demo", "d", memory));
    operator.advance(30);
    assert_eq!(operator.emitted_for_workloads().len(), 3, "more pods do not give it memory");
}

#[test]
fn a_missing_image_is_reported_in_each_namespace_that_uses_it() {
    let mut operator = Operator::idle();
    let waits = "ready: false, restartCount: 0, state: {waiting: {reason: ErrImagePull, message: 'failed to resolve reference \"app:1\": app:1: not found'}}";
    for (namespace, name) in [("demo", "a"), ("demo", "b"), ("elsewhere", "c")] {
        let mut web = rollout(name, 1, 0);
        let mut pod = pod_of(&format!("{name}-1"), &format!("u-{name}"), Some(name), false, waits);
        web.key = WorkloadName { namespace: namespace.into(), ..(*web.key).clone() }.into();
        web.uid = format!("uid-{name}").into();
        pod.key.namespace = namespace.into();
        operator.workload(&web);
        operator.pod(&pod);
        operator.advance(60);
    }
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed ImageTagNotFound"; 2]);
    let event =
        operator.server().events.iter().rfind(|e| &*e.regarding.kind == "Deployment").cloned().expect("the second");
    assert!(
        event.note.ends_with("3 pods and 3 workloads in 2 namespaces fail because of Image app:1 so far"),
        "{}",
        event.note
    );
}

#[test]
fn a_root_is_reported_again_after_its_reporting_workload_recovered() {
    let mut operator = Operator::idle();
    operator.workload(&refused("demo", "a", FULL));
    operator.advance(60);
    operator.workload(&rollout("a", 1, 1));
    operator.advance(60);
    operator.workload(&refused("demo", "b", FULL));
    operator.advance(60);
    let emitted = ["Diagnosed QuotaExceeded", "Recovered Recovered", "Diagnosed QuotaExceeded"];
    assert_eq!(operator.emitted_for_workloads(), emitted);
}

#[test]
fn the_event_of_a_root_states_its_impact() {
    let mut operator = Operator::idle();
    let waits = "ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap \"settings\" not found'}}";
    for name in ["a", "b"] {
        operator.workload(&rollout(name, 1, 0));
        operator.pod(&pod_of(&format!("{name}-1"), &format!("u-{name}"), Some(name), false, waits));
    }
    operator.advance(60);
    let event =
        operator.server().events.iter().find(|e| &*e.regarding.kind == "Deployment").cloned().expect("the root");
    assert!(event.note.ends_with("2 pods and 2 workloads fail because of ConfigMap settings so far"), "{}", event.note);
    assert!(!event.note.contains(".."), "{}", event.note);
}

#[test]
fn a_failing_workload_that_is_deleted_is_gone_without_an_event() {
    let (mut operator, web, pods) = failing_deployment();
    operator.workload_deleted(&web);
    pods.iter().for_each(|pod| operator.deleted(pod));
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Gone);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed OOMKilled"]);
    operator.advance(90_000);
    assert!(operator.server().other_diagnoses.is_empty(), "it is kept for a day");
}

#[test]
fn a_workload_deleted_during_its_first_write_is_gone() {
    let mut operator = Operator::idle();
    let mut web = rollout("web", 1, 0);
    web.conditions.push(Condition {
        kind: "ReplicaFailure".to_owned(),
        status: "True".to_owned(),
        reason: "FailedCreate".to_owned(),
        message:
            "pods \"web-5-x\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4"
                .to_owned(),
        last_transition: Some(at("08:00:00")),
    });
    operator.workload(&web);
    operator.now = at("09:00:30");
    operator.settle_with(|operator| {
        operator.surroundings_mut().results.clear();
        operator.take(Change::WorkloadDeleted(web.key.clone()));
    });
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Gone);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed QuotaExceeded"]);
}

#[test]
fn the_diagnosis_of_a_deleted_workload_is_not_restored() {
    for object_first in [true, false] {
        let (mut operator, web, pods) = failing_deployment();
        pods.iter().for_each(|pod| operator.deleted(pod));
        let deletion = operator.server_mut().edit_other(&workload_object("deployment-web"), true);
        if object_first {
            operator.take(deletion);
            operator.take(Change::WorkloadDeleted(web.key.clone()));
        } else {
            operator.take(Change::WorkloadDeleted(web.key.clone()));
            operator.take(deletion);
        }
        operator.advance(600);
        assert!(
            operator.server().other_diagnoses.is_empty(),
            "object first: {object_first}: {:?}",
            operator.server().other_diagnoses
        );
    }
}

#[test]
fn a_pending_event_is_posted_once_by_the_next_process() {
    let mut operator = Operator::idle();
    let web = rollout("web", 3, 0);
    operator.server_mut().no_events = true;
    operator.workload(&web);
    operator.pod(&failing("web", 1));
    operator.advance(30);
    assert!(operator.emitted_for_workloads().is_empty());
    let mut operator = operator.restarted(60);
    operator.server_mut().no_events = false;
    operator.list_with(&[], &[failing("web", 1)], &[web]);
    operator.advance(400);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed OOMKilled"]);
}

#[test]
fn a_restart_repeats_nothing_and_writes_nothing() {
    let (operator, web, pods) = failing_deployment();
    let before = operator.server().other_applies;
    let mut operator = operator.restarted(60);
    operator.list_with(&[], &pods, std::slice::from_ref(&web));
    operator.advance(3600);
    assert_eq!((operator.emitted_for_workloads().len(), operator.server().other_applies), (1, before));
    let mut operator = operator.restarted(60);
    operator.list(&[], &[]);
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Gone, "deleted during downtime");
    assert_eq!(operator.emitted_for_workloads().len(), 1);
}

#[test]
fn an_edit_or_deletion_of_a_workload_diagnosis_is_reverted() {
    let (mut operator, ..) = failing_deployment();
    let key = workload_object("deployment-web");
    let summary = operator.workload_status("deployment-web").head.summary.clone();
    let edit = operator.server_mut().edit_other(&key, false);
    operator.take(edit);
    operator.advance(3);
    assert_eq!(operator.workload_status("deployment-web").head.summary, summary);
    let deletion = operator.server_mut().edit_other(&key, true);
    operator.take(deletion);
    operator.advance(5);
    assert_eq!(operator.workload_status("deployment-web").head.summary, summary);
    let applies = operator.server().other_applies;
    operator.advance(600);
    assert_eq!(operator.server().other_applies, applies, "our own write is not an external edit");
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed OOMKilled"]);
}

#[test]
fn a_workload_scaled_to_zero_is_quiet_and_recovers_without_an_event() {
    let (mut operator, _, pods) = failing_deployment();
    operator.workload(&rollout("web", 0, 0));
    pods.iter().for_each(|pod| operator.deleted(pod));
    operator.advance(60);
    assert_eq!(operator.workload_status("deployment-web").head.state, Recovered);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed OOMKilled"], "its health is unknown");
    let status = operator.workload_status("deployment-web");
    assert_eq!((status.problem.as_str(), status.pods.display.as_str(), status.pods.failing), ("None", "0/0", 0));
    assert_eq!(status.head.summary, "its desired number of pods is zero");
    let mut idle = Operator::idle();
    idle.workload(&rollout("web", 0, 0));
    let job = "{kind: Job, apiVersion: batch/v1, metadata: {name: import, namespace: demo, uid: j}, spec: {suspend: true, completions: 1, parallelism: 1}, status: {failed: 1}}";
    idle.workload(&dump(job).workloads[0]);
    idle.advance(3600);
    assert_eq!(idle.server().other_applies, 0);
}

/// A run of `CronJob/nightly` that has failed.
fn run(name: &str, failed_at: &str) -> WorkloadFacts {
    let job = format!(
        "{{kind: Job, apiVersion: batch/v1, metadata: {{name: {name}, namespace: demo, uid: uid-{name}, creationTimestamp: '2026-11-21T{failed_at}Z', ownerReferences: [{{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: c, controller: true}}]}}, spec: {{backoffLimit: 0, completions: 1, parallelism: 1}}, status: {{failed: 1, conditions: [{{type: Failed, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2026-11-21T{failed_at}Z'}}]}}}}"
    );
    dump(&job).workloads.remove(0)
}

fn pod_of_run(run: &str) -> PodFacts {
    let pod = format!(
        "{{kind: Pod, metadata: {{namespace: demo, name: {run}-x, uid: pod-of-{run}, labels: {{job-name: {run}}}, ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: {run}, uid: uid-{run}, controller: true}}]}}, spec: {{nodeName: n1, restartPolicy: Never, containers: [{{name: app, image: 'app:1'}}]}}, status: {{phase: Failed, conditions: [{{type: Ready, status: 'False', reason: PodFailed}}], containerStatuses: [{{name: app, ready: false, restartCount: 0, state: {{terminated: {{exitCode: 9, reason: Error, startedAt: '2026-11-21T08:00:00Z', finishedAt: '2026-11-21T08:00:10Z'}}}}}}]}}}}"
    );
    dump(&pod).pods.remove(0)
}

#[test]
fn a_run_that_fails_like_the_previous_one_is_reported_once_even_if_its_job_is_seen_before_its_pod() {
    let mut operator = Operator::idle();
    let cron = "{kind: CronJob, apiVersion: batch/v1, metadata: {name: nightly, namespace: demo, uid: c}, spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: {containers: [{name: app, image: 'app:1'}]}}}}}}";
    operator.workload(&dump(cron).workloads[0]);
    for (name, time) in [("nightly-1", "09:00:00"), ("nightly-2", "09:02:00"), ("nightly-3", "09:04:00")] {
        operator.workload(&run(name, time));
        operator.advance(7);
        operator.pod(&pod_of_run(name));
        operator.advance(113);
    }
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed PodFailedNoRestart"]);
    assert!(operator.workload_status("cronjob-nightly").head.summary.contains("nightly-3"));
}

/// `n1` with a Ready condition of the kubelet.
fn n1(ready: bool, since: &str) -> NodeFacts {
    let (status, message) = if ready { ("True", "") } else { ("False", "container runtime is down") };
    node("n1", status, message, since)
}

/// The watches deliver first the pods, then their ReplicaSet, and then the Deployment.
#[test]
fn pods_are_counted_by_their_own_status_and_not_by_a_stale_replica_set() {
    let mut operator = Operator::idle();
    operator.node(&n1(true, "01:00:00"));
    let mut web = rollout("web", 2, 2);
    web.replica_sets = vec![replica_set("web-5", 5, 2, 2)];
    operator.workload(&web);
    let pod = |n: u32, ready| pod_of_template(&format!("p-{n}"), &format!("p-{n}"), Some(("web", "5")), ready, HEALTHY);
    (1..=2).for_each(|n| operator.pod(&pod(n, true)));
    operator.advance(60);
    operator.node(&n1(false, "09:02:00"));
    (1..=2).for_each(|n| operator.pod(&pod(n, false)));
    web.ready = 0;
    operator.workload(&web);
    operator.advance(30);
    let status = operator.workload_status("deployment-web");
    assert_eq!((status.head.cause.as_str(), status.pods.display.as_str()), ("NodeRuntimeDown", "0/2"));
}

fn replica_set(name: &str, revision: i64, desired: i64, ready: u32) -> ReplicaSetFacts {
    ReplicaSetFacts {
        name: name.into(),
        uid: format!("uid-{name}").into(),
        revision,
        former_revision: None,
        created: Some(at("08:00:00")),
        desired,
        ready: i64::from(ready),
        template: None,
    }
}

/// A Deployment with two replicas during a rollout from ReplicaSet `web-5` to `web-6`.
fn rolling(old_ready: u32) -> WorkloadFacts {
    let mut web = rollout("web", 2, old_ready);
    web.updated = 1;
    web.replica_sets = vec![replica_set("web-6", 6, 1, 0), replica_set("web-5", 5, 2, old_ready)];
    web
}

#[test]
fn a_stuck_rollout_is_not_reported_again_when_its_old_pods_fail_with_their_node() {
    let mut operator = Operator::idle();
    operator.node(&n1(true, "01:00:00"));
    operator.workload(&rolling(2));
    let waits = "ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image \"app:2\": manifest unknown'}}";
    let old =
        |n: u32, ready| pod_of_template(&format!("old-{n}"), &format!("old-{n}"), Some(("web", "5")), ready, HEALTHY);
    (1..=2).for_each(|n| operator.pod(&old(n, true)));
    operator.pod(&pod_of_template("new", "new", Some(("web", "6")), false, waits));
    operator.advance(60);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed ImageTagNotFound"]);
    assert_eq!(operator.workload_status("deployment-web").head.severity, Severity::Warning, "the old pods serve");
    let emitted = operator.emitted();

    operator.node(&n1(false, "09:02:00"));
    (1..=2).for_each(|n| operator.pod(&old(n, false)));
    operator.workload(&rolling(0));
    operator.advance(400);
    let status = operator.workload_status("deployment-web");
    assert_eq!((status.head.cause.as_str(), status.head.severity), ("ImageTagNotFound", Severity::Critical));
    assert!(status.head.summary.contains("the old pods are down with their node"), "{}", status.head.summary);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed ImageTagNotFound"]);
    let mut with_the_node = emitted.clone();
    with_the_node.push("Diagnosed NodeRuntimeDown".to_owned());
    assert_eq!(operator.emitted(), with_the_node, "only the node has an Event");
}

#[test]
fn a_recovery_names_the_reported_cause() {
    let (mut operator, _, pods) = failing_deployment();
    operator.node(&n1(true, "01:00:00"));
    pods.iter().for_each(|pod| operator.deleted(pod));
    operator.node(&n1(false, "09:02:00"));
    let on_it = |ready| pod_of("web-4", "uid-web-4", Some("web"), ready, HEALTHY);
    operator.pod(&on_it(false));
    operator.advance(30);
    assert_eq!(operator.workload_status("deployment-web").head.cause, "NodeRuntimeDown");
    operator.node(&n1(true, "09:04:00"));
    operator.pod(&on_it(true));
    operator.workload(&rollout("web", 3, 3));
    operator.advance(60);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed OOMKilled", "Recovered Recovered"]);
    let end = operator
        .server()
        .events
        .iter()
        .find(|e| e.action == Action::Recovered && &*e.regarding.kind == "Deployment")
        .cloned();
    assert_eq!(end.as_ref().map(|end| end.note.as_str()), Some("Recovered from OOMKilled"));
}

/// `CronJob/nightly` with the times of its last scheduled and last successful run.
fn nightly(scheduled: &str, succeeded: Option<&str>) -> WorkloadFacts {
    let succeeded = succeeded.map(|at| format!(", lastSuccessfulTime: '2026-11-21T{at}Z'")).unwrap_or_default();
    let cron = format!(
        "{{kind: CronJob, apiVersion: batch/v1, metadata: {{namespace: demo, name: nightly, uid: c}}, spec: {{schedule: '* * * * *', jobTemplate: {{spec: {{template: {{spec: {{containers: [{{name: app, image: 'app:1'}}]}}}}}}}}}}, status: {{lastScheduleTime: '2026-11-21T{scheduled}Z'{succeeded}}}}}"
    );
    dump(&cron).workloads.remove(0)
}

/// A running Job of `CronJob/nightly` with this many active pods.
fn going(name: &str, created: &str, active: u32) -> WorkloadFacts {
    let job = format!(
        "{{kind: Job, apiVersion: batch/v1, metadata: {{namespace: demo, name: {name}, uid: uid-{name}, creationTimestamp: '2026-11-21T{created}Z', ownerReferences: [{{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: c, controller: true}}]}}, spec: {{completions: 1, parallelism: 1}}, status: {{active: {active}}}}}"
    );
    dump(&job).workloads.remove(0)
}

/// An admission webhook refuses the pods of a run.
fn run_refused(run: &str, time: &str) -> EventFacts {
    let event = format!(
        "{{kind: Event, apiVersion: v1, metadata: {{name: {run}-e, namespace: demo}}, involvedObject: {{kind: Job, apiVersion: batch/v1, name: {run}, namespace: demo, uid: uid-{run}}}, type: Warning, reason: FailedCreate, message: 'Error creating: admission webhook \"images.example.com\" denied the request: not from our registry', count: 1, firstTimestamp: '2026-11-21T{time}Z', lastTimestamp: '2026-11-21T{time}Z'}}"
    );
    dump(&event).events.remove(0)
}

#[test]
fn a_cron_job_with_refused_runs_is_reported_once_and_recovers_when_a_run_has_its_pod() {
    // With concurrencyPolicy Allow, then with Replace.
    for replaces in [false, true] {
        let mut operator = Operator::idle();
        for minute in 0..6 {
            let (name, time) = (format!("nightly-{minute}"), format!("09:0{minute}:00"));
            operator.workload(&nightly(&time, None));
            if replaces && minute > 0 {
                operator.workload_deleted(&going(&format!("nightly-{}", minute - 1), &time, 0));
            }
            operator.workload(&going(&name, &time, 0));
            operator.advance(1);
            operator.event(&run_refused(&name, &format!("09:0{minute}:01")));
            operator.advance(59);
        }
        assert_eq!(operator.emitted_for_workloads(), ["Diagnosed WebhookDenied"], "replaces: {replaces}");
        assert_eq!(operator.workload_status("cronjob-nightly").head.state, Active);
        operator.workload(&nightly("09:06:00", None));
        (0..6).for_each(|minute| operator.workload_deleted(&going(&format!("nightly-{minute}"), "09:00:00", 0)));
        operator.advance(10);
        assert_eq!(operator.workload_status("cronjob-nightly").head.state, Active, "its runs were only cleaned up");
        operator.workload(&going("nightly-6", "09:06:00", 1));
        operator.advance(60);
        assert_eq!(operator.emitted_for_workloads(), ["Diagnosed WebhookDenied", "Recovered Recovered"]);
    }
}

#[test]
fn a_cron_job_with_a_removed_failed_run_recovers_when_a_run_succeeds() {
    let mut operator = Operator::idle();
    operator.workload(&nightly("09:00:00", None));
    operator.workload(&run("nightly-1", "09:00:00"));
    operator.pod(&pod_of_run("nightly-1"));
    operator.advance(60);
    operator.workload_deleted(&run("nightly-1", "09:00:00"));
    operator.deleted(&pod_of_run("nightly-1"));
    operator.advance(600);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed PodFailedNoRestart"]);
    assert_eq!(operator.workload_status("cronjob-nightly").head.state, Active);
    operator.workload(&nightly("09:10:00", Some("09:11:00")));
    let status = operator.workload_status("cronjob-nightly");
    assert_eq!(status.head.state, Recovered);
    let ends: Vec<EndedBy> = status.past_failures.iter().map(|of| of.ended_by).collect();
    assert_eq!(ends, [EndedBy::RunSucceeded]);
}

#[test]
fn after_a_restart_a_failed_run_still_waits_for_the_diagnoses_of_its_pods() {
    let mut operator = Operator::idle();
    operator.workload(&nightly("09:00:00", None));
    operator.workload(&run("nightly-1", "09:00:00"));
    operator.pod(&pod_of_run("nightly-1"));
    operator.advance(60);
    let emitted = ["Diagnosed PodFailedNoRestart"];
    assert_eq!(operator.emitted_for_workloads(), emitted);
    // Another run failed during downtime.
    let mut operator = operator.restarted(300);
    let seen = [nightly("09:01:30", None), run("nightly-1", "09:00:00"), run("nightly-2", "09:02:00")];
    operator.list_with(&[], &[pod_of_run("nightly-1")], &seen);
    // The pod of that run is diagnosed shortly after its Job.
    operator.advance(3);
    operator.pod(&pod_of_run("nightly-2"));
    operator.advance(120);
    assert_eq!(operator.emitted_for_workloads(), emitted);
    let summary = &operator.workload_status("cronjob-nightly").head.summary;
    assert!(summary.contains("nightly-2"), "{summary}");
}

#[test]
fn a_run_without_a_pod_is_reported_without_repeated_details() {
    let mut operator = Operator::idle();
    operator.workload(&nightly("09:00:00", None));
    operator.workload(&run("nightly-1", "09:00:00"));
    operator.advance(60);
    assert_eq!(
        operator.workload_status("cronjob-nightly").head.summary,
        "its run nightly-1 failed: no retry is left, backoffLimit is 0 (1 pod failed); its pods are deleted"
    );
}

/// A pod with a waiting container.
fn pending(workload: &str, n: usize, status: &str) -> PodFacts {
    let (name, uid) = (format!("{workload}-{n}"), format!("uid-{workload}-{n}"));
    let mut pod = pod_of(&name, &uid, Some(workload), false, status);
    pod.phase = Phase::Pending;
    pod
}

#[test]
fn pods_queued_behind_pulls_from_an_unresponsive_registry_are_attributed_to_it() {
    let mut operator = Operator::idle();
    let error = "ErrImagePull, message: 'failed to pull and unpack image \"10.99.0.66:5000/app:1\": dial tcp 10.99.0.66:5000: i/o timeout'";
    let times_out = format!("ready: false, restartCount: 0, state: {{waiting: {{reason: {error}}}}}");
    let creating = "ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}";
    let slow = |n| {
        let mut pod = pending("web", n, &times_out);
        pod.containers[0].image = "10.99.0.66:5000/app:1".into();
        pod
    };
    for (name, pods) in [("web", 12), ("other", 1)] {
        operator.workload(&rollout(name, pods, 0));
    }
    operator.pod(&pending("other", 1, creating));
    (4..=12).for_each(|n| operator.pod(&pending("web", n, creating)));
    (1..=3).for_each(|n| operator.pod(&slow(n)));
    operator.advance(500);
    let status = operator.workload_status("deployment-web");
    assert_eq!(status.head.cause, "RegistryTimeout", "{}", status.head.summary);
    let root = status.root.clone().expect("the registry");
    assert_eq!((root.root.name.as_str(), root.pods), ("10.99.0.66:5000", 13), "with the one that waits behind them");
    assert_eq!(operator.emitted(), ["Diagnosed RegistryTimeout"; 3]);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed RegistryTimeout"]);
    let waits = operator.status("other-1");
    assert!(waits.head.summary.contains("no answer from registry 10.99.0.66:5000"), "{}", waits.head.summary);
    operator.advance(400);
    assert_eq!(operator.workload_status("deployment-web").head.cause, "RegistryTimeout");
    let emitted = operator.emitted();
    assert_eq!(emitted.last().map(String::as_str), Some("Diagnosed ContainerCreatingTooLong"), "that one is overdue");
    assert_eq!(operator.status("other-1").head.severity, Severity::Critical);
}

/// A pod of `StatefulSet/pg`.
fn pod_of_set(ordinal: u32, ready: bool, status: &str) -> PodFacts {
    let mut pod = pod_of(&format!("pg-{ordinal}"), &format!("uid-pg-{ordinal}"), None, ready, status);
    let set = "[{apiVersion: apps/v1, kind: StatefulSet, name: pg, uid: s, controller: true}]";
    let owned = format!("{{kind: Pod, metadata: {{name: x, namespace: demo, uid: x, ownerReferences: {set}}}}}");
    pod.owner = dump(&owned).pods.remove(0).owner;
    pod.labels = [("controller-revision-hash", "pg-1")].into_iter().collect();
    pod
}

#[test]
fn after_the_template_is_corrected_the_remaining_step_is_reported_without_an_event() {
    let mut operator = Operator::idle();
    let set = |newest: &str| {
        let set = format!(
            "{{kind: StatefulSet, apiVersion: apps/v1, metadata: {{name: pg, namespace: demo, uid: s}}, spec: {{replicas: 1, updateStrategy: {{type: OnDelete}}}}, status: {{replicas: 1, readyReplicas: 0, currentRevision: pg-1, updateRevision: {newest}}}}}"
        );
        dump(&set).workloads.remove(0)
    };
    operator.workload(&set("pg-1"));
    operator.pod(&pod_of_set(0, false, &crashed(4, 1, "Error")));
    operator.advance(600);
    let first = |operator: &Operator| operator.status("pg-0").head.remedies[0].text.clone();
    assert!(first(&operator).starts_with("Read the last lines"), "{}", first(&operator));
    operator.workload(&set("pg-2"));
    operator.advance(400);
    assert!(first(&operator).starts_with("pg-0 still has an older template"), "{}", first(&operator));
    let first = &operator.workload_status("statefulset-pg").head.remedies[0].text;
    assert!(first.starts_with("pg-0 still has an older template"), "{first}");
    assert_eq!((operator.emitted().len(), operator.emitted_for_workloads().len()), (1, 1));
}

#[test]
fn the_pod_that_blocks_is_not_the_one_that_is_ready_again() {
    let mut operator = Operator::idle();
    let set = |pods: u32, ready: u32| {
        let set = format!(
            "{{kind: StatefulSet, apiVersion: apps/v1, metadata: {{name: pg, namespace: demo, uid: s, generation: 1}}, spec: {{replicas: 3}}, status: {{observedGeneration: 1, replicas: {pods}, readyReplicas: {ready}, currentRevision: pg-1, updateRevision: pg-1}}}}"
        );
        dump(&set).workloads.remove(0)
    };
    let waiting = "ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'configmap \"pg-conf\" not found'}}";
    operator.workload(&set(1, 0));
    operator.pod(&pod_of_set(0, false, waiting));
    operator.advance(60);
    operator.pod(&pod_of_set(0, true, HEALTHY));
    operator.workload(&set(2, 1));
    operator.pod(&pod_of_set(1, false, &crashed(1, 3, "Error")));
    operator.advance(10);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed ConfigMapNotFound", "Changed AppError"]);
    let notes: Vec<_> =
        operator.server().events.iter().filter(|e| e.regarding.kind == "StatefulSet").cloned().collect();
    assert!(notes[1].note.starts_with("pg-1 fails, and pg-2 waits to be created: "), "{}", notes[1].note);
    assert!(!notes[0].note.contains("delete pod"), "the template is right: {}", notes[0].note);
}

/// A Deployment with a pod that fails its readiness probe, and the same Deployment after its progressDeadlineSeconds, with
/// `message` in the Progressing condition.
fn no_progress(message: &str) -> (Operator, WorkloadFacts) {
    let mut operator = Operator::idle();
    let mut web = rollout("web", 2, 0);
    operator.workload(&web);
    let mut pod = pod_of("web-1", "uid-web-1", Some("web"), false, &HEALTHY.replace("ready: true", "ready: false"));
    let probed = "{kind: Pod, metadata: {name: x, namespace: demo, uid: x}, spec: {containers: [{name: app, readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 2}}]}}";
    pod.containers[0].readiness.clone_from(&dump(probed).pods[0].containers[0].readiness);
    operator.pod(&pod);
    operator.event(&event(&pod, "Unhealthy", "Readiness probe failed: connect: connection refused", "08:00:20"));
    operator.advance(30);
    assert_eq!(operator.emitted(), [""; 0]);
    let progress = format!(
        "{{kind: Deployment, apiVersion: apps/v1, metadata: {{name: web, namespace: demo}}, status: {{conditions: [{{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded, message: '{message}'}}]}}}}"
    );
    web.conditions = dump(&progress).workloads.remove(0).conditions;
    (operator, web)
}

#[test]
fn an_unready_pod_is_reported_when_its_deployment_exceeds_the_progress_deadline() {
    let (mut operator, web) = no_progress("ReplicaSet \"web-5\" has timed out progressing.");
    operator.workload(&web);
    operator.advance(10);
    assert_eq!(operator.emitted(), ["Diagnosed ReadinessProbeFailed"]);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed ReadinessProbeFailed"]);

    let (mut operator, web) = no_progress("ReplicaSet \"web-6\" has timed out progressing.");
    operator.workload(&web);
    operator.advance(120);
    assert_eq!(operator.emitted(), [""; 0], "its pod is of another template");
}

#[test]
fn a_rollout_without_progress_waits_for_the_cause_of_its_pod() {
    let (mut operator, web) = no_progress("");
    operator.workload(&web);
    operator.advance(120);
    assert_eq!(operator.emitted_for_workloads(), [] as [&str; 0], "its probe may succeed yet");
    operator.advance(600);
    let emitted = operator.emitted_for_workloads();
    assert_eq!(emitted.len(), 1, "{emitted:?}");
    assert_ne!(emitted[0], "Diagnosed ProgressDeadlineExceeded");
}

#[test]
fn a_stuck_init_container_is_reported_when_its_deployment_exceeds_the_progress_deadline() {
    let (mut operator, web) = no_progress("ReplicaSet \"web-5\" has timed out progressing.");
    let pod = "kind: Pod
metadata: {namespace: demo, name: web-1, uid: uid-web-1, creationTimestamp: '2026-11-21T08:00:00Z', labels: {pod-template-hash: '5'}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5, uid: rs, controller: true}]}
spec: {nodeName: n1, initContainers: [{name: wait, image: app:1, command: [nslookup, db]}], containers: [{name: app, image: app:1}]}
status:
  phase: Pending
  conditions: [{type: Ready, status: 'False', reason: ContainersNotReady}]
  initContainerStatuses: [{name: wait, ready: false, restartCount: 0, state: {running: {startedAt: '2026-11-21T08:00:00Z'}}}]
  containerStatuses: [{name: app, ready: false, restartCount: 0, state: {waiting: {reason: PodInitializing}}}]
";
    operator.pod(&dump(pod).pods.remove(0));
    operator.workload(&web);
    operator.advance(70);
    assert_eq!(operator.emitted(), ["Diagnosed InitContainerStuck"]);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed InitContainerStuck"]);
}

#[test]
fn a_rollout_that_waits_behind_a_scheduling_gate_names_it() {
    let (mut operator, web) = no_progress("ReplicaSet \"web-5\" has timed out progressing.");
    let pod = "kind: Pod
metadata: {namespace: demo, name: web-1, uid: uid-web-1, creationTimestamp: '2026-11-21T08:00:00Z', labels: {pod-template-hash: '5'}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5, uid: rs, controller: true}]}
spec: {schedulingGates: [{name: example.com/quota}], containers: [{name: app, image: app:1}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: SchedulingGated}]}
";
    operator.pod(&dump(pod).pods.remove(0));
    operator.workload(&web);
    operator.advance(30);
    assert_eq!(operator.emitted(), [""; 0]);
    let summary = &operator.workload_status("deployment-web").head.summary;
    assert!(summary.contains("the pods wait until scheduling gate example.com/quota is removed"), "{summary}");
}

#[test]
fn a_consequence_of_an_ignored_cause_is_not_reported_for_the_workload() {
    let emitted = |ignored: &str| {
        let mut operator = Operator::idle();
        let mut web = rollout("web", 1, 0);
        let more = format!(
            "{{kind: Deployment, apiVersion: apps/v1, metadata: {{name: web, namespace: demo, annotations: {{shindan.dev/ignore: {ignored}}}}}, status: {{conditions: [{{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}}]}}}}"
        );
        let more = dump(&more).workloads.remove(0);
        (web.conditions, web.overrides) = (more.conditions, more.overrides);
        operator.workload(&web);
        operator.pod(&pod_of("web-1", "uid-web-1", Some("web"), false, &crashed(4, 1, "Error")));
        operator.advance(1200);
        operator.emitted_for_workloads().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(emitted("OOMKilled"), ["Diagnosed AppError"]);
    assert_eq!(emitted("AppError"), [""; 0], "the stuck rollout is only a consequence");
}

/// `Job/import` with restartPolicy OnFailure and this status.
fn import(status: &str) -> WorkloadFacts {
    let job = format!(
        "{{kind: Job, apiVersion: batch/v1, metadata: {{name: import, namespace: demo, uid: j, creationTimestamp: '2026-11-21T09:00:00Z'}}, spec: {{backoffLimit: 1, completions: 1, parallelism: 1}}, status: {{{status}}}}}"
    );
    dump(&job).workloads.remove(0)
}

const GAVE_UP: &str = "failed: 1, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: '2026-11-21T09:01:00Z'}]";

fn pod_of_import(deletion: &str, status: &str) -> PodFacts {
    let pod = format!(
        "{{kind: Pod, metadata: {{namespace: demo, name: import-x, uid: pod-of-import, creationTimestamp: '2026-11-21T09:00:00Z'{deletion}, labels: {{job-name: import}}, ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: import, uid: j, controller: true}}]}}, spec: {{nodeName: n1, restartPolicy: OnFailure, terminationGracePeriodSeconds: 1, containers: [{{name: app, image: 'app:1'}}]}}, status: {{phase: Running, conditions: [{{type: Ready, status: 'True'}}], containerStatuses: [{{name: app, {status}}}]}}}}"
    );
    dump(&pod).pods.remove(0)
}

const EXIT_9: &str = "lastState: {terminated: {exitCode: 9, reason: Error, startedAt: '2026-11-21T09:00:50Z', finishedAt: '2026-11-21T09:00:59Z'}}";
const DELETION: &str = ", deletionTimestamp: '2026-11-21T09:01:01Z'";

#[test]
fn a_job_that_deletes_its_failed_pod_is_diagnosed_with_the_cause_of_the_pod() {
    let mut operator = Operator::idle();
    operator.workload(&import("active: 1"));
    let loops = format!("ready: false, restartCount: 3, state: {{waiting: {{reason: CrashLoopBackOff}}}}, {EXIT_9}");
    operator.now = at("09:01:00");
    operator.pod(&pod_of_import("", &loops));
    operator.advance(10);
    assert_eq!(operator.status("import-x").head.cause, "AppError");
    operator.workload(&import(GAVE_UP));
    operator.deleted(&pod_of_import(DELETION, &loops));
    operator.advance(120);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed AppError"]);
    let status = operator.workload_status("job-import").clone();
    assert!(status.head.summary.starts_with("failed, no retry is left, its pods are deleted: app exits with code 9"));
    assert_eq!((status.causes[0].pods, status.container.as_deref()), (1, Some("app")));
    let names_the_pod = |remedy: &Remedy| remedy.command.as_ref().is_some_and(|command| command.contains("import-x"));
    assert!(!status.head.remedies.iter().any(names_the_pod), "{:?}", status.head.remedies);
    // The diagnosis of the pod is removed after a day.
    operator.advance(100_000);
    assert!(operator.server().objects.is_empty());
    assert_eq!(operator.workload_status("job-import"), status);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed AppError"]);
}

#[test]
fn a_job_is_diagnosed_with_the_cause_of_a_pod_deleted_before_its_own_diagnosis() {
    let again =
        format!("ready: true, restartCount: 1, state: {{running: {{startedAt: '2026-11-21T09:01:00Z'}}}}, {EXIT_9}");
    let end = |code: u32| {
        format!(
            "ready: false, restartCount: 1, state: {{terminated: {{exitCode: {code}, reason: Error, startedAt: '2026-11-21T09:01:00Z', finishedAt: '2026-11-21T09:01:01Z'}}}}, {EXIT_9}"
        )
    };
    for last in [again.clone(), end(9), end(137), end(143)] {
        let mut operator = Operator::idle();
        operator.now = at("09:01:00");
        operator.workload(&import("active: 1"));
        // All at the same time.
        operator.take(Change::Pod(Box::new(pod_of_import("", &again))));
        operator.take(Change::Pod(Box::new(pod_of_import(DELETION, &last))));
        operator.take(Change::PodDeleted(Box::new(pod_of_import(DELETION, &last))));
        operator.workload(&import(GAVE_UP));
        operator.advance(3600);
        assert!(operator.server().objects.is_empty(), "{last}");
        assert_eq!(operator.emitted_for_workloads(), ["Diagnosed AppError"], "{last}");
    }
}

/// A pod of `Job/import` that fails a second time while its Job deletes it: its recorded versions before and after the
/// deletion timestamp is set.
fn fails_during_deletion(code: u32) -> Vec<PodFacts> {
    let runs = "running: {startedAt: '2026-11-21T09:01:00Z'}";
    let ended = format!(
        "terminated: {{exitCode: {code}, reason: Error, startedAt: '2026-11-21T09:01:00Z', finishedAt: '2026-11-21T09:01:02Z'}}"
    );
    let pod = |deletion, state: &str, last| {
        pod_of_import(deletion, &format!("ready: false, restartCount: 1, state: {{{state}}}, {last}"))
    };
    let over = PodFacts { phase: Phase::Failed, ..pod(DELETION, &ended, "lastState: {}") };
    vec![pod("", runs, EXIT_9), pod(DELETION, runs, EXIT_9), pod(DELETION, &ended, EXIT_9), over]
}

/// The same for a missing executable: the termination moves from `lastState` to `state`.
fn never_started() -> Vec<PodFacts> {
    const NOT_THERE: &str = "exec: \"/import\": stat /import: no such file or directory: unknown";
    let end = format!(
        "{{terminated: {{exitCode: 128, reason: StartError, startedAt: '1970-01-01T00:00:00Z', finishedAt: '2026-11-21T09:01:00Z', message: '{NOT_THERE}'}}}}"
    );
    let waits = format!(
        "ready: false, restartCount: 1, state: {{waiting: {{reason: RunContainerError, message: '{NOT_THERE}'}}}}, lastState: {end}"
    );
    let ended = format!("ready: false, restartCount: 1, state: {end}, lastState: {{}}");
    let over = PodFacts { phase: Phase::Failed, ..pod_of_import(DELETION, &ended) };
    vec![pod_of_import("", &waits), pod_of_import(DELETION, &waits), pod_of_import(DELETION, &ended), over]
}

fn as_init(mut pod: PodFacts) -> PodFacts {
    pod.containers.iter_mut().for_each(|container| container.kind = ContainerType::Init);
    pod
}

fn within_90_s(pod: PodFacts) -> PodFacts {
    PodFacts { termination_grace_seconds: 90, deletion: pod.deletion.map(|_| at("09:02:30")), ..pod }
}

#[test]
fn the_termination_of_a_pod_deleted_by_its_job_is_read_before_the_kubelet_resets_it() {
    let target = import(&GAVE_UP.replace("type: Failed", "type: FailureTarget"));
    let of = |seen: Vec<PodFacts>, change: fn(PodFacts) -> PodFacts| seen.into_iter().map(change).collect();
    let cases = [
        ("AppError", fails_during_deletion(9), 2),
        ("AppError", fails_during_deletion(137), 2),
        ("AppError", of(fails_during_deletion(137), within_90_s), 90),
        ("InitContainerFailed", of(fails_during_deletion(9), as_init), 2),
        ("ExecutableNotFound", never_started(), 0),
    ];
    for (cause, seen, takes) in cases {
        let mut operator = Operator::idle();
        operator.now = at("09:01:00");
        operator.workload(&import("active: 1"));
        let last = seen.last().cloned().map(|pod| Change::PodDeleted(Box::new(pod)));
        let mut seen = seen.into_iter().map(|pod| Change::Pod(Box::new(pod)));
        // All at the same time.
        seen.by_ref().take(2).for_each(|pod| operator.take(pod));
        operator.take(Change::Workload(Box::new(target.clone())));
        if takes > 0 {
            operator.advance(takes);
        }
        seen.chain(last).for_each(|pod| operator.take(pod));
        operator.workload(&import(GAVE_UP));
        operator.advance(3600);
        assert_eq!(operator.emitted_for_workloads(), [format!("Diagnosed {cause}")], "after {takes} s");
        assert!(operator.server().objects.is_empty(), "{cause}");
    }
}

#[test]
fn a_failed_job_in_foreground_deletion_does_not_recover() {
    let mut operator = Operator::idle();
    operator.now = at("09:01:00");
    operator.workload(&import(GAVE_UP));
    operator.advance(60);
    // Foreground deletion, for example by `ttlSecondsAfterFinished`.
    operator.workload(&WorkloadFacts { deleting: true, ..import(GAVE_UP) });
    operator.advance(60);
    assert_eq!(operator.workload_status("job-import").head.state, Active);
    operator.workload_deleted(&import(GAVE_UP));
    operator.advance(60);
    assert_eq!(operator.workload_status("job-import").head.state, Gone);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed JobBackoffLimitExceeded"]);
}

#[test]
fn a_failed_job_deleted_before_its_first_event_is_reported_and_gone() {
    let mut operator = Operator::idle();
    operator.now = at("09:01:00");
    operator.workload(&import("active: 1"));
    fails_during_deletion(9).into_iter().take(2).for_each(|pod| operator.take(Change::Pod(Box::new(pod))));
    operator.take(Change::PodDeleted(Box::new(pod_of_import(DELETION, EXIT_9))));
    operator.workload(&import(GAVE_UP));
    operator.advance(3);
    operator.workload_deleted(&import(GAVE_UP));
    operator.advance(3600);
    assert_eq!(operator.emitted_for_workloads(), ["Diagnosed AppError"]);
    assert_eq!(operator.workload_status("job-import").head.state, Gone);
}

#[test]
fn event_of_a_pod_of_a_chart_names_the_chart_although_its_workload_is_read_later() {
    let mut operator = Operator::idle();
    let (lookup, _) = deployment("web", 1, 0);
    let of_chart = dump(
        "{kind: Deployment, apiVersion: apps/v1, metadata: {name: web, namespace: demo, labels: {app.kubernetes.io/managed-by: Helm}, annotations: {meta.helm.sh/release-name: shop}}, spec: {replicas: 1}}",
    );
    let result = LookupResult::Workload(Some(Box::new(of_chart.workloads[0].clone())));
    operator.surroundings_mut().results.insert(lookup, result);
    let mut pod = failing("web", 1);
    pod.labels = Labels::from_iter([("app.kubernetes.io/managed-by", "Helm"), ("pod-template-hash", "5")]);
    operator.pod(&pod);
    operator.advance(30);
    let notes: Vec<String> = operator.server().events.iter().map(|event| event.note.clone()).collect();
    assert!(notes.iter().any(|note| note.contains("Change the values of Helm release shop too")), "{notes:#?}");
}
