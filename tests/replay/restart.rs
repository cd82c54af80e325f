//! A new process takes up where the old one stopped.

use shindan::api::DiagnosisState::{Active, Gone, Recovered};
use shindan::facts::{ReplicaSetFacts, Want};
use shindan::world::Caps;

use super::operator::{
    Operator, Server, WELL, at, crashed, event, killing, node, oom, oom_of, pod, pod_of, pod_of_template, rollout,
    running_again, well,
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
    let applies = operator.server.applies;

    let mut operator = operator.restarted(3700);
    operator.list(&[], &[pod("a", "u1", false, &crashed(3, 137, "Error"))]);
    operator.advance(3600);
    assert_eq!(operator.status("a").cause, "LivenessProbeFailed", "its Event has expired, the ledger has not");
    assert_eq!(operator.server.applies, applies);
    assert_eq!((operator.told().len(), operator.server.refused_posts), (1, 0));
    operator.pod(&pod("a", "u1", false, &crashed(4, 137, "Error")));
    let runs = &operator.status("a").restarts.as_ref().unwrap().history;
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|run| run.cause.as_deref() == Some("LivenessProbeFailed")), "{runs:?}");
}

#[test]
fn a_hook_that_an_event_named_stays_the_cause_when_the_kubelet_has_no_events_left_for_it() {
    // It heeds SIGTERM: what a script looks like that comes to its end.
    let ends = |n: u32| {
        let mut pod = pod("a", "u1", false, &crashed(n, 0, "Completed"));
        pod.containers[0].has_post_start = true;
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
    assert_eq!(operator.told(), ["Diagnosed PostStartHookError"]);
    let causes = operator.status("a").restarts.as_ref().unwrap().history.iter().map(|run| run.cause.as_deref());
    assert!(causes.eq([Some("PostStartHookError"); 3]), "{:?}", operator.status("a").restarts);
}

/// After a restart the revisions are not known at once, nor ever where they may not be read any more.
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
        pod_of_template("web-b", "u2", Some(("web", "4")), true, WELL),
    ];
    let mut operator = Operator::idle();
    operator.workload(&web);
    pods.iter().for_each(|pod| operator.pod(pod));
    operator.advance(400);
    let first = |operator: &Operator| operator.status("web-a").remedies[0].text.clone();
    assert!(first(&operator).ends_with("go back to revision 2."), "{}", first(&operator));
    let applies = operator.server.applies;
    for refused in [false, true] {
        operator = operator.restarted(3600);
        if refused {
            operator.refused.insert(Want::Workload(web.key.clone()));
        }
        operator.list_with(&[], &pods, std::slice::from_ref(&web));
        operator.advance(400);
        assert!(first(&operator).ends_with("go back to revision 2."), "refused: {refused}; {}", first(&operator));
        assert_eq!(operator.server.applies, applies, "refused: {refused}");
    }
}

#[test]
fn causes_that_were_told_before_a_restart_are_not_told_again() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.pod(&pod("a", "u1", false, &crashed(3, 139, "Error")));
    operator.advance(30);
    assert_eq!(operator.told().len(), 2);
    let mut operator = operator.restarted(60);
    operator.list(&[], &[pod("a", "u1", false, &crashed(4, 137, "OOMKilled"))]);
    operator.advance(60);
    assert_eq!(operator.told().len(), 2, "{:?}", operator.told());
}

#[test]
fn what_vanished_meanwhile_is_gone_and_what_got_well_recovers() {
    let mut operator = Operator::idle();
    operator.pod(&oom("gone", "u1"));
    operator.pod(&oom("replaced", "u2"));
    operator.pod(&oom("well", "u3"));
    let mut operator = operator.restarted(3600);
    assert_eq!(operator.state("gone"), Active, "nothing is said of pods before they are listed");
    operator.list(&[], &[well("replaced", "u9"), pod("well", "u3", true, &running_again(2, 137, "OOMKilled"))]);
    assert_eq!((operator.state("gone"), operator.state("replaced")), (Gone, Gone));
    operator.advance(1);
    assert_eq!(operator.state("well"), Recovered, "it has been Ready for an hour by its own clock");
    assert_eq!(operator.told().last().unwrap(), "Recovered Recovered");
}

#[test]
fn an_event_that_was_owed_is_posted_by_the_next_process_if_it_is_still_news() {
    for (down, told) in [(500, 1), (700, 0)] {
        let mut operator = Operator::idle();
        operator.server.no_events = true;
        operator.pod(&oom("a", "u1"));
        let mut operator = operator.restarted(down);
        operator.server.no_events = false;
        operator.list(&[], &[oom("a", "u1")]);
        assert_eq!(operator.told().len(), told, "after {down} s");
        operator.advance(60);
        assert_eq!((operator.told().len(), operator.server.refused_posts), (told, 1), "and once");
    }
}

#[test]
fn the_end_that_was_owed_is_told_as_well_and_the_pod_that_left_meanwhile_ends() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.pod(&pod("a", "u1", true, &running_again(2, 137, "OOMKilled")));
    operator.server.no_events = true;
    operator.advance(700);
    operator.pod(&oom("b", "u2"));
    assert_eq!(operator.state("a"), Recovered);
    let mut operator = operator.restarted(10);
    operator.server.no_events = false;
    operator.list(&[], &[pod("a", "u1", true, &running_again(2, 137, "OOMKilled"))]);
    let mut told = operator.told();
    told.sort();
    assert_eq!(told, ["Diagnosed OOMKilled", "Diagnosed OOMKilled", "Recovered Recovered"]);
    assert_eq!(operator.state("b"), Gone, "told first, then gone");
}

