//! Two replicas: one leads, the other follows and takes over.

use shindan::api::DiagnosisState::{Active, Gone, Recovered};
use shindan::facts::{Looked, PodFacts, Want, WorkloadFacts};
use shindan::world::{Caps, Change};

use super::operator::{Operator, Server, at, crashed, killing, oom, oom_of, pod, rollout, well, workload_object};

const NO_IMAGE: &str = "ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image \"app:1\": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image \"reg/app:1\": failed to resolve reference \"reg/app:1\": reg/app:1: not found'}}";

/// Both watch the same cluster.
struct Pair {
    leader: Operator,
    follower: Operator,
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
        let (leader, mut follower) = (replica(), replica());
        follower.follow();
        Self { leader, follower }
    }

    fn both(&mut self, what: impl Fn(&mut Operator)) {
        what(&mut self.leader);
        what(&mut self.follower);
    }

    fn pod(&mut self, facts: &PodFacts) {
        self.both(|replica| replica.pod(facts));
    }

    fn advance(&mut self, seconds: i64) {
        self.both(|replica| replica.advance(seconds));
    }

    /// The leader dies, and after so many seconds the other takes over.
    fn fail_over(self, after: i64) -> Operator {
        self.fail_over_while(after, |_| {})
    }

    fn fail_over_while(self, after: i64, meanwhile: impl FnOnce(&mut Operator)) -> Operator {
        let Self { leader, mut follower } = self;
        assert_eq!((follower.server.applies, follower.server.events.len()), (0, 0), "who follows writes nothing");
        follower.advance(after);
        follower.take_over(leader.server, meanwhile);
        follower
    }
}

#[test]
fn a_takeover_writes_nothing_tells_nothing_again_and_keeps_the_history() {
    let mut pair = Pair::new();
    let first = pod("a", "u1", false, &crashed(2, 137, "Error"));
    pair.both(|replica| replica.event(&killing(&first, "08:02:19")));
    pair.pod(&first);
    pair.pod(&pod("a", "u1", false, &crashed(3, 137, "Error")));
    pair.advance(30);
    let applies = pair.leader.server.applies;
    assert_eq!(pair.leader.told().len(), 1);

    let mut now = pair.fail_over(12);
    now.advance(600);
    assert_eq!((now.server.applies, now.told().len(), now.server.refused_posts), (applies, 1, 0));
    now.pod(&pod("a", "u1", false, &crashed(4, 137, "Error")));
    let runs = &now.status("a").restarts.as_ref().unwrap().history;
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|run| run.cause.as_deref() == Some("LivenessProbeFailed")), "{runs:?}");
    assert_eq!(now.told().len(), 1);
}

#[test]
fn what_happens_while_nobody_leads_is_found_by_whoever_leads_next() {
    let mut pair = Pair::new();
    pair.pod(&oom("old", "u1"));
    pair.pod(&oom("gone", "u2"));
    pair.advance(30);
    // The leader is dead already.
    pair.follower.deleted(&oom("gone", "u2"));
    pair.follower.pod(&oom("new", "u3"));
    let mut now = pair.fail_over(12);
    now.advance(30);
    assert_eq!((now.state("old"), now.state("gone"), now.state("new")), (Active, Gone, Active));
    assert_eq!(now.told(), ["Diagnosed OOMKilled"; 3]);
}

#[test]
fn a_pod_that_got_well_while_another_led_recovers() {
    let mut pair = Pair::new();
    pair.pod(&pod("a", "u1", false, NO_IMAGE));
    pair.advance(30);
    assert_eq!(pair.leader.state("a"), Active);
    pair.pod(&well("a", "u1"));
    let read = Looked::Pods(vec![well("a", "u1")]);
    pair.follower.answers.insert(Want::PodsOn("n1".into()), read);
    let mut now = pair.fail_over(12);
    now.advance(60);
    assert_eq!(now.state("a"), Recovered);
    assert_eq!(now.told().last().unwrap(), "Recovered Recovered");
}

#[test]
fn the_pod_that_got_well_is_asked_for_until_it_is_known() {
    let mut pair = Pair::new();
    pair.pod(&pod("a", "u1", false, NO_IMAGE));
    pair.advance(30);
    pair.pod(&well("a", "u1"));
    let want = Want::PodsOn("n1".into());
    pair.follower.answers.insert(want.clone(), Looked::Pods(vec![well("a", "u1")]));
    pair.follower.refused.insert(want);
    let mut now = pair.fail_over(12);
    now.advance(120);
    assert_eq!(now.state("a"), Active);
    now.refused.clear();
    now.advance(400);
    assert_eq!(now.state("a"), Recovered);
}

#[test]
fn a_workload_that_was_settled_or_deleted_while_another_led_is_told_apart() {
    for is_deleted in [false, true] {
        let mut pair = Pair::with(&[rollout("web", 2, 2)]);
        let failing = oom_of("web", "web-5-a", "u1");
        pair.both(|replica| replica.workload(&rollout("web", 2, 1)));
        pair.pod(&failing);
        pair.advance(60);
        let object = workload_object("deployment-web");
        assert!(pair.leader.server.outers.contains_key(&object));
        // From here on the leader is dead.
        pair.follower.deleted(&failing);
        if is_deleted {
            pair.follower.workload_deleted(&rollout("web", 2, 2));
        } else {
            pair.follower.workload(&rollout("web", 2, 2));
        }
        let mut now = pair.fail_over(12);
        now.advance(900);
        let expected = if is_deleted { Gone } else { Recovered };
        assert_eq!(now.workload_status("deployment-web").head.state, expected);
    }
}

#[test]
fn a_late_write_of_the_old_leader_does_not_stand() {
    let mut pair = Pair::new();
    pair.pod(&oom("a", "u1"));
    pair.advance(30);
    // It was on its way when its sender had lost the Lease, and arrives while the other reads.
    let mut now = pair.fail_over_while(12, |next| {
        let change = next.server.meddle("a", false);
        next.take(change);
    });
    now.advance(5);
    assert_ne!(now.status("a").summary, "meddled");
    let deleted =
        Change::ObjectDeleted(shindan::plan::DiagnosisKey::of_pod(shindan::facts::ObjectKey::new("demo", "a")));
    now.server.meddle("a", true);
    now.take(deleted);
    now.settle();
    now.advance(600);
    assert_eq!(now.state("a"), Active, "and what is deleted is put back, as ever");
    assert_eq!(now.told().len(), 1);
}

#[test]
fn an_event_that_the_dead_leader_owed_is_posted() {
    let mut pair = Pair::new();
    pair.leader.server.no_events = true;
    pair.pod(&oom("a", "u1"));
    assert_eq!(pair.leader.told().len(), 0);
    pair.leader.server.no_events = false;
    let mut now = pair.fail_over(12);
    now.advance(60);
    assert_eq!(now.told(), ["Diagnosed OOMKilled"]);
}

#[test]
fn who_led_before_and_leads_again_knows_what_the_other_wrote() {
    let mut pair = Pair::new();
    pair.pod(&oom("a", "u1"));
    pair.advance(30);
    let Pair { mut leader, mut follower } = pair;
    let server = std::mem::take(&mut leader.server);
    leader.follow();
    follower.take_over(server, |_| {});
    let worse = pod("a", "u1", false, &crashed(3, 139, "Error"));
    leader.pod(&worse);
    follower.pod(&worse);
    leader.advance(60);
    follower.advance(60);
    let (applies, told) = (follower.server.applies, follower.told());
    let mut again = Pair { leader: follower, follower: leader }.fail_over(12);
    again.advance(60);
    assert_eq!((again.server.applies, again.told()), (applies, told));
}
