//! `shindan diagnose`: what is wrong in a dump.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::bail;

use super::found::{Form, Found};
use super::input::{Input, Size};
use super::tree::Detail;
use super::{Ending, Streams, offline};
use crate::config::ThresholdArgs;
use crate::facts::{Timestamp, seconds_between};
use crate::world::EVENTS_KEPT;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A file, a folder (read to its depth, such as one of kubectl cluster-info dump), or - for standard input; may be
    /// repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR|-", required = true)]
    files: Vec<PathBuf>,
    /// What containers wrote before they ended: a file, or a folder (its *.log and *.txt files); may be repeated. Whose it is
    /// tells its name (POD.CONTAINER.log), its path (as on a node, or as kubectl cluster-info dump writes it) or the prefix
    /// of kubectl logs --prefix
    #[arg(long, value_name = "FILE|DIR")]
    logs: Vec<PathBuf>,
    /// The largest file that is read. What files hold is kept within twice as much memory
    #[arg(long, env = "SHINDAN_MAX_INPUT", value_name = "SIZE", default_value = "512Mi", value_parser = Size::parse)]
    max_input: Size,
    /// Judge as of this moment (RFC 3339), thresholds included [default: the newest time in the input, as a snapshot: what
    /// the scheduler or a registry has refused counts at once]
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
    /// The form
    #[arg(short, long, value_name = "FORM", default_value = "table")]
    output: Form,
    /// Show pods of this namespace only
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Exit with 2 where a pod, a workload or a node fails
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    thresholds: ThresholdArgs,
}

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let mut input = Input::of_at_most(args.max_input);
    for file in &args.files {
        input.read(file);
    }
    if input.dump.objects == 0 {
        bail!("nothing to diagnose: {}", input.problems.join("; "));
    }
    for path in &args.logs {
        input.read_logs(path);
    }
    for problem in &input.problems {
        writeln!(streams.err, "warning: {problem}")?;
    }
    if let (Some(at), Some(newest)) = (args.at, input.dump.newest)
        && at < newest
    {
        writeln!(
            streams.err,
            "warning: --at {at} is before the newest time in the input, {newest}: what happened in between is judged as well"
        )?;
    }
    if let (Some(at), Some(newest)) = (args.at, input.dump.newest)
        && seconds_between(newest, at) > EVENTS_KEPT
    {
        writeln!(
            streams.err,
            "warning: --at {at} is more than an hour after the newest time in the input, {newest}: its Events count no more, as in \
             a cluster"
        )?;
    }
    let is_partly = !input.problems.is_empty();
    let only_manifests = input.dump.pods.is_empty() && !input.dump.workloads.is_empty();
    let shown = |namespace: &str| args.namespace.as_deref().is_none_or(|only| only == namespace);
    let uids = input.dump.pods.iter().filter(|pod| shown(&pod.key.namespace)).map(|pod| pod.uid.clone());
    let pods = uids.collect::<BTreeSet<_>>().len();
    let now = match args.at.or(input.dump.newest) {
        Some(now) => now,
        // Manifests that no cluster has seen: no clock can make them older.
        None => Timestamp::UNIX_EPOCH,
    };

    let thresholds = args.thresholds.thresholds();
    let thresholds = if args.at.is_some() { thresholds } else { thresholds.for_snapshot() };
    let report = offline::diagnose(input.dump, input.logs, now, thresholds);
    let mut found = Found::of(report.objects, report.outers);
    found.pods.retain(|write| shown(&write.key.namespace));
    // A node is in no namespace.
    found.outers.retain(|write| shown(&write.key.object.namespace));
    found.write(args.output, Detail::by_size(found.len()), now, streams.out)?;
    // What is on standard error is read beside the output: that is to be there first.
    streams.out.flush()?;
    if found.is_empty() {
        let (noun, of) = (if pods == 1 { "pod" } else { "pods" }, args.namespace.as_deref());
        let place = of.map(|n| format!(" of namespace {n}")).unwrap_or_default();
        writeln!(streams.err, "No failing pods found in {pods} {noun}{place}.")?;
        if only_manifests {
            writeln!(
                streams.err,
                "Manifests of workloads hold no pods: `kubectl get pods,nodes,events -A -o yaml` shows what became of them."
            )?;
        }
        if report.wake.is_some() && args.at.is_none() {
            writeln!(
                streams.err,
                "Judged as of {now}, the newest time in the input, when some may still have been starting; \
                 --at judges as of a later time."
            )?;
        }
    } else if args.output == Form::Table && std::io::stdout().is_terminal() {
        writeln!(streams.err, "\n-o tree adds what to do, -o wide a summary of each, -o yaml the evidence.")?;
    }
    Ok(match (is_partly, args.exit_code && found.fails()) {
        (true, _) => Ending::Partly,
        (false, true) => Ending::PodsFail,
        (false, false) => Ending::Good,
    })
}
