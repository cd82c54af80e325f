//! Builds the content of the pages from the diagnoses. Pure: no I/O, no clock.

pub(super) mod axis;
pub(super) mod diagnosis;
pub(super) mod filter;
pub(super) mod link;
pub(super) mod overview;
pub(super) mod readiness;
#[cfg(test)]
pub(super) mod sample;
mod section;
pub(super) mod timeline;
pub(super) mod words;

use shindan_core::facts::Timestamp;
use shindan_core::language::Language;
use shindan_core::language::{phrase, translate};

use self::words::When;
use crate::cli::found::Found;

/// The diagnoses, and the current time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) found: &'a Found,
    pub(super) now: Timestamp,
    pub(super) language: Language,
}

/// The parts common to all pages.
#[derive(Debug, Default, Clone)]
pub(super) struct Frame {
    /// Language of the user. Texts of a diagnosis are in the language in which it was made.
    pub(super) language: Language,
    pub(super) title: String,
    /// The context of the kubeconfig.
    pub(super) context: Option<String>,
    /// The address of the cluster, or the files.
    pub(super) place: String,
    pub(super) by: String,
    /// For a dump: the time as of which it is diagnosed.
    pub(super) as_of: Option<When>,
    pub(super) notes: Vec<String>,
    pub(super) trouble: Option<Trouble>,
    /// Version of the answer, by which an open page detects that it is outdated.
    pub(super) version: u64,
}

impl Frame {
    /// `5m ago`.
    pub(super) fn ago(&self, when: &When) -> String {
        when.ago(self.language)
    }

    /// The note of how many things could not be read.
    pub(super) fn unread(&self) -> String {
        match self.notes.len() {
            1 => phrase!(self.language, "1 part could not be read", "読めなかったもの 1 件").to_owned(),
            n => translate!(self.language, "{n} parts could not be read", "読めなかったもの {n} 件", n),
        }
    }
}

/// Why the page shows an older answer.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) text: String,
    /// `No update for 5m.`
    pub(super) no_update: String,
    /// `The page shows data from 5m ago`, the text before the time.
    pub(super) shown_from: String,
    /// Time of the answer that is shown.
    pub(super) shown: When,
}
