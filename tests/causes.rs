//! Checks the diagnoses of recorded cases, and that no rule, fixture or explanation is missing.
//!
//! A human states in the head of each fixture what must be found in it (`# expect:`, see `shindan_core::fixture`).
//! `tests/causes/<Cause>/<case>.yaml` has that cause; `not-<case>.yaml` looks like it and has another, or is healthy.
//! `tests/healthy/*.yaml` must not be diagnosed at all; `tests/status/*.yaml` only test the STATUS. The
//! texts are on the page of each cause, which `UPDATE=1 cargo test --test docs` rewrites. One more leading comment is read here:
//!
//! - `# status: POD STATUS`: what kubectl printed of this pod at that moment.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use shindan_core::api::{DiagnosisState, Severity};
use shindan_core::case::{Category, Thresholds};
use shindan_core::facts::Timestamp;
use shindan_core::fixture::{self, Expectation};
use shindan_core::language::Language;
use shindan_core::offline;
use shindan_core::reconcile::Write;
use shindan_core::rules;
use shindan_core::wire::Dump;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// Entries of a folder by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|n| n.to_str()).unwrap_or_default()
}

/// The cases of a folder.
fn cases(folder: &Path) -> Vec<PathBuf> {
    #[allow(clippy::case_sensitive_file_extension_comparisons, reason = "the recorder writes .yaml")]
    let is_case = |p: &PathBuf| name_of(p).ends_with(".yaml");
    entries(folder).into_iter().filter(is_case).collect()
}

fn is_near_miss(case: &Path) -> bool {
    name_of(case).starts_with("not-")
}

/// The diagnoses of a case: of its pods, and of their nodes and workloads.
struct Found {
    pods: Vec<Write>,
    others: Vec<Write>,
    failures: Vec<Expectation>,
    /// What the summary must name and does not.
    unnamed: Vec<String>,
}

impl Found {
    fn of(report: offline::Report, text: &str, awaited: Option<&str>) -> Self {
        let mut failures = fixture::found(&report);
        // A note on a node, such as of a cordon, counts only where it is expected.
        let expected = fixture::expected(text).ok().flatten().unwrap_or_default();
        failures.retain(|found| !found.is_note || expected.iter().any(|line| line.covers(found)));
        let unnamed = awaited.map(|cause| fixture::unnamed(text, cause, &report)).unwrap_or_default();
        let unnamed = unnamed.into_iter().map(|(_, line)| line.to_owned()).collect();
        Self { pods: report.pods, others: report.nodes_and_workloads, failures, unnamed }
    }

    /// Whether there is no failure; an informational diagnosis of a node (such as a reboot) is allowed.
    fn is_quiet(&self) -> bool {
        self.pods.is_empty() && self.failures.iter().all(|found| found.is_note)
    }

    /// The causes of current failures.
    fn causes(&self) -> BTreeSet<&str> {
        causes(&self.failures)
    }
}

fn causes(all: &[Expectation]) -> BTreeSet<&str> {
    all.iter().map(|one| one.cause.as_str()).collect()
}

/// Diagnoses a case, after the threshold of the expected cause.
fn diagnose(case: &Path, awaited: Option<&str>) -> Result<(String, Found), String> {
    let shown = case.strip_prefix(root()).unwrap_or(case).display();
    let text = fs::read_to_string(case).map_err(|e| format!("{shown}: {e}"))?;
    let report = fixture::diagnose(&text, awaited).map_err(|e| format!("{shown}:{e}"))?;
    let found = Found::of(report, &text, awaited);
    Ok((text, found))
}

fn describe(found: &Found) -> String {
    if found.pods.is_empty() && found.others.is_empty() {
        return "no diagnosis".to_owned();
    }
    let pods = found
        .pods
        .iter()
        .map(|w| format!("{} of {}: {}", w.object.head().cause, w.key.object.name, w.object.head().summary));
    let others = found.others.iter().map(|w| {
        let head = w.object.head();
        format!("{} of {}: {}", head.cause, w.key, head.summary)
    });
    pods.chain(others).collect::<Vec<_>>().join("; ")
}

