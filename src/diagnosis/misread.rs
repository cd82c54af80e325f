//! What an annotation asks for in words that nobody understands: its author is to learn of it where the failure is told.

use super::{Case, evidence, rules};
use crate::api::Evidence;
use crate::facts::{IGNORE, NEVER_READY_AFTER};

/// How many words are shown: who has mistaken one sees the others once that is right.
const SHOWN: usize = 2;

pub(super) fn of(case: &Case<'_>) -> impl Iterator<Item = Evidence> {
    let wishes = &case.surroundings.wishes;
    let unknown = wishes.ignored().filter(|cause| *cause != "*" && rules::named(cause).is_none());
    let causes = unknown.map(|cause| evidence::field(path(IGNORE), rules::unknown(cause)));
    let durations = wishes.unread.as_deref().map(|text| {
        let why = format!("{text:?} is no duration of a day at most, such as 90s, 10m or 1h30m");
        evidence::field(path(NEVER_READY_AFTER), why)
    });
    causes.chain(durations).take(SHOWN)
}

fn path(annotation: &str) -> String {
    format!("metadata.annotations[{annotation}]")
}

#[cfg(test)]
mod tests {
    use crate::diagnosis::testing::Scenario;
    use crate::diagnosis::{Health, diagnose};

    #[test]
    fn who_misspells_a_wish_reads_so_where_the_failure_is_told() {
        let told = |annotations: &str| {
            let text = include_str!("../../tests/causes/ConfigMapNotFound/env.yaml");
            let mut scenario = Scenario::from_yaml(text);
            let own = serde_saphyr::from_str::<std::collections::BTreeMap<String, String>>(annotations).unwrap();
            let wishes = crate::facts::Wishes::of(|name| own.get(name).map(String::as_str));
            scenario.surroundings[0].wishes = wishes.map(|wishes| *wishes).unwrap_or_default();
            let Health::Failing(found) = diagnose(&scenario.case()).health else { panic!("it fails") };
            let of_wishes = found.evidence.iter().filter(|told| told.source.contains("shindan.dev/"));
            of_wishes.map(|told| told.value.clone()).collect::<Vec<_>>()
        };
        assert_eq!(told("{shindan.dev/ignore: 'OOMKilled, *x'}").len(), 1);
        let [misspelt] = &*told("{shindan.dev/ignore: OOMKiled}") else { panic!("it is told") };
        assert!(misspelt.contains("Did you mean OOMKilled?"), "{misspelt}");
        let [soon] = &*told("{shindan.dev/never-ready-after: soon}") else { panic!("it is told") };
        assert!(soon.starts_with("\"soon\" is no duration"), "{soon}");
        assert!(told("{shindan.dev/ignore: oomkilled, shindan.dev/never-ready-after: 10m}").is_empty());
    }
}
