//! Source of the answer for the page: a cluster, as for `kubectl shindan`, or files, as for `shindan diagnose`.

mod custom;
mod files;
mod live;

use std::sync::Arc;

use shindan_core::facts::Timestamp;

use self::files::Files;
pub(super) use self::live::Live;
use super::Args;
use crate::cli::found::Found;

/// The result of one read.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) found: Found,
    /// When it was read. For a dump: the time as of which it is diagnosed.
    pub(super) when: Timestamp,
    /// How the diagnoses were made.
    pub(super) by: &'static str,
    /// What could not be read, and the consequence, one line each.
    pub(super) notes: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Source {
    Live(Arc<Live>),
    Files(Box<Files>),
}

impl Source {
    pub(super) async fn of(args: &Args) -> anyhow::Result<Self> {
        Ok(if args.files.is_empty() {
            Self::Live(Arc::new(Live::connect(args).await?))
        } else {
            Self::Files(Box::new(Files::of(args)))
        })
    }

    pub(super) async fn look(&mut self) -> anyhow::Result<Answer> {
        match self {
            Self::Live(live) => live.look().await,
            Self::Files(files) => files.look().await,
        }
    }

    /// Whether a new read may give another result. For a cluster this is always possible.
    pub(super) fn may_have_changed(&self) -> bool {
        match self {
            Self::Live(_) => true,
            Self::Files(files) => files.have_changed(),
        }
    }

    /// The cluster that can be asked about one object.
    pub(super) fn cluster(&self) -> Option<Arc<Live>> {
        match self {
            Self::Live(live) => Some(Arc::clone(live)),
            Self::Files(_) => None,
        }
    }

    /// Whether ages grow. In a dump the time is fixed.
    pub(super) fn is_live(&self) -> bool {
        matches!(self, Self::Live(_))
    }

    /// The address of the API server, or the files.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Live(live) => live.place(),
            Self::Files(files) => files.place(),
        }
    }
}
