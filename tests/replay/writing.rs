//! The number of writes, and external edits.

use shindan_core::facts::{Lookup, LookupResult, ServiceFacts};
use shindan_core::state::{Caps, Change};

use super::operator::{
    HEALTHY, Operator, Server, at, crashed, end_pod, ended, event, healthy, killing, oom, oom_of, pod, pod_of,
    running_again,
};

#[test]
fn nothing_is_written_while_nothing_changes() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.advance(30);
    let applies = operator.server().applies;
    for i in 0..1000 {
        // Kubernetes 1.35 shows the terminated state for most of the back-off, which changes what kubectl prints.
        let status = if i % 2 == 0 { ended(2, 137, "OOMKilled") } else { crashed(2, 137, "OOMKilled") };
        operator.pod(&pod("a", "u1", false, &status));
    }
    operator.advance(3600);
    assert_eq!(operator.server().applies, applies);
    assert!(operator.server().lookups <= 2 * (3600 / 300 + 2), "{} lookups", operator.server().lookups);
}

#[test]
fn each_restart_is_written_once_and_after_ten_once_in_a_quarter_of_an_hour() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.advance(30);
    let before = operator.server().applies;
    for n in 3..=11 {
        operator.pod(&pod("a", "u1", true, &running_again(n - 1, 137, "OOMKilled")));
        operator.advance(20);
        operator.pod(&pod("a", "u1", false, &crashed(n, 137, "OOMKilled")));
        operator.advance(280);
        let status = operator.status("a");
        assert_eq!(operator.server().applies - before, n as usize - 2, "one write for restart {n}");
        let count = status.restarts.as_ref().unwrap().count;
        assert_eq!(count, n - 1);
        assert!(
            status.head.summary.contains(&format!("{count} restart")),
            "count and summary agree: {}",
            status.head.summary
        );
    }
    let before = operator.server().applies;
    for n in 12..24 {
        operator.pod(&pod("a", "u1", true, &running_again(n - 1, 137, "OOMKilled")));
        operator.advance(20);
        operator.pod(&pod("a", "u1", false, &crashed(n, 137, "OOMKilled")));
        operator.advance(280);
    }
    assert_eq!(operator.server().applies - before, 12 * 300 / 900);
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"]);
    assert_eq!(operator.status("a").restarts.as_ref().unwrap().history.len(), 10);
}

/// Counts the writes of the next three restarts of a crash loop with this many restarts.
fn writes_of_three_restarts(after: u32) -> (usize, String) {
    let mut operator = Operator::idle();
    operator.pod(&pod("a", "u1", false, &crashed(after, 1, "Error")));
    operator.advance(30);
    let before = operator.server().applies;
    for n in after + 1..=after + 3 {
        operator.pod(&pod("a", "u1", false, &running_again(n - 1, 1, "Error")));
        operator.advance(3);
        operator.pod(&pod("a", "u1", false, &ended(n, 1, "Error")));
        operator.advance(12);
        operator.pod(&pod("a", "u1", false, &crashed(n, 1, "Error")));
        operator.advance(285);
    }
    (operator.server().applies - before, operator.status("a").pod_status.clone())
}

#[test]
fn the_pod_status_follows_kubectl_until_a_crash_loop_has_settled() {
    assert_eq!(writes_of_three_restarts(2), (6, "CrashLoopBackOff".to_owned()), "the end, and the back-off that lasts");
    assert_eq!(writes_of_three_restarts(20).0, 1, "once in a quarter of an hour");
}

#[test]
fn an_error_and_its_back_off_that_take_turns_are_not_followed() {
    let mut operator = Operator::idle();
    let waiting = |reason: &str| {
        let state = format!(
            "ready: false, restartCount: 0, state: {{waiting: {{reason: {reason}, message: 'manifest unknown'}}}}"
        );
        let mut pod = pod("a", "u1", false, &state);
        pod.phase = shindan_core::facts::Phase::Pending;
        pod
    };
    let mut status = |reason: &str, seconds| {
        operator.pod(&waiting(reason));
        operator.advance(seconds);
        (operator.status("a").pod_status.clone(), operator.server().applies)
    };
    let (first, writes) = status("ErrImagePull", 12);
    assert_eq!(first, "ErrImagePull");
    assert_eq!(status("ImagePullBackOff", 30), ("ImagePullBackOff".to_owned(), writes + 1));
    for _ in 0..50 {
        assert_eq!(status("ErrImagePull", 15).1, writes + 1);
        assert_eq!(status("ImagePullBackOff", 285), ("ImagePullBackOff".to_owned(), writes + 1));
    }
    for _ in 0..50 {
        assert_eq!(status("ErrImagePull", 100).1, writes + 1, "slower turns neither");
        assert_eq!(status("ImagePullBackOff", 100).1, writes + 1);
    }
}

