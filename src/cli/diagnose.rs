//! `shindan diagnose`: diagnoses a dump.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::bail;
use shindan_core::wire::Dump;

use super::cause_files::{self, EngineArgs};
use super::dump::{DumpArgs, Judged};
use super::found::Form;
use super::language::LanguageArgs;
use super::tree::{Detail, Reading};
use super::{Ending, Streams};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A file, a folder (read recursively, such as one of kubectl cluster-info dump), or - for standard input; may be
    /// repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR|-", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    dump: DumpArgs,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Form,
    /// Show pods of this namespace only
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Exit with 2 if a pod, a workload or a node fails
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    language: LanguageArgs,
}

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    args.engine.load()?;
    let input = args.dump.read(&args.files)?;
    for warning in args.dump.warnings(&input) {
        writeln!(streams.err, "warning: {warning}")?;
    }
    // An empty value counts as not set, for scripts with an unset variable.
    let namespace = args.namespace.as_deref().filter(|name| !name.is_empty());
    if let Some(namespace) = namespace {
        holds(&input.dump, namespace)?;
    }
    let is_partly = !input.problems.is_empty();
    let has_time = args.dump.time(&input).is_some();
    let only_manifests = input.dump.pods.is_empty() && !input.dump.workloads.is_empty();
    let owners_are_missing = input.dump.workloads.is_empty() && input.dump.pods.iter().any(|pod| pod.owner.is_some());
    let shown = |of: &str| namespace.is_none_or(|only| only == of);
    let uids = input.dump.pods.iter().filter(|pod| shown(&pod.key.namespace)).map(|pod| pod.uid.clone());
    let pods = uids.collect::<BTreeSet<_>>().len();
    let thresholds = args.engine.thresholds().in_language(args.language.language());
    let Judged { found, now, wake } = args.dump.judge(input, thresholds, namespace);
    for warning in cause_files::too_expensive() {
        writeln!(streams.err, "warning: {warning}")?;
    }
    let reading =
        Reading { detail: Detail::by_size(found.len()), language: args.language.language(), collapses_ended: false };
    found.write(args.output, reading, now, streams.out)?;
    // Flushes the output first, so that it appears before the messages on standard error.
    streams.out.flush()?;
    if found.is_empty() {
        let (noun, of) = (if pods == 1 { "pod" } else { "pods" }, namespace);
        let place = of.map(|n| format!(" of namespace {n}")).unwrap_or_default();
        writeln!(streams.err, "No failing pods found in {pods} {noun}{place}.")?;
        if only_manifests {
            writeln!(
                streams.err,
                "Manifests of workloads contain no pods. Dump the cluster with `kubectl get all,nodes,events -A -o yaml`."
            )?;
        }
        if wake.is_some() && !has_time {
            writeln!(
                streams.err,
                "Diagnosed as of {now}, the newest time in the input. Some pods may still have been starting then; \
                 --at sets a later time."
            )?;
        }
    } else if owners_are_missing && pods > 1 {
        writeln!(
            streams.err,
            "The input has no workloads, so replaced pods and the annotations of workloads are unknown. `kubectl get \
             all,nodes,events -A -o yaml` includes workloads."
        )?;
    }
    if !found.is_empty() && args.output == Form::Table && std::io::stdout().is_terminal() {
        writeln!(streams.err, "\n-o tree adds the remedies, -o wide the summaries, -o yaml the complete objects.")?;
    }
    Ok(match (is_partly, args.exit_code && found.fails()) {
        (true, _) => Ending::Partly,
        (false, true) => Ending::PodsFail,
        (false, false) => Ending::Good,
    })
}

/// Returns an error if the input has objects of other namespaces only. A misspelled namespace must not look healthy.
fn holds(dump: &Dump, namespace: &str) -> anyhow::Result<()> {
    const SHOWN: usize = 5;
    let of_pods = dump.pods.iter().map(|pod| &*pod.key.namespace);
    let of_workloads = dump.workloads.iter().chain(&dump.resources).map(|workload| &*workload.key.namespace);
    let all: BTreeSet<_> = of_pods.chain(of_workloads).collect();
    if all.is_empty() || all.contains(namespace) {
        return Ok(());
    }
    let more = all.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let some: Vec<_> = all.into_iter().take(SHOWN).collect();
    bail!("the input has no objects in namespace {namespace}, only in {}{more}", some.join(", "))
}
