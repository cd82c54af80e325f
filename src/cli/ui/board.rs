//! Keeps the last answer, notifies open pages, and reads again periodically.
//!
//! The source is read only while a page is open, so a forgotten terminal sends no requests to the API server.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use shindan_core::api::{Head, Remedy};
use shindan_core::facts::{Timestamp, seconds_between};
use shindan_core::language::Language;
use shindan_core::message::text;
use tokio::sync::{Mutex, Notify, watch};
use tokio::time::timeout;

use super::clock;
use super::source::{Answer, Live, Source};
use super::view::link::Subject;
use crate::cli::found::Form;
use crate::cli::look::{Gathered, LOOK_AGAIN};
use crate::cli::tree::{Detail, Reading};

/// How long a requested page waits for a fresh answer. Then it shows the last answer with its age.
const FRESH_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a requested page waits for dry runs. Then it shows the remedies alone.
const DRY_RUN_TIMEOUT: Duration = Duration::from_secs(3);
/// Seconds after which the remedies of an open page are tried again.
const DRY_RUN_AGE: i64 = 60;
/// Interval in seconds at which open pages are updated only because ages grew.
const AGES: i64 = 15;

#[derive(Debug)]
pub(super) struct Board {
    /// The source as text.
    pub(super) place: String,
    pub(super) is_live: bool,
    pub(super) language: Language,
    /// Asked about objects that have no diagnosis.
    cluster: Option<Arc<Live>>,
    state: watch::Sender<State>,
    subscribed: Notify,
    dry_runs: Mutex<HashMap<Subject, DryRuns>>,
}

/// What the API server answered to dry runs of the remedies of one diagnosis.
#[derive(Debug)]
struct DryRuns {
    at: Timestamp,
    remedies: Vec<Remedy>,
    answers: Vec<Option<String>>,
}

#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) answer: Arc<Answer>,
    /// Why there is no newer answer.
    pub(super) trouble: Option<Trouble>,
    /// Version of the answer. An open page with another version is outdated.
    pub(super) version: u64,
    updated_at: Timestamp,
    /// Time of the last successful answer.
    pub(super) answered_at: Timestamp,
    read_at: Timestamp,
    looks: u64,
    signature: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) text: String,
    pub(super) since: Timestamp,
}

impl Board {
    pub(super) fn new(place: String, is_live: bool, language: Language, first: Answer) -> Self {
        let now = clock();
        let state = State {
            signature: signature(&first),
            answer: Arc::new(first),
            trouble: None,
            version: 1,
            updated_at: now,
            answered_at: now,
            read_at: now,
            looks: 1,
        };
        let state = watch::Sender::new(state);
        Self { place, is_live, language, cluster: None, state, subscribed: Notify::new(), dry_runs: Mutex::default() }
    }

    pub(super) fn with_cluster(self, cluster: Option<Arc<Live>>) -> Self {
        Self { cluster, ..self }
    }

    /// The name of the context in the kubeconfig. A dump has none.
    pub(super) fn context(&self) -> Option<&str> {
        self.cluster.as_ref()?.context()
    }

    /// What is seen of an object that has no diagnosis. `None` without a cluster, or if it cannot be read in time.
    pub(super) async fn look_at(&self, subject: &Subject) -> Option<Gathered> {
        timeout(FRESH_TIMEOUT, self.cluster.as_ref()?.look_at(subject)).await.ok()?.ok()
    }

    /// What the API server answers to dry runs of the remedies of a diagnosis. Empty without a cluster, or if it takes too long.
    pub(super) async fn dry_runs(&self, subject: &Subject, head: &Head) -> Vec<Option<String>> {
        let Some(cluster) = &self.cluster else { return Vec::new() };
        let now = clock();
        if let Some(known) = self.known_dry_runs(subject, head, now).await {
            return known;
        }
        let tried = cluster.dry_runs(subject, head, self.language);
        let answers = timeout(DRY_RUN_TIMEOUT, tried).await.unwrap_or_default();
        let of = DryRuns { at: now, remedies: head.remedies.clone(), answers: answers.clone() };
        self.dry_runs.lock().await.insert(subject.clone(), of);
        answers
    }

    async fn known_dry_runs(&self, subject: &Subject, head: &Head, now: Timestamp) -> Option<Vec<Option<String>>> {
        let mut known = self.dry_runs.lock().await;
        known.retain(|_, of| seconds_between(of.at, now) < DRY_RUN_AGE);
        known.get(subject).filter(|of| of.remedies == head.remedies).map(|of| of.answers.clone())
    }

