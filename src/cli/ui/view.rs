//! What a page shows, made of what was found. Pure: no I/O, no clock.

pub(super) mod axis;
pub(super) mod diagnosis;
pub(super) mod filter;
pub(super) mod link;
pub(super) mod overview;
pub(super) mod readiness;
#[cfg(test)]
pub(super) mod sample;
pub(super) mod timeline;
pub(super) mod words;

use self::words::When;
use crate::cli::found::Found;
use crate::diagnosis::Language;
use crate::diagnosis::language::{phrase, say};
use crate::facts::Timestamp;

/// What was found, and now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) found: &'a Found,
    pub(super) now: Timestamp,
    pub(super) language: Language,
}

/// What stands around each page.
#[derive(Debug, Default, Clone)]
pub(super) struct Frame {
    /// That of whoever looks; what was diagnosed is in that of who diagnosed it.
    pub(super) language: Language,
    pub(super) title: String,
    /// The cluster, or the files.
    pub(super) place: String,
    pub(super) by: String,
    /// Of a dump: the moment that it is judged as of.
    pub(super) as_of: Option<When>,
    pub(super) notes: Vec<String>,
    pub(super) trouble: Option<Trouble>,
    /// By which an open page knows that it is old.
    pub(super) told: u64,
}

impl Frame {
    /// `5m ago`.
    pub(super) fn ago(&self, when: &When) -> String {
        when.ago(self.language)
    }

    /// Of how much there are notes.
    pub(super) fn unread(&self) -> String {
        match self.notes.len() {
            1 => phrase!(self.language, "One thing could not be read").to_owned(),
            n => say!(self.language, "{n} things could not be read", n),
        }
    }
}

/// Why what is shown is not of now.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) text: String,
    /// `No new answer for 5m.`
    pub(super) silence: String,
    /// `What is shown is from 5m ago`, before the moment.
    pub(super) shown_from: String,
    /// When the answer that is shown was made.
    pub(super) shown: When,
}
