//! Fixtures: dumps whose leading comments state the time of the diagnosis and the expected findings.
//!
//! - `# recorded-at: TIME`, or `# judged-at: TIME`: the clock; else the newest time in the dump.
//! - `# expect: CAUSE`: a pod has this diagnosis. `container=NAME` names the container; it is omitted if the cause
//!   concerns the whole pod. `pod=NAME` names one of several pods with different diagnoses.
//! - `# expect: CAUSE workload=KIND/NAME` or `node=NAME`: a workload or node has it.
//! - `# expect: healthy`: nothing fails.
//! - `# must-name: TEXT`: the summary contains this text, ignoring case: the object that fails, or the detail that decides
//!   what to do. `# must-name: TEXT | TEXT` accepts either.
//!
//! Each diagnosis needs a line, and each line a diagnosis. A human writes the lines; no tool rewrites them. Records of
//! severity Info on nodes are not failures: they need no line, but may have one.

use std::fmt;

use crate::api::{DiagnosisKind, DiagnosisState, Severity};
use crate::case::Thresholds;
use crate::facts::Timestamp;
use crate::offline::Report;
use crate::wire::Dump;
use crate::{offline, reconcile, rules};

/// How long after the recording a threshold is awaited, in seconds.
const AWAIT_SECONDS: i64 = 3600;

/// A diagnosis that a fixture must have, or has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expectation {
    pub cause: String,
    pub object: Object,
    /// It is found with severity Info on a node, which is no failure.
    pub is_note: bool,
}

/// The object of a diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Object {
    Pod {
        /// `None` matches any pod.
        name: Option<String>,
        container: Option<String>,
    },
    /// Kind and name.
    Workload(String),
    Node(String),
}

impl Expectation {
    /// Parses the text after `expect:`.
    fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let cause = words.next().ok_or("`expect:` needs a cause or `healthy`")?.to_owned();
        let (mut name, mut container, mut workload, mut node) = (None, None, None, None);
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let place = match key {
                "pod" => &mut name,
                "container" => &mut container,
                "workload" => &mut workload,
                "node" => &mut node,
                _ => return Err(format!("unknown key {key:?}; the keys are container, pod, workload and node")),
            };
            if value.is_empty() || place.replace(value.to_owned()).is_some() {
                return Err(format!("{key} needs one value, such as {key}=web"));
            }
        }
        let object = match (workload, node, name.is_some() || container.is_some()) {
            (None, None, _) => Object::Pod { name, container },
            (Some(workload), None, false) => Object::Workload(workload),
            (None, Some(node), false) => Object::Node(node),
            _ => return Err("it names more than one object".to_owned()),
        };
        Ok(Self { cause, object, is_note: false })
    }

    /// Whether this expectation matches a diagnosis.
    pub fn covers(&self, found: &Self) -> bool {
        self.cause == found.cause
            && match (&self.object, &found.object) {
                (Object::Pod { name, container }, Object::Pod { name: of, container: found }) => {
                    container == found && (name.is_none() || name == of)
                }
                (expected, found) => expected == found,
            }
    }

    /// The expectation without the pod's name.
    fn of_any_pod(self) -> Self {
        let object = match self.object {
            Object::Pod { container, .. } => Object::Pod { name: None, container },
            other => other,
        };
        Self { object, ..self }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)?;
        match &self.object {
            Object::Pod { name, container } => {
                for (key, value) in [("pod", name), ("container", container)] {
                    if let Some(value) = value {
                        write!(f, " {key}={value}")?;
                    }
                }
                Ok(())
            }
            Object::Workload(name) => write!(f, " workload={name}"),
            Object::Node(name) => write!(f, " node={name}"),
        }
    }
}

/// The names before the colon of a line in the head. `status` is what `kubectl get pods` shows, for tests/status.
const DIRECTIVES: [&str; 5] = ["expect", "must-name", "recorded-at", "judged-at", "status"];

