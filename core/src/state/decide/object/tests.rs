//! Tests of the life cycle of the diagnosis of a custom resource.

use std::sync::Arc;

use super::*;
use crate::api::DiagnosisState;
use crate::case::Thresholds;
use crate::reconcile::{Intent, Policy, Record, Write};
use crate::rules::catalog::{self, Catalog};
use crate::state::{Caps, Change};
use crate::user_rules;
use crate::wire::Dump;

fn at(minute: i64) -> Timestamp {
    after("2026-11-21T09:00:00Z".parse().unwrap(), 60 * minute)
}

fn facts(status: &str) -> WorkloadFacts {
    let mut dump = Dump::default();
    dump.read(&format!(
        "apiVersion: acme.example.com/v1\nkind: Widget\nmetadata: {{name: w, namespace: shop, uid: w1}}\nstatus: {status}\n"
    ));
    dump.resources.remove(0)
}

fn world() -> World {
    let caps = Caps { per_namespace: usize::MAX, ended_per_failure: usize::MAX };
    let mut world = World::new(Thresholds::default(), Policy::default(), caps);
    for source in Source::ALL {
        let _ = world.apply(Change::ListStarted(source), at(0));
        let _ = world.apply(Change::ListDone(source), at(0));
    }
    world
}

/// Applies a change, decides on the touched object and acknowledges its write.
fn step(world: &mut World, change: Change, now: Timestamp) -> Option<Box<Write>> {
    let touched = world.apply(change, now);
    let (subject, _) = touched.into_iter().find(|(subject, _)| matches!(subject, Subject::Workload(_)))?;
    let Some(Intent::Apply(write)) = world.decide(&subject, now).plan.intent else { return None };
    let _ = world.acknowledged(&write, "u".to_owned(), "1".to_owned(), now);
    Some(write)
}

#[test]
fn diagnosis_of_an_object_has_the_life_cycle_of_a_workload() {
    let mut world = world();
    let put = |status: &str| Change::Workload(Box::new(facts(status)));
    let healthy = "{conditions: [{type: Ready, status: \"True\", lastTransitionTime: \"2026-11-21T09:00:00Z\"}]}";
    assert!(step(&mut world, put(healthy), at(1)).is_none());
    let failed = step(&mut world, put("{phase: Failed, message: no disk}"), at(2)).expect("it fails");
    assert_eq!(failed.object.head().cause, "ResourceFailed");
    assert!(failed.announcement.as_ref().is_some_and(|event| event.warning));
    assert!(step(&mut world, put("{phase: Failed, message: no disk}"), at(3)).is_none(), "nothing has changed");
    let recovered = step(&mut world, put(healthy), at(30)).expect("it recovers");
    assert_eq!(recovered.object.head().state, DiagnosisState::Recovered);
    assert_eq!(recovered.object.head().summary, "it is healthy again");
    assert!(step(&mut world, put("{phase: Failed}"), at(90)).is_some());
    let gone = step(&mut world, Change::WorkloadDeleted(facts("{}").key), at(91)).expect("it is deleted");
    assert_eq!(gone.object.head().state, DiagnosisState::Gone);
}

#[test]
fn threshold_of_an_object_is_a_timer() {
    let mut world = world();
    let failing = "{conditions: [{type: Ready, status: \"False\", lastTransitionTime: \"2026-11-21T09:00:00Z\"}]}";
    let touched = world.apply(Change::Workload(Box::new(facts(failing))), at(1));
    let subject = &touched[0].0;
    let plan = world.decide(subject, at(1)).plan;
    assert_eq!((plan.intent, plan.wake), (None, Some(at(5))));
    assert!(world.decide(subject, at(5)).plan.intent.is_some());
}

/// A catalogue with a rule about replicas of widgets, which waits five minutes.
fn with_rule() -> Arc<Catalog> {
    let rule = serde_json::json!({"causes": [{
        "cause": "acme.example/NotScaled", "category": "Scheduling", "signal": "object", "threshold": "5m",
        "match": {"kinds": ["widgets.acme.example.com"], "when": "resource.spec.replicas > resource.status.ready"},
        "summary": "{object.display} has {resource.status.ready} of {resource.spec.replicas} replicas",
        "explain": {"meaning": "m", "distinguish": "d", "action": "a", "source": "s"},
        "remedies": [{"text": "Read the log of the controller."}],
    }]});
    let checked = user_rules::check(&rule);
    assert_eq!(checked.errors, [""; 0]);
    Arc::new(Catalog::with(checked.additions))
}

