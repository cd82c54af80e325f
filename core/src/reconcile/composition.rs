//! What the texts of a diagnosis were composed of.

use serde::{Deserialize, Serialize};

use super::Object;
use crate::case::{Operation, SummaryParts};
use crate::language::Language;
use crate::signals::restarts;

/// What the texts of a diagnosis were composed of, for decisions about it: the object has only the texts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Composition {
    pub language: Language,
    /// The parts of the summary of a pod's diagnosis.
    pub summary: SummaryParts,
    /// The operations of its remedies.
    pub operations: Vec<Operation>,
    /// Resources of the quota that the pods of a workload exceed. Empty for other causes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub exceeded: String,
}

impl Composition {
    /// What the object of an earlier run was composed of. That run is over, so this is the only place that reads texts.
    pub(super) fn recognized(object: &Object) -> Self {
        let Object::Pod(spec, status) = object else { return Self::default() };
        // The summary may quote a log in any language, and the remedies do not.
        let summary = &status.head.summary;
        let texts = status.head.remedies.iter().map(|remedy| &remedy.text).chain([summary]);
        let is_english = texts.into_iter().any(|text| Language::of_text(text) == Language::English);
        let guessed = if is_english { Language::English } else { Language::Japanese };
        let counted = |language| {
            let tail = restarts::recorded_tail(language, status.restarts.as_ref()?);
            let head = summary.strip_suffix(&tail).filter(|_| !tail.is_empty())?;
            Some((language, head.len()))
        };
        let (language, head) = counted(guessed)
            .or_else(|| [Language::English, Language::Japanese].into_iter().find_map(counted))
            .unwrap_or((guessed, summary.len()));
        let operation = |command: &str| match command {
            _ if [" rollout undo ", " rollout history "].iter().any(|verb| command.contains(verb)) => {
                Operation::Rollback
            }
            _ if command.contains(&*spec.pod_name) => Operation::UsePod,
            _ => Operation::Other,
        };
        let commands = status.head.remedies.iter().map(|remedy| remedy.command.as_deref());
        let operations = commands.map(|command| command.map_or(Operation::Other, operation)).collect();
        Self { language, summary: SummaryParts::until(head), operations, exceeded: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{PodDiagnosisSpec, PodDiagnosisStatus};

    #[test]
    fn counts_of_an_earlier_run_are_recognized_beside_a_quoted_log_line() {
        for (summary, language, head) in [
            ("web exits: \"再起動しています\"; 7 restarts, back-off 5m", Language::English, 37),
            ("web が終了する: \"; 1 restart\"; 再起動 7 回, back-off 5m", Language::Japanese, 34),
            ("web exits: \"x; 7 restarts, back-off 5m\"", Language::English, 39),
        ] {
            let status = serde_json::json!({
                "state": "Active", "severity": "Warning", "confidence": "Certain", "cause": "AppError",
                "category": "Crash", "summary": summary, "restarts": {"count": 7, "backOff": "5m0s"},
            });
            let status: PodDiagnosisStatus = serde_json::from_value(status).unwrap();
            let composition = Composition::recognized(&Object::Pod(PodDiagnosisSpec::default(), status));
            assert_eq!(
                (composition.language, composition.summary.head_of(summary).len()),
                (language, head),
                "{summary}"
            );
        }
    }
}
