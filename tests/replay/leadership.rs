//! Leader election with two replicas: one leads, the standby becomes the leader.

use shindan_core::api::DiagnosisState::{Active, Gone, Recovered};
use shindan_core::facts::{Lookup, LookupResult, PodFacts, WorkloadFacts};
use shindan_core::state::{Caps, Change};

use super::operator::{Operator, Server, at, crashed, healthy, killing, oom, oom_of, pod, rollout, workload_object};

const NO_IMAGE: &str = "ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image \"app:1\": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image \"reg/app:1\": failed to resolve reference \"reg/app:1\": reg/app:1: not found'}}";

/// Both watch the same cluster.
struct Pair {
    leader: Operator,
    standby: Operator,
}

impl Pair {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(workloads: &[WorkloadFacts]) -> Self {
        let replica = || {
            let mut replica = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
            replica.list_with(&[], &[], workloads);
            replica
        };
        let (leader, mut standby) = (replica(), replica());
        standby.become_standby();
        Self { leader, standby }
    }

    fn both(&mut self, what: impl Fn(&mut Operator)) {
        what(&mut self.leader);
        what(&mut self.standby);
    }

    fn pod(&mut self, facts: &PodFacts) {
        self.both(|replica| replica.pod(facts));
    }

    fn advance(&mut self, seconds: i64) {
        self.both(|replica| replica.advance(seconds));
    }

    /// Stops the leader; the standby becomes the leader after this many seconds.
    fn fail_over(self, after: i64) -> Operator {
        self.fail_over_while(after, |_| {})
    }

    fn fail_over_while(self, after: i64, meanwhile: impl FnOnce(&mut Operator)) -> Operator {
        let Self { mut leader, mut standby } = self;
        assert_eq!((standby.server().applies, standby.server().events.len()), (0, 0), "a standby writes nothing");
        standby.advance(after);
        standby.become_leader(leader.take_server(), meanwhile);
        standby
    }
}

#[test]
fn a_new_leader_writes_nothing_emits_no_event_again_and_keeps_the_history() {
    let mut pair = Pair::new();
    let first = pod("a", "u1", false, &crashed(2, 137, "Error"));
    pair.both(|replica| replica.event(&killing(&first, "08:02:19")));
    pair.pod(&first);
    pair.pod(&pod("a", "u1", false, &crashed(3, 137, "Error")));
    pair.advance(30);
    let applies = pair.leader.server().applies;
    assert_eq!(pair.leader.emitted().len(), 1);

    let mut now = pair.fail_over(12);
    now.advance(600);
    assert_eq!((now.server().applies, now.emitted().len(), now.server().refused_posts), (applies, 1, 0));
    now.pod(&pod("a", "u1", false, &crashed(4, 137, "Error")));
    let runs = now.status("a").restarts.unwrap().history;
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|run| run.cause.as_deref() == Some("LivenessProbeFailed")), "{runs:?}");
    assert_eq!(now.emitted().len(), 1);
}

#[test]
fn changes_without_a_leader_are_found_by_the_next_leader() {
    let mut pair = Pair::new();
    pair.pod(&oom("old", "u1"));
    pair.pod(&oom("gone", "u2"));
    pair.advance(30);
    // The leader has stopped already.
    pair.standby.deleted(&oom("gone", "u2"));
    pair.standby.pod(&oom("new", "u3"));
    let mut now = pair.fail_over(12);
    now.advance(30);
    assert_eq!((now.state("old"), now.state("gone"), now.state("new")), (Active, Gone, Active));
    assert_eq!(now.emitted(), ["Diagnosed OOMKilled"; 3]);
}

#[test]
fn a_pod_that_became_ready_under_another_leader_recovers() {
    let mut pair = Pair::new();
    pair.pod(&pod("a", "u1", false, NO_IMAGE));
    pair.advance(30);
    assert_eq!(pair.leader.state("a"), Active);
    pair.pod(&healthy("a", "u1"));
    let read = LookupResult::Pods(vec![healthy("a", "u1")]);
    pair.standby.surroundings_mut().results.insert(Lookup::PodsOn("n1".into()), read);
    let mut now = pair.fail_over(12);
    now.advance(60);
    assert_eq!(now.state("a"), Recovered);
    assert_eq!(now.emitted().last().unwrap(), "Recovered Recovered");
}

