//! `kubectl_complete-shindan`: completions of `kubectl shindan` for kubectl.
//!
//! kubectl runs this program with the words after `kubectl shindan`, the last one incomplete. The output has the format
//! of cobra: one candidate per line, with a tab before its description, and a last line of a colon and a number of
//! directives for the shell (kubernetes staging/src/k8s.io/kubectl/pkg/cmd/plugin/plugin_completion.go).

use std::io::Write;

use clap::{Arg, ArgAction, Command};
use shindan_core::language::Language;
use shindan_core::rules::known;

use super::Ending;
use super::look::kinds;

/// Directive: no space after the candidate, because more follows: `pod/`.
const NO_SPACE: u32 = 2;
/// Directive: no file names.
const NO_FILES: u32 = 4;
/// Directive: file names.
const FILES: u32 = 0;

/// Candidates for the last word, and the directive.
#[derive(Debug, PartialEq)]
struct Offer {
    candidates: Vec<String>,
    then: u32,
}

pub(super) fn run(words: &[String], plugin: &Command, out: &mut dyn Write) -> anyhow::Result<Ending> {
    let Offer { candidates, then } = offer(words, plugin);
    for candidate in candidates {
        writeln!(out, "{candidate}")?;
    }
    writeln!(out, ":{then}")?;
    Ok(Ending::Good)
}

fn offer(words: &[String], plugin: &Command) -> Offer {
    let (partial, before) = words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let chosen = before.iter().find_map(|word| plugin.find_subcommand(word));
    let command = chosen.unwrap_or(plugin);
    if let Some(flag) = before.last().and_then(|word| takes_value(command, word)) {
        return values(flag, partial, "");
    }
    if let Some((name, value)) = partial.split_once('=').filter(|(name, _)| name.starts_with("--")) {
        return takes_value(command, name).map_or_else(nothing, |flag| values(flag, value, &format!("{name}=")));
    }
    if partial.starts_with('-') {
        return Offer { candidates: starting(flags(command), partial), then: NO_FILES };
    }
    match chosen.map(Command::get_name) {
        Some("explain") => {
            let causes = known().map(|known| described(known.cause, &known.explain(Language::English).meaning));
            Offer { candidates: starting(causes, partial), then: NO_FILES }
        }
        Some("dump" | "fix") => {
            Offer { candidates: starting(kinds().map(|kind| format!("{kind}/")), partial), then: NO_FILES | NO_SPACE }
        }
        Some(_) => nothing(),
        None => {
            let kinds: Vec<String> = starting(kinds().map(|kind| format!("{kind}/")), partial);
            let commands = plugin.get_subcommands().filter(|_| before.is_empty());
            let commands = commands.map(|command| described(command.get_name(), &about(command.get_about())));
            let then = if kinds.is_empty() { NO_FILES } else { NO_FILES | NO_SPACE };
            Offer { candidates: starting(commands, partial).into_iter().chain(kinds).collect(), then }
        }
    }
}

fn nothing() -> Offer {
    Offer { candidates: Vec::new(), then: NO_FILES }
}

/// The flag that `word` is, if a value follows it.
fn takes_value<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let is_it = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| word.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4]))),
    };
    let takes = |arg: &&Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    // A switch with an optional value has it in the same word: -A, -A=true.
    command.get_arguments().find(is_it).filter(takes).filter(|arg| !arg.is_require_equals_set())
}

fn values(flag: &Arg, partial: &str, before: &str) -> Offer {
    let possible = flag.get_possible_values();
    let each = possible.iter().filter(|value| !value.is_hide_set());
    let each = each.map(|value| described(&format!("{before}{}", value.get_name()), &about(value.get_help())));
    let is_file = matches!(flag.get_value_hint(), clap::ValueHint::FilePath | clap::ValueHint::AnyPath);
    Offer { candidates: starting(each, &format!("{before}{partial}")), then: if is_file { FILES } else { NO_FILES } }
}

/// The long flags, which are self-explanatory.
fn flags(command: &Command) -> impl Iterator<Item = String> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    shown.filter_map(|arg| Some(described(&format!("--{}", arg.get_long()?), &about(arg.get_help()))))
}

fn about(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// A candidate with the first line of its description.
fn described(candidate: &str, text: &str) -> String {
    match text.lines().next().unwrap_or_default().trim() {
        "" => candidate.to_owned(),
        line => format!("{candidate}\t{line}"),
    }
}

fn starting(candidates: impl Iterator<Item = String>, partial: &str) -> Vec<String> {
    candidates.filter(|candidate| candidate.starts_with(partial)).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Plugin;

    /// The candidates without descriptions, and the directive.
    fn offered(words: &[&str]) -> (Vec<String>, u32) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let Offer { candidates, then } = offer(&words, &Plugin::command());
        let name = |candidate: &String| candidate.split('\t').next().unwrap_or_default().to_owned();
        (candidates.iter().map(name).collect(), then)
    }

    #[test]
    fn commands_and_kinds_are_offered_for_the_first_word() {
        let (all, then) = offered(&[""]);
        assert!(
            ["explain", "diagnose", "pod/", "deployment/", "node/"].iter().all(|word| all.contains(&(*word).into()))
        );
        assert_eq!(then, NO_FILES | NO_SPACE);
        assert_eq!(offered(&["dep"]), (vec!["deployment/".to_owned()], NO_FILES | NO_SPACE));
        // An alias is no candidate.
        assert_eq!(offered(&["pod/x", "exp"]), (vec![], NO_FILES));
    }

    #[test]
    fn flags_and_their_values_are_offered() {
        assert_eq!(offered(&["--all"]), (vec!["--all-namespaces".to_owned()], NO_FILES));
        assert_eq!(offered(&["-o", "t"]).0, ["tree", "table"]);
        assert_eq!(offered(&["--output=n"]), (vec!["--output=name".to_owned()], NO_FILES));
        assert_eq!(offered(&["-n", ""]), (vec![], NO_FILES));
        // A switch does not consume the next word.
        assert_eq!(offered(&["-A", "dep"]).0, ["deployment/"]);
    }

    #[test]
    fn causes_are_offered_for_explain() {
        let (causes, then) = offered(&["explain", "Image"]);
        assert!(
            causes.contains(&"ImageTagNotFound".to_owned()) && causes.iter().all(|cause| cause.starts_with("Image"))
        );
        assert_eq!(then, NO_FILES);
    }
}
