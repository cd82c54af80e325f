//! Which part this replica plays: one follows, warm, until it is told to lead, and then takes over from what is written.

use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::{Cluster, Done, Engine, Purpose};
use crate::cluster::lease::Leadership;
use crate::cluster::restore::Restored;
use crate::outbox::Outbox;

/// Pages that may wait for the engine while our objects are read back.
const PAGES: usize = 2;

/// What the engine does with what changes.
#[derive(Debug)]
pub(super) enum Role {
    /// Knows what changes, and decides nothing.
    Following,
    /// Reads back what another replica wrote.
    TakingOver {
        term: u64,
        pages: mpsc::Receiver<Restored>,
        reading: AbortHandle,
    },
    Leading {
        term: u64,
    },
}

impl<C: Cluster> Engine<C> {
    /// Lets the engine write only while it leads. `restored_in` is the term in which our objects were read, if there was one
    /// by then.
    #[must_use]
    pub fn elected(mut self, leadership: Leadership, restored_in: Option<u64>) -> Self {
        self.role = restored_in.map_or(Role::Following, |term| Role::Leading { term });
        self.leadership = leadership;
        self.metrics.set_leading(self.leads());
        self
    }

    pub(super) fn leads(&self) -> bool {
        matches!(self.role, Role::Leading { .. })
    }

    pub(super) fn follows(&self) -> bool {
        matches!(self.role, Role::Following)
    }

    /// Follows the election.
    pub(super) fn take_role(&mut self) {
        let term = self.leadership.term();
        let current = match &self.role {
            Role::Following => None,
            Role::TakingOver { term, .. } | Role::Leading { term } => Some(*term),
        };
        if current.is_some() && current != term {
            self.step_down();
        }
        // Writes of an earlier term end first: what is read back is to hold them.
        if let Some(term) = term.filter(|_| self.follows() && self.slots.writing() == 0) {
            self.take_over(term);
        }
    }

    pub(super) fn step_down(&mut self) {
        if let Role::TakingOver { reading, .. } = &self.role {
            reading.abort();
        }
        tracing::info!("following: another replica may write");
        self.role = Role::Following;
        self.outbox = Outbox::default();
        self.observed.clear();
        self.metrics.set_leading(false);
    }

    fn take_over(&mut self, term: u64) {
        tracing::info!(term, "taking over: reading back what is written");
        self.outbox = Outbox::default();
        self.world.begin_takeover();
        let (sender, pages) = mpsc::channel(PAGES);
        let cluster = self.cluster.clone();
        let reading = self.spawn(Purpose::TakeOver, async move {
            cluster.restore(sender).await;
            Done::ReadBack { term }
        });
        self.role = Role::TakingOver { term, pages, reading };
    }

    /// The next page of what is read back; never, while nothing is.
    pub(super) async fn page(role: &mut Role) -> Restored {
        if let Role::TakingOver { pages, .. } = role
            && let Some(page) = pages.recv().await
        {
            return page;
        }
        std::future::pending().await
    }

    pub(super) fn restore(&mut self, page: Restored) {
        let touched = page.into_world(&mut self.world);
        self.enqueue(touched);
    }

    /// All was read back, in the term that runs still.
    pub(super) fn read_back(&mut self, read_in: u64) {
        let mut left = Vec::new();
        match &mut self.role {
            Role::TakingOver { term, pages, .. } if *term == read_in => {
                while let Ok(page) = pages.try_recv() {
                    left.push(page);
                }
            }
            _ => return,
        }
        left.into_iter().for_each(|page| self.restore(page));
        let now = self.now();
        let touched = self.world.took_over(now);
        tracing::info!(term = read_in, subjects = touched.len(), "took over");
        self.role = Role::Leading { term: read_in };
        self.metrics.set_leading(true);
        self.enqueue(touched);
    }
}
