//! Limits on the number of objects.

use shindan_core::api::DiagnosisState::{Active, Gone};
use shindan_core::state::{Caps, Change};

use super::operator::{Operator, Server, at, crashed, oom, oom_of, pod};

fn with(caps: Caps) -> Operator {
    let mut operator = Operator::new(caps, Server::default(), at("09:00:00"));
    operator.list(&[], &[]);
    operator
}

#[test]
fn a_full_namespace_evicts_what_has_ended_oldest_first() {
    let mut operator = with(Caps { per_namespace: 3, ended_per_failure: 3 });
    for (i, name) in ["a", "b", "c"].iter().enumerate() {
        operator.pod(&oom(name, &format!("u{i}")));
    }
    operator.deleted(&oom("b", "u1"));
    operator.advance(10);
    operator.deleted(&oom("a", "u0"));
    operator.pod(&oom("d", "u3"));
    let left: Vec<_> = operator.server().objects.keys().map(|key| key.name.to_string()).collect();
    assert_eq!(left, ["a", "c", "d"], "b ended first");
    operator.pod(&oom("e", "u4"));
    assert_eq!(operator.server().objects.len(), 3);
    assert!(operator.server().objects.values().all(|o| o.status.head.state == Active));
}

#[test]
fn where_all_are_active_a_failure_gets_its_event_once_and_a_count() {
    let mut operator = with(Caps { per_namespace: 2, ended_per_failure: 3 });
    for (i, name) in ["a", "b", "c"].iter().enumerate() {
        operator.pod(&oom(name, &format!("u{i}")));
    }
    assert_eq!(
        (operator.server().objects.len(), operator.emitted().len(), operator.engine.world.reported.beyond_caps()),
        (2, 3, 1)
    );
    for n in 3..9 {
        operator.pod(&pod("c", "u2", false, &crashed(n, 137, "OOMKilled")));
        operator.advance(60);
    }
    assert_eq!((operator.emitted().len(), operator.server().refused_posts), (3, 0));
    // There is room again: the next change brings the object, and no second Event.
    operator.deleted(&oom("a", "u0"));
    operator.pod(&pod("c", "u2", false, &crashed(9, 137, "OOMKilled")));
    assert_eq!((operator.state("c"), operator.engine.world.reported.beyond_caps()), (Active, 0));
    operator.deleted(&oom("c", "u2"));
    assert_eq!(operator.engine.world.reported.beyond_caps(), 0);
}

#[test]
fn the_event_of_a_failure_without_an_object_is_tried_until_it_is_there() {
    let mut operator = with(Caps { per_namespace: 1, ended_per_failure: 3 });
    operator.pod(&oom("a", "u0"));
    operator.server_mut().no_events = true;
    operator.pod(&oom("b", "u1"));
    operator.server_mut().no_events = false;
    operator.advance(60);
    assert_eq!(operator.emitted().len(), 2);
}

#[test]
fn three_ended_ones_of_a_failure_stand_for_all() {
    let mut operator = with(Caps::default());
    for i in 0..10 {
        let pod = oom_of("web", &format!("web-{i}"), &format!("u{i}"));
        operator.pod(&pod);
        operator.advance(60);
        operator.deleted(&pod);
    }
    let left: Vec<_> = operator.server().objects.iter().map(|(k, o)| (k.name.to_string(), o.status.repeats)).collect();
    assert_eq!(left.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["web-7", "web-8", "web-9"]);
    let total: u32 = left.iter().map(|(_, repeats)| repeats + 1).sum();
    assert_eq!(total, 10, "none is forgotten: {left:?}");
    assert!(operator.server().objects.values().all(|o| o.status.head.state == Gone));
}

#[test]
fn evicted_diagnoses_do_not_return_with_a_new_failure() {
    let mut operator = with(Caps { per_namespace: 2, ended_per_failure: 3 });
    operator.pod(&oom("a", "u0"));
    operator.deleted(&oom("a", "u0"));
    operator.pod(&oom("b", "u1"));
    operator.pod(&oom("a", "u9"));
    operator.advance(60);
    assert_eq!((operator.state("a"), operator.state("b")), (Active, Active));
    operator.deleted(&oom("a", "u9"));
    operator.advance(60);
    assert_eq!(operator.state("a"), Gone, "it is retained like any other ended diagnosis");
}

#[test]
fn an_evicted_diagnosis_that_a_user_deletes_first_leaves_no_entry() {
    let mut operator = with(Caps { per_namespace: 2, ended_per_failure: 3 });
    for (pod, uid) in [("a", "u0"), ("b", "u1")] {
        operator.pod(&oom(pod, uid));
        operator.deleted(&oom(pod, uid));
        // The oldest is evicted, so they must not end at the same time.
        operator.advance(10);
    }
    operator.take(Change::Pod(Box::new(oom("c", "u2"))));
    operator.settle_with_deletion(|operator| {
        let deletion = operator.server_mut().edit("a", true);
        operator.take(deletion);
    });
    operator.advance(60);
    assert_eq!((operator.state("b"), operator.state("c")), (Gone, Active));
    let kept = operator.engine.world.kept();
    assert!(kept.contains(&("pod_diagnoses", 4)), "two diagnoses, their namespace, and what has ended there: {kept:?}");
}
