//! Kills, crashes and their rhythm, where a fixture cannot show it: the ledger and the clock.

use crate::diagnosis::testing::Scenario;
use crate::diagnosis::{Health, Ledger, PastRun, diagnose};

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

fn diagnosed(scenario: &Scenario) -> crate::diagnosis::Diagnosis {
    match diagnose(&scenario.case()).health {
        Health::Failing(diagnosis) => *diagnosis,
        Health::Well => panic!("nothing found"),
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
fn a_kill_that_took_the_grace_period_is_told_with_its_consequence() {
    let scenario = Scenario::from_yaml(&format!("{REDIS}{KILLED}"));
    let diagnosis = diagnosed(&scenario);
    assert_eq!(diagnosis.cause, "LivenessProbeFailed");
    assert_eq!(
        diagnosis.summary,
        "redis is killed by its liveness probe (tcp 6379) 9 s after its last start; 7 restarts, back-off 5m"
    );
    assert!(diagnosis.other_findings.iter().any(|other| other.cause == "SigTermIgnored"));
    let patch = diagnosis.remedies.iter().find_map(|remedy| remedy.patch.as_deref());
    assert!(patch.is_none(), "a bare pod cannot be patched: {patch:?}");
}

#[test]
fn later_runs_inherit_a_proven_kill_and_their_rhythm() {
    let run = redis_run(true, "2026-11-21T09:15:00Z", "2026-11-21T09:15:39Z");
    let scenario = Scenario::from_yaml(REDIS).ledger(Ledger { runs: vec![run], ..Ledger::default() });
    let diagnosis = diagnosed(&scenario);
    assert_eq!(diagnosis.cause, "LivenessProbeFailed");
    assert!(diagnosis.summary.contains("9 s after each start"), "{}", diagnosis.summary);
    assert!(diagnosis.attributions.iter().all(|a| a.proven), "what is inherited can be inherited again");
}

#[test]
fn a_later_run_that_was_well_for_a_while_before_its_sigkill_is_its_probes_as_well() {
    let kill = KILLED.replace("lastTimestamp: \"2026-11-21T09:20:11Z\"", "lastTimestamp: \"2026-11-21T09:13:40Z\"");
    let lasted = |start: &str| {
        let pod = REDIS.replace("startedAt: \"2026-11-21T09:20:02Z\"", &format!("startedAt: \"{start}\""));
        diagnosed(&Scenario::from_yaml(&format!("{pod}{kill}"))).cause
    };
    assert_eq!(lasted("2026-11-21T09:14:00Z"), "LivenessProbeFailed", "its Event was swallowed");
    assert_eq!(lasted("2026-11-21T09:20:36Z"), "SigKilledNotOom", "its probe cannot have ended it by then");
}

#[test]
fn nothing_is_concluded_from_a_missing_event_before_it_could_come() {
    // One that was longer than its probe lets any be; and one that ended as its probe ends runs, whose Event is expected.
    let long = REDIS.replace("startedAt: \"2026-11-21T09:20:02Z\"", "startedAt: \"2026-11-21T08:20:02Z\"");
    for (pod, until) in [(long.as_str(), "2026-11-21T09:20:47Z"), (REDIS, "2026-11-21T09:20:57Z")] {
        let seen = |at: &str| Scenario::from_yaml(pod).observed_since("2026-11-21T09:20:42Z").at(at);
        let early = diagnose(&seen("2026-11-21T09:20:44Z").case());
        assert!(matches!(early.health, Health::Well));
        assert_eq!(early.wake.map(|at| at.to_string()).as_deref(), Some(until));
        assert_eq!(diagnosed(&seen(until)).cause, "SigKilledNotOom");
    }
}

#[test]
fn restarts_tell_back_off_and_next_start() {
    let run = redis_run(true, "2026-11-21T09:15:00Z", "2026-11-21T09:15:39Z");
    let scenario = Scenario::from_yaml(REDIS).ledger(Ledger { runs: vec![run], ..Ledger::default() });
    let restarts = crate::diagnosis::restarts(&scenario.case(), Some("redis")).unwrap();
    assert_eq!((restarts.count, restarts.back_off.as_deref(), restarts.history.len()), (7, Some("5m0s"), 2));
    assert_eq!(restarts.next_restart_time.map(|at| at.to_string()).as_deref(), Some("2026-11-21T09:25:41Z"));
}

#[test]
fn a_crash_in_its_grace_period_or_of_a_container_long_since_well_is_none() {
    let deleted =
        REDIS.replace("namespace: default}", "namespace: default, deletionTimestamp: \"2026-11-21T09:21:00Z\"}");
    assert!(matches!(diagnose(&Scenario::from_yaml(&deleted).case()).health, Health::Well));
    let well = REDIS
        .replace("waiting: {reason: CrashLoopBackOff, message: back-off 5m0s restarting failed container=redis pod=multi_default(1)}", "running: {startedAt: \"2026-11-21T09:25:41Z\"}")
        .replace("restartCount: 7", "restartCount: 7\n    ready: true");
    assert_eq!(diagnosed(&Scenario::from_yaml(&well).at("2026-11-21T09:30:00Z")).cause, "SigKilledNotOom");
    assert!(matches!(diagnose(&Scenario::from_yaml(&well).at("2026-11-21T09:36:00Z").case()).health, Health::Well));
}

#[test]
fn the_next_start_is_worked_out_where_the_kubelet_shows_the_run_that_ended() {
    let yaml = include_str!("../../../../tests/causes/OOMKilled/alternates-with-exit-1.yaml");
    let restarts = |scenario: &Scenario| crate::diagnosis::restarts(&scenario.case(), Some("hog")).unwrap();
    let seen = restarts(&Scenario::from_yaml(yaml).at("2026-11-21T18:00:30Z"));
    assert_eq!(seen.back_off.as_deref(), Some("40s"), "it waited 25 s before: that was the step of 20 s");
    assert_eq!(seen.next_restart_time.map(|at| at.to_string()).as_deref(), Some("2026-11-21T18:01:07Z"));
    let overdue = restarts(&Scenario::from_yaml(yaml).at("2026-11-21T18:05:00Z"));
    assert_eq!((overdue.back_off, overdue.next_restart_time), (None, None), "something else keeps it");
    let never = yaml.replace("restartPolicy: Always", "restartPolicy: Never");
    let over = restarts(&Scenario::from_yaml(&never).at("2026-11-21T18:00:30Z"));
    assert_eq!((over.back_off, over.next_restart_time), (None, None), "nobody starts it again");
}

#[test]
fn a_run_that_a_probe_is_about_to_end_is_not_the_one_before() {
    let running = REDIS
        .replace("waiting: {reason: CrashLoopBackOff, message: back-off 5m0s restarting failed container=redis pod=multi_default(1)}", "running: {startedAt: \"2026-11-21T09:21:00Z\"}")
        .replace("exitCode: 137, reason: Error", "exitCode: 137, reason: OOMKilled");
    let killed = KILLED.replace(
        "count: 7, firstTimestamp: \"2026-11-21T09:12:58Z\", lastTimestamp: \"2026-11-21T09:20:11Z\"",
        "count: 1, firstTimestamp: \"2026-11-21T09:21:10Z\", lastTimestamp: \"2026-11-21T09:21:10Z\"",
    );
    let diagnosis = diagnosed(&Scenario::from_yaml(&format!("{running}{killed}")));
    assert_eq!(diagnosis.cause, "LivenessProbeFailed");
    assert!(diagnosis.summary.contains("is being killed"), "{}", diagnosis.summary);
    assert!(
        diagnosis.attributions.iter().all(|a| a.cause != "LivenessProbeFailed"),
        "the run that ended ran out of memory: {:?}",
        diagnosis.attributions
    );
}

#[test]
fn what_speaks_against_an_unknown_hand_is_listed() {
    use crate::api::{Confidence, Weight};
    let against = |diagnosis: &crate::diagnosis::Diagnosis| -> Vec<String> {
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
fn a_hook_that_fails_is_told_apart_from_one_that_outlasts_the_grace_period() {
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
fn a_probe_that_was_passed_for_hours_asks_for_another_remedy_than_a_slow_start() {
    let advice = |scenario: &Scenario| -> (String, String) {
        let diagnosis = diagnosed(scenario);
        assert_eq!(diagnosis.cause, "LivenessProbeFailed");
        (diagnosis.summary, diagnosis.remedies.into_iter().map(|remedy| remedy.text).collect())
    };
    let (_, early) = advice(&Scenario::from_yaml(&format!("{REDIS}{KILLED}")));
    assert!(early.contains("add a startupProbe") && !early.contains("hang"), "{early}");
    let long = REDIS.replace("startedAt: \"2026-11-21T09:20:02Z\"", "startedAt: \"2026-11-21T07:00:02Z\"");
    let (summary, late) = advice(&Scenario::from_yaml(&format!("{long}{KILLED}")));
    assert!(summary.contains(" only 2 h after its last start"), "{summary}");
    assert!(late.contains("ran for 2 h before") && !late.contains("add a startupProbe"), "{late}");
}

/// A lone pod that runs again and is Ready, in which nothing is newer than that start.
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
    scenario.thresholds = crate::diagnosis::Thresholds::default().for_snapshot();
    scenario
}

#[test]
fn what_a_lone_pod_has_perhaps_got_over_is_only_noted() {
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
    watched.thresholds = crate::diagnosis::Thresholds::default();
    assert_ne!(diagnosed(&watched).severity, Severity::Info, "in a cluster it is seen whether it fails again");
}

#[test]
fn an_exit_that_no_cause_matches_is_looked_at_again_when_its_events_have_come() {
    let first = REDIS
        .replace("restartCount: 7", "restartCount: 0")
        .replace("waiting: {reason: CrashLoopBackOff, message: back-off 5m0s restarting failed container=redis pod=multi_default(1)}", "terminated: {exitCode: 143, reason: Error, startedAt: \"2026-11-21T09:20:02Z\", finishedAt: \"2026-11-21T09:20:41Z\"}");
    let first = first.split("    lastState").next().unwrap();
    let at = |now: &str| {
        let scenario = Scenario::from_yaml(first).observed_since("2026-11-21T09:20:41Z").at(now);
        let outcome = diagnose(&scenario.case());
        assert!(matches!(outcome.health, Health::Well), "{:?}", outcome.health);
        outcome.wake
    };
    assert!(at("2026-11-21T09:20:42Z").is_some(), "the Event of a kill may still come");
    assert_eq!(at("2026-11-21T09:30:42Z"), None);
}
