//! What the operator is told by flags, environment and a file, each with a default that works.
//!
//! The definition of the flags is the one table: [`mod@file`] finds its keys in it, and docs/configuration.md and the chart are
//! held to it by tests.

pub mod file;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;

use crate::diagnosis::rules;
use crate::diagnosis::{Language, Thresholds};
use crate::facts::{LabelSelector, Wishes, parse_duration};
use crate::plan::Policy;
use crate::world::{Annotate, Caps, Selection};

/// A number of seconds, written as `90`, `90s`, `5m` or `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub i64);

impl Seconds {
    pub fn parse(text: &str) -> Result<Self, String> {
        const SHAPE: &str = "give seconds, or a duration such as 90s, 5m, 1h30m or 2d";
        parse_duration(text).map(Self).ok_or_else(|| SHAPE.to_owned())
    }
}

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => f.write_str("0s"),
            s if s % 86_400 == 0 => write!(f, "{}d", s / 86_400),
            s if s % 3600 == 0 => write!(f, "{}h", s / 3600),
            s if s % 60 == 0 => write!(f, "{}m", s / 60),
            s => write!(f, "{s}s"),
        }
    }
}

/// Seconds within a range that the error names.
fn within(range: RangeInclusive<i64>) -> impl Fn(&str) -> Result<Seconds, String> + Clone + Send + Sync + 'static {
    move |text| {
        let seconds = Seconds::parse(text)?;
        if range.contains(&seconds.0) {
            Ok(seconds)
        } else {
            Err(format!("must be from {} to {}", Seconds(*range.start()), Seconds(*range.end())))
        }
    }
}

const DAY: i64 = 86_400;

/// How long is too long. Durations are written as `90`, `90s`, `5m` or `1h30m`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Thresholds")]
pub struct ThresholdArgs {
    /// A pod without a node is a failure after this long
    #[arg(long, env = "SHINDAN_UNSCHEDULABLE", value_name = "DURATION", default_value = "1m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub unschedulable: Seconds,
    /// The same while the cluster autoscaler says that it adds a node
    #[arg(long, env = "SHINDAN_UNSCHEDULABLE_SCALING_UP", value_name = "DURATION", default_value = "10m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub unschedulable_scaling_up: Seconds,
    /// A container that runs and was never ready is a failure this long after the start-up budget of its probes
    #[arg(long, env = "SHINDAN_NEVER_READY", value_name = "DURATION", default_value = "5m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub never_ready: Seconds,
    /// A container that was ready and is not any more is a failure after this long
    #[arg(long, env = "SHINDAN_READINESS_LOST", value_name = "DURATION", default_value = "2m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub readiness_lost: Seconds,
    /// Creating containers may take this long
    #[arg(long, env = "SHINDAN_CREATING", value_name = "DURATION", default_value = "2m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub creating: Seconds,
    /// The same while an image is being pulled
    #[arg(long, env = "SHINDAN_CREATING_PULLING", value_name = "DURATION", default_value = "10m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub creating_pulling: Seconds,
    /// Init containers may take this long
    #[arg(long, env = "SHINDAN_INIT", value_name = "DURATION", default_value = "10m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub init: Seconds,
    /// A pod that never started has recovered once it is ready for this long
    #[arg(long, env = "SHINDAN_RECOVERED_NEVER_STARTED", value_name = "DURATION", default_value = "30s", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub recovered_never_started: Seconds,
    /// A pod that restarted has recovered once it is ready for this long since its last start
    #[arg(long, env = "SHINDAN_RECOVERED_RESTARTING", value_name = "DURATION", default_value = "10m", allow_hyphen_values = true, value_parser = within(0..=DAY))]
    pub recovered_restarting: Seconds,
    /// What an Event may lag behind the status that it explains; three times as long where a run ended as its probe ends runs
    #[arg(long, env = "SHINDAN_EVENT_GRACE", value_name = "DURATION", default_value = "5s", allow_hyphen_values = true, value_parser = within(0..=300))]
    pub event_grace: Seconds,
    /// A node is flapping once its readiness changed this often within the window
    #[arg(long, env = "SHINDAN_FLAPPING_TRANSITIONS", value_name = "COUNT", default_value = "3", allow_hyphen_values = true, value_parser = clap::value_parser!(u8).range(2..=100))]
    pub flapping_transitions: u8,
    /// The window in which those changes are counted
    #[arg(long, env = "SHINDAN_FLAPPING_WINDOW", value_name = "DURATION", default_value = "1h", allow_hyphen_values = true, value_parser = within(60..=DAY))]
    pub flapping_window: Seconds,
    /// A flapping node is stable again once its readiness has not changed for this long
    #[arg(long, env = "SHINDAN_FLAPPING_STABLE", value_name = "DURATION", default_value = "30m", allow_hyphen_values = true, value_parser = within(60..=DAY))]
    pub flapping_stable: Seconds,
    /// How long single causes must last before they count, in place of what holds for their kind; may be repeated or
    /// separated by commas
    #[arg(long = "thresholds", visible_alias = "threshold", env = "SHINDAN_THRESHOLDS", value_name = "CAUSE=DURATION", value_delimiter = ',', value_parser = threshold)]
    pub of_causes: Vec<Threshold>,
}

