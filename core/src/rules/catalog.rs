//! The catalogue of causes. Each cause is data: the embedded ones are files in `catalog/`, and users add others.
//!
//! A process has one catalogue, which [`install`] replaces as a whole.

mod cause;
mod check;
mod command;
mod comparison;
mod compile;
mod compiled;
mod cost;
mod embedded;
mod exception;
mod expression;
pub mod file;
mod functions;
mod order;
mod place;
mod problem;
mod read;
mod resource;
mod template;
#[cfg(test)]
mod tests;
mod typing;
mod words;

use std::cell::RefCell;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

pub(crate) use self::cause::Cause;
pub use self::compiled::{Additions, Catalog};
use self::file::CauseFile;
use self::problem::Fault;
pub use self::problem::Located;
pub use self::read::{FileTests, Read, SourceFile, names_of, read};
use super::rule::{Explain, Known, Rule};
use crate::api::{CauseException, RuleTest};
use crate::case::fields::Path;
use crate::case::{Case, Finding, Remedy};
use crate::facts::{NamesOf, Timestamp, after};
use crate::language::Language;
use crate::signals::{self, Catalogue, Context, Matched, Subject};

static CURRENT: LazyLock<RwLock<Arc<Catalog>>> = LazyLock::new(|| RwLock::new(Arc::new(Catalog::default())));

thread_local! {
    static OF_THREAD: RefCell<Option<Arc<Catalog>>> = const { RefCell::new(None) };
}

