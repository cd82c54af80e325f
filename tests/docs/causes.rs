//! A page for each cause: what the table says of it, and what `shindan diagnose` says of a recorded case.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use shindan::cli::{fixture, offline};
use shindan::cluster::wire::Dump;
use shindan::diagnosis::{Known, Thresholds, rules};
use shindan::facts::Timestamp;

use crate::gist::gist;
use crate::pages::prose;
use crate::{holds, root, shindan};

const FOLDER: &str = "docs/causes";

#[test]
fn each_cause_has_a_page_with_a_real_case() {
    for known in rules::known() {
        holds(&format!("{FOLDER}/{}.md", known.cause), &page(&known));
    }
    holds(&format!("{FOLDER}/other.md"), OTHER);
    let known: Vec<_> = rules::known().map(|known| format!("{}.md", known.cause)).collect();
    for file in fs::read_dir(root().join(FOLDER)).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(name == "other.md" || known.contains(&name), "{FOLDER}/{name}: the table has no such cause");
    }
}

/// Where an alert leads whose cause is none of the table.
const OTHER: &str = "\
# other

<!-- Written by `UPDATE=1 cargo test --test docs`. -->

[All causes](../causes.md)

Not a cause but a label in metrics and alerts, for a diagnosis whose cause the table of the running version does not have: one that a
newer version has written. The object has its name, and the page of that version its meaning. As a namespace, `other` stands for all beyond
the 200 with the most active diagnoses ([metrics](../metrics.md)).
";

fn page(known: &Known) -> String {
    let Known { cause, category, explain } = known;
    let (family, anchor) = (category.as_str(), category.as_str().to_ascii_lowercase());
    let mut out = format!("# {cause}\n\n<!-- Written by `UPDATE=1 cargo test --test docs`. -->\n\n");
    writeln!(out, "[All causes](../causes.md) · family [{family}](../causes.md#{anchor})\n").unwrap();
    writeln!(out, "{}", prose(explain.meaning)).unwrap();
    for (title, text) in
        [("Told apart", explain.told_apart), ("What to do", explain.action), ("Signal", explain.source)]
    {
        writeln!(out, "\n**{title}:** {}", prose(text)).unwrap();
    }
    let case = case_of(cause).unwrap_or_else(|| panic!("{cause}: no case tells it"));
    let path = format!("tests/causes/{cause}/{}", case.name);
    writeln!(out, "\n## A case\n\n[{path}](../../{path}): {}\n", prose(&case.origin)).unwrap();
    writeln!(out, "```console\n$ shindan {}\n{}\n```", case.args.join(" "), case.says.trim_end()).unwrap();
    let near = near_misses(cause);
    if !near.is_empty() {
        writeln!(out, "\n## What looks like it\n").unwrap();
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
        let gist = gist(&report);
        writeln!(out, "{name}:{}", if gist.trim() == "[]" { " []" } else { "" }).unwrap();
        if gist.trim() != "[]" {
            out.push_str(&gist);
        }
    }
    out
}

struct Case {
    name: String,
    origin: String,
    args: Vec<String>,
    says: String,
}

/// The most typical case that tells the cause, of a real cluster where there is one.
fn case_of(cause: &str) -> Option<Case> {
    let mut cases: Vec<_> = files(cause).into_iter().filter(|path| !name_of(path).starts_with("not-")).collect();
    // Small ones are typical, and pods have a Deployment; the rest is what a rule may stumble over.
    cases.sort_by_key(|path| {
        let text = fs::read_to_string(path).unwrap();
        (!origin(&text).starts_with("Recorded"), !text.contains("\n  kind: Deployment\n"), text.len())
    });
    cases.into_iter().find_map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let file = format!("tests/causes/{cause}/{}", name_of(&path));
        let args = ["diagnose", "-f", &file, "-o", "tree"].map(str::to_owned).to_vec();
        // What only time tells is asked for when it is due.
        let later = || {
            let at = when_it_is_told(&text, cause)?;
            Some([&args[..], &["--at".to_owned(), at.to_string()]].concat())
        };
        let tried = [Some(args.clone()), later()].into_iter().flatten();
        tried.into_iter().find_map(|args| {
            let says = shindan(&args.iter().map(String::as_str).collect::<Vec<_>>());
            let is_told = says.lines().any(|line| is_head(line) && line.split("   ").any(|word| word == cause));
            let case = || Case { name: name_of(&path).to_owned(), origin: origin(&text), args, says: says.clone() };
            is_told.then(case)
        })
    })
}

/// The line that begins what is said of a pod, a workload or a node.
fn is_head(line: &str) -> bool {
    let bare = line.trim_start_matches(['│', '├', '└', '─', ' ']);
    bare.split(' ').next().is_some_and(|mark| mark.chars().count() == 1 && !"·→".contains(mark))
}

fn when_it_is_told(text: &str, cause: &str) -> Option<Timestamp> {
    const STEPS: usize = 100;
    let comments = text.lines().take_while(|line| line.starts_with('#'));
    let directive = |name: &str| comments.clone().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let mut now: Timestamp = directive("# judged-at:").or_else(|| directive("# recorded-at:"))?.parse().ok()?;
    for _ in 0..STEPS {
        let mut dump = Dump::default();
        dump.read(text);
        let report = offline::diagnose(dump, offline::Logs::default(), now, Thresholds::default());
        let is_told = report.objects.iter().any(|write| write.status.cause == cause)
            || report.outers.iter().any(|write| write.object.head().cause == cause);
        if is_told {
            return Some(now);
        }
        now = report.wake.filter(|wake| *wake > now)?;
    }
    None
}

/// What its near misses are instead, by the head of each.
fn near_misses(cause: &str) -> String {
    let mut out = String::new();
    for path in files(cause).into_iter().filter(|path| name_of(path).starts_with("not-")) {
        let text = fs::read_to_string(&path).unwrap();
        let expected = fixture::expected(&text).unwrap().unwrap_or_default();
        let mut causes: Vec<_> = expected.iter().map(|line| format!("[{0}]({0}.md)", line.cause)).collect();
        causes.dedup();
        let is = if causes.is_empty() { "no failure".to_owned() } else { causes.join(", ") };
        let name = name_of(&path);
        let words = name.trim_end_matches(".yaml");
        writeln!(out, "- [`{words}`](../../tests/causes/{cause}/{name}): {is}").unwrap();
    }
    out
}

/// What the leading comments say, without those that the tests read.
fn origin(text: &str) -> String {
    let comments =
        text.lines().take_while(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let is_prose = |line: &&str| {
        line.split_once(':').is_none_or(|(name, _)| name.contains(' ') || name.chars().any(char::is_uppercase))
    };
    let said = comments.filter(is_prose).collect::<Vec<_>>().join(" ");
    let said = said.split(" by tests/cluster/record; ").next().unwrap_or_default().trim_end_matches('.').to_owned();
    format!("{said}.")
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
