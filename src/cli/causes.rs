//! `shindan causes`: the table of all causes, also as docs/causes.md, the index of docs/causes/.

use std::io::Write;

use anyhow::Context;
use serde::Serialize;
use shindan_core::case::Category;
use shindan_core::language::Language;
use shindan_core::rules::known;
use shindan_core::rules::{Explain, Known};

use super::cause_files::AddedRules;
use super::language::LanguageArgs;
use super::{Ending, print};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Form,
    #[command(flatten)]
    rules: AddedRules,
    #[command(flatten)]
    language: LanguageArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Form {
    Table,
    /// Markdown, as in docs/causes.md
    Md,
    Json,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<Ending> {
    args.rules.load()?;
    let language = args.language.language();
    match args.output {
        Form::Table => table(language, out)?,
        Form::Md => markdown(language, out)?,
        Form::Json => json(language, out)?,
    }
    Ok(Ending::Good)
}

/// The rules by category, in the order of the catalogue.
fn families(language: Language) -> impl Iterator<Item = (Category, Vec<(&'static str, Explain)>)> {
    let explained = move |rule: Known| (rule.cause, rule.explain(language));
    let of = move |family| known().filter(|rule| rule.category == family).map(explained).collect();
    Category::ALL.into_iter().map(move |family| (family, of(family)))
}

fn table(language: Language, out: &mut dyn Write) -> std::io::Result<()> {
    let rows = families(language).flat_map(|(family, rules)| {
        rules
            .into_iter()
            .map(move |(cause, explain)| vec![cause.to_owned(), family.as_str().to_owned(), explain.meaning])
    });
    print::table(out, &["CAUSE", "CATEGORY", "MEANING"], &rows.collect::<Vec<_>>())
}

fn markdown(language: Language, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "# Causes\n")?;
    writeln!(out, "<!-- Written by `shindan causes -o md`; `UPDATE=1 cargo test --test docs` refreshes it. -->\n")?;
    writeln!(
        out,
        "The values of `status.cause` of a diagnosis and of the reason of its Event. The names are API and never change; the \
         categories (`status.category`) do not change either, and suit alerts. Each cause has a page: its meaning, how to \
         distinguish it from similar causes, what to do, and the output of Shindan for a recorded case. `shindan explain \
         CAUSE` prints the same in a terminal.\n"
    )?;
    for (family, rules) in families(language).filter(|(_, rules)| !rules.is_empty()) {
        writeln!(out, "- [{0}](#{1}): {2}", family.as_str(), family.as_str().to_ascii_lowercase(), rules.len())?;
    }
    for (family, rules) in families(language).filter(|(_, rules)| !rules.is_empty()) {
        writeln!(out, "\n## {}\n", family.as_str())?;
        for (cause, explain) in rules {
            writeln!(out, "- [{cause}](causes/{cause}.md): {}", one_line(&explain.meaning))?;
        }
    }
    Ok(())
}

/// Escapes angle brackets outside of code, which Markdown would treat as tags.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = words.split('`').enumerate();
    let escaped = parts.map(|(i, part)| if i % 2 == 0 { part.replace('<', "\\<") } else { part.to_owned() });
    escaped.collect::<Vec<_>>().join("`")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    cause: &'static str,
    category: &'static str,
    meaning: String,
    distinguish: String,
    action: String,
    source: String,
}

fn json(language: Language, out: &mut dyn Write) -> anyhow::Result<()> {
    let entries = families(language).flat_map(|(family, rules)| {
        rules.into_iter().map(move |(cause, explain)| Entry {
            cause,
            category: family.as_str(),
            meaning: explain.meaning,
            distinguish: explain.distinguish,
            action: explain.action,
            source: explain.source,
        })
    });
    serde_json::to_writer_pretty(&mut *out, &entries.collect::<Vec<_>>()).context("the list cannot be written")?;
    writeln!(out)?;
    Ok(())
}
