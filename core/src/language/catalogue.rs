//! Translation catalogues: files with pairs of lines, `en: ` and `ja: `.
//!
//! A catalogue is parsed on first use, so it costs nothing when the output is English.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Japanese translations, by English text.
pub(crate) static JAPANESE: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| FILES_JA.iter().flat_map(|file| pairs(file)).collect());

const FILES_JA: &[&str] = &[
    include_str!("ja/cli.txt"),
    include_str!("ja/crash.txt"),
    include_str!("ja/general.txt"),
    include_str!("ja/node.txt"),
    include_str!("ja/probe.txt"),
    include_str!("ja/workload.txt"),
];

/// Parses the pairs of a file. Lines without a prefix are comments.
fn pairs(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut english = None;
    file.lines().filter_map(move |line| match line.split_once(": ") {
        Some(("en", text)) => {
            english = Some(text);
            None
        }
        Some(("ja", text)) => Some((english.take()?, text)),
        _ => None,
    })
}
