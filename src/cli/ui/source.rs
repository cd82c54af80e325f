//! Where the page's answer comes from: a cluster, as `kubectl shindan` asks it, or files, as `shindan diagnose` reads them.

mod files;
mod live;

use self::files::Files;
use self::live::Live;
use super::Args;
use crate::cli::found::Found;
use crate::facts::Timestamp;

/// What was found at one look.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) found: Found,
    /// When it was looked; of a dump the moment that it is judged as of.
    pub(super) when: Timestamp,
    /// Who worked it out, in words.
    pub(super) by: &'static str,
    /// What could not be read, and what that means: a line each.
    pub(super) notes: Vec<String>,
}

#[derive(Debug)]
pub(super) enum Source {
    Live(Box<Live>),
    Files(Box<Files>),
}

impl Source {
    pub(super) async fn of(args: &Args) -> anyhow::Result<Self> {
        Ok(if args.files.is_empty() {
            Self::Live(Box::new(Live::connect(args).await?))
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

    /// Whether there may be something new. Of a cluster only a look tells.
    pub(super) fn may_have_changed(&self) -> bool {
        match self {
            Self::Live(_) => true,
            Self::Files(files) => files.have_changed(),
        }
    }

    /// In a cluster ages grow; in a dump time stands.
    pub(super) fn is_live(&self) -> bool {
        matches!(self, Self::Live(_))
    }

    /// What is shown: the address of the API server, or the files.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Live(live) => live.place(),
            Self::Files(files) => files.place(),
        }
    }
}
