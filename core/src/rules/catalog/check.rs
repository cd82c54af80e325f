//! Checks what users add to the catalogue.

use std::sync::Arc;

use super::compile::{self, Input};
use super::embedded::{self, HEADS};
use super::exception::Exception;
use super::file::{CauseFile, Match};
use super::problem::{Fault, Problem};
use crate::api::{CauseException, RuleTest};
use crate::signals;

/// Most causes, exceptions and tests of a rule, and most objects of a test.
const CAUSES_MAX: usize = 50;
const EXCEPTIONS_MAX: usize = 100;
const TESTS_MAX: usize = 100;
const OBJECTS_MAX: usize = 50;
/// Most patterns of a cause, and most characters of one and of a text.
const PATTERNS_MAX: usize = 200;
const PATTERN_MAX: usize = 500;
const TEXT_MAX: usize = 4000;

/// Signals of what has already happened.
const AT_ONCE: [&str; 2] = ["termination", "programError"];

/// Exceptions without an error, and all errors.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) exceptions: Vec<Arc<Exception>>,
    pub(super) problems: Vec<Problem>,
}

/// All errors of added causes, which are compiled together with the embedded ones of their signals.
pub(super) fn causes(added: &[Arc<CauseFile>]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = added.iter().flat_map(|file| sizes(file)).collect();
    for signal in signals::ALL {
        if !added.iter().any(|file| file.signal == signal.name) {
            continue;
        }
        let embedded =
            HEADS.iter().filter(|(head, _)| head.signal == signal.name && !embedded::is_replaced(head, added));
        let embedded = embedded.map(|(head, whole)| (head.clone(), Some(*whole)));
        let own = added.iter().filter(|file| file.signal == signal.name).map(|file| (file.clone(), None));
        compile::of_signal(signal, &embedded.chain(own).collect::<Vec<Input>>(), &mut problems);
    }
    for file in added.iter().filter(|file| AT_ONCE.contains(&file.signal.as_str()) && !file.threshold.is_empty()) {
        let is_replacing = HEADS.iter().any(|(head, _)| head.cause == file.cause);
        let fault = Fault::new(format!("a cause of {} counts at once: it has no threshold", file.signal));
        problems.extend((!is_replacing).then(|| problem(file, "threshold", fault)));
    }
    for file in added {
        problems.extend(invalid_name(&file.cause).map(|fault| problem(file, "cause", fault)));
        if let Some(signal) = signals::ALL.iter().find(|signal| signal.name == file.signal) {
            compile::report(signal, file, &mut problems);
        } else {
            let names = signals::ALL.iter().map(|signal| signal.name);
            problems.push(problem(file, "signal", Fault::unknown("signal", &file.signal, names)));
        }
    }
    problems.retain(|problem| added.iter().any(|file| file.cause == problem.cause));
    problems
}

/// Compiles exceptions from embedded and added causes. The paths of the errors begin with `exceptions`.
pub(super) fn exceptions(of: &[CauseException], rule: Option<&Arc<str>>, added: &[Arc<CauseFile>]) -> Checked {
    let mut checked = Checked::default();
    for (at, exception) in of.iter().enumerate() {
        let path = format!("exceptions.{at}");
        let known = || added.iter().map(|file| &**file).chain(HEADS.iter().map(|(head, _)| &**head));
        let signal = known().find(|file| file.cause == exception.cause).map(|file| file.signal.as_str());
        let Some(signal) = signals::ALL.iter().find(|definition| Some(definition.name) == signal) else {
            let names = known().map(|file| file.cause.as_str());
            let fault = Fault::unknown("cause", &exception.cause, names.collect::<Vec<_>>().into_iter());
            checked.problems.push(Problem { cause: exception.cause.clone(), path: format!("{path}.cause"), fault });
            continue;
        };
        let compiled = Exception::compile(exception, rule, &path, signal, &mut checked.problems);
        checked.exceptions.extend(compiled.map(Arc::new));
    }
    checked
}

/// Names of causes of a rule have a prefix, so that they never meet a later one of the catalogue.
pub(super) fn prefixed(cause: &str) -> Option<Fault> {
    let has_prefix = cause.split_once('/').is_some_and(|(prefix, _)| prefix.contains('.'));
    let hint = Some(format!("write a domain of yours before it: `acme.example/{}`", cause.trim_start_matches('/')));
    (!has_prefix).then(|| Fault { hint, ..Fault::new(format!("`{cause}` has no prefix")) })
}

/// A cause of a rule needs a condition: without one it would take over all that no other cause explains.
pub(super) fn unconditional(file: &CauseFile) -> Option<Fault> {
    let is_empty = |of: &Match| Match { kinds: Vec::new(), ..of.clone() } == Match::default();
    let has_none = file.alternatives.is_empty() || file.alternatives.0.iter().any(is_empty);
    let hint = Some("give `reasons`, words of the `message`, or `when`".to_owned());
    has_none.then(|| Fault { hint, ..Fault::new(format!("without a condition it applies to each {}", file.signal)) })
}

