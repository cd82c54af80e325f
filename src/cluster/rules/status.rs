//! The status of a rule: whether it is active, and why not.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;
use shindan_core::api::{DiagnosisRuleStatus, StatusCondition};
use shindan_core::facts::Timestamp;

use super::Rule;

/// Most errors in a message.
const SHOWN: usize = 5;

/// Why a valid rule is not active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Another rule has a cause of the same name.
    Conflict { cause: String, other: String },
    /// A condition would have taken too many steps for an object of the cluster.
    TooExpensive { cause: String, object: String },
    /// A kind that it names may not be read. `all`: the followed kinds, the forbidden ones first.
    Forbidden { kind: String, all: Vec<String> },
}

/// The causes that a spec has or restricts, whether it is valid or not.
pub(super) fn causes_of(spec: &Value) -> BTreeSet<String> {
    let names = ["causes", "exceptions"].into_iter().flat_map(|key| spec[key].as_array().into_iter().flatten());
    names.filter_map(|entry| entry["cause"].as_str().map(str::to_owned)).collect()
}

/// The status to write. A condition whose status is unchanged keeps its transition time.
pub(super) fn of((name, rule): (&str, &Rule), matches: u32, now: Timestamp) -> DiagnosisRuleStatus {
    let checked = &rule.checked;
    let failed = checked.failed.len();
    let (tests_status, tests_reason, tests_message) = if checked.errors.is_empty() {
        match failed {
            0 => ("True", "Passed", String::new()),
            _ => ("False", "Failed", listed(&checked.failed)),
        }
    } else {
        ("Unknown", "Invalid", "the tests run once the rule compiles".to_owned())
    };
    let (ready, reason, message) = match &rule.refused {
        _ if !checked.errors.is_empty() => ("False", "Invalid", listed(&checked.errors)),
        _ if failed > 0 => ("False", "TestsFailed", listed(&checked.failed)),
        Some(Verdict::Conflict { cause, other }) => {
            ("False", "Conflict", format!("the rule {other} has the cause {cause} too; rename one of them"))
        }
        Some(Verdict::TooExpensive { cause, object }) => (
            "False",
            "TooExpensive",
            format!(
                "rule {name}: a condition of {cause} takes more steps than allowed for {object}; make it simpler, or exclude \
                 such objects with another condition before it"
            ),
        ),
        Some(Verdict::Forbidden { kind, all }) => (
            "False",
            "Forbidden",
            format!("not allowed to list and watch {kind}; `shindan rules rbac {}` prints the role", all.join(",")),
        ),
        None => ("True", "Active", rule.waiting.join("; ")),
    };
    let condition = |kind: &'static str, status: &'static str, reason: &str, message: String| {
        let before = rule.written.conditions.iter().find(|known| known.kind == kind && known.status == status);
        StatusCondition {
            kind: kind.into(),
            status: status.into(),
            reason: reason.to_owned(),
            message,
            last_transition_time: before.map_or(now, |known| known.last_transition_time),
        }
    };
    DiagnosisRuleStatus {
        observed_generation: rule.generation,
        conditions: vec![
            condition("Ready", ready, reason, message),
            condition("TestsPassed", tests_status, tests_reason, tests_message),
        ],
        tests: match checked.errors.len() {
            0 => format!("{}/{}", checked.tests - failed, checked.tests),
            _ => format!("0/{}", checked.tests),
        },
        matches,
    }
}

/// The first errors, and the number of the others.
fn listed(errors: &[String]) -> String {
    let mut out = errors.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    if let Some(more) = errors.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let _ = write!(out, "\nand {more} more");
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shindan_core::user_rules;

    use super::*;

    fn rule(spec: &Value) -> Rule {
        Rule {
            uid: "u".to_owned(),
            created: None,
            generation: 3,
            checked: user_rules::check(spec),
            own: causes_of(spec),
            refused: None,
            is_pending: false,
            waiting: Vec::new(),
            written: DiagnosisRuleStatus::default(),
        }
    }

    fn ready(rule: &Rule) -> (String, String, String) {
        let status = of(("r", rule), 0, Timestamp::UNIX_EPOCH);
        let condition = status.conditions.into_iter().find(|condition| condition.kind == "Ready").unwrap();
        (condition.status.into_owned(), condition.reason, condition.message)
    }

    #[test]
    fn status_contains_the_reason_why_a_rule_is_not_active() {
        let valid = json!({"exceptions": [{"cause": "OOMKilled", "namespaces": ["ci"], "ignore": true}]});
        let mut of_valid = rule(&valid);
        assert_eq!(ready(&of_valid), ("True".to_owned(), "Active".to_owned(), String::new()));
        assert_eq!(of(("r", &of_valid), 2, Timestamp::UNIX_EPOCH).tests, "0/0");
        let object = "Pod ci/build-7".to_owned();
        of_valid.refused = Some(Verdict::TooExpensive { cause: "OOMKilled".to_owned(), object });
        let (_, reason, message) = ready(&of_valid);
        assert_eq!(reason, "TooExpensive");
        assert!(
            message.starts_with("rule r: a condition of OOMKilled takes more steps than allowed for Pod ci/build-7;")
        );
        let all = ["widgets.acme.example", "brokers.mq.acme.example"].map(str::to_owned).to_vec();
        of_valid.refused = Some(Verdict::Forbidden { kind: all[0].clone(), all });
        let message = "not allowed to list and watch widgets.acme.example; \
                       `shindan rules rbac widgets.acme.example,brokers.mq.acme.example` prints the role";
        assert_eq!(ready(&of_valid), ("False".to_owned(), "Forbidden".to_owned(), message.to_owned()));
        (of_valid.refused, of_valid.waiting) = (None, vec!["widgets.acme.example is not installed".to_owned()]);
        assert_eq!(
            (ready(&of_valid).0.as_str(), ready(&of_valid).2.as_str()),
            ("True", "widgets.acme.example is not installed")
        );

        let misspelt = rule(
            &json!({"exceptions": [{"cause": "OOMKiled", "ignore": true}], "tests": [{"name": "t", "objects": []}]}),
        );
        let (status, reason, message) = ready(&misspelt);
        assert_eq!((status.as_str(), reason.as_str()), ("False", "Invalid"));
        assert_eq!(message, "exceptions.0.cause: unknown cause `OOMKiled`; did you mean `OOMKilled`?");
        assert_eq!(of(("r", &misspelt), 0, Timestamp::UNIX_EPOCH).tests, "0/1");
        let of_tests = of(("r", &misspelt), 0, Timestamp::UNIX_EPOCH).conditions.remove(1);
        assert_eq!((&*of_tests.status, of_tests.reason.as_str()), ("Unknown", "Invalid"));
    }

    #[test]
    fn unchanged_condition_keeps_its_time() {
        let mut rule = rule(&json!({"exceptions": [{"cause": "OOMKilled", "ignore": true}]}));
        rule.written = of(("r", &rule), 0, Timestamp::UNIX_EPOCH);
        let later = Timestamp::from_second(60).unwrap();
        assert_eq!(of(("r", &rule), 0, later), rule.written);
        assert_ne!(of(("r", &rule), 1, later), rule.written, "the number of matches is written");
    }
}
