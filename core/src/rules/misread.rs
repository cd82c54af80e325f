//! Evidence for invalid values in the annotations of the user, so that the author sees them in the diagnosis.

use crate::api::Evidence;
use crate::case::{Case, evidence};
use crate::facts::{IGNORE, NEVER_READY_AFTER};
use crate::rules;

/// Maximum number of invalid values in the evidence. The others are shown once these are corrected.
const MAX_VALUES: usize = 2;

pub(crate) fn of(case: &Case<'_>) -> impl Iterator<Item = Evidence> {
    let overrides = &case.surroundings.overrides;
    let unknown = overrides.ignored().filter(|cause| *cause != "*" && rules::named(cause).is_none());
    let causes = unknown.map(|cause| evidence::field(path(IGNORE), rules::unknown(cause)));
    let durations = overrides.unread.as_deref().map(|text| {
        let why = format!("{text:?} is not a duration of at most one day, such as 90s, 10m or 1h30m");
        evidence::field(path(NEVER_READY_AFTER), why)
    });
    causes.chain(durations).take(MAX_VALUES)
}

fn path(annotation: &str) -> String {
    format!("metadata.annotations[{annotation}]")
}

#[cfg(test)]
mod tests {
    use crate::case::Health;
    use crate::rules::diagnose;
    use crate::testing::Scenario;

    #[test]
    fn invalid_annotation_values_are_listed_in_the_evidence() {
        let invalid = |annotations: &str| {
            let text = include_str!("../../../tests/causes/ConfigMapNotFound/env.yaml");
            let mut scenario = Scenario::from_yaml(text);
            let own = serde_saphyr::from_str::<std::collections::BTreeMap<String, String>>(annotations).unwrap();
            let overrides = crate::facts::Overrides::of(|name| own.get(name).map(String::as_str));
            scenario.surroundings[0].overrides = overrides.map(|overrides| *overrides).unwrap_or_default();
            let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
            let of_overrides = found.evidence.iter().filter(|entry| entry.source.contains("shindan.dev/"));
            of_overrides.map(|entry| entry.value.clone()).collect::<Vec<_>>()
        };
        assert_eq!(invalid("{shindan.dev/ignore: 'OOMKilled, *x'}").len(), 1);
        let [misspelt] = &*invalid("{shindan.dev/ignore: OOMKiled}") else { panic!("it is reported") };
        assert!(misspelt.contains("Did you mean OOMKilled?"), "{misspelt}");
        let [soon] = &*invalid("{shindan.dev/never-ready-after: soon}") else { panic!("it is reported") };
        assert!(soon.starts_with("\"soon\" is not a duration"), "{soon}");
        assert!(invalid("{shindan.dev/ignore: oomkilled, shindan.dev/never-ready-after: 10m}").is_empty());
    }
}
