//! What the engine hands over. It never blocks, and keeps only the newest state of each diagnosis.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shindan_core::reconcile::{DiagnosisKey, Object};
use tokio::sync::Notify;

use super::incident::Member;

/// A write of the annotation with which a later process knows what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub key: DiagnosisKey,
    /// `None` removes it.
    pub text: Option<String>,
}

/// The newest state of a diagnosis.
#[derive(Debug)]
pub(super) enum News {
    Written(Box<Member>),
    Removed,
}

/// What happened since it was last taken.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    /// Everything before is void: another replica has led since.
    pub(super) reset: bool,
    /// Whether this replica leads, if that changed.
    pub(super) leads: Option<bool>,
    /// Diagnoses with the annotation of an earlier process.
    pub(super) marked: Vec<(Box<Member>, String)>,
    pub(super) news: BTreeMap<DiagnosisKey, News>,
}

#[derive(Debug, Default)]
struct Shared {
    inbox: Mutex<Inbox>,
    changed: Notify,
}

/// The end of the engine.
#[derive(Debug, Clone, Default)]
pub struct Handle(Arc<Shared>);

impl Handle {
    fn change(&self, change: impl FnOnce(&mut MutexGuard<'_, Inbox>)) {
        change(&mut self.0.inbox.lock().unwrap_or_else(PoisonError::into_inner));
        self.0.changed.notify_one();
    }

    /// A diagnosis was written, and the API server has acknowledged it.
    pub fn written(&self, key: &DiagnosisKey, object: &Object) {
        if let Some(member) = Member::of(key, object) {
            self.change(|inbox| drop(inbox.news.insert(key.clone(), News::Written(Box::new(member)))));
        }
    }

    /// A diagnosis was removed, or its namespace is being deleted.
    pub fn removed(&self, key: &DiagnosisKey) {
        self.change(|inbox| drop(inbox.news.insert(key.clone(), News::Removed)));
    }

    /// A diagnosis of an earlier process was read, with the annotation of [`Mark`].
    pub fn restored(&self, key: &DiagnosisKey, object: &Object, mark: Option<&str>) {
        let Some(member) = Member::of(key, object) else { return };
        self.change(|inbox| {
            if let Some(mark) = mark {
                inbox.marked.push((Box::new(member.clone()), mark.to_owned()));
            }
            if member.is_active() {
                inbox.news.insert(key.clone(), News::Written(Box::new(member)));
            }
        });
    }

    /// This replica may send from now on, or no longer. In both cases what was known before a stand-by is void.
    pub fn leads(&self, leads: bool) {
        self.change(|inbox| inbox.leads = Some(leads));
    }

    /// All diagnoses are about to be read again.
    pub fn reset(&self) {
        self.change(|inbox| **inbox = Inbox { reset: true, leads: Some(false), ..Inbox::default() });
    }

    pub(super) fn take(&self) -> Inbox {
        std::mem::take(&mut self.0.inbox.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }
}