/// The name of a line that looks like a directive and is none: one word in lower case before a colon.
fn misspelt(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(": ")?;
    let is_word = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'_');
    (is_word && !DIRECTIVES.contains(&name)).then_some(name)
}

/// The leading comments with their line numbers.
fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let comments = text.lines().take_while(|line| line.starts_with('#'));
    comments.enumerate().map(|(at, line)| (at + 1, line.trim_start_matches('#').trim()))
}

/// The values of a directive in the leading comments: `# NAME: VALUE`.
pub fn directives<'t>(text: &'t str, name: &str) -> impl Iterator<Item = (usize, &'t str)> {
    comments(text).filter_map(move |(at, line)| Some((at, line.strip_prefix(name)?.strip_prefix(':')?.trim())))
}

/// The expectations of a fixture. Empty for `healthy`, `None` without an `expect:`. An error starts with its line and
/// column.
pub fn expected(text: &str) -> Result<Option<Vec<Expectation>>, String> {
    if let Some((at, name)) = comments(text).find_map(|(at, line)| Some((at, misspelt(line)?))) {
        let near =
            rules::nearest(name, DIRECTIVES.into_iter()).first().map(|near| format!("; did you mean `{near}:`?"));
        return Err(format!("{at}:1: unknown line `{name}:`{}", near.unwrap_or_default()));
    }
    let mut all: Option<Vec<Expectation>> = None;
    let mut is_healthy = false;
    for (at, value) in directives(text, "expect") {
        let known = all.get_or_insert_default();
        if value == "healthy" {
            is_healthy = true;
        } else {
            known.push(Expectation::parse(value).map_err(|error| format!("{at}:1: expect: {error}"))?);
        }
        if is_healthy && !known.is_empty() {
            return Err(format!("{at}:1: expect: a healthy fixture has no cause"));
        }
    }
    Ok(all)
}

/// The diagnoses of failures in a report.
pub fn failing(report: &Report) -> impl Iterator<Item = &reconcile::Write> {
    active(report).filter(|write| !is_note(write))
}

/// All present diagnoses in a report.
fn active(report: &Report) -> impl Iterator<Item = &reconcile::Write> {
    let pods = report.pods.iter().filter(|write| write.object.head().state == DiagnosisState::Active);
    pods.chain(&report.nodes_and_workloads)
}

fn is_note(write: &reconcile::Write) -> bool {
    write.key.kind == DiagnosisKind::Node && write.object.head().severity == Severity::Info
}

/// All failures and notes in a report, sorted.
pub fn found(report: &Report) -> Vec<Expectation> {
    let expectation = |write: &reconcile::Write| Expectation {
        cause: write.object.head().cause.clone(),
        object: match &write.object {
            reconcile::Object::Pod(spec, status) => {
                Object::Pod { name: Some(spec.pod_name.clone()), container: status.container.clone() }
            }
            reconcile::Object::Node(spec, _) => Object::Node(spec.node_name.clone()),
            reconcile::Object::Workload(spec, _) => {
                Object::Workload(format!("{}/{}", spec.workload.kind, spec.workload.name))
            }
        },
        is_note: is_note(write),
    };
    let mut all: Vec<Expectation> = active(report).map(expectation).collect();
    all.sort();
    all
}

