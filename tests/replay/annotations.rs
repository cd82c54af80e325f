//! Annotations of failing pods and workloads: written once per transition, removed on recovery, and corrected after
//! interruptions and external edits.

use shindan_core::facts::{Carried, PodFacts, WorkloadFacts};
use shindan_core::outbox::Lane;
use shindan_core::reconcile::Annotation;
use shindan_core::state::{Annotate, Caps};

use super::operator::{
    Operator, Server, at, crashed, dump, end_pod, evicted, healthy, oom, oom_of, pod, pod_of, rollout, running_again,
};

const ALL: Annotate = Annotate { pods: true, workloads: true };

fn annotating(what: Annotate) -> Operator {
    let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
    operator.engine.world.reported.annotations.annotate(what);
    operator.list(&[], &[]);
    operator
}

/// A new process in the same cluster.
fn again(operator: Operator, later: i64) -> Operator {
    let mut operator = operator.restarted(later);
    operator.engine.world.reported.annotations.annotate(ALL);
    operator
}

fn carrying(mut pod: PodFacts, text: &str) -> PodFacts {
    pod.carried = Some(Carried::of(text));
    pod
}

/// The workload as the watch delivers it after a patch of its annotation, which increments a Deployment's generation.
fn moved(mut workload: WorkloadFacts, by: i64, text: Option<&str>) -> WorkloadFacts {
    workload.generation += by;
    workload.carried = text.map(Carried::of);
    workload
}

fn seen(workload: &WorkloadFacts) -> WorkloadFacts {
    WorkloadFacts { observed_generation: Some(workload.generation), ..workload.clone() }
}

impl Operator {
    /// Delivers a pod with the annotation that was last written.
    fn shown(&mut self, mut pod: PodFacts) {
        let server = self.server();
        let last = server.annotations.iter().rev().find(|a| a.object.key == pod.key).cloned();
        drop(server);
        pod.carried = last.and_then(|a| a.text).as_deref().map(Carried::of);
        self.pod(&pod);
    }

    /// Lines such as `Pod web OOMKilled:`; `-` stands for a removed annotation.
    fn annotated(&self) -> Vec<String> {
        let line = |annotation: &Annotation| {
            let text = annotation.text.as_deref().map_or("-", |text| text.split(' ').next().unwrap());
            format!("{} {} {text}", annotation.object.kind, annotation.object.key.name)
        };
        self.server().annotations.iter().map(line).collect()
    }
}

#[test]
fn a_failing_pod_is_annotated_with_its_cause_until_it_recovers() {
    let mut operator = annotating(ALL);
    operator.pod(&oom("web", "u1"));
    let annotations = operator.server().annotations.clone();
    let [written] = annotations.as_slice() else { panic!("{:?}", operator.annotated()) };
    let summary = &operator.status("web").head.summary;
    assert_eq!(written.text.as_deref(), Some(format!("OOMKilled: {summary}").as_str()));
    assert_eq!((&*written.object.api_version, written.object.uid.as_deref()), ("v1", Some("u1")));

    // The watch delivers our own write; later restarts change the summary.
    let text = written.text.clone().unwrap();
    operator.advance(60);
    let applies = operator.server().applies;
    operator.shown(oom("web", "u1"));
    operator.advance(60);
    assert_eq!((operator.server().applies, operator.server().events.len()), (applies, 1));
    for n in 3..6 {
        operator.shown(pod("web", "u1", false, &crashed(n, 137, "OOMKilled")));
        operator.advance(60);
    }
    assert_ne!(&operator.status("web").head.summary, &text["OOMKilled: ".len()..]);
    assert_eq!(operator.annotated(), ["Pod web OOMKilled:"]);

    let running_again_pod = pod("web", "u1", true, &running_again(5, 137, "OOMKilled"));
    for _ in 0..20 {
        operator.shown(running_again_pod.clone());
        operator.advance(60);
    }
    assert_eq!(operator.annotated(), ["Pod web OOMKilled:", "Pod web -"]);
    operator.shown(running_again_pod);
    operator.advance(86_400);
    assert_eq!(operator.annotated().len(), 2);
    assert_eq!(kept(&operator), 0);
}

fn kept(operator: &Operator) -> usize {
    operator.kept().into_iter().find(|(what, _)| *what == "annotations").unwrap().1
}

#[test]
fn another_cause_is_another_write_and_the_same_one_is_not() {
    let mut operator = annotating(ALL);
    let first = pod("web", "u1", false, &crashed(2, 1, "Error"));
    operator.pod(&first);
    operator.advance(60);
    operator.shown(oom("web", "u1"));
    operator.advance(60);
    operator.shown(oom("web", "u1"));
    operator.advance(60);
    assert_eq!(operator.annotated(), ["Pod web AppError:", "Pod web OOMKilled:"]);
    // Alternating causes are written once each.
    operator.shown(pod("web", "u1", false, &crashed(3, 1, "Error")));
    operator.advance(3600);
    assert_eq!(operator.annotated().len(), 2);
}

