//! Filter of the overview. It is part of the URL, so that it can be linked and works without a script.

use shindan_core::api::Severity;
use shindan_core::language::Language;
use shindan_core::language::phrase;

use super::overview::Row;
use super::words::clean;

/// Which states are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::cli::ui) enum States {
    #[default]
    Active,
    Ended,
    All,
}

impl States {
    pub(super) const ALL: [Self; 3] = [Self::Active, Self::Ended, Self::All];

    pub(super) fn label(self, language: Language) -> &'static str {
        match self {
            Self::Active => phrase!(language, "Failing now", "失敗中"),
            Self::Ended => phrase!(language, "Ended", "終了"),
            Self::All => phrase!(language, "Failing and ended", "失敗中と終了"),
        }
    }

    pub(super) fn value(self) -> &'static str {
        match self {
            Self::Active => "",
            Self::Ended => "ended",
            Self::All => "all",
        }
    }
}

/// The filter. Empty fields match all rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::cli::ui) struct Filter {
    pub(super) search: String,
    pub(super) namespace: String,
    pub(super) cause: String,
    pub(super) severity: Option<Severity>,
    pub(super) states: States,
}

const SEVERITIES: [Severity; 3] = [Severity::Critical, Severity::Warning, Severity::Info];
/// Maximum length of a search text.
const LONGEST: usize = 300;

impl Filter {
    /// Parses a query. Unknown values are ignored.
    pub(in crate::cli::ui) fn parse(query: &str) -> Self {
        let mut filter = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value: String = value.trim().chars().take(LONGEST).collect();
            match &*name {
                "q" => filter.search = clean(&value),
                "namespace" => filter.namespace = clean(&value),
                "cause" => filter.cause = clean(&value),
                "severity" => {
                    filter.severity = SEVERITIES.into_iter().find(|of| of.as_str().eq_ignore_ascii_case(&value));
                }
                "state" => {
                    let known = States::ALL.into_iter().find(|states| states.value() == value);
                    filter.states = known.unwrap_or_default();
                }
                _ => {}
            }
        }
        filter
    }

    /// URL of the overview with this filter.
    pub(super) fn href(&self) -> String {
        let severity = self.severity.map(|severity| severity.as_str().to_ascii_lowercase()).unwrap_or_default();
        let pairs = [
            ("q", &*self.search),
            ("namespace", &self.namespace),
            ("cause", &self.cause),
            ("severity", &severity),
            ("state", self.states.value()),
        ];
        let given = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
        if query.is_empty() { "/".to_owned() } else { format!("/?{query}") }
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn takes_but_severity(&self, row: &Row) -> bool {
        let is_state = match self.states {
            States::Active => row.is_active,
            States::Ended => !row.is_active,
            States::All => true,
        };
        let search = self.search.to_lowercase();
        is_state
            && (self.namespace.is_empty() || row.in_namespace == self.namespace)
            && (self.cause.is_empty() || row.causes.contains(&self.cause))
            && search.split_whitespace().all(|word| row.words.contains(word))
    }

    pub(super) fn takes_severity(&self, row: &Row) -> bool {
        self.severity.is_none_or(|severity| severity == row.of_severity && row.is_active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_survives_a_round_trip_through_its_url() {
        for query in ["", "q=a+b&namespace=shop&cause=OOMKilled&severity=warning&state=ended", "state=all"] {
            let filter = Filter::parse(query);
            let href = filter.href();
            let rest = href.trim_start_matches("/?").trim_start_matches('/').to_owned();
            assert_eq!((Filter::parse(&rest), &*rest), (filter, query));
        }
        assert!(Filter::parse("severity=bad&state=odd&x=y&q=+").is_none());
        assert_eq!(Filter::parse(&format!("q={}", "x".repeat(9999))).search.len(), LONGEST);
    }
}