/// The problems of a fixture, each with line and column: an invalid head, or differences from the diagnoses found.
pub fn check(text: &str, cause: &str, is_near_miss: bool, found: &[Expectation]) -> Vec<String> {
    let expected = match expected(text) {
        Ok(Some(expected)) => expected,
        Ok(None) => {
            let lines = head(found).join("\n  ");
            return vec![format!("1:1: its head has no `# expect:` line; if the diagnosis is right, add\n  {lines}")];
        }
        Err(error) => return vec![error],
    };
    let line = directives(text, "expect").next().map_or(1, |(line, _)| line);
    let is_known = |cause: &str| rules::named(cause).is_some_and(|known| known.cause == cause);
    if let Some(other) = expected.iter().find(|expected| !is_known(&expected.cause)) {
        return vec![format!("{line}:1: expect: {}", rules::unknown(&other.cause))];
    }
    match (is_near_miss, expected.iter().any(|expected| expected.cause == cause)) {
        (true, true) => vec![format!("{line}:1: a near miss of {cause} expects another cause, or is healthy")],
        (false, false) => vec![format!("{line}:1: it does not expect {cause}")],
        _ => differences(&expected, found).into_iter().map(|difference| format!("{line}:1: {difference}")).collect(),
    }
}

/// The `must-name` lines that the summary does not fulfil, each with its line number. If several objects have the cause,
/// the summary that names most counts.
pub fn unnamed<'t>(text: &'t str, cause: &str, report: &Report) -> Vec<(usize, &'t str)> {
    let of_cause = active(report).map(|write| write.object.head()).filter(|head| head.cause == cause);
    let missing = of_cause.map(|head| {
        let summary = head.summary.to_lowercase();
        let is_named = |line: &str| line.split(" | ").any(|text| summary.contains(&text.to_lowercase()));
        directives(text, "must-name").filter(|(_, line)| !is_named(line)).collect::<Vec<_>>()
    });
    missing.min_by_key(Vec::len).unwrap_or_default()
}

/// The differences between the expected and the found diagnoses.
fn differences(expected: &[Expectation], found: &[Expectation]) -> Vec<String> {
    let missing = expected.iter().filter(|line| !found.iter().any(|found| line.covers(found)));
    let extra = found.iter().filter(|found| !found.is_note && !expected.iter().any(|line| line.covers(found)));
    let missing = missing.map(|line| format!("expected {line}, which was not found"));
    missing.chain(extra.map(|line| format!("found {line}, which is not expected"))).collect()
}

