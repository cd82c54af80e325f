//! Turns the lists of one or more watches into complete lists of a source.
//!
//! `ListStarted` and `ListDone` refer to a whole source: objects missing from the list are gone. A watch of one of
//! several namespaces lists only a part of its source, so it finds deleted objects itself and sends a change for each.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kube::core::ObjectMeta;
use shindan_core::state::Source;

/// Counts the watches of a source that have listed. The first list of the source is complete when all have.
#[derive(Debug)]
pub(super) struct Gate {
    source: Source,
    watches: usize,
    started: AtomicBool,
    unlisted: AtomicUsize,
}

impl Gate {
    pub(super) fn new(source: Source, watches: usize) -> Self {
        Self { source, watches, started: AtomicBool::new(false), unlisted: AtomicUsize::new(watches) }
    }

    pub(super) fn is_single(&self) -> bool {
        // Events are only merged, so a relist of Events needs no start and end.
        self.watches == 1 && self.source != Source::Events
    }

    fn start(&self) -> bool {
        !self.started.swap(true, Ordering::AcqRel)
    }

    /// Whether this was the last watch to complete its list.
    fn finish(&self) -> bool {
        self.unlisted.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

#[derive(Debug, Clone)]
pub(super) enum Listing {
    /// The watch is the only one of its source.
    Alone,
    Shared(Arc<Gate>),
}

/// State of the lists of one watch.
#[derive(Debug)]
pub(super) struct Lists {
    listing: Listing,
    /// Whether the current list has been reported as started.
    open: bool,
    listed_once: bool,
    /// Objects of the last list and of the current one, by UID, if this watch must find deleted objects.
    known: HashMap<String, ObjectMeta>,
    named: HashMap<String, ObjectMeta>,
    tracks: bool,
}

/// Result of a completed list.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Whether the whole source is listed.
    pub(super) complete: bool,
    /// Objects deleted since the last list.
    pub(super) gone: Vec<ObjectMeta>,
}

impl Lists {
    pub(super) fn new(listing: Listing, source: Source) -> Self {
        let tracks = matches!(listing, Listing::Shared(_)) && source != Source::Events;
        Self { listing, open: false, listed_once: false, known: HashMap::new(), named: HashMap::new(), tracks }
    }

    /// Starts a list. It is reported with its first object or its end, because a denied list does not start.
    pub(super) fn begin(&mut self) {
        self.open = false;
        self.named.clear();
    }

    /// Whether the list of the source starts with this object.
    pub(super) fn opens(&mut self) -> bool {
        if std::mem::replace(&mut self.open, true) {
            return false;
        }
        match &self.listing {
            Listing::Alone => true,
            Listing::Shared(gate) => gate.start(),
        }
    }

    pub(super) fn name(&mut self, meta: &ObjectMeta) {
        if self.tracks {
            let (uid, slim) = slim(meta);
            self.named.insert(uid, slim);
        }
    }

    pub(super) fn end(&mut self) -> Done {
        self.open = false;
        let first = !std::mem::replace(&mut self.listed_once, true);
        let complete = match &self.listing {
            Listing::Alone => true,
            Listing::Shared(gate) => first && gate.finish(),
        };
        let named = std::mem::take(&mut self.named);
        let before = std::mem::replace(&mut self.known, named);
        let gone = before.into_iter().filter(|(uid, _)| !self.known.contains_key(uid)).map(|(_, meta)| meta);
        Done { complete, gone: gone.collect() }
    }

    pub(super) fn applied(&mut self, meta: &ObjectMeta) {
        if self.tracks {
            let (uid, slim) = slim(meta);
            self.known.insert(uid, slim);
        }
    }

    pub(super) fn deleted(&mut self, meta: &ObjectMeta) {
        self.known.remove(meta.uid.as_deref().unwrap_or_default());
    }
}

fn slim(meta: &ObjectMeta) -> (String, ObjectMeta) {
    let slim = ObjectMeta {
        name: meta.name.clone(),
        namespace: meta.namespace.clone(),
        uid: meta.uid.clone(),
        ..ObjectMeta::default()
    };
    (meta.uid.clone().unwrap_or_default(), slim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(uid: &str) -> ObjectMeta {
        ObjectMeta { uid: Some(uid.to_owned()), name: Some(uid.to_owned()), ..ObjectMeta::default() }
    }

    #[test]
    fn a_shared_source_is_complete_when_all_have_listed_and_then_finds_deleted_objects() {
        let gate = Arc::new(Gate::new(Source::Pods, 2));
        let mut one = Lists::new(Listing::Shared(gate.clone()), Source::Pods);
        let mut two = Lists::new(Listing::Shared(gate), Source::Pods);
        one.begin();
        two.begin();
        assert!(one.opens());
        assert!(!two.opens());
        one.name(&meta("a"));
        one.name(&meta("b"));
        assert!(!one.end().complete);
        assert!(two.end().complete);
        one.begin();
        assert!(!one.opens());
        one.name(&meta("b"));
        let done = one.end();
        assert!(!done.complete);
        assert_eq!(done.gone.iter().map(|m| m.uid.as_deref().unwrap()).collect::<Vec<_>>(), ["a"]);
    }

    #[test]
    fn a_denied_list_has_not_started() {
        let mut alone = Lists::new(Listing::Alone, Source::Pods);
        alone.begin();
        alone.begin();
        assert!(alone.opens());
        assert!(!alone.opens());
        assert!(alone.end().complete);
        alone.begin();
        assert!(alone.opens());
    }
}