#[test]
fn annotations_are_written_only_where_enabled() {
    let mut operator = annotating(Annotate::default());
    operator.pod(&carrying(oom_of("web", "web-1", "u1"), "OOMKilled: of an earlier run"));
    operator.pod(&carrying(healthy("fine", "u2"), "OOMKilled: of an earlier run"));
    operator.workload(&moved(rollout("web", 2, 0), 0, Some("OOMKilled: of an earlier run")));
    operator.advance(3600);
    assert_eq!(operator.annotated(), [""; 0]);
    assert_eq!(kept(&operator), 0);

    let mut pods_only = annotating(Annotate { pods: true, workloads: false });
    pods_only.pod(&oom_of("web", "web-1", "u1"));
    pods_only.shown(oom_of("web", "web-1", "u1"));
    pods_only.workload(&rollout("web", 2, 0));
    pods_only.advance(3600);
    assert!(!pods_only.server().other_diagnoses.is_empty());
    assert_eq!(pods_only.annotated(), ["Pod web-1 OOMKilled:"]);
}

#[test]
fn a_restart_writes_nothing_where_all_is_as_it_should_be() {
    let failing = pod_of("web-1", "u1", Some("web"), false, &crashed(2, 1, "Error"));
    let mut operator = annotating(ALL);
    operator.pod(&failing);
    operator.workload(&rollout("web", 2, 0));
    operator.advance(60);
    assert_eq!(operator.annotated(), ["Pod web-1 AppError:", "Deployment web AppError:"]);
    let texts: Vec<_> = operator.server().annotations.iter().map(|a| a.text.clone().unwrap()).collect();

    let pods = [carrying(failing, &texts[0]), healthy("fine", "u2")];
    let workload = seen(&moved(rollout("web", 2, 0), 1, Some(&texts[1])));
    let mut operator = again(operator, 60);
    operator.list_with(&[], &pods, std::slice::from_ref(&workload));
    operator.advance(3600);
    assert_eq!(operator.annotated().len(), 2);

    // What changes from then on is a transition again.
    operator.shown(oom_of("web", "web-1", "u1"));
    operator.advance(60);
    let again = &operator.annotated()[2..];
    assert_eq!(again, ["Pod web-1 OOMKilled:", "Deployment web OOMKilled:"]);
}

/// A kill between the write of the diagnosis and of the annotation, at a failure and at its recovery.
#[test]
fn the_next_process_completes_a_write_that_a_kill_interrupted() {
    let mut operator = annotating(ALL);
    operator.server_mut().no_annotations = true;
    operator.pod(&oom_of("web", "web-1", "u1"));
    operator.workload(&rollout("web", 2, 0));
    operator.advance(10);
    assert!(operator.annotated().is_empty() && !operator.server().other_diagnoses.is_empty());

    let mut operator = again(operator, 5);
    operator.server_mut().no_annotations = false;
    operator.list_with(&[], &[oom_of("web", "web-1", "u1")], &[rollout("web", 2, 0)]);
    operator.advance(60);
    let mut annotated = operator.annotated();
    annotated.sort();
    assert_eq!(annotated, ["Deployment web OOMKilled:", "Pod web-1 OOMKilled:"]);

    // It recovered, which only the diagnosis records.
    let text = "OOMKilled: app";
    let mut operator = again(operator, 5);
    operator.server_mut().annotations.clear();
    for object in operator.server_mut().objects.values_mut() {
        object.status.head.state = shindan_core::api::DiagnosisState::Recovered;
    }
    operator.list(&[], &[carrying(healthy("fine", "u2"), text), carrying(oom("gone", "u9"), text)]);
    assert_eq!(operator.annotated(), ["Pod fine -", "Pod gone -", "Pod gone OOMKilled:"]);
}

#[test]
fn a_stale_annotation_of_a_healthy_pod_is_removed_and_a_deleted_pod_is_not_patched() {
    let mut operator = annotating(ALL);
    operator.pod(&carrying(healthy("fine", "u1"), "OOMKilled: long ago"));
    assert_eq!(operator.annotated(), ["Pod fine -"]);
    operator.pod(&healthy("fine", "u1"));
    operator.pod(&carrying(healthy("fine", "u1"), "what a person wrote there"));
    operator.advance(599);
    assert_eq!(operator.annotated(), ["Pod fine -"], "there is no hurry");
    operator.advance(1);
    operator.pod(&healthy("fine", "u1"));
    operator.advance(3600);
    assert_eq!(operator.annotated(), ["Pod fine -", "Pod fine -"]);
    assert_eq!(kept(&operator), 0);

    let failing = oom("bad", "u2");
    operator.server_mut().no_annotations = true;
    operator.pod(&failing);
    operator.deleted(&end_pod(&failing, "Failed", "09:00:30"));
    operator.server_mut().no_annotations = false;
    operator.advance(600);
    assert_eq!(operator.annotated().len(), 2);
}