#[test]
fn an_owed_event_survives_the_writes_that_follow() {
    let mut operator = Operator::idle();
    operator.server.no_events = true;
    operator.pod(&oom("a", "u1"));
    operator.pod(&pod("a", "u1", false, &crashed(3, 137, "OOMKilled")));
    assert_eq!(operator.status("a").restarts.as_ref().unwrap().count, 2);
    let mut operator = operator.restarted(10);
    operator.server.no_events = false;
    operator.list(&[], &[pod("a", "u1", false, &crashed(3, 137, "OOMKilled"))]);
    assert_eq!(operator.told(), ["Diagnosed OOMKilled"]);
}

#[test]
fn retention_goes_on_where_it_was() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.deleted(&oom("a", "u1"));
    let mut operator = operator.restarted(80_000);
    operator.list(&[], &[]);
    operator.advance(6399);
    assert_eq!(operator.server.deletes, 0);
    operator.advance(1);
    assert_eq!(operator.server.deletes, 1);
}

#[test]
fn who_fails_beside_it_is_counted_anew_and_first_seen_stays() {
    let mut operator = Operator::idle();
    for i in 0..3 {
        operator.pod(&oom_of("web", &format!("web-{i}"), &format!("u{i}")));
    }
    let first_seen = operator.status("web-0").first_seen;
    let mut operator = operator.restarted(600);
    operator.list(&[], &[oom_of("web", "web-0", "u0"), oom_of("web", "web-1", "u1"), oom_of("web", "web-2", "u2")]);
    let seen = operator.world.with_case("u0", operator.now, |case| case.surroundings.siblings).unwrap();
    assert_eq!((seen.total, seen.failing), (3, 3));
    assert_eq!(operator.status("web-0").first_seen, first_seen);
}

#[test]
fn what_failed_before_we_looked_began_when_its_own_times_say_and_not_before_its_pod() {
    let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
    operator.list(&[], &[oom("a", "u1"), pod_of("b", "u2", None, true, WELL)]);
    assert_eq!(operator.status("a").first_seen, Some(at("08:02:20")));
    operator.pod(&oom("b", "u2"));
    assert_eq!(operator.status("b").first_seen, Some(at("09:00:00")), "before our eyes");
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
    assert_eq!(operator.told(), before, "an outage, and then the same again: flapping");
    let mut operator = operator.restarted(30);
    operator.list(&[node("n1", "True", "", "09:04:00")], &[]);
    operator.advance(90);
    operator.node(&node("n1", "False", "PLEG is not healthy", "09:06:00"));
    operator.advance(30);
    operator.node(&node("n1", "True", "", "09:06:30"));
    operator.advance(1700);
    assert_eq!(operator.told(), before, "it is not over before it has been stable for half an hour");
    operator.advance(200);
    assert_eq!(operator.told().len(), 4);
    assert_eq!(operator.told().last().unwrap(), "Recovered Recovered");
}

#[test]
fn runs_that_nobody_saw_are_counted_and_those_that_the_history_dropped_are_not() {
    let mut operator = Operator::idle();
    let restarts = |operator: &Operator| operator.status("a").restarts.clone().unwrap();
    let take = |operator: &mut Operator, n: u32| {
        operator.pod(&pod("a", "u1", false, &crashed(n, 1, "Error")));
        operator.advance(1000);
    };
    take(&mut operator, 3);
    assert_eq!(restarts(&operator).unseen, 2, "two runs before we looked");
    take(&mut operator, 4);
    take(&mut operator, 7);
    assert_eq!(restarts(&operator).unseen, 4);
    let numbers =
        |operator: &Operator| -> Vec<u32> { restarts(operator).history.iter().filter_map(|run| run.number).collect() };
    assert_eq!(numbers(&operator), [3, 4, 7], "the gap shows");

    let mut operator = operator.restarted(3600);
    operator.list(&[], &[pod("a", "u1", false, &crashed(9, 1, "Error"))]);
    operator.advance(1000);
    assert_eq!((restarts(&operator).unseen, numbers(&operator)), (5, vec![3, 4, 7, 9]), "one while nobody looked");
    (10..=25).for_each(|n| take(&mut operator, n));
    assert_eq!(restarts(&operator).unseen, 5, "the others were seen, though only ten are kept");
    assert_eq!(numbers(&operator), (16..=25).collect::<Vec<_>>());
    take(&mut operator, 2);
    assert_eq!(restarts(&operator).unseen, 5, "a count that begins anew tells of nothing between");
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
    assert_eq!(status.cause, "NativeCrash");
    assert_eq!(operator.told(), ["Diagnosed OOMKilled", "Changed NativeCrash"], "each once");
    let summed_up = "of its last 4 runs 2 ended by NativeCrash, 2 by OOMKilled";
    assert!(status.summary.ends_with(summed_up), "{}", status.summary);
    let evidence = status.evidence.iter().find(|e| e.source == "status.restarts.history").unwrap();
    assert_eq!(evidence.value, summed_up);
}