    /// Subscribes an open page to updates. While a subscription exists, the source is read periodically.
    pub(super) fn follow(&self) -> watch::Receiver<State> {
        let state = self.state.subscribe();
        self.subscribed.notify_one();
        state
    }

    /// The current state. Reads the source first if no page was open for a while.
    pub(super) async fn fresh(&self) -> State {
        let last = self.state.borrow().clone();
        let age = Duration::from_secs(seconds_between(last.read_at, clock()).unsigned_abs());
        if age <= LOOK_AGAIN {
            return last;
        }
        let mut state = self.follow();
        let _ = timeout(FRESH_TIMEOUT, state.wait_for(|state| state.looks != last.looks)).await;
        state.borrow_and_update().clone()
    }

    async fn until_subscribed(&self) {
        if self.state.receiver_count() == 0 {
            self.subscribed.notified().await;
        }
    }

    /// Records a read without any change.
    fn read_without_change(&self) {
        self.state.send_modify(|state| {
            state.looks += 1;
            state.read_at = clock();
            if state.trouble.is_none() {
                state.answered_at = state.read_at;
            }
        });
    }

    fn put(&self, result: anyhow::Result<Answer>) {
        let now = clock();
        self.state.send_modify(|state| {
            state.looks += 1;
            state.read_at = now;
            let has_changed = match result {
                Ok(answer) => {
                    let signature = signature(&answer);
                    let has_changed = signature != state.signature || state.trouble.is_some();
                    (state.answer, state.signature, state.trouble) = (Arc::new(answer), signature, None);
                    state.answered_at = now;
                    has_changed
                }
                Err(error) => {
                    let text = text::line(&crate::cli::error_chain(&error), 600);
                    let since = state.trouble.as_ref().map_or(now, |trouble| trouble.since);
                    let trouble = Some(Trouble { text, since });
                    let has_changed = trouble != state.trouble;
                    state.trouble = trouble;
                    has_changed
                }
            };
            let have_aged = self.is_live && seconds_between(state.updated_at, now) >= AGES;
            if has_changed || have_aged {
                state.version += 1;
                state.updated_at = now;
            }
        });
    }
}

/// Reads the source repeatedly while a page is open.
pub(super) async fn keep(board: &Board, source: &mut Source) {
    loop {
        board.until_subscribed().await;
        if source.may_have_changed() {
            board.put(source.look().await);
        } else {
            board.read_without_change();
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Hash of all content of an answer, to detect a change.
fn signature(answer: &Answer) -> u64 {
    struct Into(DefaultHasher);
    impl Write for Into {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut into = Into(DefaultHasher::new());
    // An answer that cannot be serialized counts as unchanged.
    let _ = answer.found.write(
        Form::Json,
        Reading { detail: Detail::Full, language: Language::default(), collapses_ended: false },
        answer.when,
        &mut into,
    );
    (answer.by, &answer.notes).hash(&mut into.0);
    into.0.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::found::Found;

    fn answer(notes: &[&str]) -> Answer {
        let notes = notes.iter().map(|&note| note.to_owned()).collect();
        Answer { found: Found::default(), when: Timestamp::UNIX_EPOCH, by: "a test", notes }
    }

    fn version(board: &Board) -> u64 {
        board.state.borrow().version
    }

    #[test]
    fn pages_are_notified_only_of_changes() {
        let board = Board::new("here".to_owned(), false, Language::English, answer(&[]));
        let first = version(&board);
        board.put(Ok(answer(&[])));
        board.read_without_change();
        assert_eq!(version(&board), first, "nothing has changed");
        board.put(Ok(answer(&["not allowed to list nodes"])));
        assert_eq!(version(&board), first + 1);
        board.put(Err(anyhow::anyhow!("it does not\u{1b} answer")));
        board.put(Err(anyhow::anyhow!("it does not\u{1b} answer")));
        assert_eq!(version(&board), first + 2, "a repeated error is no change");
        let state = board.state.borrow().clone();
        assert_eq!(state.answer.notes, ["not allowed to list nodes"], "the last answer stays");
        assert_eq!(state.trouble.unwrap().text, "it does not answer");
        board.put(Ok(answer(&["not allowed to list nodes"])));
        assert_eq!((version(&board), board.state.borrow().trouble.is_none()), (first + 3, true));
    }

    #[tokio::test]
    async fn the_source_is_not_read_while_no_page_is_open() {
        let board = Board::new("here".to_owned(), true, Language::English, answer(&[]));
        let waits = |board: &Board| futures::FutureExt::now_or_never(board.until_subscribed()).is_none();
        assert!(waits(&board));
        let page = board.follow();
        assert!(!waits(&board));
        drop(page);
        assert!(!waits(&board), "one look is owed");
        assert!(waits(&board));
    }
}
