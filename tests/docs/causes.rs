//! A page for each cause: its entry in the table, and the output of `shindan diagnose` for a recorded case.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use shindan_core::case::Thresholds;
use shindan_core::facts::Timestamp;
use shindan_core::language::Language;
use shindan_core::rules;
use shindan_core::rules::Known;
use shindan_core::wire::Dump;
use shindan_core::{fixture, offline};

use crate::pages::prose;
use crate::summaries::summaries;
use crate::{holds, root, shindan};

const FOLDER: &str = "docs/causes";

#[test]
fn each_cause_has_a_page_with_a_real_case() {
    // One page takes a second, all pages a minute.
    let selected = std::env::var("CAUSE").ok();
    let causes: Vec<Known> =
        rules::known().filter(|known| selected.as_deref().is_none_or(|selected| known.cause == selected)).collect();
    assert!(!causes.is_empty(), "CAUSE={}: no such cause", selected.unwrap_or_default());
    let next = AtomicUsize::new(0);
    let write = || {
        while let Some(known) = causes.get(next.fetch_add(1, Ordering::Relaxed)) {
            holds(&format!("{FOLDER}/{}.md", known.cause), &page(known));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(write))));
    holds(&format!("{FOLDER}/other.md"), OTHER);
    let known: Vec<_> = rules::known().map(|known| format!("{}.md", known.cause)).collect();
    for file in fs::read_dir(root().join(FOLDER)).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(name == "other.md" || known.contains(&name), "{FOLDER}/{name}: the table has no such cause");
    }
}

/// The README counts in hundreds, so that a new cause does not change it.
#[test]
fn the_readme_does_not_promise_more_causes_than_there_are() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let counts = readme.split("ore than ").filter_map(|after| after.split_once(" causes")?.0.parse().ok());
    let promised: Vec<usize> = counts.collect();
    assert_eq!(promised.len(), 2, "the introduction and the section on causes");
    assert!(promised.iter().all(|promised| *promised < rules::known().count()));
}

/// The page for alerts with a cause that is not in the table.
const OTHER: &str = "\
# other

<!-- Written by `UPDATE=1 cargo test --test docs`. -->

[All causes](../causes.md)

A label value in metrics and alerts, not a cause. It stands for diagnoses with a cause that the running version does not have, because a
newer version has written them. The object has the name of the cause, and the page of that version describes it. As a namespace, `other`
stands for all namespaces except the 200 with the most Active diagnoses ([metrics](../metrics.md)).
";

fn page(known: &Known) -> String {
    let Known { cause, category } = known;
    let explain = known.explain(Language::English);
    let (family, anchor) = (category.as_str(), category.as_str().to_ascii_lowercase());
    let mut out = format!("# {cause}\n\n<!-- Written by `UPDATE=1 cargo test --test docs`. -->\n\n");
    writeln!(out, "[All causes](../causes.md) · family [{family}](../causes.md#{anchor})\n").unwrap();
    writeln!(out, "{}", prose(&explain.meaning)).unwrap();
    for (title, text) in
        [("How to distinguish", explain.distinguish), ("What to do", explain.action), ("Signal", explain.source)]
    {
        writeln!(out, "\n**{title}:** {}", prose(&text)).unwrap();
    }
    let case = case_of(cause).unwrap_or_else(|| panic!("{cause}: no case has it"));
    let path = format!("tests/causes/{cause}/{}", case.name);
    writeln!(out, "\n## A case\n\n[{path}](../../{path}): {}\n", prose(&case.origin)).unwrap();
    writeln!(out, "```console\n$ shindan {}\n{}\n```", case.args.join(" "), case.output.trim_end()).unwrap();
    let near = near_misses(cause);
    if !near.is_empty() {
        writeln!(out, "\n## Similar cases\n").unwrap();
        out.push_str(&near);
    }
    writeln!(
        out,
        "\n## All cases\n\nWhat Shindan reports for each file of [tests/causes/{cause}](../../tests/causes/{cause}).\n"
    )
    .unwrap();
    writeln!(out, "```yaml\n{}```", all_cases(cause)).unwrap();
    out
}

/// The diagnoses of all cases and near misses, by file.
fn all_cases(cause: &str) -> String {
    let mut out = String::new();
    for path in files(cause) {
        let text = fs::read_to_string(&path).unwrap();
        let name = name_of(&path).trim_end_matches(".yaml");
        let awaited = (!name.starts_with("not-")).then_some(cause);
        let report = fixture::diagnose(&text, awaited).unwrap_or_else(|e| panic!("{}:{e}", path.display()));
        let summaries = summaries(&report);
        writeln!(out, "{name}:{}", if summaries.trim() == "[]" { " []" } else { "" }).unwrap();
        if summaries.trim() != "[]" {
            out.push_str(&summaries);
        }
    }
    out
}

