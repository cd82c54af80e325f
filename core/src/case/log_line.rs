//! The lines that explain why runs of containers ended.

use std::cell::RefCell;
use std::ptr;

use crate::facts::Terminated;

/// A line of the termination message or the log of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) text: String,
    /// The line comes from the log, not from the status.
    pub(crate) in_log: bool,
}

/// The decisive line of each run that a diagnosis has read so far: several signals need it, and choosing it takes longer
/// than the rest of their work.
#[derive(Debug, Default)]
pub(crate) struct DecisiveLines(RefCell<Vec<(*const Terminated, Option<Line>)>>);

impl DecisiveLines {
    /// The line of a run of the case, chosen by `choose` when it is first needed.
    pub(super) fn of(&self, run: &Terminated, choose: impl FnOnce() -> Option<Line>) -> Option<Line> {
        let known = self.0.borrow().iter().find(|(known, _)| ptr::eq(*known, run)).map(|(_, line)| line.clone());
        known.unwrap_or_else(|| {
            let line = choose();
            self.0.borrow_mut().push((run, line.clone()));
            line
        })
    }
}
