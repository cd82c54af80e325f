//! Notifications of the real engine: what a receiver gets, and what the API server remembers of it.

use std::fs;
use std::sync::{Arc, Mutex};

use http::StatusCode;
use shindan::notify::Settings;
use shindan::notify::format::Outgoing;
use shindan::notify::send::{Answer, NoAnswer, Post};
use shindan_core::facts::{Phase, PodFacts, WorkloadFacts};
use tempfile::TempDir;

use super::operator::{HEALTHY, Operator, Server, pod_of, pod_of_template, rollout};

/// A receiver of the kind Slack.
#[derive(Debug, Clone, Default)]
struct Slack(Arc<Mutex<Vec<String>>>);

impl Slack {
    fn titles(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Post for Slack {
    async fn post(&self, _: usize, request: Outgoing) -> Result<Answer, NoAnswer> {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        self.0.lock().unwrap().push(body["text"].as_str().unwrap().to_owned());
        Ok(Answer { status: StatusCode::OK, retry_after: None, body: "ok".into() })
    }
}

fn settings(folder: &TempDir) -> Settings {
    let path = folder.path().join("url");
    fs::write(&path, "https://hooks.example.com/x").unwrap();
    Settings::parse(&format!("receivers: [{{name: chat, slack: {{urlFile: {}}}}}]", path.display())).unwrap()
}

/// A Deployment whose only pod cannot pull its image, because the registry is dead.
fn without_image(n: usize) -> (WorkloadFacts, PodFacts) {
    const STATUS: &str = "ready: false, restartCount: 0, state: {waiting: {reason: ErrImagePull, message: 'failed to pull and \
                          unpack image \"docker.io/library/app:1\": failed to resolve reference \"docker.io/library/app:1\": \
                          failed to do request: Head \"https://registry-1.docker.io/v2/library/app/manifests/1\": dial tcp \
                          10.0.0.1:443: connect: connection refused'}}";
    let name = format!("web{n}");
    let mut pod = pod_of(&format!("{name}-x"), &format!("uid-{name}"), Some(&name), false, STATUS);
    pod.phase = Phase::Pending;
    (rollout(&name, 1, 0), pod)
}

#[test]
fn twenty_workloads_on_one_dead_registry_are_one_message_and_a_restart_repeats_nothing() {
    let (folder, slack) = (TempDir::new().unwrap(), Slack::default());
    let mut operator = Operator::idle().notifying(settings(&folder), slack.clone());
    let all: Vec<_> = (0..20).map(without_image).collect();
    for (web, pod) in &all {
        operator.workload(web);
        operator.pod(pod);
    }
    operator.advance(900);
    let titles = slack.titles();
    assert!((1..=2).contains(&titles.len()), "{titles:?}");
    assert!(titles[0].contains("Registry") && titles.last().unwrap().contains("20 objects affected"), "{titles:?}");
    assert_eq!(operator.server().marks.len(), 1, "one object remembers it");

    // The annotation is no external edit, so nothing is repaired.
    let (applies, others) = (operator.server().applies, operator.server().other_applies);
    operator.advance(900);
    assert_eq!((operator.server().applies, operator.server().other_applies), (applies, others));

    let sent = titles.len();
    let mut operator = operator.restarted(60).notifying(settings(&folder), slack.clone());
    let (webs, pods): (Vec<_>, Vec<_>) = all.iter().cloned().unzip();
    operator.list_with(&[], &pods, &webs);
    operator.advance(900);
    assert_eq!(slack.titles().len(), sent, "{:?}", slack.titles());

    for (n, (_, pod)) in all.iter().enumerate() {
        let name = format!("web{n}");
        operator.deleted(pod);
        operator.pod(&pod_of_template(&format!("{name}-ok"), &format!("ok-{n}"), Some((&name, "6")), true, HEALTHY));
        operator.workload(&rollout(&name, 1, 1));
    }
    operator.advance(900);
    let titles = slack.titles();
    assert_eq!(titles.len(), sent + 1, "{titles:?}");
    assert!(titles.last().unwrap().starts_with("Resolved: "), "{titles:?}");
    assert_eq!(operator.server().marks.len(), 0);
}

#[test]
fn an_incident_that_ended_while_no_operator_ran_is_resolved_and_a_new_leader_does_not_repeat_it() {
    let (folder, slack) = (TempDir::new().unwrap(), Slack::default());
    let mut operator = Operator::idle().notifying(settings(&folder), slack.clone());
    let (web, pod) = without_image(0);
    operator.workload(&web);
    operator.pod(&pod);
    operator.advance(60);
    assert_eq!(slack.titles().len(), 1);

    operator.become_standby();
    let server = operator.take_server();
    operator.become_leader(server, |_| {});
    operator.advance(900);
    assert_eq!(slack.titles().len(), 1, "{:?}", slack.titles());

    let mut operator = operator.restarted(600).notifying(settings(&folder), slack.clone());
    let ready = pod_of_template("web0-ok", "ok-0", Some(("web0", "6")), true, HEALTHY);
    operator.list_with(&[], &[ready], &[rollout("web0", 1, 1)]);
    operator.advance(900);
    let titles = slack.titles();
    assert!(titles.len() == 2 && titles[1].starts_with("Resolved: "), "{titles:?}");
}

#[test]
fn without_receivers_nothing_is_marked() {
    let mut operator = Operator::idle();
    let (web, pod) = without_image(0);
    operator.workload(&web);
    operator.pod(&pod);
    operator.advance(60);
    let Server { marks, .. } = operator.take_server();
    assert!(marks.is_empty());
}
