//! A reason and a message, and where they were read.

use std::cell::OnceCell;

use crate::api::Evidence;
use crate::diagnosis::evidence;
use crate::facts::{Container, EventFacts};

/// The reason and message of a container's status or of an Event.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    /// The reason of the state or Event.
    pub(crate) reason: &'a str,
    pub(crate) text: &'a str,
    /// The text in lower case, made when it is first needed: the reason alone rules out most causes.
    pub(crate) lower: OnceCell<String>,
    /// The Event that holds the text, where the status has none.
    pub(crate) event: Option<&'a EventFacts>,
    /// The container, where the text is about one.
    pub(crate) container: Option<&'a Container>,
    /// Field path of the text within the container's status, where the status holds it.
    pub(crate) path: Option<&'static str>,
}

impl Seen<'_> {
    /// Whether the text contains `part`, which is in lower case.
    pub(crate) fn has(&self, part: &str) -> bool {
        self.lower.get_or_init(|| self.text.to_ascii_lowercase()).contains(part)
    }

    /// The field or Event that holds the message.
    pub(crate) fn evidence(&self) -> impl Iterator<Item = Evidence> {
        let field = self
            .path
            .zip(self.container)
            .map(|(path, container)| evidence::field(format!("{}.{path}", container.status_path()), self.text));
        field.into_iter().chain(self.event.map(evidence::event))
    }
}
