//! Tests of kills, crashes and their timing that fixtures cannot cover, as they need the history and a clock.

use crate::case::{Health, Ledger, PastRun};
use crate::rules::diagnose;
use crate::testing::Scenario;

const REDIS: &str = r#"
kind: Pod
metadata: {name: multi, namespace: default}
spec:
  terminationGracePeriodSeconds: 30
  containers:
  - {name: redis, image: redis, ports: [{containerPort: 6380}], livenessProbe: {tcpSocket: {port: 6379}, initialDelaySeconds: 5, periodSeconds: 2, failureThreshold: 3}}
status:
  phase: Running
  containerStatuses:
  - name: redis
    restartCount: 7
    state: {waiting: {reason: CrashLoopBackOff, message: back-off 5m0s restarting failed container=redis pod=multi_default(1)}}
    lastState: {terminated: {exitCode: 137, reason: Error, startedAt: "2026-11-21T09:20:02Z", finishedAt: "2026-11-21T09:20:41Z"}}
"#;
const KILLED: &str = r#"
---
{kind: Event, type: Normal, reason: Killing, involvedObject: {kind: Pod, namespace: default, name: multi, fieldPath: "spec.containers{redis}"}, message: "Container redis failed liveness probe, will be restarted", count: 7, firstTimestamp: "2026-11-21T09:12:58Z", lastTimestamp: "2026-11-21T09:20:11Z"}
"#;

fn diagnosed(scenario: &Scenario) -> crate::case::Diagnosis {
    match diagnose(&scenario.case()).health {
        Health::Failing(diagnosis) => *diagnosis,
        Health::Healthy => panic!("nothing found"),
    }
}

fn redis_run(proven: bool, start: &str, end: &str) -> PastRun {
    PastRun {
        container: "redis".into(),
        number: None,
        started_at: Some(start.parse().unwrap()),
        finished_at: Some(end.parse().unwrap()),
        exit_code: 137,
        signal: None,
        reason: "Error".into(),
        cause: Some("LivenessProbeFailed".into()),
        proven,
    }
}

#[test]
fn kill_after_the_grace_period_reports_its_consequence() {
    let scenario = Scenario::from_yaml(&format!("{REDIS}{KILLED}"));
    let diagnosis = diagnosed(&scenario);
    assert_eq!(diagnosis.cause, "LivenessProbeFailed");
    assert_eq!(
        diagnosis.summary.text(),
        "redis is killed by its liveness probe (tcp 6379) 9 s after its last start; 7 restarts, back-off 5m"
    );
    assert!(diagnosis.other_findings.iter().any(|other| other.cause == "SigTermIgnored"));
    let changed = diagnosis.remedies.iter().find(|remedy| remedy.patch.is_some()).unwrap();
    let command = changed.command.as_deref().unwrap();
    assert!(command.ends_with(" replace --force -f multi.json"), "a bare pod cannot be patched in place: {command}");
}

#[test]
fn later_runs_inherit_a_proven_kill_and_its_timing() {
    let run = redis_run(true, "2026-11-21T09:15:00Z", "2026-11-21T09:15:39Z");
    let scenario = Scenario::from_yaml(REDIS).ledger(Ledger { runs: vec![run], ..Ledger::default() });
    let diagnosis = diagnosed(&scenario);
    assert_eq!(diagnosis.cause, "LivenessProbeFailed");
    assert!(diagnosis.summary.text().contains("9 s after each start"), "{}", diagnosis.summary.text());
    assert!(diagnosis.attributions.iter().all(|a| a.proven), "what is inherited can be inherited again");
}

#[test]
fn later_run_with_sigkill_after_a_healthy_period_is_a_probe_kill() {
    let kill = KILLED.replace("lastTimestamp: \"2026-11-21T09:20:11Z\"", "lastTimestamp: \"2026-11-21T09:13:40Z\"");
    let lasted = |start: &str| {
        let pod = REDIS.replace("startedAt: \"2026-11-21T09:20:02Z\"", &format!("startedAt: \"{start}\""));
        diagnosed(&Scenario::from_yaml(&format!("{pod}{kill}"))).cause
    };
    assert_eq!(lasted("2026-11-21T09:14:00Z"), "LivenessProbeFailed", "its Event was swallowed");
    assert_eq!(lasted("2026-11-21T09:20:36Z"), "SigKilledNotOom", "its probe cannot have ended it by then");
}

