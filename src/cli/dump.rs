//! A dump as commands take it: its files, the moment that it is judged as of, and what is found in it.

use std::path::PathBuf;

use anyhow::bail;

use super::found::Found;
use super::input::{Input, Size};
use super::offline::{self, View};
use crate::cluster::wire::Dump;
use crate::diagnosis::Thresholds;
use crate::facts::{Timestamp, seconds_between};
use crate::world::EVENTS_KEPT;

/// What is said of the files of `-f`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct DumpArgs {
    /// What containers wrote before they ended: a file, or a folder (its *.log and *.txt files); may be repeated. Whose it is
    /// tells its name (POD.CONTAINER.log), its path (as on a node, or as kubectl cluster-info dump writes it) or the prefix
    /// of kubectl logs --prefix
    #[arg(long, value_name = "FILE|DIR")]
    pub(super) logs: Vec<PathBuf>,
    /// The largest file that is read. What files hold is kept within twice as much memory
    #[arg(long, env = "SHINDAN_MAX_INPUT", value_name = "SIZE", default_value = "512Mi", value_parser = Size::parse)]
    max_input: Size,
    /// Judge as of this moment (RFC 3339), thresholds included [default: the newest time in the input, as a snapshot: what
    /// the scheduler or a registry has refused counts at once]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = moment)]
    pub(super) at: Option<Timestamp>,
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let moment = text.trim().parse();
    moment.map_err(|_| "write a time as in RFC 3339: 2026-11-21T12:30:00Z, or 2026-11-21T21:30:00+09:00".to_owned())
}

/// What is wrong in a dump.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) found: Found,
    /// The moment that it is judged as of.
    pub(super) now: Timestamp,
    /// When it would be looked at again: what is no failure yet may be one then.
    pub(super) wake: Option<Timestamp>,
}

impl DumpArgs {
    /// Reads files and logs. Without any object there is nothing to be said.
    pub(super) fn read(&self, files: &[PathBuf]) -> anyhow::Result<Input> {
        let mut input = Input::of_at_most(self.max_input);
        for file in files {
            input.read(file);
        }
        if input.dump.objects == 0 {
            bail!("nothing to diagnose: {}", input.problems.join("; "));
        }
        for path in &self.logs {
            input.read_logs(path);
        }
        Ok(input)
    }

    /// What could not be read, and what is odd about the moment: a line each.
    pub(super) fn warnings(&self, input: &Input) -> Vec<String> {
        let mut warnings = input.problems.clone();
        if let (Some(at), Some(newest)) = (self.at, input.dump.newest) {
            if at < newest {
                warnings.push(format!(
                    "--at {at} is before the newest time in the input, {newest}: what happened in between is judged as well"
                ));
            }
            if seconds_between(newest, at) > EVENTS_KEPT {
                warnings.push(format!(
                    "--at {at} is more than an hour after the newest time in the input, {newest}: its Events count no more, as in \
                     a cluster"
                ));
            }
        }
        warnings
    }

    /// Diagnoses it, and keeps what is of one namespace, if one is given.
    pub(super) fn judge(&self, input: Input, thresholds: Thresholds, namespace: Option<&str>) -> Judged {
        let now = match self.at.or(input.dump.newest) {
            Some(now) => now,
            // Manifests that no cluster has seen: no clock can make them older.
            None => Timestamp::UNIX_EPOCH,
        };
        let thresholds = if self.at.is_some() { thresholds } else { thresholds.for_snapshot() };
        let view = View { has_all_pods: spans_namespaces(&input.dump), ..View::from(thresholds) };
        let report = offline::diagnose(input.dump, input.logs, now, view);
        let mut found = Found::of(report.objects, report.outers);
        let shown = |of: &str| namespace.is_none_or(|only| only == of);
        found.pods.retain(|write| shown(&write.key.namespace));
        // A node is in no namespace.
        found.outers.retain(|write| shown(&write.key.object.namespace));
        Judged { found, now, wake: report.wake }
    }
}

/// Whether the pods that run are of more than one namespace. A cluster has its own pods in kube-system on each node: where
/// they are not there, neither is who else has reserved what of it.
fn spans_namespaces(dump: &Dump) -> bool {
    let mut namespaces = dump.pods.iter().filter(|pod| pod.node_name.is_some()).map(|pod| &pod.key.namespace);
    let first = namespaces.next();
    first.is_none_or(|first| namespaces.any(|other| other != first))
}
