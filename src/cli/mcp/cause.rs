//! The answer of `explain_cause`: texts of the catalogue alone.

use serde::Serialize;
use shindan_core::language::Language;
use shindan_core::rules;

use super::error::Wrong;

#[derive(Debug, Serialize)]
struct Explained {
    cause: &'static str,
    category: &'static str,
    meaning: String,
    distinguish: String,
    action: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    signal: String,
}

/// Explains a cause, as `shindan explain` does.
pub(super) fn answer(name: &str) -> anyhow::Result<String> {
    let known = rules::named(name).ok_or_else(|| Wrong(rules::unknown(name)))?;
    let explain = known.explain(Language::English);
    let (meaning, distinguish, action) = (explain.meaning, explain.distinguish, explain.action);
    let explained = Explained {
        cause: known.cause,
        category: known.category.as_str(),
        meaning,
        distinguish,
        action,
        signal: explain.source,
    };
    Ok(serde_json::to_string(&explained)?)
}