#[test]
fn missing_event_counts_only_after_it_could_have_arrived() {
    // A run that outlasts its probe does not delay the verdict; one that matches its probe waits for the Event.
    let long = REDIS.replace("startedAt: \"2026-11-21T09:20:02Z\"", "startedAt: \"2026-11-21T08:20:02Z\"");
    for (pod, until) in [(long.as_str(), "2026-11-21T09:20:47Z"), (REDIS, "2026-11-21T09:20:57Z")] {
        let seen = |at: &str| Scenario::from_yaml(pod).observed_since("2026-11-21T09:20:42Z").at(at);
        let early = diagnose(&seen("2026-11-21T09:20:44Z").case());
        assert!(matches!(early.health, Health::Healthy));
        assert_eq!(early.wake.map(|at| at.to_string()).as_deref(), Some(until));
        assert_eq!(diagnosed(&seen(until)).cause, "SigKilledNotOom");
    }
}

/// A busy kubelet sends its Events late and one by one; the cause must not change with each of them.
#[test]
fn kill_recorded_as_exit_0_keeps_its_cause_while_its_events_arrive() {
    let server = REDIS
        .replace("exitCode: 137, reason: Error", "exitCode: 0, reason: Completed")
        .replace("restartCount: 7", "restartCount: 1")
        .replace("09:20:41Z", "09:20:12Z");
    let unhealthy = r#"
---
{kind: Event, type: Warning, reason: Unhealthy, involvedObject: {kind: Pod, namespace: default, name: multi, fieldPath: "spec.containers{redis}"}, message: "Liveness probe failed: dial tcp 10.1.0.7:6379: connect: connection refused", count: 1, firstTimestamp: "2026-11-21T09:20:07Z", lastTimestamp: "2026-11-21T09:20:07Z"}
"#;
    for events in [String::new(), unhealthy.to_owned(), format!("{unhealthy}{KILLED}")] {
        let run = redis_run(false, "2026-11-21T09:20:02Z", "2026-11-21T09:20:12Z");
        let run = PastRun { exit_code: 0, reason: "Completed".into(), cause: None, ..run };
        let scenario = Scenario::from_yaml(&format!("{server}{events}")).at("2026-11-21T09:20:40Z");
        let diagnosis = diagnosed(&scenario.ledger(Ledger { runs: vec![run], ..Ledger::default() }));
        assert_eq!(
            (diagnosis.cause, diagnosis.container.as_deref()),
            ("LivenessProbeFailed", Some("redis")),
            "{events}"
        );
    }
}