/// How long one cause must last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    cause: &'static str,
    after: Seconds,
}

impl ThresholdArgs {
    /// Asked once: what was chosen for single causes stays for as long as the program runs.
    pub fn thresholds(&self) -> Thresholds {
        // Of two for one cause the last counts, as with flags.
        let chosen: BTreeMap<_, _> = self.of_causes.iter().map(|of| (of.cause, of.after.0)).collect();
        Thresholds {
            unschedulable: self.unschedulable.0,
            unschedulable_scaling_up: self.unschedulable_scaling_up.0,
            never_ready: self.never_ready.0,
            readiness_lost: self.readiness_lost.0,
            creating: self.creating.0,
            creating_pulling: self.creating_pulling.0,
            init: self.init.0,
            recovered_never_started: self.recovered_never_started.0,
            recovered_restarting: self.recovered_restarting.0,
            patient: true,
            event_grace: self.event_grace.0,
            flapping_transitions: usize::from(self.flapping_transitions),
            flapping_window: self.flapping_window.0,
            flapping_stable: self.flapping_stable.0,
            language: Language::English,
            chosen: if chosen.is_empty() { &[] } else { chosen.into_iter().collect::<Vec<_>>().leak() },
        }
    }
}

/// How one of several replicas is elected to write. The names are those of Kubernetes' own components.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(next_help_heading = "Leader election")]
pub struct ElectionArgs {
    /// Write only while this replica holds the Lease: needed where there are several
    #[arg(long, env = "SHINDAN_LEADER_ELECT")]
    pub leader_elect: bool,
    /// The namespace of the Lease [default: the pod's own, else that of the kubeconfig's context]
    #[arg(long, env = "SHINDAN_LEADER_ELECT_RESOURCE_NAMESPACE", value_name = "NAMESPACE", value_parser = namespace)]
    pub leader_elect_resource_namespace: Option<String>,
    /// Another replica takes over when the Lease was not renewed for so long
    #[arg(long, env = "SHINDAN_LEADER_ELECT_LEASE_DURATION", value_name = "DURATION", default_value = "10s", allow_hyphen_values = true, value_parser = within(3..=3600))]
    pub leader_elect_lease_duration: Seconds,
    /// The leader writes no more when it could not renew the Lease for so long; shorter than the lease duration
    #[arg(long, env = "SHINDAN_LEADER_ELECT_RENEW_DEADLINE", value_name = "DURATION", default_value = "6s", allow_hyphen_values = true, value_parser = within(2..=3600))]
    pub leader_elect_renew_deadline: Seconds,
    /// How often the Lease is renewed, or looked at; shorter than the renew deadline
    #[arg(long, env = "SHINDAN_LEADER_ELECT_RETRY_PERIOD", value_name = "DURATION", default_value = "2s", allow_hyphen_values = true, value_parser = within(1..=3600))]
    pub leader_elect_retry_period: Seconds,
}

