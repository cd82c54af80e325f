//! Tests of the catalogue: its errors, and the order of causes that match the same.

#![allow(clippy::disallowed_methods, reason = "tests read fixtures and the catalogue")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::*;

thread_local! {
    /// Pairs of causes that matched the same occurrence without a declared order.
    static TIES: RefCell<BTreeSet<[&'static str; 2]>> = const { RefCell::new(BTreeSet::new()) };
}

/// Records causes that match the same.
pub(super) fn record_ties(catalog: &Catalog, context: &Context<'_>) {
    let Some(of) = catalog.of(context.signal.definition().name) else { return };
    let all: Vec<&Cause> = catalog.matching(context).map(|(_, cause)| &**cause).collect();
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
    let errors = read(&sources).errors;
    assert!(errors.is_empty(), "\n{}", errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    assert!(crate::signals::ALL.iter().all(|signal| current().count(signal.name) > 0));
}

const CAUSE: &str = "\
cause: Mine
category: Image
signal: imagePull
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
    read(&[SourceFile { path: "f.yaml".to_owned(), text }]).errors.iter().map(ToString::to_string).collect()
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
        (
            "signal: imagePull",
            "signal: imagePul",
            "f.yaml:3:9: signal: unknown signal `imagePul`\n  did you mean `imagePull`?",
        ),
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
        ("signal: imagePull", "threshold: 5x\nsignal: imagePull", "f.yaml:3:12: threshold.0.is: not a threshold: `5x`"),
        (
            "\"latest\"}",
            "\"latest\", message: {any: [\"*\"]}}",
            "f.yaml:4:58: match.0.message.any.0: the pattern has no words",
        ),
        (
            "signal: imagePull",
            "before: [ImageTagNotFond]\nsignal: imagePull",
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

#[test]
fn names_in_the_page_of_rules_are_those_of_the_code() {
    let page = include_str!("../../../../docs/rules.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let listed = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let roots: Vec<&str> = crate::case::RootKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let mut with_text: Vec<&str> =
        crate::actions::ACTIONS.iter().filter(|action| action.has_text).map(|action| action.name).collect();
    with_text.sort_unstable();
    for line in [
        format!("**Functions of CEL**: {}.", listed(&functions::FUNCTIONS)),
        format!("**Kinds of `root`**: {}.", listed(&roots)),
        format!("**Actions that need a `text`**: all except {}.", listed(&with_text)),
    ] {
        assert!(page.contains(&line), "docs/rules.md lacks: {line}");
    }
}
