//! Restarts: a new process continues where the old one stopped.

use shindan_core::api::DiagnosisState::{Active, Gone, Recovered};
use shindan_core::facts::{Lookup, ProbeHandler, ReplicaSetFacts};
use shindan_core::state::Caps;

use super::operator::{
    HEALTHY, Operator, Server, at, crashed, event, healthy, killing, node, oom, oom_of, pod, pod_of, pod_of_template,
    rollout, running_again,
};

#[test]
fn a_restart_repeats_no_event_writes_nothing_and_keeps_the_history() {
    let mut operator = Operator::idle();
    let first = pod("a", "u1", false, &crashed(2, 137, "Error"));
    operator.event(&killing(&first, "08:02:19"));
    operator.pod(&first);
    operator.pod(&pod("a", "u1", false, &crashed(3, 137, "Error")));
    operator.advance(30);
    assert_eq!(operator.status("a").restarts.as_ref().unwrap().history.len(), 2);
    let applies = operator.server().applies;

    let mut operator = operator.restarted(3700);
    operator.list(&[], &[pod("a", "u1", false, &crashed(3, 137, "Error"))]);
    operator.advance(3600);
    assert_eq!(operator.status("a").head.cause, "LivenessProbeFailed", "its Event has expired, the ledger has not");
    assert_eq!(operator.server().applies, applies);
    assert_eq!((operator.emitted().len(), operator.server().refused_posts), (1, 0));
    operator.pod(&pod("a", "u1", false, &crashed(4, 137, "Error")));
    let runs = operator.status("a").restarts.unwrap().history;
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|run| run.cause.as_deref() == Some("LivenessProbeFailed")), "{runs:?}");
}

#[test]
fn a_hook_that_an_event_named_stays_the_cause_when_the_kubelet_has_no_events_left_for_it() {
    // It exits on SIGTERM, which looks like a script that completes.
    let ends = |n: u32| {
        let mut pod = pod("a", "u1", false, &crashed(n, 0, "Completed"));
        pod.containers[0].post_start = Some(Box::new(ProbeHandler::None));
        pod
    };
    let mut operator = Operator::idle();
    let first = ends(2);
    operator.event(&event(&first, "FailedPostStartHook", "PostStartHook failed", "08:02:19"));
    operator.pod(&first);
    operator.advance(30);
    let mut operator = operator.restarted(7200);
    operator.list(&[], &[ends(3)]);
    operator.advance(3600);
    operator.pod(&ends(4));
    operator.advance(600);
    assert_eq!(operator.emitted(), ["Diagnosed PostStartHookError"]);
    let history = operator.status("a").restarts.unwrap().history;
    let causes = history.iter().map(|run| run.cause.as_deref());
    assert!(causes.eq([Some("PostStartHookError"); 3]), "{:?}", operator.status("a").restarts);
}

/// After a restart the revisions are unknown at first, and stay unknown without permission to read them.
#[test]
fn the_revision_to_go_back_to_is_not_forgotten_over_a_restart() {
    let set = |name: &str, revision, ready| ReplicaSetFacts {
        name: name.into(),
        revision,
        desired: 1,
        ready,
        ..ReplicaSetFacts::default()
    };
    let mut web = rollout("web", 2, 1);
    web.replica_sets = vec![set("web-5", 3, 0), set("web-4", 2, 1)];
    let waits = "ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image \"app:2\": manifest unknown'}}";
    let pods = [
        pod_of_template("web-a", "u1", Some(("web", "5")), false, waits),
        pod_of_template("web-b", "u2", Some(("web", "4")), true, HEALTHY),
    ];
    let mut operator = Operator::idle();
    operator.workload(&web);
    pods.iter().for_each(|pod| operator.pod(pod));
    operator.advance(400);
    let first = |operator: &Operator| operator.status("web-a").head.remedies[0].text.clone();
    assert!(first(&operator).ends_with("go back to revision 2."), "{}", first(&operator));
    let applies = operator.server().applies;
    for refused in [false, true] {
        operator = operator.restarted(3600);
        if refused {
            operator.surroundings_mut().refused.insert(Lookup::Workload(web.key.clone()));
        }
        operator.list_with(&[], &pods, std::slice::from_ref(&web));
        operator.advance(400);
        assert!(first(&operator).ends_with("go back to revision 2."), "refused: {refused}; {}", first(&operator));
        assert_eq!(operator.server().applies, applies, "refused: {refused}");
    }
}

