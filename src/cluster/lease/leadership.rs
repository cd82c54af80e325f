//! Whether this process may write: asked before each write, whether or not anybody had time to say that it is over.

use tokio::sync::watch;
use tokio::time::Instant;

/// A time of leading that is renewed before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) number: u64,
    pub(super) until: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nobody has asked yet.
    Unknown,
    Following,
    Leading(Term),
}

/// What the elector last found; cheap to clone.
#[derive(Debug, Clone)]
pub struct Leadership(Option<watch::Receiver<Standing>>);

impl Leadership {
    /// Without an election: there is one replica.
    pub fn always() -> Self {
        Self(None)
    }

    pub(super) fn elected(standing: watch::Receiver<Standing>) -> Self {
        Self(Some(standing))
    }

    /// The number of the term that runs now: a process that was frozen, or cut off, has none even before its elector
    /// could say so.
    pub fn term(&self) -> Option<u64> {
        let Some(standing) = &self.0 else { return Some(0) };
        match *standing.borrow() {
            Standing::Leading(term) if Instant::now() < term.until => Some(term.number),
            Standing::Leading(_) | Standing::Following | Standing::Unknown => None,
        }
    }

    /// Waits until the elector knows who leads.
    pub async fn known(&mut self) {
        if let Some(standing) = &mut self.0 {
            // Without an elector nobody will ever know.
            let _ = standing.wait_for(|standing| *standing != Standing::Unknown).await;
        }
    }

    /// Waits for news of the elector.
    pub async fn changed(&mut self) {
        let ended = match &mut self.0 {
            Some(standing) => standing.changed().await.is_err(),
            None => true,
        };
        if ended {
            std::future::pending::<()>().await;
        }
    }
}

/// Leads and follows as a test says.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct ByHand(watch::Sender<Standing>);

#[cfg(test)]
impl ByHand {
    pub(crate) fn following() -> (Self, Leadership) {
        let (standing, receiver) = watch::channel(Standing::Following);
        (Self(standing), Leadership::elected(receiver))
    }

    pub(crate) fn lead(&self, number: u64, seconds: u64) {
        let until = Instant::now() + std::time::Duration::from_secs(seconds);
        self.0.send_replace(Standing::Leading(Term { number, until }));
    }
}
