//! What stands for each English text, as translators edit it: files of pairs of lines, `en: ` and `ja: `.
//!
//! A catalogue is read when a text is first looked up in it: whoever speaks English pays nothing for it.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::diagnosis::catalog::explained_in_japanese;

/// What stands for each English text in Japanese.
pub(crate) static JAPANESE: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| FILES_JA.iter().flat_map(|file| pairs(file)).chain(explained_in_japanese()).collect());

const FILES_JA: &[&str] = &[
    include_str!("ja/cli.txt"),
    include_str!("ja/crash.txt"),
    include_str!("ja/general.txt"),
    include_str!("ja/node.txt"),
    include_str!("ja/probe.txt"),
    include_str!("ja/workload.txt"),
];

/// The pairs of a file. Lines that begin otherwise are for those who read it.
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
