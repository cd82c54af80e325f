//! `shindan diagnose`: the pods of a dump.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde::Serialize;

use super::input::Input;
use super::{Ending, Streams, offline, print};
use crate::api::{GROUP, PodDiagnosisSpec, PodDiagnosisStatus, Severity, VERSION};
use crate::config::ThresholdArgs;
use crate::facts::{Timestamp, seconds_between};
use crate::plan::ObjectWrite;
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
    /// Exit with 2 where pods fail
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    thresholds: ThresholdArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    Table,
    /// The table with more columns, the summary last
    Wide,
    /// A PodDiagnosisList
    Json,
    /// A PodDiagnosisList
    Yaml,
    /// poddiagnosis.shindan.dev/NAME
    Name,
}

pub(super) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<Ending> {
    let mut input = Input::default();
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
    let mut found = report.objects;
    found.retain(|write| shown(&write.key.namespace));
    write(&found, args.output, now, streams.out)?;
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
        writeln!(streams.err, "\n-o wide adds a summary of each, -o yaml the evidence and what to do.")?;
    }
    // What is only noted is no failure.
    let fail = found.iter().any(|write| write.status.severity != Severity::Info);
    Ok(match (is_partly, args.exit_code && fail) {
        (true, _) => Ending::Partly,
        (false, true) => Ending::PodsFail,
        (false, false) => Ending::Good,
    })
}

fn write(found: &[ObjectWrite], form: Form, now: Timestamp, out: &mut dyn Write) -> anyhow::Result<()> {
    match form {
        Form::Table | Form::Wide if found.is_empty() => {}
        Form::Table | Form::Wide => table(found, form == Form::Wide, now, out)?,
        Form::Json => {
            serde_json::to_writer_pretty(&mut *out, &List::of(found)).context("the list cannot be written as JSON")?;
            writeln!(out)?;
        }
        Form::Yaml => {
            let text = serde_saphyr::to_string(&List::of(found)).context("the list cannot be written as YAML")?;
            out.write_all(text.as_bytes())?;
        }
        Form::Name => {
            for write in found {
                writeln!(out, "poddiagnosis.{GROUP}/{}", crate::diagnosis::text::line(&write.key.name, 253))?;
            }
        }
    }
    Ok(())
}

/// The columns of the CRD, as `kubectl get poddiagnoses` prints them.
fn table(found: &[ObjectWrite], wide: bool, now: Timestamp, out: &mut dyn Write) -> std::io::Result<()> {
    let namespaces: BTreeSet<_> = found.iter().map(|write| &write.key.namespace).collect();
    let mut head = vec!["NAME", "CAUSE", "CONTAINER", "SEVERITY", "STATE", "RESTARTS", "SINCE"];
    if namespaces.len() > 1 {
        head.insert(0, "NAMESPACE");
    }
    if wide {
        head.extend(["POD-STATUS", "WORKLOAD", "NODE", "CONFIDENCE", "SUMMARY"]);
    }
    let rows = found.iter().map(|write| {
        let (spec, status) = (&write.spec, &write.status);
        let mut row = vec![
            write.key.name.to_string(),
            status.cause.clone(),
            status.container.clone().unwrap_or_default(),
            status.severity.to_string(),
            status.state.to_string(),
            status.restarts.as_ref().map(|r| r.count.to_string()).unwrap_or_default(),
            status.first_seen.map(|since| print::age(since, now)).unwrap_or_default(),
        ];
        if namespaces.len() > 1 {
            row.insert(0, write.key.namespace.to_string());
        }
        if wide {
            row.extend([
                status.pod_status.clone(),
                spec.workload.as_ref().map(|w| w.display.clone()).unwrap_or_default(),
                spec.node_name.clone().unwrap_or_default(),
                status.confidence.to_string(),
                status.summary.clone(),
            ]);
        }
        row
    });
    print::table(out, &head, &rows.collect::<Vec<_>>())
}

/// As `kubectl get poddiagnoses -o json` has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    api_version: String,
    kind: &'static str,
    items: Vec<Item<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Item<'a> {
    api_version: String,
    kind: &'static str,
    metadata: Metadata<'a>,
    spec: &'a PodDiagnosisSpec,
    status: &'a PodDiagnosisStatus,
}

#[derive(Serialize)]
struct Metadata<'a> {
    name: &'a str,
    namespace: &'a str,
    labels: &'a BTreeMap<String, String>,
}

impl<'a> List<'a> {
    fn of(found: &'a [ObjectWrite]) -> Self {
        let api_version = format!("{GROUP}/{VERSION}");
        let items = found.iter().map(|write| Item {
            api_version: api_version.clone(),
            kind: "PodDiagnosis",
            metadata: Metadata { name: &write.key.name, namespace: &write.key.namespace, labels: &write.labels },
            spec: &write.spec,
            status: &write.status,
        });
        Self { items: items.collect(), kind: "PodDiagnosisList", api_version: api_version.clone() }
    }
}