#[test]
fn alternating_statuses_that_exclude_the_written_one_are_written() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.advance(30);
    assert_eq!(operator.status("a").pod_status, "CrashLoopBackOff");
    let with = |status: &str| pod("a", "u1", false, status);
    let running = with(&running_again(2, 137, "OOMKilled"));
    for _ in 0..3 {
        operator.pod(&with(&ended(2, 137, "OOMKilled")));
        operator.advance(5);
        operator.pod(&running);
        operator.advance(5);
    }
    assert_ne!(operator.status("a").pod_status, "CrashLoopBackOff");
}

fn services(ready_endpoints: u32) -> LookupResult {
    LookupResult::Services(vec![ServiceFacts {
        name: "web".into(),
        selector: [("pod-template-hash", "5")].into_iter().collect(),
        ready_endpoints,
        ..ServiceFacts::default()
    }])
}

/// After a start there may be thousands of failures.
#[test]
fn a_failure_before_the_start_is_written_once_with_its_impact() {
    let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
    operator.surroundings_mut().results.insert(Lookup::Services("demo".into()), services(1));
    operator.list(&[], &[pod_of("web-b", "u2", Some("web"), true, HEALTHY), oom_of("web", "web-a", "u1")]);
    operator.advance(60);
    assert_eq!(operator.server().applies, 1);
    assert_eq!(operator.status("web-a").impact.as_ref().unwrap().services[0].ready_endpoints, 1);
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"]);
}

/// A forbidden lookup does not delay the report.
#[test]
fn a_failure_before_the_start_is_reported_without_lookups_that_are_forbidden() {
    let mut operator = Operator::new(Caps::default(), Server::default(), at("09:00:00"));
    operator.surroundings_mut().refused.insert(Lookup::Services("demo".into()));
    operator.list(&[], &[oom_of("web", "web-a", "u1")]);
    operator.advance(1);
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"]);
}

#[test]
fn the_impact_follows_the_first_write_at_once_and_whole_and_changes_once_in_five_minutes() {
    let mut operator = Operator::idle();
    operator.surroundings_mut().results.insert(Lookup::Services("demo".into()), services(1));
    operator.pod(&pod_of("web-b", "u2", Some("web"), true, HEALTHY));
    operator.pod(&oom_of("web", "web-a", "u1"));
    assert_eq!(operator.server().applies, 1);
    operator.advance(2);
    assert_eq!(operator.server().applies, 2);
    assert_eq!(operator.status("web-a").impact.as_ref().unwrap().services[0].ready_endpoints, 1);
    operator.surroundings_mut().results.insert(Lookup::Services("demo".into()), services(2));
    operator.advance(298);
    assert_eq!(operator.server().applies, 2);
    operator.advance(10);
    assert_eq!(operator.server().applies, 3);
    operator.advance(3600);
    assert_eq!(operator.server().applies, 3, "read again, and not written where it is the same");
}

#[test]
fn a_service_without_endpoints_is_a_rise_in_severity() {
    let mut operator = Operator::idle();
    let none = ServiceFacts {
        name: "web".into(),
        selector: [("pod-template-hash", "5")].into_iter().collect(),
        ready_endpoints: 0,
        ..ServiceFacts::default()
    };
    operator.pod(&pod_of("web-b", "u2", Some("web"), true, HEALTHY));
    operator.pod(&oom_of("web", "web-a", "u1"));
    assert_eq!(operator.status("web-a").head.severity.as_str(), "Warning");
    operator.surroundings_mut().results.insert(Lookup::Services("demo".into()), LookupResult::Services(vec![none]));
    operator.advance(400);
    assert_eq!(operator.status("web-a").head.severity.as_str(), "Critical");
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled", "Changed OOMKilled"]);
    let notes: Vec<String> = operator.server().events.iter().map(|event| event.note.clone()).collect();
    assert!(notes[1].ends_with(". The severity has risen from Warning to Critical"), "{notes:?}");
    assert!(!notes[0].contains("severity"), "{notes:?}");
}

