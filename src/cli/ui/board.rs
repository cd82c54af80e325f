//! The last answer, who waits for the next one, and when to look again.
//!
//! It is looked again only while a page is open: who has forgotten a terminal asks nothing of the API server.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::clock;
use super::source::{Answer, Source};
use crate::cli::found::Form;
use crate::cli::look::LOOK_AGAIN;
use crate::cli::tree::{Detail, Reading};
use crate::diagnosis::{Language, text};
use crate::facts::{Timestamp, seconds_between};

/// How long a page that is asked for waits for a look; then it shows the last answer with its age.
const PATIENCE: Duration = Duration::from_secs(10);
/// Ages of what does not change are told anew so often, in seconds.
const AGES: i64 = 15;

#[derive(Debug)]
pub(super) struct Board {
    /// What is shown, in words.
    pub(super) place: String,
    pub(super) is_live: bool,
    pub(super) language: Language,
    state: watch::Sender<State>,
    wanted: Notify,
}

#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) answer: Arc<Answer>,
    /// Why there is no newer answer.
    pub(super) trouble: Option<Trouble>,
    /// What open pages are told by: another number is another page.
    pub(super) told: u64,
    told_at: Timestamp,
    /// When there was an answer last.
    pub(super) answered_at: Timestamp,
    looked_at: Timestamp,
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
            told: 1,
            told_at: now,
            answered_at: now,
            looked_at: now,
            looks: 1,
        };
        Self { place, is_live, language, state: watch::Sender::new(state), wanted: Notify::new() }
    }

    /// For an open page: what it is told by. While it is kept, it is looked again.
    pub(super) fn follow(&self) -> watch::Receiver<State> {
        let state = self.state.subscribe();
        self.wanted.notify_one();
        state
    }

    /// What to show now; one who has looked away for a while gets a fresh look.
    pub(super) async fn fresh(&self) -> State {
        let last = self.state.borrow().clone();
        let age = Duration::from_secs(seconds_between(last.looked_at, clock()).unsigned_abs());
        if age <= LOOK_AGAIN {
            return last;
        }
        let mut state = self.follow();
        let _ = timeout(PATIENCE, state.wait_for(|state| state.looks != last.looks)).await;
        state.borrow_and_update().clone()
    }

    async fn is_wanted(&self) {
        if self.state.receiver_count() == 0 {
            self.wanted.notified().await;
        }
    }

    /// Nothing can have changed.
    fn looked(&self) {
        self.state.send_modify(|state| {
            state.looks += 1;
            state.looked_at = clock();
            if state.trouble.is_none() {
                state.answered_at = state.looked_at;
            }
        });
    }

    fn put(&self, looked: anyhow::Result<Answer>) {
        let now = clock();
        self.state.send_modify(|state| {
            state.looks += 1;
            state.looked_at = now;
            let is_news = match looked {
                Ok(answer) => {
                    let signature = signature(&answer);
                    let is_news = signature != state.signature || state.trouble.is_some();
                    (state.answer, state.signature, state.trouble) = (Arc::new(answer), signature, None);
                    state.answered_at = now;
                    is_news
                }
                Err(error) => {
                    let text = text::line(&crate::cli::told_once(&error), 600);
                    let since = state.trouble.as_ref().map_or(now, |trouble| trouble.since);
                    let trouble = Some(Trouble { text, since });
                    let is_news = trouble != state.trouble;
                    state.trouble = trouble;
                    is_news
                }
            };
            let have_aged = self.is_live && seconds_between(state.told_at, now) >= AGES;
            if is_news || have_aged {
                state.told += 1;
                state.told_at = now;
            }
        });
    }
}

/// Looks again and again, for as long as somebody wants to know.
pub(super) async fn keep(board: &Board, source: &mut Source) {
    loop {
        board.is_wanted().await;
        if source.may_have_changed() {
            board.put(source.look().await);
        } else {
            board.looked();
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// What makes one answer another than the last: anything that it says.
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
    // What cannot be written is never news; that it is shown at all is another matter.
    let _ = answer.found.write(
        Form::Json,
        Reading { detail: Detail::Full, language: Language::default() },
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

    fn told(board: &Board) -> u64 {
        board.state.borrow().told
    }

    #[test]
    fn pages_are_told_of_what_is_new_only() {
        let board = Board::new("here".to_owned(), false, Language::English, answer(&[]));
        let first = told(&board);
        board.put(Ok(answer(&[])));
        board.looked();
        assert_eq!(told(&board), first, "nothing has changed");
        board.put(Ok(answer(&["not allowed to list nodes"])));
        assert_eq!(told(&board), first + 1);
        board.put(Err(anyhow::anyhow!("it does not\u{1b} answer")));
        board.put(Err(anyhow::anyhow!("it does not\u{1b} answer")));
        assert_eq!(told(&board), first + 2, "said once");
        let state = board.state.borrow().clone();
        assert_eq!(state.answer.notes, ["not allowed to list nodes"], "the last answer stays");
        assert_eq!(state.trouble.unwrap().text, "it does not answer");
        board.put(Ok(answer(&["not allowed to list nodes"])));
        assert_eq!((told(&board), board.state.borrow().trouble.is_none()), (first + 3, true));
    }

    #[tokio::test]
    async fn nobody_looks_while_no_page_is_open() {
        let board = Board::new("here".to_owned(), true, Language::English, answer(&[]));
        let waits = |board: &Board| futures::FutureExt::now_or_never(board.is_wanted()).is_none();
        assert!(waits(&board));
        let page = board.follow();
        assert!(!waits(&board));
        drop(page);
        assert!(!waits(&board), "one look is owed");
        assert!(waits(&board));
    }
}
