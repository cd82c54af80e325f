//! Rules of users, as `DiagnosisRule` objects have them: each is checked and tested on its own, so that an invalid one affects
//! no other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::api::{CauseException, RuleTest};
use crate::facts::KindFields;
use crate::fixture;
use crate::rules::catalog::file::CauseFile;
use crate::rules::catalog::{self, Additions, Catalog};
use crate::wire::{Dump, RULE_DEPTH};

/// Most bytes of the spec of a rule, as JSON.
const SPEC_MAX: usize = 512 * 1024;

/// A checked rule.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// What the rule adds to the catalogue; nothing unless it is active.
    pub additions: Additions,
    /// The kinds of custom resources that its causes name, and the fields that they read; none unless it is active.
    pub fields: KindFields,
    /// Why it does not compile, each with its path in the spec.
    pub errors: Vec<String>,
    /// The number of its tests.
    pub tests: usize,
    /// The failed tests, each with its name and the reason.
    pub failed: Vec<String>,
}

impl Checked {
    /// Whether it compiles and all its tests pass.
    pub fn is_active(&self) -> bool {
        self.errors.is_empty() && self.failed.is_empty()
    }

    fn invalid(errors: Vec<String>, tests: usize) -> Self {
        Self { errors, tests, ..Self::default() }
    }
}

/// The spec of a rule. Its parts are read one by one, so that each error has its place.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Spec {
    causes: Vec<Value>,
    exceptions: Vec<Value>,
    tests: Vec<Value>,
}

/// Checks the spec of a rule and runs its tests with the embedded catalogue and the causes of the rule.
pub fn check(spec: &Value) -> Checked {
    if is_deeper(spec, RULE_DEPTH) {
        let error = format!("spec: lists and maps are nested more than {RULE_DEPTH} levels deep");
        return Checked::invalid(vec![error], 0);
    }
    let size = spec.to_string().len();
    if size > SPEC_MAX {
        return Checked::invalid(vec![format!("spec: it has {size} bytes, and {SPEC_MAX} are allowed")], 0);
    }
    let parsed: Spec = match Spec::deserialize(spec) {
        Ok(parsed) => parsed,
        Err(error) => return Checked::invalid(vec![format!("spec: {error}")], 0),
    };
    let mut errors = Vec::new();
    let causes: Vec<CauseFile> = all("causes", &parsed.causes, &mut errors);
    let exceptions: Vec<CauseException> = all("exceptions", &parsed.exceptions, &mut errors);
    let tests: Vec<RuleTest> = all("tests", &parsed.tests, &mut errors);
    if !errors.is_empty() {
        return Checked::invalid(errors, parsed.tests.len());
    }
    let causes: Vec<Arc<CauseFile>> = causes.into_iter().map(Arc::new).collect();
    let additions = match catalog::compile_rule(&causes, &exceptions, &tests) {
        Ok(additions) => additions,
        Err(errors) => return Checked::invalid(errors, tests.len()),
    };
    let own = catalog::names_of(&causes, &exceptions);
    let failed = catalog::within(Arc::new(Catalog::with(additions.clone())), || failures(&own, &tests));
    let additions = if failed.is_empty() { additions } else { Additions::default() };
    Checked { fields: additions.fields(), additions, errors, tests: tests.len(), failed }
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(list) => list.iter().any(|value| is_deeper(value, below)),
        Value::Object(map) => map.values().any(|value| is_deeper(value, below)),
        _ => false,
    }
}

/// Reads each entry of a list, and adds an error for those of another form.
fn all<T: for<'de> Deserialize<'de>>(key: &str, values: &[Value], errors: &mut Vec<String>) -> Vec<T> {
    let mut out = Vec::new();
    for (at, value) in values.iter().enumerate() {
        match T::deserialize(value) {
            Ok(read) => out.push(read),
            Err(error) => errors.push(format!("{key}.{at}: {error}")),
        }
    }
    out
}

/// Runs the tests of a rule with the present catalogue. Returns a line for each that fails.
pub fn failures(own: &BTreeSet<String>, tests: &[RuleTest]) -> Vec<String> {
    tests.iter().filter_map(|test| failure(own, test).map(|why| format!("{}: {why}", test.name))).collect()
}

/// Why a test fails; `None` if it passes.
fn failure(own: &BTreeSet<String>, test: &RuleTest) -> Option<String> {
    let mut dump = Dump::default().keeping(catalog::current().fields().clone());
    dump.read(&serde_json::json!({"kind": "List", "items": test.objects}).to_string());
    if let Some(problem) = dump.problems.first() {
        return Some(format!("an object cannot be read: {}", problem.message));
    }
    let has_resources = !dump.resources.is_empty() || !dump.network.is_empty() || !dump.services.is_empty();
    if dump.pods.is_empty() && dump.nodes.is_empty() && dump.workloads.is_empty() && !has_resources {
        return Some("it has no object that can fail; is a `kind` misspelt?".to_owned());
    }
    let Some(at) = test.at.or(dump.newest) else {
        return Some("no object has a time; set `at` to that of the diagnosis".to_owned());
    };
    let awaited = test.expect.as_deref();
    let report = fixture::diagnose_at(&dump, at, awaited);
    let found: BTreeMap<String, String> = fixture::failing(&report)
        .map(|write| (write.object.head().cause.clone(), write.object.head().summary.clone()))
        .collect();
    let names = || if found.is_empty() { "nothing fails".to_owned() } else { found_causes(&found) };
    let Some(expected) = awaited else {
        return found
            .keys()
            .find(|cause| own.contains(*cause))
            .map(|cause| format!("found {cause}, which is not expected"));
    };
    let Some(summary) = found.get(expected) else {
        return Some(format!("{expected} is expected; {}", names()));
    };
    let lower = summary.to_lowercase();
    let missing = test.must_name.iter().find(|text| !lower.contains(&text.to_lowercase()))?;
    Some(format!("the summary does not name {missing:?}: {summary}"))
}

fn found_causes(found: &BTreeMap<String, String>) -> String {
    format!("found {}", found.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests;