#[test]
fn when_the_last_sibling_fails_the_earlier_failures_become_critical() {
    let mut operator = Operator::idle();
    operator.pod(&pod_of("web-b", "u2", Some("web"), true, HEALTHY));
    operator.pod(&oom_of("web", "web-a", "u1"));
    assert_eq!(operator.status("web-a").head.severity.as_str(), "Warning");
    operator.pod(&oom_of("web", "web-b", "u2"));
    assert_eq!(operator.status("web-a").head.severity.as_str(), "Critical");
    operator.pod(&pod_of("web-b", "u2", Some("web"), true, &running_again(2, 137, "OOMKilled")));
    operator.advance(30);
    assert_eq!(operator.status("web-a").head.severity.as_str(), "Critical", "the highest severity is kept");
}

#[test]
fn an_external_edit_or_deletion_is_reverted() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.advance(30);
    let summary = operator.status("a").head.summary.clone();
    let evidence = operator.status("a").head.evidence.clone();
    let edit = operator.server_mut().edit("a", false);
    operator.take(edit);
    operator.settle();
    assert_eq!(operator.status("a").head.summary, summary);
    let deletion = operator.server_mut().edit("a", true);
    operator.take(deletion);
    operator.advance(3);
    assert_eq!(
        (operator.status("a").head.summary.as_str(), &operator.status("a").head.evidence),
        (summary.as_str(), &evidence)
    );
    let applies = operator.server().applies;
    operator.advance(600);
    assert_eq!(operator.server().applies, applies, "our own write is not an external edit");
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"]);
}

#[test]
fn endpoints_of_the_second_before_a_failure_do_not_raise_its_severity() {
    let mut operator = Operator::idle();
    let service = |ready_endpoints| {
        let selector = [("pod-template-hash", "5")].into_iter().collect();
        LookupResult::Services(vec![ServiceFacts {
            name: "web".into(),
            selector,
            ready_endpoints,
            ..ServiceFacts::default()
        }])
    };
    // Another pod's failure looks up the Services of the namespace before web has endpoints.
    operator.surroundings_mut().results.insert(Lookup::Services("demo".into()), service(0));
    operator.pod(&oom("other", "u0"));
    operator.advance(2);
    operator.surroundings_mut().results.insert(Lookup::Services("demo".into()), service(1));
    operator.pod(&pod_of("web-b", "u2", Some("web"), true, HEALTHY));
    operator.pod(&oom_of("web", "web-a", "u1"));
    operator.advance(30);
    assert_eq!(operator.status("web-a").head.severity.as_str(), "Warning", "web-b serves");
    let impact = operator.status("web-a").impact.clone().unwrap();
    assert_eq!(impact.services.iter().map(|s| s.ready_endpoints).collect::<Vec<_>>(), [1]);
}

#[test]
fn the_diagnosis_of_a_deleted_pod_is_not_restored_in_a_recreated_namespace() {
    for pod_first in [true, false] {
        let mut operator = Operator::idle();
        operator.pod(&oom("a", "u1"));
        operator.advance(30);
        let deletion = operator.server_mut().edit("a", true);
        if pod_first {
            // The write of the final state is in progress when both are deleted.
            operator.deleted(&oom("a", "u1"));
            operator.take(deletion);
        } else {
            operator.take(deletion);
            operator.take(Change::PodDeleted(Box::new(oom("a", "u1"))));
        }
        operator.advance(600);
        assert!(operator.server().objects.is_empty(), "pod first: {pod_first}: {:?}", operator.server().objects);
        operator.pod(&oom("a", "u2"));
        assert_eq!((operator.object("a").spec.pod_uid.as_str(), operator.state("a").as_str()), ("u2", "Active"));
    }
}

#[test]
fn a_write_in_progress_does_not_restore_a_deleted_pod_or_its_diagnosis() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.advance(30);
    operator.take(Change::Pod(Box::new(pod("a", "u1", false, &crashed(3, 137, "OOMKilled")))));
    operator.settle_with(|operator| {
        let _ = operator.server_mut().edit("a", true);
        operator.take(Change::PodDeleted(Box::new(oom("a", "u1"))));
    });
    operator.advance(600);
    assert!(operator.server().objects.is_empty(), "{:?}", operator.server().objects);
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"]);
}

