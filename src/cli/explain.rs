//! `shindan explain`: one cause in full.

use std::io::Write;

use anyhow::bail;
use shindan_core::language::phrase;
use shindan_core::rules;

use super::cause_files::AddedRules;
use super::language::LanguageArgs;
use super::{Ending, print};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The cause; upper and lower case are equal: livenessprobefailed
    cause: String,
    #[command(flatten)]
    rules: AddedRules,
    #[command(flatten)]
    language: LanguageArgs,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<Ending> {
    args.rules.load()?;
    let Some(rule) = rules::named(&args.cause) else {
        bail!("{}", rules::unknown(&args.cause));
    };
    let language = args.language.language();
    let explain = rule.explain(language);
    writeln!(out, "{} ({})", rule.cause, rule.category.as_str())?;
    for (title, text) in [
        (phrase!(language, "What it means", "意味"), explain.meaning),
        (phrase!(language, "How it is distinguished", "見分け方"), explain.distinguish),
        (phrase!(language, "What to do", "対処"), explain.action),
        (phrase!(language, "Where the signal comes from", "信号の出所"), explain.source),
    ] {
        if !text.is_empty() {
            writeln!(out, "\n{title}")?;
            for line in print::wrap(&text, 98) {
                writeln!(out, "  {line}")?;
            }
        }
    }
    Ok(Ending::Good)
}