impl ElectionArgs {
    /// Whether each time leaves room for the shorter one. The error names the flags.
    pub fn check(&self) -> Result<(), String> {
        let order = [
            ("--leader-elect-lease-duration", self.leader_elect_lease_duration),
            ("--leader-elect-renew-deadline", self.leader_elect_renew_deadline),
            ("--leader-elect-retry-period", self.leader_elect_retry_period),
        ];
        match order.windows(2).find(|pair| pair[0].1 <= pair[1].1) {
            Some([(longer, long), (shorter, short)]) => {
                Err(format!("{longer} ({long}) must be longer than {shorter} ({short})"))
            }
            _ => Ok(()),
        }
    }
}

/// What people are told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Lang {
    /// English
    En,
    /// Japanese
    Ja,
}

impl From<Lang> for Language {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::En => Self::English,
            Lang::Ja => Self::Japanese,
        }
    }
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogForm {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What carries its diagnosis as an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Annotated {
    Pods,
    /// Deployments, StatefulSets, DaemonSets, Jobs and CronJobs.
    Workloads,
}

/// Flags of `shindan run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// A file with settings: YAML, each key named after its flag (neverReady: 10m). What flags and variables say counts
    /// before it. It is read once, at the start
    #[arg(long, env = "SHINDAN_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The kubeconfig file [default: as kubectl finds it; in a pod, its service account]
    #[arg(long, env = "SHINDAN_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig [default: its current one]
    #[arg(long, env = "SHINDAN_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,
    /// Diagnose these namespaces only; may be repeated or separated by commas [default: all]
    #[arg(long, visible_alias = "namespace", short = 'n', env = "SHINDAN_NAMESPACES", value_name = "NAMESPACE", value_delimiter = ',', value_parser = namespace)]
    pub namespaces: Vec<String>,
    /// Tell nothing of these namespaces; may be repeated or separated by commas. Their pods still count as what takes room on
    /// nodes
    #[arg(long, visible_alias = "exclude-namespace", env = "SHINDAN_EXCLUDE_NAMESPACES", value_name = "NAMESPACE", value_delimiter = ',', value_parser = namespace)]
    pub exclude_namespaces: Vec<String>,
    /// Tell only of pods with these labels, and of workloads whose pods have them, as kubectl -l takes it:
    /// app.kubernetes.io/part-of=shop,env!=dev. The others still count as what takes room on nodes
    #[arg(long, short = 'l', env = "SHINDAN_SELECTOR", value_name = "SELECTOR", value_parser = LabelSelector::parse)]
    pub selector: Option<LabelSelector>,
    /// Read Nodes and StorageClasses, and tell of nodes: that needs rights in the whole cluster. With `false` a node counts as
    /// unknown
    #[arg(long, env = "SHINDAN_NODES", value_name = "true|false", default_value = "true", action = clap::ArgAction::Set)]
    pub nodes: bool,
    /// How long a diagnosis is kept after the pod has recovered or is gone
    #[arg(long, env = "SHINDAN_RETENTION", value_name = "DURATION", default_value = "24h", allow_hyphen_values = true, value_parser = within(60..=90 * DAY))]
    pub retention: Seconds,
    /// Where /metrics, /healthz and /readyz are served
    #[arg(long, env = "SHINDAN_LISTEN", value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    pub listen: SocketAddr,
    /// How many writes to the API server may be under way at once
    #[arg(long, env = "SHINDAN_WRITE_CONCURRENCY", value_name = "COUNT", default_value = "16", allow_hyphen_values = true, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub write_concurrency: u16,
    /// The most requests a second that write, Events included; 0 is no limit. (The API server can slow them down as well:
    /// deploy/ gives them a priority level of their own)
    #[arg(long, env = "SHINDAN_WRITE_QPS", value_name = "COUNT", default_value = "0", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub write_qps: u32,
    /// The most PodDiagnosis objects in a namespace
    #[arg(long, env = "SHINDAN_MAX_PER_NAMESPACE", value_name = "COUNT", default_value = "500", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_per_namespace: u32,
    /// The most ended ones of the same workload, container and cause
    #[arg(long, env = "SHINDAN_MAX_ENDED_PER_FAILURE", value_name = "COUNT", default_value = "3", allow_hyphen_values = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_ended_per_failure: u32,
    /// Warning Events of pods of one workload and cause, or of one root in a namespace, within 10 minutes; what is more is
    /// folded into the workload's own Event
    #[arg(long, env = "SHINDAN_EVENTS_PER_WORKLOAD", value_name = "COUNT", default_value = "5", allow_hyphen_values = true, value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub events_per_workload: u16,
    /// Causes that are never told, whatever fails of them; may be repeated or separated by commas. (For one workload: its
    /// annotation shindan.dev/ignore)
    #[arg(long, env = "SHINDAN_IGNORE_CAUSES", value_name = "CAUSE", value_delimiter = ',', value_parser = cause)]
    pub ignore_causes: Vec<String>,
    /// Read what a container wrote last before it ended, where its status does not tell: needs the right to read pods/log
    /// (deploy/components/previous-logs). One line of it is told, masked
    #[arg(long, env = "SHINDAN_PREVIOUS_LOGS")]
    pub previous_logs: bool,
    /// Put the annotation shindan.dev/diagnosis on what fails, and take it off when it is well: needs the right to patch
    /// (deploy/components/annotate). May be repeated or separated by commas
    #[arg(long, env = "SHINDAN_ANNOTATE", value_name = "WHAT", value_delimiter = ',')]
    pub annotate: Vec<Annotated>,
    /// The language of summaries, remedies and Events
    #[arg(long, env = "SHINDAN_LANG", value_name = "LANG", default_value = "en")]
    pub lang: Lang,
    /// The form of log lines
    #[arg(long, env = "SHINDAN_LOG_FORMAT", value_name = "FORM", default_value = "text")]
    pub log_format: LogForm,
    #[command(flatten)]
    pub election: ElectionArgs,
    #[command(flatten)]
    pub thresholds: ThresholdArgs,
    /// What differs from the defaults, for the log.
    #[arg(skip)]
    pub settings: Vec<file::Setting>,
}