struct Case {
    name: String,
    origin: String,
    args: Vec<String>,
    output: String,
}

/// The most typical case with the cause, preferably recorded in a real cluster.
fn case_of(cause: &str) -> Option<Case> {
    let mut cases: Vec<_> = files(cause).into_iter().filter(|path| !name_of(path).starts_with("not-")).collect();
    // Small cases with a Deployment are typical; the others test special conditions of a rule.
    cases.sort_by_key(|path| {
        let text = fs::read_to_string(path).unwrap();
        (!origin(&text).starts_with("Recorded"), !text.contains("\n  kind: Deployment\n"), text.len())
    });
    cases.into_iter().find_map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let file = format!("tests/causes/{cause}/{}", name_of(&path));
        let args = ["diagnose", "-f", &file, "-o", "tree"].map(str::to_owned).to_vec();
        // A cause with a threshold is diagnosed when the threshold is exceeded.
        let later = || {
            let at = reported_at(&text, cause)?;
            Some([&args[..], &["--at".to_owned(), at.to_string()]].concat())
        };
        let tried = [Some(args.clone()), later()].into_iter().flatten();
        tried.into_iter().find_map(|args| {
            let output = shindan(&args.iter().map(String::as_str).collect::<Vec<_>>());
            let is_reported = output.lines().any(|line| is_head(line) && line.split("   ").any(|word| word == cause));
            let case = || Case { name: name_of(&path).to_owned(), origin: origin(&text), args, output: output.clone() };
            is_reported.then(case)
        })
    })
}

/// Whether a line is the first one of a diagnosis.
fn is_head(line: &str) -> bool {
    let bare = line.trim_start_matches(['│', '├', '└', '─', ' ']);
    bare.split(' ').next().is_some_and(|mark| mark.chars().count() == 1 && !"·→".contains(mark))
}

fn reported_at(text: &str, cause: &str) -> Option<Timestamp> {
    const STEPS: usize = 100;
    let comments = text.lines().take_while(|line| line.starts_with('#'));
    let directive = |name: &str| comments.clone().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let mut now: Timestamp = directive("# judged-at:").or_else(|| directive("# recorded-at:"))?.parse().ok()?;
    for _ in 0..STEPS {
        let mut dump = Dump::default();
        dump.read(text);
        let report = offline::diagnose(dump, offline::Logs::default(), now, Thresholds::default());
        let is_reported = report.pods.iter().any(|write| write.object.head().cause == cause)
            || report.nodes_and_workloads.iter().any(|write| write.object.head().cause == cause);
        if is_reported {
            return Some(now);
        }
        now = report.wake.filter(|wake| *wake > now)?;
    }
    None
}

/// The expected causes of its near misses.
fn near_misses(cause: &str) -> String {
    let mut out = String::new();
    for path in files(cause).into_iter().filter(|path| name_of(path).starts_with("not-")) {
        let text = fs::read_to_string(&path).unwrap();
        let expected = fixture::expected(&text).unwrap().unwrap_or_default();
        let mut causes: Vec<_> = expected.iter().map(|line| format!("[{0}]({0}.md)", line.cause)).collect();
        causes.dedup();
        let is = if causes.is_empty() { "no failure".to_owned() } else { causes.join(", ") };
        let name = name_of(&path);
        let stem = name.trim_end_matches(".yaml");
        writeln!(out, "- [`{stem}`](../../tests/causes/{cause}/{name}): {is}").unwrap();
    }
    out
}

/// The text of the leading comments, without the directives of tests.
fn origin(text: &str) -> String {
    let comments =
        text.lines().take_while(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let is_prose = |line: &&str| {
        line.split_once(':').is_none_or(|(name, _)| name.contains(' ') || name.chars().any(char::is_uppercase))
    };
    let text = comments.filter(is_prose).collect::<Vec<_>>().join(" ");
    let text = text.split(" by tests/cluster/record; ").next().unwrap_or_default().trim_end_matches('.').to_owned();
    format!("{text}.")
}

fn files(cause: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("tests/causes").join(cause)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_case = |path: &PathBuf| path.extension().is_some_and(|end| end == "yaml");
    let mut paths: Vec<_> = paths.filter(is_case).collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