/// Tests that expect a cause that does not exist, each with its path in the spec.
pub(super) fn tests(of: &[RuleTest], added: &[Arc<CauseFile>]) -> Vec<(String, Fault)> {
    let known: Vec<&str> = added
        .iter()
        .map(|file| &**file)
        .chain(HEADS.iter().map(|(head, _)| &**head))
        .map(|file| &*file.cause)
        .collect();
    let expected = of.iter().enumerate().filter_map(|(at, test)| Some((at, test.expect.as_deref()?)));
    let unknown = expected.filter(|(_, cause)| !known.contains(cause));
    unknown
        .map(|(at, cause)| (format!("tests.{at}.expect"), Fault::unknown("cause", cause, known.iter().copied())))
        .collect()
}

/// Reports a rule with too many parts.
pub(super) fn bounds(causes: &[Arc<CauseFile>], exceptions: &[CauseException], tests: &[RuleTest]) -> Option<Fault> {
    let objects = tests.iter().map(|test| test.objects.len()).max().unwrap_or(0);
    let parts = [
        (causes.len(), CAUSES_MAX, "causes"),
        (exceptions.len(), EXCEPTIONS_MAX, "exceptions"),
        (tests.len(), TESTS_MAX, "tests"),
        (objects, OBJECTS_MAX, "objects in a test"),
    ];
    if causes.is_empty() && exceptions.is_empty() {
        return Some(Fault::new("the rule has neither causes nor exceptions"));
    }
    let (found, most, what) = parts.into_iter().find(|(found, most, _)| found > most)?;
    Some(Fault::new(format!("the rule has {found} {what}, and {most} are allowed")))
}

/// Reports texts and patterns that are too large.
fn sizes(file: &CauseFile) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (at, of) in file.alternatives.0.iter().enumerate() {
        for (key, patterns) in [("any", &of.message.any), ("all", &of.message.all), ("none", &of.message.none)] {
            let path = format!("match.{at}.message.{key}");
            if patterns.len() > PATTERNS_MAX {
                let message = format!("it has {} patterns, and {PATTERNS_MAX} are allowed", patterns.len());
                problems.push(problem(file, &path, Fault::new(message)));
            }
            for (n, pattern) in patterns.iter().enumerate().filter(|(_, pattern)| pattern.len() > PATTERN_MAX) {
                let message = format!("the pattern has {} bytes, and {PATTERN_MAX} are allowed", pattern.len());
                problems.push(problem(file, &format!("{path}.{n}"), Fault::new(message)));
            }
        }
    }
    let summaries = file.summary.0.iter().enumerate().map(|(at, text)| (format!("summary.{at}.text"), &text.text));
    let texts = file.remedies.iter().enumerate().flat_map(|(at, remedy)| {
        let path = move |key: &str| format!("remedies.{at}.{key}");
        let text = remedy.text.iter().map(move |text| (path("text"), text));
        text.chain(remedy.command.iter().map(move |command| (path("command"), command)))
    });
    let explain = &file.explain;
    let explained = [
        ("meaning", &explain.meaning),
        ("distinguish", &explain.distinguish),
        ("action", &explain.action),
        ("source", &explain.source),
    ];
    let explained = explained.into_iter().map(|(key, text)| (format!("explain.{key}"), text));
    for (path, text) in summaries.chain(texts).chain(explained).filter(|(_, text)| text.len() > TEXT_MAX) {
        let message = format!("the text has {} bytes, and {TEXT_MAX} are allowed", text.len());
        problems.push(problem(file, &path, Fault::new(message)));
    }
    problems
}

/// Names are Event reasons and labels: `[A-Z][A-Za-z0-9]{0,62}`, with a DNS name and `/` before it.
fn invalid_name(cause: &str) -> Option<Fault> {
    let (prefix, name) = cause.split_once('/').map_or((None, cause), |(prefix, name)| (Some(prefix), name));
    let is_name = name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|b| b.is_ascii_alphanumeric());
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    let is_prefix = prefix.is_none_or(|prefix| prefix.len() <= 100 && prefix.split('.').all(is_label));
    let hint = Some("a name such as `BadLicense`, with a prefix such as `acme.example/`".to_owned());
    (!is_name || !is_prefix).then(|| Fault { hint, ..Fault::new(format!("`{cause}` is no name of a cause")) })
}

fn problem(file: &CauseFile, path: &str, fault: Fault) -> Problem {
    Problem { cause: file.cause.clone(), path: path.to_owned(), fault }
}
