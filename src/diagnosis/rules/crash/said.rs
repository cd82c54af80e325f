//! Causes that only the program itself tells, in the line that it wrote last: an address in use, a module that is
//! missing, a dependency that does not answer. What Kubernetes shows of them is an exit code.

mod access;
mod handles;
mod remedies;
mod rows;
mod settings;
mod space;
mod words;

use std::cell::OnceCell;

use self::handles::Handles;
use crate::api::Confidence;
use crate::diagnosis::language::{Sentence, phrase, say};
use crate::diagnosis::rules::signature::{self, Row, Seen};
use crate::diagnosis::signals::termination::end::{self, settled_crash, who};
use crate::diagnosis::signals::termination::{end_evidence, log_line};
use crate::diagnosis::{Case, Category, Family, Finding, Recovery, Rule, Verdict, restarts, text};
use crate::facts::{Container, Terminated};

const RULES: [Rule; rows::ROWS.len()] = signature::rules(rows::ROWS, Category::Crash, Recovery::Restarting);

pub(in crate::diagnosis::rules) const FAMILY: Family = Family::Table { rules: &RULES, ask };

/// Exit code 134: the process aborted itself, which is how some runtimes end when memory is gone or a check fails.
const ABORTED: i32 = 134;

/// The line that decides. Where the last that speaks of an error tells only that a connection was refused (the innermost
/// cause of a stack), the nearest line above it that says by whom.
pub(super) fn line(case: &Case<'_>, container: &Container, run: &Terminated) -> Option<log_line::Line> {
    let last = log_line::line(case, container, run)?;
    // .NET writes the innermost exception last, and what it was about above.
    if last.text.starts_with("---> ") {
        let is_named = |line: &log_line::Line| {
            let is_port = text::has(&line.text, &["in use"]) && words::port(&line.text).is_some();
            !line.text.starts_with("---> ") && (is_port || access::forbidden_path(&line.text).is_some())
        };
        if let Some(named) = log_line::telling(case, container, run).find(is_named) {
            return Some(named);
        }
    }
    if !words::is_unnamed_refusal(&last.text) {
        return Some(last);
    }
    let names = |line: &log_line::Line| words::is_refusal(&line.text) && words::endpoint(&line.text).is_some();
    let tried = |line: &log_line::Line| words::is_try(&line.text) && words::endpoint(&line.text).is_some();
    if let Some(named) = log_line::telling(case, container, run).find(names) {
        return Some(named);
    }
    Some(match log_line::telling(case, container, run).find(tried) {
        Some(named) => last.after(&named),
        None => last,
    })
}

/// Whether the program fell to an exception of a connection that did not come about, though it does not say with whom.
fn fell_to_a_refusal(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    let Some((container, run)) = run_of(seen) else { return false };
    words::unnamed(seen.text).is_some() && log_line::is_the_end(case, container, run, seen.text)
}

/// Whether the stack of an exception ends in a call of `bind`: Python writes it above, .NET below.
fn comes_from_bind(case: &Case<'_>, seen: &Seen<'_>) -> bool {
    run_of(seen).is_some_and(|(container, run)| log_line::comes_from(case, container, run, seen.text, "bind("))
}

fn run_of<'a>(seen: &Seen<'a>) -> Option<(&'a Container, &'a Terminated)> {
    let container = seen.container?;
    Some((container, container.last_end()?))
}

/// The variable that the line names, or one beside it.
pub(super) fn variable(case: &Case<'_>, container: &Container, run: &Terminated, said: &str) -> Option<String> {
    let elsewhere = || log_line::all(case, container, run).find_map(|(line, _)| words::variable(line));
    words::variable(said).or_else(elsewhere).map(str::to_owned)
}