fn widget(ready: i64, generation: i64) -> Change {
    let mut dump = Dump::default().keeping(catalog::current().fields().clone());
    dump.read(&format!(
        "{{apiVersion: acme.example.com/v1, kind: Widget, metadata: {{name: w, namespace: shop, uid: w1, \
         generation: {generation}}}, spec: {{replicas: 3}}, status: {{ready: {ready}}}}}"
    ));
    Change::Workload(Box::new(dump.resources.remove(0)))
}

#[test]
fn threshold_of_a_cause_over_fields_begins_when_it_applies() {
    catalog::within(with_rule(), || {
        let mut world = world();
        world.settings.await_answers();
        assert!(step(&mut world, widget(3, 1), at(1)).is_none());
        assert!(step(&mut world, widget(0, 1), at(10)).is_none());
        // Another number of replicas, and a change of the spec, are the same failure.
        assert!(step(&mut world, widget(1, 2), at(13)).is_none());
        let failed = step(&mut world, widget(2, 2), at(15)).expect("it fails for five minutes");
        let head = failed.object.head();
        assert_eq!((&*head.cause, &*head.category), ("acme.example/NotScaled", "Scheduling"), "those of the rule");
        assert_eq!(failed.object.head().summary, "Widget w has 2 of 3 replicas");
        let recovered = step(&mut world, widget(3, 2), at(16)).expect("it recovers");
        assert_eq!(recovered.object.head().state, DiagnosisState::Recovered);
        assert!(step(&mut world, widget(2, 2), at(17)).is_none(), "the threshold begins again");
    });
}

#[test]
fn object_whose_fields_a_new_rule_reads_is_judged_once_they_are_read() {
    let mut world = world();
    let unread = facts("{phase: Failed}");
    catalog::within(with_rule(), || {
        let touched = world.apply(Change::Workload(Box::new(unread)), at(1));
        assert_eq!(world.decide(&touched[0].0, at(1)).plan.intent, None);
        let failed = step(&mut world, widget(2, 1), at(2)).expect("it fails");
        assert_eq!(failed.object.head().cause, "acme.example/NotScaled");
    });
}

#[test]
fn diagnoses_of_kinds_that_are_no_longer_followed_end() {
    let mut world = world();
    let of = |kind: &str| Change::ResourcesFollowed([("acme.example.com".to_owned(), kind.to_owned())].into());
    assert!(step(&mut world, Change::Workload(Box::new(facts("{phase: Failed}"))), at(1)).is_some());
    assert!(step(&mut world, of("Widget"), at(2)).is_none());
    let gone = step(&mut world, of("Gadget"), at(3)).expect("it ends");
    assert_eq!(gone.object.head().state, DiagnosisState::Gone);
    assert!(world.cluster.objects.is_empty());
}

#[test]
fn a_restart_ends_no_diagnosis_of_a_condition_without_a_time() {
    let put = || {
        Change::Workload(Box::new(facts("{conditions: [{type: Ready, status: \"False\", reason: No, message: m}]}")))
    };
    let mut before = world();
    assert!(step(&mut before, put(), at(0)).is_none(), "it may settle");
    let write = step(&mut before, put(), at(10)).expect("it fails");
    let mut after_restart = world();
    let _ = after_restart.restore(vec![Record::after(None, &write, "u".to_owned(), "1".to_owned(), at(10))]);
    assert!(step(&mut after_restart, put(), at(11)).is_none(), "it still fails, and nothing has changed");
}

#[test]
fn an_object_that_is_being_deleted_is_not_reported() {
    let mut world = world();
    let failed = facts("{phase: Failed, message: no disk}");
    assert!(step(&mut world, Change::Workload(Box::new(failed.clone())), at(2)).is_some());
    let deleting = WorkloadFacts { deleting: true, ..failed };
    let gone = step(&mut world, Change::Workload(Box::new(deleting.clone())), at(3)).expect("it ends");
    assert_eq!(gone.object.head().state, DiagnosisState::Gone);
    assert!(step(&mut world, Change::Workload(Box::new(deleting)), at(4)).is_none(), "a finalizer holds it");
}
