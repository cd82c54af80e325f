//! The catalogue of causes. Each cause is data, one file in `catalog/`; it is read and compiled once.

mod cause;
mod command;
mod comparison;
mod compile;
mod expression;
pub mod file;
mod order;
mod place;
mod problem;
mod template;
mod typing;
mod words;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

pub(crate) use self::cause::Cause;
use self::file::CauseFile;
pub use self::problem::Located;
use self::words::Vocabulary;
use super::rule::{Explain, Known, Rule};
use crate::case::fields::Path;
use crate::case::{Case, Finding, Remedy};
use crate::case::{Specificity, Verdict};
use crate::facts::NamesOf;
use crate::language::Language;
use crate::signals::{self, Catalogue, Context, Matched, Signal, Source, Subject};

/// Causes of one signal, in evaluation order.
#[derive(Debug)]
pub(crate) struct OfSignal {
    signal: &'static str,
    vocabulary: Vocabulary,
    causes: Vec<Cause>,
}

/// Files of `catalog/` as `build.rs` read them: first without texts, then complete and compressed.
const EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

/// All causes, by signal.
static CATALOG: LazyLock<Vec<OfSignal>> = LazyLock::new(|| {
    let read =
        EMBEDDED.iter().filter_map(|(head, whole)| Some((serde_json::from_str::<CauseFile>(head).ok()?, *whole)));
    let read: &'static [_] = Box::leak(read.collect());
    let embedded =
        read.iter().filter(|(file, _)| !is_replaced(file, added())).map(|(file, whole)| (file, Some(*whole)));
    let inputs: Vec<_> = embedded.chain(added().iter().map(|file| (file, None))).collect();
    compile::compile(&inputs, &mut Vec::new())
});

/// Causes added to the embedded ones.
static ADDED: OnceLock<&'static [CauseFile]> = OnceLock::new();

fn added() -> &'static [CauseFile] {
    ADDED.get().copied().unwrap_or_default()
}

/// Merges the embedded causes with `others`. A cause with the name of an embedded one replaces it.
fn with(others: &'static [CauseFile]) -> Vec<&'static CauseFile> {
    embedded().iter().filter(|file| !is_replaced(file, others)).chain(others).collect()
}

fn is_replaced(file: &CauseFile, others: &[CauseFile]) -> bool {
    others.iter().any(|other| other.cause == file.cause)
}

/// All cause files of the catalogue.
pub fn files() -> &'static [&'static CauseFile] {
    static FILES: LazyLock<Vec<&CauseFile>> = LazyLock::new(|| with(added()));
    &FILES
}

/// A cause file on disk.
#[derive(Debug, Clone)]
pub struct SourceFile {
    pub path: String,
    pub text: String,
}

/// Reads cause files and reports every error with its position. Returns the causes without errors.
///
/// The files are compiled together with the embedded causes, which they can reference and replace.
pub fn read(sources: &[SourceFile]) -> (&'static [CauseFile], Vec<Located>) {
    let mut located = Vec::new();
    let mut parsed: Vec<CauseFile> = Vec::new();
    let mut of_cause: Vec<(String, &SourceFile)> = Vec::new();
    for source in sources {
        match CauseFile::parse(&source.text) {
            Ok(file) if of_cause.iter().any(|(cause, _)| *cause == file.cause) => {
                let message = format!("{} is in another file too", file.cause);
                located.push(Located::of_file(&source.path, message));
            }
            Ok(file) => {
                of_cause.push((file.cause.clone(), source));
                parsed.push(file);
            }
            Err(error) => located.push(Located::of_parser(&source.path, &error)),
        }
    }
    // The catalogue lives as long as the process.
    let parsed: &'static [CauseFile] = parsed.leak();
    let mut problems = Vec::new();
    compile::check(&with(parsed), &mut problems);
    let mut wrong: Vec<&str> = Vec::new();
    for problem in problems {
        if let Some((_, source)) = of_cause.iter().find(|(cause, _)| cause == problem.cause) {
            wrong.push(problem.cause);
            located.push(Located::new(problem, &source.path, &source.text));
        }
    }
    located.sort_by(|a, b| (&a.file, a.place).cmp(&(&b.file, b.place)));
    let right: Vec<CauseFile> = parsed.iter().filter(|file| !wrong.contains(&file.cause.as_str())).cloned().collect();
    (right.leak(), located)
}