impl RunArgs {
    /// Whether what was said fits together. The error names the flags.
    pub fn check(&self) -> Result<(), String> {
        let both = self.namespaces.iter().find(|name| self.exclude_namespaces.contains(name));
        match both {
            Some(name) => Err(format!("--namespaces and --exclude-namespaces both name {name}")),
            None => self.election.check(),
        }
    }

    /// Of what something is told.
    pub fn selection(&self) -> Selection {
        Selection {
            excluded: self.exclude_namespaces.iter().map(|name| name.as_str().into()).collect(),
            labels: self.selector.clone().unwrap_or_default(),
        }
    }

    pub fn annotate(&self) -> Annotate {
        let has = |what| self.annotate.contains(&what);
        Annotate { pods: has(Annotated::Pods), workloads: has(Annotated::Workloads) }
    }

    pub fn policy(&self) -> Policy {
        Policy {
            retention: self.retention.0,
            events_per_workload: usize::from(self.events_per_workload),
            language: self.lang.into(),
            ..Policy::default()
        }
    }

    pub fn wishes(&self) -> Wishes {
        Wishes::ignoring(self.ignore_causes.iter().map(String::as_str))
    }

    pub fn caps(&self) -> Caps {
        let count = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
        Caps { per_namespace: count(self.max_per_namespace), ended_per_failure: count(self.max_ended_per_failure) }
    }
}

/// A cause that there is: a typing error would otherwise ignore nothing, silently.
fn cause(text: &str) -> Result<String, String> {
    let found = rules::named(text.trim()).map(|known| known.cause.to_owned());
    found.ok_or_else(|| rules::unknown(text.trim()))
}