/// The kubelet retries an Event that the API server does not accept, and the later ones wait: after two restarts the
/// first that arrives may be one of the first run.
#[test]
fn kill_recorded_as_exit_0_keeps_its_cause_while_events_of_earlier_runs_arrive() {
    let server = REDIS
        .replace("exitCode: 137, reason: Error", "exitCode: 0, reason: Completed")
        .replace("restartCount: 7", "restartCount: 2")
        .replace("09:20:41Z", "09:20:12Z");
    let reported = |at: &str| {
        format!(
            r#"
---
{{kind: Event, type: Warning, reason: Unhealthy, involvedObject: {{kind: Pod, namespace: default, name: multi, fieldPath: "spec.containers{{redis}}"}}, message: "Liveness probe failed: dial tcp 10.1.0.7:6379: connect: connection refused", count: 1, firstTimestamp: "{at}", lastTimestamp: "{at}"}}
"#
        )
    };
    let back_off = r#"
---
{kind: Event, type: Warning, reason: BackOff, involvedObject: {kind: Pod, namespace: default, name: multi, fieldPath: "spec.containers{redis}"}, message: "Back-off restarting failed container", count: 1, firstTimestamp: "2026-11-21T09:20:13Z", lastTimestamp: "2026-11-21T09:20:13Z"}
"#;
    let cause = |events: &str| {
        let run = redis_run(false, "2026-11-21T09:20:02Z", "2026-11-21T09:20:12Z");
        let run = PastRun { exit_code: 0, reason: "Completed".into(), cause: None, ..run };
        let scenario = Scenario::from_yaml(&format!("{server}{events}")).at("2026-11-21T09:20:40Z");
        diagnosed(&scenario.ledger(Ledger { runs: vec![run], ..Ledger::default() })).cause
    };
    let (first_run, at_the_second_start) = (reported("2026-11-21T09:19:50Z"), reported("2026-11-21T09:20:02Z"));
    for events in ["", &first_run, &at_the_second_start] {
        assert_eq!(cause(events), "LivenessProbeFailed", "{events}");
    }
    assert_eq!(cause(back_off), "CompletedButRestarted", "an Event sent after a kill's arrived, and no kill's");
}

#[test]
fn restarts_report_back_off_and_next_start() {
    let run = redis_run(true, "2026-11-21T09:15:00Z", "2026-11-21T09:15:39Z");
    let scenario = Scenario::from_yaml(REDIS).ledger(Ledger { runs: vec![run], ..Ledger::default() });
    let restarts = crate::signals::restarts::of(&scenario.case(), Some("redis")).unwrap();
    assert_eq!((restarts.count, restarts.back_off.as_deref(), restarts.history.len()), (7, Some("5m0s"), 2));
    assert_eq!(restarts.next_restart_time.map(|at| at.to_string()).as_deref(), Some("2026-11-21T09:25:41Z"));
}

#[test]
fn crash_in_the_grace_period_or_long_before_is_not_reported() {
    let deleted =
        REDIS.replace("namespace: default}", "namespace: default, deletionTimestamp: \"2026-11-21T09:21:00Z\"}");
    assert!(matches!(diagnose(&Scenario::from_yaml(&deleted).case()).health, Health::Healthy));
    let recovered = REDIS
        .replace("waiting: {reason: CrashLoopBackOff, message: back-off 5m0s restarting failed container=redis pod=multi_default(1)}", "running: {startedAt: \"2026-11-21T09:25:41Z\"}")
        .replace("restartCount: 7", "restartCount: 7\n    ready: true");
    assert_eq!(diagnosed(&Scenario::from_yaml(&recovered).at("2026-11-21T09:30:00Z")).cause, "SigKilledNotOom");
    assert!(matches!(
        diagnose(&Scenario::from_yaml(&recovered).at("2026-11-21T09:36:00Z").case()).health,
        Health::Healthy
    ));
}

#[test]
fn next_start_is_computed_from_a_terminated_state() {
    let yaml = include_str!("../../../../tests/causes/OOMKilled/alternates-with-exit-1.yaml");
    let restarts = |scenario: &Scenario| crate::signals::restarts::of(&scenario.case(), Some("hog")).unwrap();
    let seen = restarts(&Scenario::from_yaml(yaml).at("2026-11-21T18:00:30Z"));
    assert_eq!(seen.back_off.as_deref(), Some("40s"), "it waited 25 s before: that was the step of 20 s");
    assert_eq!(seen.next_restart_time.map(|at| at.to_string()).as_deref(), Some("2026-11-21T18:01:07Z"));
    let overdue = restarts(&Scenario::from_yaml(yaml).at("2026-11-21T18:05:00Z"));
    assert_eq!((overdue.back_off, overdue.next_restart_time), (None, None), "something else keeps it");
    let never = yaml.replace("restartPolicy: Always", "restartPolicy: Never");
    let over = restarts(&Scenario::from_yaml(&never).at("2026-11-21T18:00:30Z"));
    assert_eq!((over.back_off, over.next_restart_time), (None, None), "it is not started again");
}

