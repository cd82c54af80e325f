//! `shindan explain`: one cause in full.

use std::io::Write;

use anyhow::bail;

use super::language::LanguageArgs;
use super::{Ending, print};
use crate::diagnosis::rules;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The cause, in any case: livenessprobefailed
    cause: String,
    #[command(flatten)]
    language: LanguageArgs,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<Ending> {
    let Some(rule) = rules::named(&args.cause) else {
        bail!("{}", unknown(&args.cause));
    };
    let explain = rule.explain.in_language(args.language.language());
    writeln!(out, "{} ({})", rule.cause, rule.category.as_str())?;
    for (title, text) in [
        ("What it means", explain.meaning),
        ("How it is told apart", explain.told_apart),
        ("What to do", explain.action),
        ("Where the signal comes from", explain.source),
    ] {
        if !text.is_empty() {
            writeln!(out, "\n{title}")?;
            for line in print::wrap(text, 98) {
                writeln!(out, "  {line}")?;
            }
        }
    }
    Ok(Ending::Good)
}

fn unknown(asked: &str) -> String {
    const STATES: [&str; 3] = ["CrashLoopBackOff", "ImagePullBackOff", "ContainersNotReady"];
    let shown = crate::diagnosis::text::line(asked, 80);
    let mut said = format!("unknown cause {shown:?}.");
    if let Some(state) = STATES.iter().find(|state| state.eq_ignore_ascii_case(asked)) {
        said = format!("{state} is a state, never a cause: `kubectl get poddiagnoses` names what lies behind it.");
    }
    let near = nearest(asked, rules::known().map(|rule| rule.cause));
    if !near.is_empty() {
        said = format!("{said} Did you mean {}?", near.join(", "));
    }
    said.push_str(" `shindan causes` lists them all.");
    said
}

/// The names nearest to what was typed: those that hold it, then those that few changes of a letter away.
fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 3;
    let asked = asked.to_ascii_lowercase();
    let mut scored: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let lower = name.to_ascii_lowercase();
            let holds = asked.len() >= 3 && lower.contains(&asked);
            let far = distance(&asked, &lower);
            (holds || far <= asked.len().max(lower.len()) / 3).then_some((if holds { 0 } else { far }, name))
        })
        .collect();
    scored.sort_unstable();
    scored.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// How many letters must be added, removed or changed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let change = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_finds_the_name_that_was_meant() {
        let names = ["OOMKilled", "LivenessProbeFailed", "StartupProbeFailed", "ImageTagNotFound"];
        assert_eq!(nearest("OOMKiled", names.into_iter()), ["OOMKilled"]);
        assert_eq!(nearest("probe", names.into_iter()), ["LivenessProbeFailed", "StartupProbeFailed"]);
        assert!(nearest("zzz", names.into_iter()).is_empty());
    }

    #[test]
    fn a_state_is_told_from_a_cause() {
        assert!(unknown("crashloopbackoff").starts_with("CrashLoopBackOff is a state"));
    }
}
