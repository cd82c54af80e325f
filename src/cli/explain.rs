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
        bail!("{}", rules::unknown(&args.cause));
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