#[test]
fn run_being_killed_differs_from_the_previous_run() {
    let running = REDIS
        .replace("waiting: {reason: CrashLoopBackOff, message: back-off 5m0s restarting failed container=redis pod=multi_default(1)}", "running: {startedAt: \"2026-11-21T09:21:00Z\"}")
        .replace("exitCode: 137, reason: Error", "exitCode: 137, reason: OOMKilled");
    let killed = KILLED.replace(
        "count: 7, firstTimestamp: \"2026-11-21T09:12:58Z\", lastTimestamp: \"2026-11-21T09:20:11Z\"",
        "count: 1, firstTimestamp: \"2026-11-21T09:21:10Z\", lastTimestamp: \"2026-11-21T09:21:10Z\"",
    );
    let diagnosis = diagnosed(&Scenario::from_yaml(&format!("{running}{killed}")));
    assert_eq!(diagnosis.cause, "LivenessProbeFailed");
    assert!(diagnosis.summary.text().contains("is being killed"), "{}", diagnosis.summary.text());
    assert!(
        diagnosis.attributions.iter().all(|a| a.cause != "LivenessProbeFailed"),
        "the run that ended ran out of memory: {:?}",
        diagnosis.attributions
    );
}

#[test]
fn evidence_against_an_external_sender_is_listed() {
    use crate::api::{Confidence, Weight};
    let against = |diagnosis: &crate::case::Diagnosis| -> Vec<String> {
        let doubts = diagnosis.evidence.iter().filter(|e| e.weight == Weight::Contradicts);
        doubts.map(|e| e.source.clone()).collect()
    };
    let late = diagnosed(&Scenario::from_yaml(include_str!(
        "../../../../tests/causes/SigKilledNotOom/as-late-as-its-probe.yaml"
    )));
    assert_eq!((late.cause, late.confidence), ("SigKilledNotOom", Confidence::Possible));
    assert_eq!(against(&late), ["spec.containers[app].livenessProbe"]);
    let early = diagnosed(&Scenario::from_yaml(include_str!(
        "../../../../tests/causes/LivenessProbeFailed/not-external-kill.yaml"
    )));
    assert_eq!((early.confidence, against(&early)), (Confidence::Likely, Vec::new()), "its Events would be there");
    let stopped =
        diagnosed(&Scenario::from_yaml(include_str!("../../../../tests/causes/PostStartHookError/not-pre-stop.yaml")));
    assert_eq!(against(&stopped), ["event/FailedPreStopHook"]);
    let lost =
        diagnosed(&Scenario::from_yaml(include_str!("../../../../tests/causes/ContainerStatusUnknown/gone.yaml")));
    assert!(against(&lost).iter().any(|source| source.ends_with(".exitCode")), "{:?}", lost.evidence);
}

#[test]
fn failed_hook_differs_from_one_that_exceeds_the_grace_period() {
    let words = |yaml: &str| {
        let diagnosis = diagnosed(&Scenario::from_yaml(yaml));
        let hook = diagnosis.other_findings.into_iter().find(|other| other.cause == "PreStopHookFailed");
        hook.unwrap().summary
    };
    let fails = words(include_str!("../../../../tests/causes/LivenessProbeFailed/pre-stop-fails.yaml"));
    assert!(fails.starts_with("fails at each kill"), "{fails}");
    let outlasts = words(include_str!("../../../../tests/causes/LivenessProbeFailed/pre-stop-outlasts-grace.yaml"));
    assert!(outlasts.starts_with("was still running at the end of the grace period of 4 s"), "{outlasts}");
}