/// Adds causes to the catalogue of this process. Returns `false` if the catalogue is already in use.
pub fn add(causes: &'static [CauseFile]) -> bool {
    ADDED.set(causes).is_ok()
}

/// The embedded files with all texts.
fn embedded() -> &'static [CauseFile] {
    static FILES: LazyLock<Vec<CauseFile>> =
        LazyLock::new(|| EMBEDDED.iter().filter_map(|(_, whole)| complete(whole)).collect());
    &FILES
}

/// The complete file of a cause, from its compressed form.
fn complete(compressed: &[u8]) -> Option<CauseFile> {
    let json = lz4_flex::block::decompress_size_prepended(compressed).ok()?;
    serde_json::from_str(str::from_utf8(&json).ok()?).ok()
}

/// The explanation of a cause. A text without a translation is in English.
pub(crate) fn explain(cause: &str, language: Language) -> Option<Explain> {
    let file = files().iter().find(|file| file.cause == cause)?;
    let (explain, ja) = (&file.explain, file.ja.as_ref().and_then(|ja| ja.explain.as_ref()));
    let ja = ja.filter(|_| language == Language::Japanese);
    let text = |english: &'static str, japanese: Option<&'static str>| japanese.unwrap_or(english);
    Some(Explain {
        meaning: text(&explain.meaning, ja.and_then(|ja| ja.meaning.as_deref())),
        distinguish: text(&explain.distinguish, ja.and_then(|ja| ja.distinguish.as_deref())),
        action: text(&explain.action, ja.and_then(|ja| ja.action.as_deref())),
        source: &explain.source,
    })
}

/// Rules of the causes of each signal.
static RULES: LazyLock<Vec<(&'static str, Vec<Rule>)>> =
    LazyLock::new(|| CATALOG.iter().map(|of| (of.signal, of.causes.iter().map(Cause::rule).collect())).collect());

/// Rules of the causes of a signal, in evaluation order.
pub(crate) fn rules(signal: &str) -> &'static [Rule] {
    RULES.iter().find(|(of, _)| *of == signal).map_or(&[], |(_, rules)| rules.as_slice())
}

static BY_NAME: LazyLock<HashMap<&'static str, &'static Cause>> =
    LazyLock::new(|| CATALOG.iter().flat_map(|of| of.causes.iter()).map(|cause| (cause.name(), cause)).collect());

/// Remedies for a finding of a pod, most likely first. Computed only for the finding that is reported.
pub(crate) fn remedies(case: &Case<'_>, cause: &str, finding: &Finding) -> Vec<Remedy> {
    let container = finding.container.as_deref().and_then(|name| case.pod.container(name));
    let cause = BY_NAME.get(cause);
    cause.map_or_else(Vec::new, |cause| cause.remedies(Subject::Pod(case), container, &finding.snapshot))
}

/// Names of other objects that the remedies for a finding need.
pub(crate) fn needed_names(case: &Case<'_>, cause: &str, finding: &Finding) -> Vec<NamesOf> {
    BY_NAME.get(cause).map_or_else(Vec::new, |cause| cause.needed_names(Subject::Pod(case), &finding.snapshot))
}

/// Whether remedies of a cause need names of other objects.
pub fn reads_names(cause: &str) -> bool {
    BY_NAME.get(cause).is_some_and(|cause| cause.reads_names())
}

/// The causes of a signal.
pub(crate) fn known(signal: &str) -> impl Iterator<Item = Known> {
    rules(signal).iter().map(|rule| Known { cause: rule.cause, category: rule.category })
}

fn of(signal: &str) -> Option<&'static OfSignal> {
    CATALOG.iter().find(|of| of.signal == signal)
}

/// The embedded catalogue with the added causes.
pub(crate) const STANDARD: &dyn Catalogue = &Standard;

#[derive(Debug)]
struct Standard;

impl Catalogue for Standard {
    fn first(&self, context: &Context<'_>) -> Option<Matched> {
        first(context).map(|(place, cause)| cause.matched(place, context))
    }

    fn of_reason(&self, signal: &str, reason: &str) -> Option<&'static str> {
        cause_of_reason(signal, reason).map(Cause::name)
    }

    fn with_summary(&self, reason: &str, context: &Context<'_>) -> Option<(&'static str, String)> {
        let cause = cause_of_reason(context.signal.definition().name, reason)?;
        Some((cause.name(), cause.summary(context, context.subject.language()).into_text()))
    }
}

