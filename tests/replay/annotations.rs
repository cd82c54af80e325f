//! What failing pods and workloads carry: written once a transition, taken off on recovery, and healed whatever came between.

use shindan::facts::{Carried, PodFacts, WorkloadFacts};
use shindan::outbox::Lane;
use shindan::plan::Annotation;
use shindan::world::{Annotate, Caps};

use super::operator::{
    Operator, Server, at, crashed, dump, end_pod, evicted, oom, oom_of, pod, pod_of, rollout, running_again, well,
};

const ALL: Annotate = Annotate { pods: true, workloads: true };

fn annotating(what: Annotate) -> Operator {
    let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
    operator.world.annotate(what);
    operator.list(&[], &[]);
    operator
}

/// A new process in the same cluster.
fn again(operator: Operator, later: i64) -> Operator {
    let mut operator = operator.restarted(later);
    operator.world.annotate(ALL);
    operator
}

fn carrying(mut pod: PodFacts, text: &str) -> PodFacts {
    pod.carried = Some(Carried::of(text));
    pod
}

/// As the watch shows it after it was annotated: of a Deployment each change of an annotation is another generation.
fn moved(mut workload: WorkloadFacts, by: i64, text: Option<&str>) -> WorkloadFacts {
    workload.generation += by;
    workload.carried = text.map(Carried::of);
    workload
}

fn seen(workload: &WorkloadFacts) -> WorkloadFacts {
    WorkloadFacts { observed_generation: Some(workload.generation), ..workload.clone() }
}

impl Operator {
    /// The watch shows a pod with what it was last annotated with.
    fn shown(&mut self, mut pod: PodFacts) {
        let last = self.server.annotations.iter().rev().find(|a| a.object.key == pod.key);
        pod.carried = last.and_then(|a| a.text.as_deref()).map(Carried::of);
        self.pod(&pod);
    }

    /// `Pod web OOMKilled: ...`, or without a text where it was taken off.
    fn annotated(&self) -> Vec<String> {
        let line = |annotation: &Annotation| {
            let text = annotation.text.as_deref().map_or("-", |text| text.split(' ').next().unwrap());
            format!("{} {} {text}", annotation.object.kind, annotation.object.key.name)
        };
        self.server.annotations.iter().map(line).collect()
    }
}

#[test]
fn a_failing_pod_carries_its_cause_until_it_is_well() {
    let mut operator = annotating(ALL);
    operator.pod(&oom("web", "u1"));
    let [written] = operator.server.annotations.as_slice() else { panic!("{:?}", operator.annotated()) };
    let summary = &operator.status("web").summary;
    assert_eq!(written.text.as_deref(), Some(format!("OOMKilled: {summary}").as_str()));
    assert_eq!((&*written.object.api_version, written.object.uid.as_deref()), ("v1", Some("u1")));

    // Our own write comes back by the watch; later restarts change the summary.
    let text = written.text.clone().unwrap();
    operator.advance(60);
    let applies = operator.server.applies;
    operator.shown(oom("web", "u1"));
    operator.advance(60);
    assert_eq!((operator.server.applies, operator.server.events.len()), (applies, 1));
    for n in 3..6 {
        operator.shown(pod("web", "u1", false, &crashed(n, 137, "OOMKilled")));
        operator.advance(60);
    }
    assert_ne!(&operator.status("web").summary, &text["OOMKilled: ".len()..]);
    assert_eq!(operator.annotated(), ["Pod web OOMKilled:"]);

    let well_again = pod("web", "u1", true, &running_again(5, 137, "OOMKilled"));
    for _ in 0..20 {
        operator.shown(well_again.clone());
        operator.advance(60);
    }
    assert_eq!(operator.annotated(), ["Pod web OOMKilled:", "Pod web -"]);
    operator.shown(well_again);
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
    // Two that take turns are told once each.
    operator.shown(pod("web", "u1", false, &crashed(3, 1, "Error")));
    operator.advance(3600);
    assert_eq!(operator.annotated().len(), 2);
}

