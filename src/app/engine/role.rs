//! Leader election in the engine. A standby keeps its state current; when it becomes the leader, it first reads our
//! objects.

use shindan_core::outbox::Outbox;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::{Cluster, Done, Engine, Purpose};
use crate::cluster::lease::Leadership;
use crate::cluster::restore::Restored;
use crate::notify;

/// Capacity of the channel of pages while our objects are read.
const PAGES: usize = 2;

/// State of this replica in the leader election.
#[derive(Debug)]
pub(super) enum Role {
    /// Applies changes and writes nothing.
    Standby,
    /// Reads what the previous leader wrote.
    BecomingLeader {
        term: u64,
        pages: mpsc::Receiver<Restored>,
        reading: AbortHandle,
    },
    Leader {
        term: u64,
    },
}

impl<C: Cluster> Engine<C> {
    /// Lets the engine write only while it leads. `restored_in` is the term in which our objects were read, if this
    /// replica led at that time.
    #[must_use]
    pub fn elected(mut self, leadership: Leadership, restored_in: Option<u64>) -> Self {
        self.role = restored_in.map_or(Role::Standby, |term| Role::Leader { term });
        self.leadership = leadership;
        self.metrics.set_leading(self.leads());
        self
    }

    pub(super) fn leads(&self) -> bool {
        matches!(self.role, Role::Leader { .. })
    }

    pub(super) fn is_standby(&self) -> bool {
        matches!(self.role, Role::Standby)
    }

    /// Follows the state of the leader election.
    pub(super) fn follow_election(&mut self) {
        let term = self.leadership.term();
        let current = match &self.role {
            Role::Standby => None,
            Role::BecomingLeader { term, .. } | Role::Leader { term } => Some(*term),
        };
        if current.is_some() && current != term {
            self.step_down();
        }
        // Writes of an earlier term must complete first, so that the objects read contain them.
        if let Some(term) = term.filter(|_| self.is_standby() && self.slots.writing() == 0) {
            self.become_leader(term);
        }
    }

    pub(super) fn step_down(&mut self) {
        if let Role::BecomingLeader { reading, .. } = &self.role {
            reading.abort();
        }
        tracing::info!("standby: another replica may write");
        self.role = Role::Standby;
        self.outbox = Outbox::default();
        self.observed.clear();
        self.notify(notify::Handle::reset);
        self.metrics.set_leading(false);
    }

    fn become_leader(&mut self, term: u64) {
        tracing::info!(term, "becoming the leader: reading existing diagnoses");
        self.outbox = Outbox::default();
        self.notify(notify::Handle::reset);
        self.world.begin_restore();
        let (sender, pages) = mpsc::channel(PAGES);
        let cluster = self.cluster.clone();
        let reading = self.spawn(Purpose::BecomeLeader, async move {
            cluster.restore(sender).await;
            Done::ObjectsRead { term }
        });
        self.role = Role::BecomingLeader { term, pages, reading };
    }

    /// The next page of our objects. Pending forever if no read is in progress.
    pub(super) async fn page(role: &mut Role) -> Restored {
        if let Role::BecomingLeader { pages, .. } = role
            && let Some(page) = pages.recv().await
        {
            return page;
        }
        std::future::pending().await
    }

    pub(super) fn restore(&mut self, page: Restored) {
        self.notify(|handle| page.notify(handle));
        let touched = page.into_world(&mut self.world);
        self.enqueue(touched);
    }

    /// Becomes the leader after all objects were read, if the term `read_in` still runs.
    pub(super) fn objects_read(&mut self, read_in: u64) {
        let mut pending = Vec::new();
        match &mut self.role {
            Role::BecomingLeader { term, pages, .. } if *term == read_in => {
                while let Ok(page) = pages.try_recv() {
                    pending.push(page);
                }
            }
            _ => return,
        }
        pending.into_iter().for_each(|page| self.restore(page));
        let now = self.now();
        let touched = self.world.took_over(now);
        tracing::info!(term = read_in, subjects = touched.len(), "became the leader");
        self.role = Role::Leader { term: read_in };
        self.notify(|handle| handle.leads(true));
        self.metrics.set_leading(true);
        self.enqueue(touched);
    }
}