fn cause_of_reason(signal: &str, reason: &str) -> Option<&'static Cause> {
    of(signal)?.causes.iter().find(|cause| cause.names_reason(reason))
}

/// The path of a field of any signal.
fn path(text: &str) -> Path {
    Path::new(text, signals::ALL)
}

/// Causes of a signal that have a threshold.
pub(crate) fn patient(signal: &str) -> impl Iterator<Item = &'static str> {
    of(signal).into_iter().flat_map(|of| of.causes.iter()).filter(|c| c.has_threshold()).map(Cause::name)
}

/// Whether a cause of a signal lists this reason.
pub(crate) fn names_reason(signal: &str, reason: &str) -> bool {
    cause_of_reason(signal, reason).is_some()
}

/// All causes that apply to an occurrence of a signal, in order, each with its index among the rules of the signal.
pub(crate) fn matching(context: &Context<'_>) -> impl Iterator<Item = (usize, &'static Cause)> {
    of(context.signal.definition().name).into_iter().flat_map(move |of| {
        let hits = of.vocabulary.look(context.signal.message());
        let causes = of.causes.iter().enumerate();
        causes.filter(move |(_, cause)| cause.applies(&of.vocabulary, &hits, context))
    })
}

/// The first cause that applies.
pub(crate) fn first(context: &Context<'_>) -> Option<(usize, &'static Cause)> {
    #[cfg(test)]
    tests::record_ties(context);
    matching(context).next()
}