#[test]
fn the_lookup_of_a_recovered_pod_is_repeated_until_it_succeeds() {
    let mut pair = Pair::new();
    pair.pod(&pod("a", "u1", false, NO_IMAGE));
    pair.advance(30);
    pair.pod(&healthy("a", "u1"));
    let lookup = Lookup::PodsOn("n1".into());
    pair.standby.surroundings_mut().results.insert(lookup.clone(), LookupResult::Pods(vec![healthy("a", "u1")]));
    pair.standby.surroundings_mut().refused.insert(lookup);
    let mut now = pair.fail_over(12);
    now.advance(120);
    assert_eq!(now.state("a"), Active);
    now.surroundings_mut().refused.clear();
    now.advance(400);
    assert_eq!(now.state("a"), Recovered);
}

#[test]
fn a_new_leader_distinguishes_recovered_from_deleted_workloads() {
    for is_deleted in [false, true] {
        let mut pair = Pair::with(&[rollout("web", 2, 2)]);
        let failing = oom_of("web", "web-5-a", "u1");
        pair.both(|replica| replica.workload(&rollout("web", 2, 1)));
        pair.pod(&failing);
        pair.advance(60);
        let object = workload_object("deployment-web");
        assert!(pair.leader.server().other_diagnoses.contains_key(&object));
        // The leader has stopped.
        pair.standby.deleted(&failing);
        if is_deleted {
            pair.standby.workload_deleted(&rollout("web", 2, 2));
        } else {
            pair.standby.workload(&rollout("web", 2, 2));
        }
        let mut now = pair.fail_over(12);
        now.advance(900);
        let expected = if is_deleted { Gone } else { Recovered };
        assert_eq!(now.workload_status("deployment-web").head.state, expected);
    }
}

#[test]
fn a_late_write_of_the_old_leader_is_reverted() {
    let mut pair = Pair::new();
    pair.pod(&oom("a", "u1"));
    pair.advance(30);
    // The write was sent before the Lease expired, and arrives while the new leader reads.
    let mut now = pair.fail_over_while(12, |next| {
        let change = next.server_mut().edit("a", false);
        next.take(change);
    });
    now.advance(5);
    assert_ne!(now.status("a").head.summary, "edited");
    let deleted = Change::ObjectDeleted(shindan_core::reconcile::DiagnosisKey::of_pod(
        shindan_core::facts::ObjectKey::new("demo", "a"),
    ));
    now.server_mut().edit("a", true);
    now.take(deleted);
    now.settle();
    now.advance(600);
    assert_eq!(now.state("a"), Active, "and what is deleted is put back, as ever");
    assert_eq!(now.emitted().len(), 1);
}

#[test]
fn an_event_that_the_dead_leader_owed_is_posted() {
    let mut pair = Pair::new();
    pair.leader.server_mut().no_events = true;
    pair.pod(&oom("a", "u1"));
    assert_eq!(pair.leader.emitted().len(), 0);
    pair.leader.server_mut().no_events = false;
    let mut now = pair.fail_over(12);
    now.advance(60);
    assert_eq!(now.emitted(), ["Diagnosed OOMKilled"]);
}

#[test]
fn a_leader_that_leads_again_knows_what_the_other_wrote() {
    let mut pair = Pair::new();
    pair.pod(&oom("a", "u1"));
    pair.advance(30);
    let Pair { mut leader, mut standby } = pair;
    let server = leader.take_server();
    leader.become_standby();
    standby.become_leader(server, |_| {});
    let worse = pod("a", "u1", false, &crashed(3, 139, "Error"));
    leader.pod(&worse);
    standby.pod(&worse);
    leader.advance(60);
    standby.advance(60);
    let (applies, emitted) = (standby.server().applies, standby.emitted());
    let mut again = Pair { leader: standby, standby: leader }.fail_over(12);
    again.advance(60);
    assert_eq!((again.server().applies, again.emitted()), (applies, emitted));
}