/// A cause, and how long it must last: what counts at once has no such time.
fn threshold(text: &str) -> Result<Threshold, String> {
    let (name, after) = text.split_once('=').ok_or("write CAUSE=DURATION, such as ReadinessProbeFailed=10m")?;
    let name = cause(name)?;
    let Some(cause) = rules::patient().find(|cause| *cause == name) else {
        let mut others: Vec<_> = rules::patient().collect();
        others.sort_unstable();
        return Err(format!("{name} has no time that can be chosen; these have one: {}", others.join(", ")));
    };
    Ok(Threshold { cause, after: within(0..=DAY)(after.trim())? })
}

/// A name that a namespace can have: a typing error would otherwise watch nothing, silently.
fn namespace(text: &str) -> Result<String, String> {
    let fits = !text.is_empty()
        && text.len() <= 63
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-');
    if fits { Ok(text.to_owned()) } else { Err("not a name that a namespace can have".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Only {
        #[command(flatten)]
        run: RunArgs,
    }

    fn parse(args: &[&str]) -> Result<RunArgs, String> {
        Only::try_parse_from([&["run"], args].concat()).map(|only| only.run).map_err(|e| e.to_string())
    }

    #[test]
    fn without_flags_the_defaults_are_those_of_the_engine() {
        let run = parse(&[]).unwrap();
        assert_eq!(run.thresholds.thresholds(), Thresholds::default());
        assert_eq!(run.policy(), Policy::default());
        assert_eq!(run.caps(), Caps::default());
        assert_eq!(run.election.check(), Ok(()));
        assert!(run.namespaces.is_empty() && run.nodes);
        assert_eq!(run.annotate(), Annotate::default(), "nothing is annotated that nobody asked for");
    }

    #[test]
    fn what_is_annotated_is_named() {
        let all = Annotate { pods: true, workloads: true };
        assert_eq!(parse(&["--annotate=pods,workloads"]).unwrap().annotate(), all);
        assert_eq!(parse(&["--annotate=workloads"]).unwrap().annotate(), Annotate { pods: false, ..all });
        let said = parse(&["--annotate=nodes"]).unwrap_err();
        assert!(said.contains("--annotate") && said.contains("pods, workloads"), "{said}");
    }

    #[test]
    fn the_scope_is_narrowed_by_namespaces_and_without_nodes() {
        for flag in ["-n", "--namespaces", "--namespace"] {
            let run = parse(&[flag, "team-a,team-b", "--nodes=false"]).unwrap();
            assert_eq!((run.namespaces.join(" "), run.nodes), ("team-a team-b".to_owned(), false));
        }
        assert!(parse(&["-n", "team-a"]).unwrap().nodes, "what may be read is said, not guessed");
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("2d", 172_800), ("0", 0)] {
            assert_eq!(Seconds::parse(text), Ok(Seconds(seconds)), "{text}");
        }
        for text in ["", "m", "5x", "5m3", "1.5h"] {
            assert!(Seconds::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_invalid_value_names_the_field_and_the_range() {
        let said = parse(&["--retention", "1s"]).unwrap_err();
        assert!(said.contains("--retention") && said.contains("from 1m to 90d"), "{said}");
        let said = parse(&["--never-ready", "soon"]).unwrap_err();
        assert!(said.contains("--never-ready") && said.contains("5m"), "{said}");
        let said = parse(&["--write-concurrency", "0"]).unwrap_err();
        assert!(said.contains("--write-concurrency") && said.contains("1..=256"), "{said}");
        let election = parse(&["--leader-elect-renew-deadline", "10s"]).unwrap().election;
        let said = election.check().unwrap_err();
        assert!(said.contains("--leader-elect-lease-duration (10s) must be longer than"), "{said}");
        let said = parse(&["--ignore-causes", "AppError,OOMKiled"]).unwrap_err();
        assert!(said.contains("--ignore-causes") && said.contains("OOMKiled"), "{said}");
        assert!(parse(&["--ignore-causes", "apperror,OOMKilled"]).unwrap().wishes().ignores("AppError"));
        let said = parse(&["-n", "Not_One"]).unwrap_err();
        assert!(said.contains("--namespaces"), "{said}");
    }
}
