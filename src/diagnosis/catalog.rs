//! The catalogue: each cause is data, one file in `catalog/`. Read once, compiled once, asked for each signal.

mod cause;
mod comparison;
mod compile;
mod expression;
pub mod file;
mod order;
mod template;
mod words;

use std::sync::{Arc, LazyLock};

pub(crate) use self::cause::Cause;
pub use self::cause::Snapshot;
use self::file::CauseFile;
use self::words::Vocabulary;
use super::Case;
use super::rule::{Known, Rule, Specificity, Verdict};
use super::signals::{Context, Signal, Source, Subject, Value};

/// Values by the paths that expressions and templates name: `imagePull.registry`.
pub(crate) trait Fields {
    /// `None` where there is no such field.
    fn get(&self, path: &str) -> Option<Value>;
}

/// The causes of one signal, in the order in which they are asked.
#[derive(Debug)]
pub(crate) struct OfSignal {
    signal: &'static str,
    vocabulary: Vocabulary,
    causes: Vec<Cause>,
}

/// All causes, by their signals.
static CATALOG: LazyLock<Vec<OfSignal>> = LazyLock::new(|| {
    let mut problems = Vec::new();
    let compiled = compile::compile(embedded(), &mut problems);
    debug_assert!(problems.is_empty(), "{problems:#?}");
    compiled
});

/// The files of `catalog/`, as `build.rs` read them.
fn embedded() -> &'static [CauseFile] {
    static FILES: LazyLock<Vec<CauseFile>> = LazyLock::new(|| {
        const JSON: &str = include_str!(concat!(env!("OUT_DIR"), "/catalog.json"));
        serde_json::from_str(JSON).unwrap_or_default()
    });
    &FILES
}

/// Every text of the catalogue that is explained in Japanese as well.
pub(super) fn explained_in_japanese() -> impl Iterator<Item = (&'static str, &'static str)> {
    embedded().iter().flat_map(|file| {
        let ja = file.ja.as_ref().and_then(|ja| ja.explain.as_ref());
        let pairs = ja.map(|ja| {
            [
                (&file.explain.meaning, &ja.meaning),
                (&file.explain.distinguish, &ja.distinguish),
                (&file.explain.action, &ja.action),
            ]
        });
        pairs.into_iter().flatten().filter_map(|(english, japanese)| Some((english.as_str(), japanese.as_deref()?)))
    })
}

/// The rules of each signal's causes.
static RULES: LazyLock<Vec<(&'static str, Vec<Rule>)>> =
    LazyLock::new(|| CATALOG.iter().map(|of| (of.signal, of.causes.iter().map(Cause::rule).collect())).collect());

/// The rules of a signal's causes, in the order in which they are asked.
pub(super) fn rules(signal: &str) -> &'static [Rule] {
    RULES.iter().find(|(of, _)| *of == signal).map_or(&[], |(_, rules)| rules.as_slice())
}

/// The causes of a signal, as they are explained.
#[allow(dead_code, reason = "no signal of nodes or workloads yet")]
pub(super) fn known(signal: &str) -> impl Iterator<Item = Known> {
    rules(signal).iter().map(|rule| Known { cause: rule.cause, category: rule.category, explain: rule.explain })
}

fn of(signal: &str) -> Option<&'static OfSignal> {
    CATALOG.iter().find(|of| of.signal == signal)
}

/// Causes of a signal that count only after a while.
pub(super) fn patient(signal: &str) -> impl Iterator<Item = &'static str> {
    of(signal).into_iter().flat_map(|of| of.causes.iter()).filter(|c| c.has_threshold()).map(Cause::name)
}

/// Whether a cause of a signal names this reason.
pub(super) fn names_reason(signal: &str, reason: &str) -> bool {
    of(signal).is_some_and(|of| of.causes.iter().any(|cause| cause.names_reason(reason)))
}

/// The first cause that applies to an occurrence of a signal, and its place among the rules of the signal.
pub(crate) fn first(context: &Context<'_>) -> Option<(usize, &'static Cause)> {
    let of = of(context.signal.definition().name)?;
    let hits = of.vocabulary.look(context.signal.message());
    of.causes.iter().enumerate().find(|(_, cause)| cause.applies(&of.vocabulary, &hits, context))
}

/// What the causes of a signal say of a pod: for each occurrence the first that applies. `is_asked` is told how the cause
/// ranks, and the container that the occurrence is about.
pub(super) fn verdicts(
    source: &Source,
    case: &Case<'_>,
    is_asked: impl Fn(Specificity, Option<&Arc<str>>) -> bool,
) -> Vec<(usize, Verdict)> {
    let occurrences = (source.read)(case);
    let verdicts = occurrences.iter().filter_map(|occurrence| {
        let signal: &dyn Signal = &**occurrence;
        let container = occurrence.container();
        let context = Context { subject: Subject::Pod(case), container, signal };
        let (place, cause) = first(&context)?;
        let is_asked = is_asked(cause.precedence(), container.map(|container| &container.name));
        is_asked.then(|| (place, occurrence.verdict(&context, cause)))
    });
    verdicts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_catalogue_has_no_error() {
        let mut problems = Vec::new();
        compile::compile(embedded(), &mut problems);
        assert!(problems.is_empty(), "{problems:#?}");
        assert!(
            crate::diagnosis::signals::ALL.iter().all(|signal| of(signal.name).is_some_and(|of| !of.causes.is_empty()))
        );
    }
}
