//! `shindan causes`: the whole table, also as docs/causes.md, the index of docs/causes/.

use std::io::Write;

use anyhow::Context;
use serde::Serialize;

use super::language::LanguageArgs;
use super::{Ending, print};
use crate::diagnosis::rules::known;
use crate::diagnosis::{Category, Known, Language};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The form
    #[arg(short, long, value_name = "FORM", default_value = "table")]
    output: Form,
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
    let language = args.language.language();
    match args.output {
        Form::Table => table(language, out)?,
        Form::Md => markdown(language, out)?,
        Form::Json => json(language, out)?,
    }
    Ok(Ending::Good)
}

/// The rules by family, in the order of the families and, within one, of the table.
fn families(language: Language) -> impl Iterator<Item = (Category, Vec<Known>)> {
    let told = move |rule: Known| Known { explain: rule.explain.in_language(language), ..rule };
    let of = move |family| known().filter(|rule| rule.category == family).map(told).collect();
    Category::ALL.into_iter().map(move |family| (family, of(family)))
}

fn table(language: Language, out: &mut dyn Write) -> std::io::Result<()> {
    let rows = families(language).flat_map(|(family, rules)| {
        rules
            .into_iter()
            .map(move |r| vec![r.cause.to_owned(), family.as_str().to_owned(), r.explain.meaning.to_owned()])
    });
    print::table(out, &["CAUSE", "CATEGORY", "MEANING"], &rows.collect::<Vec<_>>())
}

fn markdown(language: Language, out: &mut dyn Write) -> std::io::Result<()> {
    writeln!(out, "# Causes\n")?;
    writeln!(out, "<!-- Written by `shindan causes -o md`; `UPDATE=1 cargo test --test docs` refreshes it. -->\n")?;
    writeln!(
        out,
        "What `status.cause` of a diagnosis, and the reason of its Event, can say. The names are API and are never changed; \
         the families (`status.category`) stay as they are, and suit alerts. Each cause has a page: what it means, how it is \
         told apart from what looks like it, what to do, and what Shindan says of a real case. `shindan explain CAUSE` says \
         the same in a terminal.\n"
    )?;
    for (family, rules) in families(language).filter(|(_, rules)| !rules.is_empty()) {
        writeln!(out, "- [{0}](#{1}): {2}", family.as_str(), family.as_str().to_ascii_lowercase(), rules.len())?;
    }
    for (family, rules) in families(language).filter(|(_, rules)| !rules.is_empty()) {
        writeln!(out, "\n## {}\n", family.as_str())?;
        for rule in rules {
            writeln!(out, "- [{0}](causes/{0}.md): {1}", rule.cause, one_line(rule.explain.meaning))?;
        }
    }
    Ok(())
}

/// Angle brackets would vanish as tags; outside of code they are escaped.
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
    meaning: &'static str,
    told_apart: &'static str,
    action: &'static str,
    source: &'static str,
}

fn json(language: Language, out: &mut dyn Write) -> anyhow::Result<()> {
    let entries = families(language).flat_map(|(family, rules)| {
        rules.into_iter().map(move |rule| Entry {
            cause: rule.cause,
            category: family.as_str(),
            meaning: rule.explain.meaning,
            told_apart: rule.explain.told_apart,
            action: rule.explain.action,
            source: rule.explain.source,
        })
    });
    serde_json::to_writer_pretty(&mut *out, &entries.collect::<Vec<_>>()).context("the list cannot be written")?;
    writeln!(out)?;
    Ok(())
}
