//! Whether this process may write. Checked before each write, so it does not depend on a notification from the elector.

use tokio::sync::watch;
use tokio::time::Instant;

/// A period of leadership. It is renewed before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) number: u64,
    pub(super) until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElectionState {
    /// The elector has not read the Lease yet.
    Unknown,
    Standby,
    Leading(Term),
}

/// The latest result of the elector. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Leadership(Option<watch::Receiver<ElectionState>>);

impl Leadership {
    /// Leadership without an election, for a single replica.
    pub fn always() -> Self {
        Self(None)
    }

    pub(super) fn elected(state: watch::Receiver<ElectionState>) -> Self {
        Self(Some(state))
    }

    /// The number of the current term. A term ends by the clock, so a process that was frozen or disconnected loses it
    /// even if its elector could not report that.
    pub fn term(&self) -> Option<u64> {
        let Some(state) = &self.0 else { return Some(0) };
        match *state.borrow() {
            ElectionState::Leading(term) if Instant::now() < term.until => Some(term.number),
            ElectionState::Leading(_) | ElectionState::Standby | ElectionState::Unknown => None,
        }
    }

    /// Waits until the elector knows the leader.
    pub async fn known(&mut self) {
        if let Some(state) = &mut self.0 {
            // An error means that the elector has ended: the leader stays unknown.
            let _ = state.wait_for(|state| *state != ElectionState::Unknown).await;
        }
    }

    /// Waits for the next update of the elector.
    pub async fn changed(&mut self) {
        let ended = match &mut self.0 {
            Some(state) => state.changed().await.is_err(),
            None => true,
        };
        if ended {
            std::future::pending::<()>().await;
        }
    }
}

/// Election that a test controls.
#[derive(Debug)]
pub struct ManualElection(watch::Sender<ElectionState>);

impl ManualElection {
    pub fn standby() -> (Self, Leadership) {
        let (state, receiver) = watch::channel(ElectionState::Standby);
        (Self(state), Leadership::elected(receiver))
    }

    /// Leads for this many seconds.
    pub fn lead(&self, number: u64, seconds: u64) {
        let until = Instant::now() + std::time::Duration::from_secs(seconds);
        self.0.send_replace(ElectionState::Leading(Term { number, until }));
    }

    pub fn resign(&self) {
        self.0.send_replace(ElectionState::Standby);
    }
}