#[test]
fn nothing_is_annotated_that_nobody_asked_for() {
    let mut operator = annotating(Annotate::default());
    operator.pod(&carrying(oom_of("web", "web-1", "u1"), "OOMKilled: of an earlier run"));
    operator.pod(&carrying(well("fine", "u2"), "OOMKilled: of an earlier run"));
    operator.workload(&moved(rollout("web", 2, 0), 0, Some("OOMKilled: of an earlier run")));
    operator.advance(3600);
    assert_eq!(operator.annotated(), [""; 0]);
    assert_eq!(kept(&operator), 0);

    let mut pods_only = annotating(Annotate { pods: true, workloads: false });
    pods_only.pod(&oom_of("web", "web-1", "u1"));
    pods_only.shown(oom_of("web", "web-1", "u1"));
    pods_only.workload(&rollout("web", 2, 0));
    pods_only.advance(3600);
    assert!(!pods_only.server.outers.is_empty());
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
    let texts: Vec<_> = operator.server.annotations.iter().map(|a| a.text.clone().unwrap()).collect();

    let pods = [carrying(failing, &texts[0]), well("fine", "u2")];
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

/// Killed between the diagnosis and the annotation, at a failure and at its end.
#[test]
fn a_kill_between_two_writes_is_healed_by_the_next_run() {
    let mut operator = annotating(ALL);
    operator.server.no_annotations = true;
    operator.pod(&oom_of("web", "web-1", "u1"));
    operator.workload(&rollout("web", 2, 0));
    operator.advance(10);
    assert!(operator.annotated().is_empty() && !operator.server.outers.is_empty());

    let mut operator = again(operator, 5);
    operator.server.no_annotations = false;
    operator.list_with(&[], &[oom_of("web", "web-1", "u1")], &[rollout("web", 2, 0)]);
    operator.advance(60);
    let mut annotated = operator.annotated();
    annotated.sort();
    assert_eq!(annotated, ["Deployment web OOMKilled:", "Pod web-1 OOMKilled:"]);

    // It got well, and of that only the diagnosis tells.
    let text = "OOMKilled: app";
    let mut operator = again(operator, 5);
    operator.server.annotations.clear();
    for object in operator.server.objects.values_mut() {
        object.status.state = shindan::api::DiagnosisState::Recovered;
    }
    operator.list(&[], &[carrying(well("fine", "u2"), text), carrying(oom("gone", "u9"), text)]);
    assert_eq!(operator.annotated(), ["Pod fine -", "Pod gone -", "Pod gone OOMKilled:"]);
}

#[test]
fn a_leftover_on_what_is_well_is_removed_and_a_deleted_pod_is_not_written_to() {
    let mut operator = annotating(ALL);
    operator.pod(&carrying(well("fine", "u1"), "OOMKilled: long ago"));
    assert_eq!(operator.annotated(), ["Pod fine -"]);
    operator.pod(&well("fine", "u1"));
    operator.pod(&carrying(well("fine", "u1"), "what a person wrote there"));
    operator.advance(599);
    assert_eq!(operator.annotated(), ["Pod fine -"], "there is no hurry");
    operator.advance(1);
    operator.pod(&well("fine", "u1"));
    operator.advance(3600);
    assert_eq!(operator.annotated(), ["Pod fine -", "Pod fine -"]);
    assert_eq!(kept(&operator), 0);

    let failing = oom("bad", "u2");
    operator.server.no_annotations = true;
    operator.pod(&failing);
    operator.deleted(&end_pod(&failing, "Failed", "09:00:30"));
    operator.server.no_annotations = false;
    operator.advance(600);
    assert_eq!(operator.annotated().len(), 2);
}

/// Another hand takes it off, or writes its own words: they meet six times an hour.
#[test]
fn another_hand_is_not_fought_at_full_speed() {
    let mut operator = annotating(ALL);
    let failing = oom("web", "u1");
    operator.pod(&failing);
    let text = operator.server.annotations[0].text.clone().unwrap();
    for _ in 0..360 {
        operator.pod(&carrying(failing.clone(), &text));
        operator.pod(&failing);
        operator.advance(10);
    }
    let writes = operator.annotated().len();
    assert!((6..=8).contains(&writes), "{writes}");
}

#[test]
fn a_mirror_of_a_static_pod_is_its_kubelets() {
    let mut operator = annotating(ALL);
    let mut mirror = carrying(oom("etcd-n1", "u1"), "OOMKilled: old");
    mirror.static_uid = Some("static".into());
    operator.pod(&mirror);
    operator.advance(60);
    assert!(operator.server.objects.len() == 1 && operator.annotated().is_empty(), "{:?}", operator.annotated());
}

/// The annotation moves a Deployment's generation, which is no rollout.
#[test]
fn our_own_write_to_a_deployment_is_no_news_of_it() {
    let mut operator = annotating(ALL);
    operator.pod(&oom_of("web", "web-1", "u1"));
    operator.workload(&rollout("web", 2, 0));
    operator.advance(600);
    let text =
        operator.server.annotations.iter().find(|a| a.object.kind == "Deployment").unwrap().text.clone().unwrap();
    let before = (operator.server.outer_applies, operator.server.events.len());
    let written = moved(rollout("web", 2, 0), 1, Some(&text));
    operator.workload(&written);
    operator.workload(&seen(&written));
    operator.advance(600);
    assert_eq!((operator.server.outer_applies, operator.server.events.len()), before);
    let of_it = |operator: &Operator| operator.annotated().iter().filter(|line| line.starts_with("Dep")).count();
    assert_eq!(of_it(&operator), 1);

    // Its pods are replaced, and it is whole.
    operator.deleted(&oom_of("web", "web-1", "u1"));
    let whole = |by, text| moved(rollout("web", 2, 2), by, text);
    operator.workload(&seen(&whole(1, Some(&text))));
    operator.advance(60);
    let last = operator.server.annotations.last().unwrap();
    assert_eq!((&*last.object.kind, &last.text), ("Deployment", &None), "{:?}", operator.annotated());
    let before = (operator.server.outer_applies, operator.server.events.len());
    operator.workload(&whole(2, None));
    operator.workload(&seen(&whole(2, None)));
    operator.advance(900);
    assert_eq!((operator.server.outer_applies, operator.server.events.len()), before);
}

#[test]
fn a_takeover_writes_what_another_replica_could_not() {
    let mut operator = annotating(ALL);
    operator.follow();
    let failing = oom("web", "u1");
    operator.pod(&failing);
    operator.pod(&carrying(well("fine", "u2"), "OOMKilled: it failed"));
    let mut other = annotating(Annotate::default());
    other.pod(&failing);
    operator.take_over(other.server, |_| {});
    let mut annotated = operator.annotated();
    annotated.sort();
    assert_eq!(annotated, ["Pod fine -", "Pod web OOMKilled:"]);
}

/// A pod whose diagnosis is ended by its workload's recovery is still there, and carries nothing.
#[test]
fn what_its_workload_has_replaced_carries_nothing() {
    let mut operator = annotating(ALL);
    let thrown_out = evicted("web", "web-1", "u1");
    operator.workload(&rollout("web", 1, 0));
    operator.pod(&thrown_out);
    operator.advance(30);
    let text = operator.server.annotations[0].text.clone().unwrap();
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