#[test]
fn causes_reported_before_a_restart_are_not_reported_again() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.pod(&pod("a", "u1", false, &crashed(3, 139, "Error")));
    operator.advance(30);
    assert_eq!(operator.emitted().len(), 2);
    let mut operator = operator.restarted(60);
    operator.list(&[], &[pod("a", "u1", false, &crashed(4, 137, "OOMKilled"))]);
    operator.advance(60);
    assert_eq!(operator.emitted().len(), 2, "{:?}", operator.emitted());
}

#[test]
fn pods_deleted_during_a_restart_are_gone_and_ready_ones_recover() {
    let mut operator = Operator::idle();
    operator.pod(&oom("gone", "u1"));
    operator.pod(&oom("replaced", "u2"));
    operator.pod(&oom("ready", "u3"));
    let mut operator = operator.restarted(3600);
    assert_eq!(operator.state("gone"), Active, "the state of pods stays until they are listed");
    operator.list(&[], &[healthy("replaced", "u9"), pod("ready", "u3", true, &running_again(2, 137, "OOMKilled"))]);
    assert_eq!((operator.state("gone"), operator.state("replaced")), (Gone, Gone));
    operator.advance(1);
    assert_eq!(operator.state("ready"), Recovered, "it has been Ready for an hour by its own clock");
    assert_eq!(operator.emitted().last().unwrap(), "Recovered Recovered");
}

#[test]
fn the_next_process_posts_a_pending_event_unless_it_is_too_old() {
    for (down, emitted) in [(500, 1), (700, 0)] {
        let mut operator = Operator::idle();
        operator.server_mut().no_events = true;
        operator.pod(&oom("a", "u1"));
        let mut operator = operator.restarted(down);
        operator.server_mut().no_events = false;
        operator.list(&[], &[oom("a", "u1")]);
        assert_eq!(operator.emitted().len(), emitted, "after {down} s");
        operator.advance(60);
        assert_eq!((operator.emitted().len(), operator.server().refused_posts), (emitted, 1), "and once");
    }
}

#[test]
fn the_next_process_posts_a_pending_recovery_and_marks_deleted_pods_gone() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.pod(&pod("a", "u1", true, &running_again(2, 137, "OOMKilled")));
    operator.server_mut().no_events = true;
    operator.advance(700);
    operator.pod(&oom("b", "u2"));
    assert_eq!(operator.state("a"), Recovered);
    let mut operator = operator.restarted(10);
    operator.server_mut().no_events = false;
    operator.list(&[], &[pod("a", "u1", true, &running_again(2, 137, "OOMKilled"))]);
    let mut emitted = operator.emitted();
    emitted.sort();
    assert_eq!(emitted, ["Diagnosed OOMKilled", "Diagnosed OOMKilled", "Recovered Recovered"]);
    assert_eq!(operator.state("b"), Gone, "the Event is posted first");
}

#[test]
fn a_pending_event_survives_later_writes() {
    let mut operator = Operator::idle();
    operator.server_mut().no_events = true;
    operator.pod(&oom("a", "u1"));
    operator.pod(&pod("a", "u1", false, &crashed(3, 137, "OOMKilled")));
    assert_eq!(operator.status("a").restarts.as_ref().unwrap().count, 2);
    let mut operator = operator.restarted(10);
    operator.server_mut().no_events = false;
    operator.list(&[], &[pod("a", "u1", false, &crashed(3, 137, "OOMKilled"))]);
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"]);
}

#[test]
fn retention_continues_after_a_restart() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.deleted(&oom("a", "u1"));
    let mut operator = operator.restarted(80_000);
    operator.list(&[], &[]);
    operator.advance(6399);
    assert_eq!(operator.server().deletes, 0);
    operator.advance(1);
    assert_eq!(operator.server().deletes, 1);
}

#[test]
fn failing_siblings_are_recounted_and_first_seen_stays_after_a_restart() {
    let mut operator = Operator::idle();
    for i in 0..3 {
        operator.pod(&oom_of("web", &format!("web-{i}"), &format!("u{i}")));
    }
    let first_seen = operator.status("web-0").head.first_seen;
    let mut operator = operator.restarted(600);
    operator.list(&[], &[oom_of("web", "web-0", "u0"), oom_of("web", "web-1", "u1"), oom_of("web", "web-2", "u2")]);
    let seen = operator.engine.world.with_case("u0", operator.now, |case| case.surroundings.siblings).unwrap();
    assert_eq!((seen.total, seen.failing), (3, 3));
    assert_eq!(operator.status("web-0").head.first_seen, first_seen);
}

#[test]
fn a_failure_older_than_the_operator_starts_at_its_own_timestamps_and_not_before_its_pod() {
    let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
    operator.list(&[], &[oom("a", "u1"), pod_of("b", "u2", None, true, HEALTHY)]);
    assert_eq!(operator.status("a").head.first_seen, Some(at("08:02:20")));
    operator.pod(&oom("b", "u2"));
    assert_eq!(operator.status("b").head.first_seen, Some(at("09:00:00")), "before our eyes");
}

