//! Diagnoses a whole cluster, given as JSON. For any content of its objects, the diagnoses and their Events meet the conditions
//! of `sound`, and a second run yields the same diagnoses.

use serde_json::Value;
use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::offline;
use shindan_core::outbox::Subject;
use shindan_core::reconcile::Intent;
use shindan_core::wire::Dump;

use super::{planted, recorded, sound};

pub fn run(data: &[u8]) {
    let Ok(mut value) = serde_json::from_slice::<Value>(data) else { return };
    if planted::is_spoilt(&value) {
        return;
    }
    planted::in_value(&mut value);
    let text = value.to_string();
    let dump = read(&text);
    dump.pods.iter().for_each(sound::is_kept_whole);
    let now = dump.newest.unwrap_or(Timestamp::UNIX_EPOCH);
    let [report, again] = [dump, read(&text)].map(|dump| {
        let report = offline::diagnose(dump, offline::Logs::default(), now, Thresholds::default());
        report.pods.iter().for_each(sound::is_clean);
        report.nodes_and_workloads.iter().for_each(sound::is_clean);
        report
    });
    assert_eq!(
        (report.pods, report.nodes_and_workloads, report.wake),
        (again.pods, again.nodes_and_workloads, again.wake)
    );
    check_operator_writes(read(&text), now);
}

fn read(text: &str) -> Dump {
    let mut dump = Dump::default();
    dump.read(text);
    dump
}

/// Checks the writes of the operator. Unlike offline diagnoses, they have Events.
fn check_operator_writes(dump: Dump, now: Timestamp) {
    let mut world = offline::world(dump, now, Thresholds::default());
    let pods: Vec<Subject> = world.cluster.unhealthy().map(Subject::Pod).collect();
    for pod in &pods {
        if let Some(Intent::Apply(write)) = world.decide(pod, now).plan.intent {
            sound::is_clean(&write);
            // Workloads are judged by the reported failures of their pods.
            let _ = world.acknowledged(&write, "o1".to_owned(), "1".to_owned(), now);
        }
    }
    for subject in world.regular_subjects() {
        if let Some(Intent::Apply(write)) = world.decide(&subject, now).plan.intent {
            sound::is_clean(&write);
        }
    }
}

/// Each case as a `List` object.
pub fn seeds(every: usize) -> Vec<Vec<u8>> {
    let all = recorded::cases(every).into_iter().map(|objects| recorded::list(&objects).to_string().into_bytes());
    all.filter(|seed| seed.len() <= recorded::INPUT_MAX).collect()
}
