//! Events of pods that belong to no workload which could report their failure.

use shindan_core::api::DiagnosisState::Recovered;
use shindan_core::facts::{Owner, PodFacts};
use shindan_core::reconcile::Policy;
use shindan_core::state::Caps;

use super::operator::{HEALTHY, Operator, Server, at, crashed, oom, oom_of, pod};

const LIMIT: &str = "Further bare pods of this namespace with this cause have no Event for up to 10 minutes";

/// The n-th bare pod, ended by SIGSEGV.
fn crashing(n: usize) -> PodFacts {
    pod(&format!("bare-{n}"), &format!("u-{n}"), false, &crashed(3, 139, "Error"))
}

fn in_namespace(namespace: &str, mut pod: PodFacts) -> PodFacts {
    pod.key.namespace = namespace.into();
    pod.uid = format!("{namespace}-{}", pod.uid).into();
    pod
}

fn owned(n: usize, mut pod: PodFacts) -> PodFacts {
    let (api_version, kind) = ("example.com/v1".into(), "Widget".into());
    pod.owner = Some(Owner { api_version, kind, name: format!("w-{n}").into(), uid: format!("w-{n}").into() });
    pod
}

#[test]
fn five_events_of_a_namespace_and_cause_are_emitted_and_the_fifth_states_the_limit() {
    let mut operator = Operator::idle();
    for n in 1..=118 {
        operator.pod(&crashing(n));
    }
    assert_eq!(operator.emitted(), ["Diagnosed NativeCrash"; 5]);
    assert_eq!((operator.server().objects.len(), operator.aggregated()), (118, 113), "each has its object");
    let states_the_limit: Vec<bool> =
        operator.server().events.iter().map(|event| event.note.ends_with(LIMIT)).collect();
    assert_eq!(states_the_limit, [false, false, false, false, true]);
    for n in 1..=7 {
        operator.pod(&oom(&format!("other-{n}"), &format!("o-{n}")));
    }
    assert_eq!(operator.emitted()[5..], ["Diagnosed OOMKilled"; 5], "another cause has its own five");
    for n in 1..=7 {
        operator.pod(&in_namespace("shop", crashing(n)));
    }
    assert_eq!(operator.emitted()[10..], ["Diagnosed NativeCrash"; 5], "another namespace has its own five");
    operator.advance(600);
    operator.pod(&crashing(119));
    assert_eq!(operator.emitted().len(), 16, "the limit resets after ten minutes");
}

#[test]
fn made_up_controllers_do_not_raise_the_limit() {
    let mut operator = Operator::idle();
    for n in 1..=50 {
        operator.pod(&owned(n, crashing(n)));
    }
    assert_eq!(operator.emitted().len(), 5);
}

#[test]
fn a_bare_pod_without_an_event_recovers_without_one() {
    let mut operator = Operator::idle();
    for n in 1..=6 {
        operator.pod(&crashing(n));
    }
    for n in [1, 6] {
        operator.pod(&pod(&format!("bare-{n}"), &format!("u-{n}"), true, HEALTHY));
    }
    operator.advance(700);
    assert_eq!((operator.state("bare-1"), operator.state("bare-6")), (Recovered, Recovered));
    assert_eq!(operator.emitted()[5..], ["Recovered Recovered"], "of the first pod only");
}

/// `--events-per-workload=0`: no Event of a workload would report the failure of a bare pod.
#[test]
fn without_events_of_pods_a_bare_pod_still_has_one() {
    let policy = Policy { events_per_workload: 0, ..Policy::default() };
    let mut operator = Operator::with_policy(policy, Caps::default(), Server::default(), at("09:00:00"));
    operator.list(&[], &[]);
    for n in 1..=3 {
        operator.pod(&crashing(n));
        operator.pod(&oom_of("web", &format!("web-{n}"), &format!("w-{n}")));
    }
    assert_eq!(operator.emitted(), ["Diagnosed NativeCrash"]);
    assert!(operator.server().events[0].note.ends_with(LIMIT));
}