#[test]
fn a_node_that_flaps_over_a_restart_is_one_incident() {
    let mut operator = Operator::idle();
    operator.node(&node("n1", "True", "", "01:00:00"));
    for (status, time) in [("False", "09:01:00"), ("True", "09:02:00"), ("False", "09:03:00"), ("True", "09:04:00")] {
        operator.now = at(time);
        let message = if status == "False" { "PLEG is not healthy" } else { "" };
        operator.node(&node("n1", status, message, time));
    }
    let before = ["Diagnosed NodePlegUnhealthy", "Recovered Recovered", "Diagnosed NodePlegUnhealthy"];
    assert_eq!(operator.emitted(), before, "an outage, and then the same again: flapping");
    let mut operator = operator.restarted(30);
    operator.list(&[node("n1", "True", "", "09:04:00")], &[]);
    operator.advance(90);
    operator.node(&node("n1", "False", "PLEG is not healthy", "09:06:00"));
    operator.advance(30);
    operator.node(&node("n1", "True", "", "09:06:30"));
    operator.advance(1700);
    assert_eq!(operator.emitted(), before, "it is not over before it has been stable for half an hour");
    operator.advance(200);
    assert_eq!(operator.emitted().len(), 4);
    assert_eq!(operator.emitted().last().unwrap(), "Recovered Recovered");
}

#[test]
fn unobserved_runs_are_counted_without_those_dropped_from_the_history() {
    let mut operator = Operator::idle();
    let restarts = |operator: &Operator| operator.status("a").restarts.clone().unwrap();
    let take = |operator: &mut Operator, n: u32| {
        operator.pod(&pod("a", "u1", false, &crashed(n, 1, "Error")));
        operator.advance(1000);
    };
    take(&mut operator, 3);
    assert_eq!(restarts(&operator).unseen, 2, "two runs before the operator started");
    take(&mut operator, 4);
    take(&mut operator, 7);
    assert_eq!(restarts(&operator).unseen, 4);
    let numbers =
        |operator: &Operator| -> Vec<u32> { restarts(operator).history.iter().filter_map(|run| run.number).collect() };
    assert_eq!(numbers(&operator), [3, 4, 7], "the gap shows");

    let mut operator = operator.restarted(3600);
    operator.list(&[], &[pod("a", "u1", false, &crashed(9, 1, "Error"))]);
    operator.advance(1000);
    assert_eq!((restarts(&operator).unseen, numbers(&operator)), (5, vec![3, 4, 7, 9]), "one during downtime");
    (10..=25).for_each(|n| take(&mut operator, n));
    assert_eq!(restarts(&operator).unseen, 5, "the others were seen, though only ten are kept");
    assert_eq!(numbers(&operator), (16..=25).collect::<Vec<_>>());
    take(&mut operator, 2);
    assert_eq!(restarts(&operator).unseen, 5, "a restart count that is reset adds no unobserved runs");
}

#[test]
fn a_new_pod_of_the_same_name_counts_its_own_runs() {
    let mut operator = Operator::idle();
    operator.pod(&pod("db-0", "u1", false, &crashed(5, 1, "Error")));
    operator.deleted(&pod("db-0", "u1", false, &crashed(5, 1, "Error")));
    operator.pod(&pod("db-0", "u2", false, &crashed(1, 3, "Error")));
    let restarts = operator.status("db-0").restarts.clone().unwrap();
    let numbers: Vec<_> = restarts.history.iter().map(|run| run.number).collect();
    assert_eq!((restarts.count, restarts.unseen, numbers), (0, 0, vec![None, Some(1)]));
}

#[test]
fn causes_that_alternate_are_summed_up_and_do_not_take_turns() {
    let mut operator = Operator::idle();
    for (n, exit, reason) in [(1, 137, "OOMKilled"), (2, 139, "Error"), (3, 137, "OOMKilled"), (4, 139, "Error")] {
        operator.pod(&pod("a", "u1", false, &crashed(n, exit, reason)));
        operator.advance(60);
    }
    let status = operator.status("a");
    assert_eq!(status.head.cause, "NativeCrash");
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled", "Changed NativeCrash"], "each once");
    let summed_up = "of its last 4 runs 2 ended by NativeCrash, 2 by OOMKilled";
    assert!(status.head.summary.ends_with(summed_up), "{}", status.head.summary);
    let evidence = status.head.evidence.iter().find(|e| e.source == "status.restarts.history").unwrap();
    assert_eq!(evidence.value, summed_up);
}
