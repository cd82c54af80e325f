//! `shindan rules list`: the causes of the catalogue, and how many texts are translated.

use std::io::Write;

use shindan_core::case::Category;
use shindan_core::language::Language;
use shindan_core::rules::catalog;
use shindan_core::rules::catalog::file::{CauseFile, Precedence};

use super::Ending;
use crate::cli::cause_files::AddedRules;
use crate::cli::print;
use crate::config::Lang;

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Count the texts that are translated to this language, by cause and by category
    #[arg(long, value_name = "LANG")]
    lang: Option<Lang>,
    #[command(flatten)]
    rules: AddedRules,
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<Ending> {
    args.rules.load()?;
    let mut files = catalog::files();
    files.sort_by(|a, b| (place(a), &a.cause).cmp(&(place(b), &b.cause)));
    let counts = args.lang.is_some_and(|lang| Language::from(lang) == Language::Japanese);
    let rows = files.iter().map(|file| {
        let row = [&*file.cause, &*file.category, &*file.signal, precedence(file.precedence)].map(str::to_owned);
        let texts = counts.then(|| translated(file)).map(|(done, all)| format!("{done}/{all}"));
        row.into_iter().chain(texts).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if !counts {
        print::table(out, &["CAUSE", "CATEGORY", "SIGNAL", "PRECEDENCE"], &rows)?;
        return Ok(Ending::Good);
    }
    print::table(out, &["CAUSE", "CATEGORY", "SIGNAL", "PRECEDENCE", "TRANSLATED"], &rows)?;
    writeln!(out)?;
    let of_category = Category::ALL.iter().map(|category| {
        let of = files.iter().filter(|file| file.category == category.as_str()).map(|file| translated(file));
        let (causes, done, all) = of.fold((0, 0, 0), |(n, done, all), (d, a)| (n + 1, done + d, all + a));
        vec![category.as_str().to_owned(), format!("{causes}"), format!("{done}/{all}")]
    });
    print::table(out, &["CATEGORY", "CAUSES", "TRANSLATED"], &of_category.collect::<Vec<_>>())?;
    Ok(Ending::Good)
}

/// Position of the category, in the order of the pages.
fn place(file: &CauseFile) -> Option<usize> {
    Category::ALL.iter().position(|category| category.as_str() == file.category)
}

fn precedence(precedence: Precedence) -> &'static str {
    match precedence {
        Precedence::Specific => "specific",
        Precedence::Umbrella => "umbrella",
        Precedence::Symptom => "symptom",
        Precedence::LastResort => "lastResort",
    }
}

/// The number of translated texts of a cause, and of all its texts.
fn translated(file: &CauseFile) -> (usize, usize) {
    let of_file = file.ja.as_ref();
    let explain = of_file.and_then(|ja| ja.explain.as_ref());
    let summaries =
        file.summary.0.iter().map(|text| text.ja.is_some() || of_file.is_some_and(|ja| ja.summary.is_some()));
    let explained = [
        explain.is_some_and(|ja| ja.meaning.is_some()),
        explain.is_some_and(|ja| ja.distinguish.is_some()),
        explain.is_some_and(|ja| ja.action.is_some()),
    ];
    let remedies = file.remedies.iter().filter(|remedy| remedy.text.is_some()).map(|remedy| remedy.ja.is_some());
    let consequences = file.consequences.iter().map(|consequence| consequence.ja.is_some());
    let texts = summaries.chain(explained).chain(remedies).chain(consequences);
    texts.fold((0, 0), |(done, all), is_translated| (done + usize::from(is_translated), all + 1))
}
