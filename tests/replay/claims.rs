//! Pods that wait for a volume: their claims are read before the first write.

use shindan_core::facts::{ClaimFacts, ClaimsFacts, Lookup, LookupResult, PodFacts};

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

fn lookup() -> Lookup {
    Lookup::Claims("demo".into())
}

fn claim_events(reason: &str, message: &str) -> LookupResult {
    let event = dump(&format!(
        "{{kind: Event, metadata: {{name: e, namespace: demo}}, involvedObject: {{kind: PersistentVolumeClaim, namespace: demo, name: data}}, \
         reason: {reason}, message: '{message}', lastTimestamp: '2026-11-21T09:00:30Z', source: {{component: persistentvolume-controller}}}}"
    ));
    let claim = ClaimFacts {
        name: "data".into(),
        class: shindan_core::facts::ClaimClass::Unset,
        volume: None,
        size: None,
        events: event.events,
    };
    LookupResult::Claims(ClaimsFacts { unbound: vec![claim], classes: Some([].into()) })
}

const NO_CLASS: &str = "no persistent volumes available for this claim and no storage class is set";

#[test]
fn the_cause_from_the_claim_is_in_the_first_write() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.insert(lookup(), claim_events("FailedBinding", NO_CLASS));
    operator.pod(&waiting());
    operator.advance(50);
    assert_eq!(operator.server().lookups, 0, "nothing is read for a pod that may be placed any moment");
    operator.advance(20);
    assert_eq!(operator.emitted(), ["Diagnosed PvcNoClassNoPv"]);
    operator.advance(3600);
    assert_eq!(operator.emitted(), ["Diagnosed PvcNoClassNoPv"]);
}

#[test]
fn without_permission_to_read_claims_the_schedulers_message_is_reported() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().refused.insert(lookup());
    operator.pod(&waiting());
    operator.advance(70);
    assert_eq!(operator.emitted(), ["Diagnosed PvcUnboundImmediate"]);
    operator.surroundings_mut().refused.clear();
    operator.surroundings_mut().results.insert(lookup(), claim_events("FailedBinding", NO_CLASS));
    operator.advance(400);
    assert_eq!(operator.emitted(), ["Diagnosed PvcUnboundImmediate", "Changed PvcNoClassNoPv"], "once it is granted");
}

#[test]
fn another_failure_of_a_claim_is_reported_again() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.insert(lookup(), claim_events("FailedBinding", NO_CLASS));
    operator.pod(&waiting());
    operator.advance(70);
    let missing = claim_events("ProvisioningFailed", "storageclass.storage.k8s.io \"fast\" not found");
    operator.surroundings_mut().results.insert(lookup(), missing);
    operator.advance(400);
    assert_eq!(operator.emitted(), ["Diagnosed PvcNoClassNoPv", "Changed PvcProvisioningFailed"]);
}

#[test]
fn a_volume_for_the_selected_node_has_its_own_threshold() {
    let mut operator = Operator::idle();
    let mut pod = waiting();
    pod.conditions.clear();
    pod.nominated_node = Some("node1".into());
    let LookupResult::Claims(mut claims) = claim_events(
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
    operator.surroundings_mut().results.insert(lookup(), LookupResult::Claims(claims));
    operator.pod(&pod);
    operator.advance(110);
    assert_eq!((operator.emitted().len(), operator.server().lookups), (0, 0), "the volume may still be provisioned");
    operator.advance(20);
    assert_eq!(operator.emitted(), ["Diagnosed PvcWaitingProvisioner"]);
    assert!(operator.now > at("09:02:00"));
}

#[test]
fn preemption_has_its_threshold_from_the_nomination_of_the_node() {
    let mut operator = Operator::idle();
    let mut pod = waiting();
    pod.volumes.clear();
    "0/1 nodes are available: 1 Insufficient cpu.".clone_into(&mut pod.conditions[0].message);
    operator.pod(&pod);
    operator.advance(50);
    pod.nominated_node = Some("node1".into());
    operator.pod(&pod);
    operator.advance(590);
    assert!(operator.emitted().is_empty(), "the preempted pods may still terminate");
    operator.advance(20);
    assert_eq!(operator.emitted(), ["Diagnosed PreemptionPending"]);
}

/// After a restart the claims are not read yet, and the scheduler's message has less detail than the written diagnosis.
#[test]
fn the_cause_from_a_claim_survives_a_restart() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.insert(lookup(), claim_events("FailedBinding", NO_CLASS));
    operator.pod(&waiting());
    operator.advance(70);
    for refused in [false, true] {
        operator = operator.restarted(30);
        if refused {
            operator.surroundings_mut().refused.insert(lookup());
        } else {
            operator.surroundings_mut().results.insert(lookup(), claim_events("FailedBinding", NO_CLASS));
        }
        operator.list(&[], &[waiting()]);
        operator.advance(400);
        assert_eq!(operator.status("db").head.cause, "PvcNoClassNoPv", "refused: {refused}");
        assert_eq!(operator.emitted(), ["Diagnosed PvcNoClassNoPv"], "refused: {refused}");
    }
}