#[test]
fn deletion_does_not_raise_the_severity_of_a_pod() {
    let mut operator = Operator::idle();
    let neighbour = pod_of("web-b", "u2", Some("web"), true, HEALTHY);
    operator.pod(&neighbour);
    operator.pod(&oom_of("web", "web-a", "u1"));
    operator.pod(&end_pod(&oom_of("web", "web-a", "u1"), "Running", "09:01:00"));
    operator.deleted(&neighbour);
    operator.advance(30);
    assert_eq!(operator.status("web-a").head.severity.as_str(), "Warning", "the whole workload is deleted");
    assert_eq!(operator.emitted(), ["Diagnosed OOMKilled"]);
}

#[test]
fn repeated_external_edits_are_reverted_at_a_limited_rate() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.advance(30);
    let applies = operator.server().applies;
    for _ in 0..200 {
        let edit = operator.server_mut().edit("a", false);
        operator.take(edit);
        operator.advance(1);
    }
    let repairs = operator.server().applies - applies;
    assert!((2..=9).contains(&repairs), "{repairs} repairs in 200 s");
}

#[test]
fn an_edit_that_the_watch_has_not_delivered_yet_costs_one_conflict() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    let _ = operator.server_mut().edit("a", true);
    operator.pod(&pod("a", "u1", false, &crashed(3, 137, "OOMKilled")));
    operator.advance(30);
    assert_eq!(operator.status("a").restarts.as_ref().unwrap().count, 2);
    let _ = operator.server_mut().edit("a", false);
    operator.pod(&pod("a", "u1", false, &crashed(4, 137, "OOMKilled")));
    operator.advance(30);
    assert_eq!(operator.status("a").restarts.as_ref().unwrap().count, 3);
    assert!(operator.server().conflicts <= 2, "{} conflicts", operator.server().conflicts);
}

#[test]
fn an_edited_diagnosis_of_a_gone_pod_is_restored_and_a_deleted_one_is_not() {
    let mut operator = Operator::idle();
    operator.pod(&oom("a", "u1"));
    operator.deleted(&oom("a", "u1"));
    let status = operator.status("a").clone();
    let edit = operator.server_mut().edit("a", false);
    operator.take(edit);
    operator.settle();
    assert_eq!(
        (&operator.status("a").head.evidence, &operator.status("a").head.summary),
        (&status.head.evidence, &status.head.summary)
    );
    let deletion = operator.server_mut().edit("a", true);
    operator.take(deletion);
    operator.settle();
    operator.advance(90_000);
    assert!(operator.server().objects.is_empty());
    assert_eq!(operator.server().deletes, 0);
}

#[test]
fn a_namespace_full_of_crash_loops_reads_its_services_once_in_five_minutes() {
    let mut operator = Operator::idle();
    for i in 0..20 {
        operator.pod(&oom(&format!("p{i}"), &format!("u{i}")));
    }
    operator.advance(60);
    let before = operator.server().lookups;
    for n in 3..13 {
        for i in 0..20 {
            let (name, uid) = (format!("p{i}"), format!("u{i}"));
            operator.pod(&pod(&name, &uid, true, &running_again(n - 1, 137, "OOMKilled")));
            operator.pod(&pod(&name, &uid, false, &crashed(n, 137, "OOMKilled")));
        }
        operator.advance(120);
    }
    let reads = operator.server().lookups - before;
    assert!(reads <= 10 * 120 / 300 + 1, "{reads} in twenty minutes");
}

#[test]
fn unready_noise_of_a_healthy_pod_is_not_kept() {
    let mut operator = Operator::idle();
    let pod = healthy("a", "u1");
    operator.pod(&pod);
    for reason in ["Unhealthy", "BackOff", "FailedMount"] {
        operator.event(&event(&pod, reason, "Readiness probe failed: x", "08:59:00"));
    }
    operator.advance(600);
    assert_eq!((operator.server().applies, operator.engine.world.cluster.unhealthy().count()), (0, 0));
    operator.event(&killing(&pod, "08:59:50"));
    operator.pod(&pod);
    assert_eq!(
        operator.engine.world.cluster.unhealthy().count(),
        1,
        "a kill is remembered: the status that it explains comes next"
    );
    assert!(operator.now > at("09:09:59"));
}