fn ask(case: &Case<'_>) -> Vec<(usize, Verdict)> {
    signature::ask_containers(case, |container| {
        let run = end::crash(case, container).filter(|run| ended_by_itself(run))?;
        let line = line(case, container, run)?;
        let seen = Seen {
            reason: if aborted(case, container, run) { rows::ABORTED } else { rows::BY_ITSELF },
            text: &line.text,
            lower: OnceCell::new(),
            event: None,
            container: Some(container),
            path: None,
        };
        let (place, row) = signature::first(rows::ROWS, case, &seen)?;
        // The Events of a kill may still come, and then the last words are of no interest.
        if let Err(not_yet) = settled_crash(case, container) {
            return Some((place, not_yet));
        }
        let finding =
            Finding::of_container(container, say(case, container, run, &seen, row)).confidence(Confidence::Likely);
        let finding = finding.rooted((row.root)(case, &seen));
        let finding = end_evidence(container, run, finding).with(line.evidence(container));
        Some((place, end::judged(case, finding)))
    })
}

/// Whether the process aborted itself for what it found broken within; not for an exception that nobody caught.
fn aborted(case: &Case<'_>, container: &Container, run: &Terminated) -> bool {
    run.exit_code == ABORTED && !log_line::is_of_exception(case, container, run)
}

/// An end by the program's own code. 126 and 127 (a shell's, or the dynamic linker's) have causes of their own, and a signal
/// needs no words.
fn ended_by_itself(run: &Terminated) -> bool {
    let own_code = run.exit_code == ABORTED || run.ending_signal().is_none();
    own_code && !matches!(run.exit_code, 0 | 126 | 127) && run.reason != end::OOM_KILLED && !super::lost::is_lost(run)
}

fn say(case: &Case<'_>, container: &Container, run: &Terminated, seen: &Seen<'_>, row: &Row) -> String {
    let said = seen.text;
    let mut sentence = Sentence::of(case, row.says);
    let mut fill = |place: &str, with: &dyn Fn() -> String| sentence.fill(place, with);
    fill("container", &|| who(container));
    fill("port", &|| {
        words::port(said).map_or_else(|| phrase!(case, "its port").to_owned(), |port| say!(case, "port {port}", port))
    });
    fill("rival", &|| {
        let port = words::port(said);
        words::rival(case, container, port)
            .map_or_else(String::new, |rival| say!(case, " (by {rival}, it seems)", rival))
    });
    fill("endpoint", &|| {
        words::endpoint(said)
            .or_else(|| words::unnamed(said).map(|what| case.language().of(what).to_owned()))
            .unwrap_or_default()
    });
    fill("refused", &|| access::refused(said).map_or_else(String::new, |refused| refused.told(case.language())));
    fill("forbidden", &|| access::forbidden_path(said).unwrap_or_default().to_owned());
    fill("missing", &|| access::missing_path(said).unwrap_or_default().to_owned());
    fill("place", &|| {
        let path = access::forbidden_path(said).or_else(|| access::missing_path(said));
        access::place(case, container, path.unwrap_or_default())
    });
    fill("distrust", &|| access::distrust(said).told(case.language()).to_owned());
    fill("server", &|| words::endpoint(said).unwrap_or_else(|| phrase!(case, "the server").to_owned()));
    fill("argument", &|| settings::argument(container, said).unwrap_or_default().to_owned());
    fill("kind", &|| settings::kind(said).map_or_else(String::new, |(kind, of)| format!("{kind} ({of})")));
    let path = || words::path(said).filter(|_| !space::is_shared_memory(said));
    fill("path", &|| path().map_or_else(String::new, |path| format!(" {path}")));
    fill("full", &|| space::full(case, container, said).told(case));
    fill("node", &|| case.its_node().to_owned());
    fill("sysctl", &|| handles::met(said).and_then(Handles::sysctl).unwrap_or_default().to_owned());
    fill("variable", &|| {
        variable(case, container, run, said).unwrap_or_else(|| phrase!(case, "that it needs").to_owned())
    });
    let mut out = sentence.told();
    if let Some(rhythm) = restarts::rhythm(case, container) {
        out = say!(case, "{what} {rhythm}", what = out, rhythm);
    }
    format!("{out}: \"{}\"{}", text::line(log_line::bare(said), 90), restarts::tail(case, container))
}
