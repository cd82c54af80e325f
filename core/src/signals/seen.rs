//! A reason and a message, and their source.

use std::cell::OnceCell;

use crate::api::Evidence;
use crate::case::evidence;
use crate::facts::{Container, EventFacts};
use crate::message::Message;

/// The reason and message of a container's status or of an Event.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    /// The reason of the state or Event.
    pub(crate) reason: &'a str,
    pub(crate) text: &'a str,
    /// The text in lower case, computed on first use, as the reason alone rules out most causes.
    lower: OnceCell<String>,
    parsed: OnceCell<Message<'a>>,
    /// The Event with the text, if the status has none.
    pub(crate) event: Option<&'a EventFacts>,
    /// The container of the text, if it is about one.
    pub(crate) container: Option<&'a Container>,
    /// Field path of the text in the container's status, if the status holds it.
    pub(crate) path: Option<&'static str>,
}

impl<'a> Seen<'a> {
    pub(crate) fn new(
        reason: &'a str,
        text: &'a str,
        event: Option<&'a EventFacts>,
        container: Option<&'a Container>,
        path: Option<&'static str>,
    ) -> Self {
        Self { reason, text, lower: OnceCell::new(), parsed: OnceCell::new(), event, container, path }
    }

    /// The parsed text.
    pub(crate) fn parsed(&self) -> &Message<'a> {
        self.parsed.get_or_init(|| Message::parse(self.text))
    }

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