/// The catalogue of this process.
pub fn current() -> Arc<Catalog> {
    if let Some(catalog) = OF_THREAD.with_borrow(Clone::clone) {
        return catalog;
    }
    CURRENT.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Replaces the catalogue of this process.
pub fn install(catalog: Arc<Catalog>) {
    *CURRENT.write().unwrap_or_else(PoisonError::into_inner) = catalog;
}

/// Replaces the catalogue of this process, and notes which causes changed.
pub(crate) fn replace(mut catalog: Catalog, now: Timestamp) {
    catalog.replaces(&current(), now);
    install(Arc::new(catalog));
}

/// How long diagnoses follow a changed cause at once, in seconds: that of a workload is decided again once its pods'
/// are written.
const FOLLOWED: i64 = 10;

/// Whether a rule of a user has changed one of these causes since the diagnosis was written.
pub(crate) fn is_any_newer(causes: &[&str], written_at: Timestamp) -> bool {
    let changes = current();
    causes.iter().filter_map(|cause| changes.changed_at(cause)).any(|changed| written_at < after(changed, FOLLOWED))
}

/// All complete cause files of the catalogue.
pub fn files() -> Vec<Arc<CauseFile>> {
    embedded::with(current().added())
}

/// Runs a closure with another catalogue on this thread, in place of that of the process.
pub fn within<T>(catalog: Arc<Catalog>, run: impl FnOnce() -> T) -> T {
    let before = OF_THREAD.replace(Some(catalog));
    let result = run();
    OF_THREAD.set(before);
    result
}

/// The causes and exceptions of a rule whose texts have the right form, or every error with its path in the spec.
pub(crate) fn compile_rule(
    causes: &[Arc<CauseFile>],
    exceptions: &[CauseException],
    tests: &[RuleTest],
) -> Result<Additions, Vec<String>> {
    let line = |path: &str, fault: &Fault| match &fault.hint {
        Some(hint) => format!("{path}: {}; {hint}", fault.message),
        None => format!("{path}: {}", fault.message),
    };
    if let Some(fault) = check::bounds(causes, exceptions, tests) {
        return Err(vec![line("spec", &fault)]);
    }
    let mut errors = Vec::new();
    for (at, file) in causes.iter().enumerate() {
        errors.extend(check::prefixed(&file.cause).map(|fault| line(&format!("causes.{at}.cause"), &fault)));
        errors.extend(check::unconditional(file).map(|fault| line(&format!("causes.{at}.match"), &fault)));
        if causes.iter().take(at).any(|other| other.cause == file.cause) {
            errors.push(line(&format!("causes.{at}.cause"), &Fault::new(format!("{} is there twice", file.cause))));
        }
    }
    for problem in check::causes(causes) {
        let at = causes.iter().position(|file| file.cause == problem.cause).unwrap_or_default();
        errors.push(line(&format!("causes.{at}.{}", problem.path), &problem.fault));
    }
    let checked = check::exceptions(exceptions, None, causes);
    errors.extend(checked.problems.iter().map(|problem| line(&problem.path, &problem.fault)));
    errors.extend(check::tests(tests, causes).iter().map(|(path, fault)| line(path, fault)));
    if errors.is_empty() {
        Ok(Additions { causes: causes.to_vec(), exceptions: checked.exceptions })
    } else {
        Err(errors)
    }
}

/// The explanation of a cause. A text without a translation is in English.
pub(crate) fn explain(cause: &str, language: Language) -> Option<Explain> {
    let file = embedded::of_cause(cause, current().added())?;
    let (explain, ja) = (&file.explain, file.ja.as_ref().and_then(|ja| ja.explain.as_ref()));
    let ja = ja.filter(|_| language == Language::Japanese);
    let text = |english: &String, japanese: Option<&String>| japanese.unwrap_or(english).clone();
    Some(Explain {
        meaning: text(&explain.meaning, ja.and_then(|ja| ja.meaning.as_ref())),
        distinguish: text(&explain.distinguish, ja.and_then(|ja| ja.distinguish.as_ref())),
        action: text(&explain.action, ja.and_then(|ja| ja.action.as_ref())),
        source: explain.source.clone(),
    })
}

/// Rules of the causes of a signal, in evaluation order.
pub(crate) fn rules(signal: &str) -> Vec<Rule> {
    current().causes(signal).iter().map(|cause| cause.rule).collect()
}

/// Remedies for a finding of a pod, most likely first. Computed only for the finding that is reported.
pub(crate) fn remedies(case: &Case<'_>, cause: &str, finding: &Finding) -> Vec<Remedy> {
    let container = finding.container.as_deref().and_then(|name| case.pod.container(name));
    let cause = current().named(cause).cloned();
    cause.map_or_else(Vec::new, |cause| cause.remedies(Subject::Pod(case), container, &finding.snapshot))
}

/// Names of other objects that the remedies for a finding need.
pub(crate) fn needed_names(case: &Case<'_>, cause: &str, finding: &Finding) -> Vec<NamesOf> {
    let cause = current().named(cause).cloned();
    cause.map_or_else(Vec::new, |cause| cause.needed_names(Subject::Pod(case), &finding.snapshot))
}

/// Whether remedies of a cause need names of other objects.
pub fn reads_names(cause: &str) -> bool {
    current().named(cause).is_some_and(|cause| cause.reads_names())
}

/// The causes of a signal.
pub(crate) fn known(signal: &str) -> impl Iterator<Item = Known> {
    rules(signal).into_iter().map(|rule| Known { cause: rule.cause, category: rule.category })
}

/// The installed catalogue.
pub(crate) const STANDARD: &dyn Catalogue = &Standard;

#[derive(Debug)]
struct Standard;

impl Catalogue for Standard {
    fn first(&self, context: &Context<'_>) -> Option<Matched> {
        first(context).map(|(place, cause)| cause.matched(place, context))
    }

    fn of_reason(&self, signal: &str, reason: &str) -> Option<&'static str> {
        current().of_reason(signal, reason).map(|cause| cause.name())
    }

    fn with_summary(&self, reason: &str, context: &Context<'_>) -> Option<(&'static str, String)> {
        let catalog = current();
        let cause = catalog.of_reason(context.signal.definition().name, reason)?;
        Some((cause.name(), cause.summary(context, context.subject.language()).into_text()))
    }
}

/// The path of a field of any signal.
fn path(text: &str) -> Path {
    Path::new(text, signals::ALL)
}

/// Causes of a signal that have a threshold.
pub(crate) fn patient(signal: &str) -> impl Iterator<Item = &'static str> {
    let catalog = current();
    let patient = catalog.causes(signal).iter().filter(|cause| cause.has_threshold()).map(|cause| cause.name());
    patient.collect::<Vec<_>>().into_iter()
}

/// Whether a cause of a signal lists this reason.
pub(crate) fn names_reason(signal: &str, reason: &str) -> bool {
    current().of_reason(signal, reason).is_some()
}

/// The first cause whose condition over fields of a custom resource applies.
pub(crate) fn first_of_fields(context: &Context<'_>) -> Option<Arc<Cause>> {
    current().first_of_fields(context).map(|(_, cause)| cause)
}

/// The first cause that applies to an occurrence, and its place among the causes of the signal.
pub(crate) fn first(context: &Context<'_>) -> Option<(usize, Arc<Cause>)> {
    current().first(context)
}