/// Verdicts of a signal on a pod, each with the index of its cause among the rules of the signal. For each occurrence,
/// the first matching cause applies. `is_asked` receives the rank of the cause and the container of the occurrence.
pub(crate) fn verdicts(
    source: &Source,
    case: &Case<'_>,
    is_asked: impl Fn(Specificity, Option<&Arc<str>>) -> bool,
) -> Vec<(usize, Verdict)> {
    let occurrences = (source.read)(case);
    let verdicts = occurrences.iter().filter_map(|occurrence| {
        let signal: &dyn Signal = &**occurrence;
        let container = occurrence.container();
        let context = Context::new(Subject::Pod(case), container, signal);
        let first = first(&context);
        if let Err(at) = occurrence.settled() {
            return Some((first.map_or(0, |(place, _)| place), Verdict::NotBefore(at)));
        }
        let (place, cause) = first?;
        let is_asked = is_asked(cause.precedence(), container.map(|container| &container.name));
        is_asked.then(|| {
            let matched = cause.matched(place, &context);
            let verdict = match occurrence.due(&matched) {
                Ok(()) => {
                    let finding = cause.finding(&context).with_all(occurrence.evidence(&matched));
                    occurrence.complete(&matched, finding)
                }
                Err(at) => Verdict::NotBefore(at),
            };
            (place, verdict)
        })
    });
    verdicts.collect()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests read fixtures and the catalogue")]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    use super::*;

    thread_local! {
        /// Pairs of causes that matched the same occurrence without a declared order.
        static TIES: RefCell<BTreeSet<[&'static str; 2]>> = const { RefCell::new(BTreeSet::new()) };
    }

    pub(crate) fn record_ties(context: &Context<'_>) {
        let Some(of) = of(context.signal.definition().name) else { return };
        let all: Vec<&Cause> = matching(context).map(|(_, cause)| cause).collect();
        for (at, one) in all.iter().enumerate() {
            for other in all.iter().skip(at + 1) {
                if !order::is_declared(&of.causes, one, other, &of.vocabulary) {
                    TIES.with_borrow_mut(|ties| ties.insert([one.name(), other.name()]));
                }
            }
        }
    }

    #[test]
    fn no_two_causes_match_one_occurrence_without_a_declared_order() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/causes");
        let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
        let mut ties: BTreeMap<[&str; 2], String> = BTreeMap::new();
        let mut read = 0;
        for file in folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())) {
            let name = file.display().to_string();
            crate::fixture::diagnose(&fs::read_to_string(&file).unwrap(), None).unwrap();
            read += 1;
            for pair in TIES.take() {
                ties.entry(pair).or_insert_with(|| name.clone());
            }
        }
        assert!(read > 700, "the fixtures are found");
        assert!(ties.is_empty(), "declare their order with `before`: {ties:#?}");
    }

    fn sources() -> Vec<SourceFile> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog");
        let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
        let source = |path: std::path::PathBuf| SourceFile {
            text: fs::read_to_string(&path).unwrap(),
            path: path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap().display().to_string(),
        };
        files.map(source).collect()
    }

    #[test]
    fn the_embedded_catalogue_has_no_error() {
        let sources = sources();
        assert!(sources.len() > 20, "the files are found");
        let (_, errors) = read(&sources);
        assert!(errors.is_empty(), "\n{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        assert!(crate::signals::ALL.iter().all(|signal| of(signal.name).is_some_and(|of| !of.causes.is_empty())));
    }

    const CAUSE: &str = "\
cause: Mine
category: Image
on: imagePull
match: {when: imagePull.tag == \"latest\"}
root: {kind: Image, name: \"{imagePull.reference}\"}
summary: \"image {imagePull.image} is mine\"
explain: {meaning: m, distinguish: d, action: a, source: s}
remedies:
- action: set-image
  text: Set it.
";

    fn errors(from: &str, to: &str) -> Vec<String> {
        assert!(CAUSE.contains(from), "{from}");
        let text = CAUSE.replace(from, to);
        read(&[SourceFile { path: "f.yaml".to_owned(), text }]).1.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn errors_contain_their_position_and_a_hint() {
        assert_eq!(errors("Mine", "Mine"), [""; 0]);
        for (from, to, error) in [
            ("cause: Mine", "cause: [", "f.yaml:"),
            ("category: Image", "categroy: Image", "f.yaml:2:1: "),
            (
                "category: Image",
                "category: Imgae",
                "f.yaml:2:11: category: unknown category `Imgae`\n  did you mean `Image`?",
            ),
            ("on: imagePull", "on: imagePul", "f.yaml:3:5: on: unknown signal `imagePul`\n  did you mean `imagePull`?"),
            (
                "imagePull.tag ==",
                "imagePull.tga ==",
                "f.yaml:4:15: match.0.when: unknown field of imagePull `tga`\n  did you mean `tag`?",
            ),
            (
                "imagePull.tag ==",
                "imagePull.tag >= 3 || imagePull.tag ==",
                "f.yaml:4:15: match.0.when: compares imagePull.tag (string) with 3 (int)",
            ),
            ("imagePull.tag ==", "imagePull.tag = ", "f.yaml:4:"),
            (
                "kind: Image,",
                "kind: Imag,",
                "f.yaml:5:14: root.0.kind: unknown kind of root `Imag`\n  did you mean `Image`?",
            ),
            ("image {imagePull.image}", "image {imagePull.image", "f.yaml:6:17: summary.0.text: a `{` is not closed"),
            ("{imagePull.image}", "{imagePull.imge}", "f.yaml:6:18: summary.0.text: unknown field of imagePull `imge`"),
            (
                "set-image",
                "set-imag",
                "f.yaml:9:11: remedies.0.action: unknown action `set-imag`\n  did you mean `set-image`?",
            ),
            (
                "  text: Set it.",
                "  with: {nme: x}\n  text: Set it.",
                "f.yaml:10:15: remedies.0.with.nme: unknown parameter `nme`",
            ),
            ("  text: Set it.", "", "f.yaml:9:3: remedies.0: a remedy needs a text"),
            ("on: imagePull", "threshold: 5x\non: imagePull", "f.yaml:3:12: threshold.0.is: not a threshold: `5x`"),
            (
                "\"latest\"}",
                "\"latest\", message: {any: [\"*\"]}}",
                "f.yaml:4:58: match.0.message.any.0: the pattern has no words",
            ),
            (
                "on: imagePull",
                "before: [ImageTagNotFond]\non: imagePull",
                "f.yaml:3:10: before.0: unknown cause of imagePull `ImageTagNotFond`\n  did you mean `ImageTagNotFound`?",
            ),
        ] {
            let found = errors(from, to);
            assert!(found.len() == 1 && found[0].starts_with(error), "{to}: {found:#?}, not {error}");
        }
        let two = errors(
            "name: \"{imagePull.reference}\"}\nsummary: \"image {imagePull.image}",
            "name: \"{a.b}\"}\nsummary: \"{pod.x}",
        );
        assert_eq!(two.len(), 2, "{two:#?}");
    }
}
