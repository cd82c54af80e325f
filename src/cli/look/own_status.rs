//! State of a requested custom resource that is not healthy, whether or not that counts as a failure yet.

use shindan_core::case::{Thresholds, WorkloadCase};
use shindan_core::facts::{Condition, Names, Timestamp, WorkloadFacts};
use shindan_core::language::{Language, phrase, translate};
use shindan_core::message::text;
use shindan_core::offline::SeenSoFar;
use shindan_core::rules;
use shindan_core::wire::Dump;

use super::subject::Subject;

/// Conditions that are True for a healthy object, the most significant first.
const HEALTHY: [&str; 6] = ["Ready", "Available", "Healthy", "Synced", "Reconciled", "Accepted"];

/// The object in a snapshot. `None`: it has no status.
pub(super) fn find<'d>(dump: &'d Dump, subject: &Subject, namespace: Option<&str>) -> Option<&'d WorkloadFacts> {
    let is_here = |facts: &WorkloadFacts| {
        subject.kind.is_cluster_scoped() || namespace.is_none_or(|namespace| *facts.key.namespace == *namespace)
    };
    dump.resources.iter().find(|facts| subject.is_workload(&facts.key) && is_here(facts))
}

/// What the object lacks to be healthy, as text to follow its name.
pub(super) fn still_to_come(found: Option<&WorkloadFacts>, language: Language) -> Option<String> {
    let Some(facts) = found else {
        return Some(phrase!(language, "has no status yet", "status がまだない").to_owned());
    };
    if !rules::is_explained_by_pods(facts) {
        return None;
    }
    let mut conditions = HEALTHY.iter().filter_map(|name| facts.condition(name));
    if let Some(condition) = conditions.find(|condition| condition.status != "True") {
        return Some(of_condition(condition, language));
    }
    // Without a condition, only a failure is a sign that something is missing.
    rules::answers_for_its_parts(facts).then(|| phrase!(language, "not healthy", "健全でない").to_owned())
}

/// `not ready (Ready = False, DoesNotExist)`.
fn of_condition(condition: &Condition, language: Language) -> String {
    let mut state = format!("{} = {}", condition.kind, condition.status);
    if !condition.reason.is_empty() {
        state = format!("{state}, {}", condition.reason);
    }
    let state = text::line(&state, text::EVIDENCE_MAX);
    translate!(language, "not ready ({state})", "Ready でない ({state})", state)
}

/// The failure that its status shows and that has not lasted long enough to be reported, and when it would be.
pub(super) fn failure_to_come(
    facts: &WorkloadFacts,
    thresholds: &Thresholds,
    now: Timestamp,
) -> Option<(SeenSoFar, Timestamp)> {
    let names = Names::default();
    let judged = |at| rules::judge_workload(&WorkloadCase::of_status(facts, now, &names, thresholds, at));
    let from = judged(now).wake.filter(|from| *from > now)?;
    let failure = judged(from).failure?;
    let cause = rules::named(&failure.cause)?.cause;
    Some((SeenSoFar { cause, summary: text::line(&failure.summary, text::EVIDENCE_MAX) }, from))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Certificate as of its conditions.
    fn certificate(status: &str) -> WorkloadFacts {
        let mut dump = Dump::default();
        dump.read(&format!(
            "{{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {{name: web, namespace: shop, uid: c, \
             creationTimestamp: '2026-11-21T09:00:00Z'}}, status: {status}}}"
        ));
        dump.resources.remove(0)
    }

    fn ready(status: &str) -> String {
        format!(
            "{{conditions: [{{type: Ready, status: '{status}', reason: Denied, message: no Secret, \
             lastTransitionTime: '2026-11-21T09:00:00Z'}}]}}"
        )
    }

    #[test]
    fn an_object_lacks_what_its_conditions_state() {
        for (status, lacks) in [
            (ready("True"), None),
            (ready("False"), Some("not ready (Ready = False, Denied)")),
            (ready("Unknown"), Some("not ready (Ready = Unknown, Denied)")),
            ("{phase: Failed}".to_owned(), Some("not healthy")),
            ("{phase: Running}".to_owned(), None),
            ("{replicas: 3}".to_owned(), None),
        ] {
            let text = still_to_come(Some(&certificate(&status)), Language::English);
            assert_eq!(text.as_deref(), lacks, "{status}");
        }
        assert_eq!(still_to_come(None, Language::English).as_deref(), Some("has no status yet"));
    }

    #[test]
    fn a_failure_is_announced_with_the_time_of_its_report() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let thresholds = Thresholds::default();
        let facts = certificate(&ready("False"));
        let (seen, from) = failure_to_come(&facts, &thresholds, at("2026-11-21T09:01:00Z")).unwrap();
        assert_eq!((seen.cause, from), ("ResourceNotReady", at("2026-11-21T09:05:00Z")));
        assert!(seen.summary.contains("no Secret"), "{}", seen.summary);
        assert!(failure_to_come(&certificate(&ready("True")), &thresholds, at("2026-11-21T09:01:00Z")).is_none());
        assert!(failure_to_come(&facts, &thresholds, at("2026-11-21T09:06:00Z")).is_none(), "it is reported");
    }
}
