//! Text that a tenant can write must not reach the metrics. Only the namespace's name does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use shindan_core::facts::{Labels, State, Terminated};
use shindan_core::rules;

use super::*;

#[tokio::test(start_paused = true)]
async fn metrics_contain_no_text_of_a_tenant() {
    let running = Running::start(&[]).listed().await;
    let mut dump = Dump::default();
    dump.read(
        r#"
kind: Pod
metadata: {namespace: demo, name: akiaiosfodnn7example, uid: uid-1, labels: {tenant: hostile-label}}
spec: {nodeName: n1, containers: [{name: eyjhbgcioijiuzi1nij9, image: registry.example.com/hunter2:1}]}
status:
  phase: Running
  conditions: [{type: Ready, status: 'False'}]
  containerStatuses:
  - name: eyjhbgcioijiuzi1nij9
    restartCount: 1
    state: {waiting: {reason: CrashLoopBackOff}}
    lastState: {terminated: {exitCode: 137, reason: OOMKilled, message: "password=hunter2 \e[31m\n# TYPE forged counter\nforged 1",
      startedAt: '2026-11-21T08:02:00Z', finishedAt: '2026-11-21T08:02:20Z'}}
"#,
    );
    running.pod(dump.pods.remove(0)).await;
    seconds(5).await;
    assert_eq!(running.applies().len(), 1);
    let text = running.metrics.encode().unwrap();
    assert!(text.contains(r#"shindan_diagnoses_active{kind="Pod",namespace="demo",cause="OOMKilled""#), "{text}");
    for word in ["akia", "eyjh", "example", "hostile-label", "hunter2", "forged", "uid-", "\u{1b}"] {
        assert!(!text.contains(word), "{word:?} in\n{text}");
    }
}

/// Part of each name and text that a tenant can write.
const CANARY: &str = "canary7";

/// The first recorded case of each cause.
fn cases() -> impl Iterator<Item = String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/causes");
    let within = |folder: &Path| -> BTreeSet<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let is_case = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".yaml") && !name.starts_with("not-")
    };
    let causes = within(&folder).into_iter().filter(|path| path.is_dir());
    causes
        .filter_map(move |cause| within(&cause).into_iter().find(is_case))
        .map(|path| fs::read_to_string(path).unwrap())
}

/// The case with its times shifted, so that it is diagnosed when the test begins.
fn shifted(case: &str) -> String {
    let begin: Timestamp = "2026-11-21T09:00:00Z".parse().unwrap();
    let is_time = Regex::new(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").unwrap();
    let at = case.lines().find_map(|line| line.strip_prefix("# recorded-at: ").or(line.strip_prefix("# judged-at: ")));
    let at = at.map(|at| at.trim().parse::<Timestamp>().unwrap());
    let newest = || is_time.find_iter(case).filter_map(|time| time.as_str().parse().ok()).max();
    let Some(at) = at.or_else(newest) else { return case.to_owned() };
    let by = begin.duration_since(at);
    let shift = |time: &regex::Captures<'_>| time[0].parse::<Timestamp>().unwrap() + by;
    is_time.replace_all(case, |time: &regex::Captures<'_>| shift(time).to_string()).into_owned()
}

/// The pod with a canary in each text that its owner writes.
fn marked(mut pod: PodFacts) -> PodFacts {
    let mark = |text: &str| format!("{text} {CANARY}");
    pod.key.name = format!("{CANARY}-{}", pod.key.name).into();
    pod.labels = [(CANARY, CANARY)].into_iter().chain(pod.labels.iter()).collect::<Labels>();
    pod.message = mark(&pod.message);
    for container in &mut pod.containers {
        container.image = format!("{}-{CANARY}", container.image).into();
        container.command.push(CANARY.to_owned());
        let end = |end: &mut Terminated| end.message = format!("{}\n{CANARY}", end.message);
        match &mut container.state {
            State::Terminated(terminated) => end(terminated),
            State::Waiting { message, .. } => *message = mark(message),
            State::Running { .. } => {}
        }
        container.last.iter_mut().for_each(end);
    }
    pod
}

#[tokio::test(start_paused = true)]
async fn metrics_contain_no_text_of_a_tenant_whatever_fails() {
    let running = Running::start(&[]).listed().await;
    for (number, case) in cases().enumerate() {
        let namespace: Arc<str> = format!("tenant-{number}").into();
        let mut dump = Dump::default();
        dump.read(&shifted(&case));
        for mut event in dump.events.into_iter().filter(|event| &*event.regarding.kind == "Pod") {
            event.regarding.namespace = namespace.clone();
            event.regarding.name = format!("{CANARY}-{}", event.regarding.name).into();
            event.regarding.uid = format!("{number}-{}", event.regarding.uid).into();
            event.message = format!("{} {CANARY}", event.message).into();
            running.send(Change::Event(Box::new(event))).await;
        }
        for mut pod in dump.pods {
            pod.key.namespace = namespace.clone();
            pod.uid = format!("{number}-{}", pod.uid).into();
            running.pod(marked(pod)).await;
        }
    }
    seconds(600).await;
    let text = running.metrics.encode().unwrap();
    assert!(!text.contains(CANARY), "{:?}", text.lines().filter(|line| line.contains(CANARY)).collect::<Vec<_>>());
    let active: Vec<&str> = text.lines().filter(|line| line.starts_with("shindan_diagnoses_active{")).collect();
    let label = Regex::new(r#"(\w+)="([^"]*)""#).unwrap();
    let mut causes = BTreeSet::new();
    for (_, [name, value]) in active.iter().flat_map(|line| label.captures_iter(line)).map(|found| found.extract()) {
        let is_known = match name {
            "kind" => ["Pod", "Node", "Workload"].contains(&value),
            "severity" => ["Critical", "Warning", "Info"].contains(&value),
            "namespace" => value == "other" || value.strip_prefix("tenant-").is_some_and(|n| n.parse::<u32>().is_ok()),
            "cause" => {
                causes.insert(value);
                rules::find(value).is_some()
            }
            _ => false,
        };
        assert!(is_known, "{name}={value:?}");
    }
    assert!(causes.len() > 100, "pods of many causes fail: {causes:?}");
}
