//! The catalogue: each cause is data, one file in `catalog/`. Read once, compiled once, asked for each signal.

mod cause;
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

use std::sync::{Arc, LazyLock, OnceLock};

pub(crate) use self::cause::Cause;
pub use self::cause::Snapshot;
use self::file::CauseFile;
pub(crate) use self::problem::Located;
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
    let compiled = compile::compile(&with(added()), &mut problems);
    debug_assert!(problems.is_empty(), "{problems:#?}");
    compiled
});

/// Causes that were added to the embedded ones.
static ADDED: OnceLock<&'static [CauseFile]> = OnceLock::new();

fn added() -> &'static [CauseFile] {
    ADDED.get().copied().unwrap_or_default()
}

/// The embedded causes and others. One of the same name replaces an embedded cause.
fn with(others: &'static [CauseFile]) -> Vec<&'static CauseFile> {
    let is_replaced = |file: &CauseFile| others.iter().any(|other| other.cause == file.cause);
    embedded().iter().filter(|file| !is_replaced(file)).chain(others).collect()
}

/// Every cause file of the catalogue.
pub(crate) fn files() -> Vec<&'static CauseFile> {
    with(added())
}

/// A cause file on disk.
#[derive(Debug, Clone)]
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Reads cause files, and reports every error of each, with its place. The causes without one are returned.
///
/// They are compiled together with the embedded causes, which they may name and replace.
pub(crate) fn read(sources: &[SourceFile]) -> (&'static [CauseFile], Vec<Located>) {
    let mut located = Vec::new();
    let mut parsed: Vec<CauseFile> = Vec::new();
    let mut of_cause: Vec<(String, &SourceFile)> = Vec::new();
    for source in sources {
        match CauseFile::parse(&source.text) {
            Ok(file) if of_cause.iter().any(|(cause, _)| *cause == file.cause) => {
                let message = format!("1:1: {} is in another file too", file.cause);
                located.push(Located::of_parser(&source.path, &message));
            }
            Ok(file) => {
                of_cause.push((file.cause.clone(), source));
                parsed.push(file);
            }
            Err(error) => located.push(Located::of_parser(&source.path, &error)),
        }
    }
    // The catalogue lives as long as the program.
    let parsed: &'static [CauseFile] = parsed.leak();
    let mut problems = Vec::new();
    compile::compile(&with(parsed), &mut problems);
    problems.extend(parsed.iter().filter_map(compile::unknown_signal));
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

/// Adds causes to the catalogue of this process, before its first use; `false` afterwards.
pub(crate) fn add(causes: &'static [CauseFile]) -> bool {
    ADDED.set(causes).is_ok()
}

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
pub(super) fn known(signal: &str) -> impl Iterator<Item = Known> {
    rules(signal).iter().map(|rule| Known { cause: rule.cause, category: rule.category, explain: rule.explain })
}

fn of(signal: &str) -> Option<&'static OfSignal> {
    CATALOG.iter().find(|of| of.signal == signal)
}

/// The first cause of a signal that names a reason.
pub(crate) fn of_reason(signal: &str, reason: &str) -> Option<&'static Cause> {
    of(signal)?.causes.iter().find(|cause| cause.names_reason(reason))
}

/// Causes of a signal that count only after a while.
pub(super) fn patient(signal: &str) -> impl Iterator<Item = &'static str> {
    of(signal).into_iter().flat_map(|of| of.causes.iter()).filter(|c| c.has_threshold()).map(Cause::name)
}

/// Whether a cause of a signal names this reason.
pub(super) fn names_reason(signal: &str, reason: &str) -> bool {
    of(signal).is_some_and(|of| of.causes.iter().any(|cause| cause.names_reason(reason)))
}

/// All causes that apply to an occurrence of a signal, in order, each with its place among the rules of the signal.
pub(crate) fn matching(context: &Context<'_>) -> impl Iterator<Item = (usize, &'static Cause)> {
    of(context.signal.definition().name).into_iter().flat_map(move |of| {
        let hits = of.vocabulary.look(context.signal.message());
        let causes = of.causes.iter().enumerate();
        causes.filter(move |(_, cause)| cause.applies(&of.vocabulary, &hits, context))
    })
}

/// The first of them.
pub(crate) fn first(context: &Context<'_>) -> Option<(usize, &'static Cause)> {
    #[cfg(test)]
    tests::record_ties(context);
    matching(context).next()
}

/// The verdicts of a signal on a pod, each with the place of its cause among the rules of the signal: for each occurrence the
/// first cause that applies. `is_asked` gets the rank of the cause and the container of the occurrence.
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
        let first = first(&context);
        if let Err(at) = occurrence.settled() {
            return Some((first.map_or(0, |(place, _)| place), Verdict::NotBefore(at)));
        }
        let (place, cause) = first?;
        let is_asked = is_asked(cause.precedence(), container.map(|container| &container.name));
        is_asked.then(|| (place, occurrence.verdict(&context, cause)))
    });
    verdicts.collect()
}

#[cfg(test)]
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

    pub(super) fn record_ties(context: &Context<'_>) {
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
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/causes");
        let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
        let mut ties: BTreeMap<[&str; 2], String> = BTreeMap::new();
        let mut read = 0;
        for file in folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())) {
            let name = file.display().to_string();
            crate::cli::fixture::diagnose(&fs::read_to_string(&file).unwrap(), None).unwrap();
            read += 1;
            for pair in TIES.take() {
                ties.entry(pair).or_insert_with(|| name.clone());
            }
        }
        assert!(read > 700, "the fixtures are found");
        assert!(ties.is_empty(), "declare their order with `before`: {ties:#?}");
    }

    fn sources() -> Vec<SourceFile> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog");
        let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
        let source = |path: std::path::PathBuf| SourceFile {
            text: fs::read_to_string(&path).unwrap(),
            path: path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string(),
        };
        files.map(source).collect()
    }

    #[test]
    fn the_embedded_catalogue_has_no_error() {
        let sources = sources();
        assert!(sources.len() > 20, "the files are found");
        let (_, errors) = read(&sources);
        assert!(errors.is_empty(), "\n{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        assert!(
            crate::diagnosis::signals::ALL.iter().all(|signal| of(signal.name).is_some_and(|of| !of.causes.is_empty()))
        );
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
    fn each_error_names_its_place_and_what_helps() {
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
                "on: imagePull",
                "before: [ImageTagNotFond]\non: imagePull",
                "f.yaml:3:10: before.0: unknown other cause of the signal `ImageTagNotFond`\n  did you mean `ImageTagNotFound`?",
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