fn folders() -> Vec<PathBuf> {
    entries(&root().join("causes")).into_iter().filter(|p| p.is_dir()).collect()
}

#[test]
fn each_case_is_diagnosed_as_its_head_states() {
    let mut wrong = String::new();
    for folder in folders() {
        let cause = name_of(&folder);
        for case in cases(&folder) {
            let awaited = (!is_near_miss(&case)).then_some(cause);
            let shown = case.strip_prefix(root()).unwrap_or(&case).display();
            let (text, found) = match diagnose(&case, awaited) {
                Ok(done) => done,
                Err(e) => {
                    writeln!(wrong, "{e}").unwrap();
                    continue;
                }
            };
            let mut errors = fixture::check(&text, cause, is_near_miss(&case), &found.failures);
            let is_positive = !is_near_miss(&case) && !found.is_quiet();
            if is_positive && fixture::directives(&text, "must-name").next().is_none() {
                errors.push("1:1: its head has no `# must-name:` line".to_owned());
            }
            for error in &errors {
                writeln!(wrong, "{shown}:{error}").unwrap();
            }
            if !errors.is_empty() {
                writeln!(wrong, "  {}", describe(&found)).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Commands with a value that only the user knows, such as `<IMAGE>`, from all cases.
fn commands_with_a_placeholder() -> BTreeSet<String> {
    let has_placeholder = |command: &String| {
        let words = command.split('<').skip(1).filter_map(|rest| rest.split_once('>'));
        words.into_iter().any(|(word, _)| !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || c == '-'))
    };
    let found = folders().into_iter().flat_map(|folder| cases(&folder)).filter_map(|case| {
        let awaited = (!is_near_miss(&case)).then(|| case.parent().map(|folder| name_of(folder).to_owned())).flatten();
        Some(diagnose(&case, awaited.as_deref()).ok()?.1)
    });
    let writes = found.flat_map(|found| found.pods.into_iter().chain(found.others));
    let remedies = writes.flat_map(|write| write.object.head().remedies.clone());
    remedies.filter_map(|remedy| remedy.command).filter(has_placeholder).collect()
}

#[test]
fn commands_with_a_placeholder_do_not_run_in_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let kubectl = folder.path().join("kubectl");
    fs::write(&kubectl, "#!/bin/sh\necho \"$@\" >>\"$RAN\"\n").unwrap();
    fs::set_permissions(&kubectl, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (ran, place) = (folder.path().join("ran"), folder.path().join("empty"));
    fs::create_dir(&place).unwrap();
    let run = |shell: &str, command: &str| {
        let mut process = std::process::Command::new(shell);
        process.args(["-c", command]).current_dir(&place).env("PATH", folder.path()).env("RAN", &ran);
        process.output().unwrap().status.success()
    };
    assert!(run("/bin/sh", "kubectl get pods") && ran.exists(), "the stand-in for kubectl runs");
    fs::remove_file(&ran).unwrap();
    let commands = commands_with_a_placeholder();
    assert!(commands.len() > 10, "{commands:?}");
    for command in &commands {
        for shell in ["/bin/sh", "/bin/bash"] {
            let succeeded = run(shell, command);
            assert!(!succeeded && !ran.exists(), "{shell} ran: {command}");
        }
    }
    assert!(entries(&place).is_empty(), "no command creates a file");
}

#[test]
fn healthy_cases_are_not_diagnosed() {
    let mut wrong = String::new();
    for case in cases(&root().join("healthy")) {
        match diagnose(&case, None) {
            Ok((text, found)) if found.is_quiet() => match fixture::expected(&text) {
                Ok(expected) if expected.as_ref().is_none_or(Vec::is_empty) => {}
                other => writeln!(wrong, "{}: expects {other:?}", name_of(&case)).unwrap(),
            },
            Ok((_, found)) => writeln!(wrong, "{}: got {}", name_of(&case), describe(&found)).unwrap(),
            Err(e) => writeln!(wrong, "{e}").unwrap(),
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// A configured threshold applies to the cases of its cause: with a very long one, none is reported.
#[test]
fn each_threshold_can_be_configured() {
    const CENTURY: i64 = 100 * 365 * 86_400;
    let mut wrong = String::new();
    for cause in rules::patient() {
        let chosen = Thresholds { chosen: vec![(cause, CENTURY)].leak(), ..Thresholds::default() };
        for case in cases(&root().join("causes").join(cause)).iter().filter(|case| !is_near_miss(case)) {
            let text = fs::read_to_string(case).unwrap();
            let mut dump = Dump::default();
            dump.read(&text);
            let now = dump.newest.unwrap().as_second() + 3600;
            let now = Timestamp::from_second(now).unwrap();
            let report = offline::diagnose(dump, offline::Logs::default(), now, chosen);
            let mut active = report.pods.iter().filter(|write| write.object.head().state == DiagnosisState::Active);
            if active.any(|write| write.object.head().cause == cause && write.object.head().severity != Severity::Info)
            {
                writeln!(wrong, "{cause}/{}", name_of(case)).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "reported before its threshold:\n{wrong}");
}

/// A rule is complete with an explanation, a case that it recognises and a near miss that it does not.
#[test]
fn each_rule_is_complete() {
    let mut wrong = String::new();
    let mut seen = BTreeSet::new();
    for rule in rules::known() {
        let cause = rule.cause;
        if !seen.insert(cause) {
            writeln!(wrong, "{cause}: the table has it twice").unwrap();
        }
        let is_name = cause.len() <= 63
            && cause.starts_with(|c: char| c.is_ascii_uppercase())
            && cause.bytes().all(|b| b.is_ascii_alphanumeric());
        if !is_name {
            writeln!(wrong, "{cause}: does not match ^[A-Z][A-Za-z0-9]{{0,62}}$").unwrap();
        }
        let explain = rule.explain(Language::English);
        for (field, text) in [
            ("meaning", explain.meaning),
            ("distinguish", explain.distinguish),
            ("action", explain.action),
            ("source", explain.source),
        ] {
            if text.trim().is_empty() {
                writeln!(wrong, "{cause}: explain.{field} is empty").unwrap();
            }
        }
        let cases = cases(&root().join("causes").join(cause));
        let near = cases.iter().filter(|case| is_near_miss(case)).count();
        if near == cases.len() {
            writeln!(wrong, "{cause}: no case tests/causes/{cause}/<case>.yaml").unwrap();
        }
        if near == 0 {
            writeln!(wrong, "{cause}: no near miss tests/causes/{cause}/not-<case>.yaml").unwrap();
        }
    }
    for folder in folders() {
        if !rules::known().any(|known| known.cause == name_of(&folder)) {
            writeln!(wrong, "tests/causes/{}: the table has no such cause", name_of(&folder)).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The STATUS of each pod is the one that kubectl printed.
#[test]
fn each_status_is_what_kubectl_printed() {
    let mut wrong = String::new();
    let mut compared = 0;
    let others = ["healthy", "status"].map(|folder| root().join(folder));
    let all = folders().into_iter().chain(others).flat_map(|folder| cases(&folder));
    for case in all {
        let text = fs::read_to_string(&case).unwrap();
        let mut dump = Dump::default();
        dump.read(&text);
        let comments = text.lines().take_while(|line| line.starts_with('#'));
        for line in comments.filter_map(|line| line.strip_prefix("# status: ")) {
            let (name, printed) = line.split_once(' ').unwrap_or((line, ""));
            let ours = dump.pods.iter().find(|pod| &*pod.key.name == name).map(shindan_core::case::pod_status);
            compared += 1;
            if ours.as_deref() != Some(printed) {
                writeln!(wrong, "{}: the STATUS of {name} is {ours:?}, but kubectl printed {printed}", case.display())
                    .unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(compared > 0, "no case has a `# status:` line");
}

/// The results of the cases of a cause.
#[derive(Default)]
struct Score {
    recorded: usize,
    written: usize,
    near_misses: usize,
    recognised: usize,
    /// Near misses, cases of other causes and healthy pods with this cause by mistake.
    mistaken: usize,
    /// The expected causes of its near misses.
    instead: BTreeMap<String, usize>,
}

impl Score {
    fn recall(&self) -> f64 {
        percent(self.recognised, self.recorded + self.written)
    }

    fn precision(&self) -> f64 {
        percent(self.recognised, self.recognised + self.mistaken)
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of files")]
fn percent(part: usize, of: usize) -> f64 {
    if of == 0 { 100.0 } else { 100.0 * part as f64 / of as f64 }
}

fn is_recorded(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with("# Recorded from Kubernetes"))
}

/// A fixture of `tests/causes` or `tests/healthy`, with its expected and actual diagnoses.
struct Judged {
    /// The cause of the folder; `None` for the healthy ones.
    cause: Option<String>,
    name: String,
    is_near_miss: bool,
    is_recorded: bool,
    expected: Vec<Expectation>,
    found: Found,
}

impl Judged {
    fn of(cause: Option<&str>, case: &Path) -> Option<Self> {
        let is_near_miss = is_near_miss(case);
        let (text, found) = diagnose(case, cause.filter(|_| !is_near_miss)).ok()?;
        let expected = fixture::expected(&text).ok()?.unwrap_or_default();
        Some(Self {
            cause: cause.map(str::to_owned),
            name: name_of(case).to_owned(),
            is_near_miss,
            is_recorded: is_recorded(&text),
            expected,
            found,
        })
    }

    /// The causes that were found but not expected.
    fn mistaken(&self) -> BTreeSet<&str> {
        let covered = |found: &&Expectation| self.expected.iter().any(|line| line.covers(found));
        self.found.failures.iter().filter(|found| !covered(found)).map(|found| found.cause.as_str()).collect()
    }

    /// Whether the case has the cause of its folder, and not only looks like it.
    fn is_positive(&self) -> bool {
        self.cause.is_some() && !self.is_near_miss
    }

    /// Whether each object with this expected cause has it.
    fn is_recognised(&self, cause: &str) -> bool {
        let mut lines = self.expected.iter().filter(|line| line.cause == cause);
        lines.all(|line| self.found.failures.iter().any(|found| line.covers(found)))
    }
}

fn judged() -> Vec<Judged> {
    let mut all = Vec::new();
    for folder in folders() {
        all.extend(cases(&folder).iter().filter_map(|case| Judged::of(Some(name_of(&folder)), case)));
    }
    all.extend(cases(&root().join("healthy")).iter().filter_map(|case| Judged::of(None, case)));
    all
}

fn scores(judged: &[Judged]) -> BTreeMap<String, Score> {
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for case in judged {
        for mistaken in case.mistaken() {
            scores.entry(mistaken.to_owned()).or_default().mistaken += 1;
        }
        let Some(cause) = &case.cause else { continue };
        let score = scores.entry(cause.clone()).or_default();
        if case.is_near_miss {
            score.near_misses += 1;
            let instead = causes(&case.expected).first().map_or("healthy", |cause| *cause).to_owned();
            *score.instead.entry(instead).or_default() += 1;
        } else {
            *(if case.is_recorded { &mut score.recorded } else { &mut score.written }) += 1;
            score.recognised += usize::from(case.is_recognised(cause));
        }
    }
    scores
}

/// The confusion matrix of the families of expected and actual causes.
fn confusion(judged: &[Judged]) -> String {
    const HEALTHY: &str = "healthy";
    let family = |cause: &str| rules::known().find(|k| k.cause == cause).map_or(HEALTHY, |k| k.category.as_str());
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in judged {
        let (expected, found, mistaken) = (causes(&case.expected), case.found.causes(), case.mistaken());
        let first = mistaken.first().or(found.first()).copied().unwrap_or(HEALTHY);
        let pairs: Vec<(&str, &str)> = if expected.is_empty() {
            vec![(HEALTHY, first)]
        } else {
            expected
                .iter()
                .map(|expected| (*expected, if case.is_recognised(expected) { *expected } else { first }))
                .collect()
        };
        for (expected, found) in pairs {
            *counts.entry((family(expected), family(found))).or_default() += 1;
            if expected != found {
                let folder = case.cause.as_deref().unwrap_or(HEALTHY);
                wrong.push(format!("- {folder}/{}: found {found}, expected {expected}", case.name));
            }
        }
    }
    let names: Vec<&str> = Category::ALL.iter().map(|c| c.as_str()).chain([HEALTHY]).collect();
    let mut out = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    for expected in &names {
        let cells = names.iter().map(|found| counts.get(&(*expected, *found)).map_or(String::new(), usize::to_string));
        writeln!(out, "| **{expected}** | {} |", cells.collect::<Vec<_>>().join(" | ")).unwrap();
    }
    let wrong = if wrong.is_empty() { "No case has another cause than expected.".to_owned() } else { wrong.join("\n") };
    format!("{out}\n{wrong}\n")
}

fn accuracy(judged: &[Judged]) -> String {
    let scores = scores(judged);
    let sum = |of: fn(&Score) -> usize| scores.values().map(of).sum::<usize>();
    let (recorded, written) = (sum(|s| s.recorded), sum(|s| s.written));
    let on_cluster = scores.values().filter(|s| s.recorded > 0).count();
    let healthy = cases(&root().join("healthy")).len();
    let mut out = String::new();
    writeln!(out, "# Accuracy\n\n<!-- Written by `make test-long ONLY=accuracy`. -->\n").unwrap();
    writeln!(
        out,
        "The diagnoses of all cases in [tests/causes](../tests/causes) and [tests/healthy](../tests/healthy). A case is a dump of \
         pods, nodes, Events and owners, diagnosed as of the time of its recording.\n\n\
         - *Recorded* cases come from a real cluster ([tests/cluster/record](../tests/cluster/record)).\n\
         - *Written* cases are for causes that cannot be reproduced there. They contain messages from the source of Kubernetes \
         and the container runtimes, or from reports of users.\n\
         - A *near miss* looks like the cause but has another cause, or is healthy.\n\n\
         A human states the expected diagnosis in the head of each file (`# expect:`), and no tool changes it.\n\n\
         The rules were written with these cases, and a change is only merged if each case has its expected diagnosis. The \
         numbers therefore show coverage. They do not show the accuracy for failures that were never recorded.\n"
    )
    .unwrap();
    writeln!(out, "| | |\n|---|---|").unwrap();
    writeln!(out, "| causes | {}, of them {on_cluster} with a recorded case |", scores.len()).unwrap();
    writeln!(out, "| cases with their cause | {}: {recorded} recorded, {written} written |", recorded + written)
        .unwrap();
    writeln!(out, "| near misses | {} |", sum(|s| s.near_misses)).unwrap();
    writeln!(out, "| healthy cases | {healthy} |").unwrap();
    let (right, wrong) = (sum(|s| s.recognised), sum(|s| s.mistaken));
    writeln!(out, "| recall | {:.1} % |", percent(right, recorded + written)).unwrap();
    writeln!(out, "| precision | {:.1} % |\n", percent(right, right + wrong)).unwrap();
    writeln!(
        out,
        "## Confusion\n\nRows: expected category. Columns: category of the diagnosis. A near miss counts with its own expected cause.\n\n{}",
        confusion(judged)
    )
    .unwrap();
    out.push_str(&decisive(judged));
    out.push_str(&wordings());
    writeln!(out, "## By cause\n\nThe last column lists the expected causes of the near misses.\n").unwrap();
    writeln!(out, "| cause | recorded | written | near misses | recall | precision | causes of near misses |\n|---|---|---|---|---|---|---|")
        .unwrap();
    for (cause, s) in &scores {
        let instead: Vec<String> =
            s.instead.iter().map(|(c, n)| if *n == 1 { c.clone() } else { format!("{c} ×{n}") }).collect();
        writeln!(
            out,
            "| {cause} | {} | {} | {} | {:.0} % | {:.0} % | {} |",
            s.recorded,
            s.written,
            s.near_misses,
            s.recall(),
            s.precision(),
            instead.join(", ")
        )
        .unwrap();
    }
    out
}

/// The section of the summaries that name what decides.
fn decisive(judged: &[Judged]) -> String {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut lacking = String::new();
    for case in judged.iter().filter(|case| case.is_positive()) {
        let Some(known) = rules::known().find(|known| Some(known.cause) == case.cause.as_deref()) else { continue };
        let (decisive, all) = counts.entry(known.category.as_str()).or_default();
        *all += 1;
        *decisive += usize::from(case.found.unnamed.is_empty());
        if !case.found.unnamed.is_empty() {
            let unnamed = case.found.unnamed.iter().map(|line| format!("`{}`", line.replace(" | ", "` or `")));
            let unnamed = unnamed.collect::<Vec<_>>().join("; ");
            writeln!(lacking, "- {}/{}: {unnamed}", known.cause, case.name).unwrap();
        }
    }
    let sum = |of: fn(&(usize, usize)) -> usize| counts.values().map(of).sum::<usize>();
    let (decisive, all) = (sum(|count| count.0), sum(|count| count.1));
    let row = |name: &str, decisive: usize, all: usize| {
        format!("| {name} | {decisive} | {all} | {:.0} % |\n", percent(decisive, all))
    };
    let rows: String = counts.iter().map(|(category, (decisive, all))| row(category, *decisive, *all)).collect();
    format!(
        "## Decisive summaries\n\nA human states in the head of each case what the summary must name (`# must-name:`): the object \
         that fails and the detail that decides what to do. A summary is decisive if it names all of it.\n\n\
         | category | decisive | cases | |\n|---|---:|---:|---:|\n{rows}{}\nNot named yet:\n\n{lacking}\n",
        row("**all**", decisive, all)
    )
}

/// The section of the wordings of upstream components, which `core/tests/wordings.rs` tests.
fn wordings() -> String {
    let mut counts: BTreeMap<String, [u32; 2]> = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("core/tests/wordings");
    for path in cases(&folder) {
        let all: Vec<serde_json::Value> = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for one in all {
            let component = one["component"].as_str().expect("each wording names its component").to_owned();
            counts.entry(component).or_default()[usize::from(one.get("untested").is_some())] += 1;
        }
    }
    let sum = |at: usize| counts.values().map(|count| count[at]).sum::<u32>();
    let (tested, untested) = (sum(0), sum(1));
    let rows = counts.iter().fold(String::new(), |rows, (component, [tested, untested])| {
        rows + &format!("| {component} | {tested} | {untested} |\n")
    });
    format!(
        "## Wordings of upstream\n\nError texts from the source of {} components. {tested} of {} are tested: put into \
         their wrappers and into the object that they reach a user in, they must have the cause and the decisive words that \
         a human states in [core/tests/wordings](../core/tests/wordings). For each of the other {untested}, the file states \
         why it is not tested; most reach no object that Shindan reads.\n\n\
         | component | tested | not tested |\n|---|---:|---:|\n{rows}\n",
        counts.len(),
        tested + untested,
    )
}

/// At least this share of summaries names what decides, in percent. Raise it whenever it improves.
const DECISIVE: f64 = 90.5;

/// Written to docs/accuracy.md by `make test-long ONLY=accuracy`.
#[test]
fn the_rules_are_accurate_over_all_cases() {
    let judged = judged();
    let now = accuracy(&judged);
    if std::env::var_os("ACCURACY").is_some() {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/accuracy.md"), &now).unwrap();
    }
    for measure in ["| recall | 100.0 % |", "| precision | 100.0 % |"] {
        assert!(now.contains(measure), "{now}");
    }
    let positive: Vec<&Judged> = judged.iter().filter(|case| case.is_positive()).collect();
    let decisive = positive.iter().filter(|case| case.found.unnamed.is_empty()).count();
    assert!(percent(decisive, positive.len()) >= DECISIVE, "{now}");
}