/// The `expect:` lines for the found diagnoses, for a human to check.
fn head(found: &[Expectation]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let found: Vec<Expectation> = found.iter().filter(|one| !one.is_note).cloned().collect();
    let is_pod = |one: &&Expectation| matches!(one.object, Object::Pod { .. });
    let mut of_pods: Vec<Expectation> = found.iter().filter(is_pod).cloned().map(Expectation::of_any_pod).collect();
    of_pods.dedup();
    let differ = of_pods.len() > 1;
    for one in &found {
        let line = if differ { one.to_string() } else { one.clone().of_any_pod().to_string() };
        let line = format!("# expect: {line}");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() { vec!["# expect: healthy".to_owned()] } else { lines }
}

/// Diagnoses a fixture at its clock.
pub fn diagnose(text: &str, awaited: Option<&str>) -> Result<Report, String> {
    let mut dump = Dump::default().keeping(rules::catalog::current().fields().clone());
    dump.read(text);
    if let Some(problem) = dump.problems.first() {
        return Err(format!("{}:1: {}", problem.line, problem.message));
    }
    if dump.pods.is_empty()
        && dump.nodes.is_empty()
        && dump.workloads.is_empty()
        && dump.resources.is_empty()
        && dump.network.is_empty()
    {
        return Err("1:1: it contains no pod, node, workload or custom resource".to_owned());
    }
    let clock = directives(text, "judged-at").chain(directives(text, "recorded-at")).next();
    let recorded: Timestamp = match clock {
        Some((line, at)) => at.parse().map_err(|error| format!("{line}:1: not a time: {error}"))?,
        None => dump.newest.ok_or("1:1: it contains no time")?,
    };
    Ok(diagnose_at(&dump, recorded, awaited))
}

/// Diagnoses a dump. If an awaited cause is missing, it is diagnosed again at each pending threshold, for at most one hour.
pub(crate) fn diagnose_at(dump: &Dump, at: Timestamp, awaited: Option<&str>) -> Report {
    let diagnose = |now| offline::diagnose(dump.clone(), offline::Logs::default(), now, Thresholds::default());
    let mut report = diagnose(at);
    let mut now = at;
    if let Some(cause) = awaited {
        let has = |report: &Report| {
            let mut writes = report.pods.iter().chain(&report.nodes_and_workloads);
            writes.any(|write| write.object.head().cause == cause)
        };
        let is_due = |wake: &Timestamp| wake.as_second() - at.as_second() <= AWAIT_SECONDS;
        while !has(&report) {
            let Some(wake) = report.wake.filter(|wake| *wake > now && is_due(wake)) else { break };
            now = wake;
            report = diagnose(now);
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Expectation> {
        expected(text).unwrap().unwrap()
    }

    #[test]
    fn unreadable_fixture_is_reported_with_its_line() {
        let of = |text: &str| diagnose(text, None).err().unwrap();
        let error = of("# expect: healthy\nkind: Pod\nstatus:\n  phase Running\n  reason: x\n");
        assert!(error.starts_with("5:1: a `:` that makes no key, or a wrong indentation (column "), "{error}");
        assert_eq!(of("kind: List\nitems: []\n"), "1:1: it contains no pod, node, workload or custom resource");
    }

    #[test]
    fn summary_must_name_each_line() {
        let pod = include_str!("../../tests/causes/ImageTagNotFound/init.yaml");
        let text = format!("# must-name: BUSYBOX:nope\n# must-name: absent | not exist\n# must-name: y:8\n{pod}");
        let report = diagnose(&text, Some("ImageTagNotFound")).unwrap();
        assert!(unnamed(&text, "ImageTagNotFound", &report).starts_with(&[(3, "y:8")]));
    }

    #[test]
    fn head_lists_each_object_and_its_cause() {
        let all = lines(
            "# Recorded.\n# expect: OOMKilled container=app\n# expect: Unknown pod=web-1\n# expect: NodeNotReady node=n1\n\
             # expect: OOMKilled workload=Deployment/web\nkind: List\n# expect: Later\n",
        );
        let written: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(
            written,
            [
                "OOMKilled container=app",
                "Unknown pod=web-1",
                "NodeNotReady node=n1",
                "OOMKilled workload=Deployment/web"
            ]
        );
        assert_eq!(expected("# expect: healthy\n"), Ok(Some(Vec::new())));
        assert_eq!(expected("kind: List\n"), Ok(None));
    }

    #[test]
    fn invalid_head_is_reported_with_its_line() {
        for (text, error) in [
            ("# a\n# expect: A on=b\n", "2:1: expect: unknown key"),
            ("# expect: A node=n pod=p\n", "1:1: expect: it names more than one object"),
            ("# expect: A pod=\n", "1:1: expect: pod needs one value"),
            ("# expect: A\n# expect: healthy\n", "2:1: expect: a healthy fixture"),
            ("# expect: A\n# must-nam: B\n", "2:1: unknown line `must-nam:`; did you mean `must-name:`?"),
        ] {
            let found = expected(text).unwrap_err();
            assert!(found.starts_with(error), "{found}");
        }
    }

    #[test]
    fn expectation_without_a_pod_matches_each_pod_with_the_same_container() {
        let found = lines("# expect: A pod=p1 container=c\n# expect: A pod=p2 container=c\n");
        assert!(differences(&lines("# expect: A container=c\n"), &found).is_empty());
        assert_eq!(differences(&lines("# expect: A\n"), &found).len(), 3);
        assert_eq!(
            differences(&lines("# expect: A pod=p1 container=c\n"), &found),
            ["found A pod=p2 container=c, which is not expected"]
        );
        assert_eq!(head(&found), ["# expect: A container=c"]);
        let found = lines("# expect: A pod=p1\n# expect: B pod=p2\n");
        assert_eq!(head(&found), ["# expect: A pod=p1", "# expect: B pod=p2"]);
    }
}