#[test]
fn probe_that_passed_for_hours_has_other_remedies_than_a_slow_start() {
    let advice = |scenario: &Scenario| -> (String, String) {
        let diagnosis = diagnosed(scenario);
        assert_eq!(diagnosis.cause, "LivenessProbeFailed");
        (diagnosis.summary.into_text(), diagnosis.remedies.into_iter().map(|remedy| remedy.text).collect())
    };
    let (_, early) = advice(&Scenario::from_yaml(&format!("{REDIS}{KILLED}")));
    assert!(early.contains("add a startupProbe") && !early.contains("hang"), "{early}");
    let long = REDIS.replace("startedAt: \"2026-11-21T09:20:02Z\"", "startedAt: \"2026-11-21T07:00:02Z\"");
    let (summary, late) = advice(&Scenario::from_yaml(&format!("{long}{KILLED}")));
    assert!(summary.contains(" only 2 h after its last start"), "{summary}");
    assert!(late.contains("ran for 2 h before") && !late.contains("add a startupProbe"), "{late}");
}

/// A bare pod that is running again and Ready, with no data newer than its last start.
fn ready_again(restarts: u32, made: &str, end: &str) -> Scenario {
    let mut scenario = Scenario::from_yaml(&format!(
        r#"
kind: Pod
metadata: {{name: web, namespace: default, creationTimestamp: "{made}"}}
spec: {{containers: [{{name: web, image: web}}]}}
status:
  phase: Running
  conditions: [{{type: Ready, status: "True", lastTransitionTime: "2026-11-21T09:20:41Z"}}]
  containerStatuses:
  - name: web
    ready: true
    restartCount: {restarts}
    state: {{running: {{startedAt: "2026-11-21T09:20:41Z"}}}}
    lastState: {{terminated: {{{end}, finishedAt: "2026-11-21T09:20:40Z"}}}}
"#
    ));
    scenario.thresholds = crate::case::Thresholds::default().for_snapshot();
    scenario
}

#[test]
fn possibly_recovered_bare_pod_is_only_noted() {
    use crate::api::Severity;
    let severity = |restarts, made, end| diagnosed(&ready_again(restarts, made, end)).severity;
    let crash = "exitCode: 1, reason: Error, startedAt: \"2026-11-21T09:19:40Z\"";
    let memory = "exitCode: 137, reason: OOMKilled, startedAt: \"2026-11-11T09:00:00Z\"";
    let (new, old) = ("2026-11-21T09:18:40Z", "2026-11-10T09:00:00Z");
    assert_eq!(severity(2, new, crash), Severity::Info, "it waited for something at its start");
    assert_ne!(severity(2, old, crash), Severity::Info, "its start is long ago");
    assert_ne!(severity(3, new, crash), Severity::Info, "a loop");
    assert_eq!(severity(1, old, memory), Severity::Info, "once in ten days");
    assert_ne!(severity(2, old, memory), Severity::Info, "again");
    let at_once = "exitCode: 137, reason: OOMKilled, startedAt: \"2026-11-21T09:19:40Z\"";
    assert_ne!(severity(1, new, at_once), Severity::Info, "too little for its start");
    let mut watched = ready_again(2, new, crash);
    watched.thresholds = crate::case::Thresholds::default();
    assert_ne!(diagnosed(&watched).severity, Severity::Info, "in a cluster it is seen whether it fails again");
}

#[test]
fn exit_without_a_cause_is_checked_again_after_its_events_arrive() {
    let first = REDIS
        .replace("restartCount: 7", "restartCount: 0")
        .replace("waiting: {reason: CrashLoopBackOff, message: back-off 5m0s restarting failed container=redis pod=multi_default(1)}", "terminated: {exitCode: 143, reason: Error, startedAt: \"2026-11-21T09:20:02Z\", finishedAt: \"2026-11-21T09:20:41Z\"}");
    let first = first.split("    lastState").next().unwrap();
    let at = |now: &str| {
        let scenario = Scenario::from_yaml(first).observed_since("2026-11-21T09:20:41Z").at(now);
        let outcome = diagnose(&scenario.case());
        assert!(matches!(outcome.health, Health::Healthy), "{:?}", outcome.health);
        outcome.wake
    };
    assert!(at("2026-11-21T09:20:42Z").is_some(), "the Event of a kill may still come");
    assert_eq!(at("2026-11-21T09:30:42Z"), None);
}