/// Another writer removes the annotation repeatedly: it is restored six times an hour.
#[test]
fn external_edits_of_an_annotation_are_reverted_at_a_limited_rate() {
    let mut operator = annotating(ALL);
    let failing = oom("web", "u1");
    operator.pod(&failing);
    let text = operator.server().annotations[0].text.clone().unwrap();
    for _ in 0..360 {
        operator.pod(&carrying(failing.clone(), &text));
        operator.pod(&failing);
        operator.advance(10);
    }
    let writes = operator.annotated().len();
    assert!((6..=8).contains(&writes), "{writes}");
}

#[test]
fn a_mirror_pod_is_not_annotated() {
    let mut operator = annotating(ALL);
    let mut mirror = carrying(oom("etcd-n1", "u1"), "OOMKilled: old");
    mirror.static_uid = Some("static".into());
    operator.pod(&mirror);
    operator.advance(60);
    assert!(operator.server().objects.len() == 1 && operator.annotated().is_empty(), "{:?}", operator.annotated());
}

/// The annotation increments a Deployment's generation, which is not a rollout.
#[test]
fn annotating_a_deployment_does_not_change_its_diagnosis() {
    let mut operator = annotating(ALL);
    operator.pod(&oom_of("web", "web-1", "u1"));
    operator.workload(&rollout("web", 2, 0));
    operator.advance(600);
    let text =
        operator.server().annotations.iter().find(|a| a.object.kind == "Deployment").unwrap().text.clone().unwrap();
    let before = (operator.server().other_applies, operator.server().events.len());
    let written = moved(rollout("web", 2, 0), 1, Some(&text));
    operator.workload(&written);
    operator.workload(&seen(&written));
    operator.advance(600);
    assert_eq!((operator.server().other_applies, operator.server().events.len()), before);
    let of_it = |operator: &Operator| operator.annotated().iter().filter(|line| line.starts_with("Dep")).count();
    assert_eq!(of_it(&operator), 1);

    // Its pods are replaced, and all replicas are ready.
    operator.deleted(&oom_of("web", "web-1", "u1"));
    let whole = |by, text| moved(rollout("web", 2, 2), by, text);
    operator.workload(&seen(&whole(1, Some(&text))));
    operator.advance(60);
    let last = operator.server().annotations.last().unwrap().clone();
    assert_eq!((&*last.object.kind, &last.text), ("Deployment", &None), "{:?}", operator.annotated());
    let before = (operator.server().other_applies, operator.server().events.len());
    operator.workload(&whole(2, None));
    operator.workload(&seen(&whole(2, None)));
    operator.advance(900);
    assert_eq!((operator.server().other_applies, operator.server().events.len()), before);
}

#[test]
fn a_new_leader_writes_the_annotations_that_the_old_one_could_not() {
    let mut operator = annotating(ALL);
    operator.become_standby();
    let failing = oom("web", "u1");
    operator.pod(&failing);
    operator.pod(&carrying(healthy("fine", "u2"), "OOMKilled: it failed"));
    let mut other = annotating(Annotate::default());
    other.pod(&failing);
    operator.become_leader(other.take_server(), |_| {});
    let mut annotated = operator.annotated();
    annotated.sort();
    assert_eq!(annotated, ["Pod fine -", "Pod web OOMKilled:"]);
}

/// A pod that still exists after its workload's recovery ended its diagnosis has no annotation.
#[test]
fn a_pod_that_its_workload_has_replaced_is_not_annotated() {
    let mut operator = annotating(ALL);
    let thrown_out = evicted("web", "web-1", "u1");
    operator.workload(&rollout("web", 1, 0));
    operator.pod(&thrown_out);
    operator.advance(30);
    let text = operator.server().annotations[0].text.clone().unwrap();
    operator.pod(&carrying(thrown_out, &text));
    operator.workload(&rollout("web", 1, 1));
    operator.advance(600);
    assert!(operator.annotated().contains(&"Pod web-1 -".to_owned()), "{:?}", operator.annotated());
}

#[test]
fn the_annotation_is_read_from_what_is_sent() {
    let pod = dump(
        "{kind: Pod, metadata: {namespace: demo, name: a, uid: u, annotations: {shindan.dev/diagnosis: 'OOMKilled: x'}}}",
    );
    assert!(pod.pods[0].carried.as_ref().is_some_and(|carried| carried.is_of("OOMKilled")));
    assert!(Lane::Change < Lane::Resync, "what is new is written before what is put back");
}
