//! A dump as input of commands: its files, the time as of which it is diagnosed, and the result.

use std::path::PathBuf;

use anyhow::bail;
use shindan_core::case::Thresholds;
use shindan_core::facts::{Timestamp, seconds_between};
use shindan_core::offline::{self, View};
use shindan_core::state::EVENTS_KEPT;
use shindan_core::wire::Dump;

use super::found::Found;
use super::input::{Input, Size};

/// Options for the files of `-f`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct DumpArgs {
    /// Logs of terminated containers: a file, or a folder (its *.log and *.txt files); may be repeated. The container is
    /// identified by the name of the file (POD.CONTAINER.log), its path (as on a node or from kubectl cluster-info dump), or
    /// the prefix of kubectl logs --prefix
    #[arg(long, value_name = "FILE|DIR")]
    pub(super) logs: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) max_input: MaxInput,
    /// Diagnose as of this time (RFC 3339), with thresholds [default: the time in the head of a file of shindan dump, else
    /// the newest time in the input, as a snapshot: failures reported by the scheduler or a registry have no threshold]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = moment)]
    pub(super) at: Option<Timestamp>,
}

/// How much is read.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct MaxInput {
    /// Maximum size of a file. The content of files takes at most twice as much memory
    #[arg(long, env = "SHINDAN_MAX_INPUT", value_name = "SIZE", default_value = "512Mi", value_parser = Size::parse)]
    max_input: Size,
}

impl std::fmt::Display for MaxInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.max_input.fmt(f)
    }
}

impl MaxInput {
    pub(super) fn input(self) -> Input {
        Input::of_at_most(self.max_input)
    }
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let moment = text.trim().parse();
    moment.map_err(|_| {
        "write a time in the format of RFC 3339, such as 2026-11-21T12:30:00Z or 2026-11-21T21:30:00+09:00".to_owned()
    })
}

/// The diagnoses of a dump.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) found: Found,
    /// The time as of which it was diagnosed.
    pub(super) now: Timestamp,
    /// The earliest time at which the result may change.
    pub(super) wake: Option<Timestamp>,
}

impl DumpArgs {
    /// Reads files and logs. Returns an error if there are no objects.
    pub(super) fn read(&self, files: &[PathBuf]) -> anyhow::Result<Input> {
        let mut input = self.max_input.input();
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

    /// Problems of the input and of `--at`, one line each.
    pub(super) fn warnings(&self, input: &Input) -> Vec<String> {
        let mut warnings = input.problems.clone();
        if let (Some(at), Some(newest)) = (self.at, input.dump.newest) {
            if at < newest {
                warnings.push(format!(
                    "--at {at} is before the newest time in the input, {newest}: changes after it are included"
                ));
            }
            if seconds_between(newest, at) > EVENTS_KEPT {
                warnings.push(format!(
                    "--at {at} is more than an hour after the newest time in the input, {newest}: its Events have \
                     expired by then, as in a cluster"
                ));
            }
        }
        warnings
    }

    /// The time as of which the input is diagnosed with thresholds, if one was given.
    pub(super) fn time(&self, input: &Input) -> Option<Timestamp> {
        self.at.or(input.judged_at)
    }

    /// Diagnoses the input. Keeps the diagnoses of `namespace`, if given.
    pub(super) fn judge(&self, mut input: Input, thresholds: Thresholds, namespace: Option<&str>) -> Judged {
        let now = match self.time(&input).or(input.dump.newest) {
            Some(now) => now,
            // Manifests that were never applied contain no times, so no threshold can pass.
            None => Timestamp::UNIX_EPOCH,
        };
        let thresholds = if self.time(&input).is_some() { thresholds } else { thresholds.for_snapshot() };
        let view = View { has_all_pods: spans_namespaces(&input.dump), ..View::from(thresholds) };
        let versions = std::mem::take(&mut input.dump.versions);
        let report = offline::diagnose(input.dump, input.logs, now, view);
        let mut found = Found::of_writes(report.pods, report.nodes_and_workloads).with_versions(&versions);
        let shown = |of: &str| namespace.is_none_or(|only| only == of);
        found.pods.retain(|write| shown(&write.key.namespace));
        // A node is in no namespace.
        found.nodes_and_workloads.retain(|write| shown(&write.key.object.namespace));
        Judged { found, now, wake: report.wake }
    }
}

/// Whether running pods are of more than one namespace. Every cluster has pods in kube-system: if they are missing, the
/// dump is of one namespace and the free resources of nodes are unknown.
pub(super) fn spans_namespaces(dump: &Dump) -> bool {
    let mut namespaces = dump.pods.iter().filter(|pod| pod.node_name.is_some()).map(|pod| &pod.key.namespace);
    let first = namespaces.next();
    first.is_none_or(|first| namespaces.any(|other| other != first))
}
