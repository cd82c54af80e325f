//! A pod that waits for its volume: what its claim tells is looked up before anything is written.

use shindan::facts::{ClaimFacts, ClaimsFacts, Looked, PodFacts, Want};

use crate::operator::{Operator, at, dump};

fn waiting() -> PodFacts {
    dump(
        "{kind: Pod, metadata: {name: db, namespace: demo, uid: u1, creationTimestamp: '2026-11-21T09:00:00Z'}, \
         spec: {schedulerName: default-scheduler, containers: [{name: db, image: db}], \
         volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}, \
         status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, \
         lastTransitionTime: '2026-11-21T09:00:00Z', \
         message: '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.'}]}}",
    )
    .pods
    .remove(0)
}

fn want() -> Want {
    Want::Claims("demo".into())
}

fn says(reason: &str, message: &str) -> Looked {
    let event = dump(&format!(
        "{{kind: Event, metadata: {{name: e, namespace: demo}}, involvedObject: {{kind: PersistentVolumeClaim, namespace: demo, name: data}}, \
         reason: {reason}, message: '{message}', lastTimestamp: '2026-11-21T09:00:30Z', source: {{component: persistentvolume-controller}}}}"
    ));
    let claim = ClaimFacts {
        name: "data".into(),
        class: shindan::facts::ClaimClass::Unset,
        volume: None,
        events: event.events,
    };
    Looked::Claims(ClaimsFacts { unbound: vec![claim], classes: Some([].into()) })
}

const NO_CLASS: &str = "no persistent volumes available for this claim and no storage class is set";

#[test]
fn what_the_claim_tells_is_the_first_thing_that_is_written() {
    let mut operator = Operator::idle();
    operator.answers.insert(want(), says("FailedBinding", NO_CLASS));
    operator.pod(&waiting());
    operator.advance(50);
    assert_eq!(operator.server.lookups, 0, "nothing is read for a pod that may be placed any moment");
    operator.advance(20);
    assert_eq!(operator.told(), ["Diagnosed PvcNoClassNoPv"]);
    operator.advance(3600);
    assert_eq!(operator.told(), ["Diagnosed PvcNoClassNoPv"]);
}

#[test]
fn without_the_right_to_read_claims_the_schedulers_word_is_told() {
    let mut operator = Operator::idle();
    operator.refused.insert(want());
    operator.pod(&waiting());
    operator.advance(70);
    assert_eq!(operator.told(), ["Diagnosed PvcUnboundImmediate"]);
    operator.refused.clear();
    operator.answers.insert(want(), says("FailedBinding", NO_CLASS));
    operator.advance(400);
    assert_eq!(operator.told(), ["Diagnosed PvcUnboundImmediate", "Changed PvcNoClassNoPv"], "once it is granted");
}

#[test]
fn a_claim_that_fails_in_another_way_later_is_told_of_again() {
    let mut operator = Operator::idle();
    operator.answers.insert(want(), says("FailedBinding", NO_CLASS));
    operator.pod(&waiting());
    operator.advance(70);
    let missing = says("ProvisioningFailed", "storageclass.storage.k8s.io \"fast\" not found");
    operator.answers.insert(want(), missing);
    operator.advance(400);
    assert_eq!(operator.told(), ["Diagnosed PvcNoClassNoPv", "Changed PvcProvisioningFailed"]);
}

#[test]
fn a_volume_for_a_chosen_node_takes_its_time_and_is_no_matter_of_the_scheduler() {
    let mut operator = Operator::idle();
    let mut pod = waiting();
    pod.conditions.clear();
    pod.nominated_node = Some("node1".into());
    let Looked::Claims(mut claims) = says(
        "ExternalProvisioning",
        "Waiting for a volume to be created either by the external provisioner ''x'' or manually",
    ) else {
        unreachable!()
    };
    let first = dump(
        "{kind: Event, metadata: {name: f, namespace: demo}, involvedObject: {kind: PersistentVolumeClaim, namespace: demo, name: data}, \
         reason: WaitForFirstConsumer, message: m, lastTimestamp: '2026-11-21T09:00:00Z', source: {component: persistentvolume-controller}}",
    );
    claims.unbound[0].events.splice(0..0, first.events);
    operator.answers.insert(want(), Looked::Claims(claims));
    operator.pod(&pod);
    operator.advance(110);
    assert_eq!((operator.told().len(), operator.server.lookups), (0, 0), "it may well be made yet");
    operator.advance(20);
    assert_eq!(operator.told(), ["Diagnosed PvcWaitingProvisioner"]);
    assert!(operator.now > at("09:02:00"));
}

#[test]
fn a_node_that_is_being_cleared_gets_its_time_from_the_moment_it_is_chosen() {
    let mut operator = Operator::idle();
    let mut pod = waiting();
    pod.volumes.clear();
    "0/1 nodes are available: 1 Insufficient cpu.".clone_into(&mut pod.conditions[0].message);
    operator.pod(&pod);
    operator.advance(50);
    pod.nominated_node = Some("node1".into());
    operator.pod(&pod);
    operator.advance(590);
    assert!(operator.told().is_empty(), "they may well go yet");
    operator.advance(20);
    assert_eq!(operator.told(), ["Diagnosed PreemptionPending"]);
}

/// After a restart the claims are not known at once, and the scheduler's word is poorer than what was written.
#[test]
fn what_a_claim_told_is_not_forgotten_over_a_restart() {
    let mut operator = Operator::idle();
    operator.answers.insert(want(), says("FailedBinding", NO_CLASS));
    operator.pod(&waiting());
    operator.advance(70);
    for refused in [false, true] {
        operator = operator.restarted(30);
        if refused {
            operator.refused.insert(want());
        } else {
            operator.answers.insert(want(), says("FailedBinding", NO_CLASS));
        }
        operator.list(&[], &[waiting()]);
        operator.advance(400);
        assert_eq!(operator.status("db").cause, "PvcNoClassNoPv", "refused: {refused}");
        assert_eq!(operator.told(), ["Diagnosed PvcNoClassNoPv"], "refused: {refused}");
    }
}
